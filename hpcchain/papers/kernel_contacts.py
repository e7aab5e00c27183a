"""What stepping all beads together needs, whatever the step: overlaps, states to keep, the impulse of a contact."""

import math

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.model.molecules.bond_graph import BONDS, STRIDE
from hpcchain.propagators.taylor.graph import graph_bonds, graph_factor, graph_gt, graph_gv, graph_solve


@kernel
def overlap(x, offset, npad, pairs, diameter):
    """Return the pair that is closest to overlapping, and its gap."""
    least = np.inf
    which = -1
    for p in range(len(pairs)):
        square = 0.0
        for c in range(0, 3 * npad, npad):
            square += (x[offset + c + pairs[p, 0]] - x[offset + c + pairs[p, 1]]) ** 2
        gap = math.sqrt(square) - diameter
        if gap < least:
            least = gap
            which = p
    return which, least


@kernel
def keep(times, states, kinds, count, t, state, kind):
    """Keep a state, if it fits; return the new count."""
    if count < len(times):
        times[count] = t
        for k in range(len(state)):
            states[count, k] = state[k]
        kinds[count] = kind
        return count + 1
    return count


@kernel
def strike(gs, state, npad, im, pair, restore, fac, work, ws):
    """Put the velocities on the bonds, then apply the elastic impulse to a pair that approaches; return whether.

    With `restore` the impulse gives back the energy that the first took, as the engine's does.
    """
    stride = gs[STRIDE]
    size = 3 * npad
    mu = 3 * stride
    graph_bonds(gs, 0, state, 0, npad, work, 0, stride)
    graph_factor(gs, 0, work, 0, stride, im, 0, fac, 0)
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
        graph_gv(gs, 0, work, 0, stride, target, 0, npad, work, mu)
        for k in range(gs[BONDS]):
            work[mu + stride + k] = work[mu + k]
        graph_solve(gs, 0, fac, 0, work, mu)
        for k in range(gs[BONDS]):
            if turn == 0:  # (G v) . T^-1 (G v) / 2 is the energy of the part
                lost += 0.5 * work[mu + k] * work[mu + stride + k]
            work[mu + k] = -work[mu + k]
        graph_gt(gs, 0, work, 0, stride, work, mu, im, 0, target, 0, npad)
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
