"""Rough beads in contacts at one instant: the law solved with dense matrices, exact cases, what it keeps, ranks."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.sector.serial import Engine
from tests.physics.test_at_one_instant import cluster, complementary, ruled
from tests.support import twins
from tests.support.extended import crowd, rough
from tests.support.gases import monomer
from tests.support.identity import DRAWS, in_stages, parallel, require_same, serial
from tests.support.kernel_tools import make_system


def spun(system, seed):
    """Return random spins."""
    return np.random.default_rng([3, seed]).normal(size=(system.topology.beads, 3))


def after(system, time):
    """Return velocities and spins at a time, and the engine."""
    engine = Engine(system, log_events=True)
    engine.advance(time)
    order = np.argsort(engine.ids)
    state = engine.state()
    return state.velocity[order], state.extra[order, L.SPIN : L.SPIN + 3], engine


def energy(system, v, w):
    """Return the energy of velocities and spins."""
    top = system.topology.whole()
    return 0.5 * np.sum(top.mass[:, None] * v**2) + 0.5 * np.sum(top.moment[:, None] * w**2)


def momenta(system, x, v, w):
    """Return momentum and angular momentum."""
    m, moment = system.topology.whole().mass[:, None], system.topology.whole().moment[:, None]
    return np.concatenate([np.sum(m * v, axis=0), np.sum(m * np.cross(x, v) + moment * w, axis=0)])


class Dense:
    """Rows of all contacts that touch and do not part, over the velocities and spins of all beads at once."""

    def __init__(self, system, x, v, w):
        self.system, self.x, self.both = system, x, np.concatenate([v.ravel(), w.ravel()])
        top = system.topology.whole()
        g = twins.gradient(top.bonds, x)
        free = np.diag(1.0 / np.repeat(top.mass, 3))
        held = free - free @ g.T @ np.linalg.pinv(g @ free @ g.T) @ g @ free if len(top.bonds) else free
        spins = np.diag(1.0 / np.repeat(top.moment, 3))
        none = np.zeros_like(held)
        self.inverse = np.block([[held, none], [none, spins]])
        self.pairs, self.normal, self.slip = [], [], []
        for i in range(len(x)):
            for j in range(i + 1, len(x)):
                bonded = np.any(np.all(np.sort(top.bonds, axis=1) == [i, j], axis=1))
                if not bonded and np.linalg.norm(x[i] - x[j]) < 0.8 * (1 + 1e-9):
                    self._add(i, j)

    def _add(self, i, j):
        """Add the rows of beads i and j, unless they part."""
        n = (self.x[i] - self.x[j]) / np.linalg.norm(self.x[i] - self.x[j])
        across = np.linalg.svd(n[None])[2][1:]
        rows = np.zeros((3, len(self.both)))
        half = len(self.both) // 2
        for row, u in zip(rows, (n, *across), strict=True):
            row[3 * i : 3 * i + 3], row[3 * j : 3 * j + 3] = u, -u
            # u . (w x n) = w . (n x u)
            row[half + 3 * i : half + 3 * i + 3] = row[half + 3 * j : half + 3 * j + 3] = -0.4 * np.cross(n, u)
        if rows[0] @ self.both < 1e-9:
            self.pairs.append((i, j))
            self.normal.append(rows[0])
            self.slip.append(rows[1:])

    def solve(self, e, coefficient):
        """Return velocities and spins after the contacts; `coefficient` takes two beads."""
        n = np.array(self.normal)
        p = complementary(n @ self.inverse @ n.T, -(1.0 + e) * np.minimum(n @ self.both, 0.0))
        one = self.both + self.inverse @ n.T @ p
        pushing = np.flatnonzero(p > 1e-12)
        self.smooth = np.zeros(len(p), dtype=bool)
        while True:
            more, tangential = self._rub(n[pushing], one, pushing, coefficient)
            pulls = pushing[np.abs(more) >= p[pushing]]
            if not len(pulls):
                break
            already = self.smooth.copy()
            for k in pulls:
                self.smooth |= [self._share(k, other) for other in range(len(p))]
            self.smooth |= np.array_equal(already, self.smooth)
        self.push = p
        self.push[pushing] += more
        both = one + tangential
        return both[: len(both) // 2].reshape(-1, 3), both[len(both) // 2 :].reshape(-1, 3)

    def _share(self, k, other):
        """Whether two contacts are of the same molecule."""
        sides = [np.searchsorted(self.system.topology.whole().first_bead, self.pairs[c], "right") for c in (k, other)]
        return bool(np.isin(*sides).any())

    def _rub(self, n, one, pushing, coefficient):
        """Return what friction adds to the normal impulses of contacts that push, and to all velocities."""
        ets = [1.0 if self.smooth[k] else coefficient(*self.pairs[k]) for k in pushing]
        t = [self.slip[k] for k, et in zip(pushing, ets, strict=True) if et != 1.0]
        alone = [n[k : k + 1] for k, et in enumerate(ets) if et != 1.0]
        self.lost = 0.0
        if not t:
            return np.zeros(len(pushing)), 0.0 * one
        rows, d = np.concatenate(t), np.zeros((2 * len(t), 2 * len(t)))
        pinned = np.linalg.pinv(n @ self.inverse @ n.T) @ n @ self.inverse
        keep = self.inverse - self.inverse @ n.T @ pinned
        slips = rows @ (one - self.inverse @ n.T @ np.linalg.pinv(n @ self.inverse @ n.T) @ n @ one)
        for k, et in enumerate(et for et in ets if et != 1.0):
            own = t[k] @ self.inverse @ t[k].T
            mixed = t[k] @ self.inverse @ alone[k].T
            own -= mixed @ mixed.T / (alone[k] @ self.inverse @ alone[k].T)
            d[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = (1.0 + et) / (1.0 - et) * own
        impulse = np.linalg.pinv(rows @ keep @ rows.T + d, rcond=1e-10) @ (-2.0 * slips)
        self.lost = 0.5 * impulse @ d @ impulse
        return -pinned @ rows.T @ impulse, keep @ rows.T @ impulse


@pytest.mark.parametrize(("e", "e_t"), [(1.0, -1.0), (0.5, 0.3), (0.0, -0.4), (1.0, 0.999)])
def test_the_law_is_the_dense_equation(e, e_t):
    """A bead hits molecules at rest, but for their spins, that touch in a row; those that spin fast would pull."""
    most, smoothed = 0, 0
    for seed in range(14):
        smooth = cluster(seed, e)
        spins = spun(smooth, seed) * (1.0 if seed < 10 else 10.0)
        system = ruled(rough(smooth, spins, e_t), "moreau")
        engine = Engine(system, log_events=True)
        engine.advance(1.0)
        when = float(engine.drain_events()["time"][0])
        v, w, engine = after(system, when)
        start = system.state.velocity
        x = system.state.position + when * start
        dense = Dense(system, x, start, spins)
        velocity, spin = dense.solve(e, lambda i, j: e_t)
        most, smoothed = max(most, len(dense.pairs)), smoothed + np.count_nonzero(dense.smooth)
        logged = np.sort(engine.drain_events()["impulse"])
        assert np.all(logged > 0.0)
        np.testing.assert_allclose(logged, np.sort(dense.push[dense.push > 1e-12]), atol=1e-9)
        np.testing.assert_allclose(v, velocity, atol=1e-9)
        np.testing.assert_allclose(w, spin, atol=1e-8)
        np.testing.assert_allclose(momenta(system, x, v, w), momenta(system, x, start, spins), atol=1e-9)
        before, found = energy(system, start, spins), energy(system, v, w)
        assert found <= before * (1.0 + 1e-13)
        assert e < 1.0 or e_t > -1.0 or found == pytest.approx(before, rel=1e-12)
    assert most >= 3
    assert smoothed > 0  # some would pull


def test_contacts_have_their_own_coefficients():
    """A ball between two that hit it at one instant: perfectly rough against one, smooth or nearly so on the other."""
    velocities = np.array([[1.0, 0.3, 0.0], [0.0, 0.0, 0.4], [-1.0, -0.2, 0.1]])
    places = np.array([[0.0, 0.0, 0.0], [0.8, 0.0, 0.0], [1.3, 0.39**0.5, 0.0]]) - 0.5 * velocities
    beads = [monomer(x, v, m) for x, v, m in zip(places, velocities, (1.0, 0.7, 1.6), strict=True)]
    smooth = make_system(beads, diameter=0.8)
    spins = spun(smooth, 1)
    for e_t, second in ((0.5, 1.0), (-1.0, 0.9), (-1.0, -1.0), (0.2, -1.0)):
        pair = {"types": ["kind1", "kind2"], "restitution": None, "tangential_restitution": second}
        system = ruled(rough(smooth, spins, e_t), "joint", pairs=[pair | {"contact_time": None}])
        v, w, engine = after(system, 0.5 + 1e-9)
        assert engine.counters["contacts"] == 2 and engine.counters["ties"] == 1
        when = float(engine.drain_events()["time"][0])
        x = system.state.position + when * system.state.velocity
        dense = Dense(system, x, system.state.velocity, spins)
        velocity, spin = dense.solve(1.0, lambda i, j, e_t=e_t, second=second: e_t if i == 0 else second)
        np.testing.assert_allclose(v, velocity, atol=1e-9)
        np.testing.assert_allclose(w, spin, atol=1e-8)
        lost = energy(system, system.state.velocity, spins) - energy(system, v, w)
        assert lost == pytest.approx(dense.lost, abs=1e-10)


@pytest.mark.parametrize("rule", ["joint", "generalised", "moreau"])
def test_mirror_images_are_mirrored(rule):
    """A ball between two that come from both sides, slipping alike: it neither moves nor spins."""
    beads = [monomer([x, 0.0, 0.0], [v, u, 0.0]) for x, v, u in ((0.0, 1.0, 0.5), (1.5, 0.0, 0.0), (3.0, -1.0, 0.5))]
    spins = np.array([[0.0, 0.0, 0.7], [0.0] * 3, [0.0, 0.0, -0.7]])
    system = ruled(rough(make_system(beads), spins, 0.25), rule)
    v, w, _ = after(system, 0.75)
    np.testing.assert_allclose(v[0] * [-1.0, 1.0, 1.0], v[2], atol=1e-14)
    np.testing.assert_allclose(w[0], -w[2], atol=1e-13)
    np.testing.assert_allclose(w[1], 0.0, atol=1e-13)
    assert abs(v[1, 1]) > 0.05


def test_a_ball_that_spins_comes_into_a_corner():
    """Two walls at once, both rough: what rolls along the corner's edge does not slip, and is as if all were smooth."""
    smooth = make_system([monomer([0.0, 0.0, 0.0], [1.0, 1.0, 0.3])], (4.0,) * 3, (1, 1, 1))
    radius = 0.5
    rolling = [[0.3 / radius, -0.3 / radius, 0.0]]
    surface = np.array([0.0, 0.0, 0.3])
    for n in (np.array([-1.0, 0.0, 0.0]), np.array([0.0, -1.0, 0.0])):
        slip = surface - radius * np.cross(rolling[0], n)
        rolling_ok = abs(slip[2]) < 1e-15
        if not rolling_ok:
            rolling = [[-rolling[0][0], -rolling[0][1], 0.0]]
    system = ruled(rough(smooth, rolling, -1.0), "joint")
    v, w, engine = after(system, 1.6)
    assert engine.counters["wall_contacts"] == 2
    np.testing.assert_allclose(v[0], [-1.0, -1.0, 0.3], atol=1e-14)
    np.testing.assert_allclose(w, rolling, atol=1e-13)


