"""Molecules with rigid bonds, rods and rigid bodies: one step of RATTLE of each, and velocities made rigid.

A step gives the velocity of its path, the way over its length; the part of that which is not rigid at the new place
comes off when velocities are projected, after the second half of forces.

Bonds: `propagators.steps.rattle_and_variational` finds the multipliers of a step that begins with velocities to which
half a step of forces has been added.

Rods: the axis u turns by the angle whose sine is h |u'|, the line and its motion fitted to the beads, each weighted by
its mass (Tapia-McClung and Grønbech-Jensen 2005 in closed form; `propagators.rigid.rod_steps`).

Bodies: one with places d = R s about its centre goes to C + h C' + R P s. The multipliers of a step act along distances
in the body as it was. So sum m d x (R P s) = h L with the angular momentum L that velocities have there (Moser and
Veselov 1991). Along the principal axes, with S_k = sum m s_k^2 and the quaternion (p_0, p) of P, that is

    2 ((S_2 + S_3) p_0 p_1 + (S_2 - S_3) p_2 p_3) = h L_1  and cyclic,   p_0^2 = 1 - p^2,

which Newton's method solves. Angular momentum is kept, and a step backwards leads back.

Rods and bodies stand in tiles as in `propagators.rigid`, one after another in the same ones.
"""

import math

from hpcchain.jit.decorators import kernel
from hpcchain.layout import workspace as W
from hpcchain.model.molecules.bond_graph import BEADS, BONDS, STRIDE
from hpcchain.propagators.rigid.body import SITE, body_frame, body_moments, body_prepare, body_turning, in_space, placed
from hpcchain.propagators.rigid.rod import SITE as PLACE
from hpcchain.propagators.rigid.rod import rod_prepare
from hpcchain.propagators.steps.rattle_and_variational import SOLVED, TRIDIAGONAL, step_solve, step_work
from hpcchain.propagators.taylor.graph import graph_bonds, graph_factor, graph_gt, graph_project, graph_solve

MOST_NEWTON = 30
CLOSE = 1e-9  # of p, which the last step is below: the next would be below round-off
WIDEST = 0.9  # |p| of the widest turn in a step


@kernel
def _take(position, own, velocity, first, n, place, rates):
    """Copy the beads of a molecule from rows own[first] ... of positions and first ... of velocities to vectors."""
    npad = len(place) // 3
    for i in range(n):
        for c in range(3):
            place[c * npad + i] = position[own[first + i], c]
            rates[c * npad + i] = velocity[first + i, c]


@kernel
def move_bonded(position, own, velocity, rows, g, shape, step, tolerance, work):
    """Move molecules of one kind for a step; return -1, or the first that has no solution.

    Parameters
    ----------
    position, velocity : (n, 3), (m, 3) float64 arrays
        Of local and of own beads [length], [length / time].
    own : (m,) int64 array
        Which local beads are own.
    rows : (k,) int64 array
        First rows of the molecules among own beads.
    g : int64 array
        Their bond graph.
    shape : (float64 array, float64 array)
        Inverse masses and squared bond lengths.
    step, tolerance : float
        [time]; of the solution, relative.
    work : (float64 array, float64 array, float64 array, float64 array)
        Workspace: vectors of the molecule's beads for places and velocities, for `step_solve`, and for factors.
    """
    (im, lengths), (place, rates, ws, factors) = shape, work
    n, npad, stride = g[BEADS], len(place) // 3, g[STRIDE]
    found = step_work(g, npad, ws)
    end, multipliers = found.end, found.multipliers
    for m in range(len(rows)):
        r = rows[m]
        _take(position, own, velocity, r, n, place, rates)
        status = step_solve(g, TRIDIAGONAL, place, rates, im, step, tolerance, factors, ws, factors)
        if status != SOLVED:
            return m
        graph_bonds(g, found.place, end)
        graph_factor(g, end, im, factors)
        for k in range(g[BONDS]):
            b2 = end[k] ** 2 + end[stride + k] ** 2 + end[2 * stride + k] ** 2
            multipliers[k] = -0.5 * (b2 - lengths[k])
        graph_solve(g, factors, multipliers)
        graph_gt(g, end, multipliers, im, found.place)
        for i in range(n):
            for c in range(3):
                position[own[r + i], c] = found.place[c * npad + i]
                velocity[r + i, c] = found.chord[c * npad + i]
    return -1


