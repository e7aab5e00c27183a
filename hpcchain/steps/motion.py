"""Half steps of velocities and whole steps of positions."""

import math

from hpcchain.jit.decorators import kernel


@kernel
def kick(velocity, force, mass, half):
    """Give own beads the velocity of half a step of force: velocity (m, 3), force (m, 3), mass (m,), half [time]."""
    for r in range(len(mass)):
        for c in range(3):
            velocity[r, c] += half * (force[r, c] / mass[r])


@kernel
def drift(position, own, velocity, step, rows):
    """Move those own beads that stand in `rows` by their velocities for a step [time]."""
    for k in range(len(rows)):
        r = rows[k]
        for c in range(3):
            position[own[r], c] += step * velocity[r, c]


@kernel
def wrap(position, reference, image, own, first, origin, size):
    """Bring whole molecules back whose first bead is more than a quarter of the box outside of it; return how many.

    A molecule's own path alone decides when that is. The references of neighbour lists move along.

    Parameters
    ----------
    position : (n, 3) float64 array
        Of local beads [length].
    reference, image : (m, 3) float64, int64 arrays
        Of own beads.
    own : (m,) int64 array
        Which local beads are own.
    first : (k + 1,) int64 array
        Where own molecules begin.
    origin, size : (3,) float64 arrays
        Of the box; size 0 along axes that are not periodic [length].
    """
    brought = 0
    for m in range(len(first) - 1):
        lead = own[first[m]]
        for c in range(3):
            if size[c] == 0.0:
                continue
            part = (position[lead, c] - origin[c]) / size[c]
            if -0.25 <= part < 1.25 or not -math.inf < part < math.inf:
                continue
            turns = math.floor(part)
            brought += 1
            for r in range(first[m], first[m + 1]):
                position[own[r], c] -= turns * size[c]
                reference[r, c] -= turns * size[c]
                image[r, c] += int(turns)
    return brought
