"""Contact dynamics: solutions against a quadratic programme, cones, energy, momentum, exact cases, bits on ranks."""

from dataclasses import replace
from itertools import product

import h5py
import numpy as np
import pytest

from hpcchain.api import resume, run
from hpcchain.errors import ConfigError, StepError
from hpcchain.io.tools.compare import compare
from hpcchain.layout import arrays as L
from hpcchain.parallel.comm import Single
from hpcchain.steps.engine import SteppedEngine
from hpcchain.steps.failures import raise_unsolved
from hpcchain.steps.friction import cluster_solver
from hpcchain.steps.friction.cone_newton import cone_newton, proximal_points
from tests.support.heaps import G, heap, on_floor, require_no_trace
from tests.support.stepped import config_of, dealt, system_of, toml

SOLVERS = ("newton", "gauss-seidel")
DOWN = np.array([0.0, 0.0, -G])


def watched(system):
    """Return an engine, and the list to which it adds the Outcome of each pool of each round."""
    engine, seen = SteppedEngine(system), []
    solve = engine.contacts.outcome

    def outcome(pool, pairs):
        seen.append(solve(pool, pairs))
        return seen[-1]

    engine.contacts.outcome = outcome
    return engine, seen


def spins(engine):
    return engine.beads.own.extra[:, L.SPIN : L.SPIN + 3]


def energy(engine, system):
    """Return kinetic, turning and potential energy."""
    mass, moment = system.topology.whole().mass, system.topology.whole().moment
    moving = mass @ np.sum(engine.beads.own.velocity**2, axis=1) + moment @ np.sum(spins(engine) ** 2, axis=1)
    return 0.5 * moving + engine.energies()[:, 0].sum()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_stack_of_six_carries_six_to_one_weights(solver):
    stack = on_floor([[20.0, 20.0, 0.5 + k] for k in range(6)], solver=solver, contact={"friction": 0.3})
    engine, seen = watched(system_of(stack))
    engine.advance(0.5)
    last = seen[-1]
    carried = np.linalg.norm(last.impulse, axis=1) / (G * 0.01)
    assert last.geometry.pairs.tolist() == [[0, -3], [0, 1], [1, 2], [2, 3], [3, 4], [4, 5]]
    assert np.abs(carried - [6, 5, 4, 3, 2, 1]).max() < 1e-11
    assert np.abs(engine.beads.position - np.array(stack["molecule"][0]["positions"])).max() < 1e-12


def test_sliding_becomes_rolling_at_five_sevenths_of_the_speed():
    ball = on_floor([[20.0, 20.0, 0.5]], [[1.0, 0.0, 0.0]], contact={"friction": 0.2})
    engine = SteppedEngine(system_of(ball))
    engine.advance(0.1)
    assert engine.beads.own.velocity[0, 0] == pytest.approx(1.0 - 0.2 * G * 0.1, abs=1e-13)
    assert spins(engine)[0, 1] == pytest.approx(2.5 * 0.2 * G * 0.1 / 0.5, abs=1e-12)
    engine.advance(1.0)
    assert engine.beads.own.velocity[0] == pytest.approx([5.0 / 7.0, 0.0, 0.0], abs=1e-12)
    assert spins(engine)[0] == pytest.approx([0.0, 10.0 / 7.0, 0.0], abs=1e-12)


def test_a_belt_makes_a_ball_roll_at_two_sevenths_of_its_speed():
    """That is, in the belt's frame, what becomes of a ball that slides; its momentum times the belt's speed is work."""
    belt = [{"side": "z-", "velocity": [1.0, 0.0, 0.0]}]
    ball = on_floor([[20.0, 20.0, 0.5]], [[0.0, 0.0, 0.0]], contact={"friction": 0.2}) | {"wall": belt}
    engine = SteppedEngine(system_of(ball))
    engine.advance(1.0)
    assert engine.beads.own.velocity[0] == pytest.approx([2.0 / 7.0, 0.0, 0.0], abs=1e-12)
    assert spins(engine)[0] == pytest.approx([0.0, -10.0 / 7.0, 0.0], abs=1e-12)
    assert engine.sums[L.SUM_WORK] * engine.energy_quantum == pytest.approx(2.0 / 7.0, abs=1e-9)


