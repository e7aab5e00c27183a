"""The papers' small systems on one common clock, as the papers step them: collocation (001) and SHAKE/RATTLE Verlet.

The engine moves every molecule on its own clock. Leyendecker et al. 2012 and Hartmann et al. 2009 step all chains
together, so their experiments are done here, with the engine's own solver for the stages. All beads of a system count
as one molecule whose bond graph may fall apart. Kernels take the flat arrays of `propagators.taylor.graph`; `Beads`
makes them.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from hpcchain.model.molecules.bond_graph import STRIDE, build_structure, padded
from hpcchain.papers.kernel_collocation import ACCURACY, ROOT, WIDTH, collocate
from hpcchain.papers.kernel_verlet import ANALYTIC, rattle
from hpcchain.propagators.collocation.collocation import collocation_size
from hpcchain.propagators.collocation.collocation_molecule import SOLVER, stage_table
from hpcchain.propagators.taylor.graph import factor_size


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

    def __init__(self, position: Any, velocity: Any, bonds: Any, diameter: float = 1.0) -> None:
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

    def put(self, position: np.ndarray, velocity: np.ndarray) -> None:
        """Set the state."""
        self.state[:] = 0.0
        self.state.reshape(2, 3, self.npad)[:, :, : self.n] = np.transpose([position, velocity], (0, 2, 1))

    def get(self, state: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return (position, velocity) of a flat state, by default the present one."""
        both = np.asarray(self.state if state is None else state).reshape(-1, 2, 3, self.npad)[..., : self.n]
        both = np.moveaxis(both, -1, -2)
        return (both[0, 0], both[0, 1]) if state is None else (both[:, 0], both[:, 1])

    def collocate(
        self,
        tau: float,
        s: int,
        duration: float,
        variant: str = "index2",
        solver: str = "auto",
        contacts: int = ROOT,
        stride: int = 1,
    ) -> Track:
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
        capacity = int(1.2 * duration / tau / stride) + 100 + int(4 * duration)
        times, states, kinds = (
            np.zeros(capacity),
            np.zeros((capacity, 6 * self.npad)),
            np.zeros(capacity, dtype=np.int64),
        )
        size = collocation_size(self.gs, 0, self.npad, s, int(constants[begin[-1] + SOLVER]))
        ws = np.zeros(size + 6 * self.npad + len(self.pairs))
        count = collocate(
            self.gs,
            self.state,
            self.npad,
            self.im,
            self.pairs,
            self.diameter,
            tau,
            float(duration),
            s,
            contacts,
            stride,
            constants,
            begin,
            ws,
            self.fac,
            times,
            states,
            kinds,
        )
        return Track(self, times, states, kinds, count)

    def rattle(self, h: float, duration: float, solver: int = ANALYTIC, stride: int = 1, width: float = WIDTH) -> Any:
        """Move on for a duration by velocity Verlet with SHAKE and RATTLE; return Track.

        Contacts are found by bisection to a width [time]. The analytic solver needs linear chains, bonds in order.
        """
        capacity = int(duration / h / stride) + 10 + int(20 * duration)
        times, states, kinds = (
            np.zeros(capacity),
            np.zeros((capacity, 6 * self.npad)),
            np.zeros(capacity, dtype=np.int64),
        )
        ws = np.zeros(12 * self.npad + 16 * int(self.gs[STRIDE]))
        count = rattle(
            self.gs,
            self.state,
            self.npad,
            self.im,
            self.pairs,
            self.diameter,
            h,
            float(duration),
            solver,
            stride,
            width,
            ws,
            self.fac,
            times,
            states,
            kinds,
        )
        return Track(self, times, states, kinds, count)


@cache
def stage_constants(s: int, variant: str, solver: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the constants (`stage_table`) of 1 .. s stages one after the other, and where each begins."""
    tables = [stage_table(k, ACCURACY, variant, solver) for k in range(1, s + 1)]
    return np.concatenate(tables), np.cumsum([0] + [len(table) for table in tables[:-1]])


class Track:
    """What was kept on the way: times, positions and velocities (k, n, 3), and which are contacts (just after)."""

    def __init__(self, beads: Beads, times: np.ndarray, states: np.ndarray, kinds: np.ndarray, count: int) -> None:
        self.failed = count < 0
        count = abs(count)
        self.time = times[:count]
        self.position, self.velocity = beads.get(states[:count])
        self.contact = kinds[:count] == 1
        self.bonds = beads.bonds

    @property
    def double_energy(self) -> Any:
        """2 E [mass length^2 / time^2], which Hartmann et al. 2009 calls the energy."""
        return np.sum(self.velocity**2, axis=(1, 2))

    @property
    def angular(self) -> Any:
        """Angular momentum (k, 3)."""
        return np.sum(np.cross(self.position, self.velocity), axis=1)

    @property
    def stretch(self) -> Any:
        """|b|^2 - 1 of every bond (k, bonds)."""
        bond = self.position[:, self.bonds[:, 1]] - self.position[:, self.bonds[:, 0]]
        return np.sum(bond**2, axis=2) - 1.0
