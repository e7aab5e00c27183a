"""What ranks send each other in a window: the new segments of molecules that others hold as ghosts.

A message is a row of float64 entries, one per molecule that has changed since its owner last sent it:

    global molecule number, segments that stay as sent before, segments in all, floats to come, each further segment

and a segment is its start: ticks, remainder, depth, lower and higher id of the event that began it, running segment
length, three image counts, the segment's length, its series' error. Then come the number of the event's molecules,
their global numbers (MOST_MEMBERS) and a number for the receiver's notes. Each bead has position, velocity, whether it
was struck and what was left of its last contact, and the bounds of its acceleration and speed. Where the run has any,
its row of `extra` follows. Series are not sent: they are a function of the start (docs/theory/numerics.md, Rounding and
reproducible bits), and made when something comes near enough. Those of parts of long chains do not follow from it, and
are sent (`pack_part` and what stands with it).

The receiver keeps the segments as the ghost's `owner_history`. A ghost whose segments so far are those of its owner
does next what that history says, unless something here hits it before. Then it goes its own way, until its owner has
answered.

What the history says of an event that a molecule owned here takes part in is not followed (ALONE): only what is done
here can begin such a segment. Else two ranks may each follow what the other one has made of their molecules' meeting,
and neither ever comes back to what the molecules themselves would do.

Each new segment is signed with the event that began it (`sign_members`, `sign_end`), so that others know it, and it can
be undone.
"""

import math

import numpy as np

from hpcchain.contact.falling import falls
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.id_table import lookup
from hpcchain.layout.segment_bits import (
    begin_writing,
    in_contact,
    is_chain_part,
    row_before,
    series_error_of,
    set_in_contact,
    set_order,
    set_start,
    set_struck,
    start_depth,
    struck,
)
from hpcchain.sector.segments.new_segment import resume, schedule_history
from hpcchain.sector.speculation.rollback import note_altered, request_rollback, save_segment

FROM_OWNER = -1


@kernel
def changed(s, lent, rows):
    """Write to `rows` those molecules of which holders do not know all; return how many.

    `lent`: (M,) uint8, which molecules others hold, by row.
    """
    count = 0
    for k in range(s.scalars[L.SCALAR_ALTERED]):
        m = s.altered[k]
        if lent[m] != 0 and s.window_molecule[m, L.WINDOW_CHANGED] != 0:
            rows[count] = m
            count += 1
    return count


@kernel
def message_size(s, rows, lent):
    """Return the length of a message about those of these molecules that its receiver holds."""
    total = 0
    for k in range(len(rows)):
        m = rows[k]
        if lent[m] != 0:
            total += L.HEAD + _further_size(s, m)
    return total


@kernel
def _further_size(s, m):
    """Return the floats of those segments of molecule m that its holders have not been sent."""
    sent = s.window_molecule[m, L.WINDOW_SENT]
    if s.stretched is not None:
        if is_chain_part(s, m):
            total = np.int64(0)
            h = m
            while s.window_molecule[h, L.WINDOW_NUMBER] > sent:
                total += _size(s, m) + chain_part_size(s, h, s.mol[h, L.MOL_ORDER])
                h = row_before(s, h)
            return total
    return (s.window_molecule[m, L.WINDOW_NUMBER] - sent) * _size(s, m)


@kernel
def _size(s, m):
    """Return the floats that a segment of molecule m takes in a message, but for what only parts of chains have."""
    return L.ENTRY_BEADS + _per_bead(s) * s.mol[m, L.MOL_BEADS]


