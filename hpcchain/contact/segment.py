"""What is kept of a bead's segment beside its line and span: four integers that share the rest of their cache lines.

The second has the depth of the event that began the segment and whether that struck the bead, the fourth the place of
the bead's coefficients in `series` and the order of the polynomial.
"""

from hpcchain.kernel import inlined

BITS = 6
ORDERS = 1 << BITS  # more than any order, from UNMADE (-1) on


@inlined
def start_depth(seg, i):
    """Return the depth of the event that began the segment in row i."""
    return seg[i, 1] >> 1


@inlined
def struck(seg, i):
    """Return 1 if the bead was struck in the event that began the segment in row i, else 0."""
    return seg[i, 1] & 1


@inlined
def set_start(seg, i, depth, was_struck):
    """Note with what an event began the segment in row i."""
    seg[i, 1] = 2 * depth + was_struck


@inlined
def set_struck(seg, i, was_struck):
    """Note whether the bead was struck in the event that began the segment in row i."""
    seg[i, 1] = (seg[i, 1] & -2) | was_struck


@inlined
def series_place(seg, i):
    """Return the place in `series` of the coefficients of the segment in row i."""
    return seg[i, 3] >> BITS


@inlined
def series_order(seg, i):
    """Return the order of the polynomial of the segment in row i."""
    return (seg[i, 3] & (ORDERS - 1)) - 1


@inlined
def set_order(seg, i, order):
    """Note the order of the polynomial of the segment in row i."""
    seg[i, 3] = (seg[i, 3] & -ORDERS) | (order + 1)
