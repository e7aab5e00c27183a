"""Gauss collocation of any bond graph: dense twin, order 2s, what it conserves, and what its projection costs."""

import numpy as np
import pytest

from hpcchain.errors import ConfigError
from hpcchain.propagators.collocation.collocation import NOT_SOLVED, SOLVED, SWEEPS, collocation_order
from hpcchain.propagators.collocation.gauss_coefficients import MOST_STAGES, gauss_tables
from tests.support import twins
from tests.support.free_motion import build, reference, thermal
from tests.support.molecules import GRAPHS, Molecule, chain, ring

SHAPES = ["dimer", "chain3", "chain11", "ring3", "ring6", "star3x2", "tetrahedron", "tree9", "two rings"]


@pytest.mark.parametrize("s", range(1, MOST_STAGES + 1))
def test_tables_are_gauss(s):
    tables = gauss_tables(s)
    power = np.arange(2 * s)
    nodes = tables.node[:, None]
    assert np.allclose(tables.weight @ nodes**power, 1 / (power + 1), rtol=0, atol=1e-15)
    k = np.arange(s)
    assert np.allclose(tables.a @ nodes**k, nodes ** (k + 1) / (k + 1), rtol=0, atol=1e-15)
    assert np.allclose(tables.correction @ tables.a, np.eye(s), rtol=0, atol=1e-13)
    interpolated = (nodes ** np.arange(s + 1)) @ tables.monomial[:, :s] @ tables.legendre
    assert np.allclose(interpolated, np.eye(s), rtol=0, atol=1e-15 * np.abs(tables.monomial).max())


@pytest.mark.parametrize("s", [0, MOST_STAGES + 1])
def test_stage_count_is_checked(s):
    with pytest.raises(ConfigError, match="propagator.stages"):
        gauss_tables(s)


@pytest.mark.parametrize("s", [1, 2, 4, 7])
@pytest.mark.parametrize("name", SHAPES)
def test_stages_and_end_equal_dense_newton(name, s):
    m = build(name)
    tau = 0.05
    u, x, v = twins.collocation(m.bonds, m.x, m.v, m.mass, tau, s)
    status, x_end, v_end, v_raw, _ = m.collocate(s, tau)
    assert status == SOLVED
    scale = np.abs(m.v).max()
    assert np.abs(x_end - x).max() < 1e-13
    assert np.abs(v_raw - v).max() < 1e-13 * scale * 10
    assert np.abs(v_end - twins.project(m.bonds, x, v, m.mass)).max() < 1e-13 * scale * 10
    rates = [twins.evaluate(m.series(collocation_order(s)), c * tau)[1] for c in gauss_tables(s).node]
    assert np.abs(np.array(rates) - u).max() < 1e-13 * scale * 10


@pytest.mark.parametrize("s", [1, 3, 8, 12])
def test_polynomial_joins_start_and_end(s):
    m = build("chain11")
    tau = 0.08
    _, x_end, *_ = m.collocate(s, tau)
    series = m.series(collocation_order(s))
    assert np.array_equal(series[0], m.x)
    assert np.array_equal(series[1], m.v)
    assert np.abs(twins.evaluate(series, tau)[0] - x_end).max() < 1e-14


def test_state_within_a_segment_is_a_new_solution_of_full_order():
    m = build("chain3")
    s, tau, theta = 2, 0.2, 0.13
    m.collocate(s, tau)
    before = m.ser.copy()
    _, x, v, _, _ = m.collocate(s, theta, dense=False)
    assert np.array_equal(m.ser, before, equal_nan=True)
    x_true, v_true = reference(m, theta)
    dense_x, dense_v = twins.evaluate(m.series(collocation_order(s)), theta)
    assert np.abs(x - x_true).max() < 0.1 * np.abs(dense_x - x_true).max()
    assert np.abs(v - v_true).max() < 0.1 * np.abs(dense_v - v_true).max()


@pytest.mark.parametrize(
    ("name", "time", "s", "counts"),
    [
        ("chain4", 0.7, 1, (32, 64, 128)),
        ("chain4", 0.7, 2, (16, 32, 64)),
        ("chain4", 0.7, 3, (9, 14, 20)),
        ("chain4", 0.7, 4, (6, 8, 11)),
        ("ring5", 4.0, 1, (32, 64, 128)),
        ("ring5", 4.0, 2, (32, 64, 128)),
        ("ring5", 4.0, 3, (32, 64, 100)),
        ("ring5", 4.0, 4, (32, 40, 50)),
    ],
)
def test_order_is_2s(name, time, s, counts):
    errors = []
    x_true, v_true = reference(build(name), time)
    for count in counts:
        x, v = build(name).steps(s, time / count, count, projected=True)
        errors.append([np.abs(x - x_true).max(), np.abs(v - v_true).max()])
    assert np.min(errors) > 2e-13, "at round-off there is no slope to fit"
    slopes = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert np.all(np.abs(slopes - 2 * s) < 0.35), slopes


