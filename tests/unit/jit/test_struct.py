"""Named tuples of arrays that kernels are handed by one pointer: what they read and write, what is refused, options."""

import numpy as np
import pytest
from numba import config
from numba.core.caching import NullCache
from numba.core.errors import TypingError

from hpcchain.jit.decorators import OPTIONS, Kernel, inlined, kernel
from hpcchain.jit.struct import kernel_struct
from hpcchain.layout.arrays import FIELDS
from hpcchain.layout.memory import side_by_side

Pair = kernel_struct("Pair", {"x": "f8", "wide": "f8 4/16", "plain": "i8 3", "free": "i8 :", "small": "i4"}, ("extra",))


def pair(extra=None, rows=5):
    """Return a Pair of numbered arrays."""
    table = np.arange(16.0 * rows).reshape(rows, 16)
    return Pair(
        np.arange(rows) + 0.5,
        table[:, 8:12],
        np.arange(3 * rows).reshape(rows, 3),
        np.arange(7 * rows).reshape(rows, 7),
        np.arange(rows, dtype=np.int32),
        extra,
    )


@kernel
def corners(s, out):
    """Write the last entry of every field and its lengths."""
    n = len(s.x)
    out[0] = s.x[n - 1]
    out[1] = s.wide[s.wide.shape[0] - 1, s.wide.shape[1] - 1]
    out[2] = s.plain[n - 1, 2]
    out[3] = s.free[n - 1, s.free.shape[1] - 1]
    out[4] = s.small[-1]
    s.wide[1, 2] = -1.0
    s.free[1, 2] = -2


@kernel
def taken(s):
    """Whether the option is taken, by a branch that is compiled only then."""
    return _taken(s.x, s.extra)


@kernel
def _taken(x, extra):
    if extra is not None:
        return x[0]
    return -1.0


@inlined
def _of_extra(x):
    return _next(x)


@inlined
def _next(x):
    return x[1]


@inlined
def _first_or_next(s):
    if s.extra is not None:
        return _of_extra(s.x)
    return s.x[0]


def first_or_next(s):
    """Calls, two deep, what calls others only where the option is taken."""
    return _first_or_next(s)


def test_kernels_read_and_write_the_arrays_themselves():
    s, out = pair(), np.zeros(5)
    corners(s, out)
    assert out.tolist() == [s.x[-1], s.wide[-1, -1], s.plain[-1, 2], s.free[-1, 6], s.small[-1]]
    assert s.wide[1, 2] == -1.0 and s.free[1, 2] == -2
    replaced = s._replace(x=np.arange(9.0), plain=np.zeros((9, 3), dtype=np.int64), free=s.free.repeat(2, axis=0))
    corners(replaced, out)
    assert out[0] == 8.0 and out[3] == s.free[-1, 6]


def test_an_option_that_is_not_taken_leaves_its_branch_out():
    assert taken(pair()) == -1.0 and taken(pair(True)) == 0.5


@pytest.mark.skipif(config.DISABLE_JIT, reason="plain Python compiles nothing")
def test_what_only_an_option_that_is_not_taken_calls_is_not_compiled():
    fresh = Kernel(first_or_next, {"nopython": True, **OPTIONS}, False)
    fresh._cache = NullCache()
    _first_or_next.inner._cache = NullCache()
    assert fresh(pair()) == 0.5 and not _of_extra.inner.overloads
    assert fresh(pair(True)) == 1.5 and len(_of_extra.inner.overloads) == 1


@pytest.mark.skipif(config.DISABLE_JIT, reason="plain Python takes any array")
@pytest.mark.parametrize(
    "field, array",
    [
        ("x", np.zeros(5, dtype=np.float32)),
        ("x", np.zeros((5, 1))),
        ("x", np.zeros(10)[::2]),
        ("wide", np.zeros((5, 4))),
        ("wide", np.zeros((5, 16))[:, :5]),
        ("plain", np.zeros((5, 4), dtype=np.int64)),
        ("small", np.zeros(5, dtype=np.int64)),
    ],
)
def test_an_array_of_another_kind_is_refused(field, array):
    with pytest.raises(TypeError, match=f"Pair.{field}"):
        taken(pair()._replace(**{field: array}))


def test_start_bounds_and_segment_of_a_bead_lie_together():
    starts, bounds, segment = side_by_side(3, "starts", "bounds", "segment").values()
    assert [FIELDS[name] for name in ("starts", "bounds", "segment")] == ["f8 8/12", "f8 2/12", "i8 2/12"]
    assert starts.ctypes.data % 128 == 0
    assert [array.ctypes.data - starts.ctypes.data for array in (bounds, segment)] == [64, 80]
    bounds[2, 1], segment[2, 1] = 1.0, -1
    assert np.all(starts == 0.0) and np.count_nonzero(bounds) == np.count_nonzero(segment) == 1


@kernel
def inside(s):
    """Read what only the option has, by a branch on the option of an argument of the kernel itself."""
    if s.extra is not None:
        return unknown(s.x)
    return s.x[0]


@kernel
def outside(s):
    """Read what only those without the option have."""
    if s.extra is None:
        return unknown(s.x)
    return s.x[1]


def unknown(x):
    """Stand for what would not compile."""


@pytest.mark.skipif(config.DISABLE_JIT, reason="plain Python compiles nothing")
def test_branches_on_options_that_are_not_taken_are_not_compiled():
    assert inside(pair()) == 0.5 and outside(pair(True)) == 1.5
    with pytest.raises(TypingError):
        outside(pair())
    with pytest.raises(TypingError):
        inside(pair(extra=True))
