"""Where the centres of mass of long chains in parts are, which their contacts' part of the virial needs.

Their beads give it only at great cost. So the centre is carried along: contacts and gravity change its velocity, and a
thermostat says where it is. In a window, whose events may be taken back, only notes are made: of what an event does to
the centre (`centre_change`), and of what its virial is made of (`arms`). When the window is final, what is noted is
done in the order of the events. Each rank does so for all chains that it holds.
"""

from typing import Any

import numpy as np

from hpcchain.contact.sides import of_one_chain
from hpcchain.contact.virial import centre_of_mass, image_shift, set_tensor
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.clock import time_span
from hpcchain.layout.segment_bits import row_before
from hpcchain.sector.queue.event_order import key_of

KEYS = 5  # numbers of a Key


@inlined
def arms_row(s):
    """Return the row of `arms` for the contact at hand."""
    return s.count[L.N_LOGGED] if s.scalars[L.SCALAR_WINDOWED] != 0 else np.int64(0)


@kernel
def note_arms(s, row, side, second):
    """Write what the way from a side's bead to its molecule's centre is made of to a row of `arms`.

    `second` is 0 for the first side of a contact, 1 for the other.
    """
    s.arms[row, L.ARM_CHAIN + second] = s.chain_part[side.row, L.PART_CHAIN] if side.part else -1.0
    p = W.bead_offset(side.offset, side.bead) + W.COEF
    for c in range(3):
        place = s.work[p + W.LANES * c]
        if side.part:
            place += s.mol[side.row, L.MOL_IMAGE + c] * s.par[L.SIZE + c]
        else:
            place = centre_of_mass(s.work, side.offset, side.tiles, c) - place
        s.arms[row, L.ARM_PLACE + L.AXES * second + c] = place


@kernel
def _fallen(s, c, dt):
    """Return how far what falls gets along an axis in a time dt, and how much faster [length, length / time]."""
    if s.extended is not None:
        faster = s.par[L.GRAVITY + c] * dt
        return 0.5 * faster * dt, faster
    return 0.0, 0.0


@kernel
def _arm(s, row, second, c, ticks, remainder):
    """Return component c of the way from a side's bead to its molecule's centre of mass at a time [length]."""
    chain, place = np.int64(s.arms[row, L.ARM_CHAIN + second]), s.arms[row, L.ARM_PLACE + L.AXES * second + c]
    if chain < 0:
        return place
    centre = s.centre[chain]
    dt = time_span(ticks, remainder, centre[L.START_TICKS], centre[L.START_REM], s.par[L.TICK])
    return centre[c] + (centre[L.VX + c] * dt + _fallen(s, c, dt)[0]) - place


@inlined
def _lever(s, row, c, ticks, remainder):
    return s.arms[row, L.ARM_WAY + c] + (_arm(s, row, 0, c, ticks, remainder) - _arm(s, row, 1, c, ticks, remainder))


@kernel
def lever_of_arms(s, row, ticks, remainder):
    """Return the vector between the centres of mass of two molecules that touch at a time (`contact.virial.lever`)."""
    return (
        _lever(s, row, L.X, ticks, remainder),
        _lever(s, row, L.Y, ticks, remainder),
        _lever(s, row, L.Z, ticks, remainder),
    )


@kernel
def _shift_inside(s, a, b, c):
    """Return component c of the way between the images of one chain that touch, 0 where they are the same [length]."""
    p, q = W.bead_offset(a.offset, a.bead), W.bead_offset(b.offset, b.bead)
    shift = image_shift(s, p, q, c)
    if a.offset != b.offset:
        shift -= (s.mol[a.row, L.MOL_IMAGE + c] - s.mol[b.row, L.MOL_IMAGE + c]) * s.par[L.SIZE + c]
    return shift


