"""The windowed engine with one leak at a time put back, in plain Python: to see that the identity check notices.

A program, because kernels are taken apart: with NUMBA_DISABLE_JIT=1 they are Python functions that can be exchanged.
It prints a JSON object, leak -> what was noticed or null. "none" is the engine as it is.

    NUMBA_DISABLE_JIT=1 python leaks.py [LEAK ...]
"""

import json
import multiprocessing
import signal
import sys
import warnings

import numpy as np

from hpcchain.errors import HpcchainError
from hpcchain.layout import arrays as L
from hpcchain.layout.arrays import VACANT, WINDOW_EVENT, WINDOW_HISTORY, WINDOW_MATCH, WINDOW_NUMBER
from hpcchain.layout.clock import age
from hpcchain.parallel import windows
from hpcchain.parallel.ghosts import manager, migration, molecules, needs
from hpcchain.sector import window
from hpcchain.sector.events import carry_on, loop, meet, simultaneous
from hpcchain.sector.events.refresh import refresh
from hpcchain.sector.queue import event_order
from hpcchain.sector.search import earliest_event, neighbour_lists
from hpcchain.sector.speculation import ghost_messages, rollback
from tests.support.identity import first_difference, parallel, serial
from tests.support.shapes import bead, boxed, gas, rod, sticky

MODULES = (
    manager,
    migration,
    windows,
    carry_on,
    meet,
    rollback,
    neighbour_lists,
    loop,
    ghost_messages,
    window,
    earliest_event,
    event_order,
    simultaneous,
)
LEAKS = {}
PATIENCE, MOST_WALL = 12.0, 100.0
"""Processor seconds for one leak, whatever else runs; the engine as it is takes less than two. Wall seconds, for ranks
that wait for one another without end."""


class NotConverged(Exception):
    """The ranks did not agree on a window."""


def leak(name, *systems):
    """Note a leak: a function that puts it back by `put(owner, name, new)`, shown on some of SYSTEMS."""

    def note(function):
        LEAKS[name] = function, systems
        return function

    return note


class Put:
    """Exchanges functions in all modules that know them, and puts them back."""

    def __init__(self):
        self.old = []

    def __call__(self, owner, name, new):
        """Put `new` where `name` of `owner` is, there and where it was imported; `new` gets the old one first."""
        old = getattr(owner, name)
        for place in {owner, *MODULES}:
            if getattr(place, name, None) is old:
                self.old.append((place, name, old))
                setattr(place, name, lambda *args: new(old, *args))

    def back(self):
        for place, name, old in reversed(self.old):
            setattr(place, name, old)


def cradle():
    """Return a row of touching beads that is struck at one end."""
    row = [bead((4.0 + k, 2.0, 2.0), (0.0, 0.0, 0.0)) for k in range(5)]
    return boxed([bead((2.0, 2.0, 2.0), (1.0, 0.0, 0.0)), *row], (12.0, 4.0, 4.0))


def wide():
    """Return few beads and rods in a long box, that get far."""
    rng = np.random.default_rng(2)
    places = [(0.7 + 1.5 * k, 0.6 + y, 0.6 + z) for k in range(8) for y, z in ((0.0, 0.0), (1.6, 1.6))]
    molecules = [bead(place, 2.0 * rng.normal(size=3)) for place in places]
    molecules[3] = rod(places[3], 1, 2, rng.normal(size=3))
    return boxed(molecules, (12.2, 3.6, 3.6))


SYSTEMS = {
    "gas": (gas, 0.7, {"ranks": 3, "window": 0.35}),
    "sticky": (sticky, 0.5, {"ranks": 2, "window": 0.1}),
    "wide": (wide, 3.0, {"ranks": 3, "window": 0.1, "sectors": (3, 1, 1)}),
    "cradle": (cradle, 3.0, {"ranks": 3, "window": 0.5, "sectors": (3, 1, 1)}),
}


@leak("none", *SYSTEMS)
def as_it_is(put):
    """Nothing is changed."""


@leak("a pair that has just collided may collide again", "sticky")
def recollide(put):
    put(earliest_event, "straight_contact", lambda old, *args: old(*args[:-1], False))
    put(earliest_event, "curved_contact", lambda old, s, pair, end: old(s, pair._replace(just_hit=False), end))


@leak("contacts at one instant are not ordered by depth", "cradle")
def no_depth(put):
    put(earliest_event, "depth_of", lambda old, *args: 0)


@leak("segments begin anew at a window's end", "gas")
def anchor(put):
    def run(old, self, until):
        self.until = until
        return old(self, until)

    def finish(old, self, length):
        s = self.core.sector
        s.par[L.NOW], s.par[L.NOW_REM] = self.until
        for m in np.flatnonzero(s.mol[: s.scalars[L.SCALAR_MOLECULES], L.MOL_OWNERSHIP] != VACANT):
            s.timing[m, L.LENGTH] = age(s, s.mol[m, L.MOL_FIRST])
            carry_on._end_segment(s, m)
            refresh(s, m, m)
        return old(self, length)

    put(window.Window, "run", run)
    put(window.Window, "finish", finish)


@leak("closed segments are not searched", "gas")
def open_only(put):
    put(earliest_event, "earlier", lambda old, *args: False)


