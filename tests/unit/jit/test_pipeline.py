"""Numba's pipeline as kernels go through it: inlined functions, indices, and what is put back afterwards."""

import gc

import numpy as np
import pytest
from numba import TypingError, config
from numba.core.caching import NullCache
from numba.core.compiler import Flags

from hpcchain.jit import outlined, pipeline
from hpcchain.jit.decorators import OPTIONS, Kernel, allocating, inlined, kernel


@inlined
def clipped(value, low, high):
    """Branches and returns in the middle."""
    if value < low:
        return low
    for _ in range(2):
        if value > high:
            return high
    return value


@inlined
def summed(values, low):
    """A loop around a function that is put in, too; names are those of its callers."""
    total = 0.0
    for i in range(len(values)):
        value = clipped(values[i], low, 4.0)
        total += value
    return total


@kernel
def twice(values, low):
    """The same function at three places, once with other types."""
    total = summed(values, low)
    value = clipped(3, 5, 7)
    return total + 100.0 * summed(values, low + 1.0) + 1000 * value


@kernel
def entry(values, i):
    """At an index that is found."""
    return values[i]


@kernel
def last(values):
    """At an index that is written as a number."""
    return values[-1]


@allocating
def any_entry(values, i):
    """At an index from either end, as in Python."""
    return values[i]


@kernel
def untyped(a):
    """Of no type."""
    return a.nothing


def test_inlined_functions_are_right_wherever_they_are_put():
    values = np.array([-1.0, 2.0, 3.5, 9.0])
    expected = twice.py_func.__globals__["summed"].py_func
    assert twice(values, 1.0) == expected(values, 1.0) + 100.0 * expected(values, 2.0) + 5000.0
    assert twice(values.astype(np.float32), 1.0) == twice(values, 1.0)


@pytest.mark.skipif(config.DISABLE_JIT, reason="plain Python compiles nothing")
def test_an_inlined_function_is_compiled_once_whatever_numbers_its_callers_have():
    for caller in (summed, twice):  # of which another process may have compiled each
        compiled_anew(caller)
    kinds = {str(one) for one in clipped.inner.overloads}
    assert {"(float64, float64, float64)", "(int64, int64, int64)"} <= kinds
    assert not any("Literal" in one for one in kinds)


def test_an_outlined_kernel_has_one_name_whatever_was_compiled_before():
    """Callers that another process has compiled find it by that name."""
    first, second = (compiled_anew(twice).fndesc.mangled_name for _ in range(2))
    assert first == second


def compiled_anew(one):
    """Return what compiling a kernel of an array and a number gives, without what is stored of it."""
    fresh = Kernel(one.py_func, {"nopython": True, **OPTIONS}, True).inner
    fresh._cache = NullCache()
    fresh.compile("(float64[::1], float64)")
    (result,) = fresh.overloads.values()
    return result


def test_equal_flags_are_one_object_and_others_are_not():
    one, other, plain = pipeline.KernelFlags(), pipeline.KernelFlags(), Flags()
    assert one.copy() is other.copy()
    other.error_model = "numpy"
    assert one.copy() is not other.copy() and one.copy() != other.copy()
    assert one.copy().error_model == plain.error_model and other.copy().error_model == "numpy"
    assert {one.copy(): 1}.get(other.copy()) is None


@pytest.fixture
def usual():
    """Thresholds that only this test has set."""
    before = gc.get_threshold()
    gc.set_threshold(701, 11, 12)
    yield (701, 11, 12)
    gc.set_threshold(*before)


def test_python_collects_as_before_when_compiling_is_over_or_has_failed(usual):
    with pipeline.compiling(), pipeline.compiling():
        assert gc.get_threshold() == pipeline.OBJECTS
    with pytest.raises(TypingError):
        untyped(1.0)
    assert gc.get_threshold() == usual


def test_both_sides_of_a_kernel_go_through_it():
    assert issubclass(outlined.InnerCompiler, pipeline.KernelCompiler)
    assert issubclass(outlined.EntryCompiler, pipeline.KernelCompiler)


def test_indices_that_kernels_find_count_from_the_start():
    """One below 0 is before the array, which checked bounds find; others than kernels have them count from the end."""
    values = np.arange(5.0)
    behind = values[1:]
    if config.BOUNDSCHECK:
        with pytest.raises(IndexError):
            entry(behind, -1)
    else:
        assert entry(behind, -1) == values[0]
    assert entry(behind, 1) == values[2]
    assert last(behind) == any_entry(behind, -1) == values[4]
