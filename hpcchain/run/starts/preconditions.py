"""What must be so before a run begins or goes on: the file that it is to go on from, its input, its output."""

from __future__ import annotations

import logging
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hpcchain.errors import ConfigError, DataError, UsageError
from hpcchain.io.checkpoint.layout import number, whole
from hpcchain.io.checkpoint.store import newest_valid
from hpcchain.io.hdf5.collective import root_does
from hpcchain.io.hdf5.files import wrong_contents
from hpcchain.io.output.lineage import CHECKPOINTS
from hpcchain.io.output.parts import counts_in
from hpcchain.io.output.recoverable_output import advice, recoverable_counts
from hpcchain.io.output.run_output import read_reports
from hpcchain.io.tools.overwrite_guard import require_other, require_replaceable
from hpcchain.observe.observables import kept_energy
from hpcchain.parallel.agreement import rank_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hpcchain.config.keys.sections import Config
    from hpcchain.io.checkpoint.checkpoint import Checkpoint
    from hpcchain.io.output.recoverable_output import Output
    from hpcchain.parallel.agreement import Communicator

ROUNDING = 1e-12
"""Relative: of an energy that is added up again."""
LOG = logging.getLogger("hpcchain.api")
MAY_CHANGE = ("title", "run", "output", "source")
"""Of a Config, in a run that goes on."""


def require_free(out: Path | str, config: Config, mpi: Communicator | None) -> None:
    """Raise UsageError, on every rank, when a start file would take the place of something else, or of its source."""
    source = config.initial.file
    if source is not None:
        root_does(mpi, out, "looking at what is there", lambda: require_other(out, source))
    require_replaceable(out, "start", mpi)


def newest(folder: Path, output: Output, mpi: Communicator | None, required: bool = False) -> Path | None:
    """Return the path of a run's newest checkpoint that is whole, as is the output that it counts on.

    Later ones are named in the log. Returns None where there are no checkpoints, unless one is required.

    Raises
    ------
    DataError
        When none of them can be used, or a required one is missing.
    """
    path, refused = newest_valid(Path(folder) / CHECKPOINTS, mpi, lambda counters: recoverable_counts(output, counters))
    if path is None and refused:
        raise DataError(
            f"{folder}: none of its {len(refused)} checkpoints can be gone on from, the newest because of "
            f"{refused[0][1]}; {advice(folder)}"
        )
    if path is None and required:
        raise DataError(
            f"{folder}: no checkpoint to go on from in its folder {CHECKPOINTS}: there is none; "
            "start anew with 'hpcchain run' and another --output"
        )
    for _, why in refused if rank_of(mpi) == 0 else ():
        LOG.warning("passed over: %s", why)
    return path


def require_same_physics(config: Config, earlier: Config, path: Path) -> None:
    """Raise ConfigError when an input is not the earlier one, that the run in a path began with, but for output."""
    for name in (each.name for each in fields(config) if each.name not in MAY_CHANGE):
        ours, theirs = getattr(config, name), getattr(earlier, name)
        if name == "initial":
            ours, theirs = replace(ours, file=None), replace(theirs, file=None)
        if ours != theirs:
            section = name.removesuffix("s") if isinstance(ours, tuple) else name
            raise ConfigError(
                f"{config.source}: [{section}] is not that of the run in {path}; a run goes on "
                "with the physics it began with: undo the change, or choose another --output"
            )


def require_time_left(config: Config, checkpoint: Checkpoint, path: Path) -> None:
    """Raise UsageError when the end time lies before what has been reached."""
    if config.run.end_time < checkpoint.time:
        raise UsageError(
            f"{path}: is at time {checkpoint.time}, past the end time {config.run.end_time}; give a later "
            "--until, or resume an older checkpoint"
        )


def counted_on(output: Output, checkpoint: Checkpoint, path: Path, folder: Path) -> dict[str, int | str]:
    """Return what the run counts from (`recoverable_output`); what it goes on without is named in the log."""
    try:
        found = recoverable_counts(output, checkpoint.counters)
    except DataError as error:
        raise DataError(
            f"{path}: cannot be gone on from: {error}; go on from another checkpoint, or {advice(folder)}"
        ) from error
    if counts_in(checkpoint.counters) != counts_in(found):
        LOG.warning("%s: nothing is there of the output before t %.6g; going on without it", folder, checkpoint.time)
    for problem in output.problems():
        LOG.warning("not needed, and replaced or removed: %s", problem)
    return found


def require_reported(output: Output, counters: Mapping[str, object], path: Path, mpi: Communicator | None) -> None:
    """Raise DataError where a checkpoint's totals are not those that the run has reported; collective.

    Where the reports from the start on are no longer there, nothing is compared.
    """

    def found() -> str | None:
        """Return which counters contradict contacts and first energy of the reports up to them, None: none."""
        reports = read_reports(output.rows(counters))
        if "contacts" not in reports or reports["contacts"].time[0] > 0.0:
            return None
        row = {name: float(one.value[0]) for name, one in reports.items() if one.value.ndim == 1}
        reported = int(reports["contacts"].value.sum()) + whole(counters, "interval_contacts")
        total = whole(counters, "contacts") + whole(counters, "wall_contacts")
        if total != reported:
            return f"counters: contacts: {total} with those of walls, and {reported} are reported"
        energy, first = number(counters, "energy"), float(kept_energy(row))
        if energy is None or not abs(energy - first) <= ROUNDING * max(abs(energy), abs(first)):
            return f"counters: energy: {energy} at first, and {first:.12g} is reported"
        return None

    problem = root_does(mpi, path, "comparing it with the reports", found) if whole(counters, "reports") else None
    if problem:
        raise wrong_contents(path, problem)
