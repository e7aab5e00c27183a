"""Rules for contacts at one instant: exact cases, what they keep, and the equations solved with dense matrices."""

import tomllib
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from hpcchain.cli.template import templates
from hpcchain.layout import arrays as L
from hpcchain.model.system import OPEN, PERIODIC, WALL
from hpcchain.sector.serial import Engine
from tests.support import twins
from tests.support.extended import crowd, wall_table, with_extended
from tests.support.gases import monomer, shape
from tests.support.identity import DRAWS, given, in_stages, parallel, require_same, serial
from tests.support.kernel_tools import chain_bonds, make_system


def ruled(system, rule, **more):
    """Return a system with a rule for contacts at one instant."""
    own = {} if rule == "joint" else {"simultaneous": rule}
    return with_extended(system, **own, **more)


def row(velocities, gaps=(), e=1.0):
    """Return a system of beads of diameter 1 on the x axis, which touch but for these gaps."""
    apart = np.ones(len(velocities) - 1)
    apart[: len(gaps)] += gaps
    x = np.concatenate([[0.0], np.cumsum(apart)])
    beads = [monomer([a, 0.0, 0.0], [v, 0.0, 0.0]) for a, v in zip(x, velocities, strict=True)]
    return make_system(beads, restitution=e)


def after(system, time):
    """Return velocities at a time and the engine."""
    engine = Engine(system, log_events=True)
    engine.advance(time)
    return engine.state().velocity[np.argsort(engine.ids)], engine


@pytest.mark.parametrize(
    ("rule", "result"), [("joint", (0, 0, 1)), ("generalised", (0, 0, 1)), ("moreau", (-1 / 3, 2 / 3, 2 / 3))]
)
def test_one_ball_on_two_that_touch(rule, result):
    velocity, _ = after(ruled(row([1.0, 0.0, 0.0], [0.5]), rule), 1.0)
    np.testing.assert_allclose(velocity[:, 0], result, atol=1e-15)
    assert not velocity[:, 1:].any()


def test_a_row_that_touches_is_taken_whole():
    """Moreau's law sends back 2 / n of the speed of one ball of n, by what all others answer with."""
    for n in (4, 7, 12):
        velocity, engine = after(ruled(row([1.0] + (n - 1) * [0.0], [0.25]), "moreau"), 1.0)
        matrix = 2.0 * np.eye(n - 1) - np.eye(n - 1, k=1) - np.eye(n - 1, k=-1)
        p = np.linalg.solve(matrix, 2.0 * np.eye(n - 1)[0])
        np.testing.assert_allclose(velocity[:, 0], np.eye(n)[0] - np.append(p, 0.0) + np.append(0.0, p), atol=1e-14)
        np.testing.assert_allclose(engine.drain_events()["impulse"], p, rtol=1e-13)


def test_what_does_not_touch_takes_no_part():
    """A gap of a millionth is one; one of round-off is none."""
    for gap, result in ((1e-6, (0, 0, 1)), (1e-13, (-1 / 3, 2 / 3, 2 / 3))):
        velocity, _ = after(ruled(row([1.0, 0.0, 0.0], [0.5, gap]), "moreau"), 1.0)
        np.testing.assert_allclose(velocity[:, 0], result, atol=1e-12)


def test_generalised_takes_all_that_hang_together():
    """Four balls close up at one instant: the two events' molecules of joint know only their neighbours."""
    speeds = np.array([3.0, 1.0, 0.0, -4.0])
    gaps = 0.5 * -np.diff(speeds)
    rates = np.diff(speeds)
    matrix = 2.0 * np.eye(3) - np.eye(3, k=1) - np.eye(3, k=-1)
    velocity, engine = after(ruled(row(speeds, gaps), "generalised"), 0.75)
    p = complementary(matrix, -2.0 * rates)
    log = engine.drain_events()
    np.testing.assert_allclose(log["impulse"], p, rtol=1e-13)
    np.testing.assert_allclose(velocity[:, 0], speeds - np.append(p, 0.0) + np.append(0.0, p), atol=1e-14)


def complementary(matrix, right):
    """Return p >= 0 with A p - b >= 0 and p (A p - b) = 0, by a look at all sets of those that push."""
    n = len(right)
    for pushing in product([True, False], repeat=n):
        push = np.flatnonzero(pushing)
        p = np.zeros(n)
        p[push] = np.linalg.solve(matrix[np.ix_(push, push)], right[push])
        if p.min(initial=0.0) >= -1e-13 and np.all(matrix @ p - right >= -1e-12):
            return p
    raise AssertionError("no solution")


