"""Molecules in contact: which hang together, and what an impulse at a contact does to them.

Everything is a function of the molecules and contacts of one cluster alone, taken in the order of global numbers, so
any rank that has them finds the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.composition import in_blocks, running_sum

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.steps.contacts.walls import Walls
    from hpcchain.steps.potentials.lists import Images
    from hpcchain.steps.rigid.molecules import Bonded, Rigid, RigidMolecules

ROW = 10
"""Numbers of a bead in a message: global number, position, velocity, force; then what `curvature` has of it."""
NONE = np.zeros((0, 2), dtype=np.int64)


@dataclass
class Pool:
    """Whole molecules at the beginning of a step.

    Attributes
    ----------
    molecules : (k,) int64 array
        Global numbers, ascending.
    ids : (m,) int64 array
        Of their beads.
    first : (k + 1,) int64 array
        Where molecules begin.
    position, velocity, force : (m, 3) float64 arrays
        [length], [length / time], [mass length / time^2].
    extra : (m, e) float64 array
        Of second derivatives (`curvature`); e is 0 where reflections need none.
    links : (l, 2) int64 array
        Pairs of beads whose potential joins contacts.
    """

    molecules: np.ndarray
    ids: np.ndarray
    first: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    force: np.ndarray
    extra: np.ndarray
    links: np.ndarray

    def rows_of(self, which: np.ndarray) -> np.ndarray:
        """Return the rows of the beads of some molecules, given by their indices in `molecules`, ascending."""
        return in_blocks(self.first[which], np.diff(self.first)[which])

    def molecule_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the indices in `molecules` of those that beads in some rows are of."""
        return np.searchsorted(self.first, rows, side="right") - 1

    def part(self, which: np.ndarray, links: np.ndarray) -> Pool:
        """Return the Pool of some molecules, with links of theirs."""
        rows, first = self.rows_of(which), running_sum(np.diff(self.first)[which])
        fields = (self.position[rows], self.velocity[rows], self.force[rows], self.extra[rows])
        return Pool(self.molecules[which], self.ids[rows], first, *fields, links)

    def packed(self, which: np.ndarray) -> np.ndarray:
        """Return (n, ROW + e) float64 rows of the beads of some molecules."""
        rows = self.rows_of(which)
        fields = (self.ids[rows, None], self.position[rows], self.velocity[rows], self.force[rows], self.extra[rows])
        return np.concatenate(fields, axis=1, dtype=np.float64)


def pool_of(composition: Composition, rows: np.ndarray, links: np.ndarray) -> Pool:
    """Return the Pool of rows (n, ROW + e) of whole molecules, each bead once, in any order, with links of theirs."""
    rows = rows[np.argsort(rows[:, 0])]
    ids = rows[:, 0].astype(np.int64)
    molecules = np.unique(composition.molecule_of(ids))
    first = running_sum(composition.size_of(molecules))
    _, position, velocity, force, extra = (part.copy() for part in np.split(rows, [1, 4, 7, ROW], axis=1))
    return Pool(molecules, ids, first, position, velocity, force, extra, links)


def together(*some: np.ndarray) -> np.ndarray:
    """Return the pairs (n, 2) of some arrays in ascending order, each once."""
    pairs = np.concatenate(some)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    fresh = np.ones(len(pairs), dtype=bool)
    fresh[1:] = np.any(pairs[1:] != pairs[:-1], axis=1)
    return pairs[fresh]


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return (n,) products of rows (n, 3), summed in one order."""
    return a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1] + a[:, 2] * b[:, 2]


class Geometry:
    """Contacts of the beads of a Pool.

    Parameters
    ----------
    pool : Pool
    pairs : (n, 2) int64 array
        Global numbers, the lower first; a bead and a wall: the bead, then the wall's code (`walls`).
    images : Images
    walls : Walls
    radius : (m,) float64 array
        Of the beads [length].

    Attributes
    ----------
    one, other : (n,) int64 arrays
        Rows of the beads; `other` is that of `one` for walls.
    wall : (n,) bool array
    contact : (n,) float64 array
        Distance of centres, or from the wall, where beads touch [length].
    moving : (n,) float64 array
        How fast walls move towards the inside, 0 of pairs of beads [length / time].
    sliding : (n, 3) float64 array
        Velocities of walls along themselves [length / time].
    """

    def __init__(self, pool: Pool, pairs: np.ndarray, images: Images, walls: Walls, radius: np.ndarray) -> None:
        self.pairs, self.images, self.walls = pairs, images, walls
        self.wall = pairs[:, 1] < 0
        row = np.where(self.wall, -1 - pairs[:, 1], 0)
        self.moving = np.where(self.wall, walls.velocity[row], 0.0)
        self.sliding = np.where(self.wall[:, None], walls.sliding[row], 0.0)
        self.one = np.searchsorted(pool.ids, pairs[:, 0])
        self.other = np.where(self.wall, self.one, np.searchsorted(pool.ids, np.maximum(pairs[:, 1], 0)))
        self.contact = radius[self.one] + np.where(self.wall, 0.0, radius[self.other])

    def at(self, position: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Return gaps (n,) and unit normals (n, 3), from the other bead or wall to the first.

        Parameters
        ----------
        position : (m, 3) float64 array
            [length].
        time : float
            For walls that move [time].
        """
        apart = self._apart(position)
        distance = np.sqrt(dot(apart, apart))
        with np.errstate(invalid="ignore", divide="ignore"):
            normal = apart / distance[:, None]
        wall = np.flatnonzero(self.wall)
        if len(wall):
            distance[wall], normal[wall] = self.walls.at(self.pairs[wall, 1], position[self.one[wall]], time)
        return distance - self.contact, normal

    def _apart(self, position: np.ndarray) -> np.ndarray:
        """Return (n, 3) from the nearest image of the other bead to the first."""
        return self.images.nearest(position[self.one] - position[self.other])

    def rates(self, velocity: np.ndarray, normal: np.ndarray) -> np.ndarray:
        """Return (n,) at which gaps grow [length / time]."""
        mate = np.where(self.wall, self.moving, dot(normal, velocity[self.other]))
        return dot(normal, velocity[self.one]) - mate

    def lever(self, position: np.ndarray, centre: np.ndarray) -> np.ndarray:
        """Return (n, 3) from the other molecule's centre of mass to the first's, which walls have none of."""
        apart = self._apart(position)
        apart = apart - (position[self.one] - centre[self.one]) + (position[self.other] - centre[self.other])
        return np.where(self.wall[:, None], 0.0, apart)