@inlined
def _of_molecule(s, h, entry, puts, value):
    """Return what an entry of row h's segment says, now `value` if it `puts`: the list before ENTRY_MEMBER_IDS."""
    first = s.mol[h, L.MOL_FIRST]
    if puts and entry <= L.ENTRY_DEPTH:
        for i in range(first, first + s.mol[h, L.MOL_BEADS]):
            if entry == L.ENTRY_DEPTH:
                set_start(s.segment, i, np.int64(value), struck(s.segment, i))
            else:
                s.starts[i, L.START_TICKS + entry] = value
    if entry < L.ENTRY_DEPTH:
        return s.starts[first, L.START_TICKS + entry]
    if entry == L.ENTRY_DEPTH:
        return np.float64(start_depth(s.segment, first))
    if entry < L.ENTRY_RUNNING_LENGTH:
        column = L.WINDOW_LOWER + entry - L.ENTRY_LOWER
        if puts:
            s.window_molecule[h, column] = np.int64(value)
        return np.float64(s.window_molecule[h, column])
    if entry == L.ENTRY_RUNNING_LENGTH:
        if puts:
            s.running_length[h] = value
        return s.running_length[h]
    if entry < L.ENTRY_LENGTH:
        column = L.MOL_IMAGE + entry - L.ENTRY_IMAGE
        if puts:
            s.mol[h, column] = np.int64(value)
        return np.float64(s.mol[h, column])
    if entry == L.ENTRY_LENGTH:
        if puts:
            s.timing[h, L.LENGTH] = value
        return s.timing[h, L.LENGTH]
    if entry == L.ENTRY_WRONG:
        if s.stepper is not None:
            if puts:
                s.series_error[h] = value
        return series_error_of(s, h)
    event = s.window_molecule[h, L.WINDOW_EVENT]
    return np.float64(s.window_event[event, L.EVENT_SIZE] if event > 0 else 0)


@inlined
def _of_bead(s, i, entry, puts, value):
    """Return what an entry of bead row i says, `value` from then on if it `puts`: the list of all of them."""
    if entry < L.ENTRY_MARKS:
        if puts:
            s.starts[i, entry] = value
        return s.starts[i, entry]
    if entry == L.ENTRY_MARKS:
        if puts:
            set_struck(s.segment, i, np.int64(value) & 1)
            set_in_contact(s.segment, i, np.int64(value) >> 1)
        return np.float64(struck(s.segment, i) + 2 * in_contact(s.segment, i))
    if entry < L.ENTRY_PER_BEAD:
        column = L.ACCELERATION if entry == L.ENTRY_ACCELERATION else L.SPEED
        if puts:
            s.bounds[i, column] = value
        return s.bounds[i, column]
    if puts:
        s.extra[i, entry - L.ENTRY_PER_BEAD] = value
    return s.extra[i, entry - L.ENTRY_PER_BEAD]


@kernel
def _per_bead(s):
    """Return how many entries each bead has."""
    if s.extended is not None:
        return L.ENTRY_PER_BEAD + s.extra.shape[1]
    return L.ENTRY_PER_BEAD


@kernel
def pack(s, rows, lent, out):
    """Write the message (`message_size`); return its floats."""
    at = 0
    for k in range(len(rows)):
        m = rows[k]
        if lent[m] == 0:
            continue
        sent = s.window_molecule[m, L.WINDOW_SENT]
        out[at + L.HEAD_ID] = s.window_molecule[m, L.WINDOW_ID]
        out[at + L.HEAD_KEPT] = sent
        out[at + L.HEAD_TOTAL] = s.window_molecule[m, L.WINDOW_NUMBER]
        out[at + L.HEAD_FLOATS] = _further_size(s, m)
        size = _size(s, m)
        end = at = at + L.HEAD + _further_size(s, m)
        h = m
        while s.window_molecule[h, L.WINDOW_NUMBER] > sent:
            if s.stretched is not None:
                if is_chain_part(s, h):
                    end -= chain_part_size(s, h, s.mol[h, L.MOL_ORDER])
                    write_chain_part(s, h, out, end)
            end -= size
            _write(s, h, out, end)
            h = row_before(s, h)
    return at


@kernel
def _write(s, h, out, at):
    """Write the segment in molecule row h to a message, but for what only parts of chains have."""
    for entry in range(L.ENTRY_MEMBER_IDS):
        out[at + entry] = _of_molecule(s, h, entry, False, 0.0)
    event, members = s.window_molecule[h, L.WINDOW_EVENT], np.int64(out[at + L.ENTRY_MEMBERS])
    for k in range(L.MOST_MEMBERS):
        out[at + L.ENTRY_MEMBER_IDS + k] = (
            s.window_molecule[s.window_event[event, L.EVENT_MEMBERS + k], L.WINDOW_ID] if k < members else -1
        )
    out[at + L.ENTRY_ALONE] = 0.0
    at += L.ENTRY_BEADS
    per_bead = _per_bead(s)
    for i in range(s.mol[h, L.MOL_FIRST], s.mol[h, L.MOL_FIRST] + s.mol[h, L.MOL_BEADS]):
        for entry in range(per_bead):
            out[at + entry] = _of_bead(s, i, entry, False, 0.0)
        at += per_bead