@leak("no rank checks that molecules stay within their skins", "wide")
def no_skins(put):
    def violation(old, self, until):
        return np.full(len(self.ghosted.molecule_ids), -1.0)

    put(windows.WindowedEngine, "_violation", violation)


@leak("new reference positions are not sent", "wide", "gas")
def no_news(put):
    put(needs.GhostNeeds, "newly_needed", lambda old, *args: np.zeros(0, dtype=np.int64))


@leak("ghosts are not set back", "gas")
def ghosts_stay(put):
    put(ghost_messages, "_check", lambda old, *args: None)


@leak("ghosts do not take part in contacts", "gas")
def fixed_ghosts(put):
    def match_with_owner(old, s, m):
        old(s, m)
        if s.window_molecule[m, WINDOW_EVENT] > 0:
            rollback.restore_segment(s, m)

    put(ghost_messages, "match_with_owner", match_with_owner)


@leak("molecules are put back into the box when they are sent", "wide")
def wrap(put):
    box = wide().box

    def unpack(old, composition, message, like):
        held = old(composition, message, like)
        state, size = held.state, composition.size_of(held.molecule_ids)
        for first, beads in zip(np.cumsum(size) - size, size, strict=True):
            own = slice(first, first + beads)
            whole = np.floor((state.position[first] - box.origin) / box.size)
            state.position[own] -= whole * box.size
            state.image[own] += whole.astype(np.int64)
        return held

    put(molecules, "unpack", unpack)
    put(manager.GhostManager, "refresh_skins", lambda old, *args: False)  # so that everything is sent anew often


def ghosts_of(s):
    """Return the rows of ghosts in `window_molecule`."""
    ownership = s.mol[: s.scalars[L.SCALAR_MOLECULES], L.MOL_OWNERSHIP]
    return s.window_molecule[: len(ownership)][np.isin(ownership, (L.GHOST, L.FULL_GHOST))]


@leak("a window ends when ghosts do not contradict their owners", "cradle")
def no_contradiction(put):
    """Nor are news waited for: which meets which is seen from both sides, so that either alone is as good as both."""

    def unsettled(old, self, lent):
        ghosts = ghosts_of(self.core.sector)
        return int(np.sum((ghosts[:, WINDOW_MATCH] == 0) & (ghosts[:, WINDOW_NUMBER] <= ghosts[:, WINDOW_HISTORY])))

    put(window.Window, "unsettled", unsettled)


@leak("a withdrawal does not go on to those met", "gas")
def alone(put):
    def undo(old, s, window_event):
        row = s.window_event[window_event]
        for e in range(row[L.EVENT_LOG], row[L.EVENT_LOG] + row[L.EVENT_LOGS]):
            s.log[e, L.LOG_STATUS] = L.CANCELLED

    put(rollback, "_cancel_event", undo)


@leak("cancelled contacts stay in the log", "gas")
def kept_logs(put):
    def undo(old, s, window_event):
        old(s, window_event)
        row = s.window_event[window_event]
        s.log[row[L.EVENT_LOG] : row[L.EVENT_LOG] + row[L.EVENT_LOGS], L.LOG_STATUS] = L.VALID

    put(rollback, "_cancel_event", undo)


@leak("a ghost's own segments are taken for its history's", "cradle")
def no_comparison(put):
    def unsettled(old, self, lent):
        return int(np.sum(ghosts_of(self.core.sector)[:, WINDOW_MATCH] == 0))

    put(ghost_messages, "match_with_owner", lambda old, *args: None)
    put(window.Window, "unsettled", unsettled)


def shown(name):
    """Return what the identity check notices of a leak on the first of its systems that shows it, else None."""
    function, systems = LEAKS[name]
    for system in systems:
        make, end, options = SYSTEMS[system]
        one = serial(make(), end)
        assert len(one.events) > 4
        found = noticed(function, make(), end, options, one)
        if found is not None:
            return f"{system}: {found}"
    return None


def noticed(function, system, end, options, one):
    """Return what is noticed of a leak on a system, None if its run ends with the bits of one rank."""
    put = Put()
    put(windows.WindowedEngine, "_take_back", converging)
    function(put)
    try:
        return first_difference(one, parallel(system, end, **options))
    except (NotConverged, HpcchainError, ArithmeticError) as reason:
        return f"{type(reason).__name__}: {reason}"
    finally:
        put.back()


def converging(old, self, end, said):
    """Give up where the engine would take shorter windows."""
    if said.wrong > 0.0 and not said.wanted and said.status != loop.LIST_FULL:
        raise NotConverged(f"{said.wrong:.0f} wrong ghosts")
    return old(self, end, said)


def in_time(name):
    """Return `shown` of a process of its own, which may go round for ever."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)

    def run():
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        theirs.send(shown(name))

    process = context.Process(target=run, daemon=True)
    process.start()
    theirs.close()
    try:
        if ours.poll(MOST_WALL):
            return ours.recv()
        return "it does not end"
    except EOFError:
        process.join()
        if process.exitcode != -signal.SIGPROF:
            raise
        return "it does not end"
    finally:
        process.kill()
        process.join()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    windows.MOST_PASSES = 15
    print(json.dumps({name: in_time(name) for name in sys.argv[1:] or LEAKS}))
