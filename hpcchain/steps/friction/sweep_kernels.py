"""Sweeps over contacts with friction: a nonsmooth block Gauss-Seidel method (Jean 1999) that spares what is solved.

Each contact in turn is solved with all others as they are, from W (3 x 3) of its own: what its impulse does to its
relative velocity. Sweeps go there and back. In a heap few contacts fail by much more than the rest. So a sweep changes
those alone that fail by more than a part of what may be left, and passes over those whose molecules have not changed
since it looked.

Where that takes many changes, as where much rests on few contacts, further sweeps change all. The change of a double
sweep, there and back, serves as minus a gradient: impulses go on in the conjugate direction of Fletcher and Reeves as
long as changes become less (Silcowitz, Niebel and Erleben 2010). The next sweep brings impulses back into their cones,
so sweeps end at the same solution as without these directions.

`bodies` and `contacts` are ContactBodies and a ContactSet (`friction_kernels`).
"""

import math
from typing import NamedTuple

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.steps.friction.friction_kernels import act, change_across, rate, residual

ALTERNATIONS = 4
"""How often a contact whose normal and tangential parts depend on one another solves them in turn in a visit."""
SHARE, LEAST_SHARE = 0.5, 1e-3
"""Part of the residual from which on a contact is changed: at first, and least."""
CHANGES = 1000
"""Changes of each contact, on average, after which sweeps change all and go on in directions."""


class Kept(NamedTuple):
    """Impulses (n, 3), velocities and spins (m, 3) where a double sweep begins; and their direction (`go_on`)."""

    impulse: np.ndarray
    velocity: np.ndarray
    spin: np.ndarray
    along: np.ndarray
    drift: np.ndarray
    turn: np.ndarray


@kernel
def solve_contact(contacts, c, x, y, z, least):
    """Return by how much the impulse of contact c is to change, (x, y, z) its rate with offset, and the change.

    Parameters
    ----------
    contacts : ContactSet
    c : int
    x, y, z : float
    least : float
        As a velocity: a contact that fails by no more is not solved to its end.

    Returns
    -------
    float, float, float, float
        Change of the impulse, and the greatest that one of its parts would make to a velocity.
    """
    normal, impulse, own = contacts.normal[c], contacts.impulse[c], contacts.own[c]
    friction, stiff, slip, even = contacts.friction[c], contacts.stiff[c], contacts.slip[c], contacts.even[c]
    nx, ny, nz = normal[0], normal[1], normal[2]
    p = impulse[0] * nx + impulse[1] * ny + impulse[2] * nz
    tx, ty, tz = impulse[0] - p * nx, impulse[1] - p * ny, impulse[2] - p * nz
    gx = gy = gz = worst = 0.0
    for _ in range(1 if even else ALTERNATIONS):
        u = x * nx + y * ny + z * nz
        d = max(0.0, p - u / stiff) - p
        p += d
        if not even:
            x, y, z = added(own, x, y, z, d * nx, d * ny, d * nz)
            u = x * nx + y * ny + z * nz
        ax, ay, az = d * nx, d * ny, d * nz
        worst = max(worst, abs(d) * stiff)
        if friction > 0.0:
            bx, by, bz = change_across((x, y, z), u, (nx, ny, nz), (tx, ty, tz), slip, friction * p)
            worst = max(worst, math.sqrt(bx * bx + by * by + bz * bz) * slip)
            tx, ty, tz = tx + bx, ty + by, tz + bz
            if not even:
                x, y, z = added(own, x, y, z, bx, by, bz)
            ax, ay, az = ax + bx, ay + by, az + bz
        gx, gy, gz = gx + ax, gy + ay, gz + az
        if worst <= least:
            break
    return gx, gy, gz, worst


@kernel
def added(own, x, y, z, px, py, pz):
    """Return (x, y, z) + own (3, 3) times (px, py, pz)."""
    return (
        x + (own[0, 0] * px + own[0, 1] * py + own[0, 2] * pz),
        y + (own[1, 0] * px + own[1, 1] * py + own[1, 2] * pz),
        z + (own[2, 0] * px + own[2, 1] * py + own[2, 2] * pz),
    )


@kernel
def sweep_failing(bodies, contacts, low, high, forward, least, clock, seen, moved):
    """Solve those of contacts low ... high - 1 that fail by more than `least`; return the worst one's, and the clock.

    With `least` 0, and none of them seen, all are solved.

    Parameters
    ----------
    bodies, contacts : ContactBodies, ContactSet
    low, high : int
    forward : bool
    least : float
        As a velocity.
    clock : int
        Changes so far.
    seen, moved : (k,), (m,) int64 arrays
        The clock when contacts were last found well, -1: never; when molecules last changed, in their first rows.
    """
    one, other, impulse, offset = contacts.one, contacts.other, contacts.impulse, contacts.offset
    first, worst = bodies.first, 0.0
    for k in range(high - low):
        c = low + k if forward else high - 1 - k
        i = first[one[c]]
        j = i if other[c] < 0 else first[other[c]]
        if max(moved[i], moved[j]) <= seen[c]:
            continue
        x, y, z = rate(bodies, contacts, c)
        x, y, z = x + offset[c, 0], y + offset[c, 1], z + offset[c, 2]
        px, py, pz, size = solve_contact(contacts, c, x, y, z, least)
        worst = max(worst, size)
        if size <= least:
            seen[c] = clock
            continue
        clock += 1
        moved[i] = moved[j] = clock
        impulse[c, 0] += px
        impulse[c, 1] += py
        impulse[c, 2] += pz
        act(bodies, contacts, c, px, py, pz)
    return worst, clock


