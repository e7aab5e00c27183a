"""Thermal walls and the Andersen thermostat: energies less heat, equilibrium of beads and of chains, waits."""

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.layout.arrays import SIDE_NAMES
from hpcchain.sector.serial import Engine
from tests.physics.test_moving_walls import ball, gained, run
from tests.support.extended import wall_table, with_extended
from tests.support.gases import gas
from tests.support.whole import frame_of

TRIMER = {
    "kind": "chain",
    "beads": 3,
    "mass": [1.0, 2.0, 4.0],
    "positions": [[7.0, 7.0, z] for z in (2.0, 3.0, 4.0)],
    "velocities": [[0.0, 1.0, 0.0], [0.0, -0.5, 0.0], [0.0, 1.0, 0.0]],
}
BALL = ball([5.0, 5.0, 5.0], [0.3, 0.2, -1.0])


def mean_energies(engine, end):
    """Return the mean kinetic energies of the ball and of the trimer over a run."""
    found = []
    for time in np.arange(50.0, end, 3.0):
        engine.advance(float(time))
        velocity = frame_of(engine, float(time))[1]
        single = 0.5 * engine.system.topology.whole().mass * np.sum(velocity**2, axis=1)
        found.append([single[0], single[1:].sum()])
    return np.mean(found, axis=0)


def test_heat_is_what_the_energy_gains():
    """Draws of the thermostat, and of walls of which one moves: kinetic energy less heat and work is kept."""
    thermostat = {"name": "andersen", "temperature": 1.0, "rate": 0.5}
    engine, events = run(30.0, molecule=[BALL, TRIMER], thermostat=thermostat)
    assert np.count_nonzero(events["kind"] == 6) > 10
    assert gained(engine, 30.0)[0] == pytest.approx(engine.sums[L.SUM_HEAT] * engine.energy_quantum, abs=1e-9)
    walls = [{"side": "z-", "temperature": 2.0, "velocity": 0.02}, {"side": "x+", "temperature": 1.0}]
    engine, events = run(30.0, molecule=[BALL, TRIMER], wall=walls)
    grown, work = gained(engine, 30.0)
    assert work != 0.0 and grown == pytest.approx(work + engine.sums[L.SUM_HEAT] * engine.energy_quantum, abs=1e-9)


def test_impulses_of_thermal_walls_are_what_momentum_gains():
    """Event by event, along the normal: what is drawn across acts along it, too, by way of the bonds."""
    cold = gas(["chain3", "monomer", "dimer", "ring", "chain5"], 1, 4.2, None, (1, 1, 1))
    walls = [wall_table(side=side, temperature=1.0, velocity=0.01 * (side == "x-")) for side in SIDE_NAMES]
    system = with_extended(cold, walls=walls, seed=3)
    engine = Engine(system, log_events=True)
    engine.advance(16.0)
    log = np.sort(engine.drain_events(), order="time")
    engine, seen = Engine(system), 0
    for row in log[np.append(np.diff(log["time"]) > 0.0, True)]:
        momenta = []
        for time in (float(np.nextafter(row["time"], 0.0)), float(row["time"])):
            engine.advance(time)
            momenta.append(system.topology.whole().mass @ engine.frame(time)[1][np.argsort(engine.ids)])
        code = -1 - row["bead"][1]
        if code >= 0:
            gained = (momenta[1] - momenta[0])[code % 3] * (1.0 if code < 3 else -1.0)
            assert row["impulse"] == pytest.approx(gained, abs=1e-11)
            seen += 1
    assert seen > 15 and engine.sums[L.SUM_WORK] != 0


def test_a_wall_that_slides_pushes_a_bead_on_a_fixed_one_no_more_than_it_moves():
    """Along such a bead's bond there is no motion, only the wall's speed over a mobility of round-off."""
    places = [[1.5 + 2.2 * (k % 4), 1.2 + 1.8 * (k // 4), 0.6 + 0.043 * k] for k in range(20)]
    pendulums = {
        "kind": "chain",
        "beads": 2,
        "count": 20,
        "fixed": [0],
        "positions": [place for x, y, z in places for place in ([x, y, z], [x + 1.0, y, z])],
        "velocities": [[0.0, 0.0, 0.0], [0.0, 0.7, -1.0]] * 20,
    }
    wall = {"side": "z-", "temperature": 2.0, "velocity": [0.5, 0.2, 0.0]}
    engine, events = run(100.0, molecule=[pendulums], wall=[wall])
    at_the_wall = events[events["bead"][:, 1] == -3]
    assert len(at_the_wall) > 500 and np.abs(at_the_wall["impulse"]).max() < 100.0
    grown, work = gained(engine, 100.0)
    assert work != 0.0 and grown == pytest.approx(work + engine.sums[L.SUM_HEAT] * engine.energy_quantum, abs=1e-9)


def test_waits_are_exponential_and_draws_their_own():
    """The mean wait is 1 / rate, and so is its spread; two molecules' draws are not those of one."""
    thermostat = {"name": "andersen", "temperature": 1.0, "rate": 2.0}
    _, events = run(1000.0, molecule=[BALL, TRIMER], thermostat=thermostat)
    for bead in (0, 1):
        drawn = events[(events["kind"] == 6) & (events["bead"][:, 0] == bead)]
        wait = np.diff(drawn["time"])
        assert len(wait) == pytest.approx(2000, abs=150)
        assert np.mean(wait) == pytest.approx(0.5, rel=0.07) and np.std(wait) == pytest.approx(0.5, rel=0.1)


@pytest.mark.long
@pytest.mark.parametrize("source", ["andersen", "walls"])
def test_equilibrium_has_the_temperature_of_its_source(source):
    """A ball has 3 T / 2, a trimer with two bonds 7 T / 2, whatever its masses."""
    tables = {"thermostat": {"name": "andersen", "temperature": 1.5, "rate": 1.0}}
    if source == "walls":
        tables = {"wall": [{"side": side, "temperature": 1.5} for side in ("x-", "x+", "y-", "y+", "z-", "z+")]}
    engine, _ = run(
        10.0,
        molecule=[BALL, TRIMER],
        box={"size": [4.5] * 3, "boundary": ["wall"] * 3, "origin": [4.4, 4.4, 1.0]},
        **tables,
    )
    single, chain = mean_energies(engine, 20000.0)
    assert single == pytest.approx(1.5 * 1.5, rel=0.04) and chain == pytest.approx(3.5 * 1.5, rel=0.04)
