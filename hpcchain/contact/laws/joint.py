"""What several contacts at one instant do: one multiplier each, solved for together.

For a contact with normal n the velocities change by p y, where y = M^-1 (n + G^T mu) keeps all bonds (Leyendecker et
al. 2012, section 3, with the bond reaction that its (6)-(7) omit; docs/theory/impulses.md). Contacts of the same
molecules at the same instant (`contact.pushes`): (N Y) p = -(1 + e) N v, p >= 0. At e = 1 this keeps the energy.
Contacts may each have their own e: the energy changes by the sum of p (1 - e) (n . v) / 2, which is never above 0.
"""

import math

import numpy as np

from hpcchain.contact.pushes import solve_pushes
from hpcchain.contact.separation import approach
from hpcchain.contact.sides import kick_bead
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W

BLURRED = 1e-10  # of the beads' speed, to which rates are known: what touches within TIE_GAP has normals as uncertain


@inlined
def offset_in_tie(s, k, side):
    """Return where the bead on a side (0, 1) of tied contact k is in the workspace, -1 of a wall."""
    g = s.contacts[k, L.MEMBER + L.SIDE * side]
    p = W.bead_offset(s.member[max(g, 0), L.MEMBER_OFFSET], s.contacts[k, L.MEMBER_BEAD + L.SIDE * side])
    return p if g >= 0 else np.int64(-1)


@kernel
def kick_in_tie(s, k, side, x, y, z):
    """Do what `kick_bead` does for the bead on a side (0, 1) of tied contact k, which is no wall."""
    g, bead = s.contacts[k, L.MEMBER + L.SIDE * side], s.contacts[k, L.MEMBER_BEAD + L.SIDE * side]
    m, offset, tiles = s.member[g, L.MEMBER_ROW], s.member[g, L.MEMBER_OFFSET], s.member[g, L.MEMBER_TILES]
    return kick_bead(s, m, offset, tiles, bead, x, y, z)


@kernel
def gap_rate(s, k):
    """Return the rate of the gap of tied contact k [length / time]."""
    return approach(s.work, offset_in_tie(s, k, 0), offset_in_tie(s, k, 1), s.normals[k]) - s.growths[k]


@outlined
def tied_impulses(s, members, count, projection_loss):
    """Apply the impulses of several contacts at one instant, one multiplier each; they are left in `impulses`.

    All approach, or rest on one another; rates of those that rest count as 0. One whose beads the others part anyway
    gets 0.

    Parameters
    ----------
    s : Sector
        With the `member`s that take part, `contacts`, `normals`, from the second bead to the first, `growths` of the
        contact distances, and each contact's e_n (RESTITUTION_ROW of `matrix`).
    members, count : int
        Numbers of molecules and of contacts.
    projection_loss : float
        Energy that putting the molecules on their bonds took; the impulses, all by one factor, give it back.

    Returns
    -------
    int
        0, or 1 when nothing parts all of them, as where growing beads are wedged between walls: then the velocities
        are as before, and the contacts have to be taken one by one.
    """
    e, impulses = s.matrix[L.RESTITUTION_ROW], s.impulses
    stride = 0
    for g in range(members):
        stride = max(stride, s.member[g, L.MEMBER_TILES] * W.ROW)
    _responses(s, count, stride)
    for k in range(count):
        impulses[k] = max(-(1.0 + e[k]) * gap_rate(s, k), 0.0)
        _row_of_equations(s, count, stride, k)
    if solve_pushes(s.matrix, impulses, count, BLURRED * _fastest(s, count)):
        return 1
    if projection_loss != 0.0:
        _give_back(s, count, _mean_restitution(s, count, e), projection_loss)
    for k in range(count):
        for g in range(members):
            at = _response_of(s.contacts, stride, k, g)
            for t in range(s.member[g, L.MEMBER_TILES]):
                for x in range(W.ROW):
                    response = s.impulse_response[at + t * W.ROW + x] if at >= 0 else 0.0
                    s.work[s.member[g, L.MEMBER_OFFSET] + t * W.TILE + W.COEF + W.ROW + x] += impulses[k] * response
    return 0


