"""What several contacts at one instant do: one multiplier each, solved for together.

For a contact with normal n the velocities change by p y, where y = M^-1 (n + G^T mu) keeps all bonds (Leyendecker et
al. 2012, section 3, with the bond reaction that its (6)-(7) omit; docs/theory/impulses.md). Contacts of the same
molecules at the same instant (`contact.pushes`): (N Y) p = -(1 + e) N v, p >= 0. At e = 1 this keeps the energy.
Contacts may each have their own e: the energy changes by the sum of p (1 - e) (n . v) / 2, which is never above 0.
"""

import math
from typing import NamedTuple

import numpy as np

from hpcchain.contact.pushes import solve_pushes
from hpcchain.contact.separation import approach
from hpcchain.jit.decorators import inlined, kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.propagators.interface import kick

BLURRED = 1e-10  # of the beads' speed, to which rates are known: what touches within TIE_GAP has normals as uncertain


class Ties(NamedTuple):
    """Contacts at one instant that are resolved together.

    Attributes
    ----------
    offset : (MOST_MEMBERS,) int64 array
        Where each molecule that takes part is in the workspace.
    members, count : int
        Numbers of molecules and of contacts.
    contacts : (MOST_TIES, 4) int64 array
        Member and bead of either side; a second member below 0 is a wall.
    normals : (MOST_TIES, 3) float64 array
        Unit normals, from the second bead to the first.
    growths : (MOST_TIES,) float64 array
        Rates of the contact distances [length / time].
    """

    offset: np.ndarray
    members: int
    contacts: np.ndarray
    normals: np.ndarray
    growths: np.ndarray
    count: int  # type: ignore[assignment]


@outlined
def tied_impulses(work, member, graph, ties, e, impulse_response, matrix, impulses, projection_loss, stepper):
    """Apply the impulses of several contacts at one instant, one multiplier each; they are left in `impulses`.

    All approach, or rest on one another; rates of those that rest count as 0. One whose beads the others part anyway
    gets 0.

    Parameters
    ----------
    member : rows as of `mol`
        Of the molecules that take part.
    ties : Ties
    e : (MOST_TIES,) float64 array
        Coefficient of restitution of each contact.
    impulse_response, matrix : float64 arrays
        Scratch for Y and, (PUSH_ROWS, MOST_TIES), for N Y.
    projection_loss : float
        Energy that putting the molecules on their bonds took; the impulses, all by one factor, give it back.

    Returns
    -------
    int
        0, or 1 when nothing parts all of them, as where growing beads are wedged between walls: then the velocities
        are as before, and the contacts have to be taken one by one.
    """
    offset, members, contacts, normals, growths, count = ties
    stride = 0
    for g in range(members):
        stride = max(stride, member[g, L.MOL_TILES] * W.ROW)
    _responses(work, member, graph, ties, stride, impulse_response, stepper)
    for k in range(count):
        p = W.bead_offset(offset[contacts[k, L.MEMBER]], contacts[k, L.MEMBER_BEAD])
        q = (
            W.bead_offset(offset[contacts[k, L.OTHER_MEMBER]], contacts[k, L.OTHER_BEAD])
            if contacts[k, L.OTHER_MEMBER] >= 0
            else -1
        )
        impulses[k] = max(-(1.0 + e[k]) * (approach(work, p, q, normals[k]) - growths[k]), 0.0)
        _row_of_equations(ties, stride, impulse_response, k, matrix)
    if solve_pushes(matrix, impulses, count, BLURRED * _fastest(work, offset, contacts, growths, count)):
        return 1
    if projection_loss != 0.0:
        mean = _mean_restitution(work, offset, contacts, normals, growths, count, e, impulses)
        _give_back(work, offset, contacts, normals, growths, count, mean, impulses, projection_loss)
    for k in range(count):
        for g in range(members):
            at = _response_of(contacts, stride, k, g)
            for t in range(member[g, L.MOL_TILES]):
                for x in range(W.ROW):
                    response = impulse_response[at + t * W.ROW + x] if at >= 0 else 0.0
                    work[offset[g] + t * W.TILE + W.COEF + W.ROW + x] += impulses[k] * response
    return 0


@inlined
def _response_of(contacts, stride, k, g):
    """Return where in `impulse_response` member g's answer to contact k begins, -1 where it takes no part in that."""
    if contacts[k, L.MEMBER] == g:
        return 2 * k * stride
    return (2 * k + 1) * stride if contacts[k, L.OTHER_MEMBER] == g else -1


