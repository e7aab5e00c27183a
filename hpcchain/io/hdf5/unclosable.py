"""HDF5 files that cannot be closed, because a write failed: how the other ranks and the process still go on.

The library cannot let such a file go. It complains each time one of the file's objects is forgotten, and crashes when
it tries once more at the very end of the process.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    import h5py

COMPLAINT = "Can't decrement id ref count"

held: list[h5py.File] = []
"""Files that several ranks write together and that are still open, oldest first: the same on every rank.

Closing one is collective. A rank that forgot the file after a failed write would close it whenever its garbage is
collected, while the other ranks communicate about something else, and all would wait for ever.
"""


def hold(file: h5py.File) -> None:
    """Keep an open file of several ranks from being closed by garbage collection."""
    held.append(file)


def release(file: h5py.File) -> None:
    """Forget a file that has been closed, if it was held."""
    held[:] = [other for other in held if other is not file]


def let_go(file: h5py.File) -> None:
    """Close a file of one rank that is given up: what the library has still to write goes to memory, and is forgotten.

    Otherwise the library crashes when it closes a file that it cannot write to, then or when the process ends. Where
    files may be no larger for good, memory is no way out, and the file stays open (`leave`).
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if hard != resource.RLIM_INFINITY:
        hold(file)
        return
    spare = os.memfd_create("given-up")
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    try:
        os.dup2(spare, file.id.get_vfd_handle())
        file.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        os.close(spare)


def open_files() -> int:
    """Return how many files the library holds open; none when it is not even loaded."""
    h5py = sys.modules.get("h5py")
    return 0 if h5py is None else h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE)


def leave(code: int, before: int) -> int:
    """Return an exit code, or end the process with it at once when the library would crash later.

    Parameters
    ----------
    code : int
    before : int
        `open_files()` when the command began: a command that fails and leaves more of them open could not close one.
    """
    if code and open_files() > before:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


@contextmanager
def complaints_muted() -> Iterator[None]:
    """Keep the library's complaints over forgotten objects, of which no caller can learn, off stderr."""
    before = sys.excepthook, sys.unraisablehook

    def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if COMPLAINT not in str(error):
            before[0](kind, error, trace)

    def show_unraisable(what: sys.UnraisableHookArgs) -> None:
        if COMPLAINT not in str(what.exc_value):
            before[1](what)

    sys.excepthook, sys.unraisablehook = show, show_unraisable
    try:
        yield
    finally:
        sys.excepthook, sys.unraisablehook = before