class Responses:
    """What a unit impulse at each contact does to velocities: of single beads, through bonds, and of rods.

    Parameters
    ----------
    pool : Pool
    geometry : Geometry
    normal : (n, 3) float64 array
        Of the contacts, along which they are.
    mass : (m,) float64 array
        Infinite of fixed beads.
    rigid : RigidMolecules

    Attributes
    ----------
    contact, bead : (r,) int64 arrays
        Which contact's impulse changes which bead.
    change : (r, 3) float64 array
        [1 / mass].
    """

    def __init__(
        self, pool: Pool, geometry: Geometry, normal: np.ndarray, mass: np.ndarray, rigid: RigidMolecules
    ) -> None:
        self.geometry, self.normal = geometry, normal
        n = len(geometry.one)
        wall = geometry.wall
        contact = np.concatenate([np.arange(n), np.flatnonzero(~wall)])
        bead = np.concatenate([geometry.one, geometry.other[~wall]])
        change = np.concatenate([normal, -normal[~wall]]) / mass[bead, None]
        molecule = pool.molecule_of(bead)
        kind = rigid.composition.class_of(pool.molecules)[molecule]
        free = rigid.free(kind)
        parts = [(contact[free], bead[free], change[free])]
        for one, group in rigid.groups.items():
            mine = kind == one
            if mine.any():
                parts.append(through(pool, group, contact[mine], bead[mine], change[mine], molecule[mine]))
        contact, bead, change = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        sequence = np.lexsort((bead, contact))
        self.contact, self.bead, self.change = contact[sequence], bead[sequence], change[sequence]
        self.starts = np.searchsorted(self.contact, np.arange(n + 1))

    def add(self, velocity: np.ndarray, which: np.ndarray, impulses: np.ndarray) -> None:
        """Add to velocities what impulses at some contacts do, contact by contact."""
        for k, impulse in zip(which, impulses, strict=True):
            rows = slice(*self.starts[k : k + 2])
            velocity[self.bead[rows]] += impulse * self.change[rows]

    def own_rates(self) -> np.ndarray:
        """Return what a unit impulse at each contact adds to its own rate (n,)."""
        size, geometry = np.diff(self.starts), self.geometry
        field = np.zeros((len(size), 3))
        one, other = np.repeat(geometry.one, size), np.repeat(geometry.other, size)
        wall = np.repeat(geometry.wall, size)
        sign = (self.bead == one).astype(float) - ((self.bead == other) & ~wall)
        for c in range(3):
            field[:, c] = np.bincount(self.contact, sign * self.change[:, c], len(size))
        return dot(self.normal, field)

    def matrix(self, which: np.ndarray) -> np.ndarray:
        """Return what an impulse at each of some contacts adds to the rates of each other, (k, k)."""
        found, geometry = np.empty((len(which), len(which))), self.geometry
        for column, k in enumerate(which):
            rows = slice(*self.starts[k : k + 2])
            bead, change = self.bead[rows], self.change[rows]
            for line, other in enumerate(which):
                total = change[bead == geometry.one[other]].sum(axis=0)
                if not geometry.wall[other]:
                    total = total - change[bead == geometry.other[other]].sum(axis=0)
                found[line, column] = dot(self.normal[other : other + 1], total[None])[0]
        return found


def through(
    pool: Pool, group: Bonded | Rigid, contact: np.ndarray, bead: np.ndarray, change: np.ndarray, molecule: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return contacts, beads and changes of all beads of rigid molecules of a group, of impulses on some of them."""
    size = int(np.diff(pool.first)[molecule[0]])
    key, which = np.unique(contact * len(pool.molecules) + molecule, return_inverse=True)
    contacts, molecules = np.divmod(key, len(pool.molecules))
    rows = pool.first[molecules][:, None] + np.arange(size)
    fields = np.zeros((len(key) * size, 3))
    np.add.at(fields, which * size + (bead - pool.first[molecule]), change)
    begin = np.arange(len(key)) * size
    group.project(pool.position[rows.ravel()], np.arange(len(fields)), fields, begin)
    return np.repeat(contacts, size), rows.ravel(), fields
