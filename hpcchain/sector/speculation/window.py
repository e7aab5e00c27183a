"""The end of a window: what is final is counted and forgotten, or the whole window is taken back."""

import math

import numpy as np

from hpcchain.contact.falling import fallen
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.clock import since_start, time_span
from hpcchain.layout.segment_bits import row_before, series_error_of
from hpcchain.sector.prefetch import prefetch_altered
from hpcchain.sector.search.list_place import list_speed, turned
from hpcchain.sector.speculation.rollback import discard_history, restore_segment, top_speed_since

EARLY = 1.0 - 1e-9
WALL_CONTACTS, LOST_ROOTS, OTHERS, SETTLED = range(L.SUMS, L.SUMS + 4)  # of `settle_log`, behind the sums


@kernel
def commit_window(s, length):
    """Forget all closed segments, histories and events: the present segments are the next window's first.

    The window that is done was so long, 0 of one that is taken back [time].
    """
    for k in range(s.scalars[L.SCALAR_ALTERED]):
        prefetch_altered(s, k)
        m = s.altered[k]
        if s.window_molecule[m, L.WINDOW_NUMBER] > 0:
            s.away[m] += (top_speed_since(s, m) - s.top_speed[m]) * length
            discard_history(s, m)
        s.window_molecule[m, L.WINDOW_MATCH] = 1
        s.window_molecule[m, L.WINDOW_HISTORY] = 0
        s.window_molecule[m, L.WINDOW_REOPENED] = 0
        s.window_molecule[m, L.WINDOW_TARGET] = -1
        s.window_molecule[m, L.WINDOW_ALTERED] = 0
    fastest = 0.0
    for m in range(s.scalars[L.SCALAR_MOLECULES]):
        s.away[m] += s.top_speed[m] * length
        fastest = max(fastest, s.top_speed[m])
    s.par[L.FASTEST] = fastest
    s.scalars[L.SCALAR_ALTERED] = 0
    s.scalars[L.SCALAR_EVENT] = 0
    s.scalars[L.SCALAR_HISTORY] = 0
    s.scalars[L.SCALAR_ROLLED_BACK] = 0
    s.scalars[L.SCALAR_OUT_OF_ROWS] = 0
    s.scalars[L.SCALAR_REOPENED] = 0
    s.count[L.N_LOGGED] = 0


@kernel
def abort_window(s):
    """Set every molecule back to the segment that it had when the window began."""
    for k in range(s.scalars[L.SCALAR_ALTERED]):
        while s.window_molecule[s.altered[k], L.WINDOW_NUMBER] > 0:
            restore_segment(s, s.altered[k])
    commit_window(s, 0.0)


@kernel
def settle_log(s, sums):
    """Keep of the window's log what is final and has a lower bead that is owned, in its order; return its rows.

    Parameters
    ----------
    s : Sector
    sums : (SETTLED,) int64 array
        Receives the SUMS over contacts (`layout.arrays`), and how many contacts are with walls, how many have the exact
        impulse for want of a root, and what is no contact.
    """
    rows = 0
    sums[:] = 0
    for e in range(s.count[L.N_LOGGED]):
        if s.log[e, L.LOG_STATUS] == L.CANCELLED:
            continue
        if s.mol[np.int64(s.log[e, L.LOG_MOLECULE]), L.MOL_OWNERSHIP] != L.OWNED:
            continue
        for c in range(L.KEPT_COLUMNS):
            s.log[rows, c] = s.log[e, c]
        rows += 1
        quanta = np.int64(s.log[e, L.LOG_QUANTA])
        sums[LOST_ROOTS] += s.log[e, L.LOG_STATUS] == L.EXACT_FALLBACK
        if s.log[e, L.LOG_KIND] == L.DRAW_KIND:
            sums[OTHERS] += 1
        elif s.log[e, L.LOG_KIND] != L.WALL_KIND:
            sums[L.SUM_VIRIAL] += quanta
            for c in range(L.TENSOR_COMPONENTS):
                sums[L.SUM_TENSOR + c] += np.int64(s.log[e, L.LOG_TENSOR + c])
        else:
            sums[WALL_CONTACTS] += 1
            if s.log[e, L.LOG_HIGHER] >= -L.SIDES:
                sums[L.SUM_WALL_IMPULSE + (-1 - np.int64(s.log[e, L.LOG_HIGHER])) % L.AXES] += quanta
        sums[L.SUM_WORK] += np.int64(s.log[e, L.LOG_WORK])
        sums[L.SUM_HEAT] += np.int64(s.log[e, L.LOG_HEAT])
    return rows


