"""Which molecules are to be set back, and to which of their segments; `rollback` does it."""

from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L


@kernel
def request_rollback(s, m, number):
    """Ask for molecule m to be set back to its segment of that number in the window."""
    if s.window_molecule[m, L.WINDOW_TARGET] < 0:
        s.rolled_back[s.scalars[L.SCALAR_ROLLED_BACK]] = m
        s.scalars[L.SCALAR_ROLLED_BACK] += 1
        s.window_molecule[m, L.WINDOW_TARGET] = number
        s.rolled_back_to[m, L.OPENED_TICKS] = s.par[L.NOW]
        s.rolled_back_to[m, L.OPENED_REM] = s.par[L.NOW_REM]
    else:
        s.window_molecule[m, L.WINDOW_TARGET] = min(s.window_molecule[m, L.WINDOW_TARGET], number)
