"""Impulses of contacts with friction: what they do to beads, and by how much they fail their conditions.

An impulse P (3,) of contact c acts on bead `one` at its surface, and -P on bead `other` unless that is a wall (-1). The
relative velocity of the two surfaces, with n from `other` to `one`, is

    u = v_one - v_other - (R_one w_one + R_other w_other) x n.

Found is P with 0 <= u'_n, 0 <= P_n, u'_n P_n = 0 and |P_t| <= mu P_n, P_t against u'_t and of that size where u'_t is
not 0; u' = u + `offset`. Beads with rigid bonds take an impulse up together: `response` has, for each bead in contact,
3 x 3 blocks for all beads of its molecule. Rigid bodies move and turn as a whole (`turning_kernels`).

`bodies` are ContactBodies, `contacts` a ContactSet.
"""

import math
from typing import NamedTuple

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.steps.friction.turning_kernels import turned


class ContactBodies(NamedTuple):
    """Beads that contacts act on, and what impulses do to them.

    Attributes
    ----------
    velocity, spin : (m, 3) float64 arrays
        Which impulses change; of rigid bodies in the rows of their first beads (`turning_kernels`).
    inverse : (m,) float64 array
        Of masses.
    row_block : (m,) int64 array
        Where a bead's blocks of `response` begin, or -1.
    first, size : (m,) int64 arrays
        Rows of its molecule.
    response : (r, 3, 3) float64 array
        What a unit impulse on a bead does to the velocities of its molecule's, one after another.
    whole : (m,) int64 array
        Which body a bead is of, or -1.
    lever : (m, 3) float64 array
        From that one's centre.
    heavy, tensor : (b,), (b, 3, 3) float64 arrays
        Inverse masses and tensors of inertia of bodies.
    """

    velocity: np.ndarray
    spin: np.ndarray
    inverse: np.ndarray
    row_block: np.ndarray
    first: np.ndarray
    size: np.ndarray
    response: np.ndarray
    whole: np.ndarray
    lever: np.ndarray
    heavy: np.ndarray
    tensor: np.ndarray


class ContactSet(NamedTuple):
    """Contacts, and what their impulses are.

    Attributes
    ----------
    one, other : (k,) int64 arrays
        Beads; -1 for a wall.
    normal, impulse, offset : (k, 3) float64 arrays
    frames : (k, 3, 3) float64 array
        Normals and two vectors across.
    stiff, slip : (k,) float64 arrays
        What an impulse along n adds to u_n, and one across it to u_t at most.
    arm, turn : (k, 2) float64 arrays
        R and R / I of both.
    friction : (k,) float64 array
        mu.
    own : (k, 3, 3) float64 array
        W: what an impulse adds to u.
    even : (k,) bool array
        Whether W is stiff along the normal and slip across it.
    """

    one: np.ndarray
    other: np.ndarray
    normal: np.ndarray
    impulse: np.ndarray
    offset: np.ndarray
    frames: np.ndarray
    stiff: np.ndarray
    slip: np.ndarray
    arm: np.ndarray
    turn: np.ndarray
    friction: np.ndarray
    own: np.ndarray
    even: np.ndarray


@kernel
def push(bodies, bead, sign, px, py, pz):
    """Give a bead an impulse (px, py, pz) times a sign, and what its bonds pass on to others."""
    velocity, spin, response = bodies.velocity, bodies.spin, bodies.response
    px, py, pz = sign * px, sign * py, sign * pz
    w = bodies.whole[bead]
    if w >= 0:
        r, lever, heavy = bodies.first[bead], bodies.lever, bodies.heavy
        velocity[r, 0] += heavy[w] * px
        velocity[r, 1] += heavy[w] * py
        velocity[r, 2] += heavy[w] * pz
        a, b, c = lever[bead, 0], lever[bead, 1], lever[bead, 2]
        x, y, z = turned(bodies.tensor[w], b * pz - c * py, c * px - a * pz, a * py - b * px)
        spin[r, 0] += x
        spin[r, 1] += y
        spin[r, 2] += z
        return
    b, inverse = bodies.row_block[bead], bodies.inverse[bead]
    if b < 0:
        velocity[bead, 0] += inverse * px
        velocity[bead, 1] += inverse * py
        velocity[bead, 2] += inverse * pz
        return
    for k in range(bodies.size[bead]):
        r = bodies.first[bead] + k
        for c in range(3):
            velocity[r, c] += response[b + k, c, 0] * px + response[b + k, c, 1] * py + response[b + k, c, 2] * pz


