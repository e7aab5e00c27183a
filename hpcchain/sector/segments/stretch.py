"""Segments of stretches of long chains: some parts of a chain move together, the two beads adjacent to them as before.

A contact changes the velocities of a chain by a share that falls to about a sixth with each bond. Beads further than
that is worth telling keep their segments. The parts that get new ones, a stretch, lie side by side in the workspace,
with a tile for the bead before them and one for the bead behind, whose motions are those of their own segments.
"""

import numpy as np

from hpcchain.contact.falling import add_fall
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.clock import age, time_span
from hpcchain.layout.segment_bits import last_row, part_before, part_behind, series_begin, series_order
from hpcchain.propagators.interface import load, load_start
from hpcchain.propagators.taylor.chain import chain_bonds, chain_factor, chain_prepare
from hpcchain.propagators.taylor.chain_series import Tiles, shifted, stretch_series
from hpcchain.sector.queue.event_order import segment_end
from hpcchain.sector.segments.chain_centre import place_centre
from hpcchain.sector.segments.monomer import boxes_off
from hpcchain.sector.segments.new_segment import requested_length, write_segment

STRUCK_MARGIN = 20  # beads on either side of one that is struck, at least, that a stretch begins with
# A part adjacent to a stretch whose segment ends within this share of how long the stretch's is to be joins it. Where
# nothing was hit more may join, so that few parts end by themselves; at contacts that would keep many in step.
SOON_AT_CONTACT, SOON_AT_END = 0.07, 0.2
# The segments of a stretch end one after another by this share of their length: equal keys take the queue longer.
LATER = 2.0**-32
OVERDUE = 1.0 + 2.0**-20  # times its length after which a segment is over, however its end was rounded


@kernel
def rows_about(s, m, i):
    """Return the first and the last row of the parts that bead i of row m and STRUCK_MARGIN beads about it are in."""
    low = high = m
    near = i - s.mol[m, L.MOL_FIRST]
    while near < STRUCK_MARGIN and part_before(s, low) >= 0:
        low -= 1
        near += s.mol[low, L.MOL_BEADS]
    near = s.mol[m, L.MOL_FIRST] + s.mol[m, L.MOL_BEADS] - 1 - i
    while near < STRUCK_MARGIN and part_behind(s, high) >= 0:
        high += 1
        near += s.mol[high, L.MOL_BEADS]
    return low, high


@kernel
def _left(s, m):
    """Return how much longer than until the event at hand the segment of row m lasts [time]."""
    end, rest = segment_end(s, m)
    return time_span(end, rest, s.par[L.NOW], s.par[L.NOW_REM], s.par[L.TICK])


@kernel
def _mean_requested(s, low, high):
    """Return how long a stretch's segment is to be: the mean of what its parts request [time]."""
    total = 0.0
    for m in range(low, high + 1):
        total += requested_length(s, m)
    return total / (high + 1 - low)


@kernel
def widened(s, low, high, soon):
    """Return the first and last row of a stretch with adjacent ones that end soon, and how long its segment is to be.

    Soon is within the share `soon` of that length. It is no longer than the segments of the adjacent parts that stay.
    """
    while True:
        h = _mean_requested(s, low, high)
        before, behind = part_before(s, low), part_behind(s, high)
        if before >= 0 and _left(s, before) < soon * h:
            low = before
            continue
        if behind >= 0 and _left(s, behind) < soon * h:
            high = behind
            continue
        break
    if before >= 0:
        h = min(h, _left(s, before))
    if behind >= 0:
        h = min(h, _left(s, behind))
    return low, high, h


@kernel
def _since(s, m):
    """Return how long after row m's segment began the event at hand is."""
    # A ghost's that waits for its owner stays where it ends: what is made of it then is set right when that sends more.
    return s.timing[m, L.LENGTH] if _waits(s, m) else age(s, s.mol[m, L.MOL_FIRST])


@inlined
def _waits(s, m):
    """Whether row m is a ghost's that waits for its owner at the event at hand."""
    return s.mol[m, L.MOL_OWNERSHIP] == L.GHOST and age(s, s.mol[m, L.MOL_FIRST]) > OVERDUE * s.timing[m, L.LENGTH]


@kernel
def any_waits(s, low, high):
    """Whether one of these rows is a ghost's that waits for its owner: where it is now is not known here."""
    for m in range(low, high + 1):
        if _waits(s, m):
            return True
    return False


@kernel
def _shift(s, offset, m, c, whole):
    """Shift row m's beads in the workspace by whole box lengths along an axis."""
    if whole != 0:
        for b in range(s.mol[m, L.MOL_BEADS]):
            p = W.bead_offset(offset, b) + W.COEF + W.LANES * c
            s.work[p] += whole * s.par[L.SIZE + c]


