"""Second derivatives of the potentials: the metric of reflections that keep the second-order numerical Hamiltonian.

The part of that energy that goes with the momentum p is p W p / 2, with W = M^-1 + k M^-1 V'' M^-1. The factor k is h^2
/ 6 where velocity Verlet is the base and -h^2 / 12 where the midpoint rule is (Kaufman and Pai 2012, with the factors
put right). A bead's owner computes the sums over its neighbours. What couples two contacts is computed by the rank that
solves them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.errors import StepError
from hpcchain.model.composition import in_blocks
from hpcchain.steps.contacts.clusters import dot
from hpcchain.steps.potentials.forces import (
    BOND_EPSILON,
    BOND_SIGMA2,
    CUTOFF2,
    EPS24,
    HARMONIC,
    KIND,
    LENGTH,
    SIGMA2,
    STIFFNESS,
    WCA2,
)

if TYPE_CHECKING:
    from hpcchain.model.physics.constants import SteppedPhysics
    from hpcchain.steps.contacts.clusters import Pool, Responses
    from hpcchain.steps.potentials.constants import Constants
    from hpcchain.steps.potentials.interactions import Interactions

EXTRA = 9
"""Numbers of a bead besides its place: V'' v (3,), and xx, yy, zz, xy, xz, yz of its own block of V''."""
CENTER = 3
"""Where the field has the stiffness of springs to a centre."""
UNBONDED = -2
"""Of two beads that no bond joins, where bonds without a potential have -1."""


def pair_curvature(r2: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return f and c of pairs' blocks c d d^T - f of V'': force over distance, and (V'' - V'/r) / r^2, (n,) each.

    Parameters
    ----------
    r2 : (n,) float64 array
        Squared distances [length^2].
    row : (n, 4) float64 array
        Of the table of pairs (`forces`).
    """
    eps24, s2 = row[:, EPS24], row[:, SIGMA2] / r2
    s6 = s2 * s2 * s2
    f = eps24 * (2.0 * s6 * s6 - s6) / r2
    return f, (eps24 * (26.0 * s6 * s6 - 7.0 * s6) / r2 + f) / r2


