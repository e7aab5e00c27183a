"""What one thread writes before it stores an entry with release, another finds once it has loaded that entry."""

from threading import Thread

import numpy as np
import pytest
from numba import config, float64, int64
from numba.core.caching import NullCache

from hpcchain.jit.decorators import concurrent
from hpcchain.jit.threads import fence_acquire, fence_release, load_acquire, pause, store_release

WORDS, MESSAGES = 64, 1000
REST = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="plain Python has no atomic instructions")


@concurrent
def through_entries(table, counts, value):
    """Store and load entries of arrays of one and two axes; return what was loaded."""
    store_release(table, 2, 1, value)
    store_release(counts, 3, 0, np.int64(value) + 1)
    pause()
    return load_acquire(table, 2, 1), load_acquire(counts, 3, 0)


@concurrent
def send(words, flags, messages):
    """Write messages, each of so many equal words, when the last one has been read."""
    for k in range(1, messages + 1):
        while load_acquire(flags, 1, 0) != k - 1:
            pause()
        for w in range(len(words)):
            words[w] = k
        store_release(flags, 0, 0, k)


@concurrent
def receive(words, flags, messages):
    """Read messages; return how many had a word of another one."""
    wrong = 0
    for k in range(1, messages + 1):
        while load_acquire(flags, 0, 0) != k:
            pause()
        for w in range(len(words)):
            if words[w] != k:
                wrong += 1
                break
        store_release(flags, 1, 0, k)
    return wrong


@concurrent
def write_versions(words, flags, messages):
    """Change words behind a version that is odd meanwhile, until enough have been read."""
    version = 0
    while load_acquire(flags, 1, 0) < messages:
        flags[0] = version + 1
        fence_release()
        for w in range(len(words)):
            words[w] = version
        version += 2
        store_release(flags, 0, 0, version)
        for _ in range(len(words)):  # else a reader hardly ever finds words that stay as they are
            pause()


@concurrent
def read_versions(words, flags, messages):
    """Read words whose version is new and the same before and behind; return how many were not all of one version."""
    wrong, last = np.int64(0), np.int64(0)
    for k in range(messages):
        while True:
            version = load_acquire(flags, 0, 0)
            if version % 2 == 1 or version == last:
                continue
            least, most = words[0], words[0]
            for w in range(len(words)):
                least, most = min(least, words[w]), max(most, words[w])
            fence_acquire()
            if flags[0] == version:
                last = version
                break
        wrong += np.int64(least != most)
        store_release(flags, 1, 0, k + 1)
    return wrong


@pytest.mark.parametrize("rows", [4, 8])
def test_entries_are_stored_and_loaded(rows):
    """Also of columns of a wider table."""
    table = np.zeros((rows, 16))[:, 3:7]
    assert through_entries(table, counts := np.zeros(5, dtype=np.int64), 7.5) == (7.5, 8)
    assert table[2].tolist() == [0.0, 7.5, 0.0, 0.0] and counts.tolist() == [0, 0, 0, 8, 0]
    assert np.count_nonzero(table) == 1


@REST
@pytest.mark.parametrize(("write", "read"), [(send, receive), (write_versions, read_versions)])
def test_a_reader_finds_what_was_written(write, read):
    """The two run at once: neither keeps Python's lock."""
    words, flags = np.zeros(WORDS, dtype=np.int64), np.zeros(2, dtype=np.int64)
    for kernel in (write, read):
        kernel.compile((int64[::1], int64[::1], int64))
    thread = Thread(target=write, args=(words, flags, MESSAGES))
    thread.start()
    wrong = read(words, flags, MESSAGES)
    thread.join()
    assert wrong == 0 and words[0] > 0


def text_of(kernel, types):
    """Return the instructions of a kernel, compiled for these types: what is in the cache has none."""
    fresh = concurrent(kernel.py_func)
    fresh._cache = NullCache()
    fresh.compile(types)
    return fresh.inspect_llvm(fresh.signatures[0])


@REST
def test_they_are_atomic_instructions_in_order():
    words = int64[::1]
    text = text_of(through_entries, (float64[:, ::1], words, float64))
    assert text.count("store atomic i64") == 2 and text.count("release, align 8") == 2
    assert text.count("load atomic i64") == 2 and text.count("acquire, align 8") == 2
    assert "fence release" in text_of(write_versions, (words, words, int64))
    assert "fence acquire" in text_of(read_versions, (words, words, int64))
