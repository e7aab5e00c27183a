"""An indexed queue as a tournament of four keys a match, which has as many leaves as entries or up to two more.

A row of `key` and `winner`, which lie in one cache line, is a match: four keys, and the entries that hold them. Places
are numbered row by row. The least key of row r is that at place r + 2, `parent`; the last place of row 0 has the least
of all and the entry that holds it. Leaves are the places behind those of rows, in the order of the entries. Entries are
ordered in full, so which plays which makes no difference.
Keys are float64 times relative to BASE, which round but never reorder; equal keys are settled by the caller's
exact comparison of (ticks, remainder, depth, lower id, higher id). At one key a bead's event comes before a replayed
segment. Molecules that have no event, as ghosts that wait for their owners, are in no order.
"""

import numpy as np

from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import event_depth, partner_of
from hpcchain.sector.queue.event_order import in_queue, next_key_of

ROW_BITS = 2
COLUMN = (1 << ROW_BITS) - 1
BEFORE_LEAVES = 2  # a row's parent is so many places behind its number, and so are leaves behind the number of rows


def queue_size(entries: int) -> int:
    """Return the number of rows for that many entries."""
    return max(-(-(entries - 1) // COLUMN), 1) + 1


@inlined
def leaf_of(s, entry):
    """Return the place of an entry's leaf."""
    return len(s.key) + BEFORE_LEAVES + entry


@inlined
def parent(place):
    """Return the place of the least of a place's row."""
    return (place >> ROW_BITS) + BEFORE_LEAVES


@inlined
def _one_contact(s, a, b):
    """Whether the events of molecules a and b are the same contact, of bead holders that name one another."""
    i, j = np.int64(s.holder[a]), np.int64(s.holder[b])
    if i < 0 or j < 0 or partner_of(s.next_event, i) != j or partner_of(s.next_event, j) != i:
        return False
    return (
        s.event_time[i, L.EVENT_TICKS] == s.event_time[j, L.EVENT_TICKS]
        and s.event_time[i, L.EVENT_REM] == s.event_time[j, L.EVENT_REM]
        and event_depth(s.next_event, i) == event_depth(s.next_event, j)
    )


@outlined
def tie_less(s, a, b):
    """Return whether molecule a's event comes before molecule b's in the exact order."""
    if _one_contact(s, a, b):
        return s.holder[a] > s.holder[b]
    one, other = next_key_of(s, a), next_key_of(s, b)
    return one < other or (one == other and s.holder[a] > s.holder[b])


@outlined
def _least_of_tied(s, row):
    """Return the column of the least of a row, by the exact order where keys are equal and finite."""
    best = np.int64(0)
    for c in range(1, COLUMN + 1):
        other = np.int64(s.winner[row, c])
        holder = np.int64(s.winner[row, best])
        if s.key[row, c] < s.key[row, best] or (
            s.key[row, c] == s.key[row, best]
            and other >= 0
            and (holder < 0 or (s.key[row, c] < np.inf and tie_less(s, other, holder)))
        ):
            best = c
    return best


@kernel
def queue_update(s, entry, value):
    """Give a molecule's entry a new key and replay its matches up to the first.

    What others' events are is looked up where keys are equal. While some molecules have new segments and are yet to
    be put into the queue, such a match may go wrong; their own updates play it again.
    """
    key = s.key
    winner = s.winner
    place = leaf_of(s, entry)
    least = value
    holder = np.int64(entry)
    while True:
        row = place >> ROW_BITS
        c = place & COLUMN
        key[row, c] = least
        winner[row, c] = holder
        if row == 0:
            return
        at = c ^ 1
        second = c ^ 2
        third = c ^ 3
        other = key[row, at]
        later = key[row, second]
        tied = other == later
        at = second if later < other else at
        other = later if later < other else other
        later = key[row, third]
        tied |= other == later
        at = third if later < other else at
        other = later if later < other else other
        if ((least == other) & (least < np.inf)) | (tied & (other < least)):
            at = _least_of_tied(s, row)
            least = key[row, at]
            holder = np.int64(winner[row, at])
        else:
            challenger = np.int64(winner[row, at])
            holder = challenger if other < least else holder
            least = other if other < least else least
        place = parent(place)
        row = place >> ROW_BITS
        c = place & COLUMN
        if winner[row, c] == holder and holder != entry and key[row, c] == least:
            return


@kernel
def others_before(s, m, other, latest):
    """Whether another entry than m and `other` (below 0: none) has a key up to `latest`.

    All others are under the places next to those that lead from the two to the first.
    """
    key = s.key
    a = leaf_of(s, m)
    b = leaf_of(s, other) if other >= 0 else a
    found = 0
    while a > COLUMN:
        if a < b:
            a, b = b, a
        row = a >> ROW_BITS
        for c in range(COLUMN + 1):
            found += key[row, c] <= latest
        found -= key[row, a & COLUMN] <= latest
        if b >> ROW_BITS == row:
            found -= (b != a) & (key[row, b & COLUMN] <= latest)
            b = parent(b)
        a = parent(a)
    return found > 0


@kernel
def queue_build(s):
    """Fill the whole tree from the molecules' exact times."""
    key = s.key
    winner = s.winner
    entries = s.scalars[L.SCALAR_MOLECULES]
    key[:] = np.inf
    winner[:] = -1
    for m in range(entries):
        place, event = leaf_of(s, m), next_key_of(s, m)
        key[place >> ROW_BITS, place & COLUMN] = in_queue(s, event.ticks, event.remainder)
        winner[place >> ROW_BITS, place & COLUMN] = m
    for row in range(len(key) - 1, 0, -1):
        best = _least_of_tied(s, row)
        place = row + BEFORE_LEAVES
        key[place >> ROW_BITS, place & COLUMN] = key[row, best]
        winner[place >> ROW_BITS, place & COLUMN] = winner[row, best]
