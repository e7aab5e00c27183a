"""What holds in the engine for every method that solves for its motion: collocation, its variants, rattle, variational.

Any bond graph, exact contacts, and no trace of restarts, lists and cells; orders and laws are in the tests of each.
"""

import numpy as np
import pytest

from hpcchain.model.system import System as Start
from hpcchain.sector.serial import Engine
from tests.reference import cases
from tests.support.solved import RING, STAR, bits, invariants, start, stretched, tumbling
from tests.support.whole import frame_of, state_of


def collocation(stages, step, **keys):
    """Return a [propagator] table."""
    return {"name": "collocation", "stages": stages, "step": step} | keys


RATTLE = {"name": "rattle"}
EXACT = {"name": "variational", "collision": "exact"}
LAW = {"name": "variational"}


@pytest.mark.parametrize(
    ("propagator", "end", "contacts", "energy"),
    [
        (collocation(4, 0.04), 40.0, 100, 1e-13),
        (RATTLE | {"step": 0.02}, 10.0, 25, 0.1),
        (EXACT | {"step": 0.02}, 10.0, 25, 0.1),
        (LAW | {"step": 0.02}, 10.0, 25, 0.1),
    ],
    ids=["collocation", "rattle", "exact", "variational"],
)
@pytest.mark.parametrize("keys", [RING, STAR], ids=["rings", "stars"])
def test_rings_and_stars(keys, propagator, end, contacts, energy, tmp_path):
    """Any bond graph, unequal masses, periodic images, contacts within and between molecules."""
    system = tumbling(**keys)
    engine = Engine(start(system, tmp_path, **propagator), log_events=True)
    engine.advance(end)
    position, velocity, _ = frame_of(engine, end)
    before, after = (invariants(system, x, v) for x, v in ((system.position, system.velocity), (position, velocity)))
    assert len(engine.drain_events()) > contacts
    assert abs(after[0] / before[0] - 1) < energy
    assert np.max(np.abs(after[1:4] - before[1:4])) < 1e-12
    assert stretched(system, position) < (1e-14 if propagator["name"] == "collocation" else 1e-13)


@pytest.mark.parametrize(
    ("propagator", "end", "contacts"),
    [
        (collocation(3, 0.1), 2.0, 40),
        (LAW | {"step": 0.05}, 1.0, 15),
    ],
    ids=["collocation", "variational"],
)
def test_gap_is_zero_at_every_contact(propagator, end, contacts, tmp_path):
    """Of the solutions up to that time: the polynomials' own roots are off by far more."""
    system = cases.build("everything")
    whole = start(system, tmp_path, **propagator)
    engine = Engine(whole, log_events=True)
    engine.advance(end)
    events = engine.drain_events()
    assert len(events) > contacts
    engine = Engine(whole)
    for time, kind, (first, second) in zip(events["time"], events["kind"], events["bead"], strict=True):
        engine.advance(float(np.nextafter(time, 0)))
        position, _, image = frame_of(engine, float(time))
        x = position + image * np.array(system.size)
        if kind == 0:
            r = x[first] - x[second]
            r -= np.array([5.0, 0.0, 5.4]) * np.rint(r / [5.0, 1.0, 5.4])
            gap = np.linalg.norm(r) - (system.diameter[first] + system.diameter[second]) / 2
        else:
            wall = 0.2 if second == -2 else 0.2 + 4.6
            gap = abs(x[first, 1] - wall) - system.diameter[first] / 2
        assert abs(gap) < 1e-13


@pytest.mark.parametrize(
    ("propagator", "end", "contacts"),
    [
        (collocation(6, 0.02), 6.0, 150),
        (collocation(3, 0.1), 6.0, 150),
        (collocation(2, 0.2), 6.0, 150),
        (collocation(3, 0.1, variant="index1"), 3.0, 60),
        (collocation(3, 0.1, variant="paper", stage_solver="newton"), 3.0, 60),
        (collocation(3, 0.1, contact_search="nested"), 3.0, 60),
        (RATTLE | {"step": 0.05}, 3.0, 60),
        (LAW | {"step": 0.2}, 3.0, 60),
        (LAW | {"step": 0.02}, 3.0, 60),
    ],
    ids=["s = 6", "s = 3", "s = 2", "index1", "paper", "nested", "rattle", "variational", "variational, short"],
)
def test_restarts_and_lists_leave_no_trace(propagator, end, contacts, tmp_path):
    """Other shells and cells, and an engine made anew from the state at odd times: the same bits and events."""
    whole = start(cases.build("everything"), tmp_path, **propagator)
    engine = Engine(whole, log_events=True)
    engine.advance(end)
    events, wanted = engine.drain_events(), bits(engine, end)
    assert len(events) > contacts
    for shell, cell in ((0.05, None), (0.4, 2.0)):
        other = Engine(whole, log_events=True, shell=shell, cell=cell)
        other.advance(end)
        assert other.drain_events().tobytes() == events.tobytes()
        assert bits(other, end) == wanted
    rows, state = [], whole.state
    for time in (0.7137, 2.0001, 2.7333, end):
        part = Engine(Start(whole.box, whole.topology, state, whole.physics), log_events=True, shell=0.2)
        part.advance(time)
        rows.append(part.drain_events())
        state = state_of(part)
    assert np.concatenate(rows).tobytes() == events.tobytes()
    assert bits(part, end) == wanted
