"""What keys of one kind of molecules must satisfy: bond graphs, rigid bodies, fixed beads, spheres with directors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcchain.config.keys.key import numbered, required
from hpcchain.config.keys.values import Wrong
from hpcchain.model.composition import in_blocks
from hpcchain.model.molecules.bodies import body_sites, is_thin
from hpcchain.model.molecules.exclusion import adjacency, component_of, pairs_within
from hpcchain.model.molecules.independence import follow_always

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import BoxSection, Config, MoleculeSection, PropagatorSection


PROPAGATOR = "taylor"
"""That by whose name bodies fly."""
ROUNDING = 1e-12
"""Relative: what reaches beyond a contact distance by less leaves no room, and what lacks less does not overlap."""
MOST_BONDS = 64
"""Bonds in a row that are looked at for beads that are never apart."""
LEAST_DISTANCE = 1e-9
"""Of beads of a body, relative to its greatest coordinate."""
MOST_FILLED = 2000
"""Beads of a body that are looked at one by one for what they fill."""


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


def check_body(config: Config, kind: MoleculeSection, where: str) -> None:
    """Raise Wrong, with key and reason, unless the beads of a kind make a rigid body that can move and has room."""
    name = (kind.propagator or config.propagator).name
    if config.steps is None and name != PROPAGATOR:
        key = f"{where}.propagator" if kind.propagator else "propagator.name"
        raise Wrong(
            f'{key}: rigid bodies have no steps of "{name}", they fly exactly; set {where}.propagator = '
            f'{{ name = "{PROPAGATOR}" }}'
        )
    check_sites(kind, where)
    check_fits(kind, where, config.box)


def check_sites(kind: MoleculeSection, where: str) -> None:
    """Check that no two beads are at one place, and not all on a line."""
    sites, mass = required(kind.sites), np.broadcast_to(np.asarray(kind.mass, dtype=float), kind.beads)
    pair = nearest(sites)
    if pair[2] <= LEAST_DISTANCE * float(np.abs(sites - sites.mean(axis=0)).max()):
        raise Wrong(f"{where}.sites: beads {pair[0]} and {pair[1]} are at one place; leave one of them out")
    if is_thin(body_sites(sites, mass), mass):
        raise Wrong(f'{where}.sites: all beads lie on a line: make it of kind = "rod", with their distances')


def nearest(sites: NDArray[np.float64]) -> tuple[int, int, float]:
    """Return the two beads of a body that are nearest to each other, and how far apart they are [length]."""
    best = (0, 1, np.inf)
    for i in range(len(sites) - 1):
        away = np.sqrt(np.sum((sites[i + 1 :] - sites[i]) ** 2, axis=1))
        j = int(np.argmin(away))
        if away[j] < best[2]:
            best = (i, i + 1 + j, float(away[j]))
    return best


def check_fits(kind: MoleculeSection, where: str, box: BoxSection) -> None:
    """Check that a rod or body has room between walls, lying as it may, as far as two of its beads say."""
    if set(box.boundary) != {"wall"}:  # it can lie along an axis without
        return
    radius = 0.5 * np.broadcast_to(kind.diameter, kind.beads)
    beads, given = np.array([0, kind.beads - 1]), kind.bond_length
    length = float(np.sum(given)) if isinstance(given, tuple) else kind.bond_count * given
    sites = np.array([[0.0], [length]])
    if kind.sites is not None:
        beads, sites = np.arange(kind.beads)[:MOST_FILLED], kind.sites
    for k, i in enumerate(beads[:-1]):
        away = np.sqrt(np.sum((sites[k + 1 : len(beads)] - sites[k]) ** 2, axis=1))
        space = np.maximum(np.array(box.size) - (radius[i] + radius[beads[k + 1 :]])[:, None], 0.0)
        diagonal = np.sqrt(np.sum(space**2, axis=1))
        for bad in np.flatnonzero(away > diagonal)[:1]:
            what, mend = f"bond_length: a rod of {length} between its end beads", " or shorten the rod"
            if kind.sites is not None:
                what = f"sites: a body with beads {i} and {beads[k + 1 + bad]} at a distance of {away[bad]:.6g}"
                mend = ""
            raise Wrong(
                f"{where}.{what} fits nowhere between the walls, not even diagonally ({diagonal[bad]:.6g}); enlarge "
                f"the box{mend}"
            )


def apart_in_body(kind: MoleculeSection) -> list[float]:
    """Return diameters of beads of a body of which no two overlap, the largest first."""
    diameter, sites = np.broadcast_to(kind.diameter, kind.beads), required(kind.sites)
    taken: list[int] = []
    for i in np.argsort(-diameter, kind="stable")[:MOST_FILLED]:
        away = np.sqrt(np.sum((sites[taken] - sites[i]) ** 2, axis=1))
        if np.all(away >= 0.5 * (diameter[taken] + diameter[i]) * (1.0 - ROUNDING)):
            taken.append(int(i))
    return diameter[taken].tolist()


SHAPE = (
    'make a shape that stands still of single beads: kind = "monomer", fixed = [0], with a row of positions for each '
    "(they may overlap)"
)


def check_fixed(config: Config) -> None:
    """Raise Wrong, with key and reason, when fixed beads do not fit their molecules, the engine or gravity."""
    for where, kind in numbered(config.molecules):
        if not kind.fixed:
            continue
        if kind.is_line or kind.is_body:
            raise Wrong(
                f"{where}.fixed: a molecule of kind {kind.kind!r} moves as a whole, and no bead of it can be fixed; "
                f"{SHAPE}"
            )
        if config.run.engine != "events" and kind.fixed_velocity is not None and kind.beads > 1:
            raise Wrong(f'{where}.fixed_velocity: is of single beads; set kind = "monomer", or remove it')
        check_beads(kind, where)
    if all(len(set(kind.fixed or ())) == kind.beads for kind in config.molecules):
        raise Wrong("molecule[0].fixed: all beads of all molecules are fixed; leave one that can move")


def check_beads(kind: MoleculeSection, where: str) -> None:
    """Check that fixed beads exist, are named once and have no bond with one another."""
    fixed = tuple(kind.fixed or ())
    high = max(fixed)
    if high >= kind.beads:
        raise Wrong(f"{where}.fixed: bead {high} does not exist; the molecule has beads 0 to {kind.beads - 1}")
    if len(set(fixed)) < len(fixed):
        raise Wrong(f"{where}.fixed: names a bead twice; name each once")
    if kind.directors:
        raise Wrong(f"{where}.fixed: spheres with directors move; remove one of the two")
    bonds = kind.bond_table
    both = bonds[kind.pinned[bonds].all(axis=1)] if len(bonds) else bonds
    if len(both):
        a, b = both[0].tolist()
        raise Wrong(f"{where}.fixed: beads {a} and {b} are bonded and both fixed; fix one of them, or {SHAPE}")


UNIT = 1e-9
"""How far the norm of an orientation that is given may be from 1."""


def check_directors(kind: MoleculeSection, where: str, propagator: PropagatorSection) -> None:
    """Raise Wrong, with key and reason, when orientations and spins of a kind with this propagator are impossible."""
    if kind.fixed and kind.angular_velocities is not None:
        if np.any(np.reshape(kind.angular_velocities, (-1, kind.beads, 3))[:, kind.pinned] != 0.0):
            raise Wrong(f"{where}.angular_velocities: fixed beads do not spin; give them [0.0, 0.0, 0.0]")
    if kind.orientations is not None:
        check_unit(kind.orientations, f"{where}.orientations")
    if kind.angular_velocities is not None and propagator.name == "variational":
        check_step(kind.angular_velocities, propagator.step, f"{where}.angular_velocities")


def check_unit(rows: NDArray[np.float64], where: str) -> None:
    """Check that quaternions are of length 1."""
    norm = np.sqrt(np.sum(rows**2, axis=1))
    bad = np.flatnonzero(~(np.abs(norm - 1.0) <= UNIT))
    if len(bad):
        raise Wrong(
            f"{where}: row {bad[0]}: {rows[bad[0]].tolist()} is of length {norm[bad[0]]:.12g}; needs a unit "
            f"quaternion [w, x, y, z], to {UNIT:g}"
        )


def check_step(rows: NDArray[np.float64], step: float | None, where: str) -> None:
    """Check that spheres turn slowly enough for a step of the null-space method."""
    speed = np.sqrt(np.sum(rows**2, axis=1))
    if step is None:
        return
    bad = np.flatnonzero(~(step * speed < 1.0))
    if len(bad):
        raise Wrong(
            f"{where}: row {bad[0]}: {rows[bad[0]].tolist()} is too fast for steps of {step:g}: step × angular "
            f"speed = {step * speed[bad[0]]:.6g} must be below 1; shorten propagator.step"
        )
