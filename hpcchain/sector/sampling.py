"""Where the beads are at a time: for frames and checkpoints."""

from hpcchain.contact.pair import curve
from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import since_start
from hpcchain.sector.search.solved_contact_time import bead_exactly, bring
from hpcchain.sector.segments.new_segment import make_own_series


@kernel
def frame(s, ticks, remainder, position, velocity, image):
    """Write owned beads' positions, velocities and image counts at one time, in local order."""
    for m in range(s.scalars[L.SCALAR_MOLECULES]):
        if s.mol[m, L.MOL_OWNERSHIP] == L.OWNED:
            _read_off(s, m, ticks, remainder, position, velocity, image, s.stepper)


@kernel
def _read_off(s, m, ticks, remainder, position, velocity, image, stepper):
    make_own_series(s, m)  # nobody may have needed its series since a rollback opened the segment again
    first = s.mol[m, L.MOL_FIRST]
    dt = since_start(s, first, ticks, remainder)
    offset = s.mol[m, L.MOL_WORKSPACE]
    if stepper is not None:
        bring(s, first, dt, offset)
    for i in range(first, first + s.mol[m, L.MOL_BEADS]):
        if stepper is not None:
            x, y, z, u, v, w = bead_exactly(s, i, dt, offset)
        else:
            x, y, z, u, v, w = curve(s.mol, s.starts, s.segment, s.series, i, dt)
        position[i, 0] = x
        position[i, 1] = y
        position[i, 2] = z
        velocity[i, 0] = u
        velocity[i, 1] = v
        velocity[i, 2] = w
        for c in range(3):
            image[i, c] = s.mol[m, L.MOL_IMAGE + c]
