"""Runs of one system on one rank and on threads that stand for ranks, and what must be equal of them to the bit."""

import os
from dataclasses import dataclass, replace

import numpy as np

from hpcchain.config.load import config_from_table
from hpcchain.io.output.events import sorted_rows
from hpcchain.layout import arrays as L
from hpcchain.model.starts.start import build_system
from hpcchain.model.system import State
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.windows import WindowedEngine
from hpcchain.sector.serial import Engine
from tests.support.whole import frame_of, state_of

DRAWS = int(os.environ.get("HPCCHAIN_DRAWS", "4"))
"""Random draws per test; the long form is some hundred."""


@dataclass
class Outcome:
    """What a run leaves: contacts in the order of the event log, last frame, state, sums over contacts, reports."""

    events: np.ndarray
    frame: tuple
    state: State
    sums: list
    reports: list


def given(tables):
    """Return the System of an input's tables whose start is explicit."""
    return build_system(config_from_table(tables, "in.toml"))


def serial(system, end, **options):
    """Return the Outcome of the engine of one rank.

    Parameters
    ----------
    system : System
    end : float
        [time]
    options :
        As `Engine` takes them.
    """
    engine = Engine(system, log_events=True, **options)
    engine.advance(end)
    return outcome_of(engine, end)


def outcome_of(engine, end):
    """Return the Outcome of an engine of one rank that has come to a time."""
    events = engine.drain_events()
    return Outcome(events[sorted_rows(events)], frame_of(engine, end), state_of(engine), sums_of(engine), [])


def parallel(system, end, ranks, times=(), **options):
    """Return the Outcome of the engine of several ranks, each of which is given some of the molecules.

    Parameters
    ----------
    system : System
    end : float
        [time]
    ranks : int
    times : sequence of float
        Where to halt and look at a frame on the way [time].
    options :
        As `WindowedEngine` takes them.
    """

    def body(exchange):
        engine = WindowedEngine(dealt(system, exchange), exchange, log_events=True, **options)
        for time in times:
            engine.advance(float(time))
            engine.frame(float(time))
        engine.advance(end)
        return engine.ids, engine.drain_events(), engine.frame(end), engine.state(), sums_of(engine), report(engine)

    ids, events, frames, states, sums, reports = zip(*on_ranks(ranks, body), strict=True)
    events = np.concatenate(events)
    frame = tuple(whole(ids, rows) for rows in zip(*frames, strict=True))
    state = State(**{name: whole(ids, [getattr(s, name) for s in states]) for name in State.ARRAYS})
    return Outcome(events[sorted_rows(events)], frame, state, added(sums), list(reports))


def sums_of(engine):
    """Return an engine's sums over contacts: the virial, its tensor, impulses on walls, numbers of contacts."""
    counted = [engine.counters[name] for name in ("contacts", "wall_contacts")]
    return [*engine.sums[: L.SUM_WORK], *counted]


def added(parts):
    """Return the sums over several ranks, or parts of a run."""
    return [sum(column) for column in zip(*parts, strict=True)]


def dealt(system, exchange):
    """Return what a rank is given of a system: molecules dealt out at random, each to one rank."""
    molecules = system.topology.molecules
    held = np.flatnonzero(np.random.default_rng(molecules).integers(0, exchange.size, molecules) == exchange.rank)
    beads = system.topology.beads_of(held)
    state = State(**{name: getattr(system.state, name)[beads] for name in State.ARRAYS})
    return replace(system, state=state, held=held)


def report(engine):
    """Return what a rank's run has cost, its counters among it."""
    return engine.window_report() | engine.counters


def whole(ids, rows):
    """Return the ranks' rows in global order; each bead must be shown by one rank."""
    ids, rows = np.concatenate(ids), np.concatenate(rows)
    assert np.array_equal(np.sort(ids), np.arange(len(ids))), "a bead is shown by no rank, or by several"
    return rows[np.argsort(ids)]


def in_stages(system, stages):
    """Return the Outcome of a run that is stopped and goes on, each time from its state alone.

    Parameters
    ----------
    system : System
    stages : sequence of (float, int, dict)
        Until when to go [time], on how many ranks, and options for `parallel`; 0 ranks are the engine of one rank.
    """
    parts = []
    for until, ranks, options in stages:
        parts.append(parallel(system, until, ranks, **options) if ranks else serial(system, until, **options))
        system = replace(system, state=parts[-1].state)
    events = np.concatenate([part.events for part in parts])
    return Outcome(
        events[sorted_rows(events)],
        parts[-1].frame,
        parts[-1].state,
        added(part.sums for part in parts),
        [report for part in parts for report in part.reports],
    )


def bits(arrays):
    """Return arrays as bytes."""
    return [np.ascontiguousarray(array).tobytes() for array in arrays]


def states(state):
    """Return a state's arrays in order; of tables that grow, the columns that are in use."""
    used = int(np.max(np.flatnonzero(np.any(state.extra != 0.0, axis=0)), initial=-1)) + 1
    return [state.extra[:, :used] if name == "extra" else getattr(state, name) for name in State.ARRAYS]


def first_difference(one, other):
    """Return what differs first between two Outcomes, or None."""
    common = min(len(one.events), len(other.events))
    differ = np.flatnonzero(one.events[:common] != other.events[:common])
    if len(differ):
        return f"contact {differ[0]}: {one.events[differ[0]]} and {other.events[differ[0]]}"
    if len(one.events) != len(other.events):
        return f"{len(one.events)} and {len(other.events)} contacts"
    if bits([one.events]) != bits([other.events]):
        return "signs of zeros differ in the contacts"
    if bits(one.frame) != bits(other.frame):
        return "the last frames differ"
    for name, a, b in zip(State.ARRAYS, states(one.state), states(other.state), strict=True):
        if bits([a]) != bits([b]):
            return f"the states differ in {name}, first at bead {np.argwhere(a != b)[:1]}"
    if one.sums != other.sums:
        return f"virials, tensors, impulses on walls and numbers of contacts {one.sums} and {other.sums}"
    return None


def require_same(one, other, what):
    """Fail with what differs first between two Outcomes of the run `what`."""
    found = first_difference(one, other)
    assert found is None, f"{what}: {found}"