def test_the_log_has_what_friction_does():
    """A ball that slides on a floor, and two that rub in flight: impulses along and across add up to the momentum."""
    ball = on_floor([[20.0, 20.0, 0.5]], [[1.0, 0.0, 0.0]], contact={"friction": 0.2})
    engine = SteppedEngine(system_of(ball), log_events=True)
    engine.advance(0.1)
    logged = engine.drain_events()
    assert np.abs(logged["tangential"].sum(axis=0) - [-0.2 * G * 0.1, 0.0, 0.0]).max() < 1e-12
    two = on_floor(
        [[20.0, 20.0, 20.0], [21.0, 20.0, 20.0]],
        [[1.0, 0.5, 0.0], [0.0, 0.0, 0.0]],
        gravity=(0, 0, 0),
        contact={"friction": 0.3},
    )
    engine = SteppedEngine(system_of(two), log_events=True)
    before = engine.beads.own.velocity.copy()
    engine.advance(0.1)
    (row,) = engine.drain_events()
    change = engine.beads.own.velocity[0] - before[0]
    assert change[1] == pytest.approx(-1.0 / 14.0, abs=1e-12)  # they stick: 2/7 of what each had of the slip
    assert np.abs(change + row["impulse"] * np.array([1.0, 0.0, 0.0]) - row["tangential"]).max() < 1e-12


@pytest.mark.parametrize(
    "angle, moment, least", [(20.0, 1e9, 1.0), (35.0, 1e9, 1.0), (50.0, 0.1, 3.5), (65.0, 0.1, 3.5)]
)
def test_an_incline_on_both_sides_of_the_friction_angle(angle, moment, least):
    """A body that hardly turns stays while tan < mu, a ball rolls while tan < 7/2 mu; beyond they slide."""
    mu, radians = 0.5, np.deg2rad(angle)
    tilted = G * np.array([np.sin(radians), 0.0, -np.cos(radians)])
    body = on_floor([[10.0, 20.0, 0.5]], gravity=tilted, contact={"friction": mu}, moment=moment)
    engine = SteppedEngine(system_of(body))
    engine.advance(0.5)
    rolls = G * np.sin(radians) / (1.0 + 0.25 / moment)
    wanted = 0.0 if moment > 1.0 else 5.0 / 7.0 * G * np.sin(radians)
    if np.tan(radians) > least * mu:
        wanted = G * (np.sin(radians) - mu * np.cos(radians))
    assert engine.beads.own.velocity[0, 0] == pytest.approx(0.5 * wanted, abs=1e-7 if moment > 1.0 else 1e-12)
    assert engine.beads.own.velocity[0, 0] <= 0.5 * rolls + G or moment < 1.0
    assert engine.beads.position[0, 2] == pytest.approx(0.5, abs=1e-12)


def on_line(x, v, push=0.0, **contact):
    """Return velocities along x and gap after a step of two balls on a line, pushed together by a field about 20."""
    tables = on_floor(
        [[x[0], 20.0, 20.0], [x[1], 20.0, 20.0]], [[v[0], 0, 0], [v[1], 0, 0]], gravity=(0, 0, 0), step=0.1
    )
    tables["contact"] |= contact
    if push:
        tables["potential"] = [{"name": "center", "stiffness": push, "center": [20.0, 20.0, 20.0]}]
    engine = SteppedEngine(system_of(tables))
    engine.advance(0.1)
    return engine.beads.own.velocity[:, 0], engine.beads.position[1, 0] - engine.beads.position[0, 0] - 1.0


