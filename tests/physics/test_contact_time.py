"""Contacts that last (the TC model): beads that would meet infinitely often in a finite time go on.

That single contacts have the right coefficient is shown by the case "contacts that last" against the all-pairs
reference engine (test_against_brute_force.py).
"""

import numpy as np
import pytest

from tests.reference import cases
from tests.reference.compare import expected
from tests.reference.engine import event_list, simulate
from tests.reference.program import run
from tests.reference.systems import Molecule, System
from tests.support.run_folders import command, write_input

COLLAPSE = 7 - 4 * np.sqrt(3)
"""Restitution below which a bead between two others brings them to rest (docs/theory/impulses.md)."""


END = 6.0


def row_of_three(restitution, contact_time):
    """Return two beads that approach a third between them, nearly along a line so that no two contacts are at once."""
    position = np.array([[2.0, 5.0, 5.0], [4.0, 5.0, 5.0], [6.5, 5.0, 5.0]])
    velocity = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [-1.0, 0.0, 0.0]])
    return System(
        [Molecule("monomer", count=3)],
        (10.0,) * 3,
        ("open",) * 3,
        restitution=restitution,
        position=position,
        velocity=velocity,
        contact_time=contact_time,
    )


def test_the_reference_has_both_sorts_of_contacts():
    events = event_list(simulate(cases.build("contacts that last"), events=60)[1])
    elastic = [event.restitution == 1 for event in events[: len(expected(cases.build("contacts that last"), 60))]]
    assert 5 < sum(elastic) < len(elastic) - 5


@pytest.mark.parametrize("contact_time", [0.05, 1e-3])
def test_three_beads_in_a_row_below_the_threshold(tmp_path, contact_time):
    """The middle one goes to and fro until its flights take less than the contact time, and then keeps its energy."""
    system = row_of_three(0.5 * COLLAPSE, contact_time)
    want = event_list(simulate(system, end=END)[1])
    log = run(system.input(END), tmp_path).events()
    assert [event.bead for event in want] == [tuple(pair) for pair in log.bead.tolist()]
    for name, got in (("time", log.time), ("impulse", log.impulse)):
        assert np.max(np.abs([float(getattr(event, name)) for event in want] - got)) < 1e-10
    law = [event.restitution for event in want]
    assert law[:2] == [0.5 * COLLAPSE] * 2 and law.count(1) > 0


def test_without_a_contact_time_they_meet_ever_more_often(tmp_path):
    """Flights shrink by one factor; with a contact time as short as the last of these, the first are the same."""
    times = run(row_of_three(0.5 * COLLAPSE, 1e-9).input(END), tmp_path).events().time
    flights = np.diff(times)
    shrinking = flights[1:8] / flights[:7]
    assert np.all(shrinking < 0.5) and abs(shrinking[5] / shrinking[4] - 1) < 0.01


def test_flights_shorter_than_the_clock_can_tell_end_a_run_with_one_message(tmp_path):
    path = write_input(tmp_path / "in.toml", row_of_three(0.03, 0.0).input(END))
    said = command(["run", path, "--output", tmp_path / "ended"], tmp_path, code=78)
    assert "more than 100000 contacts at one instant" in said and "contact.contact_time ends that" in said
    assert len(run(row_of_three(0.03, 1e-15).input(END), tmp_path).events()) < 20


def test_chains_that_hardly_rebound(tmp_path):
    """Beads on chains press on one another after a contact; with a contact time the box cools all the same."""
    result = run(
        {
            "box": {"size": [8.0, 8.0, 8.0]},
            "molecule": [{"kind": "chain", "beads": 8, "count": 24}],
            "initial": {"seed": 3},
            "contact": {"restitution": 0.1, "contact_time": 0.02},
            "run": {"end_time": 3.0},
            "output": {"report_every": 0.1, "events": True},
        },
        tmp_path,
    )
    time, energy = result.observable("kinetic_energy")
    assert len(time) == 31 and np.all(np.diff(energy) <= 1e-12 * energy[0])
    assert 0.01 < energy[-1] / energy[0] < 0.5
