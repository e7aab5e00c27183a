"""Rigid bodies in steps: the step against the multipliers of all distances, order, reversal, what is kept; contacts."""

import numpy as np
import pytest

from hpcchain.model.molecules.bodies import body_sites
from hpcchain.steps.friction.contact_dynamics import ContactEngine
from hpcchain.steps.rigid.body_kernels import move_bodies
from hpcchain.steps.rigid.molecules import Bodies
from tests.support.bodies import CROSS, SORTS, exact, random_body, rotation
from tests.support.stepped import require_equal, run_on, system_of
from tests.support.twins import gradient, invariants

G = 1.0


def stepped(body, step, count=1):
    """Return places and velocities of a body after steps, projected at the end of each."""
    _, x, v, mass = body
    group = Bodies(body_sites(x, mass), mass)
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
    group = Bodies(body_sites(x, mass), mass)
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


def test_a_body_that_has_fallen_lies_on_three_beads_which_carry_it():
    system = system_of(falling(CROSS, [[10.0, 10.0, 3.0]], diameter=0.8, mass=1.5))
    engine = ContactEngine(system)
    seen = []
    solve = engine.contacts.outcome
    engine.contacts.outcome = lambda pool, pairs: seen.append(solve(pool, pairs)) or seen[-1]
    engine.advance(60.0)
    assert engine.position[:, 2].min() > 0.4 - 1e-8
    assert np.abs(engine.own.velocity).max() < 1e-6
    carried = np.linalg.norm(seen[-1].impulse, axis=1).sum() / 0.01
    assert carried == pytest.approx(7 * 1.5 * G, rel=1e-6)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_ranks_and_restarts_leave_no_trace(restitution):
    spots = [[4.0 + 2.9 * i, 4.0 + 2.9 * j, 2.0 + 2.9 * k] for i in range(2) for j in range(2) for k in range(3)]
    system = system_of(falling(CROSS, spots, restitution, diameter=0.8))
    one = run_on(system, 3.0, 1)
    for ranks in (2, 3):
        require_equal(one, run_on(system, 3.0, ranks))