@kernel
def skin_violation(s, reference_position, skin, from_ticks, from_remainder, until_ticks, until_remainder, violation):
    """Find how far the beads of molecules may leave their skin between two times.

    Parameters
    ----------
    s : Sector
    reference_position : (N, 3) float64 array
        Where each bead was when the ghosts were chosen, in the lists' frame [length].
    skin : (M,) float64 array
        How far each molecule's beads may go from there, inf of those that are not looked at [length].
    from_ticks, from_remainder, until_ticks, until_remainder : float
        The times: the window's start, and up to when present segments count.
    violation : (M,) float64 array
        Receives how far beyond its skin each molecule gets at most, not a number if a place is not; negative inside it,
        and -inf where that is known from before [length].
    """
    span = time_span(until_ticks, until_remainder, from_ticks, from_remainder, s.par[L.TICK])
    for m in range(s.scalars[L.SCALAR_MOLECULES]):
        violation[m] = -np.inf
        if not s.away[m] + top_speed_since(s, m) * span <= EARLY * skin[m]:  # so that what is not a number is seen
            far, begun = _farthest(s, m, reference_position, from_ticks, from_remainder, until_ticks, until_remainder)
            violation[m] = far - skin[m]
            if s.stepper is None:  # else each segment's series is off the motion, which speeds do not count
                s.away[m] = begun


@kernel
def _farthest(s, m, reference_position, from_ticks, from_remainder, until_ticks, until_remainder):
    """Return how far molecule m may be from its reference position between two times (NaN: no number), and at first."""
    far, begun = 0.0, 0.0
    end_ticks = until_ticks
    end_remainder = until_remainder
    h = m
    while h >= 0:
        first = s.mol[h, L.MOL_FIRST]
        ticks = s.starts[first, L.START_TICKS]
        remainder = s.starts[first, L.START_REM]
        lag = max(time_span(from_ticks, from_remainder, ticks, remainder, s.par[L.TICK]), 0.0)
        dt = time_span(end_ticks, end_remainder, ticks, remainder, s.par[L.TICK]) - lag
        if dt >= 0.0:
            begun = 0.0  # of the earliest segment in the end
            for b in range(s.mol[m, L.MOL_BEADS]):
                here = _distance(s, first + b, lag, reference_position, s.mol[m, L.MOL_FIRST] + b) + series_error_of(
                    s, h
                )
                begun = max(begun, here)
                here += list_speed(s, first + b) * dt
                if not here <= far:  # so that what is not a number stays
                    far = here
            end_ticks = ticks
            end_remainder = remainder
        h = row_before(s, h)
    return far, begun


@kernel
def move_reference(s, rows, ticks, remainder, reference_position, speed):
    """Give molecules new reference positions: near where they are at a time between windows.

    These are on straight flight, which takes no series.

    Parameters
    ----------
    s : Sector
    rows : (n,) int64 array
        Of molecules.
    ticks, remainder : float
        The time.
    reference_position : (N, 3) float64 array
        Receives those of these molecules' beads, in the lists' frame [length].
    speed : (n,) float64 array
        Receives with what speed, in that frame, each molecule's fastest bead began its segment [length / time].
    """
    for k in range(len(rows)):
        m = rows[k]
        square = 0.0
        for i in range(s.mol[m, L.MOL_FIRST], s.mol[m, L.MOL_FIRST] + s.mol[m, L.MOL_BEADS]):
            dt = since_start(s, i, ticks, remainder)
            u = s.starts[i, L.VX] - s.par[L.DRIFT]
            v = s.starts[i, L.VY] - s.par[L.DRIFT + L.Y]
            w = s.starts[i, L.VZ] - s.par[L.DRIFT + L.Z]
            square = max(square, u * u + v * v + w * w)
            for c in range(3):
                reference_position[i, c] = _place(s, i, c, dt)
        speed[k] = math.sqrt(square)
        s.away[m] = np.inf


@inlined
def _place(s, r, c, dt):
    """Return coordinate c of row r's bead, were it free, a time dt after its segment's start, in the lists' frame."""
    x = s.starts[r, c] + s.starts[r, L.VX + c] * dt
    if s.extended is not None:
        x += 0.5 * s.par[L.GRAVITY + c] * fallen(s, r, dt) ** 2
    if s.par[L.DRIFTS] != 0.0:
        x -= s.par[L.PERIOD + c] * turned(s.par, c, s.starts[r, L.START_TICKS], s.starts[r, L.START_REM] + dt)
    return x


@kernel
def _distance(s, r, dt, reference_position, i):
    """Return how far the bead in row r may be from its reference position a time dt after its segment's start."""
    total, fall = 0.0, dt
    if s.extended is not None:
        fall = fallen(s, r, dt)
    for c in range(3):
        d = _place(s, r, c, dt) - reference_position[i, c]
        d -= s.par[L.SIZE + c] * np.rint(d * s.par[L.INVERSE + c])
        total += d * d
    return np.sqrt(total) + 0.5 * s.bounds[r, L.ACCELERATION] * fall * fall
