"""The papers' small systems on one common clock, as the papers step them: collocation (001) and SHAKE/RATTLE Verlet.

The engine moves every molecule on its own clock. Papers 000 and 001 step all chains together, so their experiments are
done here, with the engine's own solver for the stages. All beads of a system count as one molecule whose bond graph may
fall apart. Kernels take the flat arrays of `propagators.graph`; `Beads` makes them.
"""

import math
from functools import cache

import numpy as np

from hpcchain.kernel import kernel
from hpcchain.propagators.collocation import END, SOLVED, collocation_size, collocation_state
from hpcchain.propagators.gauss import PAPER
from hpcchain.propagators.graph import factor_size, graph_bonds, graph_factor, graph_gt, graph_gv, graph_solve
from hpcchain.propagators.stages import SOLVER, stage_table, stage_tables
from hpcchain.propagators.structure import BONDS, HIGH, LOW, STRIDE, build_structure, padded

ROOT, NESTED = 0, 1
ANALYTIC, SWEEPING = 0, 1
WIDTH = 1e-4  # paper 001, V B: where nested intervals end
TOLERANCE = 1e-12  # of SHAKE and RATTLE
ACCURACY = 1e-15  # of the stages, relative
MOST_SWEEPS = 10_000


class Beads:
    """Beads of equal mass 1 and diameter d with unit bonds, laid out for the kernels.

    Parameters
    ----------
    position, velocity : (n, 3) float64 arrays
        [length], [length / time]; they satisfy the bonds.
    bonds : list of (int, int)
    diameter : float
        Contact distance of beads that are not bonded [length]; 0 = they never collide.
    """

    def __init__(self, position, velocity, bonds, diameter=1.0):
        self.n = len(position)
        self.bonds = np.asarray(bonds, dtype=np.int64).reshape(-1, 2)
        self.diameter = float(diameter)
        self.gs = build_structure(self.n, self.bonds)
        self.npad = padded(self.n)
        self.im = np.zeros(self.npad)
        self.im[: self.n] = 1.0
        self.state = np.zeros(6 * self.npad)
        self.put(position, velocity)
        self.fac = np.zeros(factor_size(self.gs, 0))
        bonded = {tuple(sorted(bond)) for bond in self.bonds.tolist()}
        pairs = [(i, j) for i in range(self.n) for j in range(i + 1, self.n) if (i, j) not in bonded]
        self.pairs = np.array(pairs if self.diameter else [], dtype=np.int64).reshape(-1, 2)

    def put(self, position, velocity):
        """Set the state."""
        self.state[:] = 0.0
        self.state.reshape(2, 3, self.npad)[:, :, : self.n] = np.transpose([position, velocity], (0, 2, 1))

    def get(self, state=None):
        """Return (position, velocity) of a flat state, by default the present one."""
        both = np.asarray(self.state if state is None else state).reshape(-1, 2, 3, self.npad)[..., : self.n]
        both = np.moveaxis(both, -1, -2)
        return (both[0, 0], both[0, 1]) if state is None else (both[:, 0], both[:, 1])

    def collocate(self, tau, s, duration, variant="index2", solver="auto", contacts=ROOT, stride=1):
        """Move on for a duration by collocation; return Track.

        Parameters
        ----------
        tau : float
            Interval of the stages [time]; the printed variant's steps end at its last node.
        s : int
        duration : float
            The last step ends there or just after [time].
        variant, solver : str
            As for `gauss_tables`.
        contacts : int
            ROOT or NESTED: how contacts are found.
        stride : int
            Every how many steps the state is kept; contacts are always kept.
        """
        constants, begin = stage_constants(s, variant, solver)
        room = int(1.2 * duration / tau / stride) + 100 + int(4 * duration)
        times, states, kinds = np.zeros(room), np.zeros((room, 6 * self.npad)), np.zeros(room, dtype=np.int64)
        size = collocation_size(self.gs, 0, self.npad, s, int(constants[begin[-1] + SOLVER]))
        ws = np.zeros(size + 6 * self.npad + len(self.pairs))
        count = collocate(
            self.gs, self.state, self.npad, self.im, self.pairs, self.diameter, tau, duration, s, contacts, stride,
            constants, begin, ws, self.fac, times, states, kinds,
        )  # fmt: skip
        return Track(self, times, states, kinds, count)

    def rattle(self, h, duration, solver=ANALYTIC, stride=1, width=WIDTH):
        """Move on for a duration by velocity Verlet with SHAKE and RATTLE; return Track.

        Contacts are found by bisection to a width [time]. The analytic solver needs linear chains, bonds in order.
        """
        room = int(duration / h / stride) + 10 + int(20 * duration)
        times, states, kinds = np.zeros(room), np.zeros((room, 6 * self.npad)), np.zeros(room, dtype=np.int64)
        ws = np.zeros(12 * self.npad + 16 * int(self.gs[STRIDE]))
        count = rattle(self.gs, self.state, self.npad, self.im, self.pairs, self.diameter, h, duration, solver, stride,
                       width, ws, self.fac, times, states, kinds)  # fmt: skip
        return Track(self, times, states, kinds, count)


