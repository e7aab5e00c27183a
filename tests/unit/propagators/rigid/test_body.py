"""Rigid bodies against their motion integrated otherwise, against dense equations, and as bodies in the engine."""

import numpy as np
import pytest

from hpcchain.layout.arrays import BODY, GRAPH, MOL_SOLVER
from hpcchain.model.molecules.bodies import body_bonds
from hpcchain.sector.serial import Engine
from hpcchain.sector.setup.molecule_classes import MoleculeClasses
from tests.reference.linear import pushes
from tests.support import gases, twins
from tests.support.bodies import CROSS, SORTS, Bench, exact, moments, random_body, unit
from tests.support.kernel_tools import make_system
from tests.support.whole import frame_of

SIZES = [3, 5, 8, 9, 20]


def response(body, bead, n):
    """Return the velocity change per unit impulse, by the inverse of the inertia tensor."""
    _, x, _, mass = body
    away = x - mass @ x / mass.sum()
    turn = np.linalg.solve(moments(away, mass), np.cross(away[bead], n))
    return n / mass.sum() + np.cross(turn, away)


def test_the_twin_is_the_symmetric_tops_closed_form():
    """An oblate top's axis goes round its angular momentum at the rate L / I_across."""
    bonds, x, v, mass = random_body("oblate", seed=4, turn=2.0)
    away, drift = x - mass @ x / mass.sum(), mass @ v / mass.sum()
    momentum = np.einsum("n,nk->k", mass, np.cross(away, v - drift))
    axis = unit(away[3] - away[4])
    across = np.sort(np.linalg.eigvalsh(moments(away, mass)))[:2]
    assert across[0] == pytest.approx(across[1], rel=1e-14)
    t = 3.7
    angle, pole = np.linalg.norm(momentum) / across.mean() * t, unit(momentum)
    wanted = axis * np.cos(angle) + np.cross(pole, axis) * np.sin(angle) + pole * (pole @ axis) * (1 - np.cos(angle))
    position, _ = exact((bonds, x, v, mass), t)
    np.testing.assert_allclose(unit(position[3] - position[4]), wanted, atol=2e-15)


@pytest.mark.parametrize("sort", SORTS)
def test_flight_is_exact(sort):
    body = random_body(sort, 5, turn=1.7)
    bench = Bench(body, stale=3)
    for angle in (1e-3, 0.1, 30.0):
        series, h, bound = bench.expand(angle / 1.7, 1e-16)
        assert h == pytest.approx(angle / 1.7, rel=1e-14) if angle < 0.05 else 0.05 < 1.7 * h < 0.6501
        for t in (0.37 * h, h):
            for got, wanted in zip(twins.evaluate(series, t), exact(body, t), strict=True):
                np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-14)
        k = np.arange(2, len(series))
        for t in np.linspace(0.0, h, 7):
            bent = np.linalg.norm(np.tensordot(k * (k - 1) * t ** (k - 2), series[2:], 1), axis=1)
            assert np.all(bent <= bound * (1 + 1e-14))


@pytest.mark.parametrize("n", [3, 20])
def test_a_body_that_does_not_turn(n):
    bonds, x, _, mass = random_body("asymmetric", n)
    series, h, bound = Bench((bonds, x, np.tile([1.0, 2.0, 3.0], (n, 1)), mass)).expand(1e-2, 1e-16)
    assert h == 1e-2 and np.all(np.abs(series[2:]) < 1e-12) and np.all(bound < 1e-12)
    series, h, _ = Bench((bonds, x - mass @ x / mass.sum(), np.zeros((n, 3)), mass)).expand(50.0, 1e-16)
    assert h == 50.0 and len(series) == 4 and np.all(series[1:] == 0.0)


