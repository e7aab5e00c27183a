"""What windows cost, part by part, in processor time of a rank: for `tools/scaling parts`."""

import functools
import threading
import time
from collections import defaultdict

from hpcchain.layout import arrays as L
from hpcchain.parallel.ghosts.manager import GhostManager
from hpcchain.parallel.windows import WindowedEngine
from hpcchain.sector.ghosted import GhostedSector
from hpcchain.sector.serial import Engine
from hpcchain.sector.window import Window

LOOP, LATER = "event loop, first pass", "event loop, later passes"
EXCHANGE = "exchange (calls and waiting)"
PARTS = {
    (Window, "run"): LOOP,
    (Window, "pack"): "packing",
    (Window, "receive"): "taking in messages",
    (Window, "set_right"): "setting right",
    (Window, "unsettled"): "unsettled molecules",
    (GhostedSector, "skin_violation"): "molecules leaving skins",
    (Window, "finish"): "finishing",
    (GhostManager, "refresh_skins"): "refreshing skins",
    (GhostManager, "rebuild_ghosts"): "choosing all ghosts anew",
    (WindowedEngine, "_carry"): "the rest of a window",
    (WindowedEngine, "_adapt"): "the rest of a window",
}
EXCHANGES = ("maximum", "total", "allgather", "exchange_known", "exchange_unknown")


class Stopwatch:
    """The processor seconds of each rank (thread), by the part that is innermost at the time."""

    def __init__(self):
        self._local = threading.local()
        self._undo = []

    def seconds(self):
        """Return this thread's seconds so far, part -> float."""
        return self._own().seconds

    def _own(self):
        local = self._local
        if not hasattr(local, "seconds"):
            local.seconds, local.stack, local.since, local.passes = defaultdict(float), [], 0.0, 0
        return local

    def _switch(self, own):
        now = time.thread_time()
        if own.stack:
            own.seconds[own.stack[-1]] += now - own.since
        own.since = now

    def timed(self, function, part):
        """Return a function with its time counted as a part's."""

        @functools.wraps(function)
        def counted(*args, **options):
            own = self._own()
            self._switch(own)
            name = part
            if part == LOOP:
                own.passes += 1
                name = LOOP if own.passes == 1 else LATER
            elif function.__name__ == "_carry":
                own.passes = 0
            own.stack.append(name)
            try:
                return function(*args, **options)
            finally:
                self._switch(own)
                own.stack.pop()

        return counted

    def __enter__(self):
        for (owner, name), part in PARTS.items():
            self._undo.append((owner, name, getattr(owner, name)))
            setattr(owner, name, self.timed(getattr(owner, name), part))
        return self

    def __exit__(self, *_):
        for owner, name, function in self._undo:
            setattr(owner, name, function)

    def watched(self, exchange):
        """Return an exchange between ranks whose calls are counted, too."""
        for name in EXCHANGES:
            setattr(exchange, name, self.timed(getattr(exchange, name), EXCHANGE))
        return exchange


def engine_cost(system, duration):
    """Return the processor seconds that a contact of a system takes without windows, in the second half of a time."""
    engine = Engine(system)
    engine.advance(0.5 * duration)
    contacts, begin = engine.counters["contacts"], time.thread_time()
    engine.advance(duration)
    return (time.thread_time() - begin) / (engine.counters["contacts"] - contacts)


def window_costs(system, exchange, duration, watch):
    """Carry a system over a time span on all ranks; return this rank's part -> processor seconds in its second half.

    Besides: `windows`, `passes`, `contacts` (of this rank), `segments` and `ghosts`, as numbers.
    """
    engine = WindowedEngine(system, watch.watched(exchange))
    engine.advance(0.5 * duration)
    seconds, counts = dict(watch.seconds()), facts(engine)
    engine.advance(duration)
    costs = {part: spent - seconds.get(part, 0.0) for part, spent in watch.seconds().items()}
    after = facts(engine)
    return costs, {name: after[name] - counts[name] for name in counts} | {"ghosts": engine.ghosted.ghosts}


def facts(engine):
    """Return how many windows, passes, contacts and segments there have been."""
    return {
        "windows": engine.statistics.counts["windows"],
        "passes": engine.statistics.counts["passes"],
        "contacts": engine.finished["contacts"],
        "segments": int(engine.ghosted.counts[L.N_SEGMENTS]),
        "skins refreshed": engine.ghosts.skin_refreshes,
        "ghosts chosen": engine.ghosts.rebuilds,
    }


def table(costs, counts, per_contact):
    """Return the table of a rank's mean costs in ms of processor time a window, and in % of the engine's.

    Parameters
    ----------
    costs, counts : list of dict
        Of all ranks (`window_costs`).
    per_contact : float
        The engine's seconds a contact without windows.
    """
    ranks = len(costs)
    windows = counts[0]["windows"]
    engine = per_contact * sum(one["contacts"] for one in counts) / ranks
    rows = [("engine without windows, as many contacts", engine)]
    parts = sorted({part for one in costs for part in one}, key=lambda part: -sum(one.get(part, 0.0) for one in costs))
    rows += [(part, sum(one.get(part, 0.0) for one in costs) / ranks) for part in parts]
    work = sum(seconds for part, seconds in rows[1:] if part != EXCHANGE)
    rows += [("all but the exchange", work), ("all", sum(seconds for _, seconds in rows[1:]))]
    lines = ["| part | ms a window | % of the engine |", "|---|---|---|"]
    lines += [f"| {part} | {1e3 * s / windows:.3f} | {100.0 * s / engine:.1f} |" for part, s in rows]
    mean = {name: sum(one[name] for one in counts) / ranks for name in counts[0]}
    each_window = ", ".join(
        f"{name} {mean[name] / windows:.4g}" for name in counts[0] if name not in ("windows", "ghosts")
    )
    return (
        "\n".join(lines) + f"\n{windows} windows; a window and rank: {each_window}; ghosts {mean['ghosts']:.0f} beads"
    )


def sums(costs, counts, per_contact, beads):
    """Return what the cost model is fitted to, and two parts of the work: of a window and rank, in processor seconds.

    Parameters
    ----------
    costs, counts, per_contact :
        As `table` takes them.
    beads : int
        Of all ranks.
    """
    ranks, windows = len(costs), counts[0]["windows"]
    contacts = sum(one["contacts"] for one in counts) / ranks / windows
    exchange, first, later = (
        sum(one.get(part, 0.0) for one in costs) / ranks / windows for part in (EXCHANGE, LOOP, LATER)
    )
    return {
        "contacts": contacts,
        "ghosts_per_owned": sum(one["ghosts"] for one in counts) / beads,
        "engine": per_contact * contacts,
        "work": sum(sum(one.values()) for one in costs) / ranks / windows - exchange,
        "exchange": exchange,
        "first pass": first,
        "later passes": later,
    }
