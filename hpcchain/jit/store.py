"""Machine code of all kernels, in one file that only grows: a record for each, found by the digest of what it is.

Any number of processes read and write it at once. A record goes to the end of the file by one call, so others see it
whole. It bears its own digest: what a killed process, a full disk or a fault left is passed over, and compiled again.

Bytes of the file are locked for three things. Each process keeps the first, by which `in_use` sees it. The writer has
the second. A compiling process has that of the record's key: others that need it wait, and find it made. None waits for
anything else in the meantime, so no circle of waiting can close. File systems without locks have none of it: there each
process compiles for itself.
"""

import fcntl
import hashlib
import importlib.metadata
import logging
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from llvmlite import binding

from hpcchain.jit import cache

LOG = logging.getLogger("hpcchain.compiling")
NAME = "kernels"
MARK = bytes.fromhex("d38aa6c1f05e4b7e9a31c2f4087be65d")
HEAD = struct.Struct("<16s32sQ32s")
"""What stands before a record's data: the mark, its key, the number of bytes, the digest of key and data. The key
follows."""

KEY = 32
IN_USE, WRITING, COMPILING = 0, 1, 2
"""Bytes that are locked; the last is the first of those of keys."""

LEAST_PAUSE, MOST_PAUSE, PATIENCE = 0.001, 0.2, 600.0
"""Between two tries for a lock, and until one does without [wall seconds]."""

CHUNK = 1 << 20


class Store:
    """What is kept in one file.

    Parameters
    ----------
    path : path
        The file; it is opened, and made, when something is asked of it.

    Attributes
    ----------
    missed : bool
        Whether something was asked for that was not there.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.missed = path, False
        self._descriptor = -1
        self._records: dict[bytes, tuple] = {}
        self._end = 0
        self._locked: list[int] = []

    def load(self, key: bytes) -> bytes | None:
        """Return the data of a key, or None where there are none that can be read."""
        try:
            if key not in self._records:
                self._look()
            if key not in self._records:
                return None
            begin, size, digest = self._records[key]
            data = os.pread(self._file(), size, begin)
        except OSError:
            return None
        if hashlib.sha256(key + data).digest() == digest:
            return data
        del self._records[key]
        return None

    def save(self, key: bytes, data: bytes) -> None:
        """Keep data by a key; where that cannot be written the log says so."""
        left = memoryview(HEAD.pack(MARK, key, len(data), hashlib.sha256(key + data).digest()) + data + key)
        try:
            with self.releasing():
                self.wait_for(WRITING)
                while left:
                    left = left[os.write(self._file(), left) :]
        except OSError as reason:
            LOG.warning("%s: what was compiled cannot be kept: %s", self.path, reason.strerror)

    def keep_list(self, name: str) -> None:
        """Keep, by a name, the list of all that is there."""
        self._look()
        self.save(key_of(name, *machine()), b"".join(self._records))

    def listed(self, name: str) -> int:
        """Return how many records the list of a name has if it is there for this machine, and all are sound; else 0."""
        found = self.load(key_of(name, *machine())) or b""
        keys = [found[at : at + KEY] for at in range(0, len(found), KEY)]
        return len(keys) if all(self.load(key) is not None for key in keys) else 0

    def wait_for(self, place: int) -> None:
        """Lock a byte, as soon as no other process has it; where there are no locks, go on."""
        patience, pause = time.monotonic() + PATIENCE, LEAST_PAUSE
        while time.monotonic() < patience:
            try:
                fcntl.lockf(self._file(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except (BlockingIOError, PermissionError):
                time.sleep(pause)
                pause = min(2.0 * pause, MOST_PAUSE)
            except OSError:
                return
            else:
                self._locked.append(place)
                return

    @contextmanager
    def releasing(self) -> Iterator[None]:
        """Give back, at the end, the locks that are taken meanwhile."""
        kept = len(self._locked)
        try:
            yield
        finally:
            while len(self._locked) > kept:
                with suppress(OSError):
                    fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, self._locked.pop())

    def _file(self) -> int:
        """Return the descriptor. There is one for as long as the process lives: closing any gives up all locks."""
        if self._descriptor < 0:
            how = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._descriptor = os.open(self.path, how, 0o600)
            with suppress(OSError):
                fcntl.lockf(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, IN_USE)
        return self._descriptor

    def _look(self) -> None:
        """Find the records that have been written since the last look."""
        file = self._file()
        size, tail = os.fstat(file).st_size, HEAD.size + KEY
        while self._end + tail <= size:
            mark, key, length, digest = HEAD.unpack(os.pread(file, HEAD.size, self._end))
            begin = self._end + HEAD.size
            whole = mark == MARK and begin + length + KEY <= size
            if whole and os.pread(file, KEY, begin + length) == key:
                self._records[key] = begin, length, digest
                self._end = begin + length + KEY
                continue
            behind = next_mark(file, self._end + 1, size)
            if behind is None:  # perhaps it is being written
                return
            self._end = behind


def next_mark(file: int, begin: int, size: int) -> int | None:
    """Return where the next record begins, from a place in a file on, or None."""
    while begin < size:
        at = os.pread(file, CHUNK + len(MARK), begin).find(MARK)
        if at >= 0:
            return begin + at
        begin += CHUNK
    return None


def key_of(*parts: object) -> bytes:
    """Return the digest of what something is."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).digest()


def machine() -> list:
    """Return what code depends on besides its sources."""
    versions = [importlib.metadata.version(name) for name in ("numba", "llvmlite")]
    settings = [os.environ.get(f"NUMBA_{name}", "") for name in ("CPU_NAME", "CPU_FEATURES", "BOUNDSCHECK")]
    return [*versions, *settings, binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()]


def place_of(key: bytes) -> int:
    """Return the byte that a process locks while it compiles what has a key."""
    return COMPILING + int.from_bytes(key[:7])


def in_use(path: Path) -> bool | None:
    """Return whether any process uses a file of a store; None where that cannot be known."""
    try:
        file = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, IN_USE)
    except (BlockingIOError, PermissionError):
        return True
    except OSError:
        return None
    finally:
        os.close(file)
    return False


STORE = Store(cache.prepared() / NAME)