@kernel
def sent(s, rows):
    """Note that all holders of these molecules have been sent their segments."""
    for k in range(len(rows)):
        s.window_molecule[rows[k], L.WINDOW_SENT] = s.window_molecule[rows[k], L.WINDOW_NUMBER]
        s.window_molecule[rows[k], L.WINDOW_CHANGED] = 0


@kernel
def longest_history(message):
    """Return the most segments that a molecule of the message has, and the floats of all that it has."""
    most = np.int64(0)
    floats = np.int64(0)
    at = 0
    while at < len(message):
        most = max(most, np.int64(message[at + L.HEAD_TOTAL]))
        floats += np.int64(message[at + L.HEAD_FLOATS])
        at += L.HEAD + np.int64(message[at + L.HEAD_FLOATS])
    return most, floats


@kernel
def receive(s, message, row_of, wanted):
    """Put a message's segments into the ghosts' owner histories; set back those that have gone another way.

    Parameters
    ----------
    s : Sector
        With space in `owner_history` and `owner_history_at` (`longest_history`).
    message : (n,) float64 array
    row_of : (k, 2) int64 array
        Local rows of molecules by global number (`id_table`).
    wanted : (k,) int64 array
        Receives global numbers of molecules that must be here, and be searched like owned ones, because an event that
        an owned molecule, or one searched like these, took part in depends on them.

    Returns
    -------
    int
        Entries of `wanted`.
    """
    at = 0
    count = 0
    while at < len(message):
        m = lookup(row_of, np.int64(message[at + L.HEAD_ID]))
        kept = np.int64(message[at + L.HEAD_KEPT])
        total = np.int64(message[at + L.HEAD_TOTAL])
        at += L.HEAD
        own = _size(s, m)
        for k in range(kept + 1, total + 1):
            begin = s.scalars[L.SCALAR_HISTORY]
            size = own
            if s.stretched is not None:
                if is_chain_part(s, m):
                    size += chain_part_size(s, m, np.int64(message[at + own + L.ENTRY_ORDER]))
            for c in range(size):
                s.owner_history[begin + c] = message[at + c]
            s.owner_history_at[m, k] = begin
            s.scalars[L.SCALAR_HISTORY] += size
            at += size
            count = _want(s, begin, row_of, wanted, count)
        s.window_molecule[m, L.WINDOW_HISTORY] = total
        note_altered(s, m)
        _check(s, m)
        schedule_history(s, m)
    return count


@kernel
def _want(s, begin, row_of, wanted, count):
    """Note whether molecules owned here take part in an event of an owner's history; add to `wanted` what it lacks."""
    members = np.int64(s.owner_history[begin + L.ENTRY_MEMBERS])
    alone = True
    ours = 0
    for k in range(members):
        m = lookup(row_of, np.int64(s.owner_history[begin + L.ENTRY_MEMBER_IDS + k]))
        if m >= 0:
            alone = alone and s.mol[m, L.MOL_OWNERSHIP] != L.OWNED
            ours += s.mol[m, L.MOL_OWNERSHIP] != L.GHOST
    s.owner_history[begin + L.ENTRY_ALONE] = 1.0 if alone else 0.0
    core = 2 if s.owner_history[begin + L.ENTRY_HIGHER] >= 0.0 else 1  # of a contact with a wall one molecule
    if ours == 0 or ours == members or members <= core:
        return count
    for k in range(members):
        molecule_id = np.int64(s.owner_history[begin + L.ENTRY_MEMBER_IDS + k])
        m = lookup(row_of, molecule_id)
        if (m < 0 or s.mol[m, L.MOL_OWNERSHIP] == L.GHOST) and count < len(wanted):
            wanted[count] = molecule_id
            count += 1
    return count


@kernel
def _check(s, m):
    """Compare all of ghost m's segments with its owner's history; request a rollback to before the first wrong one.

    Wrong is what differs, and what its owner said earlier and has rolled back. A segment of this rank's own
    making that goes on where the history ends stays: the owner may not have heard yet of what hit its molecule.
    """
    total = s.window_molecule[m, L.WINDOW_HISTORY]
    wrong = s.window_molecule[m, L.WINDOW_NUMBER] + 1
    h = m
    while h >= 0 and s.window_molecule[h, L.WINDOW_NUMBER] > 0:
        k = s.window_molecule[h, L.WINDOW_NUMBER]
        if k > total:
            s.window_molecule[h, L.WINDOW_MATCH] = 0
            if s.window_molecule[h, L.WINDOW_EVENT] == FROM_OWNER:
                wrong = k
        elif same_segment(s, h, s.owner_history_at[m, k]):
            s.window_molecule[h, L.WINDOW_MATCH] = 1
        else:
            s.window_molecule[h, L.WINDOW_MATCH] = 0
            wrong = k
        h = row_before(s, h)
    if wrong <= s.window_molecule[m, L.WINDOW_NUMBER]:
        request_rollback(s, m, wrong - 1)


