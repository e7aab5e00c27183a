"""Rods that move in paper 002's steps: against the paper's own form, what a step keeps, and as bodies in the engine."""

import numpy as np
import pytest
from mixtures import to_toml
from whole import frame_of

from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.model.start import build_system
from hpcchain.papers import line_verlet as lv
from hpcchain.propagators.rod import rod_prepare
from hpcchain.propagators.rod_steps import WIDEST, rod_step
from hpcchain.run.growth import grown_system
from hpcchain.sector.engine import Engine
from hpcchain.sector.layout import ROD, ROD_STEPPER
from tests.unit import twins
from tests.unit.kernel_tools import Bench, make_system
from tests.unit.test_rod import exact, random_rod, two_rods, unit

SIZES = [3, 8, 9, 50]
STEPS = {"propagator": "rattle", "options": {"rods": "steps"}}


def bench_of(rod, step=10.0, **keys):
    """Return a Bench of a rod that moves in steps."""
    return Bench(rod, rods=(0,), step=step, **STEPS, **keys)


def line_of(rod):
    """Return the Line of paper 002 that is a rod."""
    _, x, _, mass = rod
    return lv.Line(mass, (x - x[0]) @ unit(x[-1] - x[0]), np.zeros(len(mass)))


def nothing(position):
    """Return no forces."""
    return np.zeros_like(position)


def by_paper(rod, dt, closed=True):
    """Return the state of a free rod after one step as the paper has it."""
    return lv.step(line_of(rod), rod[1], rod[2], dt, nothing, closed)


def march(rod, steps):
    """Return the state after steps of these lengths, put on the rod after each as the engine does."""
    bench, n = bench_of(rod), len(rod[1])
    for tau in steps:
        rod_step(bench.work, bench.offset[0], n, float(tau))
        rod_prepare(bench.work, bench.offset[0], n)
    return bench.position(), bench.velocity()


def test_rods_move_in_steps_under_rattle_alone():
    """And in runs that began with rods that fly exactly under rattle, too, they go on doing so."""
    rod = random_rod(4, 1)
    assert bench_of(rod).solver() == ROD_STEPPER
    others = [{"propagator": name} for name in ("taylor", "rattle")]
    others += [STEPS | {"propagator": name} for name in ("collocation", "variational")]
    assert [Bench(rod, rods=(0,), step=0.1, **each).solver() for each in others] == [ROD] * 4
    assert Bench(random_rod(2, 1), step=0.1, **STEPS).solver() not in (ROD, ROD_STEPPER)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("angle", [1e-4, 0.05, 0.5, 0.79])
def test_a_step_is_that_of_the_paper(n, angle):
    """In closed form to 1e-14 of the rod; by the multipliers to what their linear systems leave of it."""
    rod = random_rod(n, 1, turn=1.7)
    bench = bench_of(rod, stale=2)
    bench.move(angle / 1.7)
    size = np.abs(rod[1]).max()
    for closed, bound in ((True, 1e-14), (False, 1e-14 * n)):
        x, v = by_paper(rod, angle / 1.7, closed)
        np.testing.assert_allclose(bench.position(), x, rtol=0, atol=bound * size)
        np.testing.assert_allclose(bench.velocity(), v, rtol=0, atol=bound * size * max(1.0, 0.1 / angle))


def test_no_step_at_all_changes_no_bit():
    rod = random_rod(9, 3)
    bench = bench_of(rod)
    bench.move(0.0)
    assert bench.position().tobytes() == rod[1].tobytes() and bench.velocity().tobytes() == rod[2].tobytes()


def test_turns_by_the_arc_sine_at_an_unchanged_rate():
    rod = random_rod(5, 4, turn=2.0)
    x, v = march(rod, [0.3])
    cosine = unit(x[-1] - x[0]) @ unit(rod[1][-1] - rod[1][0])
    assert np.arccos(cosine) == pytest.approx(np.arcsin(0.6), abs=1e-14)
    length = np.linalg.norm(x[-1] - x[0])
    assert np.linalg.norm(v[-1] - v[0]) / length == pytest.approx(2.0, rel=1e-14)


