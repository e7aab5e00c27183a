"""A system with a common speed is the same system: its lists, windows and ghosts cost what they do at rest."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.model.system import OPEN, PERIODIC, WALL, State
from hpcchain.parallel.tuning.window_length import RENEWALS
from hpcchain.sector.serial import Engine
from tests.support.gases import MIXTURE, gas
from tests.support.identity import parallel, serial

END = 0.6
BOXES = {
    "periodic": ((PERIODIC,) * 3, (150.0, -90.0, 220.0)),
    "walls": ((PERIODIC, PERIODIC, WALL), (150.0, -90.0, 0.0)),
    "open": ((OPEN,) * 3, (150.0, -90.0, 220.0)),
}
KINDS = {"monomers": (["monomer"], 1.4), "mixture": (MIXTURE, 4.2)}


def at_rest(kind, boundary):
    """Return a System of some sixty molecules whose centre of mass rests."""
    kinds, pitch = KINDS[kind]
    system = gas(kinds * (64 // len(kinds)), seed=3, pitch=pitch, cells=(4, 4, 4), boundary=boundary)
    mass = system.topology.whole().mass
    return moving(system, -(mass @ system.state.velocity) / mass.sum())


def moving(system, velocity):
    """Return a System with a velocity added to that of all beads."""
    return replace(system, state=State.at_time_zero(system.state.position, system.state.velocity + np.array(velocity)))


def renewals(system, ranks):
    """Return the Outcome on ranks, and how often a list was renewed there."""
    if ranks == 1:
        engine = Engine(system)
        engine.advance(END)
        return serial(system, END), engine.counters["relists"]
    outcome = parallel(system, END, ranks)
    return outcome, sum(report["relists"] for report in outcome.reports)


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_common_speed_changes_neither_contacts_nor_what_they_cost(kind, box):
    boundary, velocity = BOXES[box]
    rest = at_rest(kind, boundary)
    fast = moving(rest, velocity)
    slow, few = renewals(rest, 1)
    alone, many = renewals(fast, 1)
    assert many <= 1.5 * few + 5
    assert np.array_equal(slow.events["bead"], alone.events["bead"]) and len(alone.events) > 10
    assert np.allclose(slow.events["time"], alone.events["time"], rtol=0.0, atol=1e-7)
    slow, few = renewals(rest, 2)
    two, many = renewals(fast, 2)
    assert many <= 1.5 * few + 5
    for name in ("skin_refreshes", "ghost_rebuilds", "windows_undone"):
        assert two.reports[0].get(name, 0) <= 1.5 * slow.reports[0].get(name, 0) + 2
    for other in (two, parallel(fast, END, 3)):
        assert alone.sums == other.sums
        assert alone.events.tobytes() == other.events.tobytes()
        assert all(np.array_equal(a, b) for a, b in zip(alone.frame, other.frame, strict=True))


def test_windows_are_no_longer_than_a_few_ways_across_the_box():
    """Segments end where beads cross sides, and what a window has closed is looked at until it ends."""
    velocity = (1500.0, -3000.0, 500.0)
    slow = gas(["monomer"] * 4, seed=3, pitch=4.0, cells=(2, 2, 1), boundary=(PERIODIC,) * 3)
    fast = moving(slow, velocity)
    windows = [parallel(system, 1.0, 2).reports[0]["window"] for system in (slow, fast)]
    most = RENEWALS[1] * 0.25 * np.min(fast.box.size) / np.linalg.norm(velocity)
    assert windows[1] <= most < 0.1 * windows[0]
