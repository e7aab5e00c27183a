"""How a sector's work begins: first segments, lists and searches of all molecules, or of a ghost that comes in.

At the very start, and never again, beads find out within which steps of their potentials others are.
"""

import numpy as np

from hpcchain.contact.falling import inverse_mass
from hpcchain.contact.laws.step import potential_begin, set_level
from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import since_start
from hpcchain.layout.segment_bits import is_chain_part
from hpcchain.model.physics.extended import UNKNOWN
from hpcchain.model.physics.step_potentials import BRIDGE, ENERGIES
from hpcchain.sector.events.meet_alone import between
from hpcchain.sector.queue.tournament import queue_build
from hpcchain.sector.search.cells import forget_list_origin
from hpcchain.sector.search.neighbour_lists import build_lists, drop, joined
from hpcchain.sector.segments.list_renewal import renew_list
from hpcchain.sector.segments.new_segment import make_series, resume, schedule_molecule
from hpcchain.sector.segments.searches import search_molecule, search_one
from hpcchain.sector.segments.stretch import begin_chain


@kernel
def begin(s, m):
    """Make molecule m's segment from its start state in `starts`."""
    s.scalars[L.SCALAR_SERIAL] += 1
    s.timing[m, L.SERIAL] = s.scalars[L.SCALAR_SERIAL]
    make_series(s, m)


@kernel
def admit(s, rows):
    """Make the segments of ghosts, by row, whose start states are in vacant rows; `attend` is to follow."""
    for k in range(len(rows)):
        if s.stretched is not None and is_chain_part(s, rows[k]):
            resume(s, rows[k])
        else:
            begin(s, rows[k])


@kernel
def set_aside(s, beads):
    """Let ghosts' beads that can touch nothing owned be on no list and in no search, until they are attended to."""
    for k in range(len(beads)):
        i = beads[k]
        first = np.int64(s.lists[i, L.LIST_FIRST])
        for e in range(first, first + s.lists[i, L.LIST_LENGTH]):
            drop(s, np.int64(s.neighbour[e]), i)
        s.lists[i, L.LIST_LENGTH] = 0
        s.lists[i, L.OWNERSHIP] = L.DISTANT
    _search(s, beads)


@kernel
def attend(s, beads, ticks, remainder):
    """List and search ghosts' beads from a time between windows on; 0 or an error."""
    s.par[L.NOW] = ticks
    s.par[L.NOW_REM] = remainder
    for k in range(len(beads)):
        s.lists[beads[k], L.OWNERSHIP] = L.GHOST
        forget_list_origin(s, beads[k])
        status = renew_list(s, beads[k], since_start(s, beads[k], ticks, remainder))
        if status:
            return status
    _search(s, beads)
    return 0


@kernel
def _search(s, beads):
    """Search these beads, which lie by molecules, for their earliest events."""
    for k in range(len(beads)):
        search_one(s, beads[k])
        m = s.segment[beads[k], L.MOLECULE]
        if k + 1 == len(beads) or s.segment[beads[k + 1], L.MOLECULE] != m:
            schedule_molecule(s, m)


@kernel
def start(s):
    """Make first segments of all molecules from their start states in `starts`.

    A segment is a function of its start state, so a restart makes the very segments that were interrupted.
    """
    for m in range(s.scalars[L.SCALAR_MOLECULES]):
        if s.mol[m, L.MOL_OWNERSHIP] == L.VACANT:
            continue
        if s.stretched is not None and is_chain_part(s, m):
            if s.mol[m, L.MOL_ORDER] != 0:
                resume(s, m)
            elif s.chain_part[m, L.PART_PLACE] == 0:
                begin_chain(s, m)
        else:
            begin(s, m)


@kernel
def enlist(s):
    """Build all neighbour lists about the segments' starts; 0 or LIST_FULL (see `build_lists`)."""
    s.origin_time[:] = 0.0
    return build_lists(s, s.starts)


@kernel
def search_all(s):
    """Search every bead and build the queue."""
    s.par[L.NOW] = -np.inf
    for m in range(s.scalars[L.SCALAR_MOLECULES]):
        if s.mol[m, L.MOL_OWNERSHIP] != L.VACANT:
            search_molecule(s, m)
        schedule_molecule(s, m)
    queue_build(s)


@kernel
def find_inside(s):
    """Fill the tables of owned beads of which it is not known yet which they are within a step of, by the lists.

    All segments begin at one time. Returns whether a table is full; it is then as before.
    """
    if s.extended is not None:
        if s.par[L.STEP_POTENTIALS] == 0.0:
            return False
        for i in range(s.scalars[L.SCALAR_BEADS]):
            if s.extra[i, L.INSIDE] == UNKNOWN and s.lists[i, L.OWNERSHIP] == L.OWNED:
                s.extra[i, L.INSIDE] = 0.0
                if not _fill(s, i):
                    for c in range(L.INSIDE, s.extra.shape[1]):
                        s.extra[i, c] = 0.0
                    s.extra[i, L.INSIDE] = UNKNOWN
                    return True
    return False


@kernel
def _fill(s, i):
    """Fill bead i's table; return whether all fit."""
    first = np.int64(s.lists[i, L.LIST_FIRST])
    for e in range(first, first + s.lists[i, L.LIST_LENGTH]):
        j = np.int64(s.neighbour[e])
        if not _never_meet(s, i, j) and not _note(s, i, j):
            return False
    for e in range(s.limited_row[i], s.limited_row[i + 1]):
        if s.limits[e, L.ACTS] != 0.0 and not _note(s, i, s.limited[e]):
            return False
    return True


@kernel
def _never_meet(s, i, j):
    """Whether two beads are `joined`, which only small boxes list, and nearer as they are than as images."""
    for c in range(3):
        if np.rint((s.starts[i, L.X + c] - s.starts[j, L.X + c]) * s.par[L.INVERSE + c]) != 0.0:
            return False
    return joined(s, i, j)


@kernel
def _note(s, i, j):
    """Write bead j into bead i's table if it is within a step of their potential; return whether all fit.

    No bridge is there at the start. Two fixed beads have no potential energy: nothing of theirs ever changes, or what
    moves them does work that no event counts.
    """
    begin = potential_begin(s, i, j)
    if begin == 0 or s.potential[begin + BRIDGE] >= 0.0 or (inverse_mass(s, i) == 0.0 and inverse_mass(s, j) == 0.0):
        return True
    _, _, _, r = between(s, i, j)
    steps = np.int64(s.potential[begin])
    level = np.int64(0)
    while level < steps and r < s.potential[begin + ENERGIES + steps + 1 + level]:
        level += 1
    return set_level(s, i, s.bead_id[j], level) if level > 0 else True
