"""What engines of events rest on: a sector's arrays, made from a system, enlarged when they are full, and read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.errors import HpcchainError, WindowError
from hpcchain.layout import arrays as L
from hpcchain.layout.memory import aligned_zeros, extended
from hpcchain.layout.segment_bits import unpacked_starts
from hpcchain.model.physics.extended import INSIDE_COLUMNS, widened
from hpcchain.model.physics.step_potentials import bead_types, potential_energies
from hpcchain.model.system import State
from hpcchain.sector import sampling
from hpcchain.sector.ahead.helper import Helper, Worth, can_help, series_capacity
from hpcchain.sector.collapse import not_a_number, stuck
from hpcchain.sector.events import loop
from hpcchain.sector.interface import event_row
from hpcchain.sector.search.cells import CELL_FULL
from hpcchain.sector.search.neighbour_lists import STEP
from hpcchain.sector.setup import initialise
from hpcchain.sector.setup.allocate import (
    LEAST_FOUND,
    LONGEST,
    build_sector,
    cell_arrays,
    countable_images,
    energy_quantum,
    folded,
    most_cells,
    quanta,
    set_shell,
    spare_entries,
)
from hpcchain.sector.setup.drift import set_drift

if TYPE_CHECKING:
    from hpcchain.model.system import Physics, System
    from hpcchain.sector.setup.molecule_classes import MoleculeClasses


LEAST, MOST = 32, 20000
AIM = 0.1  # seconds


class EventBudget:
    """Follows what events cost; some methods' take a thousand times as long as others'.

    Attributes
    ----------
    size : int
        Events for the next call.
    """

    def __init__(self) -> None:
        self.size = 1000

    def run_timed(self, call: Callable, used_up: int) -> int:
        """Return the result of a call that is given the number of events, and learn from how long it took.

        `used_up`: the result when it has carried out all of them.
        """
        begin = perf_counter()
        result = call(self.size)
        spent = perf_counter() - begin
        if spent > 2.0 * AIM:
            self.size = max(int(self.size * AIM / spent), LEAST)
        elif spent < 0.5 * AIM and result == used_up:
            self.size = min(2 * self.size, MOST)
        return result


# Of what lists take, the part that is spared for their changes to begin with, and entries at least: of a dilute system
# no list may have any when they are made.
SPARE_BLOCKS, LEAST_SPARE = 0.25, 1024


@dataclass(frozen=True)
class Options:
    """How a sector's arrays are made.

    Attributes
    ----------
    shell, cell : float
        Half width of the neighbour lists' shell and least cell width [length]; no effect on results.
    growth : (float, float)
        Contact distances as a fraction of the full ones at time 0, and the rate of that fraction [1 / time].
    base : float
        Ticks that queue keys are relative to.
    log_rows : int
        Rows of the contact log to begin with; 0: contacts are not logged.
    space : float
        That cells and lists have for changes, relative to what sectors begin with.
    inside : int
        Entries at least of each bead's table of beads inside a step of a potential (`model.physics.extended`).
    drift : (3,) float64 array or tuple
        How many periods a tick the lists' frame moves along each axis (`setup.drift`); no effect on results.
    worth : Worth, optional
        When a second thread makes outcomes ahead of time (`ahead`), where it can; without it never. No effect on
        results.
    """

    shell: float
    cell: float
    growth: tuple = (1.0, 0.0)
    base: float = 0.0
    log_rows: int = 0
    space: float = 1.0
    inside: int = 0
    drift: Any = (0.0, 0.0, 0.0)
    worth: Worth | None = None


class Core:
    """A sector's arrays and the event loop over them, which can run after `start`.

    Parameters
    ----------
    classes : MoleculeClasses
    system : System
        Its state is that of the molecules here; it is not kept.
    sequence : (k,) int64 array
        Molecules in the order that they have in the arrays (`build_sector`).
    options : Options
    at : (N,) int64 array, optional
        The state's row of each local bead; without it the beads' global ids.

    Attributes
    ----------
    sector : Sector
        See `layout.arrays`.
    ids : (N,) int64 array
        Global ids of the local beads.
    batch : EventBudget
    space : float
        As in Options; doubled each time that something is full.
    entries, spare : float
        Entries that cells may hold of a bead, and the part of what lists take that is for their changes, where `space`
        is 1.
    helper : Helper or None
        The second thread.
    """

    def __init__(
        self,
        classes: MoleculeClasses,
        system: System,
        sequence: np.ndarray,
        options: Options,
        at: np.ndarray | None = None,
    ) -> None:
        self.options, self.space = options, options.space
        self.sector, self.ids = build_sector(
            classes, system, options.shell, options.cell, sequence, options.log_rows, at, options.inside
        )
        self.state_row = self.ids if at is None else at
        self.entries, self.spare = spare_entries(len(self.ids)), SPARE_BLOCKS
        self.batch = EventBudget()
        self.sector.par[L.GROWTH], self.sector.par[L.GROWTH_RATE] = options.growth
        self.sector.par[L.BASE] = options.base
        set_drift(self.sector.par, np.array(options.drift))
        require_finite(self, system.physics)
        if self.sector.stretched is not None:
            sampling.put_chain_part_state(self.sector, np.arange(len(self.ids)), system.state.parts[self.state_row])
        self.helper: Helper | None = None
        if options.worth is not None and can_help(self.sector):
            self.helper, series = Helper(options.worth), self.sector.series
            self.sector.ahead[L.AHEAD_SERIES] = len(series)
            self.sector = self.sector._replace(series=extended(series, series_capacity(self.sector)))

    def start(self) -> None:
        """Make the first segments, lists and searches."""
        initialise.start(self.sector)
        self.enlist()

    def enlist(self) -> None:
        """List all neighbours and search all events anew, with as much capacity as that takes."""
        self.make_blocks()
        while status := initialise.enlist(self.sector):
            if status == CELL_FULL:
                self.more_space()
            else:
                self.make_blocks()
        self.fit_blocks()
        while initialise.find_inside(self.sector):
            self.grow_inside()
        initialise.search_all(self.sector)

    def change_shell(self, system: System, shell: float) -> None:
        """Make lists of another width of shell, and cells for them; of the system the state is not looked at."""
        self.options = replace(self.options, shell=shell)
        cells = set_shell(self.sector.par, system, shell, self.options.cell)
        self._make_cells(folded(cells, system.box, None, most_cells(len(self.ids))))
        self.enlist()

    def more_space(self) -> None:
        """Give cells, which are empty then, and lists, when they are made, twice the space for changes."""
        self.space *= 2.0
        self._make_cells(self.sector.cells)
        self.make_blocks()

    def _make_cells(self, cells: np.ndarray) -> None:
        """Make cells, `folded`, that are empty."""
        self.sector = self.sector._replace(**cell_arrays(cells, len(self.ids), self.entries * self.space))

    def make_blocks(self) -> None:
        """Make as much space for lists as the present numbers of their entries need, and `found` for the longest."""
        steps = self.sector.lists[:, L.LIST_LENGTH].astype(np.int64) // STEP + 1
        longest = max(2 * int(steps.max(initial=0)), int(LONGEST * self.space), len(self.sector.free_lists))
        free = np.full(longest, -1, dtype=np.int64)
        neighbour, found = self.sector.neighbour, self.sector.found
        if STEP * int(steps.sum()) > len(neighbour):
            neighbour = aligned_zeros(STEP * int(steps.sum()), np.int32)
        if STEP * longest + LEAST_FOUND > len(found):
            found = np.zeros(STEP * longest + LEAST_FOUND, dtype=np.int64)
        self.sector = self.sector._replace(neighbour=neighbour, free_lists=free, found=found)

    def fit_blocks(self) -> None:
        """Give lists that have just been made the space behind theirs that is spared for changes, and no more."""
        used = int(self.sector.scalars[L.SCALAR_LISTS_END])
        spare = int(self.space * max(self.spare * used, LEAST_SPARE))
        neighbour = aligned_zeros(used + spare, np.int32)
        neighbour[:used] = self.sector.neighbour[:used]
        self.sector = self.sector._replace(neighbour=neighbour)

    @property
    def inside_columns(self) -> int:
        """Entries of each bead's table of beads inside a step of a potential."""
        return self.sector.extra.shape[1] - L.INSIDE

    def grow_inside(self) -> None:
        """Give all tables of beads inside more capacity."""
        extra = self.sector.extra
        self.sector = self.sector._replace(extra=widened(extra, extra.shape[1] + INSIDE_COLUMNS))

    def grow_lists(self) -> None:
        """Give cells and lists more space, and make them anew."""
        self.more_space()
        self.enlist()

    def run(self, until: tuple) -> int:
        """Carry out a tenth of a second's events, up to a time (ticks, remainder); return `loop`'s status."""
        s, ticks, remainder = self.sector, float(until[0]), float(until[1])
        with nullcontext() if self.helper is None else self.helper.helping(s):
            return self.batch.run_timed(lambda most: loop.advance(s, ticks, remainder, most), loop.PAUSED)

    def failed_bead(self) -> Any:
        """Return the global id of the bead that the loop has stopped at."""
        return int(self.ids[self.sector.count[L.N_FAILED_BEAD]])

    def logged(self) -> np.ndarray:
        """Return the rows of the contact log so far."""
        return self.sector.log[: self.sector.count[L.N_LOGGED]]

    def frame(self, ticks: float, remainder: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, velocity and image counts, (n, 3) each, of all local beads at a time.

        A molecule's positions are all in one image.
        """
        shape = len(self.ids), L.AXES  # ghosts' rows stay as they are
        position, velocity, image = np.zeros(shape), np.zeros(shape), np.zeros(shape, dtype=np.int64)
        sampling.frame(self.sector, float(ticks), float(remainder), position, velocity, image)
        if self.sector.stretched is not None:
            sampling.unite_images(self.sector, position, image)
        return position, velocity, image

    def state(self, beads: np.ndarray | slice = slice(None)) -> State:
        """Return the State of local beads, those of these rows: the starts of their present segments, as copies."""
        s = self.sector
        own = s.starts[: len(self.ids)][beads]
        segment = s.segment[: len(self.ids)][beads]
        m = segment[:, L.MOLECULE]
        depth, struck, left = unpacked_starts(segment[:, L.START_MARKS])
        return State(
            position=own[:, L.X : L.VX].copy(),
            velocity=own[:, L.VX : L.START_TICKS].copy(),
            image=s.mol[m, L.MOL_IMAGE : L.MOL_IMAGE + L.AXES].astype(np.int64),
            ticks=own[:, L.START_TICKS].copy(),
            remainder=own[:, L.START_REM].copy(),
            depth=depth,
            struck=struck,
            step=s.running_length[m],
            in_contact=left,
            extra=s.extra[: len(self.ids)][beads].copy() if s.extended is not None else None,
            parts=sampling.chain_part_state(s, np.arange(len(self.ids))[beads]) if s.stretched is not None else None,
        )


def require_finite(core: Core, physics: Physics) -> None:
    """Raise EngineError when a bead's state has become infinite or not a number."""
    starts = core.sector.starts[: core.sector.scalars[L.SCALAR_BEADS]]
    if not np.isfinite(starts).all():
        bead = int(core.ids[np.flatnonzero(~np.isfinite(starts).all(axis=1)).min()])
        raise not_a_number(physics, f"bead {bead}: its position or velocity")
    countable_images(core.sector.mol[: core.sector.scalars[L.SCALAR_MOLECULES], L.MOL_IMAGE : L.MOL_IMAGE + L.AXES])


def failure_of(status: int, physics: Physics, bead: int | None, time: float) -> HpcchainError:
    """Return the error for the status of a loop, or a window, that cannot go on, of a bead if one is known."""
    if status == loop.STUCK:
        return stuck(physics, bead, time)
    if status == loop.NOT_A_NUMBER:
        return not_a_number(physics, "a contact time")
    return WindowError("the ranks do not come to agree on a window however short; please report this with the input")


def energies_of(system: System, core: Core, beads: np.ndarray | slice = slice(None)) -> Any:
    """Return (n, 2) potential energies, and zeros, of a core's beads in these rows; None without potentials with steps.

    Of the system topology and physics are used.
    """
    if not system.physics.extended.potentials:
        return None
    composition = system.topology
    types = bead_types(composition.prototypes, system.physics)[1]

    def type_of(beads: np.ndarray) -> np.ndarray:
        return types[composition.prototype_of(beads)]

    inside = core.sector.extra[: len(core.ids), L.INSIDE :][beads]
    half = potential_energies(inside, type_of(core.ids[beads]), type_of, core.sector.potential)
    return np.column_stack([half, np.zeros(len(half))])


class Recorded:
    """What an engine has counted and logged of contacts so far, this rank's share (`sector.interface.Engine`).

    Sums are in quanta: whole numbers of any size, whose order of summation does not matter.

    Parameters
    ----------
    system : System
    """

    def __init__(self, system: System) -> None:
        self.quantum, self.impulse_quantum = quanta(system)
        self.energy_quantum = energy_quantum(system)
        self.sums: list[int] = [0] * L.SUMS
        self._row = event_row(system.physics)
        self._rows: list[np.ndarray] = []

    @property
    def seconds(self) -> dict[str, float]:
        """Wall seconds in parts of `advance`: none, where an engine's work is not told apart."""
        return {}

    def window_report(self) -> dict:
        """Return what the run log says of the ranks' working together, name -> number: nothing for one rank."""
        return {}

    def count(self, sums: np.ndarray) -> None:
        """Add to the sums those of further contacts, (SUMS,) int64."""
        self.sums = [old + more for old, more in zip(self.sums, sums.tolist(), strict=True)]

    def keep(self, log: np.ndarray) -> None:
        """Keep these rows of the contact log until they are drained."""
        if not len(log):
            return
        rows = np.empty(len(log), dtype=self._row)
        if "tangential" in self._row.names:
            rows["tangential"] = log[:, L.LOG_TANGENTIAL : L.LOG_TANGENTIAL + L.AXES]
        rows["time"], rows["kind"], rows["impulse"] = log[:, L.LOG_TIME], log[:, L.LOG_KIND], log[:, L.LOG_IMPULSE]
        rows["bead"] = log[:, L.LOG_LOWER : L.LOG_IMPULSE]
        self._rows.append(rows)

    def drain_events(self) -> np.ndarray:
        """Return and forget the logged contacts: (n,) structured array of time, kind, bead (2,), impulse."""
        rows, self._rows = np.concatenate([np.empty(0, dtype=self._row), *self._rows]), []
        return rows


def with_vacant(state: State, more: int) -> State:
    """Return a State with rows for `more` beads behind its own, for what is vacant."""
    place = state.position[0] if len(state.position) else 0.0  # not where cells would have to be had for them alone
    vacant = State.at_time_zero(np.zeros((more, 3)) + place, np.zeros((more, 3)))
    vacant.extra, vacant.parts = (np.zeros((more, one.shape[1])) for one in (state.extra, state.parts))
    pairs = ((name, getattr(state, name), getattr(vacant, name)) for name in State.ARRAYS)
    return State(**{name: np.concatenate([own, others]) for name, own, others in pairs})
