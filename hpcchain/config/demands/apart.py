"""Beads of a molecule that bonds hold so near to each other that they overlap wherever the molecule is."""

from __future__ import annotations

from typing import Any

import numpy as np

from hpcchain.config.keys.values import Wrong
from hpcchain.model.molecules.bonds import bond_table
from hpcchain.model.molecules.exclusion import adjacency, pairs_within

ROUNDING = 1e-12
"""Bonds that reach beyond a contact distance by less than this, relative, leave no room."""

MOST_BONDS = 64
"""Bonds in a row that are looked at."""


def check_apart(kind: Any, where: str) -> None:
    """Raise Wrong where two beads that may collide can never be apart.

    Parameters
    ----------
    kind : MoleculeSection
        Or what has its names.
    where : str
        How messages call it.
    """
    pair = never_apart(kind)
    if pair is None:
        return
    i, j, reach, contact, separation = pair
    remedy = f"set exclude = {separation}" if separation <= 3 else "set self_contact = false"
    raise Wrong(
        f"{where}.bond_length: beads {i} and {j} can never be apart: bonds keep them within {reach:.12g}, their "
        f"contact distance is {contact:.12g}; {remedy}, lengthen the bonds or lower the diameters"
    )


def never_apart(kind: Any) -> tuple[int, int, float, float, int] | None:
    """Return two beads that may collide and never part, the length of the bonds between, contact distance, bonds."""
    if kind.beads < 3 or kind.is_line or kind.is_body or not kind.self_contact or kind.bond_count == 0:
        return None
    if (kind.exclude + 1) * np.min(kind.bond_length) > np.max(kind.diameter) * (1.0 + 1e-6):
        return None  # told without a look at each bond: molecules may be endless
    bonds = bond_table(kind)
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
        at = np.repeat(offsets[j] - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
        i, j, reach = np.repeat(i, count), partners[at], np.repeat(reach, count) + partner_length[at]
        key = i * n + j
        sequence = np.lexsort((reach, key))
        sequence = sequence[np.unique(key[sequence], return_index=True)[1]]
        i, j, reach = i[sequence], j[sequence], reach[sequence]
        contact = 0.5 * (diameter[i] + diameter[j])
        held = (i < j) & (reach <= contact * (1.0 + ROUNDING)) & ~np.isin(i * n + j, free)
        if held.any():
            k = int(np.argmax(held))
            return int(i[k]), int(j[k]), float(reach[k]), float(contact[k]), separation
        away = i != j
        i, j, reach = i[away], j[away], reach[away]
    return None
