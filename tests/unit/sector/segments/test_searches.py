"""A molecule's beads searched in two passes have the events that each has when it is searched by itself."""

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import PARTNER_BITS
from hpcchain.sector.segments.searches import search_molecule, search_one
from hpcchain.sector.serial import Engine
from tests.support.gases import MIXTURE, gas
from tests.support.kernel_tools import events_kept


def events(s, search):
    """Return times and events of all beads after a search."""
    s.event_time[:] = np.nan
    s.next_event[:] = -77
    search(s)
    return s.event_time.copy(), s.next_event.copy()


def one_by_one(s):
    for i in range(s.scalars[L.SCALAR_BEADS]):
        search_one(s, i)


def by_molecules(s):
    for m in range(s.scalars[L.SCALAR_MOLECULES]):
        search_molecule(s, m)


@pytest.mark.parametrize("shell", [0.3, 1.5])
def test_two_passes_find_what_single_searches_find(shell):
    engine = Engine(gas(MIXTURE * 3, 1, 4.3), shell=shell)
    met = renewed = 0
    for time in np.arange(0.25, 10.0, 0.25):
        engine.advance(time)
        s = engine.sector
        with events_kept(s):
            expected, found = events(s, one_by_one), events(s, by_molecules)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
        chains = s.bounds[:, L.ACCELERATION] != 0.0
        partners = found[1][chains, L.EVENT_BITS] >> PARTNER_BITS
        met += np.sum(partners >= 0)
        renewed += np.sum(partners == L.RELIST)
    assert met > 10 and renewed > 50, (met, renewed)


def test_candidates_that_do_not_fit_are_met_at_once():
    engine = Engine(gas(MIXTURE * 3, 1, 4.3), shell=1.5)
    engine.advance(0.5)
    s = engine.sector
    expected = events(s, by_molecules)
    longest = int(s.lists[:, L.LIST_LENGTH].max())
    narrow = s._replace(found=np.zeros(longest + 4, dtype=np.int64))
    found = events(narrow, by_molecules)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_molecules_that_do_not_turn():
    """Their beads fly straight, and are looked at as single beads are."""
    system = gas(MIXTURE * 3, 1, 4.3)
    first = system.topology.whole().first_bead
    for m in np.flatnonzero(np.diff(first) > 1):
        system.state.velocity[first[m] : first[m + 1]] = system.state.velocity[first[m]]
    engine = Engine(system, shell=1.5)
    met = 0
    for time in np.arange(0.1, 4.0, 0.1):
        engine.advance(time)
        s = engine.sector
        with events_kept(s):
            expected, found = events(s, one_by_one), events(s, by_molecules)
        np.testing.assert_array_equal(found[0], expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
        straight = (s.bounds[:, L.ACCELERATION] == 0.0) & (s.mol[s.segment[:, L.MOLECULE], L.MOL_BEADS] > 1)
        met += np.sum(found[1][straight, L.EVENT_BITS] >> PARTNER_BITS >= 0)
    assert met > 0, met
