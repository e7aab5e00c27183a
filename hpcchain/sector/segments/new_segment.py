"""End a molecule's segment, give it a new one from the state in the workspace, and then its entry in the queue."""

import math

import numpy as np

from hpcchain.contact.coefficients import pass_time
from hpcchain.contact.draws import next_redraw
from hpcchain.contact.falling import add_fall, bounds_of_fall, falling_length, hangs, inverse_mass
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.arrays import LONGEST_TICKS
from hpcchain.layout.clock import age, earlier
from hpcchain.layout.segment_bits import (
    begin_writing,
    event_depth,
    is_chain_part,
    partner_of,
    serial_of,
    series_order,
    set_order,
    set_start,
    write_serial,
)
from hpcchain.propagators.interface import (
    LAST_TERM,
    acceleration_bound,
    expand,
    load_start,
    note_iterations,
    refresh,
    series_error,
    store,
)
from hpcchain.propagators.steps.step_molecule import steps_figures, to_grid
from hpcchain.propagators.taylor.graph_molecule import web_hanging
from hpcchain.sector.queue.event_order import Key, ids_of, in_queue, next_key_of, next_of_history, segment_end, waits
from hpcchain.sector.queue.tournament import queue_update
from hpcchain.sector.search.broad_phase import sweep
from hpcchain.sector.search.list_place import note_top_speed
from hpcchain.sector.segments.monomer import boxes_off
from hpcchain.sector.speculation.rollback import save_segment


@kernel
def rebase(s, offset, m):
    """Shift a molecule by whole box lengths when its first bead has left the box by a quarter of it.

    Shifting rounds the coordinates, so the bond vectors are made anew: a restart finds only the shifted ones.
    """
    moved = False
    for c in range(3):
        whole = boxes_off(s, c, s.work[offset + W.COEF + W.LANES * c])
        if whole != 0:
            s.mol[m, L.MOL_IMAGE + c] += whole
            moved = True
            for b in range(s.mol[m, L.MOL_BEADS]):
                s.work[W.bead_offset(offset, b) + W.COEF + W.LANES * c] -= whole * s.par[L.SIZE + c]
    if moved:
        refresh(s, offset, m)


@outlined
def new_segment(s, offset, m, serial):
    """Write molecule m's new segment from the workspace at `offset`; when and with what it starts is written already.

    `serial` is a number that no other segment has. Struck beads must be marked in `segment` by the caller beforehand.
    The requested length follows the molecule's own running mean of realised lengths (docs/theory/numerics.md, Taylor
    series), so it is a function of its history alone.
    """
    rebase(s, offset, m)
    h = requested_length(s, m)
    tolerance = s.table[s.mol[m, L.MOL_TABLE] + L.TOLERANCE_AT]
    if s.extended is not None and hangs(s, m):
        order, length = web_hanging(s, offset, m, h, LAST_TERM * tolerance)
    else:
        order, length = expand(s, offset, m, h, tolerance)
        if s.extended is not None:
            order = add_fall(s, offset, m, order)
    if s.mol[m, L.MOL_SOLVER] >= L.COLLOCATION:
        s.count[L.N_HALVED] += length < h
        note_iterations(s, offset, m, L.N_STEPS)
    write_segment(s, offset, m, serial, order, length)


@inlined
def requested_length(s, m):
    """Return how long molecule m's new segment is to be, if its series lasts [time]."""
    solver = s.mol[m, L.MOL_SOLVER]
    limits = s.mol[m, L.MOL_TABLE]
    if solver == L.BALLISTIC:
        return LONGEST_TICKS * s.par[L.TICK]
    if solver == L.COLLOCATION:
        return s.table[limits + L.STEP_AT]
    if solver == L.STEPPER or solver == L.ROD_STEPPER:
        i = s.mol[m, L.MOL_FIRST]
        ticks, remainder = s.starts[i, L.START_TICKS], s.starts[i, L.START_REM]
        return to_grid(ticks, remainder, s.par[L.TICK], s.table[limits + L.STEP_AT])
    h = s.running_length[m]
    if h <= 0.0:
        h = s.par[L.TICK]
    return min(h, s.table[limits + L.STEP_AT])


@inlined
def _write_start(s, i, p):
    """Write down where bead i's segment starts, from its lane of the workspace's positions at p."""
    s.starts[i, L.X] = s.work[p]
    s.starts[i, L.Y] = s.work[p + W.LANES]
    s.starts[i, L.Z] = s.work[p + 2 * W.LANES]
    s.starts[i, L.VX] = s.work[p + W.ROW]
    s.starts[i, L.VY] = s.work[p + W.ROW + W.LANES]
    s.starts[i, L.VZ] = s.work[p + W.ROW + 2 * W.LANES]


