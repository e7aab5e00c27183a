"""Neighbour lists per bead, each about an origin of its own, kept symmetric; cells hold the origins.

Beads i and j are listed when their list origins are nearer than their contact distance plus twice the shell's half
width. A list is valid while its bead stays within the half width of its origin, so two listed beads cannot meet
unseen. Lists leave no trace in the trajectory: renewing one changes no segment and no contact time. Pairs whose contact
is another rank's are on no list.

In a window a bead may be set back to an earlier time, when its list had another origin. So until the window ends old
origins stay in the cells, beads listed about any of them stay listed (`clean_lists` tidies up), and two beads can meet
at no time that either can be set back to without being listed.

Origins are kept in a frame that moves with the system (`list_place`), as 32-bit fractions of the box: differences wrap
by themselves to the nearest image. On axes without periodic images the wrap may list a pair that is far apart, never
miss one.
"""

import numpy as np

from hpcchain.contact.laws.step import limit_of_pair
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import radii_of, radius_of
from hpcchain.sector.prefetch import prefetch_altered, prefetch_found
from hpcchain.sector.search.cells import (
    CELL_FULL,
    FULL,
    cells_ahead,
    clear_cells,
    compact,
    near_beads,
    near_cell,
    origin_of,
    place_list_origin,
    way_between,
)
from hpcchain.sector.search.flights import farther

ROUNDING = 1e-8
EARLY = 1.0 - 2.0**-22  # of a time: in single precision it is never later


@kernel
def excluded(s, i, j):
    """Whether two beads of one molecule never collide: excluded ones, or any without self-contact.

    In a box shorter than twice a bond, or twice as many as are excluded, a bead's image may collide; then the search
    tells the images apart.
    """
    return s.par[L.SMALL_BOX] == 0.0 and joined(s, i, j)


@inlined
def concerns_others(s, i, j):
    """Whether the contact of two beads is another rank's or cannot be: one is DISTANT, or a GHOST and none is owned."""
    own, other = s.lists[i, L.OWNERSHIP], s.lists[j, L.OWNERSHIP]
    return max(own, other) >= L.DISTANT or (max(own, other) == L.GHOST and min(own, other) != L.OWNED)


@inlined
def far_apart(s, i, j):
    """Whether two beads' list origins are too far apart to be listed, radii considered."""
    dx, dy, dz = way_between(s, i, origin_of(s, j))
    sigma = radii_of(s, i, j) if s.par[L.UNEQUAL] != 0.0 else s.par[L.WIDEST]
    far = sigma + 2.0 * s.par[L.SHELL] * (1.0 + ROUNDING) + ROUNDING * s.par[L.WIDEST] + farther(s)
    return dx * dx + dy * dy + dz * dz >= far * far


@kernel
def list_radius(s, i):
    """Return how far from bead i's list origin the largest bead's list origin may be to be listed [length]."""
    return (
        radius_of(s, i)
        + 0.5 * s.par[L.WIDEST]
        + 2.0 * s.par[L.SHELL] * (1.0 + ROUNDING)
        + ROUNDING * s.par[L.WIDEST]
        + farther(s)
    )


@outlined
def rebuild_list(s, i, x, y, z, t):
    """Make bead i's list about (x, y, z), its place a time t after its segment's start.

    Nothing is done to beads that stay; in a window none leaves. Returns 0, FULL or CELL_FULL when
    they do not fit; lists are then incomplete and must be built anew.

    Of beads of one size that have not come far only the cells ahead may hold any that are new. What a step reads all
    over the memory, the step before has prefetched.
    """
    s.origin_time[i] = t * EARLY
    former = origin_of(s, i)
    placed = s.origin_fractions[i, L.CELL] >= 0
    if place_list_origin(s, i, x, y, z, t):
        return CELL_FULL
    narrow = min(min(s.cells[L.CELLS_X], s.cells[L.CELLS_Y]), s.cells[L.CELLS_Z]) < 3
    number = -1
    if placed and s.par[L.UNEQUAL] == 0.0 and not narrow:
        number = cells_ahead(s, i, x, y, z, t, former, list_radius(s, i))
    if number >= 0:
        prefetch_found(s, s.cell_entries, 0, number, L.CELL_LINE)
        return _amend_list(s, i, number, _newly_near(s, i, number, former), True)
    return _amend_list(s, i, 0, near_beads(s, list_radius(s, i), i), False)