def test_the_four_cases_of_a_contact_on_a_line():
    """Marinkovic 2022, figures 8 and 9: none, closing, persisting and opening."""
    velocity, gap = on_line([19.0, 21.0], [1.0, -1.0])
    assert velocity.tolist() == [1.0, -1.0]
    assert gap == pytest.approx(0.8, abs=1e-14)
    velocity, gap = on_line([19.45, 20.55], [1.0, -1.0])
    assert velocity == pytest.approx([0.5, -0.5], abs=1e-12)  # what is left of the gap of 0.1, in a step of 0.1
    assert gap == pytest.approx(0.0, abs=1e-13)
    velocity, gap = on_line([19.5, 20.5], [0.0, 0.0], push=10.0)
    assert velocity == pytest.approx([0.0, 0.0], abs=1e-12)
    assert gap == pytest.approx(0.0, abs=1e-13)
    velocity, gap = on_line([19.5, 20.5], [-1.0, 1.0], push=10.0)
    assert velocity == pytest.approx([-0.5, 0.5], abs=1e-14)
    assert gap == pytest.approx(0.1, abs=1e-14)


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_two_balls_part_with_their_restitution(e):
    velocity, _ = on_line([19.5, 20.5], [0.5, -1.0], restitution=e)
    assert velocity[1] - velocity[0] == pytest.approx(1.5 * e, abs=1e-12)
    assert velocity.sum() == pytest.approx(-0.5, abs=1e-14)


@pytest.mark.parametrize("space, speeds", [(0.0, [-1 / 3, 2 / 3, 2 / 3]), (0.05, [0.0, 0.0, 1.0])])
def test_a_blow_on_a_row_of_three_balls(space, speeds):
    """Balls that touch share it out, as Moreau's law of all contacts at once says; with gaps it passes on."""
    x = 20.0 + (1.0 + space) * np.arange(3)
    tables = on_floor([[a, 20.0, 20.0] for a in x], [[1.0, 0, 0], [0, 0, 0], [0, 0, 0]], gravity=(0, 0, 0))
    tables["contact"] = {"restitution": 1.0}
    engine = SteppedEngine(system_of(tables))
    engine.advance(0.2)
    assert engine.beads.own.velocity[:, 0] == pytest.approx(speeds, abs=1e-12)


def test_a_blow_across_two_touching_balls_keeps_all_momenta():
    n = np.array([0.6, 0.8, 0.0])
    tables = on_floor([[20.0, 20.0, 20.0], 20.0 + n], [[1.0, 0.5, 0.2], [-1.0, 0.0, 0.4]], gravity=(0, 0, 0), mass=2.0)
    tables["contact"] = {"restitution": 0.7, "friction": 0.3}
    system = system_of(tables)
    engine = SteppedEngine(system)

    def momenta():
        turning = 0.2 * spins(engine)
        return 2.0 * engine.beads.own.velocity.sum(axis=0), (
            2.0 * np.cross(engine.beads.position, engine.beads.own.velocity) + turning
        ).sum(axis=0)

    before = momenta()
    engine.advance(0.01)
    assert np.abs(spins(engine)).min(axis=0).max() > 0.1
    for one, other in zip(before, momenta(), strict=True):
        assert one == pytest.approx(other, abs=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "kinds, friction", [(("monomer",), 0.0), (("monomer",), 0.6), (("chain", "monomer", "ring"), 0.5)]
)
def test_impulses_are_in_their_cones_and_against_the_slip(solver, kinds, friction):
    """Of every contact of every step, from places, impulses and velocities before and after it alone."""
    contact = {"restitution": 0.0, "friction": friction}
    system = system_of(
        heap(3, 12 if kinds == ("monomer",) else 4, 2.4 if len(kinds) == 1 else 4.7, kinds, contact=contact)
    )
    system = replace(system, physics=replace(system.physics, steps=replace(system.physics.steps, solver=solver)))
    engine, seen = watched(system)
    loaded = sticking = 0
    for k in range(1, 151):
        seen.clear()
        engine.advance(round(0.01 * k, 2))
        for one in seen[-1:]:
            geometry, n = one.geometry, one.normal
            arm = np.where(geometry.wall, 0.0, geometry.contact)[:, None] * 0.5
            own = np.where(geometry.wall[:, None], geometry.contact[:, None], arm)
            turning = own * one.spin[geometry.one] + np.where(
                geometry.wall[:, None], 0.0, arm * one.spin[geometry.other]
            )
            mates = np.where(geometry.wall[:, None], 0.0, one.velocity[geometry.other])
            u = one.velocity[geometry.one] - mates - np.cross(turning, n)
            gap, _ = geometry.at(one.pool.position, 0.0)
            p_n, u_n = np.sum(one.impulse * n, axis=1), np.sum(u * n, axis=1)
            p_t, u_t = one.impulse - p_n[:, None] * n, u - u_n[:, None] * n
            slack = u_n + np.maximum(gap, 0.0) / 0.01
            speed = np.abs(one.pool.velocity).max() + np.abs(one.velocity).max() + 0.03
            limit = 2e-11 * speed
            assert p_n.min() >= -1e-14
            assert slack.min() >= -limit
            assert np.minimum(p_n, slack).max() <= limit
            assert (np.linalg.norm(p_t, axis=1) - friction * p_n).max() <= 1e-13 * speed
            slides = np.linalg.norm(u_t, axis=1) > 1e-8
            if friction > 0.0:
                full = p_t + friction * p_n[:, None] * u_t / np.maximum(np.linalg.norm(u_t, axis=1), 1e-300)[:, None]
                assert np.abs(full[slides]).max(initial=0.0) <= 1e-4 * speed * p_n.max()
            loaded += np.count_nonzero(p_n)
            sticking += np.count_nonzero(~slides & (p_n > 0.0))
    assert loaded > 200
    assert friction == 0.0 or sticking > 20


