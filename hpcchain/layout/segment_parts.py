"""What the beads of a molecule have in common in a segment, and radii, which most runs have but one of."""

import numpy as np

from hpcchain.jit.decorators import inlined
from hpcchain.layout import arrays as L


@inlined
def radius_of(radius, i):
    """Return the radius of bead i from a sector's `radius`, which has a single entry where all beads are equal."""
    return radius[min(i, len(radius) - 1)]


@inlined
def length_of(s, i):
    """Return the length of the segment in bead row i [time]."""
    return s.timing[s.segment[i, L.MOLECULE], L.LENGTH]


@inlined
def serial_of(s, i):
    """Return the serial number of the segment in bead row i."""
    return np.int64(s.timing[s.segment[i, L.MOLECULE], L.SERIAL])


@inlined
def series_error_of(s, m):
    """Return how far the series of molecule m's segment may be from the motion at most [length]."""
    if s.stepper is not None:
        return s.series_error[m]
    return 0.0


@inlined
def is_part(s, m):
    """Whether molecule row m is a part of a long chain (`block`), in a sector where some are."""
    return s.block[m, L.BLOCK_PLACE] > 0 or s.block[m, L.BLOCK_BEHIND] >= 0


@inlined
def member_of(s, m):
    """Return the row that stands for molecule row m in an event: of a part of a long chain that of its first part."""
    if s.stretched is not None:
        return m - np.int64(s.block[m, L.BLOCK_PLACE])
    return m
