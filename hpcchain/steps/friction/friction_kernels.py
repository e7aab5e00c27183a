"""Impulses of contacts with friction: what they do to beads, and sweeps over them (Jean 1999).

An impulse P (3,) of contact c acts on bead `one` at its surface, and -P on bead `other` unless that is a wall (-1). The
relative velocity of the two surfaces, with n from `other` to `one`, is

    u = v_one - v_other - (R_one w_one + R_other w_other) x n.

Found is P with 0 <= u'_n, 0 <= P_n, u'_n P_n = 0 and |P_t| <= mu P_n, P_t against u'_t and of that size where u'_t is
not 0; u' = u + `offset`. Beads with rigid bonds take an impulse up together: `response` has, for each bead in contact,
3 x 3 blocks for all beads of its molecule.

`bodies`: velocity, spin (m, 3), inverse (m,) of masses, block (m,) where a bead's blocks begin or -1, first, size (m,)
of its molecule's rows, response (r, 3, 3). `contacts`: one, other (k,), normal, impulse, offset (k, 3), stiff, slip
(k,), what an impulse along n adds to u_n, and one across it to u_t at most, arm, turn (k, 2): R and R / I of both,
friction (k,): mu.
"""

import math

from hpcchain.jit.decorators import kernel


@kernel
def push(bodies, bead, sign, px, py, pz):
    """Give a bead an impulse (px, py, pz) times a sign, and what its bonds pass on to others."""
    velocity, spin, inverse, block, first, size, response = bodies
    px, py, pz = sign * px, sign * py, sign * pz
    b = block[bead]
    if b < 0:
        velocity[bead, 0] += inverse[bead] * px
        velocity[bead, 1] += inverse[bead] * py
        velocity[bead, 2] += inverse[bead] * pz
        return
    for k in range(size[bead]):
        r = first[bead] + k
        for c in range(3):
            velocity[r, c] += response[b + k, c, 0] * px + response[b + k, c, 1] * py + response[b + k, c, 2] * pz


@kernel
def act(bodies, contacts, c, px, py, pz):
    """Give both beads of contact c an impulse, and the torque of its part across the normal."""
    one, other, normal, impulse, offset, stiff, slip, arm, turn, friction = contacts
    spin = bodies[1]
    i, j = one[c], other[c]
    push(bodies, i, 1.0, px, py, pz)
    nx, ny, nz = normal[c, 0], normal[c, 1], normal[c, 2]
    tx, ty, tz = ny * pz - nz * py, nz * px - nx * pz, nx * py - ny * px
    spin[i, 0] -= turn[c, 0] * tx
    spin[i, 1] -= turn[c, 0] * ty
    spin[i, 2] -= turn[c, 0] * tz
    if j >= 0:
        push(bodies, j, -1.0, px, py, pz)
        spin[j, 0] -= turn[c, 1] * tx
        spin[j, 1] -= turn[c, 1] * ty
        spin[j, 2] -= turn[c, 1] * tz


@kernel
def rate(bodies, contacts, c):
    """Return the relative velocity of the surfaces of contact c, without its offset: three floats."""
    one, other, normal, impulse, offset, stiff, slip, arm, turn, friction = contacts
    velocity, spin = bodies[0], bodies[1]
    i, j = one[c], other[c]
    x, y, z = velocity[i, 0], velocity[i, 1], velocity[i, 2]
    a = arm[c, 0]
    wx, wy, wz = a * spin[i, 0], a * spin[i, 1], a * spin[i, 2]
    if j >= 0:
        x -= velocity[j, 0]
        y -= velocity[j, 1]
        z -= velocity[j, 2]
        a = arm[c, 1]
        wx += a * spin[j, 0]
        wy += a * spin[j, 1]
        wz += a * spin[j, 2]
    nx, ny, nz = normal[c, 0], normal[c, 1], normal[c, 2]
    return x - (wy * nz - wz * ny), y - (wz * nx - wx * nz), z - (wx * ny - wy * nx)


@kernel
def wanted_normal(bodies, contacts, c):
    """Return by how much the impulse of contact c along its normal is to change."""
    one, other, normal, impulse, offset, stiff, slip, arm, turn, friction = contacts
    x, y, z = rate(bodies, contacts, c)
    x, y, z = x + offset[c, 0], y + offset[c, 1], z + offset[c, 2]
    nx, ny, nz = normal[c, 0], normal[c, 1], normal[c, 2]
    p = impulse[c, 0] * nx + impulse[c, 1] * ny + impulse[c, 2] * nz
    return max(0.0, p - (x * nx + y * ny + z * nz) / stiff[c]) - p


@kernel
def wanted_across(bodies, contacts, c):
    """Return by how much the impulse of contact c across its normal is to change: three floats."""
    one, other, normal, impulse, offset, stiff, slip, arm, turn, friction = contacts
    x, y, z = rate(bodies, contacts, c)
    x, y, z = x + offset[c, 0], y + offset[c, 1], z + offset[c, 2]
    nx, ny, nz = normal[c, 0], normal[c, 1], normal[c, 2]
    u = x * nx + y * ny + z * nz
    p = impulse[c, 0] * nx + impulse[c, 1] * ny + impulse[c, 2] * nz
    tx, ty, tz = impulse[c, 0] - p * nx, impulse[c, 1] - p * ny, impulse[c, 2] - p * nz
    x, y, z = tx - (x - u * nx) / slip[c], ty - (y - u * ny) / slip[c], tz - (z - u * nz) / slip[c]
    size, most = math.sqrt(x * x + y * y + z * z), friction[c] * max(p, 0.0)
    if size > most:
        x, y, z = x * (most / size), y * (most / size), z * (most / size)
    return x - tx, y - ty, z - tz


