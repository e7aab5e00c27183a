"""Failures over files that every rank learns of, as errors that name the file.

A communicator is an mpi4py object, or None for a serial run.
"""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hpcchain.errors import DataError, HpcchainError
from hpcchain.parallel.agreement import agree, from_root, rank_of

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator

Found = TypeVar("Found")
FAILURES = (OSError, RuntimeError, LookupError, ValueError, TypeError, ArithmeticError, AttributeError, MemoryError)
"""What the operating system, h5py and numpy raise over a bad file or disk."""

KEPT = "of a run what was complete is kept, and `hpcchain resume` goes on from its last checkpoint, if there is one"
IN_THE_WAY = "what stands there is in the way: move it, or name another place"
GONE = "the folder {folder} is gone: it was removed or renamed meanwhile"
CURES = {
    errno.ENOSPC: f"make space there: {KEPT}",
    errno.EDQUOT: f"make space in your quota: {KEPT}",
    errno.EFBIG: f"files may be no larger there (ulimit -f, or the file system): {KEPT}",
    errno.EEXIST: IN_THE_WAY,
    errno.ENOTDIR: IN_THE_WAY,
    errno.EISDIR: IN_THE_WAY,
}
"""The system's errors of which users can get rid, and how."""


@contextmanager
def translated(path: Path | str, doing: str) -> Iterator[None]:
    """Turn whatever a bad file or disk raises inside into a DataError that names the file; of this rank only."""
    try:
        yield
    except HpcchainError:
        raise
    except FAILURES as reason:
        raise DataError(f"{path}: {doing} failed: {plain(reason, path)}") from reason


@contextmanager
def agreed(comm: Communicator | None) -> Iterator[None]:
    """Let every rank learn of a failure of ours inside, which is raised on all; the body must not communicate."""
    failure = None
    try:
        yield
    except HpcchainError as error:
        failure = error
    agree(comm, failure)


@contextmanager
def together(comm: Communicator | None, path: Path | str, doing: str) -> Iterator[None]:
    """Like `translated`, and every rank learns of it; the body must not communicate."""
    with agreed(comm), translated(path, doing):
        yield


def on_root(comm: Communicator | None, action: Callable[[], Found]) -> Found:
    """Return on every rank what an action returns on rank 0, or raise what it does there; collective."""
    result = None
    with agreed(comm):
        if rank_of(comm) == 0:
            result = action()
    return from_root(comm, result)


def root_does(comm: Communicator | None, path: Path | str, doing: str, action: Callable[[], Found]) -> Found:
    """Do as `on_root`; whatever a bad file or disk raises is a DataError that names the file (`translated`)."""

    def named() -> Found:
        with translated(path, doing):
            return action()

    return on_root(comm, named)


def plain(reason: BaseException, path: Path | str | None = None) -> str:
    """Return an exception as one line of text: of the library's long ones, the system's error that they are about.

    MPI's files do not say why a write failed; where the disk of `path` is full, or files may not be long, that is why.
    Where the folder of `path` is gone, the text says so.
    """
    text = " ".join(str(reason).split()) or type(reason).__name__
    number = re.search(r"\berrno = (\d+)", text)
    code = int(number[1]) if number else None
    if path is not None and not number and getattr(reason, "errno", None) is None and "write failed" in text:
        limited = resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
        code = errno.ENOSPC if _is_full(Path(path).parent) else errno.EFBIG if limited else None
    text = os.strerror(code) if code is not None else text if len(text) < 300 else text[:300] + " ..."
    code = getattr(reason, "errno", None) if code is None else code
    if path is not None and "no such file" in text.lower() and is_gone(Path(path).parent):
        return f"{text}; {GONE.format(folder=Path(path).parent)}"
    return f"{text}; {CURES[code]}" if code in CURES else text


def is_gone(folder: Path) -> bool:
    """Return whether a folder is no more; one that was removed while a process worked in it has no links."""
    try:
        return os.stat(folder).st_nlink == 0
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _is_full(folder: Path) -> bool:
    """Return whether less than a megabyte is left on the disk of a folder."""
    try:
        return shutil.disk_usage(folder).free < 1 << 20
    except OSError:
        return False
