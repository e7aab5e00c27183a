"""What ranks tell each other in a window: the new segments of molecules that others hold as ghosts.

A message is a row of float64 records, one per molecule that has changed since its owner last sent it:

    global molecule number, segments that stay as sent before, segments in all, then each further segment

and a segment is its start: ticks, remainder, depth, lower and higher id of the event that began it, running segment
length, three image counts, the segment's length, its series' error, number of the event's molecules, their global
numbers (MOST_MEMBERS), a place for the receiver's notes, and per bead position, velocity, whether it was struck and
what was left of its last contact, and the bounds of its acceleration and speed. Series are not sent: they are a
function of the start (DESIGN, "How purity is kept"), and made when something comes near enough.

The receiver keeps the segments as the ghost's *script*. A ghost whose segments so far are those of its script does next
what the script says, unless something here hits it before; then it goes its own way, until its owner has answered.

What the script says of an event that a molecule owned here takes part in is not followed (ALONE): only what is done
here can begin such a segment. Else two ranks may each follow what the other one has made of their molecules' meeting,
and neither ever comes back to what the molecules themselves would do.
"""

import math

import numpy as np

from hpcchain.contact.segment import in_contact, set_in_contact, set_order, set_start, start_depth, struck
from hpcchain.kernel import inlined, kernel
from hpcchain.sector.clockmath import after
from hpcchain.sector.history import aim_back, remember
from hpcchain.sector.layout import (
    BALLISTIC,
    BOOK_SCRIPT,
    BOOK_SERIAL,
    EVENT_MEMBERS,
    FASTEST,
    GHOST,
    MOL_BEADS,
    MOL_CHANGED,
    MOL_EVENT,
    MOL_FIRST,
    MOL_GHOST,
    MOL_HIGHER,
    MOL_ID,
    MOL_IMAGE,
    MOL_LOWER,
    MOL_MATCH,
    MOL_NUMBER,
    MOL_PREVIOUS,
    MOL_SCRIPT,
    MOL_SENT,
    MOL_SOLVER,
    MOST_MEMBERS,
    OWNED,
    TICK,
    UNMADE,
)
from hpcchain.sector.names import row_in
from hpcchain.sector.record import ALONE, BEADS, IMAGE, LENGTH, MEMBERS, PER_BEAD, STEP, WRONG
from hpcchain.sector.renew import settle
from hpcchain.sector.swept import sweep

HEAD = 3
FROM_SCRIPT = -1


@kernel
def message_size(s, rows):
    """Return the floats that a message about these molecules takes."""
    total = 0
    for k in range(len(rows)):
        m = rows[k]
        if s.mol[m, MOL_CHANGED] != 0:
            total += HEAD + (s.mol[m, MOL_NUMBER] - s.mol[m, MOL_SENT]) * _size(s.mol[m, MOL_BEADS])
    return total


@inlined
def _size(beads):
    return BEADS + PER_BEAD * beads


@kernel
def pack(s, rows, out):
    """Write a message about those of these molecules that have changed; return its floats."""
    at = 0
    for k in range(len(rows)):
        m = rows[k]
        if s.mol[m, MOL_CHANGED] == 0:
            continue
        sent = s.mol[m, MOL_SENT]
        out[at] = s.mol[m, MOL_ID]
        out[at + 1] = sent
        out[at + 2] = s.mol[m, MOL_NUMBER]
        at += HEAD
        size = _size(s.mol[m, MOL_BEADS])
        h = m
        while s.mol[h, MOL_NUMBER] > sent:
            _write(s, h, out, at + (s.mol[h, MOL_NUMBER] - sent - 1) * size)
            h = s.mol[h, MOL_PREVIOUS]
        at += (s.mol[m, MOL_NUMBER] - sent) * size
    return at


@kernel
def _write(s, h, out, at):
    first = s.mol[h, MOL_FIRST]
    out[at] = s.line[first, 6]
    out[at + 1] = s.line[first, 7]
    out[at + 2] = start_depth(s.seg, first)
    out[at + 3] = s.mol[h, MOL_LOWER]
    out[at + 4] = s.mol[h, MOL_HIGHER]
    out[at + STEP] = s.pace[h, 0]
    for c in range(3):
        out[at + IMAGE + c] = s.mol[h, MOL_IMAGE + c]
    out[at + LENGTH] = s.pace[h, 3]
    out[at + WRONG] = s.pace[h, 4]
    event = s.mol[h, MOL_EVENT]
    members = s.event[event, 0] if event > 0 else 0
    out[at + MEMBERS] = members
    for k in range(MOST_MEMBERS):
        out[at + MEMBERS + 1 + k] = s.mol[s.event[event, EVENT_MEMBERS + k], MOL_ID] if k < members else -1
    out[at + ALONE] = 0.0
    at += BEADS
    for i in range(first, first + s.mol[h, MOL_BEADS]):
        for c in range(6):
            out[at + c] = s.line[i, c]
        out[at + 6] = _marks(s.seg, i)
        out[at + 7] = s.span[i, 0]
        out[at + 8] = s.span[i, 1]
        at += PER_BEAD