@kernel
def _load_adjacent(s, offset, m, frame, lane):
    """Have a lane of a tile move as the last or first bead of row m, adjacent to a stretch, in row `frame`'s image."""
    for k in range(W.COEF, W.COEF + (W.KMAX + 1) * W.ROW):
        s.work[offset + k] = 0.0
    for k in range(W.TABLE_MASK):
        s.work[offset + W.INVM + k] = 0.0
    for k in range(W.LANES):
        s.work[offset + W.MASK + k] = 0.0
        s.work[offset + W.LEN2 + k] = 0.0
    i = s.mol[m, L.MOL_FIRST]
    if lane != 0:
        i += s.mol[m, L.MOL_BEADS] - 1
        at = s.mol[m, L.MOL_TABLE] + (s.mol[m, L.MOL_TILES] - 1) * W.TABLE + lane
        s.work[offset + W.INVM + W.LANES] = s.table[at - lane + W.LANES]
        s.work[offset + W.MASK + lane] = s.table[at + W.TABLE_MASK]
        s.work[offset + W.LEN2 + lane] = s.table[at + W.TABLE_LEN2]
    dt = _since(s, m)
    begin = series_begin(s.mol, s.segment, i)
    shifted(s.starts, i, s.series, begin, series_order(s.segment, i), dt, s.work, offset + W.COEF + lane)
    if s.extended is not None:  # series are made without gravity (`add_fall`)
        for c in range(3):
            s.work[offset + W.COEF + 2 * W.ROW + lane + W.LANES * c] -= 0.5 * s.par[L.GRAVITY + c]
    for c in range(3):
        whole = s.mol[m, L.MOL_IMAGE + c] - s.mol[frame, L.MOL_IMAGE + c]
        s.work[offset + W.COEF + W.LANES * c + lane] += whole * s.par[L.SIZE + c]


@outlined
def load_stretch(s, offset, low, high, frame):
    """Bring a stretch to the event at hand in the workspace at `offset`, onto its bonds, with the beads adjacent to it.

    Parameters
    ----------
    low, high : int
        Its first and last row.
    frame : int
        The row in whose image all are.

    Returns
    -------
    tiles : int
        How many there are, those of the beads adjacent to it among them.
    before, behind : int
        1 where there is a tile of a bead before it, or behind it, else 0.
    """
    before, behind = np.int64(0), np.int64(0)
    at = offset
    if part_before(s, low) >= 0:
        before = np.int64(1)
        _load_adjacent(s, at, low - 1, frame, W.LANES - 1)
        at += W.TILE
    for m in range(low, high + 1):
        load(s, at, m, _since(s, m))
        for c in range(3):
            _shift(s, at, m, c, s.mol[m, L.MOL_IMAGE + c] - s.mol[frame, L.MOL_IMAGE + c])
        at += s.mol[m, L.MOL_TILES] * W.TILE
    if part_behind(s, high) >= 0:
        behind = np.int64(1)
        _load_adjacent(s, at, high + 1, frame, np.int64(0))
        s.work[at - W.TILE + W.INVM + W.LANES] = 0.0
        at += W.TILE
    tiles = (at - offset) // W.TILE
    chain_prepare(s.work, offset, tiles)
    return tiles, before, behind


@kernel
def lane_of(s, low, m, i, before):
    """Return which bead of the workspace bead i of row m is, in a stretch from row `low` on."""
    tiles = before
    for r in range(low, m):
        tiles += s.mol[r, L.MOL_TILES]
    return tiles * W.LANES + i - s.mol[m, L.MOL_FIRST]


@inlined
def tolerance_of(s, m):
    """Return what series of row m may leave out, relative to the fastest bond's rate."""
    return s.table[s.mol[m, L.MOL_TABLE] + L.TOLERANCE_AT]


@kernel
def write_rows(s, at, low, high, frame, order, h):
    """Write the segments of rows `low` to `high` from the workspace at `at`, each in its own image.

    All are there in the image of row `frame`. Order and length `h` are those of the series.
    """
    x, y, z = s.mol[frame, L.MOL_IMAGE], s.mol[frame, L.MOL_IMAGE + L.Y], s.mol[frame, L.MOL_IMAGE + L.Z]
    for m in range(low, high + 1):
        for c in range(3):
            whole = s.mol[m, L.MOL_IMAGE + c] - (x if c == 0 else (y if c == 1 else z))
            more = boxes_off(s, c, s.work[at + W.COEF + W.LANES * c] - whole * s.par[L.SIZE + c])
            s.mol[m, L.MOL_IMAGE + c] += more
            _shift(s, at, m, c, -(whole + more))
        s.scalars[L.SCALAR_SERIAL] += 1
        length = h * (1.0 - LATER * s.chain_part[m, L.PART_PLACE])
        if s.extended is not None:
            add_fall(s, at, m, order)
        write_segment(s, at, m, s.scalars[L.SCALAR_SERIAL], order, length)
        at += s.mol[m, L.MOL_TILES] * W.TILE


@kernel
def begin_chain(s, first):
    """Make the first segments of a long chain whose parts all start at one time, from row `first` on."""
    offset = np.int64(0)
    at = offset
    for m in range(first, last_row(s, first) + 1):
        load_start(s, at, m)
        for c in range(3):
            _shift(s, at, m, c, s.mol[m, L.MOL_IMAGE + c] - s.mol[first, L.MOL_IMAGE + c])
        at += s.mol[m, L.MOL_TILES] * W.TILE
    tiles = (at - offset) // W.TILE
    chain_bonds(s.work, offset, tiles, W.COEF, W.HIST)
    chain_factor(s.work, offset, tiles)
    begin_all(s, offset, tiles, first, last_row(s, first))


@kernel
def begin_all(s, offset, tiles, first, last):
    """Make new segments of all parts of a chain, which is in the workspace in the image of its first row."""
    place_centre(s, offset, tiles, first)
    none = np.int64(0)
    h = _mean_requested(s, first, last)
    order, h = stretch_series(s.work, Tiles(offset, tiles, none, none), h, tolerance_of(s, first))
    write_rows(s, offset, first, last, first, order, h)
