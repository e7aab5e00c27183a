"""Projection to the bonds, against the defining equations and dense algebra."""

import numpy as np
import pytest

from hpcchain.errors import ConfigError
from hpcchain.model.molecules.equal_shapes import groups_of
from hpcchain.model.starts.constraints import (
    DENSE,
    along,
    constraint_rank,
    degrees_of_freedom,
    matrix,
    project_group,
    project_group_velocities,
    project_positions,
    project_velocities,
    solve,
    solve_iterated,
)
from hpcchain.model.system import Topology

COMPLETE = [[i, j] for i in range(5) for j in range(i + 1, 5)]
SHAPES = {
    "monomer": (1, []),
    "dimer": (2, [[0, 1]]),
    "chain": (12, [[i, i + 1] for i in range(11)]),
    "long chain": (250, [[i, i + 1] for i in range(249)]),
    "ring": (6, [[i, i + 1] for i in range(5)] + [[0, 5]]),
    "long ring": (DENSE + 20, [[i, i + 1] for i in range(DENSE + 19)] + [[0, DENSE + 19]]),
    "star": (7, [[0, 1], [1, 2], [0, 3], [3, 4], [0, 5], [5, 6]]),
    "tetrahedron": (4, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]),
    "complete graph of five": (5, COMPLETE),
}
shapes = pytest.mark.parametrize("name", SHAPES)


def build(name, count=2, seed=1):
    """Return a topology of equal molecules whose bond lengths are those of random positions, and the positions."""
    beads, bonds = SHAPES[name]
    rng = np.random.default_rng(seed)
    one = np.cumsum(rng.normal(size=(beads, 3)), axis=0)
    bonds = np.array(bonds, dtype=np.int64).reshape(-1, 2)
    length = np.linalg.norm(one[bonds[:, 1]] - one[bonds[:, 0]], axis=1)
    turns = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(count)]
    topology = Topology(
        names=(name,),
        kind=np.zeros(count, dtype=np.int32),
        first_bead=np.arange(count + 1) * beads,
        first_bond=np.arange(count + 1) * len(bonds),
        bonds=np.concatenate([bonds + beads * m for m in range(count)]),
        bond_length=np.tile(length, count),
        mass=np.tile(rng.uniform(0.5, 3.0, beads), count),
        diameter=np.full(beads * count, 0.1),
        self_contact=np.ones(count, dtype=bool),
    )
    return topology, np.concatenate([one @ turn.T for turn in turns])


def gradient(topology, position):
    """Return G, (bonds, 3 beads)."""
    out = np.zeros((len(topology.bonds), topology.beads, 3))
    for row, (i, j) in enumerate(topology.bonds):
        out[row, j] = position[j] - position[i]
        out[row, i] = -out[row, j]
    return out.reshape(len(topology.bonds), 3 * topology.beads)


def bond_errors(topology, position):
    bond = position[topology.bonds[:, 1]] - position[topology.bonds[:, 0]]
    return np.abs(np.linalg.norm(bond, axis=1) / topology.bond_length - 1.0)


@shapes
def test_positions_reach_the_bonds_and_move_along_them_by_inverse_mass(name):
    topology, position = build(name)
    start = position + 1e-5 * np.random.default_rng(2).normal(size=position.shape)
    end = project_positions(topology, start)
    if len(topology.bonds) == 0:
        assert np.array_equal(end, start)
        return
    assert bond_errors(topology, start).max() > 1e-7
    reach = np.abs(position).max() / topology.bond_length.min()
    assert bond_errors(topology, end).max() < 4 * np.finfo(float).eps * (1 + reach)
    moved = ((end - start) * topology.mass[:, None]).ravel()
    g = gradient(topology, start)
    along_bonds = g.T @ np.linalg.lstsq(g.T, moved, rcond=None)[0]
    assert np.abs(moved - along_bonds).max() < 1e-3 * np.abs(moved).max()
    assert np.abs(moved.reshape(-1, 3).sum(axis=0)).max() < 1e-12


@shapes
def test_velocities_lose_their_part_along_the_bonds_alone(name):
    topology, position = build(name)
    start = np.random.default_rng(3).normal(size=position.shape)
    end = project_velocities(topology, position, start)
    if len(topology.bonds) == 0:
        assert np.array_equal(end, start)
        return
    g = gradient(topology, position)
    assert np.abs(g @ end.ravel()).max() < 1e-13 * max(1.0, np.abs(position).max())
    kick = ((end - start) * topology.mass[:, None]).ravel()
    assert np.abs(kick - g.T @ np.linalg.lstsq(g.T, kick, rcond=None)[0]).max() < 1e-10 * np.abs(kick).max()
    # the projection is orthogonal in the kinetic energy
    mass = np.repeat(topology.mass, 3)
    assert abs((mass * end.ravel()) @ (end - start).ravel()) < 1e-11 * (mass @ start.ravel() ** 2)