@kernel
def _amend_list(s, i, number, end, ahead):
    """Take off bead i's list what is far now, put on it entries `number` to `end` of `found`; return as `rebuild_list`.

    `ahead`: these were not near the former origin. Outside windows they then are on no list of its; in a window they
    may have come there since and found it. Beads that are far now stay there until the window ends (`clean_lists`).
    """
    windowed = s.scalars[L.SCALAR_WINDOWED] != 0
    prefetch_found(s, s.lists, number, end, 1)
    new = end
    if windowed or not ahead:
        new = number
        for e in range(number, end):
            if _is_new(s, i, s.found[e], number, new):
                s.found[new] = s.found[e]
                new += 1
    first, length = np.int64(s.lists[i, L.LIST_FIRST]), np.int64(s.lists[i, L.LIST_LENGTH])
    if end < 0 or new + length > len(s.found):
        return CELL_FULL
    kept, far = first, new
    for e in range(first, first + length):
        j = np.int64(s.neighbour[e])
        drifted = far_apart(s, i, j)
        s.neighbour[kept] = j
        s.found[far] = j
        kept += windowed | (not drifted)
        far += drifted
    s.lists[i, L.LIST_LENGTH] = kept - first
    if not make_space(s, i, kept - first + new - number):
        return FULL
    for e in range(number, new):
        j = s.found[e]
        if excluded(s, i, j):
            continue
        if not make_space(s, j, s.lists[j, L.LIST_LENGTH] + 1):
            return FULL
        _put_on_list(s, i, j)
        _put_on_list(s, j, i)
        if windowed and far_apart(s, i, j):  # found by a list origin that it had before, or of unequal beads
            _note_drifted(s, i, j)
    for e in range(new, far):
        if windowed:
            _note_drifted(s, i, s.found[e])
        else:
            drop(s, s.found[e], i)
    if not windowed:
        trim_space(s, i)
    return 0


@inlined
def _is_new(s, i, j, number, new):
    """Whether bead j is to be put on bead i's list, and is none of entries `number` to `new` of `found`, which are."""
    windowed = s.scalars[L.SCALAR_WINDOWED] != 0
    if concerns_others(s, i, j) or (not windowed and far_apart(s, i, j)):
        return False
    first = np.int64(s.lists[i, L.LIST_FIRST])
    found = False
    for e in range(first, first + s.lists[i, L.LIST_LENGTH]):
        found |= s.neighbour[e] == j
    for e in range(number, new if windowed else number):  # there a bead may be found by several list origins
        found |= s.found[e] == j
    return not found


@inlined
def _put_on_list(s, i, j):
    """Put bead j on bead i's list, which can take it."""
    s.neighbour[np.int64(s.lists[i, L.LIST_FIRST]) + s.lists[i, L.LIST_LENGTH]] = j
    s.lists[i, L.LIST_LENGTH] += 1


@inlined
def _newly_near(s, i, number, former):
    """Write beads near bead i's origin and not the former one to `found`, behind its `number` cells; the end, or -1."""
    radius, at = list_radius(s, i), np.int64(number)
    for c in range(number):
        if at >= 0:
            at = near_cell(s, s.found[c], i, former, radius, at)
    return at


@inlined
def drop(s, j, i):
    """Take bead i out of bead j's list; return whether it was there."""
    start = np.int64(s.lists[j, L.LIST_FIRST])
    last = start + s.lists[j, L.LIST_LENGTH] - 1
    for g in range(start, last + 1):
        if s.neighbour[g] == i:
            s.neighbour[g] = s.neighbour[last]
            s.lists[j, L.LIST_LENGTH] -= 1
            return True
    return False