def programme(normals, bounds, free, inverse):
    """Return the velocities nearest to the free ones, in the metric of masses, with all rates at least their bounds.

    All sets of contacts that push are tried: a plain quadratic programme by enumeration.
    """
    k = len(bounds)
    matrix, offset = (normals * inverse) @ normals.T, normals @ free - bounds
    for active in product([False, True], repeat=k):
        which = np.flatnonzero(active)
        p = np.zeros(k)
        if len(which):
            p[which] = np.linalg.lstsq(matrix[np.ix_(which, which)], -offset[which], rcond=1e-12)[0]
        if p.min(initial=0.0) >= -1e-12 and (matrix @ p + offset).min(initial=0.0) >= -1e-11:
            return free + inverse * (normals.T @ p)
    raise AssertionError("no solution")


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_steps_without_friction_are_those_of_a_quadratic_programme(solver, seed):
    rng = np.random.default_rng(seed)
    x = np.array([[0, 0, 0.5], [1, 0, 0.5], [0.5, 0.75**0.5, 0.5], [0.5, 0.75**0.5 / 3, 0.5 + (2 / 3) ** 0.5]]) + [
        20,
        20,
        0,
    ]
    v, mass = rng.normal(size=(4, 3)), rng.uniform(0.5, 3.0, 4)
    kinds = [
        {
            "name": f"K{k}",
            "kind": "monomer",
            "mass": mass[k],
            "positions": [x[k].tolist()],
            "velocities": [v[k].tolist()],
        }
        for k in range(4)
    ]
    tables = on_floor(x, solver=solver) | {"molecule": kinds}
    engine, seen = watched(system_of(tables))
    engine.advance(0.01)
    geometry, normal = seen[-1].geometry, seen[-1].normal
    gap = geometry.at(x, 0.0)[0]
    rows = np.zeros((len(gap), 4, 3))
    rows[np.arange(len(gap)), geometry.one] += normal
    bead = ~geometry.wall
    rows[np.flatnonzero(bead), geometry.other[bead]] -= normal[bead]
    wanted = programme(
        rows.reshape(len(gap), 12), -np.maximum(gap, 0.0) / 0.01, (v + 0.01 * DOWN).ravel(), np.repeat(1.0 / mass, 3)
    )
    assert 5 <= len(gap) <= 9
    assert engine.beads.own.velocity.ravel() == pytest.approx(wanted, abs=1e-11)


@pytest.mark.parametrize("contacts, unknowns", [(2, 8), (6, 15), (12, 20)])
@pytest.mark.parametrize("friction", [0.0, 0.3, 1.0])
def test_newton_solves_random_cones(contacts, unknowns, friction):
    """Conditions looked at one by one, also with more impulses than unknowns."""
    rng = np.random.default_rng(contacts)
    for _ in range(6):
        matrix, offset = cones(rng, contacts, unknowns)
        p, good = cone_newton(matrix, offset, np.zeros((contacts, 3)), friction, 1e-12)
        assert good
        require_solved(matrix, offset, p, friction, 1e-11)


def cones(rng, contacts, unknowns):
    """Return W and rates of contacts of random bodies, which no impulses at all would solve."""
    jacobian = rng.normal(size=(3 * contacts, unknowns))
    offset = (jacobian @ rng.normal(size=unknowns)).reshape(contacts, 3)
    return jacobian @ jacobian.T, offset


