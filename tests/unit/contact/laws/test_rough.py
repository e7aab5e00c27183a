"""The law of a contact of rough beads alone, for any response of theirs: random matrices."""

from typing import NamedTuple

import numpy as np
import pytest

from hpcchain.contact.laws.rough import ROUGH, SMOOTH, rough_or_smooth


class Scratch(NamedTuple):
    """What the law needs of a sector."""

    matrix: np.ndarray
    normals: np.ndarray


def contact(rng, slip=1.0):
    """Return the beads' response K, that of the spins, a normal, and a velocity of the surfaces that closes the gap."""
    n = rng.normal(size=3)
    n /= np.linalg.norm(n)
    u = slip * rng.normal(size=3)
    root = rng.normal(size=(3, 3))
    return root @ root.T + 0.02 * np.eye(3), float(rng.uniform(0.05, 3.0)), n, u - (u @ n + rng.rayleigh()) * n


def law(response, c, n, u, e, et, lost=0.0):
    """Return the impulse, the velocity of the surfaces after it, and what the contact is."""
    scratch = Scratch(np.zeros((3, 3)), np.zeros((2, 3)))
    scratch.matrix[:] = response
    impulse = u.copy()
    kind = rough_or_smooth(scratch, n, impulse, c, e, et, lost)
    return impulse, u + whole(response, c, n) @ impulse, kind


def whole(response, c, n):
    """Return M, the response of the surfaces."""
    return response + c * (np.eye(3) - np.outer(n, n))


def split(response, n, u):
    """Return the normal velocity and the slip that does not depend on it."""
    coupled = response @ n / (n @ response @ n)
    return u @ n, u - (u @ n) * coupled


def gain(response, c, n, u, after):
    """Return the change of the energy."""
    inverse = np.linalg.inv(whole(response, c, n))
    return 0.5 * (after @ inverse @ after - u @ inverse @ u)


def rough_impulse(response, c, n, u, e, et):
    """Return the impulse of the law as it is where nothing pulls."""
    un, w = split(response, n, u)
    coupled = response @ n / (n @ response @ n)
    return np.linalg.solve(whole(response, c, n), -(1.0 + e) * un * coupled - (1.0 - et) * w)


def test_no_contact_pulls_or_wins_energy():
    rng, kinds = np.random.default_rng(22), []
    for _ in range(4000):
        e, et = rng.uniform(0.0, 1.0), rng.uniform(-1.0, 0.99)
        response, c, n, u = contact(rng, 3.0)
        impulse, after, kind = law(response, c, n, u, e, et)
        kinds.append(kind)
        un, w = split(response, n, u)
        size = np.linalg.norm(u)
        assert impulse @ n > 0.0
        assert after @ n == pytest.approx(-e * un, abs=1e-9 * size)
        np.testing.assert_allclose(split(response, n, after)[1], (et if kind == ROUGH else 1.0) * w, atol=1e-9 * size)
        expected = -0.5 * (1.0 - e**2) * un**2 / (n @ response @ n)
        if kind == ROUGH:
            expected -= 0.5 * (1.0 - et**2) * w @ np.linalg.inv(whole(response, c, n)) @ w
        else:
            np.testing.assert_allclose(impulse, impulse @ n * n, atol=1e-14 * np.linalg.norm(impulse))
        kept = u @ np.linalg.inv(whole(response, c, n)) @ u
        assert gain(response, c, n, u, after) == pytest.approx(expected, abs=1e-9 * kept)
        assert gain(response, c, n, u, after) < 1e-10 * kept
    assert 400 < kinds.count(SMOOTH) < 3600 and set(kinds) == {ROUGH, SMOOTH}


def test_only_what_would_pull_and_its_mirror_image_are_smooth():
    rng, pulled = np.random.default_rng(4), 0
    for _ in range(2000):
        e, et = rng.uniform(0.0, 1.0), rng.uniform(-1.0, 0.99)
        response, c, n, u = contact(rng, 3.0)
        impulse, _, kind = law(response, c, n, u, e, et)
        un, w = split(response, n, u)
        turned = u - 2.0 * w
        pulls = [rough_impulse(response, c, n, each, e, et) @ n <= 0.0 for each in (u, turned)]
        assert kind == (SMOOTH if any(pulls) else ROUGH)
        assert law(response, c, n, turned, e, et)[2] == kind
        if kind == ROUGH:
            np.testing.assert_allclose(impulse, rough_impulse(response, c, n, u, e, et), rtol=1e-8, atol=1e-9)
        pulled += any(pulls)
    assert 200 < pulled < 1800


def test_what_keeps_energy_can_be_gone_back():
    """At e_n = 1, e_t = -1: from what comes out, turned round, comes what went in; so Liouville's measure is kept."""
    rng, kinds = np.random.default_rng(8), []
    for _ in range(2000):
        response, c, n, u = contact(rng, 3.0)
        _, after, kind = law(response, c, n, u, 1.0, -1.0)
        _, again, same = law(response, c, n, -after, 1.0, -1.0)
        assert kind == same
        kinds.append(kind)
        np.testing.assert_allclose(again, -u, atol=1e-10 * np.linalg.norm(u))
    assert 200 < kinds.count(SMOOTH) < 1800


@pytest.mark.parametrize("lost", [1e-2, -1e-3])
def test_energy_that_was_lost_is_given_back(lost):
    rng, kinds = np.random.default_rng(9), []
    for _ in range(500):
        response, c, n, u = contact(rng, 3.0)
        impulse, after, kind = law(response, c, n, u, 1.0, -1.0, lost)
        kinds.append(kind)
        assert impulse @ n > 0.0
        if (u @ n) ** 2 + 2.0 * (n @ response @ n) * lost > 0.0:
            kept = u @ np.linalg.inv(whole(response, c, n)) @ u
            assert gain(response, c, n, u, after) == pytest.approx(lost, abs=1e-9 * kept)
    assert set(kinds) == {ROUGH, SMOOTH}


def test_beads_that_cannot_be_pushed_across_are_smooth():
    """Held by bonds so that they move along the normal alone, without a spin of their own."""
    n, u = np.array([0.0, 0.6, 0.8]), np.array([0.4, -0.3, -1.0])
    impulse, _, kind = law(2.0 * np.outer(n, n), 0.0, n, u, 0.5, -1.0)
    assert kind == SMOOTH
    np.testing.assert_allclose(impulse, -1.5 * (u @ n) / 2.0 * n, rtol=1e-15)


def test_single_beads_never_pull():
    """The response of single beads is the same along all directions: their slip leaves the normal alone."""
    rng = np.random.default_rng(10)
    for _ in range(300):
        _, c, n, u = contact(rng, 50.0)
        impulse, _, kind = law(np.eye(3) * rng.uniform(0.1, 3.0), c, n, u, 0.0, -1.0)
        assert kind == ROUGH
        assert impulse @ n > 0.0
