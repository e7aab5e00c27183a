"""The file that keeps machine code: whole whoever writes to it, compiled again where it is damaged, compiled once."""

import errno
import os
import select
import signal
import subprocess
import sys
import time

import pytest

from hpcchain.jit import store as store_module
from hpcchain.jit.store import HEAD, KEY, Store, in_use, key_of, place_of
from tests.support.launching import clean_environment, run_python

SIZES = (0, 1, 300, 7000, 40)
DATA = {key_of(number): bytes([number]) * size for number, size in enumerate(SIZES)}


@pytest.fixture
def path(tmp_path):
    """A file with some records."""
    one = Store(tmp_path / "kernels")
    for key, data in DATA.items():
        one.save(key, data)
    return tmp_path / "kernels"


def found(path, data=DATA):
    """Return which of the records a new store finds; what it finds is right."""
    one = Store(path)
    loaded = {key: one.load(key) for key in data}
    assert all(value in (None, data[key]) for key, value in loaded.items())
    return [value is not None for value in loaded.values()]


def test_what_one_saves_others_find(path):
    first, second = Store(path), Store(path)
    assert found(path) == [True] * len(SIZES)
    key = key_of("later")
    assert second.load(key) is None
    first.save(key, b"later")
    assert second.load(key) == b"later" and first.load(key) == b"later"
    assert path.stat().st_mode & 0o777 == 0o600


BEGIN = sum(HEAD.size + KEY + size for size in SIZES[:2])  # of the third record
END = BEGIN + HEAD.size + SIZES[2]  # of its data


@pytest.mark.parametrize("chunk", [5, 1 << 20])
@pytest.mark.parametrize("at", [*range(BEGIN, BEGIN + HEAD.size, 7), BEGIN + HEAD.size, END - 1, END, END + KEY - 1])
def test_a_damaged_record_is_lost_alone_and_can_be_saved_again(path, at, chunk, monkeypatch):
    monkeypatch.setattr(store_module, "CHUNK", chunk)
    text = bytearray(path.read_bytes())
    text[at] ^= 0x81
    path.write_bytes(text)
    assert found(path) == [True, True, False, True, True]
    key = list(DATA)[2]
    Store(path).save(key, DATA[key])
    assert found(path) == [True] * len(SIZES)


@pytest.mark.parametrize("left", [1, 20, HEAD.size - 1, HEAD.size, HEAD.size + 100, END + KEY - BEGIN - 1])
def test_what_a_killed_process_left_is_passed_over(path, left):
    """Half a record at the end, then those of others."""
    text = path.read_bytes()
    key, more = key_of("more"), key_of("once more")
    path.write_bytes(text + text[BEGIN : BEGIN + left])
    waiting = Store(path)
    assert waiting.load(key) is None
    for each in (key, more):
        Store(path).save(each, b"x" * 150)
    assert found(path, DATA | {key: b"x" * 150, more: b"x" * 150}) == [True] * (len(SIZES) + 2)
    assert waiting.load(more) == b"x" * 150


def test_a_file_cut_short_or_of_anything_else_holds_nothing_wrong(path):
    text = path.read_bytes()
    for size in range(0, len(text), 97):
        path.write_bytes(text[:size])
        assert sum(found(path)) <= sum(text[:size].count(key) == 2 for key in DATA)
    path.write_bytes(os.urandom(5000))
    assert found(path) == [False] * len(SIZES)
    for key, data in DATA.items():
        Store(path).save(key, data)
    assert found(path) == [True] * len(SIZES)


WRITE = """
import sys
from pathlib import Path
from hpcchain.jit.store import Store, key_of
one = Store(Path(sys.argv[1]))
for number in range(40):
    one.save(key_of(sys.argv[2], number), sys.argv[2].encode() * (number * 3001 % 20011))
"""


@pytest.mark.parametrize("locks", [True, False])
def test_several_processes_write_at_once(tmp_path, locks):
    """Also where the file system has no locks: to a file of one machine each record goes by one call."""
    code = "" if locks else "import fcntl\ndef none(*_): raise OSError(37, 'no locks')\nfcntl.lockf = none\n"
    words = [sys.executable, "-c", code + WRITE, str(tmp_path / "kernels")]
    running = [subprocess.Popen([*words, f"writer {one}"], env=clean_environment()) for one in range(4)]
    assert [one.wait(timeout=60) for one in running] == [0] * 4
    names = [f"writer {one}" for one in range(4)]
    data = {key_of(name, n): name.encode() * (n * 3001 % 20011) for name in names for n in range(40)}
    assert all(found(tmp_path / "kernels", data))