def require_solved(matrix, offset, p, friction, limit):
    """Require that impulses p are in their cones, complementary, and against the slip."""
    w = (matrix @ p.ravel()).reshape(p.shape) + offset
    size, slip = np.hypot(p[:, 1], p[:, 2]), np.hypot(w[:, 1], w[:, 2])
    assert min(p[:, 0].min(), w[:, 0].min()) >= -limit
    assert np.abs(np.minimum(p[:, 0], w[:, 0])).max() <= limit
    assert (size - friction * p[:, 0]).max() <= limit
    assert np.abs(slip * (friction * p[:, 0] - size)).max() <= 100.0 * limit
    assert np.sum(p[:, 1:] * w[:, 1:], axis=1).max() <= 10.0 * limit


def test_newton_comes_to_large_friction_from_little():
    """With friction 10, 40 problems of which its proximal points alone leave some unsolved."""
    alone, start, friction = 0, np.zeros((4, 3)), np.full(4, 10.0)
    for seed in range(40):
        matrix, offset = cones(np.random.default_rng(seed), 4, 8)
        alone += proximal_points(matrix, offset, start, friction, 1e-10)[1]
        p, good = cone_newton(matrix, offset, start, friction, 1e-10)
        assert good
        require_solved(matrix, offset, p, 10.0, 1e-8 * max(1.0, np.abs(p).max()))
    assert alone < 40


@pytest.mark.parametrize(
    "contact", [{"restitution": 1.0}, {"restitution": 0.7, "friction": 0.8}, {"restitution": 1.0, "friction": 0.3}]
)
def test_energy_never_grows(contact):
    system = system_of(heap(4, 30, 1.6, ("monomer",), hot=4.0, contact={"friction": 0.0} | contact))
    engine = SteppedEngine(system)
    found = [energy(engine, system)]
    for k in range(1, 201):
        engine.advance(round(0.01 * k, 2))
        found.append(energy(engine, system))
    assert np.diff(found).max() <= 1e-10 * found[0]
    assert engine.counters["contacts"] > 60


