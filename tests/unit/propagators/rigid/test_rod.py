"""Rods against their exact motion, against the multipliers of all their constraints, and as a body in the engine.

A rod's centre of mass goes straight and its axis turns: u0 cos wt + (u0'/w) sin wt. Its constraints are those of paper
002: the length of the line from the first to the last bead, and every bead between at its share of it.
"""

import math

import numpy as np
import pytest

from hpcchain.layout.arrays import CHAIN, ROD, ROTOR
from hpcchain.sector.serial import Engine
from tests.reference.linear import pushes
from tests.support import twins
from tests.support.kernel_tools import Bench, chain_bonds, make_system, random_chain
from tests.support.rods import exact, random_rod, two_rods, unit
from tests.support.whole import frame_of

SIZES = [2, 3, 5, 8, 9, 50]


def constraints(x):
    """Return the gradient (3 (n - 2) + 1, 3 n) of a rod's constraints, of which it has as many as they are."""
    n = len(x)
    place = (x - x[0]) @ unit(x[-1] - x[0])
    share = place / place[-1]
    rows = np.zeros((3 * (n - 2) + 1, n, 3))
    rows[-1, 0], rows[-1, -1] = x[0] - x[-1], x[-1] - x[0]
    for j in range(1, n - 1):
        for c in range(3):
            rows[3 * (j - 1) + c, [j, 0, n - 1], c] = 1.0, share[j] - 1.0, -share[j]
    return rows.reshape(len(rows), -1)


def dense_kick(molecule, bead, n):
    """Return the velocity change per unit impulse, with all of a rod's constraints (docs/theory/impulses.md)."""
    _, x, _, mass = molecule
    g, weight = constraints(x), np.repeat(mass, 3)
    start = np.zeros(x.size)
    start[3 * bead : 3 * bead + 3] = n
    start /= weight
    mu = np.linalg.solve(g @ (g / weight).T, g @ start)
    return (start - (g.T @ mu) / weight).reshape(-1, 3)


def bench_of(*molecules, rods=(0,), **settings):
    """Return a Bench, of one rod if nothing else is said."""
    return Bench(*molecules, rods=rods, **settings)


def test_rods_have_their_own_code_and_dimers_the_rotor():
    rod = random_rod(3, 1)
    assert bench_of(rod).solver() == ROD and Bench(rod).solver() == CHAIN and Bench(random_rod(2, 1)).solver() == ROTOR


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("angle", [1e-3, 0.1, 0.6, 30.0])
def test_flight_is_exact(n, angle):
    rod = random_rod(n, 1, turn=1.7)
    series, h, bound = bench_of(rod, stale=3).expand(angle / 1.7, 1e-16)
    assert h == (angle / 1.7 if angle < 0.65 else pytest.approx(0.65 / 1.7, rel=1e-14))
    for t in (0.37 * h, h):
        for got, expected in zip(twins.evaluate(series, t), exact(rod, t), strict=True):
            np.testing.assert_allclose(got, expected, rtol=0, atol=3e-15 * n)
    place = np.linalg.norm(rod[1] - rod[3] @ rod[1] / rod[3].sum(), axis=1)
    np.testing.assert_allclose(bound, 1.7**2 * place, rtol=1e-13)


@pytest.mark.parametrize("n", [3, 50])
def test_a_rod_that_does_not_turn(n):
    bonds, x, _, mass = random_rod(n, 2)
    series, h, bound = bench_of((bonds, x, np.tile([1.0, 2.0, 3.0], (n, 1)), mass)).expand(50.0, 1e-16)
    assert h == 50.0 and np.all(np.abs(series[2:]) < 1e-30) and np.all(bound < 1e-28)


@pytest.mark.parametrize("n", [3, 9, 50])
def test_turning_for_long_keeps_energy_and_momenta(n):
    """1000 segments, the state projected at every node as the engine does."""
    bonds, x, v, mass = random_rod(n, 3, turn=2.0)
    rod = (bonds, x, v - mass @ v / mass.sum(), mass)
    bench = bench_of(rod)
    before = twins.invariants(*rod[1:])
    times = []
    for _ in range(1000):
        series, h, _ = bench.expand(0.3, 1e-16)
        bench.put_state(*twins.evaluate(series, h))
        bench.prepare()
        times.append(h)
    after = twins.invariants(bench.position(), bench.velocity(), rod[3])
    np.testing.assert_allclose(after, before, rtol=0, atol=2e-13 * before[0])
    np.testing.assert_allclose(bench.position(), exact(rod, math.fsum(times))[0], rtol=0, atol=1e-11 * n)


