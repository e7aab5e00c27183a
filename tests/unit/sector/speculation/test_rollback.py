"""What a window's histories need of the search, the frames and the messages: each rule on the least that needs it.

The comparison with one rank notices a breach only where guesses happen to go wrong in one special way, so each is also
asked here for itself.
"""

import numpy as np
import pytest

from hpcchain.layout.arrays import (
    ACCELERATION,
    MOL_BEADS,
    MOL_FIRST,
    MOL_OWNERSHIP,
    NOW,
    OWNED,
    PARTNER_SERIAL,
    SERIAL,
    START_REM,
    START_TICKS,
    TICK,
    UNMADE,
    VACANT,
    WINDOW_NUMBER,
    WINDOW_PREVIOUS,
)
from hpcchain.layout.segment_bits import series_order, set_order
from hpcchain.model.system import PERIODIC
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.windows import WindowedEngine
from hpcchain.sector.search.neighbour_lists import rebuild_list
from hpcchain.sector.segments.searches import search_molecule
from hpcchain.sector.setup import initialise
from hpcchain.sector.setup.drift import velocity_in_frame
from hpcchain.sector.speculation.rollback import request_rollback, roll_back
from tests.support.gases import MIXTURE, gas
from tests.support.kernel_tools import chain_bonds, partners_of
from tests.support.shapes import bead, boxed
from tests.support.whole import frame_of


def dimer(place, v, turn):
    """Return a dimer along z, which turns about its centre."""
    w = np.array([[turn, 0.0, 0.0], [-turn, 0.0, 0.0]])
    return chain_bonds(2), np.array([place, place]) + [[0, 0, -0.5], [0, 0, 0.5]], w + v, np.ones(2)


def passed_by(length):
    """Return a ghosted sector in a window up to a time: a fast dimer went past a slow one and stopped far from it."""
    slow = dimer((10.0, 10.0, 10.0), (0.0, 0.0, 0.0), 0.01)
    fast = dimer((8.2, 11.2, 10.0), (40.0, 0.0, 0.0), 0.0)
    still = [bead((13.5, 11.2, z), (0.0, 0.0, 0.0)) for z in (9.5, 10.5)]
    system = boxed([slow, fast, *still], (30.0, 20.0, 20.0), PERIODIC)

    def body(exchange):
        engine = WindowedEngine(system, exchange, window=length, shell=4.0)
        engine.ghosted.window.run((0.0, length))
        return engine.ghosted

    return on_ranks(1, body)[0]


def looked_again(ghosted, m, shift):
    """Set molecule m back to the window's start, move it there, search it as a withdrawal does; return its events."""
    s = ghosted.sector
    request_rollback(s, m, 0)
    roll_back(s)
    assert s.window_molecule[m, WINDOW_NUMBER] == 0
    first, n = int(s.mol[m, MOL_FIRST]), int(s.mol[m, MOL_BEADS])
    s.starts[first : first + n, 0:3] += shift
    initialise.begin(s, m)
    for i in range(first, first + n):
        assert rebuild_list(s, i, *s.starts[i, :3], 0.0) == 0
    s.par[NOW], s.par[NOW + 1] = s.starts[first, 6], s.starts[first, 7]
    search_molecule(s, np.int64(m))
    events = zip(s.event_time.copy(), partners_of(s).tolist(), s.next_event[:, PARTNER_SERIAL].tolist(), strict=True)
    return [*events][first : first + n]


