"""Walls that move along themselves and that oscillate: closed forms, momentum and work of what rubs on them."""

from functools import partial

import numpy as np
import pytest

from hpcchain.errors import ConfigError
from hpcchain.layout import arrays as L
from tests.physics.test_moving_walls import CHAIN, OPEN, ball, energy, gained, run
from tests.support.whole import frame_of

SLAB = {"size": [10.0] * 3, "boundary": ["periodic", "periodic", "wall"]}


@pytest.mark.parametrize(("e_n", "e_t"), [(1.0, -1.0), (0.5, 0.25)])
@pytest.mark.parametrize("side", ["z-", "z+"])
def test_a_ball_on_a_belt(side, e_n, e_t):
    """Formulas of one rough sphere on a plane, in the frame of the plane; the work is that of the whole impulse."""
    up, belt = (1.0, np.array([0.7, -0.2, 0.1])) if side == "z-" else (-1.0, np.array([0.7, -0.2, -0.1]))
    start = np.array([1.0, 2.0, -up])
    wall = {"side": side, "velocity": belt.tolist(), "restitution": e_n, "tangential_restitution": e_t}
    one = ball([5.0, 5.0, 5.0], start.tolist(), moment=0.15, mass=2.0, angular_velocities=[[0.0, 3.0, 0.0]])
    engine, events = run(5.0, box=SLAB, molecule=[one], wall=[wall])
    moment, mass, radius, spin = 0.15, 2.0, 0.5, np.array([0.0, 3.0, 0.0])
    n = np.array([0.0, 0.0, up])
    slip = start - belt - radius * np.cross(spin, n)
    across = slip - (slip @ n) * n
    push = -mass * (1.0 + e_n) * (slip @ n) * n - (1.0 - e_t) * across / (1.0 / mass + radius**2 / moment)
    assert events["time"] == pytest.approx([4.5 / 1.1], abs=1e-13)
    np.testing.assert_allclose(frame_of(engine, 5.0)[1][0], start + push / mass, atol=1e-13)
    np.testing.assert_allclose(events["tangential"][0], push - (push @ n) * n, atol=1e-13)
    assert engine.sums[L.SUM_WORK] * engine.energy_quantum == pytest.approx(push @ belt, abs=1e-10)


@pytest.mark.parametrize("molecule", ["ball", "chain"])
@pytest.mark.parametrize("more", [{"temperature": 1.5}, {"tangential_restitution": -1.0}], ids=["thermal", "rough"])
def test_what_walls_drive_has_their_work_and_heat(molecule, more):
    """Between walls that slide, shake and come and go all energy that beads gain, spins too, is work and heat."""
    stands = {"positions": [[7.0, 7.0, z] for z in (3.0, 4.0, 5.0, 6.0)]}
    stands |= {"velocities": [[1.0, 0.0, 0.8], [-1.0, 0.5, 0.8], [1.0, 0.0, 0.8], [0.5, 0.0, 0.8]]}
    one = ball([5.0, 5.0, 5.0], [0.3, 0.2, -1.0]) if molecule == "ball" else CHAIN | stands
    swing = {"amplitude": [0.3, 0.2, 0.1], "period": 0.9}
    walls = [
        {"side": "z-", "velocity": [0.8, -0.3, 0.05]} | more,
        {"side": "z+", "velocity": [-0.8, 0.0, 0.0], "oscillation": swing} | more,
        {"side": "x+", "oscillation": {"amplitude": -0.2, "period": 1.7}} | more,
    ]
    engine, events = run(40.0, molecule=[one], wall=walls, initial={"method": "explicit", "seed": 3})
    assert np.count_nonzero(np.isin(events["bead"][:, 1], (-3, -4, -6))) > 5
    grown, work = gained(engine, 40.0)
    turning = 0.0
    if "tangential_restitution" in more:  # m d^2 / 10 is the moment of inertia
        after, before = (state.extra[:, L.SPIN : L.SPIN + 3] for state in (engine.state(), engine.system.state))
        turning = 0.05 * (np.sum(after**2) - np.sum(before**2))
    heat = engine.sums[L.SUM_HEAT] * engine.energy_quantum
    assert abs(work) > 0.1 and (heat != 0.0) == ("temperature" in more)
    assert grown + turning == pytest.approx(work + heat, abs=1e-9)


