"""Bond algebra and Taylor series of any bond graph, against dense algebra, exact motions and conservation laws."""

import numpy as np
import pytest

from hpcchain.propagators.taylor.graph import (
    SERIES_HEADER,
    SERIES_LAST,
    SERIES_PREVIOUS,
    graph_bonds,
    paired_factor,
    paired_size,
    paired_solve,
    series_duration,
    series_tension,
)
from tests.support import twins
from tests.support.molecules import FO, GRAPHS, KMAX, Molecule, chain, random_molecule, ring

graphs = pytest.mark.parametrize("name", GRAPHS)


def build(name, seed=1):
    n, bonds = GRAPHS[name]
    return random_molecule(bonds, n, seed)


@graphs
def test_operators_equal_dense_matrices(name):
    m = build(name)
    m.factor()
    rng = np.random.default_rng(2)
    g = twins.gradient(m.bonds, m.x)
    v, mu = rng.normal(size=(m.n, 3)), rng.normal(size=len(m.bonds))
    assert np.allclose(m.gv(v), g @ v.ravel(), rtol=0, atol=1e-14 * 30)
    assert np.allclose(m.gt(mu), (g.T @ mu).reshape(-1, 3) / m.mass[:, None], rtol=0, atol=1e-14 * 100)


@graphs
def test_solution_satisfies_the_dense_system(name):
    m = build(name)
    redundant = m.factor()
    t = twins.tension_matrix(m.bonds, m.x, m.mass)
    assert redundant == len(m.bonds) - np.linalg.matrix_rank(t, tol=1e-10)
    rhs = t @ np.random.default_rng(3).normal(size=len(m.bonds))
    mu = m.solve(rhs)
    assert np.allclose(t @ mu, rhs, rtol=0, atol=1e-12 * max(1, np.abs(t).max(initial=0)))
    if redundant == 0 and len(mu):
        assert np.allclose(mu, np.linalg.solve(t, rhs), rtol=1e-9, atol=1e-11)


@graphs
def test_solution_of_a_steps_jacobian_satisfies_the_dense_system(name):
    """Redundant bonds apart, whose right sides agree where beads are, but not on the way."""
    m = build(name)
    if m.factor() or not len(m.bonds):
        return
    rng = np.random.default_rng(5)
    x = m.x + rng.normal(scale=0.03, size=m.x.shape)
    end, fac = np.zeros(3 * m.stride), np.full(FO + paired_size(m.g), np.nan)[FO:]
    graph_bonds(m.g, m.flat(x), end)
    paired_factor(m.g, end, m.b, m.im, fac)
    j = twins.gradient(m.bonds, x) @ (twins.gradient(m.bonds, m.x) / np.repeat(m.mass, 3)).T
    rhs = rng.normal(size=len(m.bonds))
    mu = rhs.copy()
    paired_solve(m.g, fac, mu)
    assert np.allclose(mu, np.linalg.solve(j, rhs), rtol=1e-9, atol=1e-11)


@graphs
def test_projection_removes_bond_rates(name):
    m = build(name)
    m.factor()
    v = np.random.default_rng(4).normal(size=(m.n, 3))
    assert np.abs(m.gv(v - m.gt(m.solve(m.gv(v))))).max(initial=0) < 1e-12


@graphs
def test_series_equals_the_dense_recursion(name):
    m = build(name)
    order, _ = m.taylor(kmax=10)
    expected = twins.taylor(m.bonds, m.x, m.v, m.mass, 10)
    for k, (found, wanted) in enumerate(zip(m.series(order), expected, strict=False)):
        scale = max(1.0, np.abs(expected[: k + 1]).max())
        assert np.allclose(found, wanted, rtol=0, atol=1e-11 * scale), k
    if len(m.bonds):
        assert order == 10


@graphs
def test_padding_stays_zero(name):
    m = build(name)
    order, _ = m.taylor(kmax=6)
    block = m.ser[: 3 * m.npad * (order + 1)].reshape(-1, m.npad)
    assert np.all(block[:, m.n :] == 0.0)
    assert np.all(m.b.reshape(3, m.stride)[:, len(m.bonds) :] == 0.0)


def test_dimer_turns_on_a_circle():
    mass = np.array([1.0, 3.0])
    x = np.array([[0.0, 0, 0], [2, 0, 0]])
    v = np.array([[0.1, -1.5, 0.3], [0.1, 0.5, 0.3]])
    m = Molecule([(0, 1)], x, v, mass)
    m.taylor()
    centre, drift = mass @ x / 4, mass @ v / 4
    cos, sin = twins.factorial_series(1.0, KMAX)
    for bead in range(2):
        radius = x[bead, 0] - centre[0]
        expected = np.zeros((KMAX + 1, 3))
        expected[0], expected[1] = centre, drift
        expected[:, 0] += radius * cos
        expected[:, 1] += radius * sin
        assert np.allclose(m.series(KMAX)[:, bead], expected, rtol=0, atol=2e-15)


