"""The event-driven engine of one rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.clock import split
from hpcchain.sector.ahead.helper import worth_of
from hpcchain.sector.collapse import Standstill, stuck
from hpcchain.sector.core import Core, Options, Recorded, energies_of, failure_of, require_finite
from hpcchain.sector.events import loop
from hpcchain.sector.queue.event_order import next_key_of
from hpcchain.sector.setup.chain_parts import chain_parts_of
from hpcchain.sector.setup.drift import drift_of, motion_of
from hpcchain.sector.setup.molecule_classes import MoleculeClasses, space_sequence
from hpcchain.sector.setup.shell import default_shell, is_dilute

if TYPE_CHECKING:
    from hpcchain.model.system import State

LOG_ROWS = 65536
RENEWALS = 16  # of a bead's list, on the average, after which it is seen whether the shell still suits the density
ANOTHER = 1.25  # times as wide, or narrow, is another shell


class Engine(Recorded):
    """Carries a system forward event by event.

    Parameters
    ----------
    system : System
        Its state gives the start of every bead's segment; the trajectory depends on nothing else.
    log_events : bool
        Keep a log of contacts for `drain_events`.
    shell, cell : float or None
        Half width of the neighbour lists' shell and least cell width [length]; no effect on results.
    growth : (float, float)
        Contact distances as a fraction of the full ones at time 0, and the rate of that fraction [1 / time].
    threads : int or "auto"
        2: a second thread makes outcomes ahead of time, where it can (`sector.ahead`); "auto": while that is faster; no
        effect on results.

    Raises
    ------
    EngineError
        Where long chains are to be divided, and a run has more than smooth hard beads.
    """

    def __init__(
        self,
        system: Any,
        log_events: bool = False,
        shell: float | None = None,
        cell: float | None = None,
        growth: tuple = (1.0, 0.0),
        threads: int | Literal["auto"] = 1,
    ) -> None:
        super().__init__(system)
        self.system, self.growth = system, growth
        self._least_time = -np.inf
        composition, molecules = system.topology, np.arange(system.topology.molecules)
        first = composition.first_bead_of(molecules)
        self.fits_shell, self._seen_renewals = shell is None and is_dilute(system), 0
        options = Options(
            default_shell(system, system.state.position[first]) if shell is None else shell,
            0.0 if cell is None else cell,
            growth,
            float(system.state.ticks.max(initial=0.0)),
            LOG_ROWS if log_events else 0,
            drift=drift_of(system, [motion_of(composition, np.arange(composition.beads), system.state.velocity)]),
            worth=worth_of(threads),
        )
        sequence = space_sequence(system, molecules, first)
        chain_parts = chain_parts_of(system)
        self.core = Core(
            MoleculeClasses(system) if chain_parts is None else chain_parts.classes(),
            system if chain_parts is None else chain_parts.system,
            sequence if chain_parts is None else chain_parts.sequence(sequence),
            options,
        )
        self.core.start()

    @property
    def sector(self) -> Any:
        """The arrays (`layout.arrays`)."""
        return self.core.sector

    @property
    def ids(self) -> np.ndarray:
        """Global ids of the beads, (n,) int64, in the order of `frame` and `state`."""
        return self.core.ids

    def advance(self, time: float, pause: Callable | None = None) -> bool:
        """See `sector.interface.Engine`."""
        until, standstill = split(time, self.system.physics.tick), Standstill(self.system.physics)
        while True:
            status = self.core.run(until)
            self._count_sums()
            if status == loop.REACHED:
                require_finite(self.core, self.system.physics)
                return True
            if status == loop.LOG_FULL:
                self._drain()
            elif status == loop.LIST_FULL:
                if not self._fit_shell():
                    self._least_time = max(self._least_time, self._present)
                    self.core.grow_lists()
            elif status == loop.TABLE_FULL:
                self.core.grow_inside()
            elif status != loop.PAUSED:
                raise failure_of(status, self.system.physics, self.core.failed_bead(), self.time)
            elif self.counters["relists"] - self._seen_renewals > RENEWALS * len(self.ids):
                self._fit_shell()
            bead = standstill.bead(self.sector)
            if bead is not None:
                raise stuck(self.system.physics, int(self.ids[bead]), self.time)
            if pause is not None and pause():
                require_finite(self.core, self.system.physics)
                return False

    def _fit_shell(self) -> bool:
        """Give the lists another shell where beads have come nearer to one another, or apart; return whether."""
        self._seen_renewals = self.counters["relists"]
        if not self.fits_shell:
            return False
        s, now = self.sector, self.sector.par[[L.NOW, L.NOW_REM]]
        position = self.core.frame(*now)[0] if np.isfinite(now).all() else s.starts[:, L.X : L.VX]
        shell = default_shell(self.system, position[s.mol[:, L.MOL_FIRST]])
        if 1.0 / ANOTHER < shell / self.core.options.shell < ANOTHER:
            return False
        self._least_time = max(self._least_time, self._present)
        self.core.change_shell(self.system, shell)
        return True

    def _count_sums(self) -> None:
        """Move the kernel's sums to Python's integers, which do not overflow."""
        sums = self.sector.scalars[L.SCALAR_SUMS : L.SCALAR_SUMS + L.SUMS]
        self.count(sums)
        sums[:] = 0

    def _drain(self) -> None:
        self.keep(self.core.logged())
        self.sector.count[L.N_LOGGED] = 0

    def drain_events(self) -> np.ndarray:
        """Return and forget the logged contacts: (n,) structured array of time, kind, bead (2,), impulse."""
        self._drain()
        return super().drain_events()

    def frame(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, velocity and image counts, (n, 3) each, of the beads `ids`, in that order, at a time."""
        return self.core.frame(*split(time, self.system.physics.tick))

    def state(self) -> State:
        """Return the start states of the present segments of the beads `ids`, in that order.

        A run continues from them to the same bits.
        """
        return self.core.state()

    def energies(self) -> np.ndarray | None:
        """Return (n, 2) potential energies of the beads `ids`, and zeros; None where nothing has any."""
        return energies_of(self.system, self.core)

    @property
    def time(self) -> float:
        """A time before which all events are done: that of the next one [time].

        Lists that were made anew, about the segments' starts, may have to be renewed at times that are over.
        """
        key = next_key_of(self.sector, int(self.sector.winner[L.TOP, L.ROOT]))
        return max(float(key.ticks * self.system.physics.tick + key.remainder), self._least_time)

    @property
    def _present(self) -> float:
        """Time of the event that is carried out, or was last [time]."""
        par = self.sector.par
        return float(par[L.NOW] * self.system.physics.tick + par[L.NOW_REM])

    @property
    def counters(self) -> dict:
        """Name -> number of events and operations so far (int), for reports."""
        return {name: int(self.sector.count[i]) for i, name in enumerate(L.COUNTERS)}