def test_plates_drag_a_gas_that_is_too_thin_to_meet_itself():
    """Free flight between thermal plates: each crossing carries m U, and the work is m U^2 / 2 a contact."""
    speed, mass = 1.5, 2.0
    walls = [
        {"side": "z-", "velocity": [-0.5 * speed, 0.0, 0.0], "temperature": 0.8},
        {"side": "z+", "velocity": [0.5 * speed, 0.0, 0.0], "temperature": 0.8},
    ]
    one = ball([5.0, 5.0, 5.0], [0.0, 0.0, 1.0], mass=mass)
    engine, events = run(60000.0, box=SLAB, molecule=[one], wall=walls)
    count = len(events)
    # A contact's work is the sum of differences of two draws: their means telescope but for the plates' own.
    scatter = speed * np.sqrt(mass * 0.8) / np.sqrt(count)
    assert count > 3000
    work = engine.sums[L.SUM_WORK] * engine.energy_quantum / count
    assert work == pytest.approx(0.5 * mass * speed**2, abs=4.0 * scatter)
    heat = engine.sums[L.SUM_HEAT] * engine.energy_quantum / count
    assert heat == pytest.approx(-work, abs=4.0 * scatter)


def beat(time, amplitude, period):
    """Return displacement and velocity of a wall that oscillates."""
    angular = 2.0 * np.pi / period
    return amplitude * np.sin(angular * time), amplitude * angular * np.cos(angular * time)


def gap_of(begin, place, velocity, amplitude, period, time):
    """Return the distance of a ball in straight flight from a wall that oscillates."""
    return place + velocity * (time - begin) - 0.5 - beat(time, amplitude, period)[0]


def first_zero(gap, start, end):
    """Return the first zero of a function behind a time: a fine grid, then halving."""
    times = np.linspace(start, end, 400001)[1:]
    low = int(np.argmax(gap(times) <= 0.0))
    a, b = times[low] - (times[1] - times[0]), times[low]
    for _ in range(80):
        middle = 0.5 * (a + b)
        a, b = (middle, b) if gap(middle) > 0.0 else (a, middle)
    return b


@pytest.mark.parametrize(("amplitude", "period", "speed"), [(0.3, 2.0, 1.0), (0.05, 0.03, 0.7), (-0.4, 5.0, 0.02)])
def test_a_ball_meets_an_oscillating_wall_at_the_first_time_that_it_can(amplitude, period, speed):
    """Contact times are the first zeros of the gap, found on a fine grid; each impulse reverses the rate of the gap."""
    wall = {"side": "z-", "oscillation": {"amplitude": amplitude, "period": period}}
    engine, events = run(60.0, molecule=[ball([5.0, 5.0, 1.2], [0.0, 0.0, -speed])], wall=[wall])
    time, place, velocity, grown = 0.0, 1.2, -speed, 0.0
    assert 3 <= len(events)
    for row in events[:8]:
        if row["bead"][1] == -6:
            hit = time + (9.5 - place) / velocity
            push = -2.0 * velocity
        else:
            end = time + (place + 1.0) / abs(velocity) if velocity < 0.0 else row["time"] + 1.0
            gap = partial(gap_of, time, place, velocity, amplitude, period)
            hit = first_zero(gap, time + 1e-6 * period, end)
            push = -2.0 * (velocity - beat(hit, amplitude, period)[1])
            grown += push * beat(hit, amplitude, period)[1]
        assert row["time"] == pytest.approx(hit, abs=1e-9 * max(1.0, hit)) and abs(row["impulse"]) == pytest.approx(
            abs(push), abs=1e-7
        )
        place, time = place + velocity * (row["time"] - time), row["time"]
        velocity += row["impulse"] * (1.0 if row["bead"][1] == -3 else -1.0)
    kept, work = gained(engine, 60.0)
    assert kept == pytest.approx(work, abs=1e-10)


@pytest.mark.parametrize("pull", [0.0, 0.1])
@pytest.mark.parametrize("period", [1e-3, 1e-6, 1e-9])
def test_however_fast_a_wall_swings_it_is_met_where_it_is(period, pull):
    """Far from it a search needs no look at each swing: that took more steps than it has, and ended in mid-air."""
    swing = {"oscillation": {"amplitude": period, "period": period}}
    gravity = {"external": {"gravity": [0.0, 0.0, -pull]}}
    fall = 4.5 if pull == 0.0 else (np.sqrt(1.0 + 2.0 * pull * 4.5) - 1.0) / pull
    _, events = run(6.0, molecule=[ball([5.0, 5.0, 5.0], [0.0, 0.0, -1.0])], wall=[{"side": "z-"} | swing], **gravity)
    assert events["bead"][0, 1] == -3 and events["time"][0] == pytest.approx(fall, abs=2.0 * period)
    shell = {"shape": "sphere", "center": [0.0] * 3, "radius": 5.0} | swing
    _, events = run(6.0, box=OPEN, molecule=[ball([0.0] * 3, [0.0, 0.0, -1.0])], wall=[shell], **gravity)
    assert events["bead"][0, 1] == -7 and events["time"][0] == pytest.approx(fall, abs=2.0 * period)