def cluster(seed, e=1.0):
    """Return a system of two molecules and a bead at rest that touch in a row, which a bead is about to hit."""
    rng = np.random.default_rng(seed)
    names = [str(name) for name in rng.choice(["dimer", "chain3", "chain5", "ring", "monomer"], 2)]
    molecules = []
    for number, name in enumerate(names):
        bonds, x = shape(name)
        x = x @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
        if number:
            touched, way = last(molecules[-1][1])
            left = np.argmin(x @ way)
            x = x - x[left] + touched + 0.8 * way
        molecules.append((bonds, x, 0 * x, rng.uniform(0.5, 2.0, len(x))))
    touched, way = last(molecules[-1][1])
    molecules.append(monomer(touched + 0.8 * way, [0.0, 0.0, 0.0], 1.3))
    first, way = last(-molecules[0][1])
    molecules.append(monomer(-first - 1.3 * way, 2.0 * way + [0.1, 0.2, -0.1], 0.7))
    return make_system(molecules, diameter=0.8, restitution=e)


def last(x):
    """Return the place of the bead with the largest x, and the direction of x."""
    return x[np.argmax(x[:, 0])], np.array([1.0, 0.0, 0.0])


def dense(system, x, v, e):
    """Return velocities after all contacts that are closed and do not part, by dense matrices."""
    top = system.topology.whole()
    mass = np.repeat(top.mass, 3)
    g = twins.gradient(top.bonds, x)
    free = np.diag(1.0 / mass)
    held = free - free @ g.T @ np.linalg.pinv(g @ free @ g.T) @ g @ free if len(top.bonds) else free
    rows = []
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            apart = x[i] - x[j]
            r = np.linalg.norm(apart)
            bonded = np.any(np.all(np.sort(top.bonds, axis=1) == [i, j], axis=1))
            if not bonded and r < 0.8 * (1 + 1e-9):
                one = np.zeros(x.size)
                one[3 * i : 3 * i + 3], one[3 * j : 3 * j + 3] = apart / r, -apart / r
                if one @ v.ravel() < 1e-9:
                    rows.append(one)
    n = np.array(rows)
    p = complementary(n @ held @ n.T, -(1.0 + e) * np.minimum(n @ v.ravel(), 0.0))
    return (v.ravel() + held @ n.T @ p).reshape(-1, 3), len(rows)


@pytest.mark.parametrize("e", [1.0, 0.5, 0.0])
def test_moreau_is_the_dense_equation(e):
    """One bead hits molecules at rest that touch in a row: velocities after it, and the energy."""
    most = 0
    for seed in range(12):
        system = ruled(cluster(seed, e), "moreau")
        engine = Engine(system, log_events=True)
        engine.advance(1.0)
        when = float(engine.drain_events()["time"][0])
        velocity, _ = after(system, when)
        start, mass = system.state.velocity, system.topology.whole().mass[:, None]
        expected, contacts = dense(system, system.state.position + when * start, start, e)
        most = max(most, contacts)
        np.testing.assert_allclose(velocity, expected, atol=1e-9)
        before, energy = np.sum(mass * start**2), np.sum(mass * velocity**2)
        assert energy <= before * (1.0 + 1e-13)
        assert e < 1.0 or energy == pytest.approx(before, rel=1e-13)
    assert most >= 3


