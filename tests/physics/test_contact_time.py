"""Contacts that last (the TC model): beads that would meet infinitely often in a finite time go on.

That single contacts have the right coefficient is shown by the case "contacts that last" against the all-pairs
reference engine (test_against_brute_force.py).
"""

import numpy as np
import pytest

from hpcchain.config.load import config_from_table
from hpcchain.layout import arrays as L
from hpcchain.model.starts.start import build_system
from hpcchain.sector.serial import Engine
from tests.reference import cases
from tests.reference.compare import expected
from tests.reference.engine import event_list, simulate
from tests.reference.program import run
from tests.reference.systems import Molecule, System
from tests.support.run_folders import command, write_input
from tests.support.whole import frame_of

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


def test_flights_shorter_than_the_clock_resolves_end_a_run_with_one_message(tmp_path):
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


def rough_energies(molecules):
    """Return energies of motion and spins, with e_n = 1, e_t = 0 and a long contact time, after 0, 1, ... contacts."""
    contact = {"tangential_restitution": 0.0, "contact_time": 50.0}
    start = {"box": {"size": [10.0] * 3}, "initial": {"method": "explicit"}, "run": {"end_time": 4.0}}
    system = build_system(config_from_table(start | {"molecule": molecules, "contact": contact}, "in"))
    engine, energies = Engine(system), {}
    for time in np.linspace(0.0, 4.0, 201):
        engine.advance(time)
        spin, velocity = engine.state().extra[:, L.SPIN : L.SPIN + 3], frame_of(engine, time)[1]
        energy = 0.5 * np.sum(system.topology.whole().mass @ velocity**2 + system.topology.whole().moment @ spin**2)
        energies.setdefault(engine.counters["contacts"], []).append(energy)
    return energies, engine.counters["ties"], velocity


def ball(*place, speed=0.0):
    """Return the table of a single bead that moves along x."""
    return {"kind": "monomer", "positions": [list(place)], "velocities": [[speed, 0.0, 0.0]]}


FIRST = ball(1.0, 5.2, 5.0, speed=1.0)
SECOND = ball(2.4, 5.0, 5.0)
CHAIN = {"kind": "chain", "beads": 2, "positions": [[2.4, 5.0, 5.0], [2.4, 5.0, 6.0]], "velocities": [[0.0] * 3] * 2}


@pytest.mark.parametrize("second", [SECOND, CHAIN], ids=["single", "molecule"])
def test_a_contact_that_lasts_is_elastic_across_too(second):
    """Rough beads: only the first of their contacts takes energy from motion and spins."""
    energies, _, _ = rough_energies([FIRST, second, ball(3.9, 5.1, 5.3)])
    assert energies[0][0] - energies[1][0] > 1e-3 and max(energies) > 1
    kept = [energy for count, some in energies.items() if count > 0 for energy in some]
    assert kept == pytest.approx([kept[0]] * len(kept), abs=1e-13)


def test_contacts_at_one_instant_that_last_are_elastic_across_too():
    """A bead that has just been hit meets two at once, to both sides of its way."""
    _, _, velocity = rough_energies([FIRST, SECOND])
    way = velocity[1] / np.linalg.norm(velocity[1])
    across = np.array([-way[1], way[0], 0.0])
    met = [ball(*(np.array([2.4, 5.0, 5.0]) + 1.8 * way + side * across).tolist()) for side in (0.6, -0.6)]
    energies, ties, _ = rough_energies([FIRST, SECOND, *met])
    assert ties == 1 and energies[0][0] - energies[1][0] > 1e-3 and max(energies) == 3
    assert energies[3] == pytest.approx([energies[1][0]] * len(energies[3]), abs=1e-13)