@pytest.mark.parametrize("n", [3, 8, 20])
def test_prepare_puts_a_disturbed_state_on_the_rod(n):
    """Momentum stays, angular momentum too but for what the shift in place makes, and no constraint is left."""
    rod = random_rod(n, 4)
    bonds, x, v, mass = rod
    rng = np.random.default_rng(5)
    shaken, hurried = x + 1e-9 * rng.normal(size=x.shape), v + 1e-3 * rng.normal(size=v.shape)
    bench = bench_of(rod)
    bench.put_state(shaken, hurried)
    bench.prepare()
    got, rate = bench.position(), bench.velocity()
    np.testing.assert_allclose(twins.lengths(bonds, got), twins.lengths(bonds, x), rtol=1e-14)
    assert np.abs(np.cross(got - got[0], got[-1] - got[0])).max() < 4e-15 * n * n
    np.testing.assert_allclose(constraints(got) @ rate.ravel(), 0, atol=1e-13)
    np.testing.assert_allclose(mass @ got, mass @ shaken, atol=1e-13)
    wanted, found = twins.invariants(shaken, hurried, mass), twins.invariants(got, rate, mass)
    np.testing.assert_allclose(found[1:4], wanted[1:4], atol=1e-12)
    np.testing.assert_allclose(found[4:], wanted[4:], atol=1e-7)


