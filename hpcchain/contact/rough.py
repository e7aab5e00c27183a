"""What a contact of rough spheres does, of single beads and of beads of molecules.

With n the normal from the second bead to the first, the velocity of the two surfaces at the contact is

    u = v_1 - v_2 - (R_1 w_1 + R_2 w_2) x n,

and an impulse P on the first bead, -P on the second, changes it by M P, M = K + c (1 - n n): K is the response of the
beads' velocities through the bonds, c = R_1^2 / I_1 + R_2^2 / I_2 that of their spins, which act at the surfaces. In
the metric of M^-1 the normal component u_n and w = u_t - M_tn u_n / M_nn are independent, so the contact does

    u_n -> -e_n u_n,   w -> e_t w,

which changes the energy by -(1 - e_n^2) u_n^2 / (2 M_nn) - (1 - e_t^2) w S^-1 w / 2, S being the Schur complement of
M_nn: nothing at e_n = 1 and e_t = 1 (P is the smooth impulse) or -1 (u is reversed). For single beads w is u_t, and
this is Marinkovic 2022, (18) and (27), with the signs of docs/theory/impulses.md. Spins change by -(R / I) n x P, of
both beads alike.

Bonds couple the tangential part of P to u_n. Where P would have a normal part below 0, or one above twice that of
smooth beads, which is its mirror image with the slip w turned round, the beads are smooth in this contact.
"""

import math

import numpy as np

from hpcchain.contact.coefficients import trait
from hpcchain.contact.impulse import inside_impulse
from hpcchain.contact.pushes import eliminate
from hpcchain.contact.turning import turn
from hpcchain.contact.walls import normal_of, wall_velocity
from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import radius_of
from hpcchain.propagators.interface import kick, push

ROUGH, SMOOTH = range(2)
"""What `rough_or_smooth` finds a contact to be."""


@kernel
def spin_response(s, i):
    """Return R^2 / I of bead i [1 / mass]."""
    return radius_of(s.radius, i) ** 2 * trait(s, i, L.TRAIT_INVERSE_MOMENT)


@kernel
def surface_velocity(s, i, n, c, sign):
    """Return component c of -sign R w x n, what bead i's spin adds to the velocity of its surface at the contact."""
    d = (c + 1) % 3
    e = (c + 2) % 3
    across = s.extra[i, L.SPIN + d] * n[e] - s.extra[i, L.SPIN + e] * n[d]
    return -sign * radius_of(s.radius, i) * across


@kernel
def spin_up(s, i, n, impulse):
    """Change bead i's angular velocity by -(R / I) n x P."""
    turn(s, i)
    factor = radius_of(s.radius, i) * trait(s, i, L.TRAIT_INVERSE_MOMENT)
    for c in range(3):
        d = (c + 1) % 3
        e = (c + 2) % 3
        s.extra[i, L.SPIN + c] -= factor * (n[d] * impulse[e] - n[e] * impulse[d])


@kernel
def rough_bounce(s, i, j, n, wi, wj, e, et):
    """Apply the impulse of a contact of single beads, or of one and a wall (j below 0).

    Parameters
    ----------
    n : (3,) float64 array
        Unit normal, from j to i.
    wi, wj : float
        1 / mass; 0 of a wall.
    e, et : float
        e_n, e_t.

    Returns
    -------
    float
        Normal part of the impulse, 0 for a graze [mass length / time]; `tangential` has the other.
    """
    u = s.growths  # scratch, three numbers
    un = 0.0
    for c in range(3):
        u[c] = s.starts[i, L.VX + c] + surface_velocity(s, i, n, c, 1.0)
        if j >= 0:
            u[c] += surface_velocity(s, j, n, c, 1.0) - s.starts[j, L.VX + c]
        elif wall_velocity(s, j) != 0.0:
            u[c] -= wall_velocity(s, j) * n[c]
        un += u[c] * n[c]
    if un >= 0.0:
        return 0.0
    w = wi + wj
    q = spin_response(s, i) + (spin_response(s, j) if j >= 0 else 0.0)
    impulse = -(1.0 + e) * un / w
    for c in range(3):
        s.tangential[c] = -(1.0 - et) / (w + q) * (u[c] - un * n[c])
        u[c] = impulse * n[c] + s.tangential[c]
    for c in range(3):
        s.starts[i, L.VX + c] += wi * u[c]
        if j >= 0:
            s.starts[j, L.VX + c] -= wj * u[c]
    spin_up(s, i, n, u)
    if j >= 0:
        spin_up(s, j, n, u)
    return impulse