def bond_curvature(r2: np.ndarray, bond: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what `pair_curvature` does, of bonds that are not torn; `bond` (n, 5): rows of the table of bonds."""
    stiffness, length, f, c = bond[:, STIFFNESS], bond[:, LENGTH], np.empty(len(r2)), np.empty(len(r2))
    harmonic = bond[:, KIND] == HARMONIC
    k, r = stiffness[harmonic], np.sqrt(r2[harmonic])
    f[harmonic] = -k * (r - length[harmonic]) / r
    c[harmonic] = (k + f[harmonic]) / r2[harmonic]
    k, square = stiffness[~harmonic], length[~harmonic] * length[~harmonic]
    rest = 1.0 - r2[~harmonic] / square
    f[~harmonic], c[~harmonic] = -k / rest, 2.0 * k / (square * rest * rest)
    near = ~harmonic & (r2 < WCA2 * bond[:, BOND_SIGMA2])
    row = np.zeros((int(near.sum()), 4))
    row[:, EPS24], row[:, SIGMA2] = 24.0 * bond[near, BOND_EPSILON], bond[near, BOND_SIGMA2]
    push, bend = pair_curvature(r2[near], row)
    f[near] += push
    c[near] += bend
    return f, c


class Metric:
    """The metric W of a run's reflections.

    Parameters
    ----------
    constants : Constants
    settings : SteppedPhysics
        `Physics.steps`.
    """

    def __init__(self, constants: Constants, settings: SteppedPhysics) -> None:
        self.composition, self.constants = constants.composition, constants
        h = settings.step
        self.factor = h * h / 6.0 if settings.base == "verlet" else -h * h / 12.0

    def set_beads(self, lists: Interactions, molecule: np.ndarray) -> None:
        """Take local beads, whose molecules (n,) are given, and the lists of own ones."""
        self.lists, self.molecule = lists, molecule
        self.whole = ~self.composition.prototypes.flexible[self.composition.class_of(molecule)]

    def flags(self, pairs: np.ndarray) -> np.ndarray:
        """Return (n, 3) float64, 1 for local beads that an impulse at contacts (k, 2) of own beads may move.

        Those are all of molecules with rigid bonds, and the beads in contact of others.
        """
        beads = pairs[pairs >= 0]
        found = np.isin(self.lists.ids, beads)
        found |= self.whole & np.isin(self.molecule, self.composition.molecule_of(beads))
        return np.repeat(found[:, None], 3, axis=1).astype(float)

    def links(self, position: np.ndarray, flag: np.ndarray) -> np.ndarray:
        """Return pairs (n, 2) of beads by global numbers, of two molecules, that are flagged and interact."""
        _, i, j, _, _ = self._near(position, np.flatnonzero(flag[self.lists.own, 0]))
        apart = (flag[j, 0] != 0.0) & (self.molecule[i] != self.molecule[j])
        return np.unique(np.sort(self.lists.ids[np.column_stack([i, j])[apart]], axis=1), axis=0)

    def blocks(self, position: np.ndarray, velocity: np.ndarray, flag: np.ndarray) -> np.ndarray:
        """Return rows (m, EXTRA) of own beads, zeros but for those flagged; places and velocities of local ones."""
        lists, spring = self.lists, self.constants.field[CENTER]
        found, rows = np.zeros((len(lists.own), EXTRA)), np.flatnonzero(flag[lists.own, 0])
        found[rows, :3], found[rows, 3:6] = spring * velocity[lists.own[rows]], spring
        row, i, j, d, r2 = self._near(position, rows)
        add_blocks(found, row, d, velocity[i] - velocity[j], pair_curvature(r2, self._of_pairs(i, j)))
        bonds, count = lists.bonds, np.diff(lists.bonds.first)[rows]
        at, row = in_blocks(bonds.first[rows], count), np.repeat(rows, count)
        at, row = at[bonds.which[at] >= 0], row[bonds.which[at] >= 0]
        i, j = lists.own[row], bonds.partner[at]
        d = position[i] - position[j]
        add_blocks(found, row, d, velocity[i] - velocity[j], bond_curvature(dot(d, d), bonds.table[bonds.which[at]]))
        return found

    def _near(self, position: np.ndarray, rows: np.ndarray) -> tuple:
        """Return rows of own beads, local beads i and j, separations (n, 3) and squares of the pairs that interact."""
        pairs = self.lists.pairs
        listed = np.arange(pairs.neighbour.shape[1]) < pairs.lengths[rows, None]
        row, j = np.repeat(rows, pairs.lengths[rows]), pairs.neighbour[rows][listed].astype(np.int64)
        i = pairs.own[row]
        d = self.lists.images.nearest(position[i] - position[j])
        r2 = dot(d, d)
        acts = r2 < self._of_pairs(i, j)[:, CUTOFF2]
        return row[acts], i[acts], j[acts], d[acts], r2[acts]

    def _of_pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Return the rows (n, 4) of the table of pairs of local beads i and j."""
        return self.constants.pairs[self.lists.kind[i], self.lists.kind[j]]

    def weighted(self, pool: Pool, responses: Responses, cluster: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the matrix (k, k) of a cluster's contacts in the metric W, and their rates (k,) with it.

        Raises
        ------
        StepError
            Where W is not positive, as the step is too long for the potentials.
        """
        geometry = responses.geometry
        parts = [slice(*responses.starts[k : k + 2]) for k in cluster]
        rows = np.unique(np.concatenate([responses.bead[part] for part in parts]))
        number = np.full(len(pool.ids), -1, dtype=np.int64)
        number[rows] = np.arange(len(rows))
        change = np.zeros((len(cluster), len(rows), 3))
        for k, part in enumerate(parts):
            change[k, number[responses.bead[part]]] = responses.change[part]
        bent = self._bent(pool, rows, number, change)
        matrix = responses.matrix(cluster) + self.factor * np.einsum("kmc,lmc->kl", change, bent)
        rates = geometry.rates(pool.velocity, responses.normal)[cluster]
        rates = rates + self.factor * np.einsum("kmc,mc->k", change, pool.extra[rows, :3])
        if not np.all(np.diag(matrix) > 0.0):
            raise StepError(
                'steps.energy: "H2" has no reflections here, as the potentials are too stiff for the step; make '
                'steps.step smaller or use "H"'
            )
        return matrix, rates

    def _bent(self, pool: Pool, rows: np.ndarray, number: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Return V'' change (k, m, 3) of changes of the beads `rows` of a pool, whose numbers (-1: none) are given."""
        prototype, own = self.composition.prototype_of(pool.ids), pool.extra[rows]
        first, step, which = self.constants.partners(prototype[rows])
        bond = np.full((len(rows), len(rows)), UNBONDED)
        one = np.repeat(np.arange(len(rows)), np.diff(first))
        other = number[rows[one] + step]
        bond[one[other >= 0], other[other >= 0]] = which[other >= 0]
        d = pool.position[rows, None] - pool.position[rows]
        d = np.where((bond == UNBONDED)[:, :, None], self.lists.images.nearest(d), d)
        r2 = d[:, :, 0] * d[:, :, 0] + d[:, :, 1] * d[:, :, 1] + d[:, :, 2] * d[:, :, 2]
        table = self.constants.pairs[np.ix_(self.constants.kind[prototype[rows]], self.constants.kind[prototype[rows]])]
        bonded, pair = bond >= 0, (bond == UNBONDED) & (r2 < table[:, :, CUTOFF2]) & ~np.eye(len(rows), dtype=bool)
        f, c = np.zeros_like(r2), np.zeros_like(r2)
        f[bonded], c[bonded] = bond_curvature(r2[bonded], self.constants.bonds[bond[bonded]])
        f[pair], c[pair] = pair_curvature(r2[pair], table[pair])
        block = own[:, [[3, 6, 7], [6, 4, 8], [7, 8, 5]]]
        found = (
            block[:, :, 0] * change[:, :, :1] + block[:, :, 1] * change[:, :, 1:2] + block[:, :, 2] * change[:, :, 2:]
        )
        for b in np.flatnonzero((bonded | pair).any(axis=0)):
            x, e = change[:, b, None], d[:, b]
            along = c[:, b] * (e[:, 0] * x[:, :, 0] + e[:, 1] * x[:, :, 1] + e[:, 2] * x[:, :, 2])
            found = found - (along[:, :, None] * e - f[:, b, None] * x)
        return found


def add_blocks(found: np.ndarray, row: np.ndarray, d: np.ndarray, w: np.ndarray, curvature: tuple) -> None:
    """Add to rows (m, EXTRA), in order, what pairs give: separations and relative velocities (n, 3), f and c."""
    f, c = (each[:, None] for each in curvature)
    crossed = [c * d[:, [a]] * d[:, [b]] for a, b in ((0, 1), (0, 2), (1, 2))]
    np.add.at(found, row, np.concatenate([c * dot(d, w)[:, None] * d - f * w, c * d * d - f, *crossed], axis=1))
