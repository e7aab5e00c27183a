"""An indexed queue as a binary tournament of keys, which has as many leaves as entries.

`key[1]` is the least key and `winner[1]` the entry that holds it; the leaf of entry m is at `size + m`, and node k has
the lesser of nodes 2 k and 2 k + 1. Entries are ordered in full, so who plays whom makes no difference.
Keys are float64 times relative to a base, which round but never reorder; equal keys are settled by the caller's
exact comparison of (ticks, remainder, depth, lower id, higher id). At one key a bead's event comes before a replayed
segment.
"""

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L


def queue_size(entries: int) -> int:
    """Return the number of leaves for that many entries."""
    return max(entries, 1)


@kernel
def tie_less(time, molecule_event, a, b):
    """Return whether entry a comes before entry b in the exact order."""
    for k in range(2):
        if time[a, k] != time[b, k]:
            return time[a, k] < time[b, k]
    for k in range(3):
        if molecule_event[a, k] != molecule_event[b, k]:
            return molecule_event[a, k] < molecule_event[b, k]
    return molecule_event[a, L.NEXT_HOLDER] > molecule_event[b, L.NEXT_HOLDER]


@kernel
def queue_update(key, winner, time, molecule_event, entry, value):
    """Give an entry a new key and replay its matches up to the root."""
    node = (len(key) >> 1) + entry
    key[node] = value
    winner[node] = entry
    while node > 1:
        other = node ^ 1
        parent = node >> 1
        best = node
        if key[other] < key[node] or (
            key[other] == key[node]
            and winner[other] >= 0
            and (winner[node] < 0 or tie_less(time, molecule_event, np.int64(winner[other]), np.int64(winner[node])))
        ):
            best = other
        if winner[parent] == winner[best] and winner[best] != entry and key[parent] == key[best]:
            return
        key[parent] = key[best]
        winner[parent] = winner[best]
        node = parent


@kernel
def queue_build(key, winner, time, molecule_event, entries, base, tick):
    """Fill the whole tree from the entries' exact times, relative to `base` ticks."""
    size = len(key) >> 1
    for m in range(size):
        if m < entries:
            key[size + m] = (time[m, L.EVENT_TICKS] - base) * tick + time[m, L.EVENT_REM]
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
            and winner[b] >= 0
            and (winner[a] < 0 or tie_less(time, molecule_event, np.int64(winner[b]), np.int64(winner[a])))
        ):
            best = b
        key[node] = key[best]
        winner[node] = winner[best]
