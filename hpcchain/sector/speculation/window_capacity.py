"""Capacities of what a window keeps: its log, its events, and rows for closed segments. They grow as they fill."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.jit.shared_rows import OWN_COLUMNS
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.memory import bead_lines, extended
from hpcchain.sector.setup.allocate import with_space

if TYPE_CHECKING:
    from hpcchain.sector.core import Core
    from hpcchain.sector.setup.molecule_classes import MoleculeClasses

EVENTS = 1024
# Rows for closed segments to begin with: one for each molecule, of many for a part of them and so many beads, as the
# windows of large sectors are short (`parallel.tuning.window_length`).
CLOSED, CLOSED_BEADS = 2, 1 << 15


class WindowCapacity:
    """Gives a sector's arrays space for what its windows keep.

    Parameters
    ----------
    classes : MoleculeClasses
    least : (sizes,) int64 array, optional
        Rows for closed segments to begin with, by size of molecule (`MoleculeClasses.sizes`), if that is more than
        usual.

    Attributes
    ----------
    log_rows : int
        Of the log.
    closed : (sizes,) int64 array
        Rows for closed segments, by size of molecule.
    """

    def __init__(self, classes: MoleculeClasses, least: np.ndarray | None = None) -> None:
        self.classes, self.least, self.log_rows = classes, least, EVENTS
        self._class_of_size = np.unique(classes.rows[:, L.MOL_BEADS], return_index=True)[1]  # one of the classes
        self.closed = np.zeros(len(classes.sizes), dtype=np.int64)

    def begin(self, core: Core) -> None:
        """Append the rows for closed segments that a sector begins with."""
        s, most = core.sector, self.classes.most_rows
        present = np.bincount(s.window_molecule[:, L.WINDOW_CLASS], minlength=len(s.free_rows))
        rows = np.minimum(present, present // CLOSED + CLOSED_BEADS // self.classes.sizes) + 2 * most
        self.more_rows(core, rows if self.least is None else np.maximum(rows, self.least))

    def more_log(self, core: Core) -> None:
        """Make the log twice as long."""
        s = core.sector
        log = np.zeros((2 * len(s.log) + L.MOST_TIES, L.LOG_COLUMNS))
        log[: len(s.log)] = s.log
        core.sector = s._replace(log=log)
        if s.stretched is not None:
            arms = np.zeros((len(log), L.ARM_COLUMNS))
            arms[: len(s.arms)] = s.arms
            core.sector = core.sector._replace(arms=arms)
        self.log_rows = len(log)

    def more_history(self, core: Core) -> None:
        """Make space for more events and closed segments, whichever have run out."""
        s = core.sector
        if s.scalars[L.SCALAR_EVENT] + 1 >= len(s.window_event):
            core.sector = s._replace(window_event=np.concatenate([s.window_event, np.zeros_like(s.window_event)]))
        if s.scalars[L.SCALAR_OUT_OF_ROWS]:
            short = s.free_rows[:, L.SPARE_ROWS] < self.classes.most_rows
            present = np.bincount(s.window_molecule[:, L.WINDOW_CLASS], minlength=len(s.free_rows))
            self.more_rows(core, np.where(short, present // 2 + 2 * self.classes.most_rows, 0))

    def more_rows(self, core: Core, more: np.ndarray) -> None:
        """Append rows for closed segments: `more` of each size of molecule."""
        s = core.sector
        self.closed += more
        sizes = self.classes.sizes
        kinds = np.repeat(np.arange(len(sizes)), more)
        beads = sizes[kinds]
        mol = np.zeros((len(kinds), OWN_COLUMNS), dtype=np.int32)
        mol[:, L.MOL_CLASS] = self._class_of_size[kinds]
        mol[:, L.MOL_FIRST] = len(s.starts) + np.cumsum(beads) - beads
        floats = np.where(beads > 1, beads * W.CURVE, 0)
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
        lines = bead_lines(len(s.starts) + len(segment))
        for columns, former in zip(lines, (s.starts, s.bounds, s.segment), strict=True):
            columns[: len(former)] = former
        core.sector = s._replace(
            mol_own=extended(s.mol_own, len(mol)),
            window_molecule=extended(s.window_molecule, len(mol)),
            starts=lines[0],
            bounds=lines[1],
            segment=lines[2],
            timing=extended(s.timing, len(kinds)),
            radius=s.radius if len(s.radius) == 1 else extended(s.radius, len(segment)),
            running_length=extended(s.running_length, len(kinds)),
            window_timing=extended(s.window_timing, len(kinds)),
            step_energy=s.step_energy if s.stepper is None else extended(s.step_energy, len(kinds)),
            series_error=s.series_error if s.stepper is None else extended(s.series_error, len(kinds)),
            extra=s.extra if s.extended is None else extended(s.extra, len(segment)),
            chain_block=s.chain_block if s.stretched is None else extended(s.chain_block, len(kinds)),
            centre_change=s.centre_change if s.stretched is None else extended(s.centre_change, len(kinds)),
            series=with_space(s, int(floats.sum())),
        )
        core.sector.mol_own[len(s.mol) :] = mol
        core.sector.window_molecule[len(s.mol) :] = in_window
        core.sector.segment[len(s.segment) :] = segment
