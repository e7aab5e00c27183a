"""Clock arithmetic inside kernels: a time is (ticks, remainder), ticks whole, 0 <= remainder < tick.

That of the event at hand is NOW, NOW_REM of `par`: what is done at an event reads it there.
"""

import numpy as np

from hpcchain.jit.decorators import inlined
from hpcchain.layout import arrays as L


@inlined
def after(ticks, remainder, dt, tick):
    """Return the time `dt` later, in normal form."""
    remainder = remainder + dt
    whole = np.floor(remainder / tick)
    remainder -= whole * tick
    if remainder >= tick:
        remainder -= tick
        whole += 1.0
    elif remainder < 0.0:
        remainder = 0.0
    return ticks + whole, remainder


@inlined
def time_span(ticks, remainder, ticks0, remainder0, tick):
    """Return the time from (ticks0, remainder0) to (ticks, remainder)."""
    return (ticks - ticks0) * tick + (remainder - remainder0)


@inlined
def since_start(s, i, ticks, remainder):
    """Return how long after the start of the segment in row i of sector s a time is [time]."""
    return time_span(ticks, remainder, s.starts[i, L.START_TICKS], s.starts[i, L.START_REM], s.par[L.TICK])


@inlined
def time_at(s, i, dt):
    """Return the time, in normal form, that is so long after the start of the segment in row i of sector s."""
    return after(s.starts[i, L.START_TICKS], s.starts[i, L.START_REM], dt, s.par[L.TICK])


@inlined
def age(s, i):
    """Return how long before the event at hand the segment in row i of sector s began [time]."""
    return since_start(s, i, s.par[L.NOW], s.par[L.NOW_REM])


@inlined
def time_of_event(s):
    """Return the time of the event at hand [time]."""
    return s.par[L.NOW] * s.par[L.TICK] + s.par[L.NOW_REM]


@inlined
def start_time(s, i):
    """Return how long after the clock's zero the segment in row i of sector s begins, rounded [time]."""
    return s.starts[i, L.START_TICKS] * s.par[L.TICK] + s.starts[i, L.START_REM]


@inlined
def earlier(ticks, remainder, ticks1, remainder1):
    """Return whether the first time is before the second."""
    return ticks < ticks1 or (ticks == ticks1 and remainder < remainder1)