@cache
def stage_constants(s, variant, solver):
    """Return the constants (`stage_table`) of 1 .. s stages one after the other, and where each begins."""
    tables = [stage_table(k, ACCURACY, variant, solver) for k in range(1, s + 1)]
    return np.concatenate(tables), np.cumsum([0] + [len(table) for table in tables[:-1]])


class Track:
    """What was kept on the way: times, positions and velocities (k, n, 3), and which are contacts (just after)."""

    def __init__(self, beads, times, states, kinds, count):
        self.failed = count < 0
        count = abs(count)
        self.time = times[:count]
        self.position, self.velocity = beads.get(states[:count])
        self.contact = kinds[:count] == 1
        self.bonds = beads.bonds

    @property
    def double_energy(self):
        """2 E [mass length^2 / time^2], which paper 001 calls the energy."""
        return np.sum(self.velocity**2, axis=(1, 2))

    @property
    def angular(self):
        """Angular momentum (k, 3)."""
        return np.sum(np.cross(self.position, self.velocity), axis=1)

    @property
    def stretch(self):
        """|b|^2 - 1 of every bond (k, bonds)."""
        bond = self.position[:, self.bonds[:, 1]] - self.position[:, self.bonds[:, 0]]
        return np.sum(bond**2, axis=2) - 1.0


@kernel
def _overlap(x, o, npad, pairs, diameter):
    """Return the pair that is closest to overlapping, and its gap."""
    least = np.inf
    which = -1
    for p in range(len(pairs)):
        square = 0.0
        for c in range(0, 3 * npad, npad):
            square += (x[o + c + pairs[p, 0]] - x[o + c + pairs[p, 1]]) ** 2
        gap = math.sqrt(square) - diameter
        if gap < least:
            least = gap
            which = p
    return which, least


@kernel
def _keep(times, states, kinds, count, t, state, kind):
    """Keep a state, if there is room; return the new count."""
    if count < len(times):
        times[count] = t
        for k in range(len(state)):
            states[count, k] = state[k]
        kinds[count] = kind
        return count + 1
    return count