@inlined
def _marks(seg, i):
    """Return whether a bead was struck, and twice what was left of its last contact, in one number."""
    return struck(seg, i) + 2 * in_contact(seg, i)


@kernel
def sent(s, rows):
    """Note that all holders of these molecules have been sent their segments."""
    for k in range(len(rows)):
        s.mol[rows[k], MOL_SENT] = s.mol[rows[k], MOL_NUMBER]
        s.mol[rows[k], MOL_CHANGED] = 0


@kernel
def unsent(s, rows):
    """Return how many of these molecules have changed since their holders were sent their segments."""
    count = 0
    for k in range(len(rows)):
        count += s.mol[rows[k], MOL_CHANGED] != 0
    return count


@kernel
def longest_script(s, message, row_of):
    """Return the most segments that a molecule of the message has, and the floats of them all."""
    most = 0
    at = 0
    floats = 0
    while at < len(message):
        m = row_in(row_of, np.int64(message[at]))
        more = np.int64(message[at + 2]) - np.int64(message[at + 1])
        most = max(most, np.int64(message[at + 2]))
        size = more * _size(s.mol[m, MOL_BEADS])
        floats += size
        at += HEAD + size
    return most, floats


@kernel
def take(s, message, row_of, wanted, base):
    """Put a message's segments into the ghosts' scripts; set back those that have gone another way.

    Parameters
    ----------
    s : Sector
        With room in `script` and `script_at` (`longest_script`).
    message : (n,) float64 array
    row_of : (k, 2) int64 array
        Local rows of molecules by global number (`names`).
    wanted : (k,) int64 array
        Receives global numbers of molecules that must be here, and be searched like owned ones, because an event that
        an owned molecule, or one searched like these, took part in depends on them.
    base : float
        Ticks that queue keys are relative to.

    Returns
    -------
    int
        Entries of `wanted`.
    """
    at = 0
    count = 0
    while at < len(message):
        m = row_in(row_of, np.int64(message[at]))
        kept = np.int64(message[at + 1])
        total = np.int64(message[at + 2])
        at += HEAD
        size = _size(s.mol[m, MOL_BEADS])
        for k in range(kept + 1, total + 1):
            place = s.book[BOOK_SCRIPT]
            for c in range(size):
                s.script[place + c] = message[at + c]
            s.script_at[m, k] = place
            s.book[BOOK_SCRIPT] += size
            at += size
            s.script[place + ALONE] = _alone(s, place, row_of)
            count = _want(s, place, row_of, wanted, count)
        s.mol[m, MOL_SCRIPT] = total
        _check(s, m)
        settle(s, m, base)
    return count


@kernel
def _alone(s, place, row_of):
    for k in range(np.int64(s.script[place + MEMBERS])):
        m = row_in(row_of, np.int64(s.script[place + MEMBERS + 1 + k]))
        if m >= 0 and s.mol[m, MOL_GHOST] == OWNED:
            return 0.0
    return 1.0


@kernel
def _want(s, place, row_of, wanted, count):
    members = np.int64(s.script[place + MEMBERS])
    ours = False
    seen = True
    for k in range(members):
        m = row_in(row_of, np.int64(s.script[place + MEMBERS + 1 + k]))
        ours = ours or (m >= 0 and s.mol[m, MOL_GHOST] != GHOST)
        seen = seen and m >= 0 and s.mol[m, MOL_GHOST] != GHOST
    core = 2 if s.script[place + 4] >= 0.0 else 1  # of a contact with a wall one molecule
    if not ours or seen or members <= core:
        return count
    for k in range(members):
        name = np.int64(s.script[place + MEMBERS + 1 + k])
        m = row_in(row_of, name)
        if (m < 0 or s.mol[m, MOL_GHOST] == GHOST) and count < len(wanted):
            wanted[count] = name
            count += 1
    return count


