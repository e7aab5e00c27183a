"""Single beads, the fast case: no bonds, straight flight, one line of memory each.

The same steps as `meet` and `new_segment` take for molecules, without the workspace.
"""

import math

import numpy as np

from hpcchain.contact.coefficients import pass_time
from hpcchain.contact.falling import falling_length
from hpcchain.contact.laws.smooth import reflection
from hpcchain.contact.walls import sense_of
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.arrays import LONGEST_TICKS
from hpcchain.layout.segment_bits import radius_of, series_order, set_start
from hpcchain.sector.search.flights import store_path
from hpcchain.sector.search.list_place import note_top_speed
from hpcchain.sector.speculation.rollback import save_segment

REBASE = 0.25


@inlined
def boxes_off(s, c, x):
    """Return by how many box lengths coordinate x is to be shifted along axis c: of what is REBASE of one outside."""
    if s.par[L.SIZE + c] == 0.0:
        return np.int64(0)
    away = (x - s.par[L.ORIGIN + c]) / s.par[L.SIZE + c]
    return np.int64(math.floor(away)) if away < -REBASE or away >= 1.0 + REBASE else np.int64(0)


@kernel
def move_on(s, i, m, dt, ticks, remainder, depth, struck):
    """End bead i's segment a time dt after its start, and move the bead to where the next one starts (`set_off`)."""
    save_segment(s, m)
    pass_time(s.par, s.segment, i, 1, dt)
    for c in range(3):
        if s.extended is not None and series_order(s.segment, i) == L.FALLING:
            change = s.par[L.GRAVITY + c] * dt
            x = s.starts[i, c] + (s.starts[i, L.VX + c] + 0.5 * change) * dt
            s.starts[i, L.VX + c] += change
        else:
            x = s.starts[i, c] + s.starts[i, L.VX + c] * dt
        whole = boxes_off(s, c, x)
        if whole != 0:
            s.mol[m, L.MOL_IMAGE + c] += whole
            x -= whole * s.par[L.SIZE + c]
        s.starts[i, c] = x
    s.starts[i, L.START_TICKS] = ticks
    s.starts[i, L.START_REM] = remainder
    s.scalars[L.SCALAR_SERIAL] += 1
    s.timing[m, L.SERIAL] = s.scalars[L.SCALAR_SERIAL]
    set_start(s.segment, i, depth, struck)


@kernel
def set_off(s, i, m):
    """Have bead i's segment go on with the velocity that it has now: this sets its end and the bound of its speed."""
    speed = math.sqrt(s.starts[i, L.VX] ** 2 + s.starts[i, L.VY] ** 2 + s.starts[i, L.VZ] ** 2)
    h = LONGEST_TICKS * s.par[L.TICK]
    if s.extended is not None and series_order(s.segment, i) == L.FALLING:
        h = min(h, falling_length(s.par[L.FALL], speed, s.par[L.CAP]))
        speed += s.par[L.FALL] * h
    if speed * h > s.par[L.CAP]:
        h = s.par[L.CAP] / speed
    s.bounds[i, L.SPEED] = speed
    s.timing[m, L.LENGTH] = h
    note_top_speed(s, m, speed)
    store_path(s, i)
    s.count[L.N_SEGMENTS] += 1
    s.count[L.N_BEAD_SEGMENTS] += 1


@kernel
def bounce(par, starts, radius, table, at_i, at_j, i, j, e, normal):
    """Exchange momentum of two single beads in contact, e being e_n; return the impulse and their distance.

    In units of mass length / time, 0 for a graze, and length; `normal` receives the unit vector from j to i.

    Beads that touch are always as far apart. So a unit vector between them, its square, or a ratio that is 1 but for
    that, is always rounded alike, and the energy drifts by up to half a bit a contact. The vector times the speed will
    do as well, and neither its square nor the impulse in its units is near any one number.
    """
    rx = starts[i, L.X] - starts[j, L.X]
    ry = starts[i, L.Y] - starts[j, L.Y]
    rz = starts[i, L.Z] - starts[j, L.Z]
    rx -= par[L.SIZE] * np.rint(rx * par[L.INVERSE])
    ry -= par[L.SIZE + L.Y] * np.rint(ry * par[L.INVERSE + L.Y])
    rz -= par[L.SIZE + L.Z] * np.rint(rz * par[L.INVERSE + L.Z])
    r = math.sqrt(rx * rx + ry * ry + rz * rz)
    ux = starts[i, L.VX] - starts[j, L.VX]
    uy = starts[i, L.VY] - starts[j, L.VY]
    uz = starts[i, L.VZ] - starts[j, L.VZ]
    growth = (radius_of(radius, i) + radius_of(radius, j)) * par[L.GROWTH_RATE]
    speed = math.sqrt(ux * ux + uy * uy + uz * uz) + growth
    nx = rx * speed
    ny = ry * speed
    nz = rz * speed
    square = nx * nx + ny * ny + nz * nz
    length = math.sqrt(square)
    un = nx * ux + ny * uy + nz * uz - growth * length
    if un >= 0.0 or square == 0.0:
        return 0.0, r
    wi = table[at_i]
    wj = table[at_j]
    p = reflection(un, wi * square + wj * square, e)  # a sum of the two is always rounded alike, too
    starts[i, L.VX] += p * wi * nx
    starts[i, L.VY] += p * wi * ny
    starts[i, L.VZ] += p * wi * nz
    starts[j, L.VX] -= p * wj * nx
    starts[j, L.VY] -= p * wj * ny
    starts[j, L.VZ] -= p * wj * nz
    normal[0] = rx / r
    normal[1] = ry / r
    normal[2] = rz / r
    return p * length, r


@kernel
def rebound(par, starts, radius, table, at, i, code, e):
    """Reflect a single bead from the wall with this code, e being e_n; return the impulse, 0 for a graze."""
    axis, side = (-1 - code) % L.AXES, sense_of(-1 - code)
    un = side * starts[i, L.VX + axis] - radius_of(radius, i) * par[L.GROWTH_RATE]
    if un >= 0.0:
        return 0.0
    change = reflection(un, 1.0, e)
    starts[i, L.VX + axis] += side * change
    return change / table[at]