def test_what_is_set_back_meets_segments_closed_since():
    """The quick first look knows where present segments go, and is not for times before the latest event."""
    ghosted = passed_by(0.25)
    s = ghosted.sector
    slow, fast = map(int, ghosted.rows_of(np.array([0, 1])))
    rows = s.mol[fast, MOL_FIRST] + np.arange(2)
    assert np.all(np.abs(s.starts[rows, 3]) < 1.0) and np.all(s.starts[rows, 0] > 12.4), "the fast one is to be at rest"
    found = looked_again(ghosted, slow, (0.0, 0.5, 0.0))
    times = [event_time[0] * s.par[TICK] + event_time[1] for event_time, _, _ in found]
    k = int(np.argmin(times))
    assert found[k][1] in rows
    closed = s.window_molecule[fast, WINDOW_PREVIOUS]
    serials = []
    while closed >= 0:
        serials.append(int(s.timing[closed, SERIAL]))
        closed = s.window_molecule[closed, WINDOW_PREVIOUS]
    assert found[k][2] in serials
    reach = np.sqrt(1.0 - 0.7**2)  # of two beads side by side at a distance of 0.7, as z is the same
    assert times[k] == pytest.approx((10.0 - reach - 8.2) / 40.0, rel=0.02)


def test_a_frame_makes_the_series_that_was_not_needed():
    """A withdrawal opens segments again without their series. Reference positions take none, and are near enough."""

    def body(exchange):
        engine = WindowedEngine(gas(MIXTURE, 1, 4.3), exchange, window=0.2)
        engine.advance(0.5)
        s, ghosted = engine.ghosted.sector, engine.ghosted
        before = frame_of(engine, 0.5)
        lost = np.array([i for i in range(len(s.segment)) if series_order(s.segment, i) > 1])
        assert len(lost) > 20
        for i in lost:
            set_order(s.segment, i, UNMADE)
        s.series[:] = np.nan
        reference_position = np.zeros((len(s.starts), 3))
        speeds = ghosted.move_reference(ghosted.owned, engine.now, reference_position)
        beads = ghosted.owned_beads[np.argsort(ghosted.owned_ids)]
        since = (engine.now[0] - s.starts[beads, START_TICKS]) * s.par[TICK]
        since += engine.now[1] - s.starts[beads, START_REM]
        off = 0.5 * s.bounds[beads, ACCELERATION] * since**2
        builder, now = engine.ghosts.builder, engine.now
        apart = reference_position[beads] - builder.in_frame(before[0], now)
        velocity = velocity_in_frame(builder.system, builder.options.drift, before[1])
        return before, frame_of(engine, 0.5), apart, off, speeds.max(), velocity

    before, after, apart, off, fastest, velocity = on_ranks(1, body)[0]
    assert [a.tobytes() for a in before] == [a.tobytes() for a in after]
    apart -= 4.3 * np.rint(apart / 4.3)
    assert np.all(np.linalg.norm(apart, axis=1) <= off + 1e-12)
    assert 0.0 < off.max() < 0.2
    assert fastest == pytest.approx(np.linalg.norm(velocity, axis=1).max(), rel=0.2)


def test_ghosts_have_their_owners_segments_and_their_errors():
    """Collocation: how far a series is from its solution decides which are looked at, on every rank alike."""
    system = gas(MIXTURE, 1, 4.3, propagator="collocation", stages=2, step=0.1)

    def body(exchange):
        engine = WindowedEngine(system, exchange, window=0.1, sectors=(2, 1, 1))
        owned, ghosts = {}, {}
        for k in range(1, 7):
            engine.advance(0.1 * k)
            s = engine.ghosted.sector
            for m in np.flatnonzero(engine.ghosted.ownership != VACANT):
                start = int(engine.ghosted.molecule_ids[m]), s.starts[int(s.mol[m, MOL_FIRST]), 0:8].tobytes()
                (owned if s.mol[m, MOL_OWNERSHIP] == OWNED else ghosts)[start] = float(s.series_error[m])
        return owned, ghosts

    ranks = on_ranks(2, body)
    owned, ghosts = ranks[0][0] | ranks[1][0], [*ranks[0][1].items(), *ranks[1][1].items()]
    compared = [(owned[segment], wrong) for segment, wrong in ghosts if segment in owned]
    assert all(ours == theirs for ours, theirs in compared)
    assert sum(ours > 0.0 for ours, _ in compared) > 10