@inlined
def _response_of(contacts, stride, k, g):
    """Return where in `impulse_response` member g's answer to contact k begins, -1 where it takes no part in that."""
    if contacts[k, L.MEMBER] == g:
        return 2 * k * stride
    return (2 * k + 1) * stride if contacts[k, L.OTHER_MEMBER] == g else -1


@kernel
def _responses(s, count, stride):
    """Write the velocities that a unit impulse at each contact gives to its one or two members, in rows of `stride`."""
    for k in range(count):
        for x in range(2 * stride):
            s.impulse_response[2 * k * stride + x] = 0.0
        n = s.normals[k]
        for side in range(2):
            g = s.contacts[k, L.MEMBER + L.SIDE * side]
            if g < 0:
                continue
            at = _response_of(s.contacts, stride, k, g)
            sign = 1.0 if side == 0 else -1.0
            kick_in_tie(s, k, side, n[0], n[1], n[2])
            for t in range(s.member[g, L.MEMBER_TILES]):
                for x in range(W.ROW):
                    kicked = s.work[s.member[g, L.MEMBER_OFFSET] + t * W.TILE + W.KICK + x]
                    s.impulse_response[at + t * W.ROW + x] += sign * kicked


@kernel
def _row_of_equations(s, count, stride, k):
    """Write row k of `matrix`: the rates at which a unit impulse at each contact opens contact k."""
    n, response = s.normals[k], s.impulse_response
    for other in range(count):
        total = 0.0
        for side in range(2):
            g = s.contacts[k, L.MEMBER + L.SIDE * side]
            if g < 0:
                continue
            b = s.contacts[k, L.MEMBER_BEAD + L.SIDE * side]
            at = _response_of(s.contacts, stride, other, g)
            if at < 0:
                continue
            at += (b >> W.LANE_SHIFT) * W.ROW + (b & W.LANE_MASK)
            dot = n[0] * response[at] + n[1] * response[at + W.LANES] + n[2] * response[at + 2 * W.LANES]
            total += dot if side == 0 else -dot
        s.matrix[k, other] = total


@kernel
def _fastest(s, count):
    """Return a bound of the speeds of the beads in contact and of the growth of their distances [length / time]."""
    fastest = 0.0
    for k in range(count):
        speed = abs(s.growths[k])
        for side in range(2):
            if s.contacts[k, L.MEMBER + L.SIDE * side] >= 0:
                x, y, z = W.vector(s.work, offset_in_tie(s, k, side) + W.COEF + W.ROW)
                speed += abs(x) + abs(y) + abs(z)
        fastest = max(fastest, speed)
    return fastest


@kernel
def _mean_restitution(s, count, e):
    """Return the one e_n with which contacts with these `impulses` would change the energy as they do with theirs."""
    kept = 0.0
    lost = 0.0
    equal = True
    for k in range(count):
        closing = s.impulses[k] * gap_rate(s, k)
        lost += closing
        kept += e[k] * closing
        equal = equal and e[k] == e[0]
    return e[0] if equal else kept / lost


@kernel
def _give_back(s, count, e, projection_loss):
    """Scale the impulses p of several contacts so that the energy after them is higher by `projection_loss`."""
    # With Q = u (N Y)^-1 u of the closing rates u, p = -k (N Y)^-1 u changes the energy by (k^2 / 2 - k) Q.
    q = 0.0
    for k in range(count):
        q -= s.impulses[k] * gap_rate(s, k) / (1.0 + e)
    factor = (1.0 + math.sqrt(max(e * e + 2.0 * projection_loss / q, 0.0))) / (1.0 + e)
    for k in range(count):
        s.impulses[k] *= factor
