"""What a contact in which a long chain takes part leaves: its part of the virial, the chains' centres of mass, the log.

What that asks of the centres is in `chain_centre`.
"""

import numpy as np

from hpcchain.contact.separation import bead_offset
from hpcchain.contact.sides import of_one_chain
from hpcchain.contact.virial import image_shift
from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.sector.events.note import note
from hpcchain.sector.segments.chain_centre import arms_row, lever_of_arms, note_arms, push_centre


@kernel
def _shift_inside(s, a, b, c):
    """Return component c of the way between the images of one chain that touch, 0 where they are the same [length]."""
    p, q = bead_offset(a.offset, a.bead), bead_offset(b.offset, b.bead)
    shift = image_shift(s, p, q, c)
    if a.offset != b.offset:
        shift -= (s.mol[a.row, L.MOL_IMAGE + c] - s.mol[b.row, L.MOL_IMAGE + c]) * s.par[L.SIZE + c]
    return shift


@kernel
def _lever(s, a, b, distance, x, y, z, ticks, remainder):
    """Return the vector between the centres of mass of the images that touch, the impulse on the first given."""
    # In a window it is 0 where a chain's centre is asked for: sums with it follow when the window is final.
    if b.row < 0:
        return 0.0, 0.0, 0.0
    if of_one_chain(s, a, b):
        one, two, three = np.int64(L.X), np.int64(L.Y), np.int64(L.Z)
        return _shift_inside(s, a, b, one), _shift_inside(s, a, b, two), _shift_inside(s, a, b, three)
    n, row = s.normals[L.CONTACT_NORMAL], arms_row(s)
    note_arms(s, row, a, np.int64(0))
    note_arms(s, row, b, np.int64(1))
    for c in range(3):
        s.arms[row, L.ARM_WAY + c] = distance * n[c]
        s.arms[row, L.ARM_IMPULSE + c] = x if c == 0 else (y if c == 1 else z)
    if s.scalars[L.SCALAR_WINDOWED] != 0:
        return 0.0, 0.0, 0.0
    return lever_of_arms(s, row, ticks, remainder)


@kernel
def note_contact(s, log_rows, i, partner, a, b, done, distance, ticks, remainder):
    """Note an impulse that has been applied: with chains' centres of mass, and as `note` does."""
    n = s.normals[L.CONTACT_NORMAL]
    x, y, z = done.along * n[0] + done.x, done.along * n[1] + done.y, done.along * n[2] + done.z
    lx, ly, lz = _lever(s, a, b, distance, x, y, z, ticks, remainder)
    if b.row < 0 or not of_one_chain(s, a, b):
        push_centre(s, a, x, y, z, ticks, remainder)
        push_centre(s, b, -x, -y, -z, ticks, remainder)
    note(s, log_rows, i, partner, n, done, lx, ly, lz, ticks, remainder)
