"""Which beads touch, or would after a step without contacts."""

from hpcchain.contact.walls import gap_of, normal_of
from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.steps.potentials.lists import apart

NEAR = 1.2
"""Times the contact distance, squared: farther apart after a step, beads are not looked at as they were before it."""


@kernel
def gap(position, i, j, contact, images):
    """Return the distance of the nearest images of two beads beyond their contact distance, times their sum."""
    return apart(position, i, j, images)[3] - contact * contact


@kernel
def find_pairs(before, after, lists, row, radius, through, images, close, pairs):
    """Write the pairs that touch before a step or overlap after it; return how many there are, of which some may fit.

    Parameters
    ----------
    before, after : (n, 3) float64 arrays
        Places of local beads [length].
    lists : Pairs
        Of own beads (`forces`).
    row : (n,) int64 array
        The rows of local beads among own ones, -1 for ghosts.
    radius : (n,) float64 array
        0 for beads without a hard core [length].
    through : (n,) int64 array
        The number of a molecule whose beads pass through each other, else -1.
    images : Images
    close : float
        Gap, relative to the contact distance, below which beads touch.
    pairs : (k, 2) int64 array
        Local beads, the lower first.
    """
    own, neighbour, count = lists.own, lists.neighbour, lists.lengths
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
            later = gap(after, i, j, contact, images)
            if later > (NEAR - 1.0) * contact * contact:
                continue
            if later > 0.0 and gap(before, i, j, contact, images) > 2.0 * close * contact * contact:
                continue
            if found < len(pairs):
                pairs[found, 0], pairs[found, 1] = min(i, int(j)), max(i, int(j))
            found += 1
    return found


@kernel
def find_walls(before, after, own, radius, walls, times, close, pairs):
    """Write own beads that touch walls before a step or reach into them after it, and the walls' codes.

    The rest is as for `find_pairs`.

    Parameters
    ----------
    walls : WallRows
    times : (float, float)
        Of the step's begin and end [time].
    """
    found = 0
    for r in range(len(own)):
        i = own[r]
        if radius[i] == 0.0:
            continue
        limit = radius[i] + 2.0 * close * radius[i]
        for number in range(len(walls.walls)):
            if walls.walls[number, L.WALL_SORT] == L.NO_WALL:
                continue
            later = gap_of(walls, number, after[i, 0], after[i, 1], after[i, 2], times[1])
            if later > radius[i]:
                earlier = gap_of(walls, number, before[i, 0], before[i, 1], before[i, 2], times[0])
                if earlier > limit:
                    continue
            if found < len(pairs):
                pairs[found, 0], pairs[found, 1] = i, -1 - number
            found += 1
    return found


@kernel
def from_walls(walls, number, position, time, distance, normal):
    """Write the distances (n,) of places (n, 3) from the walls of these rows at a time, and the normals (n, 3)."""
    for k in range(len(number)):
        x, y, z = position[k, 0], position[k, 1], position[k, 2]
        distance[k] = gap_of(walls, number[k], x, y, z, time)
        normal_of(walls, number[k], x, y, z, normal[k])
