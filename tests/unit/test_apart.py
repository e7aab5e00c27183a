"""Kernels compiled apart: callers hold nothing of them but the name, and find them in every process, however it starts.

Each step is a process of its own with one compile cache, as runs, ranks and later runs are.
"""

import os

import launching
import numba
import numpy as np
import pytest

from hpcchain.kernel import TRIED

KERNELS = '''
from hpcchain.kernel import apart, kernel


@kernel
def term(a, i):
    return a[i] * a[i]


@apart
def inner(a):
    total = 0.0
    for i in range(len(a)):
        total += term(a, i)
    return total, len(a)


@apart
def middle(a, times):
    total, count = inner(a)
    return total * times / count


@kernel
def outer(a):
    return middle(a, 3.0) + inner(a)[0]


@kernel
def outermost(a):
    return outer(a) + 1.0
'''
CALL = """
import numpy as np
import kernels_apart as k
print(float(k.{name}(np.sqrt(np.arange(7.0)))).hex())
print(*[sum(getattr(k, each).stats.cache_misses.values()) for each in ("inner", "middle", "outer", "outermost")])
"""
A = np.sqrt(np.arange(7.0))
INNER = sum(x * x for x in A)  # in the kernel's order
OUTER = INNER * 3.0 / 7 + INNER
pytestmark = [
    pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled"),
    pytest.mark.skipif(not numba.__version__.startswith(TRIED), reason="no kernel is apart with this numba"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with kernels and the cache that one process has left."""
    path = tmp_path_factory.mktemp("apart")
    (path / "kernels_apart.py").write_text(KERNELS, encoding="utf-8")
    assert called(path, "outer") == (float(OUTER).hex(), [1, 1, 1, 0])
    return path


def run(folder, code):
    """Return what a Python process prints whose kernels and cache are in a folder."""
    done = launching.run_python(["-c", code], folder, PYTHONPATH=str(folder), NUMBA_CACHE_DIR=str(folder / "cache"))
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def called(folder, name):
    """Return what a kernel returns in a new process (hex), and how many of each kernel it had to compile."""
    value, *missed = run(folder, CALL.format(name=name))
    return value, [int(count) for count in missed]


def lose(folder, name):
    """Remove a kernel from the cache."""
    found = list((folder / "cache").rglob(f"kernels_apart.{name}-*"))
    assert found
    for path in found:
        path.unlink()


def test_a_caller_contains_what_is_not_apart_only(folder):
    """The machine code of an inner kernel is made once: callers name it, where they would contain an ordinary one."""
    code = ("import re, numpy as np, kernels_apart as k; k.outer(np.zeros(3)); k.outer.recompile()\n"
            "text = next(iter(k.outer.inspect_llvm().values()))\n"
            "for word in ('inner', 'middle'):\n"
            "    print(sum(bool(re.search('define.*' + word, line)) for line in text.splitlines()),\n"
            "          sum(bool(re.search('declare.*' + word, line)) for line in text.splitlines()))")  # fmt: skip
    assert run(folder, code) == ["0", "1", "0", "1"]


def test_a_second_process_compiles_nothing(folder):
    """A kernel from the cache finds what it names, though nobody in that process has called it."""
    assert called(folder, "outer") == (float(OUTER).hex(), [0, 0, 0, 0])


def test_what_a_cached_caller_needs_is_handed_on(folder):
    """A kernel that contains a cached caller, when it comes from the cache itself, brings what that one names."""
    lose(folder, "middle")
    assert called(folder, "outermost") == (float(OUTER + 1.0).hex(), [0, 1, 0, 1])
    assert called(folder, "outermost") == (float(OUTER + 1.0).hex(), [0, 0, 0, 0])


@pytest.mark.parametrize("name", ["inner", "middle"])
def test_a_name_is_the_same_whoever_compiles(folder, name):
    """A kernel that is lost from the cache is compiled again, before others or after them, under the name it had."""
    lose(folder, name)
    _, missed = called(folder, "outer")
    assert missed == [int(name == "inner"), int(name == "middle"), 0, 0]
    assert called(folder, "outer") == (float(OUTER).hex(), [0, 0, 0, 0])
