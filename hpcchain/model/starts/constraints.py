"""Put positions and velocities onto the bonds, and count the degrees of freedom that the bonds leave.

The bond equations (G M^-1 G^T) x = r of many equal molecules are solved at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.errors import ConfigError
from hpcchain.model.molecules.bodies import body_positions, body_velocities
from hpcchain.model.molecules.equal_shapes import are_chains, bonded_groups, groups_of
from hpcchain.model.molecules.rods import rod_positions, rod_velocities

if TYPE_CHECKING:
    from hpcchain.model.molecules.equal_shapes import Group
    from hpcchain.model.system import Topology

EPS = np.finfo(np.float64).eps
# Up to this many bonds a graph's matrix is inverted whole; above, conjugate gradients need no matrix.
DENSE = 160
# Eigenvalues below this, relative to the largest, belong to bonds that follow from others.
SINGULAR = 1e-11
MOST_STEPS, MOST_REPETITIONS = 30, 4
"""Newton steps of positions, and repetitions for velocities, each of which removes the round-off of the one before."""


class NotConverged(Exception):
    """Newton's method found no configuration that satisfies the bonds."""


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


def project_positions(topology: Topology, position: np.ndarray, name: str = "molecule.positions") -> np.ndarray:
    """Return positions on the bonds to round-off, moved as little as possible in the mass-weighted sense.

    Molecules that satisfy their bonds to the last bit already keep every bit.

    Parameters
    ----------
    topology : Topology
        Bonds and masses.
    position : (N, 3) float64 array
        Unwrapped positions near the bonds [length].
    name : str
        Where they come from, for messages.

    Raises
    ------
    ConfigError
        When Newton's method does not reach the bonds.
    """
    out = np.array(position, dtype=np.float64)
    for group in bonded_groups(topology):
        try:
            out[group.beads] = project_group(group, out[group.beads])
        except NotConverged as error:
            raise ConfigError(f"{name}: {error}") from None
    return out


def project_group(group: Group, position: np.ndarray) -> np.ndarray:
    """Project the positions of a group, (C, n, 3); see `project_positions`."""
    if group.rod:
        return rod_positions(group, position)
    if group.is_body:
        return body_positions(group, position)
    position = position.copy()
    error = bond_error(group, position)
    todo = np.arange(len(position))
    for _ in range(MOST_STEPS):
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
        molecule = group.molecules[bad[0]]
        raise NotConverged(f"the bonds of molecule {molecule} cannot be satisfied from where its beads are")
    return position


def bond_error(group: Group, position: np.ndarray) -> np.ndarray:
    """Return how far |b| is from the bond length, relative; 0 where within the rounding of the coordinates."""
    bond = bond_vectors(position, group.bonds)
    error = np.abs(np.sqrt(np.einsum("cbk,cbk->cb", bond, bond)) / group.length - 1.0)
    return np.where(error <= 2.0 * EPS * (1.0 + largest_coordinate(group, position) / group.length), 0.0, error)


def largest_coordinate(group: Group, position: np.ndarray) -> np.ndarray:
    """Return, per bond, the largest coordinate of its beads, whose last bit limits what can be asked of the bond."""
    size = np.abs(position).max(axis=2)
    return np.maximum(size[:, group.bonds[:, 0]], size[:, group.bonds[:, 1]])


def newton_step(group: Group, position: np.ndarray) -> np.ndarray:
    """Return positions after one Newton step on |b|^2 = a^2, corrections along the bonds weighted by 1 / mass."""
    bond = bond_vectors(position, group.bonds)
    gap = np.einsum("cbk,cbk->cb", bond, bond) - group.length**2
    shift = spread(group, bond, solve(group, bond, 0.5 * gap))
    return position - shift / group.mass[..., None]