@pytest.mark.parametrize("rule", ["generalised", "moreau"])
@pytest.mark.parametrize("seed", range(DRAWS // 2))
def test_ranks_windows_and_stops_leave_no_trace(rule, seed):
    rng = np.random.default_rng(seed)
    boundary = rng.choice([0, 1], size=3)
    system = ruled(crowd(seed, boundary, float(rng.choice([1.0, 0.7]))), rule)
    one = serial(system, 3.0)
    assert len(one.events) > 40
    for ranks, window in ((2, None), (3, 0.05), (5, 0.7)):
        require_same(one, parallel(system, 3.0, ranks, window=window), f"{rule}, seed {seed} on {ranks} ranks")
    stages = [(0.3, 1, {}), (0.31, 3, {}), (1.1, 0, {}), (3.0, 2, {})]
    require_same(one, in_stages(system, stages), f"{rule}, seed {seed} in stages")


def test_many_at_one_instant_keep_their_energy():
    system = ruled(crowd(7, (1, 1, 1)), "moreau")
    engine = Engine(system, log_events=True)
    mass = system.topology.whole().mass
    before = np.sum(mass[:, None] * system.state.velocity**2)
    engine.advance(3.0)
    velocity = engine.state().velocity[np.argsort(engine.ids)]
    assert engine.counters["ties"] > 10
    assert np.sum(mass[:, None] * velocity**2) == pytest.approx(before, rel=1e-12)


def test_each_contact_has_its_own_coefficient():
    """A ball between two that hit it at one instant: one contact keeps its energy, the other loses it."""
    beads = [monomer([x, 0.0, 0.0], [v, 0.0, 0.0]) for x, v in ((0.0, 1.0), (1.5, 0.0), (3.0, -1.0))]
    system = make_system(beads)
    pair = {"types": ["kind1", "kind2"], "restitution": 0.5, "tangential_restitution": None, "contact_time": None}
    system = ruled(system, "joint", pairs=[pair])
    velocity, engine = after(system, 0.75)
    matrix, rates = np.array([[2.0, -1.0], [-1.0, 2.0]]), np.array([-1.0, -1.0])
    p = np.linalg.solve(matrix, -(1.0 + np.array([1.0, 0.5])) * rates)
    np.testing.assert_allclose(engine.drain_events()["impulse"], p, rtol=1e-14)
    np.testing.assert_allclose(velocity[:, 0], [1.0 - p[0], p[0] - p[1], p[1] - 1.0], atol=1e-15)
    lost = 0.5 * np.sum(p * (1.0 - np.array([1.0, 0.5])) * rates)
    assert 0.5 * np.sum(velocity**2) - 1.0 == pytest.approx(lost, rel=1e-13)


def test_walls_have_their_own_in_corners():
    """A bead that comes into a corner at one instant: each side has its own coefficient."""
    side = {"shape": None, "center": None, "radius": None, "axis": None, "velocity": 0.0, "temperature": 0.0}
    walls = [side | {"side": name, "restitution": e} for name, e in (("x+", 0.25), ("y+", 0.5))]
    bead = monomer([0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    system = ruled(make_system([bead], (4.0,) * 3, (1, 1, 1)), "joint", walls=walls)
    velocity, _ = after(system, 2.0)
    np.testing.assert_allclose(velocity[0], [-0.25, -0.5, -1.0], atol=1e-15)


@pytest.mark.parametrize("gravity", [[0.0, 0.0, 0.0], [0.0, 0.0, -0.5]], ids=["straight", "falling"])
def test_single_beads_touch_across_an_end_of_a_segment(gravity):
    """A bead hits two, one just before its segment ends and the other just after: they are at one instant."""

    def system(first, second):
        beads = [monomer([1.0, 5.0, 5.0], [1.0, 0.0, 0.0]), *(monomer(x, np.zeros(3)) for x in (first, second))]
        found = make_system(beads, (10.0,) * 3, (PERIODIC,) * 3, (0.0,) * 3)
        return with_extended(found, gravity=gravity) if any(gravity) else found

    engine = Engine(system([8.0, 8.0, 8.0], [8.0, 2.0, 2.0]))
    end = float(engine.sector.timing[engine.sector.segment[engine.ids.tolist().index(0), L.MOLECULE], L.LENGTH])
    assert 1.0 < end < 3.0
    for apart, ties in ((2e-11, 1), (1e-3, 0)):
        velocity, engine = after(system([1.8 + end - apart, 5.6, 5.0], [1.8 + end + apart, 4.4, 5.0]), end + 0.1)
        assert engine.counters["contacts"] == 2 and engine.counters["ties"] == ties
        assert (abs(velocity[0, 1]) < 1e-10) == bool(ties)


@pytest.mark.parametrize("propagator", ["collocation", "rattle"])
def test_what_a_series_has_wrong_breaks_no_symmetry(propagator):
    """A bead between two mirrored molecules, whose series are coarser than what touches at one instant."""
    x = np.array([[1.65, 0.0, 0.0], [2.45, 0.6, 0.0], [3.41, 0.32, 0.0]])
    v = np.array([[-1.0, 0.0, 0.0], [-1.2, 0.5, 0.0], [-0.8, -0.7, 0.3]])
    bonds, mirror = chain_bonds(3), np.array([-1.0, 1.0, 1.0])
    v = twins.project(bonds, x, v, np.ones(3))
    pair = [(bonds, x * side, v * side, np.ones(3)) for side in (np.ones(3), mirror)]
    middle = monomer(np.zeros(3), np.zeros(3))
    system = make_system([middle, *pair], (30.0,) * 3, (PERIODIC,) * 3, propagator=propagator, step=0.3, stages=2)
    velocity, engine = after(system, 1.0)
    assert engine.counters["ties"] == 1 and engine.sector.series_error.max() > 1e-6
    assert abs(velocity[0, 0]) < 1e-12 < np.abs(velocity[0]).max()


@pytest.mark.parametrize("rule", ["joint", "generalised", "moreau"])
def test_beads_with_a_limited_distance_touch_as_others_do(rule):
    """A V whose ends land on a wall and meet, all at one instant: limits that are far off change nothing."""
    x = [3.0, 3.0, 0.5] + np.array([[-0.5, 0.0, 0.0], [0.0, 0.0, np.sqrt(0.75)], [0.5, 0.0, 0.0]])
    v = np.array([[0.7, 0.0, -1.0], [0.0, 0.0, -0.3], [-0.7, 0.0, -1.0]])
    v = twins.project(chain_bonds(3), x, v, np.ones(3))
    system = make_system([(chain_bonds(3), x, v, np.ones(3))], (6.0,) * 3, (OPEN, OPEN, WALL), (0.0,) * 3)
    limited = ruled(system, rule, distance_limits=[[[2, 0.5, 1.9]]])
    (velocity, free), (found, engine) = after(ruled(system, rule), 0.1), after(limited, 0.1)
    np.testing.assert_array_equal(engine.drain_events()["bead"], [[0, -3], [0, 2], [2, -3]])
    assert engine.counters["ties"] == free.counters["ties"] == 1
    np.testing.assert_allclose(found, velocity, atol=1e-14)


def test_a_row_that_touches_in_its_wells():
    """One ball on two that touch, the first in the well of the second: the law is that of hard beads. Then they part.

    The first two leave their well, of a depth of 0.1, in their own time.
    """
    system = row([1.0, 0.0, 0.0], [0.5])
    well = {"types": list(system.topology.type_names[:2]), "distances": [1.8], "energies": [-0.1]}
    system = ruled(system, "moreau", potentials=[well])
    velocity, engine = after(system, 0.75)
    np.testing.assert_allclose(velocity[:, 0], [-1 / 3, 2 / 3, 2 / 3], atol=1e-14)
    velocity, _ = after(system, 1.5)
    rate = np.sqrt(1.0 - 4.0 * 0.1)
    np.testing.assert_allclose(velocity[:, 0], [(1 / 3 - rate) / 2, (1 / 3 + rate) / 2, 2 / 3], atol=1e-14)
    assert engine.drain_events()["kind"].tolist() == [0, 0]


@pytest.mark.parametrize("rule", ["generalised", "moreau"])
def test_a_thermal_wall_has_its_own_contacts(rule):
    """A row that touches a thermal wall is hit: the wall draws what comes to it, and the others' contacts go on."""
    system = row([1.0, 0.0, 0.0, 0.0], [0.5])
    box = replace(
        system.box, boundary=np.array([1, 0, 0], dtype=np.int8), size=np.full(3, 8.0), origin=np.full(3, -4.0)
    )
    system = replace(system, box=box)
    wall = wall_table(side="x+", temperature=2.0)
    system = ruled(system, rule, walls=[wall], seed=5)
    velocity, engine = after(system, 0.75)
    log = engine.drain_events()
    struck = log["bead"][:, 1] < 0
    assert np.count_nonzero(struck) >= 1 and np.all(log["impulse"] > 0.0)
    assert velocity[-1, 0] < 0.0
    assert np.all(np.diff(velocity[:, 0]) >= -1e-12)  # they part, or rest on one another
    gained = 0.5 * np.sum(velocity**2) - 0.5
    assert gained == pytest.approx(engine.sums[L.SUM_HEAT] * engine.energy_quantum, abs=1e-12)
    assert velocity[:, 0].sum() - 1.0 == pytest.approx(-log["impulse"][struck].sum(), abs=1e-12)


def test_the_template_agrees_on_any_ranks():
    """The template's row of balls: six in a row, of which the first has the speed."""
    tables = tomllib.loads(templates()["cradle"])
    system, end = given(tables), tables["run"]["end_time"]
    one = serial(system, end)
    require_same(one, parallel(system, end, 3), "three ranks")
    velocity = one.frame[1][:, 0]
    push = np.linalg.solve(2.0 * np.eye(5) - np.eye(5, k=1) - np.eye(5, k=-1), 2.0 * np.eye(5)[0])
    np.testing.assert_allclose(velocity, np.eye(6)[0] - np.append(push, 0.0) + np.append(0.0, push), atol=1e-14)
