"""Molecules to test the free-motion kernels on, and the bridge between (n, 3) arrays and the kernels' flat blocks."""

import numpy as np

from hpcchain.model.molecules.bond_graph import STRIDE, build_structure, padded
from hpcchain.propagators.collocation.collocation import (
    collocation_segment,
    collocation_size,
    collocation_state,
    stage_work,
)
from hpcchain.propagators.collocation.gauss_coefficients import gauss_tables
from hpcchain.propagators.taylor.graph import (
    factor_size,
    graph_bonds,
    graph_factor,
    graph_gt,
    graph_gv,
    graph_series,
    graph_solve,
    series_size,
)
from tests.support import twins

KMAX = 16
IO, XO, FO, WO = 3, 5, 7, 2


class Molecule:
    """A molecule's arrays laid out for the kernels, at odd offsets and as the second of two kinds."""

    def __init__(self, bonds, x, v, mass):
        self.bonds = np.asarray(bonds, dtype=np.int64).reshape(-1, 2)
        self.x, self.mass = np.asarray(x, float), np.asarray(mass, float)
        self.v = twins.project(self.bonds, self.x, np.asarray(v, float), self.mass)
        self.n = len(self.x)
        other = build_structure(3, [[0, 1], [1, 2]])
        self.gs, offsets = join_structures([other, build_structure(self.n, self.bonds)])
        self.go = offsets[1]
        self.npad = padded(self.n)
        self.stride = int(self.gs[self.go + STRIDE])
        self.g = self.gs[self.go :]
        self.im = np.full(IO + self.npad, np.nan)[IO:]
        self.im[: self.n] = 1 / self.mass
        self.ser = np.full(XO + (KMAX + 1) * 3 * self.npad, np.nan)[XO:]
        self.put(0, self.x)
        self.put(1, self.v)
        self.fac = np.full(FO + factor_size(self.g), np.nan)[FO:]
        self.b = np.full(3 * self.stride, np.nan)

    def flat(self, vectors):
        """Return (n, 3) vectors component-major with zero padding."""
        block = np.zeros((3, self.npad))
        block[:, : self.n] = vectors.T
        return block.ravel()

    def put(self, k, vectors):
        """Store coefficient k of the block."""
        self.term(k)[:] = self.flat(vectors)

    def term(self, k):
        """Return a view of coefficient k of the block."""
        return self.ser[3 * k * self.npad : 3 * (k + 1) * self.npad]

    def get(self, flat):
        """Return the (n, 3) vectors stored in a flat array."""
        return flat.reshape(3, self.npad)[:, : self.n].T.copy()

    def series(self, order):
        """Return the block's coefficients (order + 1, n, 3)."""
        return np.array([self.get(self.term(k)) for k in range(order + 1)])

    def factor(self):
        """Factor T at the block's start; return how many pivots were dropped."""
        graph_bonds(self.g, self.term(0), self.b)
        return graph_factor(self.g, self.b, self.im, self.fac)

    def solve(self, rhs):
        """Solve T mu = rhs with the present factorisation."""
        mu = rhs.copy()
        graph_solve(self.g, self.fac, mu)
        return mu

    def gv(self, vectors):
        """Return G v."""
        out = np.zeros(len(self.bonds))
        graph_gv(self.g, self.b, self.flat(vectors), out)
        return out

    def gt(self, mu):
        """Return M^-1 G^T mu."""
        v = np.zeros(3 * self.npad)
        graph_gt(self.g, self.b, mu, self.im, v)
        return self.get(v)

    def taylor(self, h=0.01, tol=0.0, kmin=3, kmax=KMAX):
        """Run the series kernel; return the order and the workspace."""
        self.factor()
        ws = np.full(WO + series_size(self.g, kmax), np.nan)[WO:]
        pull = np.zeros(0)
        return graph_series(self.g, self.ser, self.npad, self.im, h, tol, kmin, kmax, ws, self.fac, pull), ws

    def collocate(self, s, tau, tol=1e-15, dense=True, **method):
        """Run a collocation kernel; return status, end position, projected and unprojected end velocity, workspace."""
        tables = gauss_tables(s, **method)
        ws = np.full(WO + collocation_size(self.g, self.npad, s, tables.solver), np.nan)[WO:]
        if dense:
            status = collocation_segment(self.g, self.ser, self.npad, self.im, tau, tol, tables, ws, self.fac)
        else:
            status = self._state(tau, tol, tables, ws)
        work = views(stage_work, self.g, self.npad, s, ws)
        return status, *(self.get(end) for end in (work.place, work.projected, work.raw)), ws

    def _state(self, tau, tol, tables, ws):
        """Solve for the end state."""
        return collocation_state(self.g, self.term(0), self.term(1), self.im, tau, tol, tables, ws, self.fac)

    def steps(self, s, tau, count, projected, **method):
        """Take steps, each from the end of the last; leave the block's start at the last end and return it."""
        tables = gauss_tables(s, **method)
        ws = np.zeros(collocation_size(self.g, self.npad, s, tables.solver))
        work = views(stage_work, self.g, self.npad, s, ws)
        for _ in range(count):
            if self._state(tau, 1e-15, tables, ws):
                raise RuntimeError("collocation did not converge")
            self.term(0)[:] = work.place
            self.term(1)[:] = work.projected if projected else work.raw
        return self.get(self.term(0)), self.get(self.term(1))


def views(kernel, *args):
    """Return the views of a workspace that a kernel makes; compiled, it gives Python the whole workspace each time."""
    return getattr(kernel, "py_func", kernel)(*args)


def join_structures(structures):
    """Lay several structures one after the other; return the flat array and each one's offset in it."""
    sizes = [len(structure) for structure in structures]
    return np.concatenate(structures), np.cumsum([0] + sizes[:-1]).astype(np.int64)


def random_molecule(bonds, n, seed, equal=False):
    """Return a molecule with random positions, velocities and (unless equal) masses."""
    rng = np.random.default_rng(seed)
    mass = np.ones(n) if equal else rng.uniform(0.3, 3.0, n)
    return Molecule(bonds, rng.normal(size=(n, 3)), rng.normal(size=(n, 3)), mass)


def chain(n):
    """Bonds of a chain."""
    return [(i, i + 1) for i in range(n - 1)]


def ring(n):
    """Bonds of a ring."""
    return [(i, (i + 1) % n) for i in range(n)]


def star(arms, beads):
    """Bonds of a star with its centre at bead 0."""
    return [(0 if k == 0 else a * beads + k, a * beads + k + 1) for a in range(arms) for k in range(beads)]


def complete(n):
    """Bonds between all pairs."""
    return [(i, j) for i in range(n) for j in range(i + 1, n)]


def tree(n, seed):
    """Bonds of a random tree with random directions of the bonds."""
    rng = np.random.default_rng(seed)
    pairs = [(int(rng.integers(i)), i) for i in range(1, n)]
    return [pair if rng.random() < 0.5 else pair[::-1] for pair in pairs]


GRAPHS = {
    "monomer": (1, []),
    "dimer": (2, chain(2)),
    **{f"chain{n}": (n, chain(n)) for n in (3, 4, 11)},
    **{f"ring{n}": (n, ring(n)) for n in range(3, 9)},
    "star3x2": (7, star(3, 2)),
    "star12x1": (13, star(12, 1)),
    "tetrahedron": (4, complete(4)),
    "complete5": (5, complete(5)),
    "tree9": (9, tree(9, 1)),
    "tree20": (20, tree(20, 2)),
    "two rings": (7, [*ring(4), (0, 4), (4, 5), (5, 6), (6, 4)]),
}