@shapes
def test_what_fits_already_keeps_every_bit(name):
    topology, position = build(name)
    position = project_positions(topology, position)
    velocity = project_velocities(topology, position, np.random.default_rng(4).normal(size=position.shape))
    assert np.array_equal(project_positions(topology, position), position)
    assert np.array_equal(project_velocities(topology, position, velocity), velocity)
    moved = position.copy()
    moved[0] += 1e-4
    again = project_positions(topology, moved)
    beads = topology.first_bead[1]
    assert np.array_equal(again[beads:], position[beads:])


def test_chains_of_many_kinds_are_projected_together_to_the_bits_of_each_alone():
    """Kinds differ in masses and bond lengths, some in size; of rings each kind is done by itself."""
    rng, bonds, first_bead, first_bond = np.random.default_rng(9), [], [0], [0]
    for kind in range(40):
        beads = (2, 3, 7, 7)[kind % 4]
        own = [[i, i + 1] for i in range(beads - 1)] + [[0, beads - 1]] * (kind % 4 == 3)
        bonds += (np.array(own) + first_bead[-1]).tolist()
        first_bead.append(first_bead[-1] + beads)
        first_bond.append(len(bonds))
    beads, flags = first_bead[-1], np.zeros(40, dtype=bool)
    topology = Topology(
        names=tuple(f"K{k}" for k in range(40)),
        kind=np.arange(40, dtype=np.int32),
        first_bead=np.array(first_bead),
        first_bond=np.array(first_bond),
        bonds=np.array(bonds),
        bond_length=rng.uniform(0.9, 1.1, size=len(bonds)),
        mass=rng.uniform(0.5, 2.0, size=beads),
        diameter=np.full(beads, 0.5),
        self_contact=~flags,
        rod=flags,
        flexible=flags,
        fixed=np.arange(beads) == 4,
    )
    position = np.cumsum(rng.normal(scale=0.6, size=(beads, 3)), axis=0)
    velocity = rng.normal(size=(beads, 3))
    together = project_positions(topology, position)
    moving = project_velocities(topology, together, velocity)
    freedom = 0
    for group in groups_of(topology):
        at = group.beads
        assert np.array_equal(together[at], project_group(group, position[at]))
        assert np.array_equal(moving[at], project_group_velocities(group, together[at], velocity[at]))
        freedom += 3 * int(np.isfinite(group.mass).sum()) - constraint_rank(group, together[at[0]])
    assert degrees_of_freedom(topology, together) == freedom


@pytest.mark.parametrize("name", ["chain", "ring", "star", "complete graph of five"])
def test_solvers_agree_with_dense_algebra(name):
    topology, position = build(name)
    group = groups_of(topology)[0]
    x = position[group.beads]
    bond = x[:, group.bonds[:, 1]] - x[:, group.bonds[:, 0]]
    full = matrix(group, bond)
    g = gradient(topology, position).reshape(len(x), -1, topology.beads, 3)
    for m, beads in enumerate(group.beads):
        one = g[m][:, beads].reshape(len(group.bonds), -1)
        assert np.allclose(full[m], (one / np.repeat(group.mass, 3)) @ one.T, rtol=0, atol=1e-13)
    right = along(group, bond, np.random.default_rng(5).normal(size=x.shape))
    for found in (solve(group, bond, right), solve_iterated(group, bond, right)):
        assert np.abs(np.einsum("cij,cj->ci", full, found) - right).max() < 1e-10


@pytest.mark.parametrize("seed", range(6))
def test_ranks_and_degrees_of_freedom(seed):
    expected = {"monomer": 0, "dimer": 1, "chain": 11, "ring": 6, "star": 6, "tetrahedron": 6}
    expected["complete graph of five"] = 9
    for name, rank in expected.items():
        topology, position = build(name, seed=seed)
        assert constraint_rank(groups_of(topology)[0], position[: topology.first_bead[1]]) == rank
        g = gradient(topology, position)
        held = 3 * topology.beads - 3 - degrees_of_freedom(topology, position)
        assert held == (np.linalg.matrix_rank(g) if g.size else 0)


def test_bonds_that_cannot_be_met_are_reported():
    topology, position = build("tetrahedron")
    topology.bond_length[:] = [10.0, 1.0, 1.0, 1.0, 1.0, 1.0] * 2
    with pytest.raises(ConfigError, match="^x.toml: the bonds of molecule 0 cannot be satisfied"):
        project_positions(topology, position, "x.toml")
