"""Contacts of long chains that push across the normal, too: rough beads, and walls with a temperature.

The laws are those of whole molecules (`contact.rough`, `contact.thermal`); responses are those of stretches.
"""

import math

import numpy as np

from hpcchain.contact.impulse import bead_offset
from hpcchain.contact.rough import (
    ROUGH,
    rough_or_smooth,
    spin_beads,
    spin_response,
    surfaces,
)
from hpcchain.contact.thermal import diffuse, draw_spin
from hpcchain.contact.walls import is_thermal, wall_velocity
from hpcchain.jit.decorators import kernel, outlined
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.sector.events.crossing import HARD
from hpcchain.sector.events.members import kinetic_energy
from hpcchain.sector.events.note import Outcome, along_normal
from hpcchain.sector.events.stretch_reach import kick_both, push_sides


@kernel
def pushes_across(s, partner, border, et):
    """Whether the impulse of a contact may have a part across its normal; `border` is what was `met`."""
    if s.extended is not None:
        return border == HARD and (is_thermal(s, partner) or et != 1.0)
    return False


@outlined
def push_across(s, i, partner, a, b, one, e, et):
    """Apply the impulse of a contact that pushes across its normal, too; return its Outcome (`stretch_event`)."""
    if is_thermal(s, partner):
        return _reflect(s, i, partner, a)
    impulse = _rub(s, a, b, one, i, partner, e, et)
    return Outcome(impulse, s.tangential[0], s.tangential[1], s.tangential[2], 0.0, 0.0, True)


@kernel
def _reflect(s, i, wall, a):
    """Reflect bead i of a stretch from a thermal wall; return the Outcome."""
    change = s.growths  # scratch, three numbers
    energy = kinetic_energy(s.work, a.offset, a.tiles)
    for c in range(3):
        change[c] = -_momentum(s, a, c)
    impulse = diffuse(s, a.offset, a.tiles, np.int64(-1), a.bead, i, wall, s.normals[L.CONTACT_NORMAL])
    if impulse == 0.0:
        return along_normal(0.0)
    for c in range(3):
        change[c] += _momentum(s, a, c) - impulse * s.normals[L.CONTACT_NORMAL, c]
    heat = kinetic_energy(s.work, a.offset, a.tiles) - energy + draw_spin(s, i, wall) - impulse * wall_velocity(s, wall)
    return Outcome(impulse, change[0], change[1], change[2], 0.0, heat, False)


@kernel
def _momentum(s, side, c):
    """Return component c of the momentum of a stretch's own beads [mass length / time]."""
    total = 0.0
    for t in range(side.tiles):
        p = side.offset + t * W.TILE
        for k in range(W.LANES):
            if s.work[p + W.INVM + k] > 0.0:
                total += s.work[p + W.COEF + W.ROW + W.LANES * c + k] / s.work[p + W.INVM + k]
    return total


@kernel
def _rub(s, a, b, one, i, j, e, et):
    """Apply the impulse of a contact of rough beads, or of one and a wall, as `contact.rough.rough_impulse` does."""
    # Returns its part along the normal, 0 for a graze; `tangential` has the rest.
    n, u = s.normals[L.CONTACT_NORMAL], s.impulses
    loss = a.loss + b.loss
    q = bead_offset(b.offset, b.bead) if j >= 0 else -1
    if surfaces(s, bead_offset(a.offset, a.bead), q, i, j, n, u) >= 0.0:
        if loss == 0.0:
            return 0.0
        e, et = 1.0, 1.0
    _responses(s, a, b, one)
    response = spin_response(s, i) + (spin_response(s, j) if j >= 0 else 0.0)
    kind = rough_or_smooth(s, n, u, response, e, et, loss)
    impulse = u[0] * n[0] + u[1] * n[1] + u[2] * n[2]
    strength = math.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
    kick_both(s, a, b, one, u[0] / strength, u[1] / strength, u[2] / strength)
    push_sides(s, a, b, one, strength)
    if kind == ROUGH:
        spin_beads(s, i, j, n, u, impulse)
    return impulse


@kernel
def _responses(s, a, b, one):
    """Write the rates of the contact's opening to unit impulses along the axes into the first rows of `matrix`."""
    p = bead_offset(a.offset, a.bead) + W.KICK
    for c in range(3):
        kick_both(s, a, b, one, 1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)
        for d in range(3):
            s.matrix[d, c] = s.work[p + W.LANES * d]
        if b.row >= 0:
            q = bead_offset(b.offset, b.bead) + W.KICK
            for d in range(3):
                s.matrix[d, c] += -s.work[q + W.LANES * d] if one else s.work[q + W.LANES * d]
