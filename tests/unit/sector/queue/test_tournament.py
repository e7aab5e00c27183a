"""The queue against a sorted list: random updates, exact ties, keys that rounding makes equal."""

import numpy as np
import pytest

from hpcchain.sector.queue.tournament import queue_build, queue_size, queue_update

TICK = 2.0**-5


class Reference:
    """Entries with exact times (ticks, remainder) and tags, and the queue over them."""

    def __init__(self, entries, seed, base=0.0, ties=False):
        self.rng = np.random.default_rng(seed)
        self.base, self.ties, self.entries = base, ties, entries
        self.time = np.zeros((entries, 2))
        self.molecule_event = np.zeros((entries, 4), dtype=np.int64)
        for m in range(entries):
            self.draw(m)
        size = queue_size(entries)
        self.key = np.full(2 * size, np.nan)
        self.winner = np.full(2 * size, -5, dtype=np.int32)
        queue_build(self.key, self.winner, self.time, self.molecule_event, entries, base, TICK)

    def draw(self, m):
        """Give an entry a new event; with ties, of few times and with equal rounded keys."""
        if self.ties:
            self.time[m] = self.base + 4096 + self.rng.integers(3), self.rng.choice([0.0, 0.25 * TICK])
            self.time[m, 1] += self.rng.choice([0.0, 1e-17])
            self.molecule_event[m, :3] = self.rng.integers(0, 3, 3)
        else:
            self.time[m] = self.base + self.rng.integers(50), self.rng.uniform(0, TICK)
        self.molecule_event[m, 3] = m

    def update(self, m):
        """Draw again and update the queue."""
        self.draw(m)
        value = (self.time[m, 0] - self.base) * TICK + self.time[m, 1]
        queue_update(self.key, self.winner, self.time, self.molecule_event, m, value)

    def rank(self, m):
        """Return what entries are ordered by."""
        return (*self.time[m], *self.molecule_event[m, :3])

    def check(self):
        """The winner is an entry of least rank and its key is its rounded time."""
        best = min(self.rank(m) for m in range(self.entries))
        top = int(self.winner[1])
        assert self.rank(top) == best
        assert self.key[1] == (self.time[top, 0] - self.base) * TICK + self.time[top, 1]


@pytest.mark.parametrize("entries", [1, 2, 3, 7, 8, 9, 50, 64, 65])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("base", [0.0, 2.0**30])
def test_random_updates(entries, ties, base):
    queue = Reference(entries, entries, base, ties)
    queue.check()
    for _ in range(400):
        top = int(queue.winner[1])
        queue.update(top if queue.rng.random() < 0.5 else int(queue.rng.integers(entries)))
        queue.check()


def test_taking_all_out_sorts():
    queue = Reference(100, 1, ties=True)
    order = sorted(queue.rank(m) for m in range(100))
    for expected in order:
        top = int(queue.winner[1])
        assert queue.rank(top) == expected
        queue.time[top] = 1e6, 0.0
        queue_update(queue.key, queue.winner, queue.time, queue.molecule_event, top, 1e6 * TICK)


def test_a_built_queue_and_an_updated_one_agree():
    queue = Reference(37, 2, ties=True)
    for m in range(37):
        queue.update(m)
    key, winner = np.empty_like(queue.key), np.empty_like(queue.winner)
    queue_build(key, winner, queue.time, queue.molecule_event, 37, queue.base, TICK)
    np.testing.assert_array_equal(key[1:], queue.key[1:])
    assert queue.rank(int(winner[1])) == queue.rank(int(queue.winner[1]))


def test_no_end_in_sight():
    """Entries without an event (infinite time) lose against all others and may fill the queue."""
    queue = Reference(5, 3)
    for m in range(5):
        queue.time[m] = np.inf, np.inf
        queue_update(queue.key, queue.winner, queue.time, queue.molecule_event, m, np.inf)
    assert queue.key[1] == np.inf and 0 <= queue.winner[1] < 5
    queue.time[3] = 7.0, 0.0
    queue_update(queue.key, queue.winner, queue.time, queue.molecule_event, 3, 7.0 * TICK)
    assert queue.winner[1] == 3