@kernel
def same_segment(s, h, begin):
    """Whether the segment in molecule row h starts with the very bits of a segment of its owner's history."""
    for entry in range(L.ENTRY_LENGTH):
        if _of_molecule(s, h, entry, False, 0.0) != s.owner_history[begin + entry]:
            return False
    at = begin + L.ENTRY_BEADS
    per_bead = _per_bead(s)
    for i in range(s.mol[h, L.MOL_FIRST], s.mol[h, L.MOL_FIRST] + s.mol[h, L.MOL_BEADS]):
        for entry in range(per_bead):
            if entry == L.ENTRY_ACCELERATION or entry == L.ENTRY_SPEED:  # follow from the rest
                continue
            if _differ(_of_bead(s, i, entry, False, 0.0), s.owner_history[at + entry]):
                return False
        at += per_bead
    if s.stretched is not None:
        if is_chain_part(s, h):
            return same_chain_part(s, h, begin, at)
    return True


@kernel
def match_with_owner(s, m):
    """Note whether a ghost's new segment is the next one of its owner's history; owned molecules have none."""
    if s.mol[m, L.MOL_OWNERSHIP] == L.OWNED or s.window_molecule[m, L.WINDOW_MATCH] == 0:
        return
    k = s.window_molecule[m, L.WINDOW_NUMBER]
    s.window_molecule[m, L.WINDOW_MATCH] = (
        1 if k <= s.window_molecule[m, L.WINDOW_HISTORY] and same_segment(s, m, s.owner_history_at[m, k]) else 0
    )


@outlined
def replay(s, m):
    """Write the next segment of ghost m's owner, as yet without a series, over its present one, which is kept."""
    begin = s.owner_history_at[m, s.window_molecule[m, L.WINDOW_NUMBER] + 1]
    save_segment(s, m)
    begin_writing(s, m)
    s.window_molecule[m, L.WINDOW_EVENT] = FROM_OWNER
    for entry in range(L.ENTRY_MEMBERS):
        _of_molecule(s, m, entry, True, s.owner_history[begin + entry])
    first = s.mol[m, L.MOL_FIRST]
    at = begin + L.ENTRY_BEADS
    per_bead = _per_bead(s)
    for i in range(first, first + s.mol[m, L.MOL_BEADS]):
        for entry in range(per_bead):
            _of_bead(s, i, entry, True, s.owner_history[at + entry])
        set_order(s.segment, i, _order_of_replayed(s, m))
        at += per_bead
    if s.stretched is not None:
        if is_chain_part(s, m):
            replay_chain_part(s, m, at)
    resume(s, m)
    s.window_molecule[m, L.WINDOW_MATCH] = 1


@inlined
def _order_of_replayed(s, m):
    """Return the order of a segment that has no series as yet."""
    if s.mol[m, L.MOL_SOLVER] != L.BALLISTIC:
        return L.UNMADE
    if s.extended is not None:
        if falls(s, m):
            return L.FALLING
    return 1


@kernel
def unsettled(s, lent):
    """Whether a ghost is not what its owner has sent, or holders of one of the molecules lent do not know all of it."""
    for k in range(s.scalars[L.SCALAR_ALTERED]):
        m = s.altered[k]
        if lent[m] != 0:
            if s.window_molecule[m, L.WINDOW_CHANGED] != 0:
                return True
        elif s.mol[m, L.MOL_OWNERSHIP] != L.OWNED:
            known = s.window_molecule[m, L.WINDOW_HISTORY]
            if s.window_molecule[m, L.WINDOW_MATCH] == 0 or s.window_molecule[m, L.WINDOW_NUMBER] != known:
                return True
    return False


@inlined
def chain_part_size(s, m, order):
    """Return the floats that stand behind the beads of a segment of that order of row m, a part of a long chain."""
    return L.ENTRY_OF_CHAIN_PART + s.mol[m, L.MOL_BEADS] * W.curve(order)


