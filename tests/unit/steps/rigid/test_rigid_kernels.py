"""Rigid bodies in steps: the step against the multipliers of all distances, order, reversal, what is kept; contacts."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.model.molecules.bodies import body_sites
from hpcchain.steps.engine import SteppedEngine
from hpcchain.steps.rigid.molecules import Rigid
from hpcchain.steps.rigid.rigid_kernels import move_bodies
from tests.support.bodies import CROSS, SORTS, exact, random_body, rotation
from tests.support.stepped import LJ, on_lattice, require_equal, run_on, stepping, system_of, turned
from tests.support.twins import gradient, invariants

G = 1.0


def stepped(body, step, count=1):
    """Return places and velocities of a body after steps, projected at the end of each."""
    _, x, v, mass = body
    group = Rigid(body_sites(x, mass), mass)
    x, v, own, rows = x.copy(), v.copy(), np.arange(len(x)), np.zeros(1, dtype=np.int64)
    for _ in range(count):
        assert group.move(x, own, v, step, rows) == -1
        group.project(x, own, v, rows)
    return x, v


def by_multipliers(body, step):
    """Return places after a step of SHAKE with one multiplier for each distance in the body."""
    _, x, v, mass = body
    pairs = np.array(np.triu_indices(len(x), 1)).T
    g, y = gradient(pairs, x), x + step * v
    wanted = np.sum((x[pairs[:, 1]] - x[pairs[:, 0]]) ** 2, axis=1)
    for _ in range(50):
        error = np.sum((y[pairs[:, 1]] - y[pairs[:, 0]]) ** 2, axis=1) - wanted
        slope = 2.0 * gradient(pairs, y) @ (g / np.repeat(mass, 3)).T
        y = y - (np.linalg.lstsq(slope, error, rcond=1e-10)[0] @ g).reshape(-1, 3) / mass[:, None]
    return y


@pytest.mark.parametrize("sort", ["asymmetric", "spherical", "oblate"])
def test_a_step_is_that_of_the_multipliers(sort):
    body = random_body(sort, 5, seed=2, turn=1.0)
    np.testing.assert_allclose(stepped(body, 0.2)[0], by_multipliers(body, 0.2), rtol=0, atol=1e-12)


@pytest.mark.parametrize("sort", SORTS)
def test_angular_momentum_is_kept_and_a_step_backwards_leads_back(sort):
    bonds, x, v, mass = body = random_body(sort, 5, seed=3, turn=1.5, place=[0.0, 0.0, 0.0], drift=[0.3, -0.2, 0.1])
    there, speed = stepped(body, 0.05, 200)
    before, after = invariants(x, v, mass), invariants(there, speed, mass)
    np.testing.assert_allclose(after[1:], before[1:], rtol=0, atol=200 * 1e-16 * np.abs(before).max())
    assert abs(after[0] / before[0] - 1.0) < 2e-3
    back, slowed = stepped((bonds, there, -speed, mass), 0.05, 200)
    growth = 1e4 if sort == "separatrix" else 1.0
    np.testing.assert_allclose(back, x, rtol=0, atol=1e-11 * growth)
    np.testing.assert_allclose(slowed, -v, rtol=0, atol=1e-11 * growth)


def test_order_two():
    body = random_body("asymmetric", 6, seed=5)
    wanted = exact(body, 1.0)[0]
    error = [np.abs(stepped(body, 2.0**-k, 2**k)[0] - wanted).max() for k in (4, 5, 6, 7)]
    assert -2.1 < np.polyfit(range(4), np.log2(error), 1)[0] < -1.9


def test_one_that_would_turn_too_far_is_named():
    _, x, v, mass = random_body("asymmetric", 4, turn=50.0)
    group = Rigid(body_sites(x, mass), mass)
    rows = np.zeros(1, dtype=np.int64)
    assert move_bodies(x.copy(), np.arange(4), v.copy(), rows, 4, 0.1, group.work) == 0


def falling(sites, places, restitution=0.0, **kind):
    """Return the input of bodies above a floor under gravity, by contact dynamics."""
    sites = np.asarray(sites, float)
    rows = [place + sites @ rotation(np.random.default_rng(k)).T for k, place in enumerate(places)]
    return {
        "box": {"size": [20.0] * 3, "boundary": ["periodic", "periodic", "wall"]},
        "molecule": [
            {
                "kind": "rigid",
                "sites": sites.tolist(),
                "count": len(places),
                "positions": np.concatenate(rows).tolist(),
                "velocities": np.zeros((len(places) * len(sites), 3)).tolist(),
            }
            | kind
        ],
        "initial": {"method": "explicit"},
        "external": {"gravity": [0.0, 0.0, -G]},
        "contact": {"restitution": restitution},
        "propagator": {"tolerance": 1e-10},
        "run": {"engine": "steps", "end_time": 100.0},
        "steps": {"step": 0.01, "integrator": "contact"},
    }


@pytest.mark.long
def test_a_body_that_has_fallen_lies_on_three_beads_which_carry_it():
    system = system_of(falling(CROSS, [[10.0, 10.0, 3.0]], diameter=0.8, mass=1.5))
    engine = SteppedEngine(system)
    seen = []
    solve = engine.contacts.outcome
    engine.contacts.outcome = lambda pool, pairs: seen.append(solve(pool, pairs)) or seen[-1]
    engine.advance(60.0)
    assert engine.beads.position[:, 2].min() > 0.4 - 1e-8
    assert np.abs(engine.beads.own.velocity).max() < 1e-6
    carried = np.linalg.norm(seen[-1].impulse, axis=1).sum() / 0.01
    assert carried == pytest.approx(7 * 1.5 * G, rel=1e-6)


@pytest.mark.parametrize("restitution", [pytest.param(0.0, marks=pytest.mark.long), 0.5])
def test_ranks_and_restarts_leave_no_trace(restitution):
    spots = [[4.0 + 2.9 * i, 4.0 + 2.9 * j, 2.0 + 2.9 * k] for i in range(2) for j in range(2) for k in range(3)]
    system = system_of(falling(CROSS, spots, restitution, diameter=0.8))
    one = run_on(system, 3.0, 1)
    for ranks in (2, 3):
        require_equal(one, run_on(system, 3.0, ranks))


SITES = np.array([[0.0, 0.0, 0.0], [0.6, 0.0, 0.0], [-0.6, 0.1, 0.0], [0.0, 0.7, 0.2]])


def bodies(seed, hard, potential, temperature=8.0, **steps):
    """Return the input of bodies, turned at random, on a lattice in a periodic box, moved by reflections."""
    rng = np.random.default_rng(seed)
    spots = on_lattice(rng, 7.8, 27, 0.0)
    mass = np.array([1.0, 2.0, 1.0, 3.0])
    sites = SITES - mass @ SITES / mass.sum()
    kind = {"kind": "rigid", "sites": SITES.tolist(), "mass": mass.tolist(), "count": 27, "diameter": 0.7, "hard": hard}
    kind["positions"] = np.concatenate([spot + sites @ turned(rng).T for spot in spots]).tolist()
    return {
        "box": {"size": [7.8] * 3},
        "molecule": [kind],
        "potential": [LJ | {"sigma": 0.65}] if potential else [],
        "initial": {"method": "explicit", "temperature": temperature, "seed": seed},
        "run": {"engine": "steps", "end_time": 10.0},
        "steps": {"step": 0.005} | steps,
    }


def test_steps_of_bodies_under_potentials_are_of_order_two():
    system = system_of(bodies(1, False, True, 2.0))
    exact = run_on(stepping(system, 1.0 / 2048), 0.5, 1)
    error = [np.abs(run_on(stepping(system, 2.0**-k), 0.5, 1)[0] - exact[0]).max() for k in (6, 7, 8)]
    assert -2.2 < np.polyfit(range(3), np.log2(error), 1)[0] < -1.8


def test_reflections_keep_the_energy_of_bodies():
    """Those of free bodies is kept by the steps of Moser and Veselov (McLachlan and Zanna 2005)."""
    system = system_of(bodies(2, True, False))
    engine = SteppedEngine(system)
    engine.advance(3.0)
    velocity = engine.frame(3.0)[1]
    before, after = (system.topology.whole().mass @ np.sum(v**2, axis=1) for v in (system.state.velocity, velocity))
    assert engine.counters["contacts"] > 40 and after == pytest.approx(before, rel=1e-12)


@pytest.mark.parametrize(
    "steps", [{}, {"energy": "H2"}, {"base": "midpoint"}, {"integrator": "dsi"}, {"predictions": 2}]
)
def test_bodies_that_reflect_keep_their_shape_and_bits(steps):
    system = system_of(bodies(3, True, True, **steps))
    alone = run_on(system, 0.4, 1)
    place = alone[0].reshape(-1, 4, 3)
    for i in range(4):
        for j in range(i):
            length = np.linalg.norm(SITES[i] - SITES[j])
            assert np.abs(np.linalg.norm(place[:, i] - place[:, j], axis=1) - length).max() < 1e-13
    middle = replace(system, state=run_on(system, 0.2, 3)[4])
    require_equal(alone, run_on(middle, 0.4, 2))


def test_beads_of_one_body_have_no_potential_between_them():
    """Else fused beads would have enormous forces on one another, whose sum is rounding."""
    tables = bodies(4, False, True)
    tables["molecule"][0] |= {"sites": (0.1 * SITES).tolist()}
    place = np.array(tables["molecule"][0]["positions"]).reshape(-1, 4, 3)
    centre = np.average(place, axis=1, weights=[1.0, 2.0, 1.0, 3.0])[:, None]
    tables["molecule"][0]["positions"] = (centre + 0.1 * (place - centre)).reshape(-1, 3).tolist()
    engine = SteppedEngine(system_of(tables))
    assert np.abs(engine.energies()[:, 0]).max() < 1.0 and np.abs(engine.beads.force).max() < 10.0
