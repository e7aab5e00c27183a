"""A run in which beads that lose energy meet ever more often says so, once; others say nothing."""

from types import SimpleNamespace

import pytest

from hpcchain.model.system import Physics
from hpcchain.run.collapse import CollapseWatch

TICK = 2.0**-6


def engine(time, contacts, walls=0):
    """Return what the watch reads of an engine."""
    return SimpleNamespace(time=time, counters={"contacts": contacts, "wall_contacts": walls})


class Clock:
    """Wall seconds that a test sets."""

    now = 0.0

    def __call__(self):
        return self.now


def looked(restitution, *looks, beads=100):
    """Return what the watch says at looks of (wall seconds, engine)."""
    clock = Clock()
    watch = CollapseWatch(Physics(tick=TICK, restitution=restitution), beads, clock)
    said = []
    for clock.now, state in looks:
        said.append(watch.warning(state))
    return said


def test_contacts_in_no_time_are_told_once():
    said = looked(0.5, (0.0, engine(1.0, 500)), (1.5, engine(1.0 + 1e-9, 100_500, 1000)),
                  (3.0, engine(1.0 + 2e-9, 300_000)))  # fmt: skip
    assert said[0] is None and said[2] is None
    assert said[1].startswith("101000 contacts in 1e-09 of time") and "contact.contact_time" in said[1]


@pytest.mark.parametrize(("restitution", "passed", "contacts", "wall"), [
    (1.0, 1e-9, 100_000, 1.5),  # keeps its energy
    (0.5, 1e-9, 5000, 1.5),  # few
    (0.5, 1e-9, 100_000, 0.5),  # too soon to tell
    (0.5, 100_000 / (100 * 10) * TICK, 100_000, 1.5),  # ten a bead and tick, as the densest liquids
])  # fmt: skip
def test_other_runs_are_not_warned(restitution, passed, contacts, wall):
    assert looked(restitution, (0.0, engine(2.0, 7)), (wall, engine(2.0 + passed, 7 + contacts))) == [None, None]


def test_what_came_before_the_first_look_does_not_count():
    """A run that goes on from a checkpoint begins at a time and with a count of its own."""
    assert looked(0.5, (0.0, engine(1e-9, 10**9)), (2.0, engine(1.0, 10**9 + 10))) == [None, None]
