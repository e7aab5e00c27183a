"""What a ghosted sector does in a window, and the space that this takes.

A window is carried through as often as it takes: others are sent what owned molecules did, and ghosts are set right by
what their owners say. Messages come and go as arrays: nothing here knows of ranks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.jit.shared_rows import OWN_COLUMNS
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.memory import extended, side_by_side
from hpcchain.sector.events import loop
from hpcchain.sector.events.refresh import set_back
from hpcchain.sector.search.neighbour_lists import clean_lists
from hpcchain.sector.segments.chain_centre import settle_centres
from hpcchain.sector.speculation import ghost_messages
from hpcchain.sector.speculation.window import SETTLED, abort_window, commit_window, settle_log

if TYPE_CHECKING:
    from hpcchain.sector.core import Core
    from hpcchain.sector.setup.molecule_classes import MoleculeClasses

BATCH = 20000
# Contacts of one molecule in a window beyond which it is taken back and shortened: ghosts carried into others may
# rattle on and on. A sound window has less than one of a molecule on average; beads that stay together have hundreds.
MOST_EVENTS, EVENTS_PER_BEAD = 512, 16
WANTED = 1024
EVENTS = 1024
# Rows for closed segments to begin with: one for each molecule, of many for a part of them and so many beads, as the
# windows of large sectors are short (`parallel.tuning.window_length`).
CLOSED, CLOSED_BEADS = 2, 1 << 15

OF_MOLECULES = (
    "mol_own window_molecule timing running_length top_speed step_energy series_error chain_part centre_change"
)
"""Arrays that have further rows for closed segments, where the sector does not do without them."""


class WindowBroken(Exception):
    """A window cannot be carried on with as it is: a list is full, or a guess has led nowhere.

    `status` is one of `loop`'s, `bead` the global id of one that has to do with it, -1 where none is known.
    """

    def __init__(self, status: int, bead: int = -1) -> None:
        super().__init__(status)
        self.status, self.bead = status, bead


class Window:
    """Carries a sector's molecules and ghosts through one window after another.

    Parameters
    ----------
    core : Core
        Its arrays are given space for what windows keep.
    classes : MoleculeClasses
    row_of : (k, 2) int64 array
        Local rows of molecules by global number (`layout.id_table`).
    """

    def __init__(self, core: Core, classes: MoleculeClasses, row_of: np.ndarray) -> None:
        self.core, self.classes, self.row_of = core, classes, row_of
        self._rows = np.empty(core.sector.scalars[L.SCALAR_MOLECULES], dtype=np.int64)
        self._class_of_size = np.unique(classes.rows[:, L.MOL_BEADS], return_index=True)[1]  # one of the classes
        present = np.bincount(core.sector.window_molecule[:, L.WINDOW_CLASS], minlength=len(self.classes.sizes))
        rows = np.minimum(present, present // CLOSED + CLOSED_BEADS // self.classes.sizes)
        self.more_rows(rows + 2 * self.classes.most_rows)

    def run(self, until: tuple) -> None:
        """Carry out all events up to and including a time (ticks, remainder).

        Raises
        ------
        WindowBroken
        """
        budget = BATCH * (10 + len(self._rows))  # events of all kinds; far more than any sound window takes
        while True:
            budget -= self.core.batch.size
            try:
                status = self.core.run(until)
            except ZeroDivisionError:  # in plain Python: two beads in one place
                status = loop.NOT_A_NUMBER
            if status == loop.REACHED:
                return
            bead = self._rattling()
            if budget < 0 or bead >= 0:
                raise WindowBroken(loop.STUCK, bead)
            if status == loop.LOG_FULL:
                self.more_log()
            elif status == loop.HISTORY_FULL:
                self.more_history()
            elif status != loop.PAUSED:
                raise WindowBroken(status, self.core.failed_bead())

    def _rattling(self) -> int:
        """Return the id of a bead whose molecule has had more contacts in the window than sound ones have, or -1."""
        # Such a window takes memory without end; one that is only long is done again in parts.
        s = self.core.sector
        events = s.window_event[1 : s.scalars[L.SCALAR_EVENT] + 1]
        if len(events) <= MOST_EVENTS:
            return -1
        members = events[:, L.EVENT_MEMBERS : L.EVENT_MEMBERS + L.MOST_MEMBERS]
        contacts = np.bincount(members[np.arange(L.MOST_MEMBERS) < events[:, : L.EVENT_MEMBERS]], minlength=len(s.mol))
        beads = s.mol[: len(contacts), L.MOL_BEADS]
        if self.classes.chain_parts is not None:  # the first part of a long chain stands for all of it
            chain_part = s.chain_part[: len(contacts)]
            leads = (chain_part[:, L.PART_CHAIN] >= 0) & (chain_part[:, L.PART_PLACE] == 0)
            beads = np.where(leads, self.classes.chain_parts.longest, beads)
        violation = contacts - MOST_EVENTS - EVENTS_PER_BEAD * beads
        m = int(np.argmax(violation))
        return int(self.core.ids[s.mol[m, L.MOL_FIRST]]) if violation[m] > 0 else -1

    def pack(self, lent: dict, lent_at_all: np.ndarray) -> dict:
        """Return for each rank the message, a float64 array, about its ghosts that have changed since the last.

        `lent`: rank -> (M,) uint8, which molecules it holds, by row; `lent_at_all`: those that any rank holds.
        """
        s = self.core.sector
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
        s = self.core.sector
        most, floats = ghost_messages.longest_history(received)
        if most >= s.owner_history_at.shape[1]:
            more = 2 * most + 2 - s.owner_history_at.shape[1]
            s = s._replace(owner_history_at=np.pad(s.owner_history_at, ((0, 0), (0, more))))
            self.core.sector = s
        if s.scalars[L.SCALAR_HISTORY] + floats > len(s.owner_history):
            self._lengthen("owner_history", len(s.owner_history), len(s.owner_history) + floats)
        s = self.core.sector
        wanted = np.zeros(WANTED, dtype=np.int64)
        return wanted[: ghost_messages.receive(s, received, self.row_of, wanted)]

    def set_right(self) -> None:
        """Roll back what the messages received have shown to be wrong.

        Raises
        ------
        WindowBroken
        """
        try:
            full = set_back(self.core.sector)
        except ZeroDivisionError as reason:
            raise WindowBroken(loop.NOT_A_NUMBER) from reason
        if full:
            raise WindowBroken(loop.LIST_FULL)

    def unsettled(self, lent: np.ndarray) -> bool:
        """Return whether a ghost is not what its owner has said, or others do not know all of a molecule `lent`."""
        return bool(ghost_messages.unsettled(self.core.sector, lent))

    def finish(self, length: float) -> tuple[np.ndarray, np.ndarray]:
        """End a window so long: log and count its contacts, and make the present segments the next one's first.

        Returns
        -------
        (n, LOG_COLUMNS) float64 array
            The log's rows of contacts whose lower bead is owned (`core.Recorded`), until the next window is begun.
        (window.SETTLED,) int64 array
            Their sums and counts (`window.settle_log`).
        """
        s, sums = self.core.sector, np.empty(SETTLED, dtype=np.int64)
        if s.stretched is not None:
            settle_centres(s)
        log = s.log[: settle_log(s, sums)]
        commit_window(s, length)
        clean_lists(s)
        return log, sums

    def undo(self) -> None:
        """Take the window back: every molecule has the segment that it began it with."""
        abort_window(self.core.sector)

    def more_log(self) -> None:
        """Make the log twice as long."""
        rows = len(self.core.sector.log)
        self._lengthen("log arms", rows, rows + L.MOST_TIES)

    def _lengthen(self, names: str, rows: int, more: int) -> None:
        """Put rows of zeros behind those of arrays that have so many; the others are not needed in this sector."""
        arrays = {name: getattr(self.core.sector, name) for name in names.split()}
        longer = {name: extended(array, more) for name, array in arrays.items() if len(array) == rows}
        self.core.sector = self.core.sector._replace(**longer)

    def more_history(self) -> None:
        """Make space for more events and closed segments, whichever have run out."""
        s = self.core.sector
        if s.scalars[L.SCALAR_EVENT] + 1 >= len(s.window_event):
            self._lengthen("window_event", len(s.window_event), len(s.window_event))
        if s.scalars[L.SCALAR_OUT_OF_ROWS]:
            short = s.free_rows[:, L.SPARE_ROWS] < self.classes.most_rows
            present = np.bincount(s.window_molecule[:, L.WINDOW_CLASS], minlength=len(s.free_rows))
            self.more_rows(np.where(short, present // 2 + 2 * self.classes.most_rows, 0))

    def more_rows(self, more: np.ndarray) -> None:
        """Append rows for closed segments: `more` of each size of molecule."""
        s = self.core.sector
        sizes = self.classes.sizes
        kinds = np.repeat(np.arange(len(sizes)), more)
        beads = sizes[kinds]
        mol = np.zeros((len(kinds), OWN_COLUMNS), dtype=np.int32)
        mol[:, L.MOL_CLASS] = self._class_of_size[kinds]
        mol[:, L.MOL_FIRST] = len(s.starts) + np.cumsum(beads) - beads
        floats = W.series_floats(beads)
        mol[:, L.MOL_SERIES] = (len(s.series) + np.cumsum(floats) - floats) // W.UNIT
        segment = np.zeros((int(beads.sum()), s.segment.shape[1]), dtype=np.int64)
        segment[:, L.MOLECULE] = len(s.mol) + np.repeat(np.arange(len(kinds)), beads)
        in_window = np.zeros((len(kinds), L.WINDOW_COLUMNS), dtype=np.int64)
        in_window[:, L.WINDOW_CLASS] = kinds
        in_window[:, L.WINDOW_PREVIOUS] = len(s.mol) + np.arange(len(kinds)) - 1
        last = np.cumsum(more) - 1
        in_window[(last - more + 1)[more > 0], L.WINDOW_PREVIOUS] = s.free_rows[more > 0, L.SPARE_HEAD]
        s.free_rows[more > 0, L.SPARE_HEAD] = len(s.mol) + last[more > 0]
        s.free_rows[:, L.SPARE_ROWS] += more
        s.scalars[L.SCALAR_OUT_OF_ROWS] = 0
        lines = side_by_side(len(s.starts) + len(segment), "starts", "bounds", "segment")
        for name, columns in lines.items():
            columns[: len(s.starts)] = getattr(s, name)
        series = extended(s.series, int(floats.sum()))
        self._lengthen(OF_MOLECULES, len(s.mol), len(kinds))
        self._lengthen("radius extra", len(s.starts), len(segment))
        self.core.sector = self.core.sector._replace(**lines, series=series)
        self.core.sector.mol_own[len(s.mol) :] = mol
        self.core.sector.window_molecule[len(s.mol) :] = in_window
        self.core.sector.segment[len(s.segment) :] = segment
