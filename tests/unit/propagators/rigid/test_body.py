"""Rigid bodies against their motion integrated otherwise, against dense equations, and as bodies in the engine."""

import numpy as np
import pytest

from hpcchain.layout.arrays import BODY
from hpcchain.sector.serial import Engine
from tests.reference.linear import pushes
from tests.support import twins
from tests.support.bodies import SORTS, exact, moments, random_body, unit
from tests.support.kernel_tools import Bench, make_system, random_chain
from tests.support.whole import frame_of

SIZES = [3, 5, 8, 9, 20]


def bench_of(*molecules, bodies=(0,), **settings):
    """Return a Bench, of one body if nothing else is said."""
    return Bench(*molecules, bodies=bodies, **settings)


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
    bench = bench_of(body, stale=3)
    assert bench.solver() == BODY
    for angle in (1e-3, 0.1, 30.0):
        series, h, bound = bench.expand(angle / 1.7, 1e-15)
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
    series, h, bound = bench_of((bonds, x, np.tile([1.0, 2.0, 3.0], (n, 1)), mass)).expand(1e-2, 1e-15)
    assert h == 1e-2 and np.all(np.abs(series[2:]) < 1e-12) and np.all(bound < 1e-12)
    series, h, _ = bench_of((bonds, x - mass @ x / mass.sum(), np.zeros((n, 3)), mass)).expand(50.0, 1e-15)
    assert h == 50.0 and len(series) == 4 and np.all(series[1:] == 0.0)


@pytest.mark.parametrize("sort", SORTS)
def test_turning_for_long_keeps_energy_and_momenta(sort):
    """1000 segments, the state projected at every node as the engine does; the separatrix is crossed on the way."""
    bonds, x, v, mass = random_body(sort, 5, seed=3, turn=2.0)
    body = (bonds, x, v - mass @ v / mass.sum(), mass)
    bench = bench_of(body)
    before, elapsed = twins.invariants(*body[1:]), 0.0
    for k in range(1000):
        series, h, _ = bench.expand(0.07, 1e-15)
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
    bench = bench_of(body)
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
        change, mobility = bench_of(body, stale=1).kick(bead, normal)
        wanted = response(body, bead, normal)
        np.testing.assert_allclose(change, wanted, rtol=0, atol=1e-12)
        assert mobility == pytest.approx(normal @ wanted[bead], rel=1e-12)


@pytest.mark.parametrize("restitution", [1.0, 0.6])
def test_several_contacts_at_once(restitution):
    """Two on one body, a body with a chain, a body with a wall: (N Y) p = -(1 + e) N v with dense Y."""
    molecules = random_body(n=9, seed=8), random_body("flat", 4, seed=9), random_chain(5, 3)
    contacts = [((0, 0), (1, 3)), ((0, 8), (2, 1)), ((1, 0), None)]
    normals = []
    for (m, a), second in contacts:
        apart = molecules[m][2][a] - (0.0 if second is None else molecules[second[0]][2][second[1]])
        normals.append(-unit(apart + [0.1, 0.3, -0.2]))
    bench = bench_of(*molecules, bodies=(0, 1))
    status, sizes = bench.tied(contacts, normals, restitution=restitution)
    assert status == 0
    x, v, mass = (np.concatenate([m[k] for m in molecules]) for k in (1, 2, 3))
    first = np.cumsum([0, 9, 4])
    y, rows = np.zeros((2, 3, len(x), 3))
    for row, change, n, ((m, a), second) in zip(rows, y, normals, contacts, strict=True):
        for sign, (k, bead) in ((1.0, (m, a)), *([] if second is None else [(-1.0, second)])):
            row[first[k] + bead] += sign * n
            change[first[k] : first[k] + len(molecules[k][1])] += sign * answer(molecules[k], k < 2, bead, n)
    rows, y = rows.reshape(3, -1), y.reshape(3, -1)
    p = pushes(rows @ y.T, -(1 + restitution) * rows @ v.ravel())
    np.testing.assert_allclose(sizes, p, rtol=1e-11)
    got = np.concatenate([bench.velocity(k) for k in range(3)])
    np.testing.assert_allclose(got, v + (p @ y).reshape(-1, 3), atol=1e-11)
    assert len(mass) == 18


def answer(molecule, is_body, bead, n):
    """Return what a unit impulse does to the velocities of a body, or of a chain by its bonds."""
    if is_body:
        return response(molecule, bead, n)
    bonds, x, _, mass = molecule
    push = np.zeros_like(x)
    push[bead] = n / mass[bead]
    return twins.project(bonds, x, push, mass)


def first_contact(one, two, end, diameter=1.0):
    """Return when beads of two bodies first touch, and which, by bisection of the exact curves."""

    def gap(t):
        away = np.linalg.norm(exact(one, t)[0][:, None] - exact(two, t)[0], axis=2)
        return away.min() - diameter, np.unravel_index(np.argmin(away), away.shape)

    times = np.linspace(0.0, end, 200)
    low, high = next((a, b) for a, b in zip(times, times[1:], strict=False) if gap(b)[0] < 0.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if gap(middle)[0] < 0.0 else (middle, high)
    return high, gap(high)[1]


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
