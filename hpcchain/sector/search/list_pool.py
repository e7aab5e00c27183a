"""Room for neighbour lists in a sector without windows: each has about what it needs, by steps of two entries.

A list that is full takes a longer room: one of that length that was let go of (`free_blocks`: `free_rooms` by the
number of steps), else the rest of `neighbour`, else a part of a longer one. A list that is renewed, and has far more
room than it needs, takes a shorter one. When there is no room left all lists are made anew (`Core.grow_lists`).

In windows, where lists only grow, each has a room of its own for good: `free_rooms` has no entries then.
"""

import numpy as np

from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout.free_blocks import first_free, let_go, part_of_longer

STEP = 2  # entries
SLACK = 2  # entries that a renewed list keeps beyond the steps that it needs


@inlined
def steps_for(entries):
    """Return how many steps of room a list of so many entries is given, so that another one fits in."""
    return entries // STEP + 1


@kernel
def clear_rooms(s):
    """Let go of all rooms, where lists share them; the lists are empty then."""
    if len(s.free_rooms) > 0:
        s.free_rooms[:] = -1
        s.scalars[L.SCALAR_ROOMS_END] = 0
        for i in range(len(s.lists)):
            s.lists[i, L.LIST_LENGTH] = 0
            s.lists[i, L.LIST_CAPACITY] = 0


@inlined
def make_room(s, i, entries):
    """Give bead i's list room for so many entries, if it has less; return whether it has."""
    return entries <= s.lists[i, L.LIST_CAPACITY] or (len(s.free_rooms) > 0 and _move(s, i, steps_for(entries)))


@inlined
def trim_room(s, i):
    """Give bead i's list less room if it has far more than it needs."""
    if len(s.free_rooms) > 0:
        steps = steps_for(np.int64(s.lists[i, L.LIST_LENGTH]))
        if s.lists[i, L.LIST_CAPACITY] > STEP * steps + SLACK:
            _move(s, i, steps)


@outlined
def _move(s, i, steps):
    """Move bead i's list to a room of so many steps; return whether there is one."""
    begin = _take(s, steps)
    if begin < 0:
        return False
    first = np.int64(s.lists[i, L.LIST_FIRST])
    for e in range(s.lists[i, L.LIST_LENGTH]):
        s.neighbour[begin + e] = s.neighbour[first + e]
    had = np.int64(s.lists[i, L.LIST_CAPACITY]) // STEP
    if had > 0:
        let_go(s.neighbour, s.free_rooms, first, had)
    s.lists[i, L.LIST_FIRST] = begin
    s.lists[i, L.LIST_CAPACITY] = STEP * steps
    return True


@kernel
def _take(s, steps):
    """Return where a room of so many steps begins, -1 if there is none."""
    if steps >= len(s.free_rooms):
        return np.int64(-1)
    if s.free_rooms[steps] >= 0:
        return first_free(s.neighbour, s.free_rooms, steps)
    end = s.scalars[L.SCALAR_ROOMS_END]
    if end + STEP * steps <= len(s.neighbour):
        s.scalars[L.SCALAR_ROOMS_END] = end + STEP * steps
        return end
    return part_of_longer(s.neighbour, s.free_rooms, STEP, steps)
