"""A run in which beads that lose energy meet ever more often says so, once; others say nothing."""

from types import SimpleNamespace

import pytest

from hpcchain.errors import ConfigError
from hpcchain.model.physics.constants import ExtendedPhysics, WallConstants
from hpcchain.model.system import Physics
from hpcchain.observe.runlog import duration
from hpcchain.run.guards.collapse import CollapseWatch
from hpcchain.sector.collapse import not_a_number, stuck
from hpcchain.sector.core import failure_of
from hpcchain.sector.events import loop

TICK = 2.0**-6


def engine(time, contacts, walls=0):
    """Return what the watch reads of an engine."""
    return SimpleNamespace(time=time, counters={"contacts": contacts, "wall_contacts": walls})


class Clock:
    """Wall seconds that a test sets."""

    now = 0.0

    def __call__(self):
        return self.now


def looked(restitution, *looks, beads=100, contact_time=0.0):
    """Return what the watch says at looks of (wall seconds, engine)."""
    clock = Clock()
    watch = CollapseWatch(Physics(tick=TICK, restitution=restitution, contact_time=contact_time), beads, clock=clock)
    said = []
    for clock.now, state in looks:
        said.append(watch.warning(state))
    return said


def test_contacts_in_no_time_are_reported_once():
    said = looked(
        0.5, (0.0, engine(1.0, 500)), (1.5, engine(1.0 + 1e-9, 100_500, 1000)), (3.0, engine(1.0 + 2e-9, 300_000))
    )
    assert said[0] is None and said[2] is None
    assert said[1].startswith("101000 contacts in 1e-09 of time") and "contact.contact_time" in said[1]


@pytest.mark.parametrize(
    ("restitution", "passed", "contacts", "wall"),
    [
        (0.5, 1e-9, 1900, 1.5),  # few
        (0.5, 1e-9, 100_000, 0.5),  # too soon to know
        (0.5, 100_000 / (100 * 10) * TICK, 100_000, 1.5),  # ten a bead and tick, as the densest liquids
    ],
)
def test_other_runs_are_not_warned(restitution, passed, contacts, wall):
    assert looked(restitution, (0.0, engine(2.0, 7)), (wall, engine(2.0 + passed, 7 + contacts))) == [None, None]


def test_slow_runs_are_reported_when_they_have_had_enough_contacts():
    said = looked(0.5, *((2.0 * k, engine(1.0 + 1e-9 * k, 600 * k)) for k in range(6)))
    assert said[:4] == [None] * 4 and said[4].startswith("2400 contacts in 4e-09 of time") and said[5] is None


@pytest.mark.parametrize(
    ("restitution", "contact_time", "way"),
    [
        (0.5, 0.0, "a contact.contact_time ends that"),
        (0.5, 1e-9, "a longer contact.contact_time ends that"),
        (0.0, 0.0, "take a contact.restitution above 0 and a contact.contact_time"),
        (0.0, 1e-9, "take a contact.restitution above 0 and a contact.contact_time"),
    ],
)
def test_what_would_help_is_what_has_not_been_tried(restitution, contact_time, way):
    reports = looked(restitution, (0.0, engine(1.0, 0)), (2.0, engine(1.0001, 10**6)), contact_time=contact_time)[1]
    assert reports.endswith(f"; {way}")
    error = stuck(Physics(tick=TICK, restitution=restitution, contact_time=contact_time), 7)
    assert isinstance(error, ConfigError) and str(error).startswith("bead 7: more than 100000 contacts at one instant")
    assert str(error).endswith(f"; {way}")


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("gravity", [[0.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
def test_contacts_within_the_contact_time_are_not_helped_by_a_longer_one(restitution, gravity):
    """They keep their energy already; under gravity it is beads at rest that hop."""
    physics = Physics(
        tick=TICK, restitution=restitution, contact_time=0.5, extended=ExtendedPhysics(gravity=tuple(gravity))
    )
    clock = Clock()
    watch, said = CollapseWatch(physics, 1, 1e9, clock), []
    for clock.now, state in ((0.0, engine(0.0, 0)), (2.0, engine(0.01, 0, 10**6))):
        said.append(watch.warning(state))
    for text in (said[1], str(stuck(physics, 7))):
        assert "longer" not in text and "contact.contact_time ends" not in text
        assert ('steps.integrator = "contact"' in text) == any(gravity)
        assert any(gravity) or "gaps" in text


def test_walls_that_take_energy_collapse_too():
    walls = (WallConstants("x-", None, None, None, None, 0.0, 0.0, 0.5),)
    clock = Clock()
    watch, said = CollapseWatch(Physics(tick=TICK, extended=ExtendedPhysics(walls=walls)), 1, 1e9, clock), []
    for clock.now, state in ((0.0, engine(0.0, 0)), (2.0, engine(0.01, 0, 10**6))):
        said.append(watch.warning(state))
    assert "inelastic collapse" in said[1] and said[1].endswith("a contact.contact_time ends that")


def test_beads_that_keep_their_energy_are_wedged():
    error = stuck(Physics(tick=TICK), 3, 0.25)
    assert isinstance(error, ConfigError) and str(error).startswith("bead 3: t 0.25: contacts at one instant")


def test_beads_that_rattle_in_narrow_gaps_are_reported_with_what_the_run_takes():
    def reports(end):
        clock = Clock()
        watch, said = CollapseWatch(Physics(tick=TICK), 100, end, clock), []
        states = engine(1.0, 0), engine(1.001, 0, 10**6), engine(1.002, 0, 2 * 10**6)
        for clock.now, state in zip((0.0, 2.0, 4.0), states, strict=True):
            said.append(watch.warning(state))
        return said

    first, text, again = reports(1001.0)
    assert first is None and again is None
    assert text.startswith("1000000 contacts in 0.001 of time: beads rattle") and "takes 23.1 days more" in text
    assert reports(1.01) == [None] * 3  # over in no time


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (70.0, "70 s"),
        (600.0, "10 min"),
        (1e5, "27.8 h"),
        (1e6, "11.6 days"),
        (1e9, "31.7 years"),
        (float("inf"), "longer than anyone can wait"),
    ],
)
def test_wall_times_are_spelled(seconds, text):
    assert duration(seconds) == text


def test_what_came_before_the_first_look_does_not_count():
    """A run that goes on from a checkpoint begins at a time and with a count of its own."""
    assert looked(0.5, (0.0, engine(1e-9, 10**9)), (2.0, engine(1.0, 10**9 + 10))) == [None, None]


def test_steps_that_are_too_long_are_the_inputs_fault():
    """On one rank and on several alike."""
    found = not_a_number(Physics(tick=TICK, propagator="variational", step=10.0), "a contact time")
    assert found.exit_code == 78 and "a contact time is not a number: make propagator.step smaller" in str(found)
    exact = not_a_number(Physics(tick=TICK, step=10.0), "a contact time")
    assert exact.exit_code == 70 and "extreme values" in str(exact)
    assert str(failure_of(loop.NOT_A_NUMBER, Physics(tick=TICK, propagator="rattle"), None, 0.0)) == str(found)
