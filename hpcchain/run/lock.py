"""One run at a time in an output directory."""

import fcntl
import json
import logging
import os
import socket
import time
from contextlib import suppress
from pathlib import Path

from hpcchain.errors import UsageError
from hpcchain.io.collective import rank_of, root_does

LOG = logging.getLogger("hpcchain.run")
NAME = "run.lock"
SHOWN = 4096


class FolderLock:
    """Holds an output directory, which is made if it is missing, for this run; use as a context; collective.

    The lock is the system's lock on the file run.lock, which ends with the process however it ends, so that a killed
    run's is never in the way. The file says who holds it. Where the file system has no locks, a process of that
    number alive on this host holds it.

    Parameters
    ----------
    folder : path
    comm : communicator or None
    """

    def __init__(self, folder, comm=None):
        self.folder = Path(folder)
        self.path = self.folder / NAME
        self._comm = comm
        self._file = None
        self._made = False

    def __enter__(self):
        root_does(self._comm, self.folder, "making and locking the output directory", self._take)
        return self

    def __exit__(self, *exception):
        if rank_of(self._comm) == 0 and self._file is not None:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)
            self._file.close()
            self._file = None
            if self._made:
                with suppress(OSError):
                    self.folder.rmdir()  # succeeds only when nothing has been written

    def _take(self):
        self._made = not self.folder.exists()
        self.folder.mkdir(parents=True, exist_ok=True)
        while self._file is None:
            file = self.path.open("a+", encoding="utf-8", errors="replace")
            try:
                self._claim(file)
                if same_file(file, self.path):
                    self._file = file
            finally:
                if self._file is None:
                    file.close()
        self._file.truncate(0)
        self._file.write(json.dumps(me()) + "\n")
        self._file.flush()

    def _claim(self, file):
        """Lock an open file, or raise UsageError with who holds it."""
        file.seek(0)
        holder = parsed(file.read(SHOWN))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._held_by(holder) from None
        except OSError:
            if is_alive(holder):
                raise self._held_by(holder) from None
        if holder:
            LOG.info("taking over the lock that process %s on %s left behind", holder.get("pid"), holder.get("host"))

    def _held_by(self, holder):
        who = f"process {holder.get('pid', '?')} on {holder.get('host', '?')}, since {holder.get('since', '?')}"
        return UsageError(f"{self.folder}: another run is writing there ({who}); wait for its end, or choose another "
                          "--output")


def me():
    """Return what identifies this process to people."""
    return {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}


def parsed(text):
    """Return the holder that a lock file names; empty when it says nothing of use."""
    try:
        holder = json.loads(text)
    except ValueError:
        return {}
    return holder if isinstance(holder, dict) else {}


def is_alive(holder):
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


def same_file(file, path):
    """Return whether an open file is still the one of that name."""
    try:
        named = os.stat(path)
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(file.fileno()), named)
