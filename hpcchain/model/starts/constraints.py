"""Put positions and velocities onto the bonds, and count the degrees of freedom that the bonds leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.molecules.bodies import body_positions, body_velocities
from hpcchain.model.molecules.equal_shapes import are_chains, bonded_groups, groups_of
from hpcchain.model.molecules.rods import rod_positions, rod_velocities
from hpcchain.model.starts.tension import DENSE, SINGULAR, along, matrix, solve, spread

if TYPE_CHECKING:
    from hpcchain.model.molecules.equal_shapes import Group
    from hpcchain.model.system import Topology

EPS = np.finfo(np.float64).eps


class NotConverged(Exception):
    """Newton's method found no configuration that satisfies the bonds; `molecule` says which molecule."""

    def __init__(self, molecule: int) -> None:
        super().__init__(f"the bonds of molecule {molecule} cannot be satisfied from where its beads are")
        self.molecule = molecule


def bond_vectors(position: np.ndarray, bonds: np.ndarray) -> np.ndarray:
    """Return second bead minus first of every bond [length].

    Parameters
    ----------
    position : (..., n, 3) float64 array
        Unwrapped positions [length].
    bonds : (b, 2) int array
        Pairs of beads.
    """
    first, second = bonds.T
    return position.take(second, axis=-2) - position.take(first, axis=-2)


def project_positions(topology: Topology, position: np.ndarray, sweeps: int = 30) -> np.ndarray:
    """Return positions on the bonds to round-off, moved as little as possible in the mass-weighted sense.

    Molecules that satisfy their bonds to the last bit already keep every bit.

    Parameters
    ----------
    topology : Topology
        Bonds and masses.
    position : (N, 3) float64 array
        Unwrapped positions near the bonds [length].
    sweeps : int
        Most Newton steps.

    Raises
    ------
    NotConverged
        When Newton's method does not reach the bonds.
    """
    out = np.array(position, dtype=np.float64)
    for group in bonded_groups(topology):
        out[group.beads] = project_group(group, out[group.beads], sweeps)
    return out


def project_group(group: Group, position: np.ndarray, sweeps: int = 30) -> np.ndarray:
    """Project the positions of a group, (C, n, 3); see `project_positions`."""
    if group.rod:
        return rod_positions(group, position)
    if group.is_body:
        return body_positions(group, position)
    position = position.copy()
    error = bond_error(group, position)
    todo = np.arange(len(position))
    for _ in range(sweeps):
        todo = todo[error[todo].max(axis=1) > 0.0]
        if len(todo) == 0:
            return position
        own = group.rows(todo)
        trial = newton_step(own, position[todo])
        after = bond_error(own, trial)
        better = after.max(axis=1) < error[todo].max(axis=1)
        # away from round-off a step may overshoot once; at round-off only steps that help are taken
        take = better | (error[todo].max(axis=1) > 1e-8)
        position[todo[take]], error[todo[take]] = trial[take], after[take]
        todo = todo[take]
    bad = np.flatnonzero(~(error.max(axis=1) <= 1e-12))
    if len(bad):
        raise NotConverged(int(group.molecules[bad[0]]))
    return position


def bond_error(group: Group, position: np.ndarray) -> np.ndarray:
    """Return how far |b| is from the bond length, relative; 0 where within the rounding of the coordinates."""
    bond = bond_vectors(position, group.bonds)
    error = np.abs(np.sqrt(np.einsum("cbk,cbk->cb", bond, bond)) / group.length - 1.0)
    return np.where(error <= 2.0 * EPS * (1.0 + reach(group, position) / group.length), 0.0, error)


def reach(group: Group, position: np.ndarray) -> np.ndarray:
    """Return, per bond, the largest coordinate of its beads, whose last bit limits what can be asked of the bond."""
    size = np.abs(position).max(axis=2)
    return np.maximum(size[:, group.bonds[:, 0]], size[:, group.bonds[:, 1]])