@kernel
def project_bonded(position, own, velocity, rows, g, shape, work):
    """Take from velocities of molecules of one kind what would change the lengths of bonds; see `move_bonded`."""
    place, rates, ws, factors = work
    found = step_work(g, len(place) // 3, ws)
    n, npad = g[BEADS], len(place) // 3
    for m in range(len(rows)):
        r = rows[m]
        _take(position, own, velocity, r, n, place, rates)
        graph_bonds(g, place, found.end)
        graph_factor(g, found.end, shape[0], factors)
        graph_project(g, found.end, shape[0], factors, found.multipliers, rates)
        for i in range(n):
            for c in range(3):
                velocity[r + i, c] = rates[c * npad + i]


@kernel
def _bring(position, own, velocity, first, n, work):
    """Copy the beads of a molecule from rows own[first] ... of positions and first ... of velocities to its tiles."""
    for b in range(n):
        p = W.bead_offset(0, b) + W.COEF
        for c in range(3):
            work[p + c * W.LANES] = position[own[first + b], c]
            work[p + W.ROW + c * W.LANES] = velocity[first + b, c]


@kernel
def move_rods(position, own, velocity, rows, n, step, work):
    """Move rods of one kind for a step; return -1, or the first that would turn too far; see `move_bodies`.

    The places of beads stand in the tiles as in `rod`.
    """
    for m in range(len(rows)):
        _bring(position, own, velocity, rows[m], n, work)
        axis, rate = rod_prepare(work, 0, n)
        sine2 = step * step * (rate[0] * rate[0] + rate[1] * rate[1] + rate[2] * rate[2])
        if not sine2 < 1.0:
            return m
        short = -sine2 / (1.0 + math.sqrt(1.0 - sine2))  # the turn's cosine - 1, without a difference
        for k in range(n):
            p = W.bead_offset(0, k)
            r = rows[m] + k
            for c in range(3):
                q = p + W.COEF + c * W.LANES
                bent = work[p + PLACE] * short * axis[c]
                position[own[r], c] = work[q] + (step * work[q + W.ROW] + bent)
                velocity[r, c] = work[q + W.ROW] + bent / step
    return -1


@kernel
def _turned(sums, a, b, c):
    """Solve for the quaternion's (p_1, p_2, p_3) with the right sides a, b, c; the fourth number is 1 if in vain."""
    r, s, t = sums
    x, y, z = 0.5 * a / (s + t), 0.5 * b / (t + r), 0.5 * c / (r + s)
    for _ in range(MOST_NEWTON):
        square = x * x + y * y + z * z
        if not square < WIDEST * WIDEST:
            return x, y, z, 1
        w = math.sqrt(1.0 - square)
        fa = 2.0 * ((s + t) * w * x + (s - t) * y * z) - a
        fb = 2.0 * ((t + r) * w * y + (t - r) * z * x) - b
        fc = 2.0 * ((r + s) * w * z + (r - s) * x * y) - c
        ka, kb, kc = 2.0 * (s + t), 2.0 * (t + r), 2.0 * (r + s)
        da, db, dc = 2.0 * (s - t), 2.0 * (t - r), 2.0 * (r - s)
        xx, xy, xz = ka * (w - x * x / w), da * z - ka * x * y / w, da * y - ka * x * z / w
        yx, yy, yz = db * z - kb * y * x / w, kb * (w - y * y / w), db * x - kb * y * z / w
        zx, zy, zz = dc * y - kc * z * x / w, dc * x - kc * z * y / w, kc * (w - z * z / w)
        first, second, third = yy * zz - yz * zy, yz * zx - yx * zz, yx * zy - yy * zx
        det = xx * first + xy * second + xz * third
        if not abs(det) > 0.0:
            return x, y, z, 1
        dx = (fa * first + fb * (xz * zy - xy * zz) + fc * (xy * yz - xz * yy)) / det
        dy = (fa * second + fb * (xx * zz - xz * zx) + fc * (xz * yx - xx * yz)) / det
        dz = (fa * third + fb * (xy * zx - xx * zy) + fc * (xx * yy - xy * yx)) / det
        x -= dx
        y -= dy
        z -= dz
        if abs(dx) + abs(dy) + abs(dz) <= CLOSE * (abs(x) + abs(y) + abs(z)):
            return x, y, z, 0
    return x, y, z, 1


@kernel
def move_bodies(position, own, velocity, rows, n, step, work):
    """Move bodies of one kind for a step; return -1, or the first that would turn too far.

    Parameters
    ----------
    position, own, velocity, rows, step :
        See `move_bonded`.
    n : int
        Beads of a body.
    work : float64 array
        Its tiles, with inverse masses and places of beads (`body`: SITE).
    """
    mass, sums = body_moments(work, 0, n)
    for m in range(len(rows)):
        _bring(position, own, velocity, rows[m], n, work)
        centre, axes = body_frame(work, 0, n, mass, sums)
        speed, turn = body_turning(work, 0, n, mass, sums, axes)
        a = step * (sums[1] + sums[2]) * turn[0]
        b = step * (sums[2] + sums[0]) * turn[1]
        c = step * (sums[0] + sums[1]) * turn[2]
        x, y, z, failed = _turned(sums, a, b, c)
        if failed:
            return m
        w = math.sqrt(1.0 - (x * x + y * y + z * z))
        for k in range(n):
            p = W.bead_offset(0, k)
            dx, dy, dz = W.vector(work, p + SITE)
            tx, ty, tz = 2.0 * (y * dz - z * dy), 2.0 * (z * dx - x * dz), 2.0 * (x * dy - y * dx)
            s = w * tx + y * tz - z * ty, w * ty + z * tx - x * tz, w * tz + x * ty - y * tx
            ux, uy, uz = in_space(axes, s)
            ox, oy, oz = placed(work, p, axes)
            r = rows[m] + k
            i = own[r]
            position[i, 0] = centre[0] + step * speed[0] + ox + ux
            position[i, 1] = centre[1] + step * speed[1] + oy + uy
            position[i, 2] = centre[2] + step * speed[2] + oz + uz
            velocity[r, 0] = speed[0] + ux / step
            velocity[r, 1] = speed[1] + uy / step
            velocity[r, 2] = speed[2] + uz / step
    return -1


@kernel
def project_rigid(position, own, velocity, rows, n, is_body, work):
    """Make velocities of rods or bodies of one kind those of rigid motion; see `move_bodies`."""
    for m in range(len(rows)):
        _bring(position, own, velocity, rows[m], n, work)
        if is_body:
            body_prepare(work, 0, n)
        else:
            rod_prepare(work, 0, n)
        for k in range(n):
            p = W.bead_offset(0, k) + W.COEF + W.ROW
            for c in range(3):
                velocity[rows[m] + k, c] = work[p + c * W.LANES]
