"""Exactly simultaneous contacts of molecules moved by collocation: the energy that the projection takes is given back.

With two stages and long steps velocities are off the bonds by 1e-4 where a contact cuts a step, so that each
projection takes energy far above round-off.
"""

import numpy as np
import pytest

from hpcchain.model.system import OPEN, PERIODIC, WALL
from hpcchain.sector.serial import Engine
from tests.support.kernel_tools import chain_bonds, make_system
from tests.support.whole import frame_of

OPENING = 0.5
"""Angle of a trimer's arms to the line that they would lie on."""


def trimer(centre, towards=-1.0, speed=1.0, turn=0.8, masses=(1.0, 2.0, 1.0)):
    """Return a trimer symmetric about the line through its centre along y: it flaps, both ends alike."""
    x = np.array(
        [
            [-np.cos(OPENING), towards * np.sin(OPENING), 0.0],
            [0.0, 0.0, 0.0],
            [np.cos(OPENING), towards * np.sin(OPENING), 0.0],
        ]
    )
    v = turn * np.array(
        [
            [np.sin(OPENING), towards * np.cos(OPENING), 0.0],
            [0.0, 0.0, 0.0],
            [-np.sin(OPENING), towards * np.cos(OPENING), 0.0],
        ]
    )
    return chain_bonds(3), x + centre, v + [0.0, towards * speed, 0.0], np.array(masses)


def ball(x, v=(0.0, 0.0, 0.0), mass=1.0):
    return np.empty((0, 2), dtype=np.int64), np.array([x], float), np.array([v], float), np.array([mass])


def systems():
    """Return name -> molecules and boundary."""
    ends = np.cos(OPENING)
    over = trimer((0.0, 2.0, 0.0))
    return {
        "two ends on a wall": ([over], (OPEN, WALL, OPEN)),
        "two ends on two balls": ([over, ball((-ends, -1.0, 0.0)), ball((ends, -1.0, 0.0))], (OPEN,) * 3),
        "two ends on a heavy and a light ball": (
            [over, ball((-ends, -1.0, 0.0), mass=5.0), ball((ends, -1.0, 0.0), mass=0.3)],
            (OPEN,) * 3,
        ),
        "two trimers, end to end": ([over, trimer((0.0, -2.0, 0.0), towards=1.0)], (OPEN,) * 3),
        "two trimers in a periodic box": ([over, trimer((0.0, -2.0, 0.0), towards=1.0)], (PERIODIC,) * 3),
    }


def invariants(system, position, velocity):
    """Return energy and momentum."""
    mass = system.topology.whole().mass[:, None]
    return 0.5 * np.sum(mass * velocity**2), np.sum(mass * velocity, axis=0)


def tied(events):
    """Return how many contacts share their instant with another."""
    return len(events) - len(np.unique(events["time"]))


@pytest.mark.parametrize("name", systems())
@pytest.mark.parametrize(("stages", "step"), [(2, 0.4), (3, 0.4), (2, 0.1)])
def test_energy_and_momentum_to_round_off(name, stages, step):
    molecules, boundary = systems()[name]
    system = make_system(
        molecules,
        (9.0, 9.0, 9.0),
        np.array(boundary),
        origin=(-4.5, -4.5, -4.5),
        propagator="collocation",
        stages=stages,
        step=step,
    )
    energy, momentum = invariants(system, system.state.position, system.state.velocity)
    engine, count = Engine(system, log_events=True), 0
    for time in np.arange(1.0, 9.0):
        engine.advance(time)
        events = engine.drain_events()
        count += tied(events)
        now = invariants(system, *frame_of(engine, time)[:2])
        assert abs(now[0] / energy - 1.0) < 2e-14
        if WALL not in boundary:
            np.testing.assert_allclose(now[1], momentum, atol=1e-13)
    assert count >= 1, "nothing was simultaneous"
