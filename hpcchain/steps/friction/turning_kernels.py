"""Rigid bodies as contacts see them: a centre that moves and a body that turns about it, whatever beads it has.

The velocity of a body's bead at d from the centre of mass is V + w x d. An impulse P on it, at its surface or its
centre, changes V by P / M and w by I^-1 (a x P), a from the centre to where P acts. While contacts are solved V and w
stand in the rows of velocities and spins of a body's first bead, and other rows of it mean nothing.
"""

from hpcchain.jit.decorators import kernel

NONE = -1
"""In `whole`, of beads that are of no body."""


@kernel
def body_tables(position, inverse, rows, n, at, lever, heavy, tensor):
    """Write what contacts need of bodies of n beads each, from their beads' places.

    Parameters
    ----------
    position, inverse : (m, 3), (m,) float64 arrays
        Of beads [length], [1 / mass].
    rows : (k,) int64 array
        First rows of bodies.
    n, at : int
        Beads of each; index of the first in `heavy` and `tensor`.
    lever : (m, 3) float64 array
        From the centre of mass to each bead [length].
    heavy, tensor : (b,), (b, 3, 3) float64 arrays
        Inverse masses, inverse tensors of inertia.
    """
    for k in range(len(rows)):
        r = rows[k]
        mass = x = y = z = 0.0
        for i in range(r, r + n):
            m = 1.0 / inverse[i]
            mass += m
            x += m * (position[i, 0] - position[r, 0])
            y += m * (position[i, 1] - position[r, 1])
            z += m * (position[i, 2] - position[r, 2])
        xx = yy = zz = xy = yz = zx = 0.0
        for i in range(r, r + n):
            m = 1.0 / inverse[i]
            a = (position[i, 0] - position[r, 0]) - x / mass
            b = (position[i, 1] - position[r, 1]) - y / mass
            c = (position[i, 2] - position[r, 2]) - z / mass
            lever[i, 0], lever[i, 1], lever[i, 2] = a, b, c
            xx += m * (b * b + c * c)
            yy += m * (c * c + a * a)
            zz += m * (a * a + b * b)
            xy -= m * a * b
            yz -= m * b * c
            zx -= m * c * a
        heavy[at + k] = 1.0 / mass
        found = tensor[at + k]
        found[0, 0], found[1, 1], found[2, 2] = yy * zz - yz * yz, zz * xx - zx * zx, xx * yy - xy * xy
        found[0, 1] = found[1, 0] = zx * yz - xy * zz
        found[1, 2] = found[2, 1] = xy * zx - yz * xx
        found[2, 0] = found[0, 2] = xy * yz - zx * yy
        det = xx * found[0, 0] + xy * found[0, 1] + zx * found[0, 2]
        for f in range(3):
            for g in range(3):
                found[f, g] /= det


@kernel
def turned(tensor, x, y, z):
    """Return what an angular momentum (x, y, z) adds to the angular velocity of a body with this inverse tensor."""
    return (
        tensor[0, 0] * x + tensor[0, 1] * y + tensor[0, 2] * z,
        tensor[1, 0] * x + tensor[1, 1] * y + tensor[1, 2] * z,
        tensor[2, 0] * x + tensor[2, 1] * y + tensor[2, 2] * z,
    )


@kernel
def gather(velocity, spin, inverse, rows, n, at, lever, heavy, tensor):
    """Put V and w of bodies into the rows of their first beads, from the velocities of all; see `body_tables`."""
    for k in range(len(rows)):
        r = rows[k]
        x = y = z = 0.0
        for i in range(r, r + n):
            m = 1.0 / inverse[i]
            x += m * (velocity[i, 0] - velocity[r, 0])
            y += m * (velocity[i, 1] - velocity[r, 1])
            z += m * (velocity[i, 2] - velocity[r, 2])
        vx = velocity[r, 0] + heavy[at + k] * x
        vy = velocity[r, 1] + heavy[at + k] * y
        vz = velocity[r, 2] + heavy[at + k] * z
        x = y = z = 0.0
        for i in range(r, r + n):
            m = 1.0 / inverse[i]
            a, b, c = m * (velocity[i, 0] - vx), m * (velocity[i, 1] - vy), m * (velocity[i, 2] - vz)
            x += lever[i, 1] * c - lever[i, 2] * b
            y += lever[i, 2] * a - lever[i, 0] * c
            z += lever[i, 0] * b - lever[i, 1] * a
        velocity[r, 0], velocity[r, 1], velocity[r, 2] = vx, vy, vz
        spin[r, 0], spin[r, 1], spin[r, 2] = turned(tensor[at + k], x, y, z)


@kernel
def scatter(velocity, spin, rows, n, lever):
    """Give all beads of bodies the velocities that V and w of `gather` say; spins of the first are 0 then."""
    for k in range(len(rows)):
        r = rows[k]
        vx, vy, vz = velocity[r, 0], velocity[r, 1], velocity[r, 2]
        x, y, z = spin[r, 0], spin[r, 1], spin[r, 2]
        for i in range(r, r + n):
            velocity[i, 0] = vx + (y * lever[i, 2] - z * lever[i, 1])
            velocity[i, 1] = vy + (z * lever[i, 0] - x * lever[i, 2])
            velocity[i, 2] = vz + (x * lever[i, 1] - y * lever[i, 0])
        spin[r, 0] = spin[r, 1] = spin[r, 2] = 0.0
