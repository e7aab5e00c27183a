"""One rank's part of a system in windows: its own molecules and ghosts of others'.

It carries the sector loop through a window as often as it takes, sends others what its molecules did, and sets ghosts
right by what their owners say. It knows nothing of ranks: messages come and go as arrays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.layout.id_table import id_table, insert, lookup_all
from hpcchain.layout.segment_bits import packed_starts
from hpcchain.model.physics.step_potentials import beyond_contact
from hpcchain.model.system import State
from hpcchain.sector.core import Core, with_vacant
from hpcchain.sector.events import loop
from hpcchain.sector.events.refresh import set_back
from hpcchain.sector.sampling import put_part_state
from hpcchain.sector.search.neighbour_lists import clean_lists
from hpcchain.sector.segments.chain_centre import settle_centres
from hpcchain.sector.setup import initialise
from hpcchain.sector.setup.allocate import cell_arrays, window_arrays
from hpcchain.sector.setup.blocks import whole_chains
from hpcchain.sector.setup.molecules_here import MoleculesHere, Vacancies, space_sequence
from hpcchain.sector.speculation import ghost_messages
from hpcchain.sector.speculation.window import (
    SUMS,
    WindowBroken,
    abort_window,
    commit_window,
    move_reference,
    settle_log,
    skin_violation,
)
from hpcchain.sector.speculation.window_capacity import EVENTS, WindowCapacity

if TYPE_CHECKING:
    from hpcchain.model.system import System
    from hpcchain.sector.core import Options
    from hpcchain.sector.setup.molecule_classes import MoleculeClasses

BATCH = 20000
# Contacts of one molecule in a window beyond which it is taken back and shortened: ghosts carried into others may
# rattle on and on. A sound window has less than one of a molecule on average; beads that stay together have hundreds.
MOST_EVENTS, EVENTS_PER_BEAD = 512, 16
WANTED = 1024
ENTRIES = 4


class GhostedSector:
    """Molecules of one rank and ghosts, carried through windows.

    Parameters
    ----------
    classes : MoleculeClasses
    system : System
        Its state is that of the beads of `here` alone, in their order, and is not kept.
    here : MoleculesHere
    capacity : (n,) int64 array
        Capacities of neighbour lists, for the state's rows, and behind them for the beads of a molecule of each class.
    options : Options
        See `Core`; the contact log begins with `EVENTS` rows whatever they say.
    closed : (sizes,) int64 array, optional
        Rows for closed segments to begin with, as `WindowCapacity` takes them.

    Attributes
    ----------
    molecule_ids : (k,) int64 array
        Global numbers of the molecules, by row; of vacant rows those of a prototype.
    ownership : (k,) int64 array
        OWNED, GHOST, FULL_GHOST or VACANT, by row.
    owned, ghost_rows : int64 arrays
        Rows of molecules.
    owned_molecules : int
        How many that are, with the parts of a long chain as one.
    owned_beads : int64 array
        Rows of beads.
    """

    def __init__(
        self,
        classes: MoleculeClasses,
        system: System,
        here: MoleculesHere,
        capacity: np.ndarray,
        options: Options,
        closed: np.ndarray | None = None,
    ) -> None:
        self.system, self.classes = replace(system, state=None), classes
        self.base, self.window = options.base, WindowCapacity(classes, closed)
        composition = classes.composition
        self.beyond = beyond_contact(composition.prototypes, system.physics)
        self.vacancies = Vacancies(classes)
        size = composition.size_of(here.molecule_ids)
        first = np.cumsum(size) - size
        sequence = classes.grouped(here.molecule_ids, lambda at: space_sequence(system, at, first[at]))
        ids = here.molecule_ids[sequence]
        vacant = self.vacancies.lay_out(ids) if len(ids) < composition.molecules else ids[:0]
        free_rows = composition.class_of(vacant)
        self.molecule_ids = np.concatenate([ids, vacant])
        self._rows = np.empty(len(self.molecule_ids), dtype=np.int64)
        self.ownership = np.concatenate([here.ownership[sequence], np.full(len(free_rows), L.VACANT)]).astype(np.int64)
        self.row_of = id_table(len(self.molecule_ids))
        insert(self.row_of, ids, np.arange(len(ids)))
        at = self._rows_of(sequence, free_rows, first, size)
        self.core = Core(
            classes,
            replace(system, state=with_vacant(system.state, composition.prototypes.beads)),
            self.molecule_ids,
            capacity,
            replace(options, log_rows=EVENTS),
            at,
            self._prepare,
        )

    @property
    def sector(self) -> Any:
        """The arrays (`layout.arrays`)."""
        return self.core.sector

    @sector.setter
    def sector(self, sector: Any) -> None:
        self.core.sector = sector

    @property
    def ids(self) -> np.ndarray:
        """Global ids of the local beads, (N,) int64."""
        return self.core.ids

    def _rows_of(self, sequence: np.ndarray, free_rows: np.ndarray, first: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Return the state's row of each local bead; vacant ones have those of their class behind the others."""
        prototypes = self.classes.composition.prototypes
        begin = np.concatenate([first[sequence], int(size.sum()) + prototypes.first_bead[free_rows]])
        count = np.concatenate([size[sequence], np.diff(prototypes.first_bead)[free_rows]])
        return np.arange(int(count.sum())) + np.repeat(begin - (np.cumsum(count) - count), count)

    @property
    def counts(self) -> np.ndarray:
        """The kernels' counts, (len(COUNTERS),) int64."""
        return self.core.sector.count

    @property
    def radius(self) -> np.ndarray:
        """(N,) radii of the local beads, with half of how much farther than contact any act on one another [length]."""
        return np.resize(self.core.sector.radius, len(self.ids)) + 0.5 * self.beyond

    def first_and_count(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the first bead's row and the number of beads of the molecules in these rows."""
        mol = self.core.sector.mol
        return mol[rows, L.MOL_FIRST], mol[rows, L.MOL_BEADS]

    def rows_of(self, molecule_ids: np.ndarray) -> np.ndarray:
        """Return the rows of molecules that are here."""
        rows = np.empty(len(molecule_ids), dtype=np.int64)
        lookup_all(self.row_of, molecule_ids, rows)
        return rows

    def _prepare(self, core: Core) -> None:
        """Let the kernels know which molecules are ghosts; make the arrays of cells and windows."""
        s, core.entries = core.sector, ENTRIES
        beads = s.mol[:, L.MOL_BEADS]
        s = s._replace(
            **cell_arrays(s.cells, len(core.ids), ENTRIES * core.cell_capacity_factor),
            **window_arrays(len(core.ids), len(self.molecule_ids)),
            window_event=np.zeros((EVENTS, L.EVENT_COLUMNS), dtype=np.int64),
            owner_history=np.zeros(4096),
            owner_history_at=np.zeros((len(self.molecule_ids), 8), dtype=np.int64),
        )
        core.sector = s
        s.window_molecule[:, L.WINDOW_CLASS] = np.searchsorted(self.classes.sizes, beads)
        s.window_molecule[:, L.WINDOW_ID] = self.molecule_ids
        s.mol[:, L.MOL_OWNERSHIP] = self.ownership
        s.lists[:, L.OWNERSHIP] = np.repeat(self.ownership, beads)
        if s.stretched is not None:
            changes = np.zeros((len(self.molecule_ids), L.CHANGE_COLUMNS))
            core.sector = s = s._replace(centre_change=changes, arms=np.zeros((EVENTS, L.ARM_COLUMNS)))
        s.scalars[L.SCALAR_WINDOWED] = 1
        s.free_rows[:, L.SPARE_LEAST] = self.classes.most_rows
        self.owned = np.flatnonzero(self.ownership == L.OWNED)
        self.owned_molecules = len(self.owned)
        if s.stretched is not None:
            self.owned_molecules = int(np.count_nonzero(s.chain_block[self.owned, L.BLOCK_PLACE] == 0))
        self.ghost_rows = np.flatnonzero((self.ownership == L.GHOST) | (self.ownership == L.FULL_GHOST))
        self.owned_beads = np.flatnonzero(np.repeat(self.ownership, beads) == L.OWNED)
        self.window.begin(core)

    def admit(self, molecules: np.ndarray, state: State, now: tuple) -> bool:
        """Take in further ghosts at a time between windows; return whether they and their lists fit.

        Parameters
        ----------
        molecules : (k,) int64 array
            Global numbers.
        state : State
            Of their beads.
        now : (float, float)
            Ticks and remainder.
        """
        s, m = self.sector, self.vacancies.take(molecules)
        if len(m) < len(molecules):
            return False
        i, count = self.beads_of(m), self.first_and_count(m)[1]
        own, at = state, np.cumsum(count) - count
        s.starts[i, L.X : L.VX], s.starts[i, L.VX : L.START_TICKS] = own.position, own.velocity
        s.starts[i, L.START_TICKS], s.starts[i, L.START_REM] = own.ticks, own.remainder
        s.segment[i, L.START_MARKS] = packed_starts(own.depth, own.struck, own.in_contact)
        s.mol[m, L.MOL_IMAGE : L.MOL_IMAGE + L.AXES] = own.image[at]
        s.running_length[m] = own.step[at]
        if s.extended is not None:
            s.extra[i] = own.extra
        if s.stretched is not None:
            put_part_state(s, i, own.parts)
        s.window_molecule[m, L.WINDOW_ID], s.mol[m, L.MOL_OWNERSHIP] = molecules, L.GHOST
        self.ids[i] = s.bead_id[i] = self.classes.composition.beads_of(molecules)
        self.molecule_ids[m], self.ownership[m] = molecules, L.GHOST
        insert(self.row_of, molecules, m)
        s.lists[i, L.OWNERSHIP] = L.GHOST
        self.ghost_rows = np.flatnonzero((self.ownership == L.GHOST) | (self.ownership == L.FULL_GHOST))
        return initialise.admit(s, m, *now, self.base) == 0

    def whole_chains(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows of these molecules and, of those that are parts of long chains, of all parts, in order."""
        if self.classes.blocks is None:
            return rows
        return whole_chains(self.sector.chain_block, rows, len(self.molecule_ids))

    def move_reference(self, rows: np.ndarray, now: tuple, reference_position: np.ndarray) -> np.ndarray:
        """Write about where these molecules' beads are at a time to their rows of `reference_position`.

        Returns with what speed each molecule's fastest bead began its segment, (n,) float64 [length / time].
        """
        move_reference(self.sector, rows, *now, reference_position, speed := np.empty(len(rows)))
        return speed

    def run(self, until: tuple) -> None:
        """Carry out all events up to and including a time (ticks, remainder).

        Raises
        ------
        WindowBroken
        """
        budget = BATCH * (10 + len(self.molecule_ids))  # events of all kinds; far more than any sound window takes
        while True:
            budget -= self.core.batch.size
            try:
                status = self.core.run(until, self.window.log_rows)
            except ZeroDivisionError:  # in plain Python: two beads in one place
                status = loop.NOT_A_NUMBER
            if status == loop.REACHED:
                return
            bead = self._rattling()
            if budget < 0 or bead >= 0:
                raise WindowBroken(loop.STUCK, bead)
            if status == loop.LOG_FULL:
                self.window.more_log(self.core)
            elif status == loop.HISTORY_FULL:
                self.window.more_history(self.core)
            elif status != loop.PAUSED:
                raise WindowBroken(status, self.core.failed_bead())

    def _rattling(self) -> int:
        """Return the id of a bead whose molecule has had more contacts in the window than sound ones have, or -1."""
        # Such a window takes memory without end; one that is only long is done again in parts.
        s = self.sector
        events = s.window_event[1 : s.scalars[L.SCALAR_EVENT] + 1]
        if len(events) <= MOST_EVENTS:
            return -1
        members = events[:, L.EVENT_MEMBERS : L.EVENT_MEMBERS + L.MOST_MEMBERS]
        contacts = np.bincount(members[np.arange(L.MOST_MEMBERS) < events[:, : L.EVENT_MEMBERS]], minlength=len(s.mol))
        beads = s.mol[: len(contacts), L.MOL_BEADS]
        if self.classes.blocks is not None:  # the first part of a long chain stands for all of it
            chain_block = s.chain_block[: len(contacts)]
            leads = (chain_block[:, L.BLOCK_CHAIN] >= 0) & (chain_block[:, L.BLOCK_PLACE] == 0)
            beads = np.where(leads, self.classes.blocks.longest, beads)
        violation = contacts - MOST_EVENTS - EVENTS_PER_BEAD * beads
        m = int(np.argmax(violation))
        return int(self.ids[s.mol[m, L.MOL_FIRST]]) if violation[m] > 0 else -1

    def pack(self, lent: dict, lent_at_all: np.ndarray) -> dict:
        """Return for each rank the message, a float64 array, about its ghosts that have changed since the last.

        Parameters
        ----------
        lent : dict of rank -> (M,) uint8 array
            Which molecules it holds, by row.
        lent_at_all : (M,) uint8 array
            Which molecules any rank holds.
        """
        s = self.sector
        rows = self._rows[: ghost_messages.changed(s, lent_at_all, self._rows)]
        messages = dict.fromkeys(lent, np.empty(0))
        for rank, its in lent.items() if len(rows) else ():
            size = int(ghost_messages.message_size(s, rows, its))
            if size:
                messages[rank] = np.empty(size)
                ghost_messages.pack(s, rows, its, messages[rank])
        ghost_messages.sent(s, rows)
        return messages

    def receive(self, received: np.ndarray) -> np.ndarray:
        """Put a message from its owner into ghosts' histories; return global molecules that are needed to go on."""
        s = self.sector
        most, floats = ghost_messages.longest_history(s, received, self.row_of)
        if most >= s.owner_history_at.shape[1]:
            more = 2 * most + 2 - s.owner_history_at.shape[1]
            s = s._replace(owner_history_at=np.pad(s.owner_history_at, ((0, 0), (0, more))))
        if s.scalars[L.SCALAR_HISTORY] + floats > len(s.owner_history):
            s = s._replace(owner_history=np.concatenate([s.owner_history, np.zeros(len(s.owner_history) + floats)]))
        self.sector = s
        wanted = np.zeros(WANTED, dtype=np.int64)
        return wanted[: ghost_messages.receive(s, received, self.row_of, wanted, self.base)]

    def set_right(self) -> None:
        """Roll back what the messages received have shown to be wrong.

        Raises
        ------
        WindowBroken
        """
        try:
            full = set_back(self.sector, self.base)
        except ZeroDivisionError as reason:
            raise WindowBroken(loop.NOT_A_NUMBER) from reason
        if full:
            raise WindowBroken(loop.LIST_FULL)

    def unsettled(self, lent: np.ndarray) -> int:
        """Return how many ghosts are not what their owners have said, and molecules of which others do not know all.

        Parameters
        ----------
        lent : (M,) uint8 array
            Which molecules others hold, by row.
        """
        return int(ghost_messages.count_mismatched(self.sector)) + int(ghost_messages.unsent(self.sector, lent))

    def finish(self) -> tuple[np.ndarray, np.ndarray]:
        """End the window: log and count its contacts, and make the present segments the next one's first.

        Returns
        -------
        (n, LOG_COLUMNS) float64 array
            The log's rows of contacts whose lower bead is owned (`event_rows`), until the next window is begun.
        (window.SUMS,) int64 array
            Their counts and sums (`window.settle_log`).
        """
        s, sums = self.sector, np.empty(SUMS, dtype=np.int64)
        if s.stretched is not None:
            settle_centres(s)
        log = s.log[: settle_log(s, sums)]
        commit_window(s)
        clean_lists(s)
        return log, sums

    def undo(self) -> None:
        """Take the window back: every molecule has the segment that it began it with."""
        abort_window(self.sector)

    def skin_violation(
        self, reference_position: np.ndarray, skin: np.ndarray, since: tuple, until: tuple
    ) -> np.ndarray:
        """Return per molecule row how far beyond its skin it gets between two times (ticks, remainder) [length]."""
        violation = np.empty(len(self.molecule_ids))
        skin_violation(self.sector, reference_position, skin, *since, *until, violation)
        return violation

    @property
    def restored(self) -> int:
        """How many segments of owned molecules were rolled back so far."""
        return int(self.sector.scalars[L.SCALAR_RESTORED])

    def frame(self, ticks: float, remainder: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, velocity and image counts of owned beads at a time, in the order of `owned_ids`."""
        own, (position, velocity, image) = self.owned_beads, self.core.frame(ticks, remainder)
        return position[own], velocity[own], image[own]

    @property
    def ghosts(self) -> int:
        """How many beads here are ghosts'."""
        return int(self.sector.mol[self.ghost_rows, L.MOL_BEADS].sum())

    @property
    def owned_ids(self) -> np.ndarray:
        """(n,) int64 global ids of owned beads."""
        return self.ids[self.owned_beads]

    def beads_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the bead rows of the molecules in these rows, one after the other."""
        first, count = self.first_and_count(rows)
        return np.arange(int(count.sum())) + np.repeat(first - (np.cumsum(count) - count), count)

    def state(self, beads: np.ndarray | None = None) -> State:
        """Return the State of owned beads, or of those in these rows: the starts of their present segments."""
        return self.core.state(self.owned_beads if beads is None else beads)