@kernel
def store(bodies, contacts, rows, low, high, kept):
    """Keep impulses of contacts low ... high - 1, and velocities and spins of the beads in `rows`, in `kept`."""
    impulse, velocity, spin = contacts.impulse, bodies.velocity, bodies.spin
    p, v, w = kept.impulse, kept.velocity, kept.spin
    for c in range(low, high):
        for f in range(3):
            p[c, f] = impulse[c, f]
    for k in range(len(rows)):
        for f in range(3):
            v[rows[k], f] = velocity[rows[k], f]
            w[rows[k], f] = spin[rows[k], f]


@kernel
def go_on(bodies, contacts, rows, low, high, kept, before):
    """Go on in a conjugate direction after a double sweep, of which `store` has kept the beginning.

    Parameters
    ----------
    bodies, contacts : ContactBodies, ContactSet
    rows : (m,) int64 array
        Beads of the group.
    low, high : int
        Its contacts.
    kept : Kept
    before : float
        What this has returned the last time, 0 at first.

    Returns
    -------
    float
        The change's square [energy].
    """
    impulse, slip, velocity, spin = contacts.impulse, contacts.slip, bodies.velocity, bodies.spin
    p, v, w = kept.impulse, kept.velocity, kept.spin
    along, drift, turn = kept.along, kept.drift, kept.turn
    now = 0.0
    for c in range(low, high):
        x, y, z = impulse[c, 0] - p[c, 0], impulse[c, 1] - p[c, 1], impulse[c, 2] - p[c, 2]
        now += slip[c] * (x * x + y * y + z * z)
    part = now / before if now < before else 0.0
    for c in range(low, high):
        for f in range(3):
            more = part * along[c, f]
            along[c, f] = more + (impulse[c, f] - p[c, f])
            impulse[c, f] += more
    for k in range(len(rows)):
        r = rows[k]
        for f in range(3):
            more = part * drift[r, f]
            drift[r, f] = more + (velocity[r, f] - v[r, f])
            velocity[r, f] += more
            more = part * turn[r, f]
            turn[r, f] = more + (spin[r, f] - w[r, f])
            spin[r, f] += more
    return now


@kernel
def mend(bodies, contacts, low, high, unit, most, seen, moved):
    """Sweep over those of contacts low ... high - 1 that fail until the residual is `unit`; see `sweep_clusters`.

    Returns
    -------
    int, int, bool
        Sweeps, changes, and whether they are solved.
    """
    least, clock, count = SHARE * unit, 0, 0
    while count < most and clock <= CHANGES * (high - low):
        worst, clock = sweep_failing(bodies, contacts, low, high, count % 2 == 0, least, clock, seen, moved)
        count += 1
        if worst > unit:
            continue
        if residual(bodies, contacts, low, high) <= unit:
            return count, clock, True
        if worst <= least:  # what a contact that is not even fails by is measured in another way there
            least *= SHARE
            seen[low:high] = -1
            if least < LEAST_SHARE * unit:
                break
    return count, clock, False


@kernel
def direct(bodies, contacts, low, high, beads, unit, most, kept, seen, moved):
    """Sweep over contacts low ... high - 1 in conjugate directions until the residual is `unit`; see `sweep_clusters`.

    Returns
    -------
    int, bool
        Sweeps, and whether they are solved.
    """
    before = 0.0
    for k in range(most):
        forward = k % 2 == 0
        if forward:
            store(bodies, contacts, beads, low, high, kept)
        seen[low:high] = -1
        worst, _ = sweep_failing(bodies, contacts, low, high, forward, 0.0, np.int64(0), seen, moved)
        if worst <= 4.0 * unit and residual(bodies, contacts, low, high) <= unit:
            return k + 1, True
        if not forward and k + 1 < most:
            before = go_on(bodies, contacts, beads, low, high, kept, before)
    return most, False


@kernel
def sweep_clusters(bodies, contacts, starts, rows, row_starts, left, unit, most, counts, kept, seen, moved):
    """Sweep over the clusters that are left, each until its residual is at most `unit` or `most` times.

    Parameters
    ----------
    bodies, contacts : ContactBodies, ContactSet
    starts : (q + 1,) int64 array
        Where the contacts of clusters begin.
    rows, row_starts : (m,), (q + 1,) int64 arrays
        The beads of clusters, and where each one's begin.
    left : (q,) bool array
        Which are to be solved; those that are solved are taken out.
    unit : (q,) float64 array
        Residual at which a cluster is solved [length / time].
    most : int
    counts : (q, 2) int64 array
        How many sweeps and changes there were is added.
    kept : Kept
        Scratch, 0.
    seen, moved : (n,), (m,) int64 arrays
        See `sweep_failing`; -1 and 0.
    """
    for q in range(len(left)):
        if not left[q]:
            continue
        low, high = starts[q], starts[q + 1]
        count, changes, solved = mend(bodies, contacts, low, high, unit[q], most, seen, moved)
        if not solved:
            beads = rows[row_starts[q] : row_starts[q + 1]]
            more, solved = direct(bodies, contacts, low, high, beads, unit[q], most - count, kept, seen, moved)
            count, changes = count + more, changes + more * (high - low)
        left[q] = not solved
        counts[q, 0] += count
        counts[q, 1] += changes
