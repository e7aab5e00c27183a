"""How independent of one another the bonds of a molecule are, where its beads are.

Bonds that follow from others, or that stop no motion to first order (a triangle with bonds 1, 1 and 2, a flat square
with both diagonals), make the bonds' matrix T = G M^-1 G^T singular. Then tensions do not follow from the motion, and
flights and contacts lose energy. T is scaled to a diagonal of 1, so that neither masses nor lengths matter, and
eliminated bond after bond. A pivot is what a bond adds to those before it: 1 for a bond of its own, 0 for one that
follows from them. Its inverse says how ill-conditioned T is. Without cycles bonds are always independent.

Measured under `taylor`, greatest relative error of the energy in a time of 5 (bonds of 1, no contact):

==================  =======  =======  =======  =======
triangle 1, 1, 2-x  1.5e4    1.5e6    1.5e8    1.5e10    condition of T
error               1e-12    2e-9     7e-7     8e-4
==================  =======  =======  =======  =======
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.errors import ConfigError
from hpcchain.model.molecules.bond_graph import (
    BONDS,
    COLUMN,
    COUPLING,
    COUPLING_WORDS,
    COUPLINGS,
    FILL,
    ROW,
    SEQUENCE,
    UPDATE,
    build_structure,
)
from hpcchain.model.molecules.bonds import gradient
from hpcchain.model.molecules.equal_shapes import groups_of

if TYPE_CHECKING:
    from hpcchain.model.molecules.equal_shapes import Group
    from hpcchain.model.system import Topology

LEAST_PIVOT = 1e-6
"""Pivots below this are refused at a start."""
GENERIC_PIVOT = 1e-11
"""Pivots below this, at random places, are those of bonds that follow from others wherever the beads are."""
MOST_AT_ONCE = 4_000_000  # numbers in the factors of the molecules that are looked at together
MOST_BONDS = 500  # of a molecule, for what takes a time that grows with their cube
ON_A_LINE = 1e-2  # across a line, of the length along it
TAKES_PART = 1e-2  # of the largest share of a bond in a dependence


class DependentBonds(ConfigError):
    """The bonds of a molecule are not independent; other places, seeds or sizes are no help."""


def require_independent(source: str, topology: Topology, position: np.ndarray, ids: np.ndarray | None = None) -> None:
    """Raise DependentBonds unless the bonds of every molecule are independent where its beads are.

    Parameters
    ----------
    source : str
        The input's or file's name for messages.
    topology : Topology
        Of these molecules.
    position : (N, 3) float64 array
        Of their beads [length].
    ids : (N,) int64 array, optional
        Global ids of the beads, for messages; default: 0, 1, ...
    """
    closed = np.diff(topology.first_bond) >= np.diff(topology.first_bead)
    for group in groups_of(topology, closed & ~(topology.rod | topology.body | topology.flexible)):
        kind, beads = int(topology.kind[group.molecules[0]]), group.beads if ids is None else ids[group.beads]
        where, name = f"{source}: molecule[{kind}]", topology.names[kind]
        require_independent_shapes(where, name, group, position[group.beads], beads)


def require_independent_shapes(
    where: str, name: str, group: Group, shapes: np.ndarray, ids: np.ndarray | None = None
) -> None:
    """Raise DependentBonds unless bonds are independent in shapes (k, n, 3) that a kind's molecules have, or are to.

    `ids` (k, n) are those of the beads, for messages; else they count from 0.
    """
    if len(shapes) == 0:
        return
    least = least_pivots(group, shapes)
    worst = int(np.argmin(least))
    if not least[worst] >= LEAST_PIVOT:
        beads = np.arange(len(group.mass)) if ids is None else ids[worst]
        raise DependentBonds(f"{where}: {complaint(name, group, shapes[worst], float(least[worst]), beads)}")


def follow_always(beads: int, bonds: np.ndarray) -> int | None:
    """Return a bond (its number) that follows from others wherever the beads are, or None.

    The rank of G at random places is the greatest that it has anywhere, but for a chance of 0. Molecules of more than
    MOST_BONDS bonds are not looked at.

    Parameters
    ----------
    beads : int
    bonds : (b, 2) int64 array
        Of one connected molecule.
    """
    if not beads <= len(bonds) <= MOST_BONDS:
        return None
    places = np.random.default_rng(20260).normal(size=(beads, 3))
    pivots = all_pivots(np.ones(beads), bonds, (places[bonds[:, 1]] - places[bonds[:, 0]])[None])[0]
    at = int(np.argmin(pivots))
    return at if pivots[at] < GENERIC_PIVOT else None


def least_pivots(group: Group, places: np.ndarray) -> np.ndarray:
    """Return the smallest pivot (C,) of every molecule of a group, at places (C, n, 3) [length]."""
    structure = build_structure(len(group.mass), group.bonds)
    size = max(1, MOST_AT_ONCE // (int(structure[FILL]) + 4 * len(group.bonds)))
    found = np.empty(len(places))
    for begin in range(0, len(places), size):
        part = places[begin : begin + size]
        bond = part[:, group.bonds[:, 1]] - part[:, group.bonds[:, 0]]
        found[begin : begin + size] = all_pivots(group.mass, group.bonds, bond, structure).min(axis=1)
    return found


def all_pivots(
    mass: np.ndarray, bonds: np.ndarray, bond: np.ndarray, structure: np.ndarray | None = None
) -> np.ndarray:
    """Return the pivots (C, b) of T, scaled to a diagonal of 1, of molecules with bond vectors (C, b, 3) [length]."""
    structure = build_structure(len(mass), bonds) if structure is None else structure
    count, part = int(structure[BONDS]), lambda word, length: structure[structure[word] :][:length]
    entries = couplings(mass, bonds, bond, structure)
    column, sequence = part(COLUMN, count + 1), part(SEQUENCE, count)
    rows, updates = part(ROW, int(structure[FILL])), structure[structure[UPDATE] :]
    pivots, done = np.ones((count, len(bond))), 0
    for k in range(count):
        begin, end = column[k], column[k + 1]
        below, pivot = entries[begin:end], pivots[sequence[k]]
        multiple = below * np.divide(1.0, pivot, out=np.zeros_like(pivot), where=pivot > GENERIC_PIVOT)
        pivots[rows[begin:end]] -= multiple * below
        if end - begin > 1:
            first, second = np.triu_indices(end - begin, 1)
            entries[updates[done : done + len(first)]] -= multiple[first] * below[second]
            done += len(first)
    return pivots.T


def couplings(mass: np.ndarray, bonds: np.ndarray, bond: np.ndarray, structure: np.ndarray) -> np.ndarray:
    """Return (fill, C): the scaled T below its diagonal, in the entries of its factor; 0 in those that fill in."""
    pairs = structure[structure[COUPLING] :][: COUPLING_WORDS * int(structure[COUPLINGS])].reshape(-1, COUPLING_WORDS)
    entry, first, second, bead, sign = pairs.T
    weight = 1.0 / mass
    scale = 1.0 / np.sqrt(weight[bonds].sum(axis=1))
    with np.errstate(invalid="ignore"):
        unit = bond / np.sqrt(np.einsum("cbk,cbk->cb", bond, bond))[..., None]
    factor = sign * weight[bead] * scale[first] * scale[second]
    found = np.zeros((int(structure[FILL]), len(bond)))
    found[entry] = factor[:, None] * np.einsum("crk,crk->rc", unit[:, first], unit[:, second])
    return found


def complaint(name: str, group: Group, places: np.ndarray, least: float, beads: np.ndarray) -> str:
    """Return what is wrong with one molecule, whose places are (n, 3), and what to do."""
    condition = f"the condition of their matrix is {1.0 / least:.1e}" if least > 1e-15 else "their matrix is singular"
    text = (
        f"the bonds of molecule {name!r} of beads {beads[0]} to {beads[-1]} are not independent: some follow from "
        f"others, or stop no motion ({condition}), so that its flight would lose energy; "
    )
    share = dependence(group, places)
    taking = np.arange(len(group.mass)) if share is None else np.unique(group.bonds[share >= TAKES_PART * share.max()])
    if len(taking) > 2 and on_a_line(places[taking]):
        return text + (
            f'its beads {listed(beads[taking])} lie on a line: make it of kind = "rod", or leave out the '
            "bonds between beads that are not next to each other"
        )
    if share is None:
        return text + 'leave out bonds between beads that others hold in place already, or make it of kind = "rigid"'
    i, j = beads[group.bonds[np.argmax(share)]]
    return text + (
        f"leave out a bond, for example that of beads {i} and {j}, or put its beads {listed(beads[taking])} "
        "where each of their bonds is needed (positions, bond_length), "
        'not in one plane; kind = "rigid" holds beads at any places, without bonds'
    )


def listed(beads: np.ndarray) -> str:
    """Return bead numbers as text, the first few where there are many."""
    names = [str(bead) for bead in beads[:8]] + (["..."] if len(beads) > 8 else [])
    return ", ".join(names)


def dependence(group: Group, places: np.ndarray) -> np.ndarray | None:
    """Return the share (b,) of each bond in a smallest set of dependent ones, None for too many bonds."""
    if len(group.bonds) > MOST_BONDS:
        return None
    g = gradient(group.bonds, places) / np.repeat(np.sqrt(group.mass), 3)
    g /= np.linalg.norm(g, axis=1)[:, None]
    values, vectors = np.linalg.eigh(g @ g.T)
    return np.abs(smallest_set(vectors[:, values <= max(LEAST_PIVOT, values[0])].T.copy()))


def smallest_set(vectors: np.ndarray) -> np.ndarray:
    """Return a vector (b,) of the space that rows (d, b) span with at least d - 1 zeros, by Gauss-Jordan."""
    for row in range(1, len(vectors)):
        at = int(np.argmax(np.abs(vectors[row])))
        other = np.arange(len(vectors)) != row
        vectors[other] -= np.outer(vectors[other, at] / vectors[row, at], vectors[row])
    return vectors[0]


def on_a_line(places: np.ndarray) -> bool:
    """Return whether places (n, 3) are on a line, all but."""
    along = np.linalg.svd(places - places.mean(axis=0), compute_uv=False)
    return bool(along[1] <= ON_A_LINE * along[0])