def test_a_full_disk_is_a_word_in_the_log(path, monkeypatch, caplog):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    one = Store(path)
    monkeypatch.setattr(store_module.os, "write", full)
    one.save(key_of("new"), b"data")
    assert caplog.messages == [f"{path}: what was compiled cannot be kept: No space left on device"]
    assert one._locked == []


def test_a_list_holds_as_long_as_all_on_it_is_sound(path, monkeypatch):
    assert Store(path).listed("usual") == 0
    Store(path).keep_list("usual")
    assert Store(path).listed("usual") == len(SIZES) and Store(path).listed("all") == 0
    Store(path).save(key_of("not on the list"), b"")
    text = path.read_bytes()
    assert Store(path).listed("usual") == len(SIZES)
    monkeypatch.setenv("NUMBA_CPU_NAME", "another")
    assert Store(path).listed("usual") == 0
    monkeypatch.delenv("NUMBA_CPU_NAME")
    path.write_bytes(text[:END] + b"?" + text[END + 1 :])
    assert Store(path).listed("usual") == 0
    path.write_bytes(text[BEGIN:])
    assert Store(path).listed("usual") == 0
    path.unlink()
    assert Store(path).listed("usual") == 0


HOLD = """
import sys, time
from pathlib import Path
from hpcchain.jit.store import Store
one = Store(Path(sys.argv[1]))
one.wait_for(int(sys.argv[2]))
print("held", flush=True)
time.sleep(60)
"""


def test_a_process_waits_for_what_another_compiles_and_a_killed_one_holds_up_none(path):
    place = place_of(key_of("wanted"))
    words = [sys.executable, "-c", HOLD, str(path), str(place)]
    with subprocess.Popen(words, env=clean_environment(), stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        assert in_use(path)
        one, begin = Store(path), time.monotonic()
        with one.releasing():
            one.wait_for(place_of(key_of("another")))  # at once
        assert time.monotonic() - begin < 30.0
        waiting = subprocess.Popen(words, env=clean_environment(), stdout=subprocess.PIPE, text=True)
        assert select.select([waiting.stdout], [], [], 1.0)[0] == []
        holder.send_signal(signal.SIGKILL)
        assert waiting.stdout.readline() == "held\n"
        waiting.kill()
        waiting.wait()
        waiting.stdout.close()


def test_waiting_has_an_end(path, monkeypatch):
    """A process that holds a lock for ever holds up others for a while."""
    monkeypatch.setattr(store_module, "PATIENCE", 0.3)
    place = place_of(key_of("wanted"))
    words = [sys.executable, "-c", HOLD, str(path), str(place)]
    with subprocess.Popen(words, env=clean_environment(), stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        one = Store(path)
        one.wait_for(place)
        assert one._locked == []
        holder.kill()


def test_use_is_seen_from_outside(path, tmp_path):
    assert in_use(path) is False and in_use(tmp_path / "no such") is None


KERNELS = """
from hpcchain.jit.decorators import allocating, kernel, outlined
@outlined
def inner(a):
    total = 0.0
    for i in range(len(a)):
        total += a[i] * a[i]
    return total
@kernel
def outer(a):
    return inner(a) + 1.0
@allocating
def made(n):
    return [0.5] * n
"""
CALL = """
import numpy as np
import kernels_shared as k
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
value, count = k.outer(np.ones(3)), len(k.made(2))
print(value, count, *(sum(one.stats.cache_misses.values()) for one in (k.outer, k.inner.inner, k.made)))
"""


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled")
def test_ranks_that_start_on_a_cold_cache_compile_everything_once(tmp_path):
    """One compiles what all need, and the others wait for it; what is compiled is in one file."""
    (tmp_path / "kernels_shared.py").write_text(KERNELS)
    cache = tmp_path / "cache"
    given = {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(cache)}
    done = run_python(["-c", CALL], tmp_path, ranks=3, **given)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == 3 and all(line[:2] == ["4.0", "2"] for line in lines), done.stderr
    assert [sum(int(line[column]) for line in lines) for column in (2, 3, 4)] == [1, 1, 1], done.stdout
    assert [path.name for path in cache.rglob("*") if path.is_file()] == ["kernels"]