@kernel
def _check(s, m):
    """Compare all of ghost m's segments with its script; ask for it to be set back to before the first wrong one.

    Wrong is what differs, and what an earlier script said that its owner has withdrawn. A segment of this rank's own
    making that goes on where the script ends stays: the owner may not have heard yet of what hit its molecule.
    """
    total = s.mol[m, MOL_SCRIPT]
    wrong = s.mol[m, MOL_NUMBER] + 1
    h = m
    while h >= 0 and s.mol[h, MOL_NUMBER] > 0:
        k = s.mol[h, MOL_NUMBER]
        if k > total:
            s.mol[h, MOL_MATCH] = 0
            if s.mol[h, MOL_EVENT] == FROM_SCRIPT:
                wrong = k
        elif same_segment(s, h, s.script_at[m, k]):
            s.mol[h, MOL_MATCH] = 1
        else:
            s.mol[h, MOL_MATCH] = 0
            wrong = k
        h = s.mol[h, MOL_PREVIOUS]
    if wrong <= s.mol[m, MOL_NUMBER]:
        aim_back(s, m, wrong - 1)


@kernel
def same_segment(s, h, place):
    """Whether the segment in molecule row h starts with the very bits of a script's segment."""
    first = s.mol[h, MOL_FIRST]
    if s.line[first, 6] != s.script[place] or s.line[first, 7] != s.script[place + 1]:
        return False
    if start_depth(s.seg, first) != s.script[place + 2] or s.pace[h, 0] != s.script[place + STEP]:
        return False
    if s.mol[h, MOL_LOWER] != s.script[place + 3] or s.mol[h, MOL_HIGHER] != s.script[place + 4]:
        return False
    for c in range(3):
        if s.mol[h, MOL_IMAGE + c] != s.script[place + IMAGE + c]:
            return False
    at = place + BEADS
    for i in range(first, first + s.mol[h, MOL_BEADS]):
        for c in range(6):
            x = s.line[i, c]
            y = s.script[at + c]
            if x != y or math.copysign(1.0, x) != math.copysign(1.0, y):
                return False
        if _marks(s.seg, i) != s.script[at + 6]:
            return False
        at += PER_BEAD
    return True


@kernel
def compare(s, m):
    """Note whether a ghost's new segment is the next one of its script; owned molecules have none."""
    if s.mol[m, MOL_GHOST] == OWNED or s.mol[m, MOL_MATCH] == 0:
        return
    k = s.mol[m, MOL_NUMBER]
    s.mol[m, MOL_MATCH] = 1 if k <= s.mol[m, MOL_SCRIPT] and same_segment(s, m, s.script_at[m, k]) else 0


@kernel
def follow_script(s, m):
    """Write the next segment of ghost m's script, as yet without a series, over its present one, which is kept."""
    place = s.script_at[m, s.mol[m, MOL_NUMBER] + 1]
    remember(s, m)
    s.book[BOOK_SERIAL] += 1
    s.mol[m, MOL_EVENT] = FROM_SCRIPT
    s.mol[m, MOL_LOWER] = np.int64(s.script[place + 3])
    s.mol[m, MOL_HIGHER] = np.int64(s.script[place + 4])
    s.pace[m, 0] = s.script[place + STEP]
    for c in range(3):
        s.mol[m, MOL_IMAGE + c] = np.int64(s.script[place + IMAGE + c])
    first = s.mol[m, MOL_FIRST]
    at = place + BEADS
    fastest = 0.0
    for i in range(first, first + s.mol[m, MOL_BEADS]):
        fastest = max(fastest, s.script[at + 8])
        for c in range(6):
            s.line[i, c] = s.script[at + c]
        s.line[i, 6] = s.script[place]
        s.line[i, 7] = s.script[place + 1]
        s.seg[i, 0] = s.book[BOOK_SERIAL]
        marks = np.int64(s.script[at + 6])
        set_start(s.seg, i, np.int64(s.script[place + 2]), marks & 1)
        set_in_contact(s.seg, i, marks >> 1)
        set_order(s.seg, i, UNMADE if s.mol[m, MOL_SOLVER] != BALLISTIC else 1)
        s.span[i, 0] = s.script[at + 7]
        s.span[i, 1] = s.script[at + 8]
        s.span[i, 3] = s.script[place + LENGTH]
        at += PER_BEAD
    s.pace[m, 1], s.pace[m, 2] = after(s.script[place], s.script[place + 1], s.script[place + LENGTH], s.par[TICK])
    s.pace[m, 3] = s.script[place + LENGTH]
    s.pace[m, 4] = s.script[place + WRONG]
    s.pace[m, 5] = fastest
    if fastest > s.par[FASTEST]:
        s.par[FASTEST] = fastest
    sweep(s, m)
    s.mol[m, MOL_MATCH] = 1


@kernel
def unlike(s, ghosts):
    """Return how many of the ghosts in these rows are not what their owners have sent."""
    count = 0
    for k in range(len(ghosts)):
        m = ghosts[k]
        if s.mol[m, MOL_MATCH] == 0 or s.mol[m, MOL_NUMBER] != s.mol[m, MOL_SCRIPT]:
            count += 1
    return count