@kernel
def _responses(work, member, graph, ties, stride, impulse_response, stepper):
    """Write the velocities that a unit impulse at each contact gives to its one or two members, in rows of `stride`."""
    offset, members, contacts, normals, growths, count = ties
    for k in range(count):
        for x in range(2 * stride):
            impulse_response[2 * k * stride + x] = 0.0
        for side in range(2):
            g = contacts[k, L.MEMBER + L.SIDE * side]
            if g < 0:
                continue
            at = _response_of(contacts, stride, k, g)
            sign = 1.0 if side == 0 else -1.0
            kick(
                work,
                offset[g],
                member,
                g,
                graph,
                contacts[k, L.MEMBER_BEAD + L.SIDE * side],
                normals[k, 0],
                normals[k, 1],
                normals[k, 2],
                stepper,
            )
            for t in range(member[g, L.MOL_TILES]):
                for x in range(W.ROW):
                    impulse_response[at + t * W.ROW + x] += sign * work[offset[g] + t * W.TILE + W.KICK + x]


@kernel
def _row_of_equations(ties, stride, impulse_response, k, matrix):
    """Write row k of `matrix`: the rates at which a unit impulse at each contact opens contact k."""
    offset, members, contacts, normals, growths, count = ties
    for other in range(count):
        total = 0.0
        for side in range(2):
            g = contacts[k, L.MEMBER + L.SIDE * side]
            if g < 0:
                continue
            b = contacts[k, L.MEMBER_BEAD + L.SIDE * side]
            at = _response_of(contacts, stride, other, g)
            if at < 0:
                continue
            at += (b >> W.LANE_SHIFT) * W.ROW + (b & W.LANE_MASK)
            dot = (
                normals[k, 0] * impulse_response[at]
                + normals[k, 1] * impulse_response[at + W.LANES]
                + normals[k, 2] * impulse_response[at + 2 * W.LANES]
            )
            total += dot if side == 0 else -dot
        matrix[k, other] = total


@kernel
def _fastest(work, offset, contacts, growths, count):
    """Return a bound of the speeds of the beads in contact and of the growth of their distances [length / time]."""
    fastest = 0.0
    for k in range(count):
        speed = abs(growths[k])
        for side in range(2):
            g = contacts[k, L.MEMBER + L.SIDE * side]
            if g >= 0:
                p = W.bead_offset(offset[g], contacts[k, L.MEMBER_BEAD + L.SIDE * side]) + W.COEF + W.ROW
                speed += abs(work[p]) + abs(work[p + W.LANES]) + abs(work[p + 2 * W.LANES])
        fastest = max(fastest, speed)
    return fastest


@kernel
def _mean_restitution(work, offset, contacts, normals, growths, count, e, impulses):
    """Return the one e_n with which contacts with these `impulses` would change the energy as they do with theirs."""
    kept = 0.0
    lost = 0.0
    equal = True
    for k in range(count):
        a = W.bead_offset(offset[contacts[k, L.MEMBER]], contacts[k, L.MEMBER_BEAD])
        other = contacts[k, L.OTHER_MEMBER]
        b = W.bead_offset(offset[other], contacts[k, L.OTHER_BEAD]) if other >= 0 else -1
        closing = impulses[k] * (approach(work, a, b, normals[k]) - growths[k])
        lost += closing
        kept += e[k] * closing
        equal = equal and e[k] == e[0]
    return e[0] if equal else kept / lost


@kernel
def _give_back(work, offset, contacts, normals, growths, count, e, impulses, projection_loss):
    """Scale the impulses p of several contacts so that the energy after them is higher by `projection_loss`."""
    # With Q = u (N Y)^-1 u of the closing rates u, p = -k (N Y)^-1 u changes the energy by (k^2 / 2 - k) Q.
    q = 0.0
    for k in range(count):
        a = W.bead_offset(offset[contacts[k, L.MEMBER]], contacts[k, L.MEMBER_BEAD])
        b = (
            W.bead_offset(offset[contacts[k, L.OTHER_MEMBER]], contacts[k, L.OTHER_BEAD])
            if contacts[k, L.OTHER_MEMBER] >= 0
            else -1
        )
        q -= impulses[k] * (approach(work, a, b, normals[k]) - growths[k]) / (1.0 + e)
    factor = (1.0 + math.sqrt(max(e * e + 2.0 * projection_loss / q, 0.0))) / (1.0 + e)
    for k in range(count):
        impulses[k] *= factor
