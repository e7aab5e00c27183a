"""The published examples through `hpcchain run` and its event log, against tables of 34 digits."""

import numpy as np
import pytest

from tests.reference import tables
from tests.reference.program import run


def instants(log, count):
    """Return the log's contacts grouped by instant as [(time, [((kind, first, second), impulse)])], `count` of them."""
    groups = []
    for time, kind, bead, impulse in zip(log.time, log.kind, log.bead, log.impulse, strict=True):
        contact = ((int(kind), int(bead[0]), int(bead[1])), float(impulse))
        if groups and time - groups[-1][0] < 1e-6:
            groups[-1][1].append(contact)
        else:
            groups.append((time, [contact]))
    return [(time, sorted(contacts)) for time, contacts in groups[:count]]


@pytest.mark.parametrize("name", tables.SYSTEMS)
def test_event_table(name, tmp_path):
    """Same beads in the same order; times to 1e-10 plus what round-off makes of them, impulses likewise."""
    table = tables.load(name)
    system = tables.SYSTEMS[name]()
    log = run(system.input(end_time=float(table.time[-1]) + 1e-3), tmp_path).events()
    found = instants(log, len(table.time))
    assert len(found) == len(table.time)
    for k, (time, contacts) in enumerate(found):
        allowed = 1e-10 + 10 * table.allowed[k]
        assert [contact for contact, _ in contacts] == [contact for contact, _ in table.contacts[k]], f"instant {k}"
        assert abs(time - float(table.time[k])) < allowed, f"instant {k}"
        wanted = [float(impulse) for _, impulse in table.contacts[k]]
        assert np.max(np.abs(np.array([p for _, p in contacts]) - wanted)) < 10 * allowed, f"instant {k}"


def test_trimer_formula(tmp_path):
    """Contacts of the trimer at t_1 + (k - 1) P, with t_1 and P elliptic integrals evaluated to 18 digits."""
    log = run(tables.trimer().input(end_time=35.0), tmp_path).events()
    exact = 3.13359423732462494 + 3.68939049002904533 * np.arange(9)
    assert log.bead.tolist() == [[0, 2]] * 9
    assert np.max(np.abs(log.time - exact)) < 1e-12
