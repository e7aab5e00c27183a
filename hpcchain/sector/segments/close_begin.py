"""What all molecules do where one segment ends and the next begins."""

from hpcchain.contact.tc_model import pass_time
from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import since_start
from hpcchain.layout.segment_bits import begin_writing, is_chain_part, set_struck
from hpcchain.sector.segments.new_segment import new_segment
from hpcchain.sector.speculation.rollback import save_segment

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
def close(s, m, ticks, remainder):
    """End molecule m's present segment at a time."""
    close_after(s, m, since_start(s, s.mol[m, L.MOL_FIRST], ticks, remainder))


@kernel
def close_after(s, m, length):
    """End molecule m's present segment: learn from its length, forget what was struck at its start."""
    save_segment(s, m)
    begin_writing(s, m)
    first = s.mol[m, L.MOL_FIRST]
    if s.mol[m, L.MOL_SOLVER] != L.BALLISTIC:
        _learn_pace(s, m, length)
    for i in range(first, first + s.mol[m, L.MOL_BEADS]):
        set_struck(s.segment, i, 0)
    pass_time(s.par, s.segment, first, s.mol[m, L.MOL_BEADS], length)


@kernel
def close_rows(s, low, high, ticks, remainder):
    """End the present segments of the rows from `low` to `high`: of one molecule, or of parts side by side."""
    for m in range(low, high + 1):
        close(s, m, ticks, remainder)


@kernel
def begin(s, offset, m, ticks, remainder, depth):
    """Start the next segment of a molecule that is whole in the workspace at `offset`."""
    s.scalars[L.SCALAR_SERIAL] += 1
    new_segment(s, offset, m, ticks, remainder, s.scalars[L.SCALAR_SERIAL], depth)