@pytest.mark.parametrize("spin", [4.9, -4.9, 5.1, -5.1, 40.0, -40.0])
@pytest.mark.parametrize("turned", [False, True])
def test_a_ball_in_a_corner_is_not_pulled(spin, turned):
    """Friction at one wall acts along the other's normal: beyond a spin of 5 it would have to pull, and there is none.

    At e_t = -1 it turns the spin round, by an impulse 0.4 times the spin, where the smooth ones are 2.
    """
    smooth = make_system([monomer([0.0, 0.0, 0.0], [1.0, -1.0 if turned else 1.0, 0.0])], (4.0,) * 3, (1, 1, 1))
    v, w, engine = after(ruled(rough(smooth, [[0.0, 0.0, spin]], -1.0), "joint"), 1.5 + 1e-9)
    log = engine.drain_events()
    assert len(log) == 2 and np.all(log["impulse"] > 0.0)
    np.testing.assert_allclose(v, [[-1.0, 1.0 if turned else -1.0, 0.0]], atol=1e-14)
    np.testing.assert_allclose(w, [[0.0, 0.0, -spin if abs(spin) < 5.0 else spin]], atol=1e-13)


def test_perfectly_rough_contacts_can_be_gone_back():
    """Velocities and spins turned round take four balls that met at one instant back to where they were."""
    speeds, gaps = [3.0, 1.0, 0.0, -4.0], [1.0, 0.5, 2.0]
    x = np.concatenate([[0.0], np.cumsum(np.array(gaps) + 1.0)])
    start = [monomer([a, 0.0, 0.0], [u, 0.0, 0.0]) for a, u in zip(x, speeds, strict=True)]
    smooth = make_system(start)
    spins = spun(smooth, 5)
    v, w, engine = after(ruled(rough(smooth, spins, -1.0), "generalised"), 0.75)
    assert engine.counters["ties"] >= 1
    place = engine.frame(0.75)[0][np.argsort(engine.ids)]
    back = replace(smooth, state=smooth.state.at_time_zero(place, -v))
    u, spin, _ = after(ruled(rough(back, -w, -1.0), "generalised"), 0.75)
    np.testing.assert_allclose(u, -smooth.state.velocity, atol=1e-12)
    np.testing.assert_allclose(spin, -spins, atol=1e-11)


