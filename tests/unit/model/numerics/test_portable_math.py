"""Functions whose bits are the same on every processor, against decimal arithmetic and the library's."""

import math
from decimal import Decimal, localcontext

import numpy as np

from hpcchain.model.directors import normals
from hpcchain.model.numerics.portable_math import arcsine, circle, logarithm
from hpcchain.model.random import Stream, normal

TWO_PI = Decimal("6.283185307179586476925286766559005768394338798750211641949889184615632812572417997256069650684")
RANDOM = np.random.default_rng(0).uniform(0.0, 1.0, 4000)


def test_sine_and_cosine():
    turns = np.concatenate([np.linspace(-1.0, 1.0, 4001), 2.0 * RANDOM - 1.0])
    cosine, sine = circle(turns)
    with localcontext() as context:
        context.prec = 40
        exact = [TWO_PI * Decimal(float(t)) for t in turns]
        rest = np.array([float(angle - Decimal(float(angle))) for angle in exact])
    c, s = (np.array([f(float(angle)) for angle in exact]) for f in (math.cos, math.sin))
    assert np.abs(cosine - (c - rest * s)).max() < 3e-16
    assert np.abs(sine - (s + rest * c)).max() < 3e-16
    quarters = np.array(circle(np.array([0.0, 0.25, 0.5, -0.25])))
    assert quarters.tolist() == [[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, -1.0]]


def test_arc_sine():
    x = np.concatenate([np.linspace(0.0, 1.0, 4001), RANDOM, RANDOM**9, 1.0 - RANDOM**9])
    wanted = np.array([math.asin(value) for value in x])
    assert np.all(np.abs(arcsine(x) - wanted) <= 5e-16 * wanted)


def test_logarithm():
    x = np.concatenate([1.0 - RANDOM, RANDOM**40 + 2.0**-53, np.array([1.0, 2.0**-53, 0.5, 1.0 - 2.0**-53, 3e50])])
    with localcontext() as context:
        context.prec = 40
        wanted = [Decimal(float(value)).ln() for value in x]
        errors = [abs(Decimal(float(got)) - want) for got, want in zip(logarithm(x), wanted, strict=True)]
        assert all(error <= Decimal("3e-16") * abs(want) for error, want in zip(errors, wanted, strict=True))


def test_a_value_depends_on_its_own_argument_alone():
    for function in (arcsine, logarithm, lambda x: circle(x)[0], lambda x: circle(x)[1]):
        together = function(RANDOM)
        for part in (slice(0, 7), slice(7, 500), slice(3999, None), slice(None, None, -1), slice(None, None, 3)):
            assert function(RANDOM[part]).tobytes() == np.ascontiguousarray(together[part]).tobytes()


def test_normal_numbers_are_those_of_the_generator():
    ids = np.arange(1000)
    assert np.abs(normals(3, Stream.SPIN, ids) - normal(3, Stream.SPIN, ids)).max() < 1e-14
