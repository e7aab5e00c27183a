"""Which beads touch, or would after a step without contacts."""

from hpcchain.jit.decorators import kernel
from hpcchain.steps.potentials.lists import NEAREST

NEAR = 1.2
"""Times the contact distance, squared: farther apart after a step, beads are not looked at as they were before it."""


@kernel
def gap(position, i, j, contact, size, inverse):
    """Return the distance of the nearest images of two beads beyond their contact distance, times their sum."""
    total = 0.0
    for c in range(3):
        d = position[i, c] - position[j, c]
        d -= size[c] * ((d * inverse[c] + NEAREST) - NEAREST)
        total += d * d
    return total - contact * contact


@kernel
def find_pairs(before, after, own, row, neighbour, count, radius, through, box, close, pairs):
    """Write the pairs that touch before a step or overlap after it; return how many there are, of which some may fit.

    Parameters
    ----------
    before, after : (n, 3) float64 arrays
        Places of local beads [length].
    own, row : (m,), (n,) int64 arrays
        Which local beads are own, and the rows of local beads among them, -1 for ghosts.
    neighbour, count :
        See `lists.fill_lists`.
    radius : (n,) float64 array
        0 for beads without a hard core [length].
    through : (n,) int64 array
        The number of a molecule whose beads pass through each other, else -1.
    box : ((3,) float64 array, (3,) float64 array)
        Lengths of the box and their inverse, 0 along axes that are not periodic.
    close : float
        Gap, relative to the contact distance, below which beads touch.
    pairs : (k, 2) int64 array
        Local beads, the lower first.
    """
    size, inverse = box
    found = 0
    for r in range(len(own)):
        i = own[r]
        if radius[i] == 0.0:
            continue
        for k in range(count[r]):
            j = neighbour[r, k]
            if radius[j] == 0.0 or (j < i and row[j] >= 0) or (through[i] >= 0 and through[i] == through[j]):
                continue
            contact = radius[i] + radius[j]
            later = gap(after, i, j, contact, size, inverse)
            if later > (NEAR - 1.0) * contact * contact:
                continue
            if later > 0.0 and gap(before, i, j, contact, size, inverse) > 2.0 * close * contact * contact:
                continue
            if found < len(pairs):
                pairs[found, 0], pairs[found, 1] = min(i, int(j)), max(i, int(j))
            found += 1
    return found


@kernel
def find_walls(before, after, own, radius, low, high, walled, close, pairs):
    """Write own beads that touch walls before a step or reach into them after it, with the wall; as `find_pairs`.

    Walls are -1 - axis for the lower one of an axis, -4 - axis for the upper; `low`, `high` (3,) are their places.
    """
    found = 0
    for r in range(len(own)):
        i = own[r]
        for c in range(3):
            if not walled[c] or radius[i] == 0.0:
                continue
            limit = 2.0 * close * radius[i]
            if after[i, c] - low[c] <= radius[i] or before[i, c] - low[c] <= radius[i] + limit:
                if found < len(pairs):
                    pairs[found, 0], pairs[found, 1] = i, -1 - c
                found += 1
            if high[c] - after[i, c] <= radius[i] or high[c] - before[i, c] <= radius[i] + limit:
                if found < len(pairs):
                    pairs[found, 0], pairs[found, 1] = i, -4 - c
                found += 1
    return found
