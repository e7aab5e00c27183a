"""Kernels as others call them.

Outlined ones are named only, and found in every process, however it starts; the code of the others goes into their
callers. For Python a kernel is compiled when it is called from there.

Each step is a process of its own with one compile cache, as runs, ranks and later runs are.
"""

import os

import numpy as np
import pytest

from tests.support import launching

KERNELS = """
import numpy as np
from hpcchain.jit.decorators import allocating, outlined, kernel


@kernel
def term(a, i):
    return a[i] * a[i]


@outlined
def inner(a):
    total = 0.0
    for i in range(len(a)):
        total += term(a, i)
    return total, len(a)


@outlined
def middle(a, times):
    total, count = inner(a)
    return total * times / count


@kernel
def outer(a):
    return middle(a, 3.0) + inner(a)[0]


@kernel
def outermost(a):
    return outer(a) + 1.0


@allocating
def made(n):
    a = np.sqrt(np.arange(n))
    return middle(a, 3.0)


@allocating
def made_twice(n):
    return made(n) + made(n)
"""
CALL = """
import numpy as np
import kernels_apart as k
print(float(k.{name}(np.sqrt(np.arange(7.0)))).hex())
for each in (getattr(k, name) for name in ("inner", "middle", "outer", "outermost")):
    print(sum(each.stats.cache_misses.values()) + sum(each.inner.stats.cache_misses.values()))
"""
LOSE = """
import numpy as np
import kernels_apart as k
from hpcchain.jit import outlined
from hpcchain.jit.store import STORE
keys, own = set(), outlined.KernelCache._key
def key(self, *given):
    found = own(self, *given)
    keys.update([found] * (self.function.__name__ in {names}))
    return found
outlined.KernelCache._key = key
getattr(k, "outermost" if "outermost" in {names} else "outer")(np.zeros(3))
with open(STORE.path, "r+b") as file:
    for each in keys:
        file.seek(STORE._records[each][0])
        file.write(b"damaged")
print(len(keys))
"""
PAST = """
from hpcchain.jit.decorators import outlined, kernel


@kernel
def taken(a, i):
    return a[i]


@outlined
def summed(a, n):
    total = 0.0
    for i in range(n):
        total += taken(a, i)
    return total


@kernel
def outer(a, n):
    return summed(a, n)
"""
CALL_PAST = """
import numpy as np
import kernels_past as k
print(k.outer(np.ones(3), 3))
try:
    k.outer(np.ones(3), 4)
except IndexError:
    print("caught")
print(k.outer(np.ones(3), 3))
"""
A = np.sqrt(np.arange(7.0))
INNER = sum(x * x for x in A)  # in the kernel's order
OUTER = INNER * 3.0 / 7 + INNER
pytestmark = pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with kernels and the cache that one process has left."""
    path = tmp_path_factory.mktemp("apart")
    (path / "kernels_apart.py").write_text(KERNELS, encoding="utf-8")
    assert called(path, "outer") == (float(OUTER).hex(), [1, 1, 1, 0])
    return path


def run(folder, code, cache="cache"):
    """Return what a Python process prints whose kernels and cache are in a folder."""
    done = launching.run_python(["-c", code], folder, PYTHONPATH=str(folder), NUMBA_CACHE_DIR=str(folder / cache))
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def called(folder, name):
    """Return what a kernel returns in a new process (hex), and how many of each kernel it had to compile."""
    value, *missed = run(folder, CALL.format(name=name))
    return value, [int(count) for count in missed]


def lose(folder, *names):
    """Damage what is kept of some kernels."""
    assert int(run(folder, LOSE.format(names=names))[0]) >= len(names)


def test_a_caller_contains_what_is_not_apart_only(folder):
    """The machine code of an inner kernel is made once: callers name it, where they would contain an ordinary one."""
    code = (
        "import re, numpy as np, kernels_apart as k; k.outer(np.zeros(3)); k.outer.recompile()\n"
        "text = next(iter(k.outer.inspect_llvm().values()))\n"
        "for word in ('inner', 'middle'):\n"
        "    print(sum(bool(re.search('define.*' + word, line)) for line in text.splitlines()),\n"
        "          sum(bool(re.search('declare.*' + word, line)) for line in text.splitlines()))"
    )
    assert run(folder, code) == ["0", "1", "0", "1"]


def test_a_second_process_compiles_nothing(folder):
    """A kernel from the cache finds what it names, though nothing in that process has called it."""
    assert called(folder, "outer") == (float(OUTER).hex(), [0, 0, 0, 0])


def test_what_a_cached_caller_needs_is_handed_on(folder):
    """A kernel that contains a cached caller, when it comes from the cache itself, brings what that one names."""
    assert called(folder, "outermost") == (float(OUTER + 1.0).hex(), [0, 0, 1, 1])
    lose(folder, "middle", "outermost")
    assert called(folder, "outermost") == (float(OUTER + 1.0).hex(), [0, 1, 0, 1])
    assert called(folder, "outermost") == (float(OUTER + 1.0).hex(), [0, 0, 0, 0])


def test_what_makes_arrays_hands_on_what_it_needs(folder):
    """One that contains another, which came from the cache, brings what that one names."""
    code = "import kernels_apart as k; print(k.made_twice(7.0).hex(), sum(k.made_twice.stats.cache_misses.values()))"
    twice = (2.0 * (INNER * 3.0 / 7)).hex()
    assert run(folder, code.replace("made_twice", "made"))[1] == "1"
    assert [run(folder, code) for _ in range(2)] == [[twice, "1"], [twice, "0"]]


@pytest.mark.parametrize("name", ["inner", pytest.param("middle", marks=pytest.mark.long)])
def test_a_name_is_the_same_whoever_compiles(folder, name):
    """A kernel that is lost from the cache is compiled again, before others or after them, under the name it had."""
    lose(folder, name)
    _, missed = called(folder, "outer")
    assert missed == [int(name == "inner"), int(name == "middle"), 0, 0]
    assert called(folder, "outer") == (float(OUTER).hex(), [0, 0, 0, 0])


def test_a_kernel_for_kernels_has_no_wrapper_and_no_code_of_its_own(folder):
    """Compiling a caller makes no machine code of what goes into it, and nothing by which Python could call either."""
    code = (
        "import numpy as np, kernels_apart as k; k.outer(np.zeros(3))\n"
        "for each in (k.term, k.middle):\n"
        "    (result,) = each.inner.overloads.values()\n"
        "    names = [f.name for f in result.library._final_module.functions if not f.is_declaration]\n"
        "    print(len(names), int(any('wrapper' in name or name.startswith('cfunc') for name in names)),\n"
        "          int(result.library._compiled), len(each.signatures))"
    )
    assert run(folder, code, "another") == ["1", "0", "0", "0", "1", "0", "1", "0"]


def test_an_error_inside_comes_out(tmp_path):
    """With bounds checked, an index out of bounds in a kernel within kernels is Python's IndexError, cached or not."""
    (tmp_path / "kernels_past.py").write_text(PAST, encoding="utf-8")
    for _ in range(2):
        done = launching.run_python(
            ["-c", CALL_PAST],
            tmp_path,
            PYTHONPATH=str(tmp_path),
            NUMBA_CACHE_DIR=str(tmp_path / "cache"),
            NUMBA_BOUNDSCHECK="1",
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == ["3.0", "caught", "3.0"]
