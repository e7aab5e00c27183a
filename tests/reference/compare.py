"""Compare an event log with the reference engine, as far as chaos lets two correct programs agree.

Two correct programs differ by round-off, which grows from collision to collision. How fast is measured: the
reference engine runs twice, from the start and from a start disturbed by DISTURBANCE (a thousand times the round-off
of a float64 step), and the difference of the two times of each event bounds the error that a float64 program may
show there. The comparison ends where that bound passes LOOSEST or the disturbed run takes another course.
"""

from dataclasses import dataclass, replace

import numpy as np

from .engine import event_list, simulate
from .systems import mechanics_of

DISTURBANCE = 2e-13
TIGHTEST = 1e-11
LOOSEST = 1e-6


@dataclass(frozen=True)
class Expected:
    """Events of a system: time and impulse (n,), names [(kind, first, second)], allowed error (n,), run end [time]."""

    time: np.ndarray
    impulse: np.ndarray
    names: list
    allowed: np.ndarray
    end: float

    def __len__(self):
        return len(self.names)


def disturbed(system, seed=99):
    """Return the system with positions and velocities disturbed by DISTURBANCE, consistent with the bonds."""
    random = np.random.default_rng(seed)
    mechanics = mechanics_of(system)
    position, velocity = (
        np.asarray(start, dtype=np.longdouble) + DISTURBANCE * random.normal(size=start.shape)
        for start in (system.position, system.velocity)
    )
    position, velocity = mechanics.project(position, velocity)
    return replace(system, position=position, velocity=velocity)


def expected(system, events):
    """Return the Expected first events of a system, as many as two programs can agree on, `events` at most."""
    _, turns = simulate(system, events)
    _, other = simulate(disturbed(system), events + 8, end=turns[-1].time + 1e-3)
    times, impulses, names, allowed, worst = [], [], [], [], TIGHTEST
    others = {}
    for event in event_list(other):
        others.setdefault((event.kind, *event.bead), []).append(event.time)
    for event in event_list(turns):
        name = (event.kind, *event.bead)
        twin = others.get(name, [])
        worst = max(worst, abs(float(event.time - twin.pop(0)))) if twin else np.inf
        if worst > LOOSEST:
            break
        times.append(float(event.time))
        impulses.append(float(event.impulse))
        names.append(name)
        allowed.append(worst)
    return Expected(np.array(times), np.array(impulses), names, np.array(allowed), end_between(turns, len(names)))


def end_between(turns, count):
    """Return a time after the first `count` events and before any later one, where there is one [time]."""
    time = [float(event.time) for event in event_list(turns)]
    if count == len(time):
        return time[-1] + 1e-9
    return (time[count - 1] + time[count]) / 2


def disagreement(want, log):
    """Return None, or one sentence on the first event where a log differs from what is expected.

    Events closer than their allowed errors may stand in either order.

    Parameters
    ----------
    want : Expected
    log : tests.reference.program.Log
    """
    got = list(zip(log.kind.tolist(), *log.bead.T.tolist(), strict=True))
    low = 0
    while low < len(want):
        high = low + 1
        while high < len(want) and want.time[high] - want.time[high - 1] <= 2 * want.allowed[high] + 1e-10:
            high += 1
        if sorted(got[low:high]) != sorted(want.names[low:high]):
            return f"events {low}..{high - 1} are {got[low:high]}, expected {want.names[low:high]} at {want.time[low]}"
        for k in range(low, high):
            for n in (n for n in range(low, high) if got[n] == want.names[k]):
                late, more = log.time[n] - want.time[k], log.impulse[n] - want.impulse[k]
                if abs(late) > want.allowed[k] + (1e-10 if high - low > 1 else 0):
                    return f"event {n} {got[n]} is {late:.2e} late at {want.time[k]}, allowed {want.allowed[k]:.1e}"
                if abs(more) > 1e3 * want.allowed[k]:
                    return f"event {n} {got[n]} at {want.time[k]}: impulse off by {more:.2e}"
        low = high
    return None