def test_order_2_to_the_exact_rotor():
    rod = random_rod(6, 5)
    counts = np.array([50, 100, 200, 400])
    for part in range(2):
        errors = [np.abs(march(rod, np.full(n, 2.0 / n))[part] - exact(rod, 2.0)[part]).max() for n in counts]
        assert -np.polyfit(np.log(counts), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.02)


def test_steps_backwards_lead_back():
    """Whatever their lengths, as contacts cut them short."""
    rod = random_rod(9, 6)
    steps = np.random.default_rng(1).uniform(0.01, 0.6, 40)
    x, v = march(rod, steps)
    x, v = march((rod[0], x, -v, rod[3]), steps[::-1])
    assert np.abs(x - rod[1]).max() < 1e-13 * 40 and np.abs(v + rod[2]).max() < 1e-13 * 40


def test_symplectic():
    """The form sum m (dq1 . dv2 - dq2 . dv1) of two rigid disturbances is the same after steps.

    Central differences leave eps^2. A step with the exact turn of another rate, as accurate, changes it.
    """
    rod, eps = random_rod(5, 7), 1e-4
    bonds, x, v, mass = rod
    s = (x - mass @ x / mass.sum()) @ unit(x[-1] - x[0])
    pair = np.random.default_rng(2).normal(size=(2, 4, 3))

    def body(change, size):
        centre, drift, axis, rate = size * change
        u = unit(unit(x[-1] - x[0]) + axis)
        w = (v[-1] - v[0]) / (s[-1] - s[0]) + rate
        return (bonds, mass @ x / mass.sum() + centre + s[:, None] * u,
                mass @ v / mass.sum() + drift + s[:, None] * (w - (w @ u) * u), mass)  # fmt: skip

    def crooked(disturbed):
        omega = np.linalg.norm(disturbed[2][-1] - disturbed[2][0]) / (s[-1] - s[0])
        y, w = march(disturbed, [0.3, 0.1])
        return y + 0.05 * omega * s[:, None] * np.array([0.0, 0.0, 1.0]), w

    forms = []
    for move in (lambda rod: rod[1:3], lambda rod: march(rod, [0.3, 0.1]), crooked):
        one, other = (
            [(a - b) / (2 * eps) for a, b in zip(move(body(d, eps)), move(body(d, -eps)), strict=True)] for d in pair
        )
        forms.append(np.sum(mass[:, None] * (one[0] * other[1] - other[0] * one[1])))
    assert abs(forms[0]) > 0.1
    assert abs(forms[1] - forms[0]) < 1e-6 * abs(forms[0])
    assert abs(forms[2] - forms[0]) > 1e-3 * abs(forms[0])


@pytest.mark.parametrize("n", [3, 50])
def test_1e5_steps_keep_energy_momenta_and_the_line(n):
    bonds, x, v, mass = random_rod(n, 3, turn=2.0)
    rod = (bonds, x, v - mass @ v / mass.sum(), mass)
    y, w = march(rod, np.full(100_000, 0.1))
    before, after = twins.invariants(*rod[1:]), twins.invariants(y, w, mass)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-11 * before[0])
    np.testing.assert_allclose(twins.lengths(bonds, y), twins.lengths(bonds, x), rtol=1e-13)
    assert np.abs(np.cross(y - y[0], unit(y[-1] - y[0]))).max() < 1e-14 * n


