"""An indexed queue as a binary tournament of keys, which has as many leaves as entries.

`key[1]` is the least key and `winner[1]` the entry that holds it; the leaf of entry m is at `size + m`, and node k has
the lesser of nodes 2 k and 2 k + 1. Whose a leaf is follows from where it is: `winner` has the nodes above. Entries are
ordered in full, so who plays whom makes no difference. Keys are float64 times relative to a base, which round but never
reorder; equal keys are settled by the caller's exact comparison of (ticks, remainder, depth, lower id, higher id). At
one key a bead's event comes before a replayed segment. Molecules that have no event, as ghosts that wait for their
owners, are in no order.
"""

import numpy as np

from hpcchain.jit.decorators import inlined, kernel, outlined
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


@inlined
def _entry_of(winner, leaves, node):
    """Return the entry that holds the key of a node."""
    return node - leaves if node >= leaves else np.int64(winner[node])


@kernel
def queue_update(s, entry, value):
    """Give a molecule's entry a new key and replay its matches up to the root.

    What others' events are is looked up where keys are equal. While some molecules have new segments and are yet to
    be put into the queue, such a match may go wrong; their own updates play it again.
    """
    key = s.key
    winner = s.winner
    leaves = len(key) >> 1
    node = leaves + entry
    key[node] = value
    holder = np.int64(entry)
    while node > 1:
        other = node ^ 1
        parent = node >> 1
        least = key[node]
        rival = _entry_of(winner, leaves, other)
        if key[other] < least or (key[other] == least and least < np.inf and tie_less(s, rival, holder)):
            holder = rival
            least = key[other]
        if winner[parent] == holder and holder != entry and key[parent] == least:
            return
        key[parent] = least
        winner[parent] = holder
        node = parent


@kernel
def queue_build(s, base):
    """Fill the whole tree from the molecules' exact times, relative to `base` ticks."""
    key = s.key
    winner = s.winner
    leaves = len(key) >> 1
    for m in range(s.scalars[L.SCALAR_MOLECULES]):
        ticks, remainder = next_time_of(s, m)
        key[leaves + m] = (ticks - base) * s.par[L.TICK] + remainder
        winner[L.ROOT] = m  # of a single one
    for node in range(leaves - 1, 0, -1):
        a = 2 * node
        b = a + 1
        first = _entry_of(winner, leaves, a)
        second = _entry_of(winner, leaves, b)
        sooner = key[b] < key[a] or (key[b] == key[a] and key[a] < np.inf and tie_less(s, second, first))
        key[node] = key[b] if sooner else key[a]
        winner[node] = second if sooner else first