@kernel
def build_lists(s, places):
    """Make all lists anew.

    Parameters
    ----------
    s : Sector
    places : (N, 3 or more) float64 array
        What each bead's list is made about, x, y and z: where it is at its segment's start [length].

    Returns
    -------
    int
        0; CELL_FULL: cells need more capacity; FULL: lists do, and lists[:, 1] holds the lengths that they would have.
    """
    status = 0
    clear_cells(s)
    clear_blocks(s)
    s.scalars[L.SCALAR_STALE] = 0
    s.scalars[L.SCALAR_DRIFTED_PAIRS] = 0
    for i in range(len(s.origin_time)):
        s.origin_fractions[i, L.CELL] = -1
        if s.lists[i, L.OWNERSHIP] >= L.VACANT:
            continue
        if place_list_origin(s, i, places[i, L.X], places[i, L.Y], places[i, L.Z], 0.0):
            return CELL_FULL
    for i in range(len(s.origin_time)):
        if s.lists[i, L.OWNERSHIP] >= L.VACANT:
            s.lists[i, L.LIST_LENGTH] = 0
            continue
        count = near_beads(s, list_radius(s, i), i)
        if count < 0:
            return CELL_FULL
        kept = 0
        for e in range(count):
            j = s.found[e]
            if concerns_others(s, i, j) or far_apart(s, i, j) or excluded(s, i, j):
                continue
            s.found[kept] = j
            kept += 1
        s.lists[i, L.LIST_LENGTH] = 0
        if make_space(s, i, kept):
            first = np.int64(s.lists[i, L.LIST_FIRST])
            for e in range(kept):
                s.neighbour[first + e] = s.found[e]
        else:
            status = FULL
        s.lists[i, L.LIST_LENGTH] = kept
    return status


@kernel
def clean_lists(s):
    """At a window's end, take former list origins out of the cells, and beads near those alone out of the lists."""
    for k in range(s.scalars[L.SCALAR_STALE] if s.scalars[L.SCALAR_STALE] >= 0 else s.cells[L.CELL_COUNT]):
        prefetch_altered(s, k)
        compact(s, s.stale_cells[k] if s.scalars[L.SCALAR_STALE] >= 0 else k)
    for k in range(s.scalars[L.SCALAR_DRIFTED_PAIRS]):
        prefetch_altered(s, k)
        i, j = s.drifted_pairs[k]
        if far_apart(s, i, j) and drop(s, j, i):
            drop(s, i, j)
    if s.scalars[L.SCALAR_DRIFTED_PAIRS] < 0:  # more than were noted
        for i in range(s.scalars[L.SCALAR_BEADS]):
            _drop_far(s, i)
    s.scalars[L.SCALAR_STALE] = 0
    s.scalars[L.SCALAR_DRIFTED_PAIRS] = 0


@inlined
def _drop_far(s, i):
    """Part bead i from those on its list that are far apart from it."""
    e = np.int64(s.lists[i, L.LIST_FIRST])
    while e < np.int64(s.lists[i, L.LIST_FIRST]) + s.lists[i, L.LIST_LENGTH]:
        j = s.neighbour[e]
        if far_apart(s, i, j):
            drop(s, j, i)
            drop(s, i, j)
        else:
            e += 1


@inlined
def _note_drifted(s, i, j):
    """Note that two listed beads' list origins are now far apart, for `clean_lists`; overflow as in `cells.append`."""
    at = s.scalars[L.SCALAR_DRIFTED_PAIRS]
    if at == len(s.drifted_pairs):
        s.scalars[L.SCALAR_DRIFTED_PAIRS] = -1
    elif at >= 0:
        s.drifted_pairs[at, L.FIRST_BEAD] = i
        s.drifted_pairs[at, L.SECOND_BEAD] = j
        s.scalars[L.SCALAR_DRIFTED_PAIRS] += 1


STEP = 2  # entries
SLACK = 2  # entries that a renewed list keeps beyond the steps that it needs


@inlined
def steps_for(entries):
    """Return how many steps of space a list of so many entries is given, so that another one fits in."""
    return entries // STEP + 1


@kernel
def clear_blocks(s):
    """Let go of all blocks; the lists are empty then."""
    s.free_lists[:] = -1
    s.scalars[L.SCALAR_LISTS_END] = 0
    for i in range(len(s.lists)):
        s.lists[i, L.LIST_LENGTH] = 0
        s.lists[i, L.LIST_CAPACITY] = 0


