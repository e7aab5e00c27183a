"""Bond graphs: indices in range, no bond twice, connected, none that follows from others, beads apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcchain.config.keys.values import Wrong
from hpcchain.model.composition import in_blocks
from hpcchain.model.molecules.exclusion import adjacency, component_of, pairs_within
from hpcchain.model.molecules.independence import follow_always

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import MoleculeSection


def check_graph(beads: int, bonds: NDArray[np.int64], where: str) -> None:
    """Raise Wrong unless bonds (n, 2) make one connected simple graph of so many beads; `where`: for messages."""
    outside = np.flatnonzero(((bonds < 0) | (bonds >= beads)).any(axis=1))
    if len(outside):
        pair = bonds[outside[0]].tolist()
        raise Wrong(f"{where}.bonds: bond {outside[0]} {pair} names a bead outside 0 … {beads - 1}")
    own = np.flatnonzero(bonds[:, 0] == bonds[:, 1])
    if len(own):
        raise Wrong(f"{where}.bonds: bond {own[0]} joins bead {bonds[own[0], 0]} to itself")
    pairs = np.sort(bonds, axis=1)
    _, first, counts = np.unique(pairs, axis=0, return_index=True, return_counts=True)
    if (counts > 1).any():
        twice = pairs[first[np.argmax(counts > 1)]].tolist()
        raise Wrong(f"{where}.bonds: beads {twice[0]} and {twice[1]} are bonded twice; remove one of the bonds")
    if len(pairs) < beads - 1:
        raise Wrong(f"{where}.bonds: {len(pairs)} bonds cannot connect {beads} beads; needs at least {beads - 1}")
    unconnected = np.flatnonzero(component_of(beads, pairs) != 0)
    if len(unconnected):
        raise Wrong(f"{where}.bonds: bead {unconnected[0]} is not connected to bead 0; join them or make two kinds")
    check_independence(beads, pairs, where)


def check_independence(beads: int, pairs: NDArray[np.int64], where: str) -> None:
    """Raise Wrong where bonds (n, 2) follow from the others wherever the beads are."""
    most = 3 * beads - 6
    if beads > 2 and len(pairs) > most:
        raise Wrong(
            f"{where}.bonds: {len(pairs)} bonds are too many for {beads} beads: {most} hold them rigid, "
            f"and the others follow from those; leave out at least {len(pairs) - most}, "
            'or make it of kind = "rigid"'
        )
    bond = follow_always(beads, pairs)
    if bond is not None:
        i, j = pairs[bond].tolist()
        raise Wrong(
            f"{where}.bonds: they are not independent: that of beads {i} and {j} follows from others, which "
            'hold these beads in place already; leave it out, or make it of kind = "rigid"'
        )


ROUNDING = 1e-12
"""Bonds that reach beyond a contact distance by less than this, relative, leave no room."""

MOST_BONDS = 64
"""Bonds in a row that are looked at."""


def check_apart(kind: MoleculeSection, where: str) -> None:
    """Raise Wrong where two beads that may collide can never be apart; `where`: how messages call the kind."""
    pair = never_apart(kind)
    if pair is None:
        return
    (i, j), reach, contact, separation = pair
    remedy = f"set exclude = {separation}" if separation <= 3 else "set self_contact = false"
    raise Wrong(
        f"{where}.bond_length: beads {i} and {j} can never be apart: bonds keep them within {reach:.12g}, their "
        f"contact distance is {contact:.12g}; {remedy}, lengthen the bonds or lower the diameters"
    )


def never_apart(kind: MoleculeSection) -> tuple[tuple[int, int], float, float, int] | None:
    """Return two beads that may collide and never part, the length of the bonds between, contact distance, bonds."""
    if kind.beads < 3 or kind.is_line or kind.is_body or not kind.self_contact or kind.bond_count == 0:
        return None
    if (kind.exclude + 1) * np.min(kind.bond_length) > np.max(kind.diameter) * (1.0 + 1e-6):
        return None  # known without a look at each bond: molecules may be endless
    bonds = kind.bond_table
    n = kind.beads
    diameter, length = np.broadcast_to(kind.diameter, n), np.broadcast_to(kind.bond_length, len(bonds))
    free = pairs_within(bonds, n, kind.exclude) @ np.array([n, 1])
    offsets, partners = adjacency(bonds, n)
    sequence = np.lexsort((np.concatenate([bonds[:, 1], bonds[:, 0]]), np.concatenate([bonds[:, 0], bonds[:, 1]])))
    partner_length = np.concatenate([length, length])[sequence]
    i = np.repeat(np.arange(n), np.diff(offsets))
    j, reach = partners, partner_length
    for separation in range(2, MOST_BONDS):
        near = reach < diameter.max()
        i, j, reach = i[near], j[near], reach[near]
        if len(i) == 0:
            return None
        count = np.diff(offsets)[j]
        at = in_blocks(offsets[j], count)
        i, j, reach = np.repeat(i, count), partners[at], np.repeat(reach, count) + partner_length[at]
        key = i * n + j
        sequence = np.lexsort((reach, key))
        sequence = sequence[np.unique(key[sequence], return_index=True)[1]]
        i, j, reach = i[sequence], j[sequence], reach[sequence]
        contact = 0.5 * (diameter[i] + diameter[j])
        held = (i < j) & (reach <= contact * (1.0 + ROUNDING)) & ~np.isin(i * n + j, free)
        if held.any():
            k = int(np.argmax(held))
            return (int(i[k]), int(j[k])), float(reach[k]), float(contact[k]), separation
        away = i != j
        i, j, reach = i[away], j[away], reach[away]
    return None