@kernel
def twist(bodies, bead, arm, turn, tx, ty, tz):
    """Take from a bead's spin, or its body's, the torque of an impulse across the normal at its surface.

    `arm`, `turn`: R and R / I of the bead, of which bodies have inertia of their own; (tx, ty, tz): n x P.
    """
    spin, w = bodies.spin, bodies.whole[bead]
    if w < 0:
        spin[bead, 0] -= turn * tx
        spin[bead, 1] -= turn * ty
        spin[bead, 2] -= turn * tz
        return
    r = bodies.first[bead]
    x, y, z = turned(bodies.tensor[w], arm * tx, arm * ty, arm * tz)
    spin[r, 0] -= x
    spin[r, 1] -= y
    spin[r, 2] -= z


@kernel
def act(bodies, contacts, c, px, py, pz):
    """Give both beads of contact c an impulse, and the torque of its part across the normal."""
    normal, arm, turn = contacts.normal, contacts.arm, contacts.turn
    i, j = contacts.one[c], contacts.other[c]
    push(bodies, i, 1.0, px, py, pz)
    nx, ny, nz = normal[c, 0], normal[c, 1], normal[c, 2]
    tx, ty, tz = ny * pz - nz * py, nz * px - nx * pz, nx * py - ny * px
    twist(bodies, i, arm[c, 0], turn[c, 0], tx, ty, tz)
    if j >= 0:
        push(bodies, j, -1.0, px, py, pz)
        twist(bodies, j, arm[c, 1], turn[c, 1], tx, ty, tz)


@kernel
def motion_of(bodies, bead):
    """Return the velocity and the spin of a bead, or those that its body gives it: six floats."""
    velocity, spin, lever = bodies.velocity, bodies.spin, bodies.lever
    if bodies.whole[bead] < 0:
        x, y, z = velocity[bead, 0], velocity[bead, 1], velocity[bead, 2]
        return x, y, z, spin[bead, 0], spin[bead, 1], spin[bead, 2]
    r = bodies.first[bead]
    a, b, c = lever[bead, 0], lever[bead, 1], lever[bead, 2]
    wx, wy, wz = spin[r, 0], spin[r, 1], spin[r, 2]
    x = velocity[r, 0] + (wy * c - wz * b)
    y = velocity[r, 1] + (wz * a - wx * c)
    z = velocity[r, 2] + (wx * b - wy * a)
    return x, y, z, wx, wy, wz


@kernel
def rate(bodies, contacts, c):
    """Return the relative velocity of the surfaces of contact c, without its offset: three floats."""
    normal, arm = contacts.normal, contacts.arm
    i, j = contacts.one[c], contacts.other[c]
    x, y, z, wx, wy, wz = motion_of(bodies, i)
    a = arm[c, 0]
    wx, wy, wz = a * wx, a * wy, a * wz
    if j >= 0:
        vx, vy, vz, sx, sy, sz = motion_of(bodies, j)
        x -= vx
        y -= vy
        z -= vz
        a = arm[c, 1]
        wx += a * sx
        wy += a * sy
        wz += a * sz
    nx, ny, nz = normal[c, 0], normal[c, 1], normal[c, 2]
    return x - (wy * nz - wz * ny), y - (wz * nx - wx * nz), z - (wx * ny - wy * nx)


@kernel
def change_across(rate, u, normal, across, slip, most):
    """Return by how much the impulse of a contact across its normal is to change: three floats.

    Parameters
    ----------
    rate, normal, across : three floats each
        Relative velocity of the surfaces with its offset, normal, and the impulse's part across this.
    u, slip, most : float
        The rate along the normal; `ContactSet.slip`; how large the part across may be.
    """
    (x, y, z), (nx, ny, nz), (tx, ty, tz) = rate, normal, across
    x, y, z = tx - (x - u * nx) / slip, ty - (y - u * ny) / slip, tz - (z - u * nz) / slip
    size = math.sqrt(x * x + y * y + z * z)
    if size > most:
        x, y, z = x * (most / size), y * (most / size), z * (most / size)
    return x - tx, y - ty, z - tz


@kernel
def residual_of(bodies, contacts, c):
    """Return by how much contact c fails its conditions, as a velocity."""
    normal, impulse, offset = contacts.normal, contacts.impulse, contacts.offset
    stiff, slip, friction = contacts.stiff[c], contacts.slip[c], contacts.friction[c]
    x, y, z = rate(bodies, contacts, c)
    x, y, z = x + offset[c, 0], y + offset[c, 1], z + offset[c, 2]
    nx, ny, nz = normal[c, 0], normal[c, 1], normal[c, 2]
    u = x * nx + y * ny + z * nz
    p = impulse[c, 0] * nx + impulse[c, 1] * ny + impulse[c, 2] * nz
    worst = abs(max(0.0, p - u / stiff) - p) * stiff
    if friction > 0.0:
        across = impulse[c, 0] - p * nx, impulse[c, 1] - p * ny, impulse[c, 2] - p * nz
        x, y, z = change_across((x, y, z), u, (nx, ny, nz), across, slip, friction * max(p, 0.0))
        worst = max(worst, math.sqrt(x * x + y * y + z * z) * slip)
    return worst


