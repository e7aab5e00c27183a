"""The queue against a sorted list: random updates, exact ties, keys that rounding makes equal."""

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import set_event
from hpcchain.sector.queue.event_order import next_key_of
from hpcchain.sector.queue.tournament import others_before, queue_build, queue_size, queue_update
from tests.support.kernel_tools import make_system, plain_sector, random_chain

TICK = 2.0**-5


class Reference:
    """Single beads with exact times (ticks, remainder) and ids of their events, and the queue over them."""

    def __init__(self, entries, seed, base=0.0, ties=False):
        self.rng = np.random.default_rng(seed)
        self.base, self.ties, self.entries = base, ties, entries
        self.s = plain_sector(make_system([random_chain(1, k) for k in range(entries)]))
        self.s.par[L.TICK] = TICK
        self.time, self.id, self.key, self.winner = self.s.event_time, self.s.bead_id, self.s.key, self.s.winner
        self.depth, self.partner = np.zeros(entries, dtype=np.int64), np.full(entries, -1)
        self.s.holder[:] = np.arange(entries)
        for m in range(entries):
            self.draw(m)
        assert len(self.key) == queue_size(entries) and 0 <= 3 * len(self.key) - 2 - entries <= 3
        self.key[:], self.winner[:] = np.nan, -5
        self.s.par[L.BASE] = base
        queue_build(self.s)

    def draw(self, m):
        """Give an entry a new event; with ties, of few times and with equal rounded keys."""
        if self.ties:
            self.time[m] = self.base + 4096 + self.rng.integers(3), self.rng.choice([0.0, 0.25 * TICK])
            self.time[m, 1] += self.rng.choice([0.0, 1e-17])
            self.depth[m], self.id[m] = self.rng.integers(0, 3, 2)
            self.partner[m] = self.rng.integers(-3, min(3, self.entries))
        else:
            self.time[m] = self.base + self.rng.integers(50), self.rng.uniform(0, TICK)
        set_event(self.s.next_event, m, self.partner[m], np.int64(0), self.depth[m], np.int64(0))

    def update(self, m):
        """Draw again and update the queue; others that name the bead as a partner have other ids then, too."""
        self.draw(m)
        for k in [m, *np.flatnonzero(self.partner == m)]:
            value = (self.time[k, 0] - self.base) * TICK + self.time[k, 1]
            queue_update(self.s, int(k), value)

    def rank(self, m):
        """Return what entries are ordered by."""
        lower, partner = int(self.id[m]), int(self.partner[m])
        higher = int(self.id[partner]) if partner >= 0 else partner
        if partner >= 0:
            lower, higher = min(lower, higher), max(lower, higher)
        return (*self.time[m], int(self.depth[m]), lower, higher)

    def check(self):
        """The winner is an entry of least rank and its key is its rounded time."""
        best = min(self.rank(m) for m in range(self.entries))
        top = int(self.winner[L.TOP, L.ROOT])
        assert self.rank(top) == best
        assert self.key[L.TOP, L.ROOT] == (self.time[top, 0] - self.base) * TICK + self.time[top, 1]


@pytest.mark.parametrize("entries", [1, 2, 3, 7, 8, 9, 50, 64, 65])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("base", [0.0, 2.0**30])
def test_random_updates(entries, ties, base):
    queue = Reference(entries, entries, base, ties)
    queue.check()
    for _ in range(400):
        top = int(queue.winner[L.TOP, L.ROOT])
        queue.update(top if queue.rng.random() < 0.5 else int(queue.rng.integers(entries)))
        queue.check()


def test_taking_all_out_sorts():
    queue = Reference(100, 1, ties=True)
    order = sorted(queue.rank(m) for m in range(100))
    for expected in order:
        top = int(queue.winner[L.TOP, L.ROOT])
        assert queue.rank(top) == expected
        queue.time[top] = 1e6, 0.0
        queue_update(queue.s, top, 1e6 * TICK)


def test_a_built_queue_and_an_updated_one_agree():
    queue = Reference(37, 2, ties=True)
    for m in range(37):
        queue.update(m)
    key, winner = queue.key.copy(), queue.winner.copy()
    queue_build(queue.s)
    np.testing.assert_array_equal(key, queue.key)
    assert queue.rank(int(winner[L.TOP, L.ROOT])) == queue.rank(int(queue.winner[L.TOP, L.ROOT]))


def test_no_end_in_sight():
    """Entries without an event (infinite time) lose against all others and may fill the queue."""
    queue = Reference(5, 3)
    for m in range(5):
        queue.time[m] = np.inf, np.inf
        queue_update(queue.s, m, np.inf)
    assert queue.key[L.TOP, L.ROOT] == np.inf and 0 <= queue.winner[L.TOP, L.ROOT] < 5
    queue.time[3] = 7.0, 0.0
    queue_update(queue.s, 3, 7.0 * TICK)
    assert queue.winner[L.TOP, L.ROOT] == 3


def test_what_is_next_follows_from_what_holds_it():
    """A bead's event; the segment's end; none where a ghost waits for its owner."""
    queue = Reference(4, 5, ties=True)
    s = queue.s
    for m in range(4):
        assert next_key_of(s, m) == queue.rank(m)
    s.holder[1] = L.AT_END
    s.starts[1, L.START_TICKS], s.starts[1, L.START_REM], s.timing[1, L.LENGTH] = 7.0, 0.5 * TICK, 2.75 * TICK
    assert next_key_of(s, 1) == (10.0, 0.25 * TICK, 0, s.bead_id[1], L.SEGMENT_END)
    for waits in (L.GHOST, L.VACANT):
        s.mol[1, L.MOL_OWNERSHIP] = waits
        assert next_key_of(s, 1)[:2] == (np.inf, np.inf)
    s.mol[1, L.MOL_OWNERSHIP] = L.FULL_GHOST
    assert next_key_of(s, 1)[:2] == (10.0, 0.25 * TICK)


@pytest.mark.parametrize("entries", [1, 2, 3, 4, 5, 8, 14, 47, 200])
@pytest.mark.parametrize("ties", [False, True])
def test_others_that_are_due(entries, ties):
    """Whether another than one or two entries has a key up to some time: of all keys by themselves."""
    queue = Reference(entries, 7 + entries, ties=ties)
    found = []
    for _ in range(300):
        queue.update(int(queue.rng.integers(entries)))
        keys = np.array([(queue.time[m, 0] - queue.base) * TICK + queue.time[m, 1] for m in range(entries)])
        m, other = int(queue.winner[L.TOP, L.ROOT]), int(queue.rng.integers(-1, entries))
        if queue.rng.random() < 0.3:
            m = int(queue.rng.integers(entries))
        rest = np.delete(keys, [m] if other < 0 else [m, other])
        latest = float(np.sort(keys)[queue.rng.integers(min(4, entries))])
        found.append(bool(np.any(rest <= latest)))
        assert others_before(queue.s, m, other, latest) == found[-1]
    assert entries < 3 or (ties and entries > 6) or len(set(found)) == 2