def project_velocities(topology: Topology, position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Return velocities without a component along any bond, to round-off; each molecule's momentum is kept.

    Molecules whose velocities fit to the last bit already keep every bit.

    Parameters
    ----------
    topology : Topology
        Bonds and masses.
    position, velocity : (N, 3) float64 arrays
        [length], [length / time].
    """
    out = np.array(velocity, dtype=np.float64)
    for group in bonded_groups(topology):
        out[group.beads] = project_group_velocities(group, position[group.beads], out[group.beads])
    return out


def project_group_velocities(group: Group, position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Project the velocities of a group, (C, n, 3); see `project_velocities`."""
    if group.rod:
        return rod_velocities(group, position, velocity)
    if group.is_body:
        return body_velocities(group, position, velocity)
    velocity = velocity.copy()
    bond = bond_vectors(position, group.bonds)
    length = group.length + largest_coordinate(group, position)
    speed = np.sqrt(np.einsum("cnk,cnk->cn", velocity, velocity)).max(axis=1)
    limit = 2.0 * EPS * speed[:, None] * length
    todo = np.arange(len(velocity))
    for _ in range(MOST_REPETITIONS):
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


def solve(group: Group, bond: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the least-squares solution of the bond equations.

    Parameters
    ----------
    group : Group
        C molecules of n beads and b bonds.
    bond : (C, b, 3) float64 array
        Bond vectors, second bead minus first [length].
    right : (C, b) float64 array
        Right sides.

    Returns
    -------
    (C, b) float64 array
        One multiplier per bond; bonds that follow from others share theirs in the least-squares sense.
    """
    if group.is_chain:
        return solve_chain(group.mass, bond, right)
    if len(group.bonds) <= DENSE:
        return np.concatenate([solve_dense(group, b, r) for b, r in _portions(group, bond, right)])
    return solve_iterated(group, bond, right)


def _portions(group: Group, bond: np.ndarray, right: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the molecules in portions whose matrices fit into a cache of moderate size."""
    size = max(1, 2_000_000 // max(1, len(group.bonds)) ** 2)
    for begin in range(0, len(bond), size):
        yield bond[begin : begin + size], right[begin : begin + size]


def solve_chain(mass: np.ndarray, bond: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve the tridiagonal equations of chains (Thomas algorithm, all molecules side by side)."""
    inverse = 1.0 / mass
    diagonal = (inverse[..., :-1] + inverse[..., 1:]) * np.einsum("cbk,cbk->cb", bond, bond)
    off_diagonal = -inverse[..., 1:-1] * np.einsum("cbk,cbk->cb", bond[:, :-1], bond[:, 1:])
    pivot, x = diagonal.T.copy(), right.T.copy()
    off_diagonal = np.ascontiguousarray(off_diagonal.T)
    for i in range(1, len(pivot)):
        factor = off_diagonal[i - 1] / pivot[i - 1]
        pivot[i] -= factor * off_diagonal[i - 1]
        x[i] -= factor * x[i - 1]
    for i in range(len(pivot) - 1, -1, -1):
        if i + 1 < len(pivot):
            x[i] -= off_diagonal[i] * x[i + 1]
        x[i] /= pivot[i]
    return x.T


def matrix(group: Group, bond: np.ndarray) -> np.ndarray:
    """Return G M^-1 G^T of every molecule, with rows b_l (x_j - x_i) per bond.

    Parameters
    ----------
    group : Group
        C molecules of b bonds.
    bond : (C, b, 3) float64 array
        Bond vectors [length].

    Returns
    -------
    (C, b, b) float64 array
        Symmetric, positive semi-definite [length^2 / mass].
    """
    incidence = np.zeros((len(group.bonds), len(group.mass)))
    rows = np.arange(len(group.bonds))
    incidence[rows, group.bonds[:, 0]] = -1.0
    incidence[rows, group.bonds[:, 1]] = 1.0
    shared = (incidence / group.mass) @ incidence.T
    return shared * np.einsum("cik,cjk->cij", bond, bond)


def solve_dense(group: Group, bond: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve with the whole matrix; singular matrices by their eigenvectors."""
    full = matrix(group, bond)
    if not group.has_cycles:
        return np.linalg.solve(full, right[..., None])[..., 0]
    inverse = np.linalg.pinv(full, rcond=SINGULAR, hermitian=True)
    return np.einsum("cij,cj->ci", inverse, right)


def solve_iterated(group: Group, bond: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve by conjugate gradients, all molecules side by side; consistent singular equations are allowed."""
    scale = 1.0 / ((1.0 / group.mass)[group.bonds].sum(axis=1) * np.einsum("cbk,cbk->cb", bond, bond))
    x, residual = np.zeros_like(right), right.copy()
    direction = scale * residual
    energy = np.sum(residual * direction, axis=1)
    goal = 1e-30 * energy
    for _ in range(4 * len(group.bonds)):
        active = energy > goal
        if not active.any():
            break
        image = along(group, bond, spread(group, bond, direction) / group.mass[None, :, None])
        curvature = np.sum(direction * image, axis=1)
        step = np.divide(energy, curvature, out=np.zeros_like(energy), where=active & (curvature > 0.0))[:, None]
        x += step * direction
        residual -= step * image
        after = np.sum(scale * residual * residual, axis=1)
        ratio = np.divide(after, energy, out=np.zeros_like(energy), where=active)[:, None]
        direction = scale * residual + ratio * direction
        energy = after
    return x


def along(group: Group, bond: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return G v: each bond vector times the difference of its beads' vectors; (C, n, 3) to (C, b)."""
    first, second = group.bonds.T
    return np.einsum("cbk,cbk->cb", bond, vector[:, second] - vector[:, first])


def spread(group: Group, bond: np.ndarray, multiplier: np.ndarray) -> np.ndarray:
    """Return G^T x: per bead the sum of its bonds' multipliers times bond vectors; (C, b) to (C, n, 3)."""
    force = multiplier[..., None] * bond
    out = np.zeros((group.mass.shape[-1], len(bond), 3))
    if group.is_chain:
        out[1:] += force.swapaxes(0, 1)
        out[:-1] -= force.swapaxes(0, 1)
    else:
        np.add.at(out, group.bonds[:, 1], force.swapaxes(0, 1))
        np.subtract.at(out, group.bonds[:, 0], force.swapaxes(0, 1))
    return out.swapaxes(0, 1)