@pytest.mark.parametrize("n", [3, 50])
@pytest.mark.parametrize("angle", [1e-3, 0.05, 0.2, 0.5, 0.79])
def test_series_is_within_its_bound_of_the_truncated_steps(n, angle):
    """Short steps are a series to round-off; the acceleration's bound holds for the steps and for the series."""
    rod = random_rod(n, 8, turn=1.7)
    bench = bench_of(rod, stale=1)
    series, h, bound = bench.expand(angle / 1.7, 1e-16)
    error = bench.error(len(series) - 1, h)
    assert h == angle / 1.7
    size = np.abs(rod[1]).max()
    off = [np.abs(twins.evaluate(series, t)[0] - by_paper(rod, t)[0]).max() for t in np.linspace(0.1, 1.0, 7) * h]
    assert max(off) < error + 1e-14 * size
    assert error < (1e-15 * size if angle < 0.15 else 1e-2 * size)
    if angle > 0.4:
        assert max(off) > 0.05 * error
    k = np.arange(2, len(series))[:, None, None]
    for t in (0.0, h):
        bend = np.linalg.norm((k * (k - 1) * series[2:] * t ** (k - 2.0)).sum(axis=0), axis=1)
        assert np.all(bend <= bound * (1.0 + 1e-12))
    arm = np.linalg.norm(rod[1] - rod[3] @ rod[1] / rod[3].sum(), axis=1)
    np.testing.assert_allclose(bound, arm * 1.7**2 / (1.0 - angle**2) ** 1.5, rtol=1e-11)


def test_a_rod_that_does_not_turn_flies_straight():
    bonds, x, _, mass = random_rod(4, 2)
    bench = bench_of((bonds, x, np.tile([1.0, 2.0, 3.0], (4, 1)), mass))
    series, h, bound = bench.expand(5.0, 1e-16)
    assert h == 5.0 and np.all(np.abs(series[2:]) < 1e-28) and np.all(bound < 1e-27)
    assert bench.error(len(series) - 1, h) == 0.0


def test_a_step_that_turns_too_far_is_halved_and_counted():
    """The paper's has no solution beyond omega dt = 1; the engine's takes shorter ones, and loses nothing by it."""
    rod = random_rod(5, 4, turn=3.0)
    _, h, _ = bench_of(rod).expand(1.0, 1e-16)
    assert h == 0.25 and 3.0 * h < WIDEST <= 6.0 * h
    with pytest.raises(lv.NoStep):
        by_paper(rod, 1.0)
    engine = Engine(make_system([rod], rods=(0,), step=1.0, **STEPS))
    engine.advance(4.0)
    assert engine.counters["halved"] > 4
    _, x, v, mass = rod
    before, after = twins.invariants(x, v, mass), twins.invariants(*frame_of(engine, 4.0)[:2], mass)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-13 * before[0])
    still = Engine(make_system([random_rod(5, 4, turn=0.7)], rods=(0,), step=1.0, **STEPS))
    still.advance(4.0)
    assert still.counters["halved"] == 0


def in_steps(rods, time, step):
    """Return the states of rods at a time, stepped along the grid as the paper has it and cut short there."""
    whole = int(time / step)
    found = []
    for rod in rods:
        state = rod[1:3]
        for tau in [step] * whole + [time - whole * step] * int(time > whole * step):
            state = by_paper((rod[0], *state, rod[3]), tau)
        found.append(state)
    return found


