"""Clock arithmetic inside kernels: a time is (ticks, remainder), ticks whole, 0 <= remainder < tick."""

import numpy as np

from hpcchain.jit.decorators import inlined


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
def earlier(ticks, remainder, ticks1, remainder1):
    """Return whether the first time is before the second."""
    return ticks < ticks1 or (ticks == ticks1 and remainder < remainder1)