def test_a_bond_that_turns_keeps_the_energy_to_the_square_of_the_step():
    """A dimer that spins in free space, and chains that tumble over a floor without friction and restitution."""
    off = []
    for step in (0.01, 0.005):
        system = system_of(heap(5, 4, 4.7, ("chain", "dimer"), contact={"restitution": 0.0, "friction": 0.0}))
        system = replace(system, physics=replace(system.physics, steps=replace(system.physics.steps, step=step)))
        engine = SteppedEngine(system)
        found = [energy(engine, system)]
        for k in range(1, 41):
            engine.advance(round(0.02 * k, 2))
            found.append(energy(engine, system))
        off.append(np.diff(found).max())
    assert off[0] < 2e-2
    assert off[1] < max(0.5 * off[0], 1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_ranks_lists_and_restarts_leave_no_trace(solver):
    fall = {"external": {"gravity": [0.0, 0.0, -4.0]}, "contact": {"restitution": 0.2}}
    system = system_of(heap(1, 1, steps={"solver": solver}, **fall))
    require_no_trace(system)


def test_a_heap_across_ranks_is_solved_once_to_the_same_bits():
    """One cluster that lies on several ranks all the time, with impulses kept from step to step.

    All ranks together sweep as often, count as many contacts and as much virial as one alone: the group is one rank's.
    """
    from hpcchain.parallel.thread_ranks import on_ranks

    rows = [[14.0 + 0.9999 * k, 20.0, 0.5] for k in range(12)] + [[14.5 + 0.9999 * k, 20.0, 1.37] for k in range(11)]
    tables = on_floor(rows, contact={"friction": 0.5}) | {"initial": {"method": "explicit"}}
    tables["molecule"][0]["diameter"] = 0.9999
    system = system_of(tables)
    _, once, work = shared(SteppedEngine(system))
    assert work[0] > 0
    for ranks in (2, 4):
        sectors = (ranks, 1, 1)
        parts = on_ranks(
            ranks, lambda comm, sectors=sectors: shared(SteppedEngine(dealt(system, comm), comm, sectors=sectors))
        )
        assert sum(len(ids) > 0 for ids, _, _ in parts) >= 2
        velocity = np.empty_like(once)
        for ids, rows_of, _ in parts:
            velocity[ids] = rows_of
        assert velocity.tobytes() == once.tobytes()
        assert np.sum([part[2] for part in parts], axis=0).tolist() == work.tolist()
        assert sum(part[2][0] > 0 for part in parts) == 1


def shared(engine):
    """Return the beads of a rank, their velocities, and what it has solved, at 0.3."""
    engine.advance(0.3)
    contacts, tally = engine.contacts, engine.tally
    solved = [contacts.sweeps, contacts.changes, *tally.counts.values(), *tally.sums]
    return engine.ids, engine.beads.own.velocity, np.array(solved, dtype=object)


def pile(rows, friction):
    """Return the engine of a pile of balls in one plane, each upper one on two below it, after 0.2."""
    places = [[20.0 + i + 0.5 * j, 20.0, 0.5 + 0.75**0.5 * j] for j in range(rows) for i in range(rows - j)]
    engine = SteppedEngine(system_of(on_floor(places, contact={"friction": friction}, solver="gauss-seidel")))
    engine.advance(0.2)
    return engine


@pytest.mark.parametrize("friction", [0.26, 0.275])
def test_three_balls_stand_where_friction_is_more_than_the_tangent_of_15_degrees(friction):
    """The upper one pushes two apart; their friction, on it and on the floor, is the same, and is 0.268 of the push."""
    still = np.abs(pile(2, friction).beads.own.velocity).max()
    assert (still < 1e-11) if friction > np.tan(np.deg2rad(15.0)) else (still > 1e-3)


def test_impulses_of_the_last_step_are_where_the_next_begins():
    """A pile at rest takes a sweep or two in each of two rounds, and many where it has forgotten what carries it."""
    engine = pile(4, 2.0)
    spent = [engine.contacts.sweeps]
    for k in range(21, 41):
        if k > 30:
            engine.beads.own.extra[:, L.INSIDE :] = 0.0
        engine.advance(round(0.01 * k, 2))
        spent.append(engine.contacts.sweeps)
    assert spent[10] - spent[0] <= 30
    assert spent[20] - spent[10] > 200


def test_fixed_beads_carry_others_and_stay():
    fixed = [[20.0, 20.0, 10.0], [21.0, 20.0, 10.0]]
    falls = [[20.5, 20.0, 10.0 + 0.75**0.5]]
    tables = on_floor(falls, contact={"friction": 0.5})
    tables["molecule"].append(
        {"name": "B", "kind": "monomer", "count": 2, "fixed": [0], "positions": fixed, "velocities": [[0, 0, 0]] * 2}
    )
    engine = SteppedEngine(system_of(tables))
    engine.advance(0.5)
    assert engine.beads.position[1:].tolist() == fixed
    assert engine.beads.position[0] == pytest.approx(falls[0], abs=1e-12)
    assert np.abs(engine.beads.own.velocity).max() < 1e-12


def test_a_ball_that_falls_lies_down_and_one_that_bounces_does_so_as_its_restitution_says():
    for e in (0.0, 0.8):
        tables = on_floor([[20.0, 20.0, 1.5]], contact={"restitution": e}, step=0.001)
        engine = SteppedEngine(system_of(tables))
        fall = (2.0 / G) ** 0.5
        engine.advance(round(fall + 0.002, 3))
        assert engine.beads.own.velocity[0, 2] == pytest.approx(e * (2.0 * G) ** 0.5, abs=0.05)
        if e == 0.0:
            assert engine.beads.position[0, 2] == pytest.approx(0.5, abs=1e-13)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"steps": {"integrator": "gvi"}}, "contact.friction: works only with steps.integrator"),
        ({"steps": {"integrator": "dsi"}}, "contact.friction: works only with steps.integrator"),
        ({"contact": {"friction": -0.1}}, "contact.friction"),
        ({"contact": {"friction": "high"}}, "contact.friction"),
        ({"steps": {"base": "midpoint"}}, 'steps.base: "midpoint" means nothing'),
        ({"steps": {"energy": "H2"}}, 'steps.energy: "H2" means nothing'),
        ({"steps": {"predictions": 2}}, "steps.predictions: 2 means nothing"),
        ({"contact": {"simultaneous": "generalised"}}, "contact.simultaneous"),
        ({"contact": {"contact_time": 0.1}}, "contact.contact_time"),
        ({"steps": {"solver": "jacobi"}}, "steps.solver"),
        ({"steps": {"integrator": "contacts"}}, "steps.integrator"),
        ({"molecule": {"kind": "rod", "beads": 3}}, "beads of a rod do not spin"),
        ({"molecule": {"hard": False}}, "with a hard core"),
        ({"molecule": {"kind": "chain", "beads": 2, "fixed": [0], "fixed_velocity": [1, 0, 0]}}, "fixed_velocity"),
        ({"molecule": {"fixed": [0]}}, "all beads of all molecules are fixed"),
    ],
)
def test_bad_input_says_what_to_change(change, message):
    tables = {
        "box": {"size": [9.0, 9.0, 9.0]},
        "molecule": {"kind": "monomer", "count": 3},
        "initial": {"method": "file", "file": "start.h5"},
        "contact": {"friction": 0.5},
        "run": {"engine": "steps", "end_time": 1.0},
        "steps": {"step": 0.01, "integrator": "contact"},
        "output": {"frame_every": 1.0, "report_every": 1.0, "checkpoint_every": 1.0},
    }
    for name, keys in change.items():
        tables[name] = tables.get(name, {}) | keys
    tables["molecule"] = [tables["molecule"]]
    with pytest.raises(ConfigError, match=message.replace("[", r"\[")):
        config_of(tables)