def test_a_wall_that_recedes_as_it_oscillates_meets_a_slow_ball():
    """The wall goes away on the whole, faster than the ball follows, but its swing reaches the ball before."""
    wall = {"side": "z-", "velocity": -1.0, "oscillation": {"amplitude": 0.25, "period": 1.0}}
    _, events = run(20.0, molecule=[ball([5.0, 5.0, 0.6], [0.0, 0.0, -0.5])], wall=[wall])
    hit = first_zero(lambda time: 0.1 + 0.5 * time - beat(time, 0.25, 1.0)[0], 0.0, 1.0)
    assert hit < 0.2 and events["time"][0] == pytest.approx(hit, abs=1e-9)
    speed = 0.5 - 1.0 + beat(hit, 0.25, 1.0)[1]  # at which the two come together
    assert events["impulse"][0] == pytest.approx(2.0 * speed, abs=1e-7)


def test_a_ball_that_a_floor_throws_up_in_time():
    """With gravity g and a floor of period T, a ball that lands with the speed g T / 2 at rest points flies on so."""
    pull, period = 1.0, 2.0
    floor = {"side": "z-", "oscillation": {"amplitude": 0.1, "period": period}}
    # The floor passes the box's face at 0, T, 2 T ... with the speed w. A ball that leaves it with v = g T / 2 is back
    # after a period, and leaves with w + e (v + w), which is v again for this e.
    w = 0.1 * 2.0 * np.pi / period
    v = pull * period / 2.0
    e = (v - w) / (v + w)
    one = ball([5.0, 5.0, 0.5], [0.0, 0.0, v])
    engine, events = run(
        21.0, molecule=[one], wall=[floor | {"restitution": e}], external={"gravity": [0.0, 0.0, -pull]}
    )
    assert events["time"] == pytest.approx(period * np.arange(1, 11), abs=1e-8)
    assert events["impulse"] == pytest.approx(np.full(10, 2.0 * v), abs=1e-7)


def test_a_sphere_that_breathes_keeps_its_ball_and_its_books():
    """Nothing gets out of a sphere whose radius oscillates; the energy is the work."""
    wall = {"shape": "sphere", "center": [0.0] * 3, "radius": 3.0, "oscillation": {"amplitude": 0.4, "period": 1.1}}
    engine, events = run(29.0, box=OPEN, molecule=[ball([0.5, 0.0, 1.0], [1.0, 0.3, 0.0]), CHAIN], wall=[wall])
    assert np.count_nonzero(events["bead"][:, 1] == -7) > 20
    for time in np.linspace(29.0, 30.0, 7):
        engine.advance(float(time))
        far = np.linalg.norm(frame_of(engine, float(time))[0], axis=1)
        assert far.max() < 2.5 - beat(time, 0.4, 1.1)[0] + 1e-11
    kept, work = gained(engine, 30.0)
    assert kept == pytest.approx(work, abs=1e-9) and energy(engine, frame_of(engine, 30.0)) > 0.0


def test_a_cylinder_may_slide_along_its_axis():
    """A rough pipe that moves along itself takes a ball along: its momentum is the impulse that the log has."""
    pipe = {"shape": "cylinder", "axis": "z", "center": [0.0] * 3, "radius": 3.0, "velocity": [0.0, 0.0, 0.5]}
    box = OPEN | {"boundary": ["open", "open", "periodic"]}
    one = ball([0.5, 0.0, 1.0], [1.0, 0.3, 0.0])
    engine, events = run(40.0, box=box, molecule=[one], wall=[pipe | {"tangential_restitution": 0.0}])
    assert len(events) > 5 and np.all(events["bead"][:, 1] == -7)
    _, velocity, _ = frame_of(engine, 40.0)
    assert velocity[0, 2] == pytest.approx(events["tangential"][:, 2].sum(), abs=1e-12)
    assert 0.2 < velocity[0, 2] < 0.5


def test_a_sphere_does_not_slide():
    wall = {"shape": "sphere", "center": [0.0] * 3, "radius": 3.0, "velocity": [0.0, 0.0, 0.5], "temperature": 1.0}
    with pytest.raises(ConfigError, match=r"wall\[0\].velocity: a sphere does not move along itself"):
        run(1.0, box=OPEN, molecule=[ball([0.0] * 3, [1.0, 0.0, 0.0])], wall=[wall])