@kernel
def _strike(gs, state, npad, im, pair, restore, fac, room, ws):
    """Put the velocities on the bonds, then apply the elastic impulse to a pair that approaches; return whether.

    With `restore` the impulse gives back the energy that the first took, as the engine's does.
    """
    stride = gs[STRIDE]
    size = 3 * npad
    mu = 3 * stride
    graph_bonds(gs, 0, state, 0, npad, room, 0, stride)
    graph_factor(gs, 0, room, 0, stride, im, 0, fac, 0)
    i, j = pair[0], pair[1]
    normal = ws[size : size + 3]
    length = 0.0
    for c in range(3):
        normal[c] = state[c * npad + i] - state[c * npad + j]
        length += normal[c] ** 2
    for c in range(3):
        normal[c] /= math.sqrt(length)
    lost = 0.0
    for turn in range(2):  # first the velocities' own part along the bonds, then the kick's
        target = state[size:] if turn == 0 else ws[0:size]
        if turn == 1:
            target[:] = 0.0
            for c in range(3):
                target[c * npad + i] = im[i] * normal[c]
                target[c * npad + j] = -im[j] * normal[c]
        graph_gv(gs, 0, room, 0, stride, target, 0, npad, room, mu)
        for k in range(gs[BONDS]):
            room[mu + stride + k] = room[mu + k]
        graph_solve(gs, 0, fac, 0, room, mu)
        for k in range(gs[BONDS]):
            if turn == 0:  # (G v) . T^-1 (G v) / 2 is the energy of the part
                lost += 0.5 * room[mu + k] * room[mu + stride + k]
            room[mu + k] = -room[mu + k]
        graph_gt(gs, 0, room, 0, stride, room, mu, im, 0, target, 0, npad)
    rate = 0.0
    mass = 0.0
    for c in range(3):
        rate += normal[c] * (state[size + c * npad + i] - state[size + c * npad + j])
        mass += normal[c] * (ws[c * npad + i] - ws[c * npad + j])
    if rate >= 0.0:
        return False
    if not restore:
        lost = 0.0
    impulse = (math.sqrt(rate * rate + 2.0 * mass * lost) - rate) / mass
    for k in range(size):
        state[size + k] += impulse * ws[k]
    return True


@kernel
def _interval(gs, state, npad, im, span, tables, ws, fac):
    """Solve the stages over a span from the state; return the solver's status. PAPER's end is the last stage."""
    reach = span * tables.node[-1] if tables.variant == PAPER else span
    return collocation_state(gs, 0, state, 0, npad, im, 0, reach, ACCURACY, tables, ws, 0, fac, 0)


@kernel
def _stage_overlap(ws, npad, s, pairs, diameter):
    """Return the first stage at which a pair overlaps, and the pair; s when at none."""
    for j in range(s):
        which, gap = _overlap(ws, END + 9 * npad + 3 * npad * j, npad, pairs, diameter)
        if gap < 0.0:
            return j, which
    return s, -1