@pytest.mark.parametrize("sort", SORTS)
def test_turning_for_long_keeps_energy_and_momenta(sort):
    """1000 segments, the state projected at every node as the engine does; the separatrix is crossed on the way."""
    bonds, x, v, mass = random_body(sort, 5, seed=3, turn=2.0)
    body = (bonds, x, v - mass @ v / mass.sum(), mass)
    bench = Bench(body)
    before, elapsed = twins.invariants(*body[1:]), 0.0
    for k in range(1000):
        series, h, _ = bench.expand(0.07, 1e-16)
        bench.put_state(*twins.evaluate(series, h))
        bench.prepare()
        elapsed += h
        if k == 150:
            wanted = exact(body, elapsed)[0]
            growth = 1e6 if sort == "separatrix" else 1.0
            np.testing.assert_allclose(bench.position(), wanted, rtol=0, atol=3e-13 * growth)
    after = twins.invariants(bench.position(), bench.velocity(), mass)
    np.testing.assert_allclose(after, before, rtol=0, atol=3e-13 * before[0])
    np.testing.assert_allclose(twins.lengths(bonds, bench.position()), twins.lengths(bonds, x), rtol=1e-14)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("sort", ["asymmetric", "flat"])
def test_prepare_puts_a_disturbed_state_on_the_body(sort, n):
    """Momentum stays, angular momentum too but for what the shift in place makes, and all distances are the body's."""
    body = random_body(sort, n, seed=4)
    bonds, x, v, mass = body
    rng = np.random.default_rng(5)
    shaken, hurried = x + 1e-9 * rng.normal(size=x.shape), v + 1e-3 * rng.normal(size=v.shape)
    bench = Bench(body)
    bench.put_state(shaken, hurried)
    bench.prepare()
    got, rate = bench.position(), bench.velocity()
    pairs = np.array(np.triu_indices(n, 1)).T
    np.testing.assert_allclose(twins.lengths(pairs, got), twins.lengths(pairs, x), rtol=0, atol=1e-14)
    np.testing.assert_allclose(twins.gradient(pairs, got) @ rate.ravel(), 0, atol=1e-13)
    np.testing.assert_allclose(mass @ got, mass @ shaken, atol=1e-13)
    wanted, found = twins.invariants(shaken, hurried, mass), twins.invariants(got, rate, mass)
    np.testing.assert_allclose(found[1:4], wanted[1:4], atol=1e-12)
    np.testing.assert_allclose(found[4:], wanted[4:], atol=1e-7)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("sort", ["asymmetric", "flat"])
