"""Vectors in kernels, against NumPy's."""

import numpy as np
import pytest

from hpcchain.jit.decorators import kernel
from hpcchain.layout.vectors import cross, dot, minus, over, plus, tangents, times, unit

RNG = np.random.default_rng(1)


@kernel
def computed(a, b):
    """Return what there is to be computed with two vectors."""
    return plus(a, b), minus(a, b), times(dot(a, b), a), over(b, a[0]), cross(a, b), unit(a)


@kernel
def across(n):
    """Return `tangents`; kernels alone call what is inlined."""
    return tangents(n)


def test_numpy_finds_the_same():
    a, b = RNG.normal(size=(2, 3))
    expected = a + b, a - b, a @ b * a, b / a[0], np.cross(a, b), a / np.linalg.norm(a)
    np.testing.assert_allclose(computed(a, b), expected, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("n", [*np.eye(3), *-np.eye(3), *(x / np.linalg.norm(x) for x in RNG.normal(size=(9, 3)))])
def test_tangents_are_a_frame_with_the_normal(n):
    frame = np.array([n, *across(n)])
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(frame) == pytest.approx(1.0)