@inlined
def _of_chain_part(s, h, entry, puts, value):
    """Return what an entry behind the beads of row h's segment says, `value` from then on if it `puts`."""
    if entry < L.ENTRY_ORDER:
        if puts:
            s.centre_change[h, entry] = value
        return s.centre_change[h, entry]
    if entry == L.ENTRY_ORDER:
        if puts:
            s.mol[h, L.MOL_ORDER] = np.int64(value)
        return np.float64(s.mol[h, L.MOL_ORDER])
    k = W.UNIT * s.mol[h, L.MOL_SERIES] + entry - L.ENTRY_OF_CHAIN_PART
    if puts:
        s.series[k] = value
    return s.series[k]


@kernel
def write_chain_part(s, h, out, at):
    """Write what a message has of the segment in row h behind its beads."""
    for entry in range(chain_part_size(s, h, s.mol[h, L.MOL_ORDER])):
        out[at + entry] = _of_chain_part(s, h, entry, False, 0.0)


@kernel
def same_chain_part(s, h, begin, at):
    """Whether the segment in row h goes on behind its beads with the bits of its owner's history at that place.

    `begin`: where the segment begins in `owner_history`.
    """
    if s.timing[h, L.LENGTH] != s.owner_history[begin + L.ENTRY_LENGTH]:
        return False
    for entry in range(L.ENTRY_ORDER, chain_part_size(s, h, s.mol[h, L.MOL_ORDER])):
        if _differ(_of_chain_part(s, h, entry, False, 0.0), s.owner_history[at + entry]):
            return False
    return True


@inlined
def _differ(x, y):
    """Whether two numbers have other bits."""
    return x != y or math.copysign(1.0, x) != math.copysign(1.0, y)


@kernel
def replay_chain_part(s, m, at):
    """Take from its owner's history, at a place, what row m's segment has besides its beads."""
    for entry in range(chain_part_size(s, m, np.int64(s.owner_history[at + L.ENTRY_ORDER]))):
        _of_chain_part(s, m, entry, True, s.owner_history[at + entry])
    for i in range(s.mol[m, L.MOL_FIRST], s.mol[m, L.MOL_FIRST] + s.mol[m, L.MOL_BEADS]):
        set_order(s.segment, i, s.mol[m, L.MOL_ORDER])


@kernel
def _sign_rows(s, low, high, event):
    """Mark the new segments of the rows from `low` to `high` with the event at hand; see whether owners have them."""
    for m in range(low, high + 1):
        s.window_molecule[m, L.WINDOW_EVENT] = event
        s.window_molecule[m, L.WINDOW_LOWER] = s.scalars[L.SCALAR_LOWER]
        s.window_molecule[m, L.WINDOW_HIGHER] = s.scalars[L.SCALAR_HIGHER]
        match_with_owner(s, m)


@kernel
def sign_members(s, members, logged):
    """Write down the event at hand: the first members that took part, what it logged behind the first `logged` rows.

    All of their new segments are signed. Of a long chain some are undone with adjacent ones (`speculation.rollback`).
    """
    event = s.scalars[L.SCALAR_EVENT] = s.scalars[L.SCALAR_EVENT] + 1
    row = s.window_event[event]
    number = 0
    for k in range(members):
        m = s.member[k, L.MEMBER_ROW]
        if m < 0:
            continue
        row[L.EVENT_MEMBERS + number] = m
        number += 1
        low, high = m, m
        if s.stretched is not None:
            if is_chain_part(s, m):
                low, high = s.member[k, L.FIRST_ROW], s.member[k, L.LAST_ROW]
        _sign_rows(s, low, high, event)
    row[L.EVENT_SIZE] = number
    row[L.EVENT_LOG] = logged
    row[L.EVENT_LOGS] = s.count[L.N_LOGGED] - logged


@kernel
def sign_end(s, low, high):
    """Sign the end of a segment, with which those of the rows from `low` to `high` have ended: no event of members."""
    _sign_rows(s, low, high, np.int64(0))


@kernel
def sign_draw(s, m, last, logged):
    """Sign a draw of the velocities of molecule m, or of all the chain from row m to `last`."""
    row = s.member[0]
    row[L.MEMBER_ROW], row[L.FIRST_ROW], row[L.LAST_ROW] = m, m, last
    sign_members(s, np.int64(1), logged)
