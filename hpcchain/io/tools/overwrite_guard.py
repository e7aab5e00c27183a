"""Whether a file that a user names may be written: what is there must be of the same sort, and not what is read."""

from __future__ import annotations

import os
import re
import stat
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from hpcchain.errors import DataError, UsageError
from hpcchain.io.checkpoint.store import PATTERN
from hpcchain.io.hdf5 import files
from hpcchain.io.hdf5.collective import root_does
from hpcchain.io.tools.configurations import SUFFIXES
from hpcchain.io.tools.picture import PNG_MAGIC

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator

LAMMPS_HEAD = "LAMMPS data of hpcchain"
"""What LAMMPS data that `export` writes begin with."""
HEAD = 200
"""Bytes by which the sort of a file is known."""
NAMED = {**SUFFIXES, ".h5": "start", ".png": "png", ".toml": "input"}
"""Sorts of files by the ends of their names."""
GSD_MAGIC = struct.pack("<Q", 0x65DF65DF65DF65DF)


def require_replaceable(path: Path | str, sort: str, comm: Communicator | None = None) -> None:
    """Raise UsageError unless a path may be written; collective.

    Nothing is there, or a plain file that the same command may have written, and its name is not of another sort.

    Parameters
    ----------
    path : path
    sort : str
        "start", "gsd", "extxyz", "lammps", "pdb" or "png".
    comm : communicator or None
    """
    problem = root_does(comm, path, "looking at what is there", lambda: _problem(Path(path), sort))
    if problem:
        raise UsageError(f"{path}: {problem}; choose another -o")


def require_other(path: Path | str, source: Path | str) -> None:
    """Raise UsageError when a path is that of the file that is read."""
    if os.path.exists(path) and os.path.exists(source) and os.path.samefile(path, source):
        raise UsageError(f"{path}: is what would be read; choose another -o")


def _problem(path: Path, sort: str) -> str | None:
    if not path.name:
        return "names no file"
    name, head = _SORTS[sort]
    try:
        found = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        if not path.parent.is_dir():
            return f"there is no folder {path.parent}"
    else:
        if not stat.S_ISREG(found.st_mode):
            return "is there already and no plain file"
        if found.st_size and not (_is_start(path) if sort == "start" else _begins_with(path, head)):
            return f"is there already, and not as {name} that could be made anew"
    if NAMED.get(path.suffix.lower(), sort) != sort:
        return f"is to be {name}, and its name is of another format"
    return None


def _is_start(path: Path) -> bool:
    """Whether a file is one of ours with a state, and none that a run goes on from."""
    try:
        return PATTERN.fullmatch(path.name) is None and files.kind_of(path) == "checkpoint"
    except DataError:
        return False


def _begins_with(path: Path, head: bytes) -> bool:
    with path.open("rb") as file:
        return re.match(head, file.read(HEAD)) is not None


_SORTS = {
    "start": ("a start file", b""),
    "gsd": ("a GSD file", re.escape(GSD_MAGIC)),
    "extxyz": ("an extended XYZ file", rb"[ \t\r]*\d+[ \t\r]*(\n|\Z)"),
    "lammps": ("LAMMPS data of hpcchain", re.escape(LAMMPS_HEAD.encode())),
    "pdb": ("a PDB file that was exported", rb"(.*\n)?.*MDANALYSIS"),
    "png": ("a PNG picture", re.escape(PNG_MAGIC)),
}
"""What a file of each sort is called, and what it begins with."""