def test_straight_rotating_chain_stays_a_rod():
    place = np.array([-1.5, -0.5, 0.5, 1.5])
    x = place[:, None] * np.array([1.0, 0, 0])
    m = Molecule(chain(4), x, 0.7 * place[:, None] * np.array([0, 1.0, 0]), np.ones(4))
    m.taylor()
    cos, sin = twins.factorial_series(0.7, KMAX)
    shape = np.stack([cos, sin, 0 * cos], axis=1)
    assert np.allclose(m.series(KMAX), place[None, :, None] * shape[:, None, :], rtol=0, atol=1e-15)


def test_equilateral_triangle_spins_about_its_axis():
    angle = 2 * np.pi * np.arange(3) / 3
    x = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    axis = np.array([0, 0, 1.3])
    m = Molecule(ring(3), x, np.cross(axis, x), np.full(3, 2.0))
    m.taylor()
    cos, sin = twins.factorial_series(1.3, KMAX)
    turned = np.cross([0, 0, 1.0], x)
    expected = cos[:, None, None] * x + sin[:, None, None] * turned
    assert np.allclose(m.series(KMAX), expected, rtol=0, atol=1e-15)


def test_redundant_bonds_move_like_the_rigid_body_they_make():
    n, bonds = GRAPHS["complete5"]
    over = random_molecule(bonds, n, 7)
    enough = Molecule(bonds[:-1], over.x, over.v, over.mass)
    over.taylor(kmax=8)
    enough.taylor(kmax=8)
    scale = np.abs(enough.series(8)).max(axis=(1, 2), keepdims=True)
    assert np.allclose(over.series(8) / scale, enough.series(8) / scale, rtol=0, atol=1e-12)


@graphs
def test_a_short_segment_conserves_to_round_off(name):
    m = build(name, seed=5)
    order, ws = m.taylor()
    h = 0.5 * min(1.0, series_duration(ws, order, 1e-16))
    x, v = twins.evaluate(m.series(order), h)
    before, after = twins.invariants(m.x, m.v, m.mass), twins.invariants(x, v, m.mass)
    assert np.abs(after - before).max() < 2e-13 * max(1.0, np.abs(before).max())
    assert np.abs(twins.lengths(m.bonds, x) - twins.lengths(m.bonds, m.x)).max(initial=0) < 5e-14
    assert np.abs(twins.gradient(m.bonds, x) @ v.ravel()).max(initial=0) < 1e-12


def test_order_stops_when_both_last_terms_are_small():
    m = build("chain11")
    h, tol = 1e-3, 1e-10
    order, ws = m.taylor(h, tol)
    terms = np.linalg.norm(m.series(order), axis=2).max(axis=1) * h ** np.arange(order + 1)
    assert 3 <= order < KMAX
    assert max(terms[-2:]) < tol <= max(terms[-3:-1])
    assert ws[SERIES_LAST] * h**order == pytest.approx(terms[-1], rel=1e-12)
    assert ws[SERIES_PREVIOUS] * h ** (order - 1) == pytest.approx(terms[-2], rel=1e-12)


def test_first_order_tried_is_kmin():
    assert build("chain4").taylor(1e-9, 1.0, kmin=6)[0] == 6


def test_series_duration_meets_the_tolerance():
    m = build("ring5")
    tol = 1e-12
    order, ws = m.taylor(10.0, tol, kmax=8)
    h = series_duration(ws, order, tol)
    terms = np.linalg.norm(m.series(8), axis=2).max(axis=1) * h ** np.arange(9)
    assert order == 8
    assert max(terms[-2:]) == pytest.approx(tol, rel=1e-9)


def test_workspace_keeps_bond_and_tension_series():
    m = build("chain4")
    order, ws = m.taylor(kmax=8)
    k = 5
    bond = ws[SERIES_HEADER + 3 * k * m.stride :][: 3 * m.stride].reshape(3, -1)[:, :3].T
    assert np.allclose(bond, np.diff(m.series(8)[k], axis=0), rtol=1e-13, atol=0)
    tension = ws[series_tension(m.g, 8) :][:3]
    rate = np.sum(np.diff(m.v, axis=0) ** 2, axis=1)
    assert np.allclose(twins.tension_matrix(m.bonds, m.x, m.mass) @ tension, rate, rtol=1e-12, atol=0)
    assert order == 8
