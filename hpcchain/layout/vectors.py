"""Vectors in space, as kernels compute with them: three numbers each, a tuple or what else is read by its index."""

import math

from hpcchain.jit.decorators import inlined

ZERO = (0.0, 0.0, 0.0)


@inlined
def plus(a, b):
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined
def minus(a, b):
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def times(factor, a):
    """Return a vector times a factor."""
    return factor * a[0], factor * a[1], factor * a[2]


@inlined
def over(a, divisor):
    """Return a vector over a divisor."""
    return a[0] / divisor, a[1] / divisor, a[2] / divisor


@inlined
def dot(a, b):
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a, b):
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined
def unit(a):
    """Return the vector of length 1 in a direction."""
    return over(a, math.sqrt(dot(a, a)))


@inlined
def tangents(n):
    """Return two unit vectors at right angles to a unit vector and to one another."""
    x, y, z = abs(n[0]), abs(n[1]), abs(n[2])
    if x <= y and x <= z:
        across = (0.0, n[2], -n[1])
    elif y <= z:
        across = (-n[2], 0.0, n[0])
    else:
        across = (n[1], -n[0], 0.0)
    first = unit(across)
    return first, cross(n, first)