@pytest.mark.parametrize(
    ("name", "count"), [("dimer", 10_000), ("chain4", 100_000), ("ring6", 10_000), ("tetrahedron", 10_000)]
)
def test_many_steps_conserve_to_round_off(name, count):
    m = build(name)
    x, v = m.steps(3, 0.05, count, projected=False)
    before, after = twins.invariants(m.x, m.v, m.mass), twins.invariants(x, v, m.mass)
    assert abs(after[0] / before[0] - 1) < 2e-12
    assert np.abs(after[1:4] - before[1:4]).max() < 1e-11
    assert np.abs(after[4:] - before[4:]).max() < 1e-12 * max(1.0, np.abs(x).max())
    assert np.abs(twins.lengths(m.bonds, x) / twins.lengths(m.bonds, m.x) - 1).max() < 2e-12


def test_projection_keeps_momenta_and_only_ever_loses_energy_at_order_2s_plus_1():
    s, time, losses = 2, 2.0, []
    counts = (20, 40, 80)
    for count in counts:
        m = build("chain4")
        x, v = m.steps(s, time / count, count, projected=True)
        before, after = twins.invariants(m.x, m.v, m.mass), twins.invariants(x, v, m.mass)
        assert np.abs(after[1:] - before[1:]).max() < 1e-13
        assert np.abs(twins.gradient(m.bonds, x) @ v.ravel()).max() < 1e-14
        losses.append(1 - after[0] / before[0])
    assert min(losses) > 0
    slope = -np.polyfit(np.log(counts), np.log(losses), 1)[0]
    assert abs(slope - (2 * s + 1)) < 0.4


@pytest.mark.parametrize("name", ["chain11", "ring6"])
def test_motion_backwards_returns_to_the_start(name):
    m = build(name)
    m.steps(3, 0.1, 30, projected=False)
    x, v = m.steps(3, -0.1, 30, projected=False)
    assert np.abs(x - m.x).max() < 1e-11
    assert np.abs(v - m.v).max() < 1e-11


def test_one_step_of_a_rotor_is_the_known_fraction_of_its_angle():
    """A dimer is an integrable case: s = 1 is the midpoint rule on a circle, tan(angle / 2) = omega tau / 2."""
    m = Molecule([(0, 1)], [[0.5, 0, 0], [-0.5, 0, 0]], [[0, 0.5, 0], [0, -0.5, 0]], [1, 1])
    _, x, *_ = m.collocate(1, 0.3)
    assert np.arctan2(x[0, 1], x[0, 0]) == pytest.approx(2 * np.arctan(0.15), abs=1e-15)


def test_redundant_bonds_change_nothing():
    n, bonds = GRAPHS["complete5"]
    over = thermal(bonds, n)
    enough = Molecule(bonds[:-1], over.x, over.v, over.mass)
    (status, *over_end, _), (_, *enough_end, _) = over.collocate(3, 0.05), enough.collocate(3, 0.05)
    assert status == SOLVED
    assert np.abs(np.array(over_end) - np.array(enough_end)).max() < 1e-12


def test_free_bead_and_resting_molecule_need_no_iteration():
    bead = Molecule([], [[1.0, 2, 3]], [[0.5, -1, 2]], [2.0])
    status, x, v, _, ws = bead.collocate(4, 0.5)
    assert (status, ws[SWEEPS]) == (SOLVED, 2)
    assert np.abs(x - [[1.25, 1.5, 4]]).max() < 1e-15
    assert np.abs(v - bead.v).max() == 0
    at_rest = Molecule(chain(3), np.eye(3), np.zeros((3, 3)), np.ones(3))
    status, x, _, _, _ = at_rest.collocate(2, 0.5)
    assert status == SOLVED
    assert np.array_equal(x, at_rest.x)


@pytest.mark.parametrize("shift", [30.0, 3000.0])
def test_round_off_of_far_coordinates_does_not_stall_the_solver(shift):
    near = build("chain4")
    far = Molecule(near.bonds, near.x + shift, near.v, near.mass)
    x, v = far.steps(3, 0.05, 2000, projected=False)
    assert np.abs(twins.lengths(far.bonds, x) - 1).max() < 1e-13 * shift
    assert np.sum(far.mass[:, None] * v**2) == pytest.approx(np.sum(far.mass[:, None] * far.v**2), rel=1e-13 * shift)


def test_far_too_long_a_step_is_refused():
    n = 6
    assert thermal(ring(n), n).collocate(2, 50.0)[0] == NOT_SOLVED


def test_solution_depends_on_the_start_state_alone():
    first, second = build("chain11"), build("chain11")
    second.collocate(4, 0.2)
    wanted, found = first.collocate(4, 0.1), second.collocate(4, 0.1)
    assert all(np.array_equal(a, b) for a, b in zip(wanted[1:4], found[1:4], strict=True))
    assert np.array_equal(first.series(5), second.series(5))