@outlined
def write_segment(s, offset, m, serial, order, h):
    """Copy a segment's series from the workspace at `offset`, write down where it starts, its bounds and its end."""
    first = s.mol[m, L.MOL_FIRST]
    n = s.mol[m, L.MOL_BEADS]
    solver = s.mol[m, L.MOL_SOLVER]
    if s.extended is not None and order == L.FALLING:
        h = min(h, falling_length(s, _speed(s.work, offset), s.par[L.CAP]))
    if solver != L.BALLISTIC:
        store(s, offset, m, order)
    if s.stepper is not None:
        s.series_error[m] = series_error(s, offset, m, order, h)
    if solver == L.STEPPER:
        s.series_error[m], s.step_energy[m] = steps_figures(s, offset, m)
    fastest = 0.0
    for b in range(n):
        p = W.bead_offset(offset, b) + W.COEF
        i = first + b
        _write_start(s, i, p)
        acceleration = acceleration_bound(s.work, offset, b) if solver != L.BALLISTIC else 0.0
        speed = _speed(s.work, W.bead_offset(offset, b)) + acceleration * h
        if s.extended is not None:
            acceleration, speed = bounds_of_fall(s, m, order, acceleration, speed, h)
        s.bounds[i, L.ACCELERATION] = acceleration
        s.bounds[i, L.SPEED] = speed
        fastest = max(fastest, speed)
        set_order(s.segment, i, order)
    if fastest * h > s.par[L.CAP]:
        h = s.par[L.CAP] / fastest
    s.timing[m, L.LENGTH] = h
    write_serial(s, m, serial)
    note_top_speed(s, m, fastest)
    if first < s.scalars[L.SCALAR_BEADS]:
        sweep(s, m)
    s.count[L.N_ORDERS] += order
    s.count[L.N_SEGMENTS] += 1
    s.count[L.N_BEAD_SEGMENTS] += n


@inlined
def _speed(work, offset):
    """Return the speed of the first bead of the workspace at offset, as `monomer.set_off` does."""
    p = offset + W.COEF + W.ROW
    return math.sqrt(work[p] ** 2 + work[p + W.LANES] ** 2 + work[p + 2 * W.LANES] ** 2)


