"""What a contact of rough spheres does, of single beads and of beads of molecules.

With n the normal from the second bead to the first, the velocity of the two surfaces at the contact is

    u = v_1 - v_2 - (R_1 w_1 + R_2 w_2) x n,

and an impulse P on the first bead, -P on the second, changes it by M P, M = K + c (1 - n n). K is the response of the
beads' velocities through the bonds. That of their spins, which act at the surfaces, is c = R_1^2 / I_1 + R_2^2 / I_2.
In the metric of M^-1 the normal component u_n and w = u_t - M_tn u_n / M_nn are independent, so the contact does

    u_n -> -e_n u_n,   w -> e_t w,

which changes the energy by -(1 - e_n^2) u_n^2 / (2 M_nn) - (1 - e_t^2) w S^-1 w / 2, S being the Schur complement of
M_nn: nothing at e_n = 1 and e_t = 1 (P is the smooth impulse) or -1 (u is reversed). For single beads w is u_t, and
this is Marinkovic 2022, (18) and (27), with the signs of docs/theory/impulses.md. Spins change by -(R / I) n x P, of
both beads alike.

Bonds couple the tangential part of P to u_n. Where P would have a normal part below 0, or one above twice that of
smooth beads, which is its mirror image with the slip w turned round, the beads are smooth in this contact.
"""

import math

from hpcchain.contact.coefficients import trait
from hpcchain.contact.laws.contact import ROUGH, SMOOTH, Outcome, along_normal
from hpcchain.contact.laws.smooth import reflection
from hpcchain.contact.pushes import eliminate
from hpcchain.contact.turning import turn
from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.segment_bits import radius_of


@kernel
def spin_response(s, i):
    """Return R^2 / I of bead i [1 / mass]."""
    return radius_of(s, i) ** 2 * trait(s, i, L.TRAIT_INVERSE_MOMENT)


@kernel
def surface_velocity(s, i, n, c):
    """Return component c of -R w x n, what bead i's spin adds to the velocity of its surface at the contact."""
    d = (c + 1) % 3
    e = (c + 2) % 3
    across = s.extra[i, L.SPIN + d] * n[e] - s.extra[i, L.SPIN + e] * n[d]
    return -radius_of(s, i) * across


@kernel
def spin_up(s, i, n, x, y, z):
    """Change bead i's angular velocity by -(R / I) n x P, of an impulse P = (x, y, z)."""
    turn(s, i)
    factor = radius_of(s, i) * trait(s, i, L.TRAIT_INVERSE_MOMENT)
    s.extra[i, L.SPIN] -= factor * (n[1] * z - n[2] * y)
    s.extra[i, L.SPIN + L.Y] -= factor * (n[2] * x - n[0] * z)
    s.extra[i, L.SPIN + L.Z] -= factor * (n[0] * y - n[1] * x)


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
        Energy to be given back (`Contact`).

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
def outcome(s, c):
    """Return the Outcome of a Contact of rough surfaces."""
    n = s.normals[L.CONTACT_NORMAL]
    if c.isotropic:
        closing = c.ux * n[0] + c.uy * n[1] + c.uz * n[2]
        share = -(1.0 - c.e_t) / (c.mass + c.spin)
        x, y, z = c.ux - closing * n[0], c.uy - closing * n[1], c.uz - closing * n[2]
        return Outcome(reflection(c.rate, c.mass, c.e), share * x, share * y, share * z, 0.0, 0.0, True)
    u = s.impulses  # scratch
    u[0], u[1], u[2] = c.ux, c.uy, c.uz
    rough = rough_or_smooth(s, n, u, c.spin, c.e, c.e_t, c.loss) == ROUGH
    along = u[0] * n[0] + u[1] * n[1] + u[2] * n[2]
    if not rough:
        return along_normal(along)
    return Outcome(along, u[0] - along * n[0], u[1] - along * n[1], u[2] - along * n[2], 0.0, 0.0, True)
