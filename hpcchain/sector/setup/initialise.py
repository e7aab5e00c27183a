"""How a sector's work begins: first segments, lists and searches of all molecules, or of a ghost that comes in."""

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import is_part, start_depth
from hpcchain.propagators.interface import load_start, refresh
from hpcchain.sector.queue.tournament import queue_build
from hpcchain.sector.search.neighbour_lists import build_lists
from hpcchain.sector.segments.new_segment import new_segment, schedule_molecule
from hpcchain.sector.segments.searches import search_molecule
from hpcchain.sector.segments.stretch import begin_chain, resume_part


@kernel
def begin(s, m):
    """Make molecule m's segment from its start state in `starts`."""
    offset = np.int64(0)  # a literal would have every kernel compiled for it once more
    first = s.mol[m, L.MOL_FIRST]
    load_start(s.work, offset, s.mol, m, s.table, s.graph, s.starts, s.stepper)
    refresh(s.work, offset, s.mol, m, s.graph)
    s.scalars[L.SCALAR_SERIAL] += 1
    new_segment(
        s,
        offset,
        m,
        s.starts[first, L.START_TICKS],
        s.starts[first, L.START_REM],
        s.scalars[L.SCALAR_SERIAL],
        start_depth(s.segment, first),
    )


@kernel
def admit(s, rows, base):
    """Make the segments of ghosts whose start states have been put into vacant rows, their beads dormant as yet.

    Parameters
    ----------
    s : Sector
    rows : (n,) int64 array
        Of molecules.
    base : float
        Ticks that queue keys are relative to.
    """
    for k in range(len(rows)):
        if s.stretched is not None and is_part(s, rows[k]):
            resume_part(s, rows[k])
        else:
            begin(s, rows[k])
        schedule_molecule(s, rows[k], base)


@kernel
def start(s):
    """Make first segments of all molecules from their start states in `starts`.

    A segment is a function of its start state, so a restart makes the very segments that were interrupted.
    """
    for m in range(s.scalars[L.SCALAR_MOLECULES]):
        if s.mol[m, L.MOL_OWNERSHIP] == L.VACANT:
            continue
        if s.stretched is not None and is_part(s, m):
            if s.mol[m, L.MOL_ORDER] != 0:
                resume_part(s, m)
            elif s.block[m, L.BLOCK_BEFORE] < 0:
                begin_chain(s, m)
        else:
            begin(s, m)


@kernel
def enlist(s):
    """Build all neighbour lists about the segments' starts; 0 or LIST_FULL (see `build_lists`)."""
    s.origin_time[:] = 0.0
    return build_lists(s, s.starts)


@kernel
def search_all(s, base):
    """Search every bead and build the queue."""
    s.par[L.NOW] = -np.inf
    for m in range(s.scalars[L.SCALAR_MOLECULES]):
        if s.mol[m, L.MOL_OWNERSHIP] != L.VACANT:
            search_molecule(s, m)
        schedule_molecule(s, m, base)
    queue_build(s, base)
