"""A run's output directory: whether it is free, what is cut back before a run goes on, and copies of earlier output."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from hpcchain.errors import UsageError
from hpcchain.io.checkpoint.store import list_checkpoints
from hpcchain.io.hdf5 import atomic
from hpcchain.io.hdf5.collective import root_does
from hpcchain.io.output.lineage import CHECKPOINTS, FILE_NAMES, INPUT, LOG_NAME, PARTS
from hpcchain.io.output.parts import list_parts, remove_from
from hpcchain.io.output.runs import NAME as RUNS
from hpcchain.io.output.runs import is_ensemble

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.parallel.agreement import Communicator

GIVEN = "input.given.toml"


def refuse_occupied(folder: Path, comm: Communicator | None = None) -> None:
    """Raise UsageError when a directory holds a run already; collective.

    What a run leaves that was killed before its first checkpoint does not count: nothing can go on from it.
    """
    folder = Path(folder)
    found = root_does(comm, folder, "looking for an earlier run", lambda: found_output(folder))
    if found == RUNS:
        raise UsageError(
            f"{folder}: holds many runs; go on with them by 'hpcchain resume {folder}', or choose another --output"
        )
    if found == CHECKPOINTS:
        raise UsageError(
            f"{folder}: holds a run already; continue it with 'hpcchain resume {folder}' or "
            "'--resume auto', or choose another --output"
        )
    if found:
        raise UsageError(
            f"{folder}: holds {found} of an earlier run but none of its checkpoints, so it cannot go on; "
            "choose another --output, or move these results away"
        )


def found_output(folder: Path) -> str | None:
    """Return "checkpoints" if there are any, else the name of an output file that is there, else None."""
    if is_ensemble(folder):
        return RUNS
    if list_checkpoints(folder / CHECKPOINTS):
        return CHECKPOINTS
    return next((name for name in FILE_NAMES if (folder / name).exists()), None)


def open_folder(folder: Path, config: Config, comm: Communicator | None = None, keep: bool = False) -> None:
    """Make a run's folder and write the resolved input; collective.

    Parameters
    ----------
    folder : path
    config : Config
    comm : communicator or None
    keep : bool
        Whether an input that stands where the resolved one goes may be a user's, to be kept under another name.
    """
    atomic.make_folder(folder / CHECKPOINTS, comm)
    root_does(comm, folder / INPUT, "writing", lambda: write_input(folder / INPUT, config.to_toml(), keep))


def write_input(path: Path, text: str, keep: bool) -> None:
    """Write the input of a run; another one that is there is kept as `GIVEN` if asked for, the first time."""
    given = path.with_name(GIVEN)
    if keep and path.is_file() and path.read_bytes() != text.encode() and not given.exists():
        with atomic.replacing(given) as temp:
            shutil.copyfile(path, temp)
    atomic.write_text(path, text)


def cut_back(folder: Path, time: float, part: int, reports: int, comm: Communicator | None = None) -> None:
    """Forget what came after the checkpoint that a run goes on from; collective.

    Later checkpoints go first: a kill in between must not leave one whose output is gone. The output files may stay
    longer than the checkpoint counts until they are assembled again.

    Parameters
    ----------
    folder : path
    time : float
        The checkpoint's [time].
    part, reports : int
        The first part, and the report, that the checkpoint does not count.
    comm : communicator or None
    """
    folder = Path(folder)
    found = root_does(comm, folder, "listing checkpoints", lambda: list_checkpoints(folder / CHECKPOINTS))
    atomic.remove([path for later, path in found if later > round(time, 12)], comm)  # as `checkpoint_name` rounds it
    atomic.remove_leftovers(folder / CHECKPOINTS, comm)
    atomic.remove_leftovers(folder, comm)
    remove_from(folder / PARTS, part, comm)
    root_does(comm, folder / LOG_NAME, "cutting back", lambda: cut_log(folder / LOG_NAME, reports))


def cut_log(path: Path, rows: int) -> None:
    """Keep the first rows of a run log that are whole; the file is replaced only when that changes it."""
    if not path.is_file():  # a pipe would be waited for
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    kept = "".join([line + "\n" for line in text.splitlines() if is_json(line)][:rows])
    if kept != text:
        atomic.write_text(path, kept)


def is_json(line: str) -> bool:
    """Return whether a line of the log is whole."""
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def home_of(checkpoint: Path) -> Path | None:
    """Return the run directory that a checkpoint belongs to, or None when it stands in no such directory."""
    folder = Path(os.path.abspath(checkpoint)).parent
    return folder.parent if folder.name == CHECKPOINTS else None


def bring_along(home: Path | None, checkpoint: Path, part: int, folder: Path, comm: Communicator | None = None) -> Path:
    """Copy a run's checkpoint, and the output that it counts, to another directory; collective.

    Parameters
    ----------
    home : path or None
        The run's directory.
    checkpoint : path
        Copied last: once it is there, the copy can be resumed.
    part : int
        The first part that the checkpoint does not count.
    folder : path
        Exists and holds no run.
    comm : communicator or None

    Returns
    -------
    Path
        The copy of the checkpoint.
    """
    target = Path(folder) / CHECKPOINTS / Path(checkpoint).name
    atomic.make_folder(target.parent, comm)

    def copy() -> None:
        names = (*FILE_NAMES, LOG_NAME)
        pairs = [(home / name, folder / name) for name in names if home is not None and (home / name).is_file()]
        if home is not None:
            pairs += [(path, folder / PARTS / path.name) for n, path in list_parts(home / PARTS) if n < part]
        for source, goal in [*pairs, (Path(checkpoint), target)]:
            goal.parent.mkdir(exist_ok=True)
            with atomic.replacing(goal) as temp:
                shutil.copyfile(source, temp)

    root_does(comm, folder, "copying the earlier results", copy)
    return target
