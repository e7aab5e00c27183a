"""An indexed queue as a binary tournament of keys, which has as many leaves as entries.

`key[1]` is the least key and `winner[1]` the entry that holds it; the leaf of entry m is at `size + m`, and node k has
the lesser of nodes 2 k and 2 k + 1. Entries are ordered in full, so who plays whom makes no difference.
Keys are float64 times relative to a base, which round but never reorder; equal keys are settled by the caller's
exact comparison of (ticks, remainder, depth, lower id, higher id). At one key a bead's event comes before a replayed
segment. Molecules that have no event, as ghosts that wait for their owners, are in no order.
"""

import numpy as np

from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.sector.queue.event_order import next_event_of, next_time_of


def queue_size(entries: int) -> int:
    """Return the number of leaves for that many entries."""
    return max(entries, 1)


@outlined
def tie_less(s, a, b):
    """Return whether molecule a's event comes before molecule b's in the exact order."""
    ticks, remainder = next_time_of(s, a)
    other_ticks, other_remainder = next_time_of(s, b)
    if ticks != other_ticks:
        return ticks < other_ticks
    if remainder != other_remainder:
        return remainder < other_remainder
    depth, lower, higher = next_event_of(s, a)
    other_depth, other_lower, other_higher = next_event_of(s, b)
    if depth != other_depth:
        return depth < other_depth
    if lower != other_lower:
        return lower < other_lower
    if higher != other_higher:
        return higher < other_higher
    return s.holder[a] > s.holder[b]


@kernel
def queue_update(s, entry, value):
    """Give a molecule's entry a new key and replay its matches up to the root.

    What others' events are is looked up where keys are equal. While some molecules have new segments and are yet to
    be put into the queue, such a match may go wrong; their own updates play it again.
    """
    key = s.key
    winner = s.winner
    node = (len(key) >> 1) + entry
    key[node] = value
    winner[node] = entry
    while node > 1:
        other = node ^ 1
        parent = node >> 1
        best = node
        if key[other] < key[node] or (
            key[other] == key[node]
            and key[node] < np.inf
            and winner[other] >= 0
            and (winner[node] < 0 or tie_less(s, np.int64(winner[other]), np.int64(winner[node])))
        ):
            best = other
        if winner[parent] == winner[best] and winner[best] != entry and key[parent] == key[best]:
            return
        key[parent] = key[best]
        winner[parent] = winner[best]
        node = parent


@kernel
def queue_build(s, base):
    """Fill the whole tree from the molecules' exact times, relative to `base` ticks."""
    key = s.key
    winner = s.winner
    entries = s.scalars[L.SCALAR_MOLECULES]
    size = len(key) >> 1
    for m in range(size):
        if m < entries:
            ticks, remainder = next_time_of(s, m)
            key[size + m] = (ticks - base) * s.par[L.TICK] + remainder
            winner[size + m] = m
        else:
            key[size + m] = np.inf
            winner[size + m] = -1
    for node in range(size - 1, 0, -1):
        a = 2 * node
        b = a + 1
        best = a
        if key[b] < key[a] or (
            key[b] == key[a]
            and key[a] < np.inf
            and winner[b] >= 0
            and (winner[a] < 0 or tie_less(s, np.int64(winner[b]), np.int64(winner[a])))
        ):
            best = b
        key[node] = key[best]
        winner[node] = winner[best]
