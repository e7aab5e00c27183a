"""All beads stepped together by velocity Verlet with SHAKE and RATTLE, contacts by bisection; see `chains`."""

from hpcchain.jit.decorators import kernel
from hpcchain.model.molecules.bond_graph import BONDS, HIGH, LOW, STRIDE
from hpcchain.papers.kernel_contacts import keep, overlap, strike
from hpcchain.propagators.taylor.graph import graph_bonds, graph_factor, graph_gt, graph_gv, graph_solve

ANALYTIC, SWEEPING = 0, 1
TOLERANCE = 1e-12  # of SHAKE and RATTLE
MOST_SWEEPS = 10_000


@kernel
def _along(gs, state, start, x, offset, npad, im, tolerance, solver, ws):
    """Move positions x along the start's bonds until all bonds are 1 (SHAKE); return how many sweeps that took."""
    # ANALYTIC solves the tridiagonal Newton equations of all bonds at once, SWEEPING one bond after the other.
    nb, stride = gs[BONDS], gs[STRIDE]
    low, high = gs[LOW], gs[HIGH]
    old, new, mu, upper = 0, 3 * stride, 6 * stride, 7 * stride
    graph_bonds(gs, 0, state, start, npad, ws, old, stride)
    for sweep in range(MOST_SWEEPS):
        worst = 0.0
        graph_bonds(gs, 0, x, offset, npad, ws, new, stride)
        for b in range(nb):
            i, j = gs[low + b], gs[high + b]
            if solver == SWEEPING:
                for c in range(3):
                    ws[new + c * stride + b] = x[offset + c * npad + j] - x[offset + c * npad + i]
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
                    x[offset + c * npad + i] -= im[i] * move
                    x[offset + c * npad + j] += im[j] * move
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
            graph_gt(gs, 0, ws, old, stride, ws, mu, im, 0, x, offset, npad)
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

    Many parameters, since the experiments' settings are compiled in one by one.

    A step at whose end beads overlap is shortened by bisection until the contact is known to a width.
    """
    moved = ws[len(ws) - 6 * npad :]
    t = 0.0
    step = 0
    count = keep(times, states, kinds, 0, t, state, 0)
    while t < duration - 1e-9 * h:
        _verlet(gs, state, npad, im, h, solver, ws, fac, moved)
        reach = h
        which, gap = overlap(moved, 0, npad, pairs, diameter)
        struck = gap < 0.0
        if struck:
            low, high = 0.0, h
            while high - low > width:
                middle = 0.5 * (low + high)
                _verlet(gs, state, npad, im, middle, solver, ws, fac, moved)
                pair, gap = overlap(moved, 0, npad, pairs, diameter)
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
        if struck and strike(gs, state, npad, im, pairs[which], False, fac, ws, moved):
            count = keep(times, states, kinds, count, t, state, 1)
        elif step % stride == 0:
            count = keep(times, states, kinds, count, t, state, 0)
    return count