@outlined
def make_series(s, h):
    """Make the series of the segment in molecule row h, which so far has only its start and bounds.

    The end of the workspace is used, which no member of an event's group has.
    """
    offset = np.int64(len(s.work) // (L.MOST_MEMBERS + 1) * L.MOST_MEMBERS)
    load_start(s, offset, h)
    refresh(s, offset, h)
    serial = serial_of(s, s.mol[h, L.MOL_FIRST])
    begin_writing(s, h)
    new_segment(s, offset, h, serial)


@inlined
def make_own_series(s, h):
    """Make the series of the segment in molecule row h if it has none."""
    if series_order(s.segment, s.mol[h, L.MOL_FIRST]) == L.UNMADE:
        make_series(s, h)


@kernel
def resume(s, m):
    """Go on with the segment of row m, of which all but what follows from it is there already."""
    fastest = 0.0
    for i in range(s.mol[m, L.MOL_FIRST], s.mol[m, L.MOL_FIRST] + s.mol[m, L.MOL_BEADS]):
        fastest = max(fastest, s.bounds[i, L.SPEED])
    note_top_speed(s, m, fastest)
    s.scalars[L.SCALAR_SERIAL] += 1
    write_serial(s, m, s.scalars[L.SCALAR_SERIAL])
    sweep(s, m)


@kernel
def _redrawn_before_end(s, m):
    """Whether molecule m's velocities are drawn anew before its segment ends."""
    start = s.mol[m, L.MOL_FIRST]
    if s.mol[m, L.MOL_BEADS] == 1 and inverse_mass(s, start) == 0.0:
        return False
    if s.stretched is not None and s.chain_part[m, L.PART_PLACE] > 0:  # the clock is that of the chain's first part
        return False
    t, r = next_redraw(s, m)
    ticks, remainder = segment_end(s, m)
    return earlier(t, r, ticks, remainder)


@inlined
def _follows_history(s, m):
    """Whether a ghost's next segment is what its owner's history has, and nothing that is done here begins it."""
    if s.mol[m, L.MOL_OWNERSHIP] == L.OWNED or s.window_molecule[m, L.WINDOW_MATCH] != 1:
        return False
    begin = next_of_history(s, m)
    return begin >= 0 and s.owner_history[begin + L.ENTRY_ALONE] != 0.0


@inlined
def _end_of_segment(s, m):
    """Return what ends molecule m's segment if nothing hits it: AT_END, BY_HISTORY or BY_THERMOSTAT."""
    if _follows_history(s, m):
        return np.int64(L.BY_HISTORY)
    if s.extended is not None:
        if not waits(s, m) and _redrawn_before_end(s, m):
            return np.int64(L.BY_THERMOSTAT)
    return np.int64(L.AT_END)


@kernel
def schedule_molecule(s, m):
    """Put the earliest of a molecule's bead events and its segment's end into the queue.

    The end of a ghost that has followed its owner so far is what the history has next. Where the history ends, the
    ghost waits for its owner. Where an owned molecule takes part (ALONE in `ghost_messages`), it waits for what is done
    here. Of a contact and a replayed segment with one key the contact is first (`tie_less`): it moves both molecules.
    """
    start = s.mol[m, L.MOL_FIRST]
    s.holder[m] = holder = _end_of_segment(s, m)
    due = next_key_of(s, m)
    ticks, remainder = due.ticks, due.remainder
    for i in range(start, start + s.mol[m, L.MOL_BEADS]):
        t, q = s.event_time[i, L.EVENT_TICKS], s.event_time[i, L.EVENT_REM]
        if earlier(ticks, remainder, t, q) or partner_of(s.next_event, i) == L.NO_EVENT:
            continue
        if ticks == t and remainder == q:
            s.holder[m] = holder
            due, (lower, higher) = next_key_of(s, m), ids_of(s, i, partner_of(s.next_event, i))
            one = Key(t, q, event_depth(s.next_event, i), lower, higher)
            if due < one or (due == one and holder != L.BY_HISTORY):
                continue
        ticks, remainder, holder = t, q, np.int64(i)
    _enqueue(s, m, ticks, remainder, holder)


@kernel
def schedule_history(s, m):
    """Put ghost m into the queue, of which its owner has sent more segments; see `schedule_molecule`.

    Where the next of them is sooner than all that was due, no bead is looked at.
    """
    if _follows_history(s, m):
        begin, due = next_of_history(s, m), next_key_of(s, m)
        ticks, remainder = s.owner_history[begin + L.ENTRY_TICKS], s.owner_history[begin + L.ENTRY_REM]
        if earlier(ticks, remainder, due.ticks, due.remainder):
            _enqueue(s, m, ticks, remainder, np.int64(L.BY_HISTORY))
            return
    schedule_molecule(s, m)


@inlined
def _enqueue(s, m, ticks, remainder, holder):
    """Write down which bead has molecule m's earliest event, as `next_key_of` says, and renew its queue entry."""
    s.holder[m] = holder
    queue_update(s, m, in_queue(s, ticks, remainder))


PACE_MEMORY = 0.2
PACE_RATIO = 2.0
# Of a part of a long chain: its segments end early because those adjacent to it do, too, so they are to be longer.
PART_RATIO = 3.2


@kernel
def _learn_pace(s, m, realised):
    """Move a molecule's running segment length towards PACE_RATIO, or PART_RATIO, times the length that came true."""
    ratio = PACE_RATIO
    if s.stretched is not None:
        ratio = PART_RATIO if is_chain_part(s, m) else PACE_RATIO
    old = s.running_length[m]
    if not old > 0.0:
        old = s.timing[m, L.LENGTH]
    s.running_length[m] = old + PACE_MEMORY * (ratio * realised - old)


@kernel
def close_after(s, m, length):
    """End molecule m's present segment, learn from its length; the next one begins with the event at hand.

    What that strikes is marked later.
    """
    save_segment(s, m)
    begin_writing(s, m)
    first = s.mol[m, L.MOL_FIRST]
    if s.mol[m, L.MOL_SOLVER] != L.BALLISTIC:
        _learn_pace(s, m, length)
    for i in range(first, first + s.mol[m, L.MOL_BEADS]):
        s.starts[i, L.START_TICKS] = s.par[L.NOW]
        s.starts[i, L.START_REM] = s.par[L.NOW_REM]
        set_start(s.segment, i, s.scalars[L.SCALAR_DEPTH], 0)
    pass_time(s, first, s.mol[m, L.MOL_BEADS], length)


@kernel
def close_rows(s, low, high):
    """Do what `close_after` does for rows `low` to `high`: of one molecule, or of parts side by side."""
    for m in range(low, high + 1):
        close_after(s, m, age(s, s.mol[m, L.MOL_FIRST]))


@kernel
def begin(s, offset, m):
    """Start the next segment of a molecule that is whole in the workspace at `offset`."""
    s.scalars[L.SCALAR_SERIAL] += 1
    new_segment(s, offset, m, s.scalars[L.SCALAR_SERIAL])
