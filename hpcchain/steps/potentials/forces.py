"""Forces and energies of pairs, bonds and outer fields, of own beads from the positions of all local ones.

Every rank computes all forces on its own beads. A pair of two ranks is computed by both, to the same bits but for the
sign, as the separation's sign is the only difference.
"""

import math
from typing import NamedTuple

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.steps.potentials.lists import add_to, along_bond, apart, nearest

EPS24, SIGMA2, CUTOFF2, SHIFT = 0, 1, 2, 3
"""Columns of the table of pairs: 24 epsilon, sigma^2, cutoff^2, what is taken off the energy."""

HARMONIC, FENE = 1, 2
KIND, STIFFNESS, LENGTH, BOND_EPSILON, BOND_SIGMA2 = 0, 1, 2, 3, 4
"""Columns of the table of bonds."""

WCA2 = 2.0 ** (1.0 / 3.0)
"""Square of the cutoff of a purely repulsive Lennard-Jones potential, in units of sigma^2."""


class Pairs(NamedTuple):
    """Lists of own beads, and the table of their pairs' constants.

    Attributes
    ----------
    own : (m,) int64 array
        Which local beads are own.
    neighbour, lengths : (m, k) uint32, (m,) int64 arrays
        Beads that each of them may interact with, in ascending order, and how many they are (`lists.fill_lists`).
    table : (t, t, 4) float64 array
    """

    own: np.ndarray
    neighbour: np.ndarray
    lengths: np.ndarray
    table: np.ndarray


class Bonds(NamedTuple):
    """Bonds of beads, and the table of their constants.

    Attributes
    ----------
    first : (m + 1,) int64 array
        Where the bonds of each bead begin.
    partner, which : (b,) int64 arrays
        Local numbers of the other beads in ascending order, or how many rows further they are (`Constants.partners`);
        rows of `table`, below 0: no potential of these.
    table : (k, 5) float64 array
    """

    first: np.ndarray
    partner: np.ndarray
    which: np.ndarray
    table: np.ndarray


class PairWork(NamedTuple):
    """Workspace for a bead's list: places of its beads or forces on them, and constants of its pairs."""

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    eps24: np.ndarray
    sigma2: np.ndarray
    cutoff2: np.ndarray


def pair_work(table: np.ndarray, capacity: int) -> PairWork:
    """Return the PairWork of lists that can take so many; where there is one type of beads it has their constants."""
    work = PairWork(*(np.zeros(capacity) for _ in range(6)))
    if len(table) == 1:
        work.eps24[:], work.sigma2[:], work.cutoff2[:] = table[0, 0, EPS24], table[0, 0, SIGMA2], table[0, 0, CUTOFF2]
    return work


@kernel
def gather(position, kind, mine, neighbours, n, table, work):
    """Copy the places of a list's beads, and the constants of their pairs with a bead of kind `mine`."""
    x, y, z = work.x, work.y, work.z
    if len(table) == 1:
        for k in range(n):
            j = neighbours[k]
            x[k], y[k], z[k] = position[j, 0], position[j, 1], position[j, 2]
        return
    for k in range(n):
        j = neighbours[k]
        x[k], y[k], z[k] = position[j, 0], position[j, 1], position[j, 2]
        other = kind[j]
        work.eps24[k] = table[mine, other, EPS24]
        work.sigma2[k] = table[mine, other, SIGMA2]
        work.cutoff2[k] = table[mine, other, CUTOFF2]


@kernel
def forces_of_list(xi, yi, zi, n, images, work):
    """Put the forces of the pairs of a bead at (xi, yi, zi) where the other beads' positions were."""
    x, y, z = work.x, work.y, work.z
    eps24, sigma2, cutoff2 = work.eps24, work.sigma2, work.cutoff2
    lx, ly, lz = images.size[0], images.size[1], images.size[2]
    ix, iy, iz = images.inverse[0], images.inverse[1], images.inverse[2]
    for k in range(n):
        dx, dy, dz = nearest(xi - x[k], lx, ix), nearest(yi - y[k], ly, iy), nearest(zi - z[k], lz, iz)
        r2 = dx * dx + dy * dy + dz * dz
        inv = 1.0 / r2
        s2 = sigma2[k] * inv
        s6 = s2 * s2 * s2
        f = eps24[k] * (2.0 * s6 * s6 - s6) * inv
        f = f if r2 < cutoff2[k] else 0.0
        x[k], y[k], z[k] = f * dx, f * dy, f * dz