def test_impulse_goes_through_the_inverse_inertia(sort, n):
    body = random_body(sort, n, seed=6)
    for bead in {0, n // 2, n - 1}:
        normal = unit([0.3, -0.8, 0.5])
        change, mobility = Bench(body, stale=1).kick(bead, normal)
        wanted = response(body, bead, normal)
        np.testing.assert_allclose(change, wanted, rtol=0, atol=1e-12)
        assert mobility == pytest.approx(normal @ wanted[bead], rel=1e-12)


def test_bodies_have_their_own_code():
    rows = MoleculeClasses(make_system([random_body(n=6), random_body(n=4)], bodies=(0,))).rows
    assert rows[:, MOL_SOLVER].tolist() == [BODY, GRAPH]


@pytest.mark.engine
@pytest.mark.parametrize("restitution", [1.0, 0.6])
def test_two_contacts_at_one_instant(restitution):
    """Monomers hit two arms of a cross at once: (N Y) p = -(1 + e) N v with dense Y."""
    mass = np.linspace(0.7, 1.9, 7)
    cross = (body_bonds(CROSS), CROSS, np.zeros((7, 3)), mass)
    beads = [gases.monomer(CROSS[k] + [0.0, 0.0, 2.0], [0.0, 0.0, -1.0], 1.0 + k) for k in (1, 3)]
    engine = Engine(make_system([cross, *beads], bodies=(0,), diameter=0.8, restitution=restitution), log_events=True)
    engine.advance(1.2 + 1e-9)
    events = engine.drain_events()
    assert sorted(map(tuple, events["bead"].tolist())) == [(1, 7), (3, 8)] and engine.counters["ties"] == 1
    n = np.array([0.0, 0.0, -1.0])
    turns = [response(cross, k, n) for k in (1, 3)]
    matrix = np.array([[n @ turn[k] for turn in turns] for k in (1, 3)]) + np.diag([1.0 / 2.0, 1.0 / 4.0])
    p = pushes(matrix, np.full(2, 1.0 + restitution))
    np.testing.assert_allclose(np.sort(events["impulse"]), np.sort(p), rtol=1e-12)
    velocity = frame_of(engine, 1.2 + 1e-9)[1]
    np.testing.assert_allclose(velocity[:7], p[0] * turns[0] + p[1] * turns[1], atol=1e-8)


def first_contact(one, two, end, diameter=1.0, parts=100):
    """Return when beads of two bodies first touch, and which, by bisection of the exact curves."""

    def after(t):
        return tuple((body[0], *exact(body, t), body[3]) for body in (one, two))

    def touching(t):
        (_, x, *_), (_, y, *_) = after(t)
        away = np.linalg.norm(x[:, None] - y, axis=2)
        return away.min() < diameter, np.unravel_index(np.argmin(away), away.shape)

    step = end / parts
    for k in range(parts):
        if touching(step)[0]:
            low, high = 0.0, step
            for _ in range(50):
                middle = 0.5 * (low + high)
                low, high = (low, middle) if touching(middle)[0] else (middle, high)
            return k * step + high, touching(high)[1]
        one, two = after(step)
    raise AssertionError("they do not touch")


@pytest.mark.engine
@pytest.mark.parametrize("sort", ["asymmetric", "flat", "spherical"])
def test_two_bodies_collide(sort):
    """Time from bisecting the curves of the twin; impulse from the inverse inertia; both fly on as the twin does."""
    one = random_body(sort, 4, seed=11, turn=1.3, place=[0.0, 0.0, 0.0], drift=[0.4, 0.0, 0.1])
    two = random_body("asymmetric", 6, seed=12, turn=0.9, place=[6.5, 0.3, 0.2], drift=[-0.6, 0.1, 0.0])
    when, (a, b) = first_contact(one, two, 8.0)
    (x, v), (y, w) = exact(one, when), exact(two, when)
    n = unit(x[a] - y[b])
    struck = (one[0], x, v, one[3]), (two[0], y, w, two[3])
    turns = response(struck[0], a, n), response(struck[1], b, n)
    inverse = n @ turns[0][a] + n @ turns[1][b]
    impulse = -1.7 * (n @ (v[a] - w[b])) / inverse
    engine = Engine(make_system([one, two], bodies=(0, 1), restitution=0.7), log_events=True)
    engine.advance(when + 1e-3)
    (event,) = engine.drain_events()
    assert event["bead"].tolist() == [a, len(x) + b]
    assert event["time"] == pytest.approx(when, abs=1e-13)
    assert event["impulse"] == pytest.approx(impulse, rel=1e-11)
    after = (one[0], x, v + impulse * turns[0], one[3]), (two[0], y, w - impulse * turns[1], two[3])
    wanted = [exact(body, 1e-3) for body in after]
    position, velocity, _ = frame_of(engine, when + 1e-3)
    np.testing.assert_allclose(position, np.concatenate([state[0] for state in wanted]), atol=1e-12)
    np.testing.assert_allclose(velocity, np.concatenate([state[1] for state in wanted]), atol=1e-11)
    both = np.concatenate([one[3], two[3]])
    start = twins.invariants(np.concatenate([one[1], two[1]]), np.concatenate([one[2], two[2]]), both)
    end = twins.invariants(position, velocity, both)
    np.testing.assert_allclose(end[1:], start[1:], atol=1e-11)
    assert end[0] - start[0] == pytest.approx(-0.5 * (1 - 0.49) * (impulse / 1.7) ** 2 * inverse, rel=1e-10)
