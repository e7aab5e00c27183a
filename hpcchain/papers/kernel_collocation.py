"""All beads stepped together by collocation (Hartmann et al. 2009), contacts by nested intervals or root."""

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.papers.kernel_contacts import keep, overlap, strike
from hpcchain.propagators.collocation.collocation import END, SOLVED, collocation_state
from hpcchain.propagators.collocation.collocation_molecule import stage_tables
from hpcchain.propagators.collocation.gauss_coefficients import PAPER

ROOT, NESTED = 0, 1
WIDTH = 1e-4  # Hartmann et al. 2009, V B: where nested intervals end
ACCURACY = 1e-15  # of the stages, relative


@kernel
def _solved(gs, state, npad, im, span, tables, ws, fac):
    """Solve the stages over a span from the state; return the solver's status. All arrays are this molecule's alone."""
    first = np.int64(0)  # not a literal, for which all solvers would be compiled once more
    return collocation_state(gs, first, state, first, npad, im, first, span, ACCURACY, tables, ws, first, fac, first)


@kernel
def _interval(gs, state, npad, im, span, tables, ws, fac):
    """Solve the stages over a span from the state; return the solver's status. PAPER's end is the last stage."""
    reach = span * tables.node[-1] if tables.variant == PAPER else span
    return _solved(gs, state, npad, im, reach, tables, ws, fac)


@kernel
def _stage_overlap(ws, npad, s, pairs, diameter):
    """Return the first stage at which a pair overlaps, and the pair; s when at none."""
    for j in range(s):
        which, gap = overlap(ws, END + 9 * npad + 3 * npad * j, npad, pairs, diameter)
        if gap < 0.0:
            return j, which
    return s, -1


@kernel
def _to_interval(gs, state, npad, im, pairs, diameter, span, constants, begin, s, ws, fac):
    """Move the state to just before the contact within span, by nested intervals; return how long that takes, the pair.

    As printed (Hartmann et al. 2009, IV A): from the last collocation point without overlap, the rest of the interval
    is solved with one stage fewer, until it is no longer than WIDTH. Contacts behind the last point are between it and
    the end.
    """
    size = 3 * npad
    elapsed = 0.0
    pair = -1
    stages = s
    while True:
        tables, _ = stage_tables(constants, begin[stages - 1])
        if _interval(gs, state, npad, im, span, tables, ws, fac) != SOLVED:
            return np.nan, pair
        j, which = _stage_overlap(ws, npad, stages, pairs, diameter)
        low = tables.node[j - 1] * span if j > 0 else 0.0
        high = tables.node[j] * span if j < stages else span
        if which >= 0:
            pair = which
        if j > 0:
            x = END + 3 * size + size * (j - 1)
            for k in range(size):
                state[k] = ws[x + k]
                state[size + k] = ws[x + size * stages + k]
        elapsed += low
        span = high - low
        if span <= WIDTH:
            return elapsed, pair
        stages = max(stages - 1, 2)


@kernel
def _gap_after(gs, state, npad, im, pair, diameter, tables, time, ws, fac):
    """Return the gap of a pair after a time, by a solution over it; NaN when there is none."""
    if _solved(gs, state, npad, im, time, tables, ws, fac) != SOLVED:
        return np.nan
    return overlap(ws, END, npad, pair, diameter)[1]


@kernel
def _to_root(gs, state, npad, im, pair, diameter, tables, low, high, ws, fac):
    """Return when a pair touches between two times, by regula falsi (Illinois) on solutions up to the trial time."""
    below = _gap_after(gs, state, npad, im, pair, diameter, tables, low, ws, fac) if low > 0.0 else 0.0
    above = _gap_after(gs, state, npad, im, pair, diameter, tables, high, ws, fac)
    side = 0
    for _ in range(80):
        time = 0.5 * (low + high)
        if below > 0.0 and above < 0.0:
            time = (low * above - high * below) / (above - below)
        gap = _gap_after(gs, state, npad, im, pair, diameter, tables, time, ws, fac)
        if abs(gap) < 1e-15 * diameter or high - low < 1e-15:
            return time
        if gap > 0.0:
            if side == 1:
                above *= 0.5
            low, below, side = time, gap, 1
        else:
            if side == -1:
                below *= 0.5
            high, above, side = time, gap, -1
    return low


@kernel
def _first_root(gs, state, npad, im, pairs, diameter, span, tables, ws, fac, crossing):
    """Return when the first pair touches within a span whose stages are in ws, and which; else span and -1."""
    s = len(tables.node)
    j, which = _stage_overlap(ws, npad, s, pairs, diameter)
    if which < 0:
        which, gap = overlap(ws, END, npad, pairs, diameter)
        if gap >= 0.0:
            return span, -1
    at = END + 9 * npad + 3 * npad * j if j < s else END
    for p in range(len(pairs)):
        crossing[p] = overlap(ws, at, npad, pairs[p : p + 1], diameter)[1]
    low = tables.node[j - 1] * span if j > 0 else 0.0
    high = tables.node[j] * span if j < s else span
    first = span
    for p in range(len(pairs)):
        if crossing[p] < 0.0:
            time = _to_root(gs, state, npad, im, pairs[p : p + 1], diameter, tables, low, high, ws, fac)
            if time < first:
                first, which = time, p
    return first, which


@kernel
def collocate(
    gs,
    state,
    npad,
    im,
    pairs,
    diameter,
    tau,
    duration,
    s,
    contacts,
    stride,
    constants,
    begin,
    ws,
    fac,
    times,
    states,
    kinds,
):
    """Step all beads together; see `Beads.collocate`. Returns the states kept, negative when a step was not solved.

    Many parameters, since the experiments' settings are compiled in one by one.

    1. Solve the stages over tau.
    2. Where beads overlap at a stage, find the contact by nested intervals or by root, move there, strike.
    3. Else move to the end, as the variant has it.
    """
    size = 3 * npad
    tables, _ = stage_tables(constants, begin[s - 1])
    scratch = ws[len(ws) - 6 * npad - len(pairs) :]
    t = 0.0
    step = 0
    count = keep(times, states, kinds, 0, t, state, 0)
    while t < duration - 1e-9 * tau:
        if _interval(gs, state, npad, im, tau, tables, ws, fac) != SOLVED:
            return -count
        which = -1
        reach = tables.node[-1] * tau if tables.variant == PAPER else tau
        if len(pairs) > 0:
            if contacts == ROOT:
                reach, which = _first_root(gs, state, npad, im, pairs, diameter, reach, tables, ws, fac, scratch)
                if which >= 0:
                    _solved(gs, state, npad, im, reach, tables, ws, fac)
            elif _stage_overlap(ws, npad, s, pairs, diameter)[1] >= 0:
                reach, which = _to_interval(gs, state, npad, im, pairs, diameter, tau, constants, begin, s, ws, fac)
                if not reach >= 0.0:
                    return -count
        if which < 0 or contacts == ROOT:
            for k in range(size):
                state[k] = ws[END + k]
                state[size + k] = ws[END + 2 * size + k]
        t += reach
        step += 1
        if which >= 0 and strike(gs, state, npad, im, pairs[which], contacts == ROOT, fac, ws, scratch):
            count = keep(times, states, kinds, count, t, state, 1)
        elif step % stride == 0:
            count = keep(times, states, kinds, count, t, state, 0)
    return count