@pytest.mark.parametrize("search", ["root", "bisection"])
def test_two_rods_collide_as_bodies(search):
    """When truncated steps touch, by bisecting the paper's; J = -(1+e) v_n m_eff with the velocities there."""
    rods, step = two_rods(), 0.125
    low, high = 0.0, 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        (x, _), (y, _) = in_steps(rods, middle, step)
        apart = np.linalg.norm(x[:, None] - y, axis=2).min() > 1.0
        low, high = (middle, high) if apart else (low, middle)
    (x, v), (y, w) = in_steps(rods, high, step)
    gap = np.linalg.norm(x[:, None] - y, axis=2)
    a, b = np.unravel_index(np.argmin(gap), (3, 3))
    n, mass = unit(x[a] - y[b]), rods[0][3]
    inverse, turns = 0.0, []
    for state, bead in ((x, a), (y, b)):
        place, axis = state - mass @ state / mass.sum(), unit(state[-1] - state[0])
        s, inertia = (place @ axis)[bead], mass @ np.sum(place**2, axis=1)
        inverse += 1.0 / mass.sum() + s**2 / inertia * (1.0 - (axis @ n) ** 2)
        turns.append(n / mass.sum() + (place @ axis)[:, None] * s / inertia * (n - (axis @ n) * axis))
    impulse = -1.7 * (n @ (v[a] - w[b])) / inverse
    options = {"rods": "steps", "contact_search": search}
    physics = {"propagator": "rattle", "options": options, "step": step, "restitution": 0.7}
    engine = Engine(make_system(rods, rods=(0, 1), **physics), log_events=True)
    engine.advance(high + 1e-3)
    (event,) = engine.drain_events()
    assert event["bead"].tolist() == [a, 3 + b]
    assert event["time"] == pytest.approx(high, abs=1e-13)
    assert event["impulse"] == pytest.approx(impulse, rel=1e-11)
    position, velocity, _ = frame_of(engine, high + 1e-3)
    (x, v), (y, w) = (
        by_paper((rods[0][0], *state, mass), 1e-3)
        for state in ((x, v + impulse * turns[0]), (y, w - impulse * turns[1]))
    )
    np.testing.assert_allclose(position, np.concatenate([x, y]), atol=1e-12)
    np.testing.assert_allclose(velocity, np.concatenate([v, w]), atol=1e-11)
    both = np.concatenate([mass, mass])
    before = twins.invariants(*(np.concatenate([rods[0][k], rods[1][k]]) for k in (1, 2)), both)
    after = twins.invariants(position, velocity, both)
    np.testing.assert_allclose(after[1:], before[1:], atol=1e-12)
    assert after[0] - before[0] == pytest.approx(-0.5 * (1 - 0.49) * (impulse / 1.7) ** 2 * inverse, rel=1e-11)


def test_times_of_contacts_are_of_order_2():
    """Where a contact falls between two nodes matters, too."""
    rods = two_rods()
    found = []
    for step in [0.0, *0.2 * 2.0 ** -np.linspace(0, 4, 13)]:
        physics = STEPS | {"step": step} if step else {}
        engine = Engine(make_system(rods, rods=(0, 1), **physics), log_events=True)
        engine.advance(2.0)
        found.append((step, float(engine.drain_events()["time"][0])))
    steps, times = np.array(found[1:]).T
    slope = np.polyfit(np.log(steps), np.log(np.abs(times - found[0][1])), 1)[0]
    assert abs(slope - 2) < 0.35, np.abs(times - found[0][1])


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5])
def test_grazes_are_decided_by_the_steps(seed):
    """A wall just within and just out of reach of a tumbling rod, by 1e-9, where series of its steps are 1e-5 wrong."""
    random = np.random.default_rng(seed)
    bonds, x, v, mass = random_rod(4, 20 + seed, turn=2.6)
    rod = (bonds, x - mass @ x / mass.sum(), v - mass @ v / mass.sum() + 0.1 * random.normal(size=3), mass)
    step, end = 0.25, 2.0
    times = np.linspace(0.0, end, 401)
    for spread in (0.02, 5e-4, 1e-5, 0.0):
        reach = [np.max(in_steps([rod], t, step)[0][0][:, 0]) for t in times]
        best = times[np.argmax(reach)]
        times = np.clip(best + spread * np.linspace(-1.0, 1.0, 101), 0.0, end)
    assert 0.02 < best % step < step - 0.02, "farthest at a node"
    for offset, contacts in ((-1e-9, 1), (1e-9, 0)):
        wall = max(reach) + 0.5 + offset
        system = make_system([rod], size=(wall + 50.0, 100.0, 100.0), boundary=(1, 2, 2), origin=(-50.0,) * 3,
                             rods=(0,), step=step, **STEPS)  # fmt: skip
        engine = Engine(system, log_events=True)
        engine.advance(best + 0.01)
        assert len(engine.drain_events()) + engine.counters["grazes"] == contacts, offset


def crowd(folder, search="root"):
    """Return the System of rods of 4 and of 9 with monomers, thermal, in a periodic box, that move in steps."""
    tables = {
        "box": {"size": [5.0, 4.8, 5.2]},
        "molecule": [
            {"kind": "rod", "beads": 4, "count": 6, "bond_length": [1.0, 1.2, 1.0], "mass": [1.0, 2.0, 0.5, 3.0]},
            {"kind": "rod", "beads": 9, "count": 2, "bond_length": 0.5, "diameter": 0.5},
            {"kind": "monomer", "count": 6},
        ],
        "initial": {"seed": 5},
        "propagator": {"name": "rattle", "step": 0.125, "contact_search": search},
        "run": {"end_time": 1.0},
    }
    path = folder / "in.toml"
    path.write_text(to_toml(tables))
    return grown_system(load_config(path))


