"""Contact times of pairs: exact quadratics, and sampling plus bisection on curved paths, grazes included."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from hpcchain.contact.pair import straight_contact
from tests.support.kernel_tools import Paths
from tests.support.sampled import sampled_contact

UNTIL = 2.0


def exact_root(r, v, d, growth):
    """First time at which |r + v s| = d + growth s, in 60 digits, or None."""
    with localcontext() as context:
        context.prec = 60
        r, v = [Decimal(float(c)) for c in r], [Decimal(float(c)) for c in v]
        d, g = Decimal(float(d)), Decimal(float(growth))
        a = sum(c * c for c in v) - g * g
        b = sum(p * q for p, q in zip(r, v, strict=True)) - d * g
        c = sum(p * p for p in r) - d * d
        disc = b * b - a * c
        if disc < 0:
            return None
        roots = [(-b - disc.sqrt()) / a, (-b + disc.sqrt()) / a] if a else [-c / (2 * b)]
        later = [float(s) for s in roots if s > 0]
        return min(later) if later else None


@pytest.mark.parametrize("growth", [0.0, 0.01, 0.5, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_straight_contact_is_the_exact_root(seed, growth):
    rng = np.random.default_rng([seed, int(growth * 100)])
    hits = 0
    for _ in range(300):
        v = rng.normal(size=3) * 10 ** rng.uniform(-2, 2)
        d = rng.uniform(0.5, 1.5)
        r = rng.normal(size=3)
        r *= d * (1 + 10 ** rng.uniform(-6, 0.5)) / np.linalg.norm(r)
        if rng.random() < 0.6:
            v = -r * np.linalg.norm(v) / np.linalg.norm(r) + 0.3 * v
        got, expected = straight_contact(*r, *v, d, growth, 0.0, False), exact_root(r, v, d, growth)
        if expected is None:
            assert got == np.inf
        else:
            hits += 1
            gap = np.linalg.norm(r) - d
            assert got == pytest.approx(expected, rel=1e-9 + 1e-15 / gap)
    assert hits > 100


def test_what_touches_and_approaches_by_rounding_alone_rests():
    for just_hit in (False, True):
        assert straight_contact(1.0, 0.0, 0.0, -1e-15, 0.0, 0.0, 1.0, 0.0, 1e-14, just_hit) == np.inf
        assert straight_contact(1.0, 0.0, 0.0, -1e-13, 0.0, 0.0, 1.0, 0.0, 1e-14, just_hit) == 0.0
    assert straight_contact(1.1, 0.0, 0.0, -1e-15, 0.0, 0.0, 1.0, 0.0, 1e-14, False) < np.inf


def test_straight_contact_head_on_and_swapped():
    assert straight_contact(3.0, 0.0, 0.0, -2.0, 0.0, 0.0, 1.0, 0.0, 0.0, False) == 1.0
    assert straight_contact(-3.0, 0.0, 0.0, 2.0, 0.0, 0.0, 1.0, 0.0, 0.0, False) == 1.0
    rng = np.random.default_rng(0)
    for _ in range(200):
        r = rng.normal(size=3) * 3
        v = rng.normal(size=3) - r
        assert straight_contact(*r, *v, 1.0, 0.1, 0.0, False) == straight_contact(*-r, *-v, 1.0, 0.1, 0.0, False)


def test_straight_receding_and_resting_pairs_never_touch():
    assert straight_contact(2.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, False) == np.inf
    assert straight_contact(2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, False) == np.inf
    assert straight_contact(2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, False) == np.inf
    assert straight_contact(1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, False) == np.inf
    assert straight_contact(1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, False) == np.inf


def test_straight_growth_alone():
    """Beads at rest meet by growing, also while they recede more slowly than they grow."""
    assert straight_contact(2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.5, 0.0, False) == 2.0
    assert straight_contact(2.0, 0.0, 0.0, 0.25, 0.0, 0.0, 1.0, 0.75, 0.0, False) == 2.0
    assert straight_contact(2.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, False) == np.inf
    assert straight_contact(2.0, 0.0, 0.0, -1.0, 0.0, 0.0, 1.0, 1.0, 0.0, False) == pytest.approx(0.5, rel=1e-15)


def test_straight_touching():
    """A pair in touch that approaches meets now; the pair that has just hit does not, unless it is overtaken."""
    for gap in (0.0, 3e-15, -3e-15, -1e-12, -1e-3):
        assert straight_contact(1.0 + gap, 0.0, 0.0, -1.0, 0.5, 0.0, 1.0, 0.0, 0.0, False) == 0.0
        assert straight_contact(1.0 + gap, 0.0, 0.0, 1.0, 0.5, 0.0, 1.0, 0.0, 0.0, False) == np.inf
    for gap in (0.0, 1e-14, -1e-14, 1e-12, -1e-12):
        assert straight_contact(1.0 + gap, 0.0, 0.0, 1e-3, 0.0, 0.0, 1.0, 0.0, 0.0, True) == np.inf
        assert straight_contact(1.0 + gap, 0.0, 0.0, -1e-17, 1.0, 0.0, 1.0, 0.0, 0.0, True) == np.inf
    assert straight_contact(1.0, 0.0, 0.0, 0.52, 0.3, 0.0, 1.0, 0.5, 0.0, True) == np.inf


def test_straight_grazes():
    """Closest approach just outside or inside the contact distance, by less than rounding of a careless formula."""
    for eps in (1e-9, 1e-11, 1e-13):
        assert straight_contact(-2.0, 1.0 + eps, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, False) == np.inf
        hit = straight_contact(-2.0, 1.0 - eps, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, False)
        assert hit == pytest.approx(2 - np.sqrt(1 - (1.0 - eps) ** 2), abs=1e-15 / np.sqrt(eps))


def random_paths(seed, order=6):
    """Return two random curves that come within 1.3 of each other, usually from further away."""
    rng = np.random.default_rng(seed)
    scale = 2 * 0.6 ** np.arange(order + 1)[:, None]
    a, b = (rng.normal(size=(int(rng.integers(2, order + 1)) + 1, 3)) for _ in range(2))
    paths = Paths(a * scale[: len(a)], b * scale[: len(b)])
    meeting = rng.uniform(0.2, UNTIL)
    (x, _), (y, _) = (paths.at(i, meeting) for i in range(2))
    apart = rng.normal(size=3)
    paths.coefficients[1][0] += x - y + rng.uniform(0, 1.3) * apart / np.linalg.norm(apart)
    return Paths(*paths.coefficients)


def gap_at(paths, d, growth, ti, tj, shift):
    """Return f(s) = |r|^2 - d^2 and its rate as one function."""

    def gap(s):
        (xi, vi), (xj, vj) = paths.at(0, ti + np.asarray(s, float)), paths.at(1, tj + np.asarray(s, float))
        r, v, width = xi - xj + shift, vi - vj, d + growth * np.asarray(s, float)
        return (r * r).sum(-1) - width**2, 2 * ((r * v).sum(-1) - width * growth)

    return gap


def closest(gap, until, points=4001):
    """Return the place of the least f inside the span (by bisection of its rate), or None when it is at an end."""
    s = np.linspace(0, until, points)
    k = int(np.argmin(gap(s)[0]))
    if k in (0, points - 1):
        return None
    low, high = s[k - 1], s[k + 1]
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gap(middle)[1] < 0 else (low, middle)
    return 0.5 * (low + high)


@pytest.mark.parametrize("growth", [0.0, 0.05])
def test_curved_contact_against_sampling(growth):
    found = 0
    for seed in range(250):
        paths = random_paths(seed)
        rng = np.random.default_rng(seed + 10000)
        ti, tj, shift = *rng.uniform(0, 0.3, 2), rng.normal(size=3) * 0.1
        gap = gap_at(paths, 1.0, growth, ti, tj, shift)
        if gap(0.0)[0] < 1e-6:
            continue
        got = paths.pair(0, 1, 1.0, UNTIL, ti, tj, shift, growth)
        expected = sampled_contact(gap, UNTIL)
        if expected == np.inf and got < np.inf:
            # a graze between two samples: accept it if it is one
            assert abs(gap(got)[0]) < 1e-12 and gap(got)[1] <= 0
        else:
            assert got == expected or got == pytest.approx(expected, abs=1e-13 + 1e-13 / abs(gap(expected)[1]))
            found += expected < np.inf
    assert found > 80


def graze(seed, eps):
    """Return paths whose least distance is 1 + eps times the contact distance, that distance, and where it is."""
    paths = random_paths(seed)
    place = closest(gap_at(paths, 0.0, 0.0, 0.0, 0.0, 0.0), UNTIL)
    if place is None:
        return None
    least = np.sqrt(gap_at(paths, 0.0, 0.0, 0.0, 0.0, 0.0)(place)[0])
    if least < 0.2:
        return None
    return paths, least / (1 + eps), place


@pytest.mark.parametrize("eps", [1e-6, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13])
def test_a_miss_however_close_is_a_miss(eps):
    tried = 0
    for case in (graze(seed, eps) for seed in range(150)):
        if case:
            tried += 1
            assert case[0].pair(0, 1, case[1], UNTIL) == np.inf
    assert tried > 40


@pytest.mark.parametrize("eps", [1e-6, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13])
def test_a_hit_however_slight_is_a_hit(eps):
    """The first root lies before the closest point, by sqrt(2 depth / curvature), and the pair still approaches."""
    tried = 0
    for case in (graze(seed, -eps) for seed in range(150)):
        if not case:
            continue
        tried += 1
        paths, d, place = case
        gap = gap_at(paths, d, 0.0, 0.0, 0.0, 0.0)
        s = paths.pair(0, 1, d, UNTIL)
        f, slope = gap(s)
        assert s <= place + 1e-8
        assert abs(f) < 4e-14 * max(d * d, 1.0)
        assert slope <= 1e-7 and sampled_contact(gap, s * (1 - 1e-6)) == np.inf
        if eps > 1e-12:
            assert slope < 0
    assert tried > 40


def test_which_bead_searches_does_not_matter():
    for seed in range(300):
        paths = random_paths(seed)
        rng = np.random.default_rng(seed)
        ti, tj, shift = *rng.uniform(0, 0.3, 2), rng.normal(size=3)
        for just_hit in (False, True):
            args = {"growth": 0.02, "just_hit": just_hit}
            one = paths.pair(0, 1, 1.0, UNTIL, ti, tj, shift, **args)
            other = paths.pair(1, 0, 1.0, UNTIL, tj, ti, -shift, **args)
            assert one == other


def test_the_limit_changes_no_bit():
    hits = 0
    for seed in range(300):
        paths = random_paths(seed)
        whole = paths.pair(0, 1, 1.0, UNTIL)
        if whole == np.inf:
            assert paths.pair(0, 1, 1.0, UNTIL, limit=0.7) == np.inf
            continue
        hits += 1
        for limit in (whole * (1 + 1e-9), 0.5 * (whole + UNTIL)):
            assert paths.pair(0, 1, 1.0, UNTIL, limit=limit) == whole
        if whole > 0:
            assert paths.pair(0, 1, 1.0, UNTIL, limit=0.9 * whole) > 0.9 * whole
    assert hits > 100


def test_straight_paths_given_as_curves():
    """Order 1 reads the line; a cubic of no curvature (but a bend bound) finds the same time."""
    rng = np.random.default_rng(5)
    for _ in range(100):
        a, b = rng.normal(size=(2, 2, 3))
        b[0] = a[0] + 3 * rng.normal(size=3)
        b[1] = a[1] + (a[0] - b[0]) * rng.uniform(0.5, 2) + 0.1 * rng.normal(size=3)
        curved = np.concatenate([a, 1e-300 * np.ones((2, 3))]), np.concatenate([b, 1e-3 * np.ones((1, 3))])
        expected = straight_contact(*(a[0] - b[0]), *(a[1] - b[1]), 1.0, 0.0, 0.0, False)
        bent = Paths(np.concatenate([a, 1e-3 * np.ones((1, 3))]), curved[1]).pair(0, 1, 1.0, UNTIL)
        if np.linalg.norm(a[0] - b[0]) > 1.01:
            assert bent == pytest.approx(expected, abs=1e-12) if expected < UNTIL else bent == np.inf


def parabola(gap, speed, pull):
    """Return two paths along x whose distance is 1 + gap + speed s - pull s^2 / 2."""
    return Paths([[0.0, 0, 0], [0.0, 0, 0]], [[1.0 + gap, 0, 0], [speed, 0, 0], [-0.5 * pull, 0, 0]])


@pytest.mark.parametrize("gap", [0.0, 3e-13, -3e-13, 3e-15, -3e-15])
@pytest.mark.parametrize("speed", [1e-3, 0.3])
def test_the_pair_that_has_just_hit_is_left_alone_until_it_returns(gap, speed):
    paths = parabola(gap, speed, 1.0)
    back = speed + np.sqrt(speed**2 + 2 * gap)
    assert paths.pair(0, 1, 1.0, UNTIL, just_hit=True) == pytest.approx(back, abs=1e-14 + 4e-13 / speed)
    assert paths.pair(1, 0, 1.0, 0.9 * back, just_hit=True) == np.inf


def test_touching_and_overlapping_pairs():
    for gap in (0.0, 2e-15, -2e-15, -1e-6):
        assert parabola(gap, -0.5, 0.1).pair(0, 1, 1.0, UNTIL) == 0.0
    receding = parabola(-1e-3, 1.0, 1.0)
    assert receding.pair(0, 1, 1.0, UNTIL) == pytest.approx(1 + np.sqrt(1 - 2e-3), abs=0.05)
    assert parabola(0.0, 1.0, 0.1).pair(0, 1, 1.0, UNTIL) == np.inf


@pytest.mark.parametrize("just_hit", [False, True])
def test_an_overlapping_pair_that_parts_but_turns_back_meets_where_it_turns(just_hit):
    """As within a distance that was widened by what the paths may be wrong: not at a root drawn backwards."""
    assert parabola(-0.5, 0.1, 1.0).pair(0, 1, 1.0, UNTIL, just_hit=just_hit) == pytest.approx(0.2, abs=0.1)


def test_a_struck_touching_pair_pressed_together_meets_at_once():
    """Both beads were struck at one instant, but by others: being pressed together is a contact, not a memory."""
    assert straight_contact(1.0, 0.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0, 0.0, True) == 0.0
    assert parabola(0.0, -1.0, 0.1).pair(0, 1, 1.0, UNTIL, just_hit=True) == 0.0
