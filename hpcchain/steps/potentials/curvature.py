"""Second derivatives of the potentials: the metric of reflections that keep the second-order numerical Hamiltonian.

The part of that energy that goes with the momentum p is p W p / 2, with W = M^-1 + k M^-1 V'' M^-1. The factor k is h^2
/ 6 where velocity Verlet is the base and -h^2 / 12 where the midpoint rule is (Kaufman and Pai 2012, with the factors
put right). A bead's owner computes the sums over its neighbours. What couples two contacts is computed by the rank that
solves them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.errors import StepError
from hpcchain.jit.decorators import kernel
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
    Bonds,
    lennard_jones,
)
from hpcchain.steps.potentials.lists import nearest

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.physics.constants import SteppedPhysics
    from hpcchain.steps.contacts.clusters import Pool, Responses
    from hpcchain.steps.potentials.constants import Constants
    from hpcchain.steps.potentials.interactions import Interactions

EXTRA = 9
"""Numbers of a bead besides its place: V'' v (3,), and xx, yy, zz, xy, xz, yz of its own block of V''."""
CENTER = 3
"""Where the field has the stiffness of springs to a centre."""


@kernel
def pair_curvature(r2, eps24, sigma2):
    """Return f and c of a pair's block c d d^T - f of V'': force over distance, and (V'' - V'/r) / r^2."""
    f = lennard_jones(r2, eps24, sigma2)[0]
    s2 = sigma2 / r2
    s6 = s2 * s2 * s2
    return f, (eps24 * (26.0 * s6 * s6 - 7.0 * s6) / r2 + f) / r2


@kernel
def bond_curvature(r2, bond):
    """Return what `pair_curvature` does, of a bond that is not torn."""
    if bond[KIND] == HARMONIC:
        r = math.sqrt(r2)
        f = -bond[STIFFNESS] * (r - bond[LENGTH]) / r
        return f, (bond[STIFFNESS] + f) / r2
    square = bond[LENGTH] * bond[LENGTH]
    rest = 1.0 - r2 / square
    f, c = -bond[STIFFNESS] / rest, 2.0 * bond[STIFFNESS] / (square * rest * rest)
    if r2 < WCA2 * bond[BOND_SIGMA2]:
        push, bend = pair_curvature(r2, 24.0 * bond[BOND_EPSILON], bond[BOND_SIGMA2])
        f += push
        c += bend
    return f, c


@kernel
def gather_block(d, w, f, c, out):
    """Add a pair's part to a bead's row (EXTRA,): separation d (3,), relative velocity w (3,)."""
    along = d[0] * w[0] + d[1] * w[1] + d[2] * w[2]
    for a in range(3):
        out[a] += c * along * d[a] - f * w[a]
        out[3 + a] += c * d[a] * d[a] - f
    out[6] += c * d[0] * d[1]
    out[7] += c * d[0] * d[2]
    out[8] += c * d[1] * d[2]


@kernel
def own_blocks(position, velocity, kind, rows, pairs, bonds, box, spring, work, out):
    """Write V'' v and the own blocks of V'' of some own beads.

    Parameters
    ----------
    position, velocity, kind : (n, 3), (n, 3), (n,) arrays
        Of local beads.
    rows : (k,) int64 array
        Rows of own beads.
    pairs : Pairs
    bonds : Bonds
    box : ((3,) float64 array, (3,) float64 array)
        See `contact_kernels.find_pairs`.
    spring : float
        Stiffness of the springs to a centre.
    work : (2, 3) float64 array
        Workspace.
    out : (k, EXTRA) float64 array
    """
    own, neighbour, count, table = pairs.own, pairs.neighbour, pairs.lengths, pairs.table
    first, partner, which, constants = bonds.first, bonds.partner, bonds.which, bonds.table
    size, inverse = box
    for m in range(len(rows)):
        r = rows[m]
        i = own[r]
        for a in range(3):
            out[m, a] = spring * velocity[i, a]
            out[m, 3 + a] = spring
            out[m, 6 + a] = 0.0
        for k in range(count[r]):
            j = neighbour[r, k]
            r2 = 0.0
            for c in range(3):
                work[0, c] = nearest(position[i, c] - position[j, c], size[c], inverse[c])
                work[1, c] = velocity[i, c] - velocity[j, c]
                r2 += work[0, c] * work[0, c]
            if r2 < table[kind[i], kind[j], CUTOFF2]:
                f, bend = pair_curvature(r2, table[kind[i], kind[j], EPS24], table[kind[i], kind[j], SIGMA2])
                gather_block(work[0], work[1], f, bend, out[m])
        for b in range(first[r], first[r + 1]):
            if which[b] < 0:
                continue
            j = partner[b]
            r2 = 0.0
            for c in range(3):
                work[0, c] = position[i, c] - position[j, c]
                work[1, c] = velocity[i, c] - velocity[j, c]
                r2 += work[0, c] * work[0, c]
            f, bend = bond_curvature(r2, constants[which[b]])
            gather_block(work[0], work[1], f, bend, out[m])


@kernel
def count_links(position, kind, molecule, flag, pairs, box, links):
    """Write pairs of local beads of two molecules that are flagged and interact; return how many there are."""
    own, neighbour, count, table = pairs.own, pairs.neighbour, pairs.lengths, pairs.table
    size, inverse = box
    found = 0
    for r in range(len(own)):
        i = own[r]
        if flag[i, 0] == 0.0:
            continue
        for k in range(count[r]):
            j = neighbour[r, k]
            if flag[j, 0] == 0.0 or molecule[i] == molecule[j]:
                continue
            r2 = 0.0
            for c in range(3):
                x = nearest(position[i, c] - position[j, c], size[c], inverse[c])
                r2 += x * x
            if r2 < table[kind[i], kind[j], CUTOFF2]:
                if found < len(links):
                    links[found, 0], links[found, 1] = min(i, int(j)), max(i, int(j))
                found += 1
    return found


@kernel
def weigh(position, kind, rows, own, bonds, table, box, change, out):
    """Write out[l] = V'' change[l], of the beads of some contacts.

    Parameters
    ----------
    position, kind : (n, 3), (n,) arrays
        Of a pool's beads.
    rows : (m,) int64 array
        The beads of the contacts.
    own : (m, EXTRA) float64 array
        Their rows of `own_blocks`.
    bonds : Bonds
        Of the pool's beads (`Constants.partners`).
    table, box :
        See `own_blocks`.
    change, out : (k, m, 3) float64 arrays
    """
    first, step, which, constants = bonds.first, bonds.partner, bonds.which, bonds.table
    size, inverse = box
    for k in range(len(change)):
        for a in range(len(rows)):
            x, y, z = change[k, a, 0], change[k, a, 1], change[k, a, 2]
            out[k, a, 0] = own[a, 3] * x + own[a, 6] * y + own[a, 7] * z
            out[k, a, 1] = own[a, 6] * x + own[a, 4] * y + own[a, 8] * z
            out[k, a, 2] = own[a, 7] * x + own[a, 8] * y + own[a, 5] * z
    for a in range(len(rows)):
        i = rows[a]
        for b in range(len(rows)):
            j = rows[b]
            if i == j:
                continue
            bond, bonded = -1, False
            for e in range(first[i], first[i + 1]):
                if i + step[e] == j:
                    bonded, bond = True, which[e]
            if bonded and bond < 0:
                continue
            d0 = position[i, 0] - position[j, 0]
            d1 = position[i, 1] - position[j, 1]
            d2 = position[i, 2] - position[j, 2]
            if not bonded:
                d0 = nearest(d0, size[0], inverse[0])
                d1 = nearest(d1, size[1], inverse[1])
                d2 = nearest(d2, size[2], inverse[2])
            r2 = d0 * d0 + d1 * d1 + d2 * d2
            if bonded:
                f, c = bond_curvature(r2, constants[bond])
            elif r2 < table[kind[i], kind[j], CUTOFF2]:
                f, c = pair_curvature(r2, table[kind[i], kind[j], EPS24], table[kind[i], kind[j], SIGMA2])
            else:
                continue
            for k in range(len(change)):
                x, y, z = change[k, b, 0], change[k, b, 1], change[k, b, 2]
                along = c * (d0 * x + d1 * y + d2 * z)
                out[k, a, 0] -= along * d0 - f * x
                out[k, a, 1] -= along * d1 - f * y
                out[k, a, 2] -= along * d2 - f * z


class Metric:
    """The metric W of a run's reflections.

    Parameters
    ----------
    composition : Composition
    constants : Constants
    settings : SteppedPhysics
        `Physics.steps`.
    """

    def __init__(self, composition: Composition, constants: Constants, settings: SteppedPhysics) -> None:
        self.composition, self.constants = composition, constants
        h = settings.step
        self.factor = h * h / 6.0 if settings.base == "verlet" else -h * h / 12.0
        self.capacity = 64

    def set_beads(self, ids: np.ndarray, interactions: Interactions) -> None:
        """Take local beads and the lists of own ones."""
        self.ids, self.lists = ids, interactions
        self.molecule = self.composition.molecule_of(ids)
        classes = self.composition.class_of(self.molecule)
        prototypes = self.composition.prototypes
        self.whole = ~prototypes.flexible[classes]

    def flags(self, pairs: np.ndarray) -> np.ndarray:
        """Return (n, 3) float64, 1 for local beads that an impulse at contacts (k, 2) of own beads may move.

        Those are all of molecules with rigid bonds, and the beads in contact of others.
        """
        beads = pairs[pairs >= 0]
        found = np.isin(self.ids, beads)
        found |= self.whole & np.isin(self.molecule, self.composition.molecule_of(beads))
        return np.repeat(found[:, None], 3, axis=1).astype(float)

    def links(self, position: np.ndarray, flag: np.ndarray) -> np.ndarray:
        """Return pairs (n, 2) of beads by global numbers, of two molecules, that are flagged and interact."""
        if self.constants.range == 0.0:
            return np.zeros((0, 2), dtype=np.int64)
        lists = self.lists
        while True:
            links = np.empty((self.capacity, 2), dtype=np.int64)
            count = count_links(position, lists.kind, self.molecule, flag, lists.pairs, lists.images, links)
            if count <= self.capacity:
                return np.unique(self.ids[links[:count]], axis=0)
            self.capacity = 2 * count

    def blocks(self, position: np.ndarray, velocity: np.ndarray, flag: np.ndarray) -> np.ndarray:
        """Return rows (m, EXTRA) of own beads, zeros but for those flagged; places and velocities of local ones."""
        lists, constants = self.lists, self.constants
        found = np.zeros((len(lists.own), EXTRA))
        rows = np.flatnonzero(flag[lists.own, 0])
        out = np.empty((len(rows), EXTRA))
        count = lists.count if constants.range > 0.0 else np.zeros_like(lists.count)
        pairs, spring = lists.pairs._replace(lengths=count), constants.field[CENTER]
        own_blocks(
            position, velocity, lists.kind, rows, pairs, lists.bonds, lists.images, spring, np.empty((2, 3)), out
        )
        found[rows] = out
        return found

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
        prototypes = self.composition.prototype_of(pool.ids)
        bonds = Bonds(*self.constants.partners(prototypes), self.constants.bonds)
        bent, box = np.empty_like(change), (geometry.size, geometry.inverse)
        kind = self.constants.kind[prototypes]
        weigh(pool.position, kind, rows, pool.extra[rows], bonds, self.constants.pairs, box, change, bent)
        matrix = responses.matrix(cluster) + self.factor * np.einsum("kmc,lmc->kl", change, bent)
        rates = geometry.rates(pool.velocity, responses.normal)[cluster]
        rates = rates + self.factor * np.einsum("kmc,mc->k", change, pool.extra[rows, :3])
        if not np.all(np.diag(matrix) > 0.0):
            raise StepError(
                'steps.energy: "H2" has no reflections here, as the potentials are too stiff for the step; make '
                'steps.step smaller or use "H"'
            )
        return matrix, rates