@kernel
def meet_rough(s, i, j, mi, mj, e, et):
    """Carry out `rough_bounce` of single beads i and j, or of i and a wall; return the impulse and their distance."""
    n = s.normals[L.CONTACT_NORMAL]
    r = free_normal(s, i, j, n)
    wj = s.table[s.mol[mj, L.MOL_TABLE]] if j >= 0 else 0.0
    return rough_bounce(s, i, j, n, s.table[s.mol[mi, L.MOL_TABLE]], wj, e, et), r


@kernel
def free_normal(s, i, j, n):
    """Write the unit normal of single beads i and j that touch, or of i and a wall, to n; return their distance."""
    if j < 0:
        normal_of(s, -1 - j, s.starts[i, L.X], s.starts[i, L.Y], s.starts[i, L.Z], n)
        return 0.0
    rr = 0.0
    for c in range(3):
        x = s.starts[i, c] - s.starts[j, c]
        n[c] = x - s.par[L.SIZE + c] * np.rint(x * s.par[L.INVERSE + c])
        rr += n[c] * n[c]
    r = math.sqrt(rr)
    for c in range(3):
        n[c] /= r
    return r


@kernel
def _responses(s, oa, ob, ma, mb, a, b, p, q):
    """Write K, the rates of the contact's opening to unit impulses along the axes, into the first rows of `matrix`."""
    axis = s.tangential
    for c in range(3):
        axis[:] = 0.0
        axis[c] = 1.0
        if ma == mb:
            inside_impulse(s.work, oa, s.mol, ma, s.graph, a, b, axis, s.impulse_response, s.stepper)
        else:
            kick(s.work, oa, s.mol, ma, s.graph, a, axis[0], axis[1], axis[2], s.stepper)
        for d in range(3):
            s.matrix[d, c] = s.work[p + W.KICK + W.LANES * d]
            if ma == mb:
                s.matrix[d, c] -= s.work[q + W.KICK + W.LANES * d]
        if mb >= 0 and mb != ma:
            kick(s.work, ob, s.mol, mb, s.graph, b, axis[0], axis[1], axis[2], s.stepper)
            for d in range(3):
                s.matrix[d, c] += s.work[q + W.KICK + W.LANES * d]


@kernel
def rough_or_smooth(s, n, u, c, e, et, projection_loss):
    """Write the impulse of a contact over u, the velocity of its surfaces, from K in the first rows of `matrix`.

    Beads never pull. A contact is smooth where a rough one would, and where it would with its slip w turned round: so
    it is the same contact backwards, and at e_n = 1, e_t = -1 what it does can be undone (docs/theory/impulses.md). It
    is, too, where bonds hold the beads so that the equations are singular.

    Parameters
    ----------
    n : (3,) float64 array
        Unit normal.
    u : (3,) float64 array
        Velocity of the surfaces [length / time]; the impulse on return [mass length / time].
    c : float
        Response of the spins [1 / mass].
    e, et : float
        e_n, e_t.
    projection_loss : float
        See `single_impulse`.

    Returns
    -------
    int
        `ROUGH` or `SMOOTH`.
    """
    g = s.normals[L.SPARE_NORMAL]
    normal = 0.0
    un = 0.0
    for d in range(3):
        g[d] = 0.0
        for f in range(3):
            g[d] += s.matrix[d, f] * n[f]
        normal += n[d] * g[d]
        un += u[d] * n[d]
    change = -(1.0 + e) * un
    if projection_loss != 0.0:
        change = -un + math.sqrt(max((e * un) ** 2 + 2.0 * normal * projection_loss, 0.0))
    for d in range(3):
        coupled = (g[d] - normal * n[d]) / normal  # of M_tn / M_nn
        w = u[d] - un * n[d] - coupled * un
        u[d] = change * (n[d] + coupled) - (1.0 - et) * w
    for d in range(3):
        for f in range(3):
            s.matrix[d, f] += c * ((1.0 if d == f else 0.0) - n[d] * n[f])
    push_of_rough = 0.0
    if eliminate(s.matrix, u, 3) == 0:
        push_of_rough = u[0] * n[0] + u[1] * n[1] + u[2] * n[2]
    push_of_smooth = change / normal
    if 0.0 < push_of_rough < 2.0 * push_of_smooth:
        return ROUGH
    for d in range(3):
        u[d] = push_of_smooth * n[d]
    return SMOOTH


