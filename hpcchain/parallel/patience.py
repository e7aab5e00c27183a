"""How a rank waits at next to no cost: it looks now and then, and sleeps between looks.

A call of MPI that waits keeps a core busy, which ranks that share it have a use for; a long sleep would keep the others
waiting. So a sleep is a small part of the time that the rank has waited so far.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import Any

LEAST_SLEEP, MOST_SLEEP = 5e-5, 0.02  # wall seconds between two looks
BEAT = 1.0  # wall seconds between two signs of life that the root gives to those who sleep
SLEEP = 0.01  # part of the time waited so far that a rank sleeps until it looks again


def nap(begin: float) -> None:
    """Sleep until the next look of a rank that has waited since `begin`, on the monotonic clock [wall seconds]."""
    clock.sleep(min(max(SLEEP * (clock.monotonic() - begin), LEAST_SLEEP), MOST_SLEEP))


def found_asleep(look: Callable) -> Any:
    """Return the first result of `look` that is not None and not false."""
    begin = clock.monotonic()
    while not (found := look()):
        nap(begin)
    return found