def newton_step(group: Group, position: np.ndarray) -> np.ndarray:
    """Return positions after one Newton step on |b|^2 = a^2, corrections along the bonds weighted by 1 / mass."""
    bond = bond_vectors(position, group.bonds)
    gap = np.einsum("cbk,cbk->cb", bond, bond) - group.length**2
    shift = spread(group, bond, solve(group, bond, 0.5 * gap))
    return position - shift / group.mass[..., None]


def project_velocities(topology: Topology, position: np.ndarray, velocity: np.ndarray, sweeps: int = 4) -> np.ndarray:
    """Return velocities without a component along any bond, to round-off; each molecule's momentum is kept.

    Molecules whose velocities fit to the last bit already keep every bit.

    Parameters
    ----------
    topology : Topology
        Bonds and masses.
    position, velocity : (N, 3) float64 arrays
        [length], [length / time].
    sweeps : int
        Most repetitions; each removes the round-off of the one before.
    """
    out = np.array(velocity, dtype=np.float64)
    for group in bonded_groups(topology):
        out[group.beads] = project_group_velocities(group, position[group.beads], out[group.beads], sweeps)
    return out


def project_group_velocities(group: Group, position: np.ndarray, velocity: np.ndarray, sweeps: int = 4) -> np.ndarray:
    """Project the velocities of a group, (C, n, 3); see `project_velocities`."""
    if group.rod:
        return rod_velocities(group, position, velocity)
    if group.is_body:
        return body_velocities(group, position, velocity)
    velocity = velocity.copy()
    bond = bond_vectors(position, group.bonds)
    length = group.length + reach(group, position)
    speed = np.sqrt(np.einsum("cnk,cnk->cn", velocity, velocity)).max(axis=1)
    limit = 2.0 * EPS * speed[:, None] * length
    todo = np.arange(len(velocity))
    for _ in range(sweeps):
        rate = along(group, bond[todo], velocity[todo])
        rough = (np.abs(rate) > limit[todo]).any(axis=1)
        todo, rate = todo[rough], rate[rough]
        if len(todo) == 0:
            break
        own = group.rows(todo)
        shift = spread(own, bond[todo], solve(own, bond[todo], rate))
        velocity[todo] -= shift / own.mass[..., None]
    return velocity


def constraint_rank(group: Group, position: np.ndarray) -> int:
    """Return the number of independent conditions that bonds, a rod or a rigid body put on one molecule.

    Parameters
    ----------
    group : Group
        Molecules of one kind.
    position : (n, 3) float64 array
        The beads of one of them, bonds satisfied [length].
    """
    bonds = len(group.bonds)
    if group.rod:
        return 3 * len(group.mass) - 5
    if group.is_body:
        return 3 * len(group.mass) - 6
    if not group.has_cycles or bonds == 0:
        return bonds
    if np.array_equal(group.bonds[:-1], np.arange(bonds - 1)[:, None] + np.arange(2)) and bonds > DENSE:
        return bonds  # a long ring
    values = np.linalg.eigvalsh(matrix(group, bond_vectors(position, group.bonds)[None])[0])
    return int(np.count_nonzero(values > SINGULAR * values[-1]))


def degrees_of_freedom(topology: Topology, position: np.ndarray, copies: np.ndarray | None = None) -> int:
    """Return 3 N minus the independent bonds minus 3 for the total momentum, as an int.

    A rod is left 5 ways to move, a body 6. Fixed beads count none, and where there are any the momentum counts: it is
    not kept.

    Parameters
    ----------
    topology : Topology
        All molecules, or prototypes of them.
    position : (N, 3) float64 array
        Bonds satisfied; the independent bonds are counted on the first molecule of every kind [length].
    copies : (M,) int64 array, optional
        How many molecules each stands for; default: itself.
    """
    times = np.ones(topology.molecules, dtype=np.int64) if copies is None else copies
    free = 3 * int(times[topology.molecule_of_bead[~topology.fixed]].sum())
    chains = are_chains(topology) & ~topology.flexible
    free -= int((times * np.diff(topology.first_bond))[chains].sum())
    for group in groups_of(topology, ~chains & ~topology.flexible):
        free -= constraint_rank(group, position[group.beads[0]]) * int(times[group.molecules].sum())
    return free if topology.fixed.any() else free - 3