@kernel
def surfaces(s, p, q, i, j, n, u):
    """Write the velocity of the two surfaces at a contact to u; return its part along the normal [length / time].

    Bead i is at p of the workspace, bead j at q; of a wall (j < 0) there is none.
    """
    rate = 0.0
    for c in range(3):
        u[c] = s.work[p + W.COEF + W.ROW + W.LANES * c] + surface_velocity(s, i, n, c, 1.0)
        if j >= 0:
            u[c] += surface_velocity(s, j, n, c, 1.0) - s.work[q + W.COEF + W.ROW + W.LANES * c]
        elif wall_velocity(s, j) != 0.0:
            u[c] -= wall_velocity(s, j) * n[c]
        rate += u[c] * n[c]
    return rate


@kernel
def spin_beads(s, i, j, n, u, impulse):
    """Change the spins of rough beads by an impulse u, of which `impulse` is along n; `tangential` gets the rest."""
    for c in range(3):
        s.tangential[c] = u[c] - impulse * n[c]
    spin_up(s, i, n, u)
    if j >= 0:
        spin_up(s, j, n, u)


@outlined
def rough_impulse(s, oa, ob, ma, mb, i, j, n, e, et, projection_loss):
    """Apply the impulse of a contact of beads of molecules in the workspace, or of one and a wall.

    Parameters
    ----------
    oa, ob : int
        Workspace offsets of the molecules.
    ma, mb : int
        Molecules, equal for a contact inside one; mb < 0 for a wall.
    i, j : int
        Beads' rows.
    n : (3,) float64 array
        Unit normal, from j to i, or from the wall into the box.
    e, et : float
        e_n, e_t.
    projection_loss : float
        See `single_impulse`.

    Returns
    -------
    float
        Normal part of the impulse, 0 for a graze [mass length / time]; `tangential` has the other.
    """
    a = i - s.mol[ma, L.MOL_FIRST]
    b = j - s.mol[mb, L.MOL_FIRST] if mb >= 0 else 0
    p = oa + (a >> W.LANE_SHIFT) * W.TILE + (a & W.LANE_MASK)
    q = ob + (b >> W.LANE_SHIFT) * W.TILE + (b & W.LANE_MASK)
    u = s.impulses
    if surfaces(s, p, q, i, j, n, u) >= 0.0:
        return 0.0
    _responses(s, oa, ob, ma, mb, a, b, p, q)
    response = spin_response(s, i) + (spin_response(s, j) if mb >= 0 else 0.0)
    kind = rough_or_smooth(s, n, u, response, e, et, projection_loss)
    s.tangential[:] = 0.0
    impulse = 0.0
    for c in range(3):
        impulse += u[c] * n[c]
    _apply(s, oa, ob, ma, mb, a, b, u)
    if kind == ROUGH:
        spin_beads(s, i, j, n, u, impulse)
    return impulse


@kernel
def _apply(s, oa, ob, ma, mb, a, b, impulse):
    """Apply an impulse on bead a of one molecule and its opposite on bead b of another, or of the same one."""
    strength = math.sqrt(impulse[0] ** 2 + impulse[1] ** 2 + impulse[2] ** 2)
    way = s.normals[L.SPARE_NORMAL]
    for c in range(3):
        way[c] = impulse[c] / strength
    if ma == mb:
        inside_impulse(s.work, oa, s.mol, ma, s.graph, a, b, way, s.impulse_response, s.stepper)
        push(s.work, oa, s.mol[ma, L.MOL_TILES], strength)
        return
    kick(s.work, oa, s.mol, ma, s.graph, a, way[0], way[1], way[2], s.stepper)
    push(s.work, oa, s.mol[ma, L.MOL_TILES], strength)
    if mb >= 0:
        kick(s.work, ob, s.mol, mb, s.graph, b, way[0], way[1], way[2], s.stepper)
        push(s.work, ob, s.mol[mb, L.MOL_TILES], -strength)