def totals(system, velocity):
    """Return kinetic energy and momentum."""
    mass = system.topology.mass[:, None]
    return np.array([0.5 * np.sum(mass * velocity**2), *np.sum(mass * velocity, axis=0)])


def test_contacts_keep_energy_and_lead_back(tmp_path):
    """Energy to round-off, unlike that of chains in steps; and all velocities turned round it all comes again."""
    system = crowd(tmp_path)
    engine = Engine(system, log_events=True)
    end = 2.0
    engine.advance(end)
    contacts = len(engine.drain_events())
    assert contacts > 30
    position, velocity, image = frame_of(engine, end)
    np.testing.assert_allclose(totals(system, velocity), totals(system, system.state.velocity), atol=1e-11)
    state = system.state.at_rest_clock(position, -velocity)
    state.image[:] = image
    back = Engine(type(system)(system.box, system.topology, state, system.physics), log_events=True)
    back.advance(end)
    assert len(back.drain_events()) == contacts
    position, velocity, image = frame_of(back, end)
    size = system.box.size
    assert np.abs(position + image * size - system.state.position - system.state.image * size).max() < 1e-11
    assert np.abs(velocity + system.state.velocity).max() < 1e-10


def test_searches_agree(tmp_path):
    events = []
    for search in ("root", "bisection"):
        engine = Engine(crowd(tmp_path, search), log_events=True)
        engine.advance(1.5)
        events.append(engine.drain_events())
    assert len(events[0]) > 6
    assert np.array_equal(events[0]["bead"], events[1]["bead"])
    np.testing.assert_allclose(events[1]["time"], events[0]["time"], atol=1e-9)
    np.testing.assert_allclose(events[1]["impulse"], events[0]["impulse"], atol=1e-7)


def test_a_kind_of_rods_may_fly_exactly_beside_others_in_steps(tmp_path):
    """The same bits as in a box of its own way, until something is met."""
    rods = random_rod(4, 1), random_rod(5, 2)
    molecules = [{"kind": "rod", "beads": len(x), "mass": mass.tolist(), "positions": (x + place).tolist(),
                  "bond_length": twins.lengths(bonds, x).tolist(), "diameter": 0.5, "velocities": v.tolist()}
                 for (bonds, x, v, mass), place in zip(rods, (0.0, 30.0), strict=True)]  # fmt: skip

    def found(general, *own):
        tables = {
            "box": {"size": [200.0] * 3, "origin": [-100.0] * 3, "boundary": ["open"] * 3},
            "molecule": [each | ({"propagator": way} if way else {}) for each, way in zip(molecules, own, strict=True)],
            "initial": {"method": "explicit"},
            "propagator": general,
            "run": {"end_time": 1.0},
        }
        path = tmp_path / "in.toml"
        path.write_text(to_toml(tables))
        engine = Engine(build_system(load_config(path)))
        engine.advance(3.0)
        return frame_of(engine, 3.0)[0]

    rattle = {"name": "rattle", "step": 0.1}
    exact_for_all, steps_for_all = found({"name": "taylor"}, None, None), found(rattle, None, None)
    assert np.abs(exact_for_all - steps_for_all)[4:].max() > 1e-4 < np.abs(exact_for_all - steps_for_all)[:4].max()
    wanted = np.concatenate([steps_for_all[:4], exact_for_all[4:]])
    assert found(rattle, None, {"name": "taylor"}).tobytes() == wanted.tobytes()
    assert found({"name": "taylor"}, rattle, None).tobytes() == wanted.tobytes()
    with pytest.raises(ConfigError, match=r'molecule\[1\].propagator: rods have no steps of "variational"'):
        found({"name": "taylor"}, None, {"name": "variational", "step": 0.1})
