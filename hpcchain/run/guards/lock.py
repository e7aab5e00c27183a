"""One run at a time in an output directory."""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from hpcchain.errors import UsageError
from hpcchain.io.hdf5 import plain
from hpcchain.io.hdf5.collective import root_does
from hpcchain.parallel.agreement import rank_of

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator

LOG = logging.getLogger("hpcchain.run")
NAME = "run.lock"
SHOWN = 4096
BOOT = Path("/proc/sys/kernel/random/boot_id")
Holder = Mapping[str, object]
"""The holder of a lock, by the names of `me`; what a file says of it may be anything."""


class FolderLock:
    """Holds an output directory, which is made if it is missing, for this run; use as a context; collective.

    The lock is the system's lock on the file run.lock, which ends with the process however it ends, so that a killed
    run's is never in the way. The file says which process holds it. Where the file system has no locks, what made the
    file holds it, until it is removed; it is taken over only from a process that has certainly ended: one of this host.
    """

    def __init__(self, folder: Path, comm: Communicator | None = None) -> None:
        self.folder = Path(folder)
        self.path = self.folder / NAME
        self._comm = comm
        self._file: TextIO | None = None
        self._made = False

    def __enter__(self) -> FolderLock:
        root_does(self._comm, self.folder, "making and locking the output directory", self._take)
        return self

    def __exit__(self, *exception: object) -> None:
        if rank_of(self._comm) == 0 and self._file is not None:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
            self._file.close()
            self._file = None
            if self._made:
                with suppress(OSError):
                    self.folder.rmdir()  # succeeds only when nothing has been written

    def _take(self) -> None:
        self._made = not os.path.lexists(self.folder)  # a link that leads nowhere is there
        if not (self._made or self.folder.is_dir()):
            raise UsageError(f"{self.folder}: is there already and no folder; choose another --output")
        self.folder.mkdir(parents=True, exist_ok=True)
        while self._file is None:
            file, new = opened(self.path)
            try:
                self._claim(file, new)
                if same_file(file, self.path):
                    self._file = file
            finally:
                if self._file is None:
                    file.close()
        self._file.seek(0)
        self._file.truncate()
        self._file.write(json.dumps(me()) + "\n")
        self._file.flush()

    def _claim(self, file: TextIO, new: bool) -> None:
        """Lock an open file, new or not, or raise UsageError with what holds it."""
        file.seek(0)
        holder = parsed(file.read(SHOWN))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as reason:
            locked = isinstance(reason, BlockingIOError)
            if locked or not (new or has_ended(holder)):
                raise self._held_by(holder, locked or is_alive(holder)) from None
        if holder:
            LOG.info("taking over the lock that process %s on %s left behind", holder.get("pid"), holder.get("host"))

    def _held_by(self, holder: Holder, surely: bool) -> UsageError:
        if surely:
            return UsageError(
                f"{self.folder}: another run is writing there ({named(holder)}); wait for its end, or choose "
                "another --output"
            )
        return UsageError(
            f"{self.folder}: another run may be writing there ({named(holder)}). This file system has no "
            "locks (flock), so it cannot be told from one that was killed: make sure that it has ended, "
            f"then remove {self.path}; or choose another --output"
        )


def opened(path: Path) -> tuple[TextIO, bool]:
    """Return a lock file, open for reading and writing, and whether this call has made it.

    Raises
    ------
    UsageError
        When a link, or no plain file, stands there: what it leads to is not to be emptied.
    """
    while True:
        for flags, new in ((os.O_CREAT | os.O_EXCL, True), (0, False)):
            with suppress(FileExistsError, FileNotFoundError):
                handle = plain.handle_of(path, os.O_RDWR | flags)
                return open(handle, "r+", encoding="utf-8", errors="replace"), new
        if not path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def me() -> Holder:
    """Return what identifies this process to people, and where its number means something to programs."""
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        "system": system(),
    }


def system() -> str:
    """Return what tells this boot of this machine, and of this container on it, from others of the same name."""
    parts = []
    with suppress(OSError):
        parts.append(BOOT.read_text(encoding="ascii").strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def named(holder: Holder) -> str:
    """Return what holds a lock, for a message."""
    pid, host, since = (" ".join(str(holder.get(key, "?")).split())[:80] for key in ("pid", "host", "since"))
    return f"process {pid} on {host}, since {since}"


def has_ended(holder: Holder) -> bool:
    """Return whether a holder is a process of this host, since it was started, that is there no more."""
    number = type(holder.get("pid")) is int
    here = holder.get("host") == socket.gethostname() and holder.get("system", system()) == system()
    return number and here and not is_alive(holder)


def parsed(text: str) -> Holder:
    """Return the holder that a lock file names; empty when it says nothing of use."""
    try:
        holder = json.loads(text)
    except ValueError:
        return {}
    return holder if isinstance(holder, dict) else {}


def is_alive(holder: Holder) -> bool:
    """Return whether a holder is a living process of this host other than this one."""
    pid = holder.get("pid")
    if holder.get("host") != socket.gethostname() or not isinstance(pid, int) or pid in (0, os.getpid()):
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def same_file(file: TextIO, path: Path) -> bool:
    """Return whether an open file is still the one of that name."""
    try:
        named = os.stat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(file.fileno()), named)