@kernel
def pair_forces(position, kind, pairs, images, work, force):
    """Write the forces of pairs on own beads, summed in the order of the other beads' global numbers.

    Parameters
    ----------
    position, kind : (n, 3) float64, (n,) int32 arrays
        Of local beads [length].
    pairs : Pairs
    images : Images
    work : PairWork
    force : (m, 3) float64 array
        [mass length / time^2].
    """
    x, y, z = work.x, work.y, work.z
    own, neighbour, count, table = pairs.own, pairs.neighbour, pairs.lengths, pairs.table
    for r in range(len(own)):
        i = own[r]
        n = count[r]
        gather(position, kind, kind[i], neighbour[r], n, table, work)
        forces_of_list(position[i, 0], position[i, 1], position[i, 2], n, images, work)
        fx, fy, fz = 0.0, 0.0, 0.0
        for k in range(n):
            fx += x[k]
            fy += y[k]
            fz += z[k]
        force[r, 0], force[r, 1], force[r, 2] = fx, fy, fz


@kernel
def lennard_jones(r2, eps24, sigma2):
    """Return force over distance and energy, nothing taken off it, at a squared distance."""
    s2 = sigma2 / r2
    s6 = s2 * s2 * s2
    return eps24 * (2.0 * s6 * s6 - s6) / r2, eps24 / 6.0 * (s6 * s6 - s6)


@kernel
def pair_energies(position, kind, pairs, images, energy, virial):
    """Write half the energies, and half of separation times force, of each own bead's pairs; see `pair_forces`."""
    own, neighbour, count, table = pairs.own, pairs.neighbour, pairs.lengths, pairs.table
    for r in range(len(own)):
        i = own[r]
        u, w = 0.0, 0.0
        for k in range(count[r]):
            j = neighbour[r, k]
            _, _, _, r2 = apart(position, i, j, images)
            if r2 < table[kind[i], kind[j], CUTOFF2]:
                f, e = lennard_jones(r2, table[kind[i], kind[j], EPS24], table[kind[i], kind[j], SIGMA2])
                u += 0.5 * (e - table[kind[i], kind[j], SHIFT])
                w += 0.5 * f * r2
        energy[r], virial[r] = u, w


@kernel
def bond_force(r2, bond):
    """Return force over distance of a bond, negative where it pulls, and NaN where it is torn."""
    if bond[KIND] == HARMONIC:
        length = math.sqrt(r2)
        return -bond[STIFFNESS] * (length - bond[LENGTH]) / length
    part = r2 / (bond[LENGTH] * bond[LENGTH])
    if part >= 1.0:
        return math.nan
    f = -bond[STIFFNESS] / (1.0 - part)
    if r2 < WCA2 * bond[BOND_SIGMA2]:
        f += lennard_jones(r2, 24.0 * bond[BOND_EPSILON], bond[BOND_SIGMA2])[0]
    return f


@kernel
def bond_energy(r2, bond):
    """Return the energy of a bond that is not torn."""
    if bond[KIND] == HARMONIC:
        longer = math.sqrt(r2) - bond[LENGTH]
        return 0.5 * bond[STIFFNESS] * longer * longer
    square = bond[LENGTH] * bond[LENGTH]
    u = -0.5 * bond[STIFFNESS] * square * math.log(1.0 - r2 / square)
    if r2 < WCA2 * bond[BOND_SIGMA2]:
        u += lennard_jones(r2, 24.0 * bond[BOND_EPSILON], bond[BOND_SIGMA2])[1] + bond[BOND_EPSILON]
    return u


@kernel
def add_bonds(position, own, bonds, whole, force, energy, virial):
    """Add the forces of bonds to those on own beads; return the row and entry of a torn bond, or (-1, -1).

    Where it is `whole`, half their energies, and half of separation times force, are added, too.

    Parameters
    ----------
    position, own, force :
        See `pair_forces`.
    bonds : Bonds
    whole : bool
    energy, virial : (m,) float64 arrays
    """
    first, partner, which, table = bonds.first, bonds.partner, bonds.which, bonds.table
    for r in range(len(own)):
        i = own[r]
        for b in range(first[r], first[r + 1]):
            if which[b] < 0:
                continue
            dx, dy, dz, r2 = along_bond(position, i, partner[b])
            f = bond_force(r2, table[which[b]])
            if not -math.inf < f < math.inf:
                return r, b
            add_to(force, r, f * dx, f * dy, f * dz)
            if whole:
                energy[r] += 0.5 * bond_energy(r2, table[which[b]])
                virial[r] += 0.5 * f * r2
    return -1, -1


@kernel
def add_field(position, image, own, mass, size, field, force, energy):
    """Add the forces and energies in gravity and of a spring to a centre.

    Parameters
    ----------
    image : (m, 3) int64 array
        Box lengths to add to the positions of own beads.
    mass : (m,) float64 array
        [mass].
    size : (3,) float64 array
        Box lengths [length].
    field : (7,) float64 array
        Gravity [length / time^2], the spring's stiffness [mass / time^2], its centre [length].
    force, energy : (m, 3), (m,) float64 arrays
        [mass length / time^2], [mass length^2 / time^2].
    """
    for r in range(len(own)):
        for c in range(3):
            x = position[own[r], c] + image[r, c] * size[c]
            d = x - field[4 + c]
            force[r, c] += mass[r] * field[c] - field[3] * d
            energy[r] += 0.5 * field[3] * d * d - mass[r] * field[c] * x
