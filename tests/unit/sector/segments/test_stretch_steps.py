"""Stretches of long chains that are hit by molecules which move in steps, against the same chains moved as wholes.

Their kernels take minutes to compile, and no other test has them: with --long. They have a turn of their own, since
those of `test_stretch_laws` are others.
"""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.model.molecules.long_chains import whole_chains
from hpcchain.model.system import KindPhysics, Options
from hpcchain.sector.events.meet import meet
from hpcchain.sector.events.simultaneous import MET
from hpcchain.sector.serial import Engine
from tests.support.extended import rough
from tests.support.kernel_tools import chain_bonds, make_system, set_now
from tests.support.long_chains import line
from tests.support.twins import project
from tests.support.whole import frame_of

KIND = {"propagator": "taylor", "stages": 4, "step": 0.0, "tolerance": 1e-12, "options": Options()}


def hit_by_a_trimer(speed=2.0, **own):
    """Return a long chain, divided into parts, and a trimer that falls on its middle, moved as `own` says."""
    system = line(100, [], velocity=[0.2, 0.1, 0.0], bend=0.25, seed=1)
    place, velocity, mass = system.state.position, system.state.velocity, system.topology.whole().mass
    step = np.array([[0.9, 0.3, 0.0], [0.3, 0.9, 0.1]])
    step /= np.linalg.norm(step, axis=1)[:, None]
    x = place[50] + [0.0, 1.5, 0.2] + np.vstack([np.zeros(3), np.cumsum(step, axis=0)])
    v = np.array([[0.0, -speed, 0.0], [0.0, -1.1 * speed, 1.5], [0.4, -0.75 * speed, -1.0]])
    trimer = (chain_bonds(3), x, project(chain_bonds(3), x, v, np.ones(3)), np.ones(3))
    found = make_system([(chain_bonds(100), place, velocity, mass), trimer], (140.0, 40.0, 40.0), diameter=0.9)
    kinds = KIND | {"options": Options(stretches=100)}, KIND | own
    return replace(found, physics=replace(found.physics, kinds=tuple(KindPhysics(**kind) for kind in kinds)))


def energy_of(engine, time):
    """Return the energy of motion and of spins."""
    topology, spin = engine.system.topology.whole(), engine.state().extra
    velocity = engine.frame(time)[1]
    order = np.argsort(engine.ids)
    turning = topology.moment @ np.sum(spin[order, L.SPIN : L.SPIN + 3] ** 2, axis=1) if spin.shape[1] else 0.0
    return 0.5 * (topology.mass @ np.sum(velocity[order] ** 2, axis=1) + turning)


@pytest.mark.long
@pytest.mark.timeout(900)  # it may be the first to compile stretches of rough beads while other tests run
@pytest.mark.parametrize("e_t", [1.0, -1.0], ids=["smooth", "rough"])
def test_what_bringing_a_molecule_took_is_given_back(e_t):
    """Collocation that is put on its bonds for a contact with a chain of parts loses energy, which the impulse has."""
    system = hit_by_a_trimer(propagator="collocation", step=0.3, stages=2)
    if e_t != 1.0:
        system = rough(system, np.ones((system.topology.beads, 3)), e_t)
    engine = Engine(system)
    before = energy_of(engine, 0.0)
    assert engine.advance(0.7) and engine.counters["contacts"] > 0
    assert energy_of(engine, 0.7) == pytest.approx(before, rel=1e-13)


def hit_under_its_law():
    """Return a long chain, divided into parts, and a trimer on it that has the variational law."""
    return hit_by_a_trimer(propagator="variational", step=0.1)


@pytest.mark.long
@pytest.mark.parametrize("restitution", [1.0, 0.7])
def test_the_variational_law_is_that_with_whole_chains(restitution):
    """Its share of the exact impulse follows from the energy of all that move, a stretch as all of its chain."""
    system = hit_under_its_law()
    system = replace(system, physics=replace(system.physics, restitution=restitution))
    exact = tuple(replace(one, options=replace(one.options, collision="exact")) for one in system.physics.kinds)
    found, impulses = [], []
    for physics in (system.physics, whole_chains(system.physics), replace(system.physics, kinds=exact)):
        engine = Engine(replace(system, physics=physics), log_events=True)
        assert engine.advance(0.7)
        found.append(frame_of(engine, 0.7)[1])
        impulses.append(engine.drain_events()["impulse"])
    assert len(impulses[0]) == len(impulses[1]) > 0
    np.testing.assert_allclose(impulses[0], impulses[1], rtol=1e-11)
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-11)
    assert abs(impulses[0][0] / impulses[2][0] - 1.0) > 1e-4


@pytest.mark.long
@pytest.mark.parametrize("e_t", [1.0, -1.0], ids=["smooth", "rough"])
def test_a_graze_gives_back_what_bringing_a_molecule_took(e_t):
    system = hit_by_a_trimer(-2.0, propagator="collocation", step=0.3, stages=2)
    if e_t != 1.0:
        system = rough(system, np.ones((system.topology.beads, 3)), e_t)
    engine = Engine(system)
    before = energy_of(engine, 0.0)
    chain, trimer = np.argsort(engine.ids)[[50, 100]]
    s = engine.sector
    set_now(s, 0.0, 0.1)
    assert meet(s, chain, trimer, False, False) == (MET, 2)
    assert (s.member[:2, L.LAST_ROW] - s.member[:2, L.FIRST_ROW] > 0).tolist() == [True, False]
    assert energy_of(engine, 0.1) == pytest.approx(before, rel=1e-13)
