"""Single beads, the fast case: no bonds, straight flight, one line of memory each.

The same steps as `meet` and `new_segment` take for molecules, without the workspace.
"""

import math

import numpy as np

from hpcchain.contact.coefficients import pass_time
from hpcchain.contact.falling import falling_length
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.arrays import LONGEST_TICKS
from hpcchain.layout.segment_bits import series_order, set_start
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
def move_on(s, i, m, dt, struck):
    """End bead i's segment a time dt after its start, and move the bead to where the next one starts (`set_off`)."""
    save_segment(s, m)
    pass_time(s, i, 1, dt)
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
    s.starts[i, L.START_TICKS] = s.par[L.NOW]
    s.starts[i, L.START_REM] = s.par[L.NOW_REM]
    s.scalars[L.SCALAR_SERIAL] += 1
    s.timing[m, L.SERIAL] = s.scalars[L.SCALAR_SERIAL]
    set_start(s.segment, i, s.scalars[L.SCALAR_DEPTH], struck)


@kernel
def set_off(s, i, m):
    """Have bead i's segment go on with the velocity that it has now: this sets its end and the bound of its speed."""
    speed = math.sqrt(s.starts[i, L.VX] ** 2 + s.starts[i, L.VY] ** 2 + s.starts[i, L.VZ] ** 2)
    h = LONGEST_TICKS * s.par[L.TICK]
    if s.extended is not None and series_order(s.segment, i) == L.FALLING:
        h = min(h, falling_length(s, speed, s.par[L.CAP]))
        speed += s.par[L.FALL] * h
    if speed * h > s.par[L.CAP]:
        h = s.par[L.CAP] / speed
    s.bounds[i, L.SPEED] = speed
    s.timing[m, L.LENGTH] = h
    note_top_speed(s, m, speed)
    store_path(s, i)
    s.count[L.N_SEGMENTS] += 1
    s.count[L.N_BEAD_SEGMENTS] += 1
