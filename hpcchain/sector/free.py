"""Single beads, the fast case: no bonds, straight flight, one line of memory each.

The same steps as `collide` and `renew` take for molecules, without the workspace.
"""

import math

import numpy as np

from hpcchain.contact.segment import set_start
from hpcchain.kernel import kernel
from hpcchain.sector.clockmath import after
from hpcchain.sector.layout import (
    CAP,
    FASTEST,
    GROWTH_RATE,
    INVERSE,
    MOL_IMAGE,
    ORIGIN,
    SIZE,
    TICK,
)

LONGEST = 2.0**20
REBASE = 0.25


@kernel
def fly(par, line, seg, mol, i, m, dt, ticks, rest, serial, depth, struck):
    """Start bead i's next straight segment where it is a time dt after the start of the last one."""
    for c in range(3):
        x = line[i, c] + line[i, 3 + c] * dt
        size = par[SIZE + c]
        if size != 0.0:
            away = (x - par[ORIGIN + c]) / size
            if away < -REBASE or away >= 1.0 + REBASE:
                whole = math.floor(away)
                mol[m, MOL_IMAGE + c] += np.int64(whole)
                x -= whole * size
        line[i, c] = x
    line[i, 6] = ticks
    line[i, 7] = rest
    seg[i, 0] = serial
    set_start(seg, i, depth, struck)


@kernel
def aim(par, line, span, pace, i, m):
    """Set speed bound and end of bead i's segment from its velocity."""
    speed = math.sqrt(line[i, 3] ** 2 + line[i, 4] ** 2 + line[i, 5] ** 2)
    h = LONGEST * par[TICK]
    if speed * h > par[CAP]:
        h = par[CAP] / speed
    span[i, 1] = speed
    span[i, 3] = h
    pace[m, 1], pace[m, 2] = after(line[i, 6], line[i, 7], h, par[TICK])
    pace[m, 3] = h
    pace[m, 5] = speed
    if speed > par[FASTEST]:
        par[FASTEST] = speed


@kernel
def bounce(par, line, span, table, at_i, at_j, i, j, e):
    """Exchange momentum of two single beads in contact, e being e_n; return the impulse, 0 for a graze, and the virial.

    In units of mass length / time and mass length^2 / time.

    Beads that touch are always as far apart, so a unit vector between them, its square, or a ratio that is 1 but for
    that, is always rounded alike, and the energy drifts by up to half a bit a contact. The vector times the speed will
    do as well, and neither its square nor the impulse in its units is near any one number.
    """
    rx = line[i, 0] - line[j, 0]
    ry = line[i, 1] - line[j, 1]
    rz = line[i, 2] - line[j, 2]
    rx -= par[SIZE] * np.rint(rx * par[INVERSE])
    ry -= par[SIZE + 1] * np.rint(ry * par[INVERSE + 1])
    rz -= par[SIZE + 2] * np.rint(rz * par[INVERSE + 2])
    r = math.sqrt(rx * rx + ry * ry + rz * rz)
    ux = line[i, 3] - line[j, 3]
    uy = line[i, 4] - line[j, 4]
    uz = line[i, 5] - line[j, 5]
    growth = (span[i, 2] + span[j, 2]) * par[GROWTH_RATE]
    speed = math.sqrt(ux * ux + uy * uy + uz * uz) + growth
    nx = rx * speed
    ny = ry * speed
    nz = rz * speed
    square = nx * nx + ny * ny + nz * nz
    length = math.sqrt(square)
    un = nx * ux + ny * uy + nz * uz - growth * length
    if un >= 0.0 or square == 0.0:
        return 0.0, 0.0
    wi = table[at_i]
    wj = table[at_j]
    p = -(1.0 + e) * un / (wi * square + wj * square)  # a sum of the two is always rounded alike, too
    line[i, 3] += p * wi * nx
    line[i, 4] += p * wi * ny
    line[i, 5] += p * wi * nz
    line[j, 3] -= p * wj * nx
    line[j, 4] -= p * wj * ny
    line[j, 5] -= p * wj * nz
    p *= length
    return p, p * r


@kernel
def rebound(par, line, span, table, at, i, code, e):
    """Reflect a single bead from the wall with this code, e being e_n; return the impulse, 0 for a graze."""
    axis = (-1 - code) % 3
    side = 1.0 if -1 - code < 3 else -1.0
    un = side * line[i, 3 + axis] - span[i, 2] * par[GROWTH_RATE]
    if un >= 0.0:
        return 0.0
    change = -(1.0 + e) * un
    line[i, 3 + axis] += side * change
    return change / table[at]