@kernel
def residual(bodies, contacts, low, high):
    """Return by how much contacts low ... high - 1 fail their conditions, as a velocity; no number stays none."""
    worst = 0.0
    for c in range(low, high):
        p = residual_of(bodies, contacts, c)
        if p > worst or p != p:
            worst = p
    return worst


@kernel
def residuals(bodies, contacts, low, high, found):
    """Write by how much each of contacts low ... high - 1 fails its conditions, (high - low,), as velocities."""
    for c in range(low, high):
        found[c - low] = residual_of(bodies, contacts, c)


@kernel
def apply_all(bodies, contacts):
    """Let the impulses of all contacts act, in order."""
    impulse = contacts.impulse
    for c in range(len(impulse)):
        act(bodies, contacts, c, impulse[c, 0], impulse[c, 1], impulse[c, 2])


@kernel
def rates(bodies, contacts, found):
    """Write the relative velocities of the surfaces of all contacts, without offsets, (k, 3)."""
    for c in range(len(found)):
        found[c, 0], found[c, 1], found[c, 2] = rate(bodies, contacts, c)


@kernel
def fill_matrix(bodies, contacts, low, matrix):
    """Fill what unit impulses of contacts low ... along axes of their frames add to rates along those.

    `bodies` has velocities and spins of 0, which are 0 again in the end; `matrix` is (3 k, 3 k).
    """
    velocity, spin, first, frames = bodies.velocity, bodies.spin, bodies.first, contacts.frames[low:]
    count = len(matrix) // 3
    for c in range(count):
        for d in range(3):
            act(bodies, contacts, low + c, frames[c, d, 0], frames[c, d, 1], frames[c, d, 2])
            for e in range(count):
                x, y, z = rate(bodies, contacts, low + e)
                for f in range(3):
                    matrix[3 * e + f, 3 * c + d] = frames[e, f, 0] * x + frames[e, f, 1] * y + frames[e, f, 2] * z
            for side in range(2):
                bead = contacts.one[low + c] if side == 0 else contacts.other[low + c]
                if bead < 0:
                    continue
                begin, beads = (bead, 1) if bodies.row_block[bead] < 0 else (first[bead], bodies.size[bead])
                if bodies.whole[bead] >= 0:
                    bead = begin = first[bead]
                for k in range(beads):
                    for f in range(3):
                        velocity[begin + k, f] = 0.0
                for f in range(3):
                    spin[bead, f] = 0.0


@kernel
def add_response(bodies, bead, along, normal, found):
    """Add to `found` (3, 3) what impulses on a body do to its velocity where they act, `along` a normal from a bead."""
    w, lever, heavy, tensor = bodies.whole[bead], bodies.lever, bodies.heavy, bodies.tensor
    a, b, c = lever[bead, 0] + along * normal[0], lever[bead, 1] + along * normal[1], lever[bead, 2] + along * normal[2]
    for g in range(3):
        px, py, pz = 1.0 if g == 0 else 0.0, 1.0 if g == 1 else 0.0, 1.0 if g == 2 else 0.0
        x, y, z = turned(tensor[w], b * pz - c * py, c * px - a * pz, a * py - b * px)
        found[0, g] += heavy[w] * px + (y * c - z * b)
        found[1, g] += heavy[w] * py + (z * a - x * c)
        found[2, g] += heavy[w] * pz + (x * b - y * a)


@kernel
def own_response(bodies, contacts, found):
    """Write what an impulse of each contact adds to its own relative velocity, without beads' spins, (k, 3, 3).

    Of rigid bodies it acts at the surface.
    """
    one, other, arm = contacts.one, contacts.other, contacts.arm
    inverse, row_block, first, response = bodies.inverse, bodies.row_block, bodies.first, bodies.response
    for c in range(len(found)):
        for f in range(3):
            for g in range(3):
                found[c, f, g] = 0.0
        for side in range(2):
            bead = one[c] if side == 0 else other[c]
            if bead < 0:
                continue
            mate = other[c] if side == 0 else one[c]
            if bodies.whole[bead] >= 0:
                along = -arm[c, 0] if side == 0 else arm[c, 1]
                add_response(bodies, bead, along, contacts.normal[c], found[c])
                continue
            if row_block[bead] < 0:
                for f in range(3):
                    found[c, f, f] += inverse[bead]
                continue
            at = row_block[bead] + bead - first[bead]
            together = mate >= first[bead] and mate < first[bead] + bodies.size[bead]
            for f in range(3):
                for g in range(3):
                    found[c, f, g] += response[at, f, g]
                    if together:
                        found[c, f, g] -= response[row_block[bead] + mate - first[bead], f, g]