@pytest.mark.parametrize("rule", ["joint", "generalised", "moreau"])
@pytest.mark.parametrize("seed", range(DRAWS // 2))
def test_ranks_windows_and_stops_leave_no_trace(rule, seed):
    rng = np.random.default_rng(seed)
    smooth = crowd(seed, rng.choice([0, 1], size=3), float(rng.choice([1.0, 0.7])))
    system = ruled(rough(smooth, spun(smooth, seed), float(rng.choice([-1.0, 0.3]))), rule)
    one = serial(system, 3.0)
    assert len(one.events) > 40 and np.any(one.events["tangential"])
    for ranks, window in ((2, None), (3, 0.05), (5, 0.7)):
        require_same(one, parallel(system, 3.0, ranks, window=window), f"{rule}, seed {seed} on {ranks} ranks")
    stages = [(0.3, 1, {}), (0.31, 3, {}), (1.1, 0, {}), (3.0, 2, {})]
    require_same(one, in_stages(system, stages), f"{rule}, seed {seed} in stages")


@pytest.mark.parametrize(("e", "e_t"), [(1.0, -1.0), (0.9, 0.4)])
def test_many_at_one_instant_never_win_energy(e, e_t):
    smooth = crowd(7, (1, 1, 1), e)
    system = ruled(rough(smooth, spun(smooth, 7), e_t), "moreau")
    before = energy(system, smooth.state.velocity, spun(smooth, 7))
    last = before
    engine = Engine(system)
    for time in np.linspace(0.1, 3.0, 30):
        engine.advance(float(time))
        order = np.argsort(engine.ids)
        state = engine.state()
        now = energy(system, state.velocity[order], state.extra[order, L.SPIN : L.SPIN + 3])
        assert now <= last * (1.0 + 1e-12)
        last = now
    assert engine.counters["ties"] > 5
    assert e < 1.0 or last == pytest.approx(before, rel=1e-11)