@pytest.mark.parametrize("n", SIZES)
def test_impulse_equals_that_of_the_multipliers(n):
    """The body's closed form is M^-1 (n + G^T mu) with the multipliers of all constraints."""
    rod = random_rod(n, 6)
    for bead in {0, n // 2, n - 1}:
        normal = unit([0.3, -0.8, 0.5])
        bench = bench_of(rod, stale=1)
        change, mobility = bench.kick(bead, normal)
        wanted = dense_kick(rod, bead, normal)
        np.testing.assert_allclose(change, wanted, rtol=0, atol=1e-12)
        assert mobility == pytest.approx(normal @ wanted[bead], rel=1e-12)


def test_a_rod_of_two_is_the_dimer():
    """Forced through the rods' code, a dimer gives the rotor's series and the bond's impulse to round-off."""
    dimer = random_rod(2, 7)
    rod, plain = bench_of(dimer), Bench(dimer)
    for got, wanted in zip(rod.kick(1, unit([1, 2, 3])), plain.kick(1, unit([1, 2, 3])), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-15)
    one, two = rod.expand(0.5, 1e-15), plain.expand(0.5, 1e-15)
    assert len(one[0]) == len(two[0]) and one[1] == two[1]
    for k in range(len(one[0])):
        np.testing.assert_allclose(one[0][k], two[0][k], rtol=0, atol=2e-15)
    np.testing.assert_allclose(one[2], two[2], rtol=1e-14)


@pytest.mark.parametrize("restitution", [1.0, 0.6])
def test_several_contacts_at_once(restitution):
    """Two on one rod, a rod with a chain, a rod with a wall: (N Y) p = -(1 + e) N v with dense Y."""
    rod, other, chain = random_rod(9, 8), random_rod(4, 9), random_chain(5, 3)
    contacts = [((0, 0), (1, 3)), ((0, 8), (2, 1)), ((1, 0), None)]
    normals = []
    for (m, a), second in contacts:
        apart = (rod, other, chain)[m][2][a] - (0.0 if second is None else (rod, other, chain)[second[0]][2][second[1]])
        normals.append(-unit(apart + [0.1, 0.3, -0.2]))
    bench = bench_of(rod, other, chain, rods=(0, 1))
    status, sizes = bench.tied(contacts, normals, restitution=restitution)
    assert status == 0
    x, v, mass = (np.concatenate([m[k] for m in (rod, other, chain)]) for k in (1, 2, 3))
    first = np.cumsum([0, 9, 4])
    g = np.zeros((constraints(rod[1]).shape[0] + constraints(other[1]).shape[0] + 4, x.size))
    g[:22, :27], g[22:29, 27:39] = constraints(rod[1]), constraints(other[1])
    g[29:, 39:] = twins.gradient(chain[0], chain[1])
    rows = np.zeros((3, len(x), 3))
    for row, n, ((m, a), second) in zip(rows, normals, contacts, strict=True):
        row[first[m] + a] += n
        if second is not None:
            row[first[second[0]] + second[1]] -= n
    weight, rows = np.repeat(mass, 3), rows.reshape(3, -1)
    y = (rows - np.linalg.lstsq(g @ (g / weight).T, g @ (rows / weight).T, rcond=None)[0].T @ g) / weight
    p = pushes(rows @ y.T, -(1 + restitution) * rows @ v.ravel())
    np.testing.assert_allclose(sizes, p, rtol=1e-11)
    got = np.concatenate([bench.velocity(k) for k in range(3)])
    np.testing.assert_allclose(got, v + (p @ y).reshape(-1, 3), atol=1e-11)


def gaps(one, two, t):
    """Return distances of all pairs of beads of two rods at a time, less the diameter."""
    x, y = exact(one, t)[0], exact(two, t)[0]
    return np.linalg.norm(x[:, None] - y, axis=2) - 1.0


@pytest.mark.engine
def test_two_rods_collide_as_bodies():
    """Time from bisecting the exact curves; J = -(1+e) v_n m_eff, 1/m_eff = sum 1/M + (s^2/I)(1 - (u.n)^2)."""
    one, two = two_rods()
    low, high = 0.0, 2.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if gaps(one, two, middle).min() < 0.0 else (middle, high)
    a, b = np.unravel_index(np.argmin(gaps(one, two, high)), (3, 3))
    (x, v), (y, w), mass = exact(one, high), exact(two, high), one[3]
    n = unit(x[a] - y[b])
    inverse, turns = 0.0, []
    for state, bead in ((x, a), (y, b)):
        place, axis = state - mass @ state / mass.sum(), unit(state[-1] - state[0])
        s, inertia = (place @ axis)[bead], mass @ np.sum(place**2, axis=1)
        inverse += 1.0 / mass.sum() + s**2 / inertia * (1.0 - (axis @ n) ** 2)
        turns.append(n / mass.sum() + (place @ axis)[:, None] * s / inertia * (n - (axis @ n) * axis))
    impulse = -1.7 * (n @ (v[a] - w[b])) / inverse
    engine = Engine(make_system([one, two], rods=(0, 1), restitution=0.7), log_events=True)
    engine.advance(high + 1e-3)
    (event,) = engine.drain_events()
    assert event["bead"].tolist() == [a, 3 + b]
    assert event["time"] == pytest.approx(high, abs=1e-14)
    assert event["impulse"] == pytest.approx(impulse, rel=1e-12)
    struck = (one[0], x, v + impulse * turns[0], mass), (two[0], y, w - impulse * turns[1], mass)
    wanted = [exact(molecule, 1e-3) for molecule in struck]
    position, velocity, _ = frame_of(engine, high + 1e-3)
    np.testing.assert_allclose(position, np.concatenate([state[0] for state in wanted]), atol=1e-13)
    np.testing.assert_allclose(velocity, np.concatenate([state[1] for state in wanted]), atol=1e-12)
    both = np.concatenate([mass, mass])
    before = twins.invariants(np.concatenate([one[1], two[1]]), np.concatenate([one[2], two[2]]), both)
    after = twins.invariants(position, velocity, both)
    np.testing.assert_allclose(after[1:], before[1:], atol=1e-12)
    assert after[0] - before[0] == pytest.approx(-0.5 * (1 - 0.49) * (impulse / 1.7) ** 2 * inverse, rel=1e-11)


def test_overlapping_beads_of_a_rod_longer_than_its_box_take_no_part_in_a_tie():
    """Two monomers hit a rod at one instant; its own touching beads approach no one, direct images left out."""
    mass = np.ones(5)
    x = np.array([0.0, 0.7, 1.4, 2.1, 2.8])[:, None] * [1.0, 0.0, 0.0] - [1.4, 0.0, 0.0]
    rod = (chain_bonds(5), x, np.zeros((5, 3)), mass)
    bonds = np.empty((0, 2), dtype=np.int64)
    left, right = ((bonds, np.array([[at, 1.5, 0.0]]), np.array([[0.0, -1.0, 0.0]]), np.ones(1)) for at in (-1.4, 1.4))
    system = make_system([rod, left, right], size=(5.0, 6.0, 6.0), boundary=(0, 0, 0), rods=(0,), diameter=1.0)
    engine = Engine(system, log_events=True)
    engine.advance(0.75)
    events = engine.drain_events()
    assert sorted(map(tuple, events["bead"].tolist())) == [(0, 5), (4, 6)] and engine.counters["ties"] == 1
    _, velocity, _ = frame_of(engine, 0.75)
    # together they hit a body of mass 5 with 2: 2 (0 - 1) 2 / 7 each way
    np.testing.assert_allclose(velocity[:5], np.tile([0.0, -4.0 / 7.0, 0.0], (5, 1)), atol=1e-14)
    np.testing.assert_allclose(velocity[5:], np.tile([0.0, 3.0 / 7.0, 0.0], (2, 1)), atol=1e-14)
