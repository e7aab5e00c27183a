"""The lock of an output directory: no links are followed; where there are no locks nothing is taken from others."""

import errno
import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest

from hpcchain.errors import UsageError
from hpcchain.io.hdf5 import atomic
from hpcchain.observe.runlog import RunLog
from hpcchain.parallel.comm import Single
from hpcchain.run.guards import lock as locks
from hpcchain.run.guards.lock import FolderLock
from hpcchain.run.guards.watchdog import Watchdog


@pytest.fixture(params=[errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK])
def no_locks(monkeypatch, request):
    """A file system without flock."""

    def refuse(*args):
        raise OSError(request.param, os.strerror(request.param))

    monkeypatch.setattr(locks.fcntl, "flock", refuse)


def leave(folder, **holder):
    (folder / "run.lock").write_text(json.dumps(holder))


def refused(folder, *words):
    before = (folder / "run.lock").read_bytes()
    with pytest.raises(UsageError) as error, FolderLock(folder):
        pass
    text = str(error.value)
    assert all(word in text for word in (str(folder), *words)) and "\n" not in text, text
    assert (folder / "run.lock").read_bytes() == before


def test_without_locks_another_hosts_lock_is_not_taken_over(tmp_path, no_locks):
    """The message says how to get rid of it; that helps."""
    leave(tmp_path, pid=1, host="elsewhere", since="2026-01-02 03:04:05")
    refused(
        tmp_path,
        "process 1 on elsewhere, since 2026-01-02 03:04:05",
        "has no locks (flock)",
        f"remove {tmp_path / 'run.lock'}",
    )
    (tmp_path / "run.lock").unlink()
    with FolderLock(tmp_path):
        assert json.loads((tmp_path / "run.lock").read_text())["pid"] == os.getpid()
    assert not (tmp_path / "run.lock").exists()


@pytest.mark.parametrize("text", ["", "{", '{"pid": 1}', '{"host": "a\\nb", "pid": [1]}', "\0" * 10])
def test_without_locks_one_that_says_nothing_of_use_is_not_taken_over(tmp_path, no_locks, text):
    """It may be one that another run has just made, and not written yet."""
    (tmp_path / "run.lock").write_text(text)
    refused(tmp_path, f"remove {tmp_path / 'run.lock'}")


def test_without_locks_another_machine_of_the_same_name_is_told_apart(tmp_path, no_locks):
    """A container, or this machine before it was started anew; its process numbers mean nothing here."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    here = {"pid": ended.pid, "host": socket.gethostname()}
    leave(tmp_path, **here, system="another")
    refused(tmp_path, f"process {ended.pid} on {socket.gethostname()}", "remove")
    leave(tmp_path, **here, system=locks.system())
    with FolderLock(tmp_path):
        with pytest.raises(UsageError, match="may be writing there|is writing there"):
            first = json.loads((tmp_path / "run.lock").read_text())
            leave(tmp_path, **(first | {"pid": os.getppid()}))
            with FolderLock(tmp_path):
                pass


@pytest.mark.parametrize("locked", [True, False])
@pytest.mark.parametrize("how", ["link", "hard link", "link to nothing", "pipe", "folder"])
def test_what_is_no_plain_file_is_not_opened(tmp_path, monkeypatch, how, locked):
    if not locked:
        monkeypatch.setattr(locks.fcntl, "flock", lambda *args: (_ for _ in ()).throw(OSError(errno.ENOSYS, "none")))
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "out").mkdir()
    path = tmp_path / "out" / "run.lock"
    {
        "link": lambda: path.symlink_to("../precious"),
        "hard link": lambda: path.hardlink_to(tmp_path / "precious"),
        "link to nothing": lambda: path.symlink_to("../new"),
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
    }[how]()
    with pytest.raises(UsageError, match="run.lock: is a link, or no plain file"), FolderLock(tmp_path / "out"):
        pass
    assert (tmp_path / "precious").read_text() == "kept" and not (tmp_path / "new").exists()


def test_a_file_is_no_folder_to_write_to(tmp_path):
    (tmp_path / "out").write_text("of mine")
    with pytest.raises(UsageError, match="out: is there already and no folder; choose another --output"):
        with FolderLock(tmp_path / "out", None):
            pass
    assert (tmp_path / "out").read_text() == "of mine"


def test_other_files_of_a_run_are_not_written_through_links(tmp_path):
    """The log, what the watchdog writes, and temporary names."""
    (tmp_path / "precious").write_text("kept")
    row = {"kinetic_energy": 1.0, "temperature": 1.0, "pressure": 1.0, "momentum": np.zeros(3)}
    (tmp_path / "run.jsonl").symlink_to("precious")
    with pytest.raises(UsageError, match="run.jsonl: is a link"):
        RunLog(tmp_path / "run.jsonl").report(0.5, row, 0, 0, 0.0)
    (tmp_path / "stuck").mkdir()
    (tmp_path / "stuck" / "rank-00000.txt").symlink_to("../precious")
    Watchdog(Single(), tmp_path, 0.0)._write(tmp_path / "stuck" / "rank-00000.txt", "state")
    (tmp_path / "input.toml.partial").symlink_to("precious")
    with atomic.replacing(tmp_path / "input.toml") as temp:
        assert not temp.is_symlink() and temp.read_bytes() == b""
        temp.write_text("new")
    assert (tmp_path / "input.toml").read_text() == "new"
    assert (tmp_path / "stuck" / "rank-00000.txt").read_text() == "state"
    assert (tmp_path / "precious").read_text() == "kept"
