"""Rigid bodies as matter: what is kept over many contacts, equal shares of energy, and the same motion by bonds."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.model.molecules.bodies import frames
from hpcchain.model.molecules.equal_shapes import groups_of
from hpcchain.model.system import OPEN
from hpcchain.sector.serial import Engine
from tests.support.bodies import BENT, TETRAHEDRON, gas, rotation
from tests.support.extended import wall_table, with_extended
from tests.support.kernel_tools import make_system
from tests.support.twins import invariants, lengths
from tests.support.whole import frame_of

MIXTURE = ["tetrahedron", "bent", "cross", "many"] * 6


@pytest.mark.parametrize("contacts", [10_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_energy_momentum_and_shapes_over_many_contacts(contacts):
    """All are kept to round-off, which walks."""
    system = gas(MIXTURE, 3, pitch=3.6)
    mass, topology = system.topology.whole().mass, system.topology.whole()
    engine = Engine(system)
    first = invariants(system.state.position, system.state.velocity, mass)
    time = 0.0
    while engine.counters["contacts"] < contacts:
        time += 2.0
        engine.advance(time)
    position, velocity, _ = frame_of(engine, time)
    last = invariants(position, velocity, mass)
    assert abs(last[0] / first[0] - 1.0) < 2e-12
    assert np.abs(last[1:4] - first[1:4]).max() < 1e-11
    assert np.abs(lengths(topology.bonds, position) / topology.bond_length - 1.0).max() < 1e-13


@pytest.mark.long
def test_angular_momentum_in_a_sphere():
    """A smooth sphere about all beads turns nothing, so angular momentum about its centre is kept at every contact."""
    system = gas(MIXTURE, 6, pitch=3.6)
    radius = 0.4 + np.linalg.norm(system.state.position, axis=1).max() + 0.1
    wall = wall_table(shape="sphere", center=[0.0, 0.0, 0.0], radius=float(radius), restitution=1.0)
    box = replace(system.box, boundary=np.full(3, OPEN, dtype=np.int8))
    system = with_extended(replace(system, box=box), walls=[wall])
    first = invariants(system.state.position, system.state.velocity, system.topology.whole().mass)
    engine, time = Engine(system), 0.0
    while engine.counters["contacts"] + engine.counters["wall_contacts"] < 100_000:
        time += 5.0
        engine.advance(time)
    position, velocity, _ = frame_of(engine, time)
    last = invariants(position, velocity, system.topology.whole().mass)
    assert abs(last[0] / first[0] - 1.0) < 1e-11
    np.testing.assert_allclose(last[4:], first[4:], rtol=0, atol=1e-10 * first[0])


def test_no_two_beads_overlap():
    system = gas(MIXTURE, 4, pitch=3.0, diameter=0.7)
    engine = Engine(system)
    molecule = system.topology.whole().molecule_of_bead
    other = molecule[:, None] != molecule
    for time in np.linspace(0.0, 6.0, 61)[1:]:
        engine.advance(time)
        position = frame_of(engine, time)[0]
        away = position[:, None] - position
        away -= system.box.size * np.rint(away / system.box.size)
        assert np.sqrt(np.sum(away**2, axis=2))[other].min() > 0.7 * (1.0 - 1e-12)
    assert engine.counters["contacts"] > 100


def by_bonds(x, mass, v):
    """Return a molecule whose bonds, one between any two beads, hold it rigid."""
    return np.array(np.triu_indices(len(x), 1)).T, x, v, mass


@pytest.mark.parametrize("shape", ["triangle", "tetrahedron"])
def test_a_body_moves_as_one_that_bonds_hold(shape):
    """The first contacts of a gas, whichever way its molecules are held."""
    rng = np.random.default_rng(8)
    sites = {"triangle": BENT, "tetrahedron": TETRAHEDRON}[shape]
    places = np.array(list(np.ndindex(2, 2, 2))) * 3.0 - 1.5
    molecules = []
    for place in places:
        mass = rng.uniform(0.5, 2.0, len(sites))
        x = (sites - mass @ sites / mass.sum()) @ rotation(rng).T
        v = rng.normal(size=3) + np.cross(rng.normal(size=3), x)
        molecules.append(by_bonds(x + place, mass, v))
    trees = [(bonds[: len(sites) - 1], *rest) for bonds, *rest in molecules]
    found = []
    for system in (
        make_system(molecules, (6.0,) * 3, (0, 0, 0), diameter=0.8),
        make_system(trees, (6.0,) * 3, (0, 0, 0), diameter=0.8, bodies=range(8)),
    ):
        engine = Engine(system, log_events=True)
        engine.advance(5.0)
        found.append(engine.drain_events())
    bonds, bodies = found
    count = 12
    assert len(bonds) >= count
    assert np.array_equal(bonds["bead"][:count], bodies["bead"][:count])
    np.testing.assert_allclose(bodies["time"][:count], bonds["time"][:count], rtol=0, atol=1e-9)
    np.testing.assert_allclose(bodies["impulse"][:count], bonds["impulse"][:count], rtol=1e-7)


def shares(system, velocity, position):
    """Return the mean energy of translation and of turning about each of its axes, of each kind of body."""
    found = {}
    for group in groups_of(system.topology.whole()):
        x, v = position[group.beads], velocity[group.beads]
        mean = np.einsum("n,cnk->ck", group.mass, v) / group.mass.sum()
        _, turn = frames(group, x)
        away = np.einsum("ckl,nl->cnk", turn, group.site)
        momentum = np.einsum("n,cnk->ck", group.mass, np.cross(away, v - mean[:, None]))
        own = np.einsum("ckl,ck->cl", turn, momentum)
        sums = group.mass @ group.site**2
        energy = 0.5 * group.mass.sum() * mean**2, 0.5 * own**2 / (sums.sum() - sums)
        found[int(group.molecules[0])] = np.concatenate(energy, axis=1)
    return found


def test_all_ways_to_move_share_the_energy_equally():
    """Three of translation and three of turning, of heavy and light bodies of very unequal moments."""
    system = gas(["bent", "many"] * 13, 5, pitch=3.6, turn=0.0)
    mass = system.topology.whole().mass
    system.state.velocity -= mass @ system.state.velocity / mass.sum()
    engine = Engine(system)
    total, frames_seen = np.zeros((26, 6)), 0
    for time in np.arange(20.0, 620.0, 1.5):
        engine.advance(time)
        position, velocity, _ = frame_of(engine, time)
        total += np.concatenate([*shares(system, velocity, position).values()])
        frames_seen += 1
    own = np.add.reduceat(mass, system.topology.whole().first_bead[:-1])
    share = np.repeat([1.0 - own / mass.sum(), np.ones(26)], 3, axis=0).T  # at rest as a whole
    mean = total / frames_seen * share.sum() / total.sum() * frames_seen
    assert np.abs(mean.mean(axis=0) / share.mean(axis=0) - 1.0).max() < 0.06
    assert np.abs(mean[::2].mean() / share[::2].mean() - 1.0) < 0.06
