"""Places of beads along a body's axes, states put onto bodies, and what a file may say of them."""

import numpy as np
import pytest

from hpcchain.model.molecules.bodies import (
    body_bonds,
    body_positions,
    body_sites,
    body_velocities,
    bond_lengths,
    is_thin,
)
from hpcchain.model.molecules.equal_shapes import groups_of
from tests.support.bodies import BENT, CROSS, TETRAHEDRON, random_body, rotation
from tests.support.kernel_tools import make_system
from tests.support.twins import invariants

SITES = {"bent": BENT, "cross": CROSS, "tetrahedron": TETRAHEDRON}


@pytest.mark.parametrize("name", SITES)
def test_places_along_the_axes_are_the_same_body(name):
    rng = np.random.default_rng(3)
    sites, mass = SITES[name], rng.uniform(0.5, 2.0, len(SITES[name]))
    one = body_sites(sites @ rotation(rng).T + [3.0, -2.0, 1.0], mass)
    products = np.einsum("n,ni,nj->ij", mass, one, one)
    assert np.abs(mass @ one).max() < 1e-14 and np.abs(products - np.diag(np.diag(products))).max() < 1e-14
    assert np.all(np.diff(np.diag(products)) <= 0.0) and not is_thin(one, mass)
    away = [np.linalg.norm(x[:, None] - x, axis=2) for x in (one, sites)]
    np.testing.assert_allclose(away[0], away[1], atol=1e-14)
    if name == "tetrahedron":  # not its mirror image
        volume = [np.linalg.det(x[1:] - x[0]) for x in (one, sites)]
        assert volume[0] == pytest.approx(volume[1])


def test_beads_on_a_line_are_thin():
    line = np.arange(4.0)[:, None] * [1.0, -2.0, 0.5]
    for off, thin in ((0.0, True), (1e-4, True), (0.1, False)):
        x = line + off * np.array([0, 1, 0, -1])[:, None] * [0.3, 0.0, 1.0]
        assert is_thin(body_sites(x, np.ones(4)), np.ones(4)) == thin


def test_drawn_bonds_are_the_shortest_tree():
    assert body_bonds(CROSS).tolist() == [[0, k] for k in range(1, 7)]
    assert bond_lengths(CROSS).tolist() == [1.0] * 5 + [0.8]
    assert body_bonds(BENT).tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize("sort", ["asymmetric", "flat", "spherical"])
def test_states_are_put_onto_the_body(sort):
    """What is on it keeps its bits; else momentum stays, and angular momentum but for the shift in place."""
    _, x, v, mass = body = random_body(sort, 6, seed=2)
    (group,) = groups_of(make_system([body], bodies=(0,)).topology.whole())
    on = body_positions(group, x[None])
    assert np.array_equal(on, body_positions(group, on))
    rng = np.random.default_rng(4)
    shaken, hurried = x + 1e-7 * rng.normal(size=x.shape), v + 1e-2 * rng.normal(size=v.shape)
    got = body_positions(group, shaken[None])
    rate = body_velocities(group, got, hurried[None])
    assert np.array_equal(rate, body_velocities(group, got, rate))
    away = [np.linalg.norm(y[:, None] - y, axis=2) for y in (got[0], x)]
    np.testing.assert_allclose(away[0], away[1], atol=3e-15)
    wanted, found = invariants(shaken, hurried, mass), invariants(got[0], rate[0], mass)
    np.testing.assert_allclose(found[1:4], wanted[1:4], atol=1e-13)
    np.testing.assert_allclose(found[4:], wanted[4:], atol=1e-5)