@kernel
def lever_of_sides(s, a, b, distance, x, y, z, gained):
    """Return the vector between the centres of mass of the images that touch, impulse and energy of the first given.

    In a window it is 0 where a chain's centre is needed: sums with it follow when the window is final.
    """
    if b.row < 0:
        return 0.0, 0.0, 0.0
    if of_one_chain(s, a, b):
        return _shift_inside(s, a, b, L.X), _shift_inside(s, a, b, L.Y), _shift_inside(s, a, b, L.Z)
    n, row = s.normals[L.CONTACT_NORMAL], arms_row(s)
    note_arms(s, row, a, 0)
    note_arms(s, row, b, 1)
    s.arms[row, L.ARM_ENERGY] = gained
    for c in range(3):
        s.arms[row, L.ARM_WAY + c] = distance * n[c]
        s.arms[row, L.ARM_IMPULSE + c] = x if c == 0 else (y if c == 1 else z)
    if s.scalars[L.SCALAR_WINDOWED] != 0:
        return 0.0, 0.0, 0.0
    return lever_of_arms(s, row, s.par[L.NOW], s.par[L.NOW_REM])


@kernel
def push_centre(s, side, x, y, z):
    """Have an impulse on a side change the velocity of its chain's centre; in a window note that it will."""
    if not side.part:
        return
    if s.scalars[L.SCALAR_WINDOWED] != 0:
        change = s.centre_change[side.row]
        change[L.CHANGE_SORT] = L.PUSHED
        change[L.CHANGE + L.X], change[L.CHANGE + L.Y], change[L.CHANGE + L.Z] = x, y, z
        return
    _push(s, np.int64(s.chain_part[side.row, L.PART_CHAIN]), x, y, z, s.par[L.NOW], s.par[L.NOW_REM])


@kernel
def _push(s, chain, x, y, z, ticks, remainder):
    """Carry a chain's centre of mass to a time, and have an impulse change its velocity."""
    row = s.centre[chain]
    dt = time_span(ticks, remainder, row[L.START_TICKS], row[L.START_REM], s.par[L.TICK])
    for c in range(3):
        further, faster = _fallen(s, c, dt)
        impulse = x if c == 0 else (y if c == 1 else z)
        row[c] += row[L.VX + c] * dt + further
        row[L.VX + c] += faster + impulse / row[L.CENTRE_MASS]
    row[L.START_TICKS] = ticks
    row[L.START_REM] = remainder


@kernel
def place_centre(s, offset, tiles, first):
    """Write down where the centre of mass of the chain in the workspace is, in image 0, and its velocity.

    In a window it is noted with the segment of the chain's first row, unless the window began with that one.
    """
    chain = np.int64(s.chain_part[first, L.PART_CHAIN])
    mass = s.centre[chain, L.CENTRE_MASS]
    noted = False
    if s.scalars[L.SCALAR_WINDOWED] != 0:
        noted = s.window_molecule[first, L.WINDOW_NUMBER] > 0
    row, begin = s.centre[chain], np.int64(0)
    if noted:
        row, begin = s.centre_change[first], np.int64(L.CHANGE)
        row[L.CHANGE_SORT] = L.PLACED
    for c in range(3):
        place, velocity = 0.0, 0.0
        for t in range(tiles):
            for k in range(W.LANES):
                inverse = s.work[offset + t * W.TILE + W.INVM + k]
                if inverse > 0.0:
                    at = offset + t * W.TILE + W.COEF + W.LANES * c + k
                    place += s.work[at] / inverse
                    velocity += s.work[at + W.ROW] / inverse
        row[begin + c] = place / mass + s.mol[first, L.MOL_IMAGE + c] * s.par[L.SIZE + c]
        row[begin + L.VX + c] = velocity / mass
    if not noted:
        i = s.mol[first, L.MOL_FIRST]
        row[L.START_TICKS] = s.starts[i, L.START_TICKS]
        row[L.START_REM] = s.starts[i, L.START_REM]


