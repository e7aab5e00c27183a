"""An independent program: Monte Carlo of tangent hard-sphere chains with rigid bonds in a periodic cube.

It shares nothing with hpcchain: no dynamics, no clock, no contact search. Chains crawl (reptation) and turn single
beads about their neighbours; bonds' directions have the weight that rigid bonds give them, det^1/2 of the bonds' metric
(Fixman 1974). The pressure is that of the molecular virial: with r the vector between beads of two molecules and R that
between their centres of mass, Z = 1 + <sum r . R delta(|r| - 1)> / (3 N) (unit diameters).

    python tools/physics_cases/monte_carlo.py 4 500 0.1     Z of 500 chains of 4 at packing fraction .1, and its error
    python tools/physics_cases/monte_carlo.py --all         the states of the manual's table

Counts at |r| = 1 are extrapolated from SHELLS shells of width SHELL by a parabola.
"""

import sys
import time

import numpy as np
from numba import njit

SHELL, SHELLS = 0.01, 8
CAPACITY = 12
"""Beads that a cell can have; one of edge 1 to 2 has fewer."""
BLOCKS = 20
STATES = {
    (2, 1000, 0.2): 20_000,
    (4, 500, 0.1): 30_000,
    (4, 500, 0.3): 40_000,
    (8, 250, 0.1): 30_000,
    (8, 250, 0.3): 40_000,
    (16, 128, 0.1): 40_000,
    (16, 128, 0.3): 60_000,
    (32, 64, 0.1): 40_000,
    (32, 64, 0.3): 80_000,
}
"""Sweeps of each state (beads, molecules, packing fraction), a third of them before anything is counted."""


@njit(cache=False)
def cell_of(x, side, cells):
    """Return the number of the cell that a place is in."""
    number = 0
    for c in range(3):
        at = x[c] / side
        number = number * cells + min(int((at - np.floor(at)) * cells), cells - 1)
    return number


@njit(cache=False)
def leave(cell, count, items, bead):
    """Take a bead out of its cell."""
    for k in range(count[cell]):
        if items[cell, k] == bead:
            count[cell] -= 1
            items[cell, k] = items[cell, count[cell]]
            return


@njit(cache=False)
def is_free(y, without, bonded, other, x, side, cells, count, items):
    """Whether a bead at y overlaps none but itself and the beads that it is bonded to."""
    place = np.empty(3, np.int64)
    for c in range(3):
        at = y[c] / side
        place[c] = min(int((at - np.floor(at)) * cells), cells - 1)
    for i in range(-1, 2):
        for j in range(-1, 2):
            for k in range(-1, 2):
                cell = ((place[0] + i) % cells * cells + (place[1] + j) % cells) * cells + (place[2] + k) % cells
                for item in range(count[cell]):
                    bead = items[cell, item]
                    if bead == without or bead == bonded or bead == other:
                        continue
                    rr = 0.0
                    for c in range(3):
                        d = y[c] - x[bead, c]
                        d -= side * np.rint(d / side)
                        rr += d * d
                    if rr < 1.0:
                        return False
    return True


@njit(cache=False)
def weight(x, first, head, beads):
    """Return det of a chain's bonds' metric: 2 on the diagonal, less cosines next to it."""
    product, last = 1.0, 0.0
    for k in range(beads - 1):
        a = first + (head + k) % beads
        b = first + (head + k + 1) % beads
        pivot = 2.0
        if k > 0:
            z = first + (head + k - 1) % beads
            cosine = 0.0
            for c in range(3):
                cosine += (x[a, c] - x[z, c]) * (x[b, c] - x[a, c])
            pivot -= cosine * cosine / last
        product *= pivot
        last = pivot
    return product


@njit(cache=False)
def direction():
    """Return a random unit vector."""
    z = 2.0 * np.random.random() - 1.0
    turn = 2.0 * np.pi * np.random.random()
    flat = np.sqrt(1.0 - z * z)
    return np.array([flat * np.cos(turn), flat * np.sin(turn), z])


@njit(cache=False)
def turned(x, before, after, bead):
    """Return the place of a bead turned by a random angle about the line of its two neighbours."""
    axis = x[after] - x[before]
    long = np.sqrt(np.sum(axis * axis))
    arm = x[bead] - x[before]
    if long == 0.0:
        return x[bead].copy()
    axis = axis / long
    along = np.sum(arm * axis)
    out = arm - along * axis
    third = np.array(
        [axis[1] * out[2] - axis[2] * out[1], axis[2] * out[0] - axis[0] * out[2], axis[0] * out[1] - axis[1] * out[0]]
    )
    angle = 2.0 * np.pi * np.random.random()
    arm = along * axis + np.cos(angle) * out + np.sin(angle) * third
    # Both bonds keep length 1 to round-off, which is put right, half of it on each.
    y = x[before] + arm
    for _ in range(2):
        for end in (before, after):
            bond = y - x[end]
            y = y + 0.5 * bond * (1.0 / np.sqrt(np.sum(bond * bond)) - 1.0)
    return y


