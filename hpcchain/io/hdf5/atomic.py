"""Files that appear complete or not at all: temporary name, fsync, rename, fsync of the folder."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hpcchain.io.hdf5.collective import root_does, together
from hpcchain.parallel.agreement import barrier, is_parallel, rank_of

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator

SUFFIX = ".partial"
"""Ending of a file's name while it is being written."""


def temporary(path: Path | str) -> Path:
    """Return the name, in the same folder, under which a file is written."""
    path = Path(path)
    return path.with_name(path.name + SUFFIX)


def prepare(path: Path | str, comm: Communicator | None = None) -> Path:
    """Make an empty file under the temporary name of a file, and return that name; collective.

    What a killed run left under that name is removed. A link that others have put there is not written through: the
    file is made anew.
    """
    temp = temporary(path)

    def begin() -> None:
        temp.unlink(missing_ok=True)
        os.close(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))

    root_does(comm, path, "preparing to write", begin)
    return temp


def publish(path: Path | str, comm: Communicator | None = None) -> None:
    """Give a written and closed file its final name, durably; collective.

    Raises
    ------
    DataError
        On every rank, when one of them cannot reach the file or the disk fails.
    """
    temp = temporary(path)
    barrier(comm)
    with together(comm, path, "writing to disk"):
        _sync(temp)  # on every rank: each node may hold data of its own
    root_does(comm, path, "renaming", lambda: _rename(temp, path))


@contextmanager
def flushing(path: Path | str, comm: Communicator | None = None) -> Iterator[None]:
    """Flush this node's data of a file to the disk while the body runs, which may read the file; collective.

    `publish` flushes again: by then there is little left.

    Raises
    ------
    DataError
        On every rank, when the disk fails.
    """
    with ThreadPoolExecutor(1) as pool:
        flushed = pool.submit(_sync, temporary(path))
        yield
    with together(comm, path, "writing to disk"):
        flushed.result()


def reserve(path: str, more: int) -> None:
    """Make a file some bytes longer, and have the file system reserve them if it can; not collective.

    If it cannot, os.posix_fallocate would write into every block, where other ranks write.

    Raises
    ------
    OSError
        When the disk is full, the quota is used up, or the file may not become so long.
    """
    fallocate = getattr(ctypes.CDLL(None, use_errno=True), "fallocate", None)
    handle = os.open(path, os.O_RDWR)
    try:
        size = os.fstat(handle).st_size + more
        reason = errno.EINTR
        while fallocate and reason == errno.EINTR:
            done = fallocate(handle, 0, ctypes.c_int64(0), ctypes.c_int64(size)) == 0
            reason = 0 if done else ctypes.get_errno()
    finally:
        os.close(handle)
    if reason in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
        raise OSError(reason, os.strerror(reason))


def require_space(path: str, more: int) -> None:
    """Raise OSError, as `reserve` does, if a file cannot become some bytes longer; its length stays."""
    size = os.stat(path).st_size
    reserve(path, more)
    os.truncate(path, size)


def discard(path: Path | str, comm: Communicator | None = None) -> None:
    """Remove the temporary file of a write that failed; never raises."""
    if rank_of(comm) == 0:
        with suppress(OSError):
            temporary(path).unlink(missing_ok=True)


@contextmanager
def replacing(path: Path | str, comm: Communicator | None = None) -> Iterator[Path]:
    """Yield the temporary name to write and close; publish it on success, remove it on failure."""
    temp = prepare(path, comm)
    try:
        yield temp
        publish(path, comm)
    except BaseException:
        discard(path, comm)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8; not collective."""
    with replacing(path) as temp:
        temp.write_text(text, encoding="utf-8")


def remove_leftovers(folder: Path, comm: Communicator | None = None) -> None:
    """Remove the temporary files of killed runs in a folder, if it exists."""

    def remove_all() -> None:
        for path in folder.glob("*" + SUFFIX) if folder.is_dir() else ():
            path.unlink(missing_ok=True)

    root_does(comm, folder, "removing leftovers", remove_all)


def remove(paths: Sequence[Path], comm: Communicator | None = None) -> None:
    """Remove files in the order given, durably; those already gone are fine."""
    if paths:
        root_does(comm, paths[0], "removing", lambda: _remove(paths))


def make_folder(folder: Path, comm: Communicator | None = None) -> None:
    """Create a folder, in one that is there, on rank 0; all ranks see it afterwards."""
    root_does(comm, folder, "creating the folder", lambda: Path(folder).mkdir(exist_ok=True))
    if is_parallel(comm):
        with together(comm, folder, "finding the folder on every rank"):
            if not Path(folder).is_dir():
                raise FileNotFoundError("not visible on this rank; use a folder on a shared file system")


def remove_empty(folder: Path, comm: Communicator | None = None) -> None:
    """Remove a folder in which nothing is; one that cannot be removed stays."""

    def remove_it() -> None:
        with suppress(OSError):
            folder.rmdir()

    root_does(comm, folder, "removing the folder", remove_it)


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
    for folder in {path.parent for path in paths}:
        _sync(folder)


def _rename(temp: Path, path: Path | str) -> None:
    os.replace(temp, path)
    _sync(Path(path).parent)


def _sync(path: Path) -> None:
    """Flush a file or a folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