@inlined
def make_space(s, i, entries):
    """Give bead i's list space for so many entries, if it has less; return whether it has."""
    return entries <= s.lists[i, L.LIST_CAPACITY] or _move(s, i, steps_for(entries))


@inlined
def trim_space(s, i):
    """Give bead i's list less space if it has far more than it needs."""
    steps = steps_for(np.int64(s.lists[i, L.LIST_LENGTH]))
    if s.lists[i, L.LIST_CAPACITY] > STEP * steps + SLACK:
        _move(s, i, steps)


@outlined
def _move(s, i, steps):
    """Move bead i's list to a block of so many steps; return whether there is one."""
    begin = _take(s, steps)
    if begin < 0:
        return False
    first = np.int64(s.lists[i, L.LIST_FIRST])
    for e in range(s.lists[i, L.LIST_LENGTH]):
        s.neighbour[begin + e] = s.neighbour[first + e]
    had = np.int64(s.lists[i, L.LIST_CAPACITY]) // STEP
    if had > 0:
        _let_go(s, first, had)
    s.lists[i, L.LIST_FIRST] = begin
    s.lists[i, L.LIST_CAPACITY] = STEP * steps
    return True


@kernel
def _take(s, steps):
    """Return where a block of so many steps begins, perhaps cut from the shortest longer one; -1 if there is none."""
    if steps >= len(s.free_lists):
        return np.int64(-1)
    end = s.scalars[L.SCALAR_LISTS_END]
    if s.free_lists[steps] < 0 and end + STEP * steps <= len(s.neighbour):
        s.scalars[L.SCALAR_LISTS_END] = end + STEP * steps
        return end
    for length in range(steps, len(s.free_lists)):
        begin = s.free_lists[length]
        if begin >= 0:
            s.free_lists[length] = np.int64(s.neighbour[begin])
            if length > steps:
                _let_go(s, begin + STEP * steps, length - steps)
            return begin
    return np.int64(-1)


@inlined
def _let_go(s, begin, steps):
    """Put the block of so many steps that begins there on the chain of free ones of its length."""
    s.neighbour[begin] = s.free_lists[steps]
    s.free_lists[steps] = begin


@kernel
def _joined_across(s, m, i, j):
    """Whether bead i of molecule row m is bonded to bead j of the part of the same long chain adjacent to it."""
    # Row j may be of a closed segment, whose molecule row has the chain and place of the part that it was of.
    h = s.segment[j, L.MOLECULE]
    if s.chain_part[m, L.PART_CHAIN] < 0 or s.chain_part[m, L.PART_CHAIN] != s.chain_part[h, L.PART_CHAIN]:
        return False
    further = s.chain_part[h, L.PART_PLACE] - s.chain_part[m, L.PART_PLACE]
    if further == 1:
        return i + 1 == s.mol[m, L.MOL_FIRST] + s.mol[m, L.MOL_BEADS] and j == s.mol[h, L.MOL_FIRST]
    if further == -1:
        return i == s.mol[m, L.MOL_FIRST] and j + 1 == s.mol[h, L.MOL_FIRST] + s.mol[h, L.MOL_BEADS]
    return False


@kernel
def joined(s, i, j):
    """Whether two beads are no pair of a list: bonded or excluded, of one molecule without self-contact, with limits.

    Bonds of linear chains are known without a look at the table of excluded beads, which seldom is in the cache; where
    more than bonds is excluded, the run is `extended`.
    """
    m = s.segment[i, L.MOLECULE]
    b = j - s.mol[m, L.MOL_FIRST]
    if b < 0 or b >= s.mol[m, L.MOL_BEADS]:
        return _joined_across(s, m, i, j) if s.stretched is not None else False
    if s.mol[m, L.MOL_SELF] == 0:
        return True
    if limit_of_pair(s, i, j) >= 0:
        return True
    if s.extended is None and s.mol[m, L.MOL_SOLVER] == L.CHAIN:
        return j == i + 1 or i == j + 1
    for e in range(s.bond_row[i], s.bond_row[i + 1]):
        if s.bonded[e] == j:
            return True
    return False