@kernel
def change(bodies, contacts, c, px, py, pz):
    """Add to the impulse of contact c, and let that act."""
    impulse = contacts[3]
    impulse[c, 0] += px
    impulse[c, 1] += py
    impulse[c, 2] += pz
    act(bodies, contacts, c, px, py, pz)


@kernel
def sweep(bodies, contacts, low, high, forward):
    """Solve contacts low ... high - 1 one after another; return the greatest change, as a velocity."""
    normal, stiff, slip, friction = contacts[2], contacts[5], contacts[6], contacts[9]
    worst = 0.0
    for k in range(high - low):
        c = low + k if forward else high - 1 - k
        p = wanted_normal(bodies, contacts, c)
        if p != 0.0:
            worst = max(worst, abs(p) * stiff[c])
            change(bodies, contacts, c, p * normal[c, 0], p * normal[c, 1], p * normal[c, 2])
        if friction[c] > 0.0:
            x, y, z = wanted_across(bodies, contacts, c)
            if x != 0.0 or y != 0.0 or z != 0.0:
                worst = max(worst, math.sqrt(x * x + y * y + z * z) * slip[c])
                change(bodies, contacts, c, x, y, z)
    return worst


@kernel
def residual(bodies, contacts, low, high):
    """Return by how much contacts low ... high - 1 fail their conditions, as a velocity; no number stays none."""
    stiff, slip, friction = contacts[5], contacts[6], contacts[9]
    worst = 0.0
    for c in range(low, high):
        p = abs(wanted_normal(bodies, contacts, c)) * stiff[c]
        if friction[c] > 0.0:
            x, y, z = wanted_across(bodies, contacts, c)
            p = max(p, math.sqrt(x * x + y * y + z * z) * slip[c])
        if p > worst or p != p:
            worst = p
    return worst


@kernel
def sweep_clusters(bodies, contacts, starts, left, unit, most, sweeps):
    """Sweep over the clusters that are left, each until its residual is at most `unit` or `most` times.

    Parameters
    ----------
    bodies, contacts :
        See the module.
    starts : (q + 1,) int64 array
        Where the contacts of clusters begin.
    left : (q,) bool array
        Which are to be solved; those that are solved are taken out.
    unit : (q,) float64 array
        Residual at which a cluster is solved [length / time].
    most : int
    sweeps : (q,) int64 array
        How many there were is added.
    """
    for q in range(len(left)):
        if not left[q]:
            continue
        for _ in range(most):
            worst = sweep(bodies, contacts, starts[q], starts[q + 1], sweeps[q] % 2 == 0)
            sweeps[q] += 1
            if worst <= 4.0 * unit[q] and residual(bodies, contacts, starts[q], starts[q + 1]) <= unit[q]:
                left[q] = False
                break


@kernel
def apply_all(bodies, contacts):
    """Let the impulses of all contacts act, in order."""
    impulse = contacts[3]
    for c in range(len(impulse)):
        act(bodies, contacts, c, impulse[c, 0], impulse[c, 1], impulse[c, 2])


@kernel
def rates(bodies, contacts, found):
    """Write the relative velocities of the surfaces of all contacts, without offsets, (k, 3)."""
    for c in range(len(found)):
        found[c, 0], found[c, 1], found[c, 2] = rate(bodies, contacts, c)


@kernel
def fill_matrix(bodies, contacts, low, frames, matrix):
    """Fill what unit impulses of contacts low ... along axes of their frames (k, 3, 3) add to rates along those.

    `bodies` has velocities and spins of 0, which are 0 again in the end; `matrix` is (3 k, 3 k).
    """
    one, other = contacts[0], contacts[1]
    velocity, spin, block, first, size = bodies[0], bodies[1], bodies[3], bodies[4], bodies[5]
    for c in range(len(frames)):
        for d in range(3):
            act(bodies, contacts, low + c, frames[c, d, 0], frames[c, d, 1], frames[c, d, 2])
            for e in range(len(frames)):
                x, y, z = rate(bodies, contacts, low + e)
                for f in range(3):
                    matrix[3 * e + f, 3 * c + d] = frames[e, f, 0] * x + frames[e, f, 1] * y + frames[e, f, 2] * z
            for side in range(2):
                bead = one[low + c] if side == 0 else other[low + c]
                if bead < 0:
                    continue
                begin, count = (bead, 1) if block[bead] < 0 else (first[bead], size[bead])
                for k in range(count):
                    for f in range(3):
                        velocity[begin + k, f] = 0.0
                for f in range(3):
                    spin[bead, f] = 0.0


@kernel
def own_response(bodies, contacts, found):
    """Write what an impulse of each contact adds to its own relative velocity, without spins, (k, 3, 3)."""
    one, other = contacts[0], contacts[1]
    inverse, block, first, size, response = bodies[2], bodies[3], bodies[4], bodies[5], bodies[6]
    for c in range(len(found)):
        for f in range(3):
            for g in range(3):
                found[c, f, g] = 0.0
        for side in range(2):
            bead = one[c] if side == 0 else other[c]
            if bead < 0:
                continue
            mate = other[c] if side == 0 else one[c]
            if block[bead] < 0:
                for f in range(3):
                    found[c, f, f] += inverse[bead]
                continue
            at = block[bead] + bead - first[bead]
            together = mate >= first[bead] and mate < first[bead] + size[bead]
            for f in range(3):
                for g in range(3):
                    found[c, f, g] += response[at, f, g]
                    if together:
                        found[c, f, g] -= response[block[bead] + mate - first[bead], f, g]