@njit(cache=False)
def attempt(x, head, beads, molecules, side, cells, count, items):
    """Try one move of one chain."""
    m = np.random.randint(molecules)
    first = m * beads
    bonded = other = -1
    begin = head[m]
    if beads > 2 and np.random.random() < 0.5:
        k = 1 + np.random.randint(beads - 2)
        bead = first + (head[m] + k) % beads
        bonded, other = first + (head[m] + k - 1) % beads, first + (head[m] + k + 1) % beads
        y = turned(x, bonded, other, bead)
    elif np.random.random() < 0.5:
        bead, bonded = first + head[m], first + (head[m] + beads - 1) % beads
        begin = (head[m] + 1) % beads
        y = x[bonded] + direction()
    else:
        bead, bonded = first + (head[m] + beads - 1) % beads, first + head[m]
        begin = (head[m] + beads - 1) % beads
        y = x[bonded] + direction()
    if not is_free(y, bead, bonded, other, x, side, cells, count, items):
        return
    before = weight(x, first, head[m], beads)
    former = x[bead].copy()
    x[bead] = y
    if np.random.random() > np.sqrt(weight(x, first, begin, beads) / before):
        x[bead] = former
        return
    head[m] = begin
    old, new = cell_of(former, side, cells), cell_of(y, side, cells)
    if old != new:
        leave(old, count, items, bead)
        items[new, count[new]] = bead
        count[new] += 1


@njit(cache=False)
def virial(x, beads, molecules, side, cells, count, items, found):
    """Add r . R / |r| of all pairs of beads of two molecules that are near contact to the shells."""
    centre = np.zeros((molecules, 3))
    for bead in range(beads * molecules):
        centre[bead // beads] += x[bead] / beads
    for bead in range(beads * molecules):
        place = np.empty(3, np.int64)
        for c in range(3):
            at = x[bead, c] / side
            place[c] = min(int((at - np.floor(at)) * cells), cells - 1)
        for i in range(-1, 2):
            for j in range(-1, 2):
                for k in range(-1, 2):
                    cell = ((place[0] + i) % cells * cells + (place[1] + j) % cells) * cells + (place[2] + k) % cells
                    for item in range(count[cell]):
                        second = items[cell, item]
                        if second <= bead or second // beads == bead // beads:
                            continue
                        r = x[bead] - x[second]
                        r = r - side * np.rint(r / side)
                        away = np.sqrt(np.sum(r * r))
                        shell = int((away - 1.0) / SHELL)
                        if shell < SHELLS:
                            own = x[bead] - centre[bead // beads]
                            theirs = x[second] - centre[second // beads]
                            found[shell] += np.sum(r * (r - own + theirs)) / away


@njit(cache=False)
def sweeps(number, x, head, beads, molecules, side, cells, count, items, found):
    """Carry out sweeps of one attempt a bead, and count near contacts after each, if `found` can take them."""
    for _ in range(number):
        for _ in range(beads * molecules):
            attempt(x, head, beads, molecules, side, cells, count, items)
        if len(found):
            virial(x, beads, molecules, side, cells, count, items, found)


@njit(cache=False)
def seeded(seed):
    """Seed numba's own random numbers."""
    np.random.seed(seed)


def start(beads, molecules, fraction):
    """Return places on one path to and fro through a lattice of unit steps, the cube's edge, and its cells."""
    side = (beads * molecules * np.pi / 6.0 / fraction) ** (1.0 / 3.0)
    sites = int(side)
    grid = np.array([[[(i, j, k) for k in range(sites)] for j in range(sites)] for i in range(sites)])
    grid[1::2] = grid[1::2, ::-1]
    rows = grid.reshape(sites * sites, sites, 3)
    rows[1::2] = rows[1::2, ::-1]
    return rows.reshape(-1, 3)[: beads * molecules].astype(float), side, sites


def compressibility(beads, molecules, fraction, number, seed=1):
    """Return Z = P V / (N k T) and its standard error, over blocks of the sweeps."""
    x, side, cells = start(beads, molecules, fraction)
    count, items = np.zeros(cells**3, np.int64), np.zeros((cells**3, CAPACITY), np.int64)
    for bead, place in enumerate(x):
        cell = cell_of(place, side, cells)
        items[cell, count[cell]] = bead
        count[cell] += 1
    head = np.zeros(molecules, np.int64)
    seeded(seed)
    sweeps(number // 3, x, head, beads, molecules, side, cells, count, items, np.zeros(0))
    parts = []
    each = max(2 * number // 3 // BLOCKS, 1)
    for _ in range(BLOCKS):
        found = np.zeros(SHELLS)
        sweeps(each, x, head, beads, molecules, side, cells, count, items, found)
        middle = (np.arange(SHELLS) + 0.5) * SHELL
        at_contact = np.polyfit(middle, found / (SHELL * each), 2)[-1]
        parts.append(1.0 + at_contact / (3.0 * molecules))
    return np.mean(parts), np.std(parts, ddof=1) / np.sqrt(BLOCKS)


def main(words):
    """Print Z of one state or of all."""
    states = STATES if words == ["--all"] else {(int(words[0]), int(words[1]), float(words[2])): 3000}
    for (beads, molecules, fraction), number in states.items():
        begin = time.process_time()
        z, error = compressibility(beads, molecules, fraction, number)
        seconds = time.process_time() - begin
        state = f"{molecules} of {beads}, phi = {fraction}"
        print(f"{state}: Z = {z:.4f} +- {error:.4f}  ({seconds:.0f} CPU-s)", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