@kernel
def _to_interval(gs, state, npad, im, pairs, diameter, span, constants, begin, s, ws, fac):
    """Move the state to just before the contact within span, by nested intervals; return how long that takes, the pair.

    As printed (paper 001, IV A): from the last collocation point without overlap, the rest of the interval is solved
    with one stage fewer, until it is no longer than WIDTH. Contacts behind the last point are between it and the end.
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
    if collocation_state(gs, 0, state, 0, npad, im, 0, time, ACCURACY, tables, ws, 0, fac, 0) != SOLVED:
        return np.nan
    return _overlap(ws, END, npad, pair, diameter)[1]


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
        which, gap = _overlap(ws, END, npad, pairs, diameter)
        if gap >= 0.0:
            return span, -1
    at = END + 9 * npad + 3 * npad * j if j < s else END
    for p in range(len(pairs)):
        crossing[p] = _overlap(ws, at, npad, pairs[p : p + 1], diameter)[1]
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
def collocate(gs, state, npad, im, pairs, diameter, tau, duration, s, contacts, stride, constants, begin, ws, fac,
              times, states, kinds):  # fmt: skip
    """Step all beads together; see `Beads.collocate`. Returns the states kept, negative when a step was not solved.

    1. Solve the stages over tau.
    2. Where beads overlap at a stage, find the contact by nested intervals or by root, move there, strike.
    3. Else move to the end, as the variant has it.
    """
    size = 3 * npad
    tables, _ = stage_tables(constants, begin[s - 1])
    scratch = ws[len(ws) - 6 * npad - len(pairs) :]
    t = 0.0
    step = 0
    count = _keep(times, states, kinds, 0, t, state, 0)
    while t < duration - 1e-9 * tau:
        if _interval(gs, state, npad, im, tau, tables, ws, fac) != SOLVED:
            return -count
        which = -1
        reach = tables.node[-1] * tau if tables.variant == PAPER else tau
        if len(pairs) > 0:
            if contacts == ROOT:
                reach, which = _first_root(
                    gs, state, npad, im, pairs, diameter, reach, tables, ws, fac, scratch
                )  # fmt: skip
                if which >= 0:
                    collocation_state(gs, 0, state, 0, npad, im, 0, reach, ACCURACY, tables, ws, 0, fac, 0)
            elif _stage_overlap(ws, npad, s, pairs, diameter)[1] >= 0:
                reach, which = _to_interval(
                    gs, state, npad, im, pairs, diameter, tau, constants, begin, s, ws, fac
                )  # fmt: skip
                if not reach >= 0.0:
                    return -count
        if which < 0 or contacts == ROOT:
            for k in range(size):
                state[k] = ws[END + k]
                state[size + k] = ws[END + 2 * size + k]
        t += reach
        step += 1
        if which >= 0 and _strike(gs, state, npad, im, pairs[which], contacts == ROOT, fac, ws, scratch):
            count = _keep(times, states, kinds, count, t, state, 1)
        elif step % stride == 0:
            count = _keep(times, states, kinds, count, t, state, 0)
    return count


@kernel
def _along(gs, state, start, x, o, npad, im, tolerance, solver, ws):
    """Move positions x along the start's bonds until all bonds are 1 (SHAKE); return how many sweeps that took.

    ANALYTIC solves the tridiagonal Newton equations of all bonds at once, SWEEPING one bond after the other.
    """
    nb, stride = gs[BONDS], gs[STRIDE]
    low, high = gs[LOW], gs[HIGH]
    old, new, mu, upper = 0, 3 * stride, 6 * stride, 7 * stride
    graph_bonds(gs, 0, state, start, npad, ws, old, stride)
    for sweep in range(MOST_SWEEPS):
        worst = 0.0
        graph_bonds(gs, 0, x, o, npad, ws, new, stride)
        for b in range(nb):
            i, j = gs[low + b], gs[high + b]
            if solver == SWEEPING:
                for c in range(3):
                    ws[new + c * stride + b] = x[o + c * npad + j] - x[o + c * npad + i]
            square = 0.0
            product = 0.0
            for c in range(0, 3 * stride, stride):
                square += ws[new + c + b] ** 2
                product += ws[new + c + b] * ws[old + c + b]
            off = 0.5 * (1.0 - square)
            worst = max(worst, abs(off))
            ws[mu + b] = off
            diagonal = product * (im[i] + im[j])
            if solver == SWEEPING:
                for c in range(3):
                    move = off / diagonal * ws[old + c * stride + b]
                    x[o + c * npad + i] -= im[i] * move
                    x[o + c * npad + j] += im[j] * move
                continue
            if b > 0 and gs[high + b - 1] == i:  # eliminate the bond before
                couple = 0.0
                for c in range(0, 3 * stride, stride):
                    couple -= im[i] * ws[new + c + b] * ws[old + c + b - 1]
                diagonal -= couple * ws[upper + b - 1]
                ws[mu + b] -= couple * ws[mu + b - 1]
            ws[mu + b] /= diagonal
            ws[upper + b] = 0.0
            if b + 1 < nb and gs[low + b + 1] == j:
                couple = 0.0
                for c in range(0, 3 * stride, stride):
                    couple -= im[j] * ws[new + c + b] * ws[old + c + b + 1]
                ws[upper + b] = couple / diagonal
        if worst <= tolerance:
            return sweep
        if solver == ANALYTIC:
            for b in range(nb - 2, -1, -1):
                ws[mu + b] -= ws[upper + b] * ws[mu + b + 1]
            graph_gt(gs, 0, ws, old, stride, ws, mu, im, 0, x, o, npad)
    return MOST_SWEEPS


@kernel
def _still(gs, state, npad, im, tolerance, solver, ws, fac):
    """Remove from the velocities what stretches bonds (RATTLE): all bonds at once, or one after the other."""
    nb, stride, size = gs[BONDS], gs[STRIDE], 3 * npad
    bonds, mu = 0, 3 * stride
    graph_bonds(gs, 0, state, 0, npad, ws, bonds, stride)
    if solver == ANALYTIC:
        graph_factor(gs, 0, ws, bonds, stride, im, 0, fac, 0)
        graph_gv(gs, 0, ws, bonds, stride, state, size, npad, ws, mu)
        graph_solve(gs, 0, fac, 0, ws, mu)
        for b in range(nb):
            ws[mu + b] = -ws[mu + b]
        graph_gt(gs, 0, ws, bonds, stride, ws, mu, im, 0, state, size, npad)
        return
    low, high = gs[LOW], gs[HIGH]
    for _ in range(MOST_SWEEPS):
        worst = 0.0
        for b in range(nb):
            i, j = gs[low + b], gs[high + b]
            rate = 0.0
            square = 0.0
            for c in range(3):
                bond = ws[bonds + c * stride + b]
                rate += bond * (state[size + c * npad + j] - state[size + c * npad + i])
                square += bond * bond
            worst = max(worst, abs(rate))
            rate /= square * (im[i] + im[j])
            for c in range(3):
                bond = ws[bonds + c * stride + b]
                state[size + c * npad + i] += im[i] * rate * bond
                state[size + c * npad + j] -= im[j] * rate * bond
        if worst <= tolerance:
            return


@kernel
def _verlet(gs, state, npad, im, h, solver, ws, fac, moved):
    """Write the state one step of velocity Verlet with SHAKE and RATTLE on; forces there are none."""
    size = 3 * npad
    for k in range(size):
        moved[k] = state[k] + h * state[size + k]
    _along(gs, state, 0, moved, 0, npad, im, TOLERANCE, solver, ws)
    for k in range(size):
        moved[size + k] = (moved[k] - state[k]) / h
    _still(gs, moved, npad, im, TOLERANCE, solver, ws, fac)


@kernel
def rattle(gs, state, npad, im, pairs, diameter, h, duration, solver, stride, width, ws, fac, times, states, kinds):
    """Step all beads together; see `Beads.rattle`. Returns the states kept.

    A step at whose end beads overlap is shortened by bisection until the contact is known to a width.
    """
    moved = ws[len(ws) - 6 * npad :]
    t = 0.0
    step = 0
    count = _keep(times, states, kinds, 0, t, state, 0)
    while t < duration - 1e-9 * h:
        _verlet(gs, state, npad, im, h, solver, ws, fac, moved)
        reach = h
        which, gap = _overlap(moved, 0, npad, pairs, diameter)
        struck = gap < 0.0
        if struck:
            low, high = 0.0, h
            while high - low > width:
                middle = 0.5 * (low + high)
                _verlet(gs, state, npad, im, middle, solver, ws, fac, moved)
                pair, gap = _overlap(moved, 0, npad, pairs, diameter)
                if gap < 0.0:
                    high, which = middle, pair
                else:
                    low = middle
            reach = low
            if low > 0.0:
                _verlet(gs, state, npad, im, low, solver, ws, fac, moved)
        if reach > 0.0:
            for k in range(len(state)):
                state[k] = moved[k]
        t += reach
        step += 1
        if struck and _strike(gs, state, npad, im, pairs[which], False, fac, ws, moved):
            count = _keep(times, states, kinds, count, t, state, 1)
        elif step % stride == 0:
            count = _keep(times, states, kinds, count, t, state, 0)
    return count
