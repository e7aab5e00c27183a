"""What kernels take for a run's molecules and potentials: tables by bead of an example molecule, and by type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.errors import ConfigError
from hpcchain.model.composition import in_blocks, running_sum
from hpcchain.model.molecules.bodies import body_length
from hpcchain.model.molecules.exclusion import excluded_pairs
from hpcchain.model.physics.extended import type_pairs, types_apart
from hpcchain.steps.potentials import forces

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.physics.constants import PotentialConstants, SteppedPhysics
    from hpcchain.model.system import Topology

BONDED = {"harmonic": forces.HARMONIC, "fene": forces.FENE}
PAIRS = ("lennard-jones", "wca")
FIELD = 7


class Constants:
    """Tables of a run.

    Parameters
    ----------
    composition : Composition
    settings : SteppedPhysics
        `Physics.steps`.

    Attributes
    ----------
    mass : (e,) float64 array
        Of the beads of the prototypes, infinite of those that are fixed [mass].
    core_radius : (e,) float64 array
        Of their hard cores, 0 of soft beads [length].
    names : tuple of str
        Types that potentials tell apart.
    bead_type, kind : (e,) int32 arrays
        Of the prototypes' beads; those that potentials of pairs tell apart.
    pairs : (t, t, 4) float64 array
        See `forces`.
    range, pair_range : float
        The greatest cutoff, 0 where no pairs interact; without a user's own potentials [length].
    width : float
        The greatest sigma, or range of a user's own potentials, 0 where springs act alone [length].
    bonds : (b, 5) float64 array
        Constants of bonds.
    partner_first, partner_offset, partner_which : (e + 1,), (p,), (p,) int64 arrays
        Of each bead of the prototypes. First where the beads begin that bonds, up to `exclude`, join to it; then how
        much the other bead's number exceeds its own, ascending. Last rows of `bonds`, -1 for none, -2 - k for the k-th
        of `modules`.
    apart : float
        The greatest distance at which beads that few bonds join are left out of lists, at the bonds' lengths of the
        input [length].
    modules : list of PotentialConstants
        Potentials of a user's own.
    field : (7,) float64 array
        See `forces.field_forces`.
    """

    def __init__(self, composition: Composition, settings: SteppedPhysics) -> None:
        self.composition = composition
        prototypes = composition.prototypes
        self.mass = prototypes.inertia
        self.core_radius = np.where(prototypes.soft, 0.0, 0.5 * prototypes.diameter)
        potentials = settings.potentials
        names, like = types_apart(composition.type_names, potentials)
        self.pairs = pair_table(names, [one for one in potentials if one.name in PAIRS])
        self.range = self.pair_range = float(np.sqrt(self.pairs[:, :, forces.CUTOFF2].max(initial=0.0)))
        self.names, self.kind = names, like[prototypes.bead_type].astype(np.int32)
        self.bead_type = self.kind
        if np.all(self.pairs == self.pairs[0, 0]):
            self.pairs, self.kind = self.pairs[:1, :1].copy(), np.zeros_like(self.kind)
        self.bonds, row = bond_table(names, [one for one in potentials if one.name in BONDED])
        self.field = field_of(settings)
        self.modules = settings.modules
        self.width = max([one.sigma or 0.0 for one in potentials if one.name != "module"], default=0.0)
        for k, one in enumerate(self.modules):
            if one.on == "pair":
                self.range, self.width = max(self.range, one.range), max(self.width, one.range)
            if one.on == "bond":
                row[numbered(names, [one]) == 0] = -2 - k
        self._find_partners(prototypes, row)

    def _find_partners(self, prototypes: Topology, row: np.ndarray) -> None:
        """List each bead's bonds, and what else is left out because of them, from both sides."""
        molecule = np.repeat(np.arange(prototypes.molecules), np.diff(prototypes.first_bond))
        potential = row[tuple(self.bead_type[prototypes.bonds].T)]
        which = np.where(prototypes.flexible[molecule], potential, -1) if len(molecule) else molecule
        left, found = left_out(prototypes), dict(zip(map(tuple, prototypes.bonds.tolist()), which, strict=True))
        which = np.array([found.get(pair, -1) for pair in map(tuple, left.tolist())], dtype=np.int64)
        which, pairs = np.concatenate([which, which]), np.concatenate([left, left[:, ::-1]])
        widest = body_length(prototypes.site) if prototypes.body.any() else 0.0
        self.apart = float(np.max(prototypes.exclude[molecule] * prototypes.bond_length, initial=widest))
        sequence = np.lexsort((pairs[:, 1], pairs[:, 0]))
        count = np.bincount(pairs[:, 0], minlength=prototypes.beads)
        self.partner_first = running_sum(count)
        self.partner_offset = (pairs[sequence, 1] - pairs[sequence, 0]).astype(np.int64)
        self.partner_which = which[sequence]

    def partners(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return `partner_first`, `_offset` and `_which` of beads, given by their rows in the prototypes."""
        count = np.diff(self.partner_first)[rows]
        at = in_blocks(self.partner_first[rows], count)
        return running_sum(count), self.partner_offset[at], self.partner_which[at]


def left_out(prototypes: Topology) -> np.ndarray:
    """Return (n, 2) int64 pairs of beads without potentials: those that few bonds join, and all of one rigid body."""
    left = excluded_pairs(prototypes)
    known = set(map(tuple, np.sort(left, axis=1).tolist()))
    bounds = zip(prototypes.first_bead[:-1][prototypes.body], prototypes.first_bead[1:][prototypes.body], strict=True)
    inside = [(i, j) for low, high in bounds for i in range(low, high) for j in range(i + 1, high)]
    more = [pair for pair in inside if pair not in known]
    return np.concatenate([left, np.array(more, dtype=np.int64)]) if more else left


def numbered(names: tuple, potentials: list, twice: str = "") -> np.ndarray:
    """Return which of some potentials (t, t) is that of two types, -1: none; ConfigError, `twice`, where two are."""
    number = np.full((len(names), len(names)), -1)
    for k, one in enumerate(potentials):
        for pair in type_pairs(one.types, names):
            i, j = sorted(names.index(name) for name in pair)
            if number[i, j] >= 0:
                raise ConfigError(f"potential: {twice.format(names[i], names[j])}")
            number[i, j] = number[j, i] = k
    return number


def pair_table(names: tuple, potentials: list) -> np.ndarray:
    """Return the (t, t, 4) table of pairs of potentials between beads of named types."""
    which = numbered(names, potentials, "the pair {}, {} has two pair potentials; give it one")
    return np.array([*map(pair_row, potentials), (0.0, 0.0, 0.0, 0.0)])[which]


def pair_row(one: PotentialConstants) -> tuple[float, float, float, float]:
    """Return 24 epsilon, sigma^2, cutoff^2 and the energy at the cutoff, which is taken off where it is shifted."""
    sigma2 = one.sigma**2
    if one.name == "wca":
        return 24.0 * one.epsilon, sigma2, forces.WCA2 * sigma2, -one.epsilon
    if one.cutoff == "none":
        return 24.0 * one.epsilon, sigma2, np.inf, 0.0
    cutoff2 = one.range**2
    s6 = (sigma2 / cutoff2) ** 3
    shift = 4.0 * one.epsilon * (s6 * s6 - s6) if one.shift else 0.0
    return 24.0 * one.epsilon, sigma2, cutoff2, shift


def bond_table(names: tuple, potentials: list) -> tuple[np.ndarray, np.ndarray]:
    """Return the (b, 5) table of bonds, and the (t, t) rows of it of bonds between beads of two types, -1: none."""
    table = np.zeros((len(potentials), 5))
    for k, one in enumerate(potentials):
        epsilon, sigma = (one.epsilon, one.sigma) if one.name == "fene" else (0.0, 0.0)
        table[k] = BONDED[one.name], one.stiffness, one.length, epsilon, sigma**2
    return table, numbered(names, potentials, "bonds of {} and {} have two potentials; give them one")


def field_of(settings: SteppedPhysics) -> np.ndarray:
    """Return gravity, and the stiffness and centre of the springs that draw all beads to one place."""
    field = np.zeros(FIELD)
    field[:3] = settings.gravity or 0.0
    centers = [one for one in settings.potentials if one.name == "center"]
    if centers:
        field[3], field[4:] = centers[0].stiffness, centers[0].center
    return field