@kernel
def collect_changes(s, rows, keys):
    """Write down which segments of this window have noted that they change a chain's centre; return how many have.

    Their rows go to `rows`, as far as these fit, and the keys of their events to `keys`, (KEYS, n) float64.
    """
    number = 0
    for k in range(s.scalars[L.SCALAR_ALTERED]):
        h = s.altered[k]
        while s.window_molecule[h, L.WINDOW_NUMBER] > 0:
            if s.centre_change[h, L.CHANGE_SORT] != L.UNCHANGED:
                if number < len(rows):
                    rows[number] = h
                    ticks, remainder, depth, lower, higher = key_of(s, s.mol[h, L.MOL_FIRST])
                    keys[0, number], keys[1, number], keys[2, number] = ticks, remainder, depth
                    keys[3, number], keys[4, number] = lower, higher
                number += 1
            h = row_before(s, h)
    return number


@kernel
def _settle_virial(s, h):
    """Write the virial of the contact that began the segment in row h, if it was logged here, to its row of the log."""
    # What placed the chain's centre had all of the chain, so its virials are there already.
    event = s.window_molecule[h, L.WINDOW_EVENT]
    if s.centre_change[h, L.CHANGE_SORT] == L.PLACED or event <= 0 or s.window_event[event, L.EVENT_LOGS] == 0:
        return
    e = s.window_event[event, L.EVENT_LOG]
    if s.log[e, L.LOG_KIND] == L.WALL_KIND or s.log[e, L.LOG_KIND] == L.DRAW_KIND:
        return
    i = s.mol[h, L.MOL_FIRST]
    lx, ly, lz = lever_of_arms(s, e, s.starts[i, L.START_TICKS], s.starts[i, L.START_REM])
    x, y, z = s.arms[e, L.ARM_IMPULSE + L.X], s.arms[e, L.ARM_IMPULSE + L.Y], s.arms[e, L.ARM_IMPULSE + L.Z]
    set_tensor(s, x, y, z, lx, ly, lz, s.arms[e, L.ARM_ENERGY])
    s.log[e, L.LOG_QUANTA] = np.rint((x * lx + y * ly + z * lz) / s.par[L.QUANTUM])
    for c in range(L.TENSOR_COMPONENTS):
        s.log[e, L.LOG_TENSOR + c] = np.rint(s.virial_tensor[c] / s.par[L.QUANTUM])


@kernel
def _settle_change(s, h):
    """Do to a chain's centre what the event did that began the segment in row h."""
    change, i = s.centre_change[h], s.mol[h, L.MOL_FIRST]
    chain = np.int64(s.chain_part[h, L.PART_CHAIN])
    ticks, remainder = s.starts[i, L.START_TICKS], s.starts[i, L.START_REM]
    if change[L.CHANGE_SORT] == L.PUSHED:
        _push(s, chain, change[L.CHANGE + L.X], change[L.CHANGE + L.Y], change[L.CHANGE + L.Z], ticks, remainder)
        return
    row = s.centre[chain]
    for c in range(L.START_TICKS):
        row[c] = change[L.CHANGE + c]
    row[L.START_TICKS] = ticks
    row[L.START_REM] = remainder


@kernel
def settle_changes(s, rows, keys):
    """Do what a final window's events do to chains' centres, and find their virials.

    Parameters
    ----------
    s : Sector
    rows : (n,) int64 array
    keys : (KEYS, n) float64 array
        Of `collect_changes`, in the events' order: both sides of a contact have one key. Virials come before what it
        does to either centre.
    """
    begin = 0
    for k in range(len(rows)):
        _settle_virial(s, rows[k])
        last = k + 1 == len(rows)
        for c in range(KEYS):
            last = last or keys[c, k] != keys[c, k + 1]
        if last:
            for e in range(begin, k + 1):
                _settle_change(s, rows[e])
            begin = k + 1


def settle_centres(s: Any) -> None:
    """Do what a final window has noted of long chains' centres, in the order of its events (`settle_changes`)."""
    rows, keys = np.empty(0, dtype=np.int64), np.empty((KEYS, 0))
    rows = np.empty(collect_changes(s, rows, keys), dtype=np.int64)
    keys = np.empty((KEYS, len(rows)))
    collect_changes(s, rows, keys)
    sequence = np.lexsort(keys[::-1])
    settle_changes(s, rows[sequence], np.ascontiguousarray(keys[:, sequence]))
