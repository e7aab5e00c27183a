"""Contacts with walls: exact lines and parabolas, sampling on random curves, grazes."""

import numpy as np
import pytest

from tests.support.kernel_tools import Paths
from tests.support.sampled import sampled_contact

LIMIT = 2.0


def height(coefficients, axis=2, other=0.7):
    """Return a path whose coordinate on an axis is a polynomial, the others move freely."""
    rows = np.zeros((len(coefficients), 3))
    rows[0], rows[1] = other, -other
    rows[:, axis] = coefficients
    return Paths(rows)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("side", [1, -1])
def test_straight_flight(axis, side):
    """From 2 away at speed 0.5, radius 0.5: 3; with the radius growing at 0.25: 2."""
    path = height([4.0 + 2.0 * side, -0.5 * side], axis)
    assert path.wall(0, axis, side, 4.0, 0.5, 10.0) == 3.0
    assert path.wall(0, axis, side, 4.0, 0.5, 2.9) == np.inf
    assert path.wall(0, axis, side, 4.0, 0.5, 10.0, growth=0.25) == 2.0
    assert path.wall(0, axis, side, 4.0, 0.5, 10.0, t=1.0) == 2.0
    assert height([4.0 + 2.0 * side, 0.5 * side], axis).wall(0, axis, side, 4.0, 0.5, 10.0) == np.inf
    assert height([4.0 + 2.0 * side, 0.0], axis).wall(0, axis, side, 4.0, 0.5, 10.0) == np.inf


def test_a_resting_bead_meets_the_wall_by_growing():
    assert height([2.0, 0.0]).wall(0, 2, 1, 0.0, 0.5, 10.0, growth=0.5) == 3.0


@pytest.mark.parametrize("side", [1, -1])
def test_parabola(side):
    """The gap 0.3 + 0.5 s - s^2 / 2 ends at 0.5 + sqrt(0.25 + 0.6)."""
    path = height([side * 0.8, side * 0.5, -side * 0.5])
    assert path.wall(0, 2, side, 0.0, 0.5, LIMIT) == pytest.approx(0.5 + np.sqrt(0.85), rel=1e-14)
    assert path.wall(0, 2, side, 0.0, 0.5, LIMIT, t=0.25) == pytest.approx(0.25 + np.sqrt(0.85), rel=1e-14)


def curve(seed):
    """Return a random path that starts one to three above zero."""
    rng = np.random.default_rng(seed)
    c = rng.normal(size=int(rng.integers(3, 9)))
    c *= 0.8 ** np.arange(len(c))
    c[0] = rng.uniform(1, 3)
    return np.polynomial.Polynomial(c)


@pytest.mark.parametrize("side", [1, -1])
def test_curves_against_sampling(side):
    found = 0
    for seed in range(300):
        p = curve(seed)
        growth = 0.05 * (seed % 2)

        def gap(s, p=p, growth=growth):
            return p(s) - 0.5 - growth * np.asarray(s), p.deriv()(s) - growth

        got = height(side * p.coef).wall(0, 2, side, 0.0, 0.5, LIMIT, growth=growth)
        expected = sampled_contact(gap, LIMIT)
        if expected == np.inf and got < np.inf:
            assert abs(gap(got)[0]) < 1e-13 and gap(got)[1] <= 0
        else:
            assert got == expected or got == pytest.approx(expected, abs=1e-14 + 1e-13 / abs(gap(expected)[1]))
            found += expected < np.inf
    assert found > 60


@pytest.mark.parametrize("eps", [1e-6, 1e-9, 1e-11, 1e-12, 1e-13, -1e-6, -1e-9, -1e-11, -1e-12, -1e-13])
def test_grazes(eps):
    """The gap is eps + (s - a)^2 (1 + b (s - a)): a miss for eps > 0, else a contact at a - sqrt(-eps) (1 + small)."""
    for a, b in ((0.3, 0.0), (0.7, 0.2), (1.3, -0.3)):
        s = np.polynomial.Polynomial([-a, 1.0])
        path = height((0.5 + eps + s**2 * (1 + b * s)).coef)
        got = path.wall(0, 2, 1, 0.0, 0.5, LIMIT)
        if eps > 0:
            assert got == np.inf
        else:
            assert got == pytest.approx(a - np.sqrt(-eps), abs=2 * abs(eps) + 2e-15 / np.sqrt(-eps))


def test_the_limit_changes_no_bit():
    for seed in range(200):
        path = height(curve(seed).coef)
        bend = path.bend(0, LIMIT)
        path.bend = lambda i, t, bend=bend: bend
        whole = path.wall(0, 2, 1, 0.0, 0.5, LIMIT)
        if whole < np.inf:
            assert path.wall(0, 2, 1, 0.0, 0.5, whole * (1 + 1e-9)) == whole
            assert path.wall(0, 2, 1, 0.0, 0.5, 0.9 * whole) > 0.9 * whole


@pytest.mark.parametrize("off", [0.0, 1e-15, -1e-15, 5e-14, -5e-14])
def test_the_bead_that_has_just_hit_is_left_alone_until_it_returns(off):
    assert height([0.5 + off, 1.0]).wall(0, 2, 1, 0.0, 0.5, LIMIT, just_hit=True) == np.inf
    path = height([0.5 + off, 0.5, -0.5])
    assert path.wall(0, 2, 1, 0.0, 0.5, LIMIT, just_hit=True) == pytest.approx(1.0, abs=1e-12)


def test_touching_and_overlapping_beads():
    for off in (0.0, 1e-15, -1e-15, -1e-6):
        assert height([0.5 + off, -1.0]).wall(0, 2, 1, 0.0, 0.5, LIMIT) == pytest.approx(0.0, abs=1e-14)
        assert height([0.5 + off, -1.0, 0.1]).wall(0, 2, 1, 0.0, 0.5, LIMIT) == pytest.approx(0.0, abs=1e-14)
        assert height([0.5 + off, 1.0]).wall(0, 2, 1, 0.0, 0.5, LIMIT) == np.inf


@pytest.mark.parametrize("just_hit", [False, True])
def test_an_overlapping_bead_that_leaves_but_turns_back_meets_the_wall_where_it_turns(just_hit):
    path = height([0.25, 0.1, -0.5])
    assert path.wall(0, 2, 1, 0.0, 0.5, LIMIT, just_hit=just_hit) == pytest.approx(0.2, abs=0.1)


def test_a_struck_bead_pressed_into_the_wall_it_touches_meets_it_at_once():
    """The bead was struck by another one: touching the wall and moving into it is a contact, not a memory."""
    assert height([0.5, -1.0]).wall(0, 2, 1, 0.0, 0.5, LIMIT, just_hit=True) == 0.0
    assert height([0.5, -1.0, 0.1]).wall(0, 2, 1, 0.0, 0.5, LIMIT, just_hit=True) == 0.0
