"""The frame that lists are kept in moves with the centre of mass, where nothing changes its velocity, and exactly."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.model.system import OPEN, PERIODIC, WALL, State
from hpcchain.sector.search.list_place import ROUND, turned
from hpcchain.sector.setup.allocate import parameters
from hpcchain.sector.setup.drift import drift_of, motion_of, place_in_frame, set_drift, velocity_in_frame
from tests.support.extended import with_extended
from tests.support.gases import gas

ROUGH = {"tangential_restitution": 0.5, "seed": 1, "temperature": 1.0}
SPEED = np.array([31.0, -17.0, 5.0])


def moving(velocity, boundary=(PERIODIC,) * 3, extended=None):
    """Return a System of single beads whose centre of mass has a velocity."""
    system = gas(["monomer"] * 27, boundary=boundary, pitch=1.5)
    mass = system.topology.whole().mass
    speeds = system.state.velocity - (mass @ system.state.velocity) / mass.sum() + np.array(velocity)
    return with_extended(replace(system, state=State.at_time_zero(system.state.position, speeds)), **extended or {})


def turns_of(system, parts=1):
    """Return the frame's velocity in periods a tick, beads being given in so many parts."""
    composition = system.topology
    ids = np.array_split(np.arange(composition.beads), parts)
    return drift_of(system, [motion_of(composition, part, system.state.velocity[part]) for part in ids])


@pytest.mark.parametrize("parts", [1, 3])
def test_the_frame_moves_with_the_centre_of_mass(parts):
    system = moving(SPEED)
    turns = turns_of(system, parts)
    assert np.array_equal(turns * ROUND, np.rint(turns * ROUND))
    rest = velocity_in_frame(system, turns, np.tile(SPEED, (2, 1)))
    assert np.abs(rest).max() <= 0.5 * system.box.size.max() / system.physics.tick / ROUND * (1.0 + 1e-6)


@pytest.mark.parametrize(
    "velocity, boundary, extended, moves",
    [
        ((0.0, 0.0, 0.0), (PERIODIC,) * 3, {}, (False, False, False)),
        ((0.05, 0.0, 0.0), (PERIODIC,) * 3, {}, (False, False, False)),
        (SPEED, (PERIODIC, OPEN, WALL), {}, (True, True, False)),
        (SPEED, (PERIODIC, OPEN, WALL), {"rough": ROUGH}, (False, False, False)),
        (SPEED, (PERIODIC,) * 3, {"rough": ROUGH}, (True, True, True)),
        (SPEED, (PERIODIC,) * 3, {"gravity": [0.0, 0.0, -1.0]}, (False, False, False)),
        (SPEED, (PERIODIC,) * 3, {"thermostat": {"temperature": 1.0, "rate": 1.0}}, (False, False, False)),
        (SPEED, (PERIODIC,) * 3, {"fixed": True}, (False, False, False)),
        (1e300 * SPEED, (PERIODIC,) * 3, {}, (False, False, False)),
    ],
)
def test_the_frame_rests_where_that_velocity_may_change_or_is_small(velocity, boundary, extended, moves):
    assert tuple(turns_of(moving(velocity, boundary, extended)) != 0.0) == moves


@pytest.mark.parametrize("ticks", [0.0, 12345.0, 2.0**40 + 7.0])
def test_what_has_the_frames_velocity_stays_where_it_is(ticks):
    """Kernels and arrays agree, and no run is so long that the frame's place is not exact."""
    system = moving(SPEED)
    turns, tick, size = turns_of(system), system.physics.tick, system.box.size
    par, _ = parameters(system, 0.2, 0.0)
    set_drift(par, turns)
    gone = np.array([int(turn * ROUND) * int(ticks) % int(ROUND) / ROUND for turn in turns]) + turns * 0.25
    place = place_in_frame(system, turns, (size * gone)[None], (ticks, 0.25 * tick))
    assert np.abs(place / size).max() < 1e-12
    assert np.allclose([turned(par, k, ticks, 0.25 * tick) for k in range(3)], gone, rtol=0.0, atol=1e-12)
    assert np.allclose(par[L.DRIFT : L.DRIFT + 3], SPEED, rtol=1e-3)