def test_friction_is_refused_by_the_engine_of_events():
    tables = {
        "box": {"size": [9.0, 9.0, 9.0]},
        "molecule": [{"kind": "monomer", "count": 3}],
        "contact": {"friction": 0.5},
        "run": {"end_time": 1.0},
    }
    with pytest.raises(ConfigError, match=r"contact.friction: works only with steps.integrator"):
        config_of(tables)


def test_files_keep_spins_and_impulses(tmp_path):
    """A run that was stopped between steps of a pile that slides goes on from its checkpoint to the same bits."""
    rows = [[20.0, 20.0, 0.5], [21.0, 20.0, 0.5], [20.5, 20.0, 0.5 + 0.75**0.5]]
    tables = on_floor(rows, [[1.0, 0, 0], [0, 0, 0], [0.5, 0, 0]], contact={"friction": 0.3}, moment=0.05)
    tables["run"]["end_time"] = 0.1
    path = tmp_path / "input.toml"
    path.write_text(toml(tables), encoding="utf-8")
    assert run(path, output=tmp_path / "once", comm=Single()) == 0
    run(path, output=tmp_path / "twice", until=0.05, comm=Single())
    with h5py.File(newest_checkpoint(tmp_path / "twice")) as file:
        assert np.count_nonzero(file["state/impulses"][:, ::4]) >= 3
        assert np.abs(file["state/angular_velocity"][:]).max() > 0.1
    assert resume(tmp_path / "twice", until=0.1, comm=Single()) == 0
    for name in ("trajectory.h5", "observables.h5"):
        assert compare(tmp_path / "once" / name, tmp_path / "twice" / name) is None


def newest_checkpoint(folder):
    return max((folder / "checkpoints").iterdir())


def test_contacts_that_sweeps_do_not_solve_name_the_solver_that_does(monkeypatch):
    """A stack that has but one sweep to be solved in; a run that takes the advice gets on."""
    monkeypatch.setattr(cluster_solver, "MOST_SWEEPS", 1)
    stacks = [
        on_floor([[20.0, 20.0, 0.5 + k] for k in range(6)], solver=solver, contact={"friction": 0.3})
        for solver in SOLVERS
    ]
    says = 'at t 0 contacts .* have no solution that was found: set steps.solver = "newton", .* make steps.step smaller'
    with pytest.raises(StepError, match=says):
        SteppedEngine(system_of(stacks[1])).advance(0.05)
    SteppedEngine(system_of(stacks[0])).advance(0.05)
    with pytest.raises(StepError, match="have no solution that was found: make steps.step smaller"):
        raise_unsolved(0.0, "newton")
