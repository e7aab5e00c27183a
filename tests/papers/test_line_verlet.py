"""The step of Tapia-McClung and Grønbech-Jensen 2005.

Its two forms, its figures, its order, and that it sets the geometry right by itself.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from hpcchain.model.molecules import rod_matrices
from hpcchain.papers import line_verlet as lv

CONDITIONS = json.loads((Path(__file__).parents[1] / "data" / "p002_conditions.json").read_text())


def random_line(n, seed, damping=1.0):
    """Return a Line of unequal particles at unequal distances, with unequal damping, and a state of it."""
    rng = np.random.default_rng([n, seed])
    place = np.concatenate([[0.0], np.cumsum(rng.uniform(0.5, 1.5, n - 1))])
    line = rod_matrices.Line(rng.uniform(0.5, 4.0, n), place, damping * rng.uniform(0.0, 1.0, n))
    return line, *lv.state(line, rng.normal(size=3), rng.normal(size=3), rng.normal(size=3), rng.normal(size=3))


def nothing(position):
    """Return no forces."""
    return np.zeros_like(position)


def springs(position):
    """Return forces of springs to the origin, one strength per particle."""
    return -np.linspace(0.5, 2.0, len(position))[:, None] * position


def test_condition_numbers_are_those_of_figure_2():
    """k_par = N/2 for N > 3, and k_perp of an independent computation for every N from 3 to 52."""
    for n, wanted in zip(CONDITIONS["N"], CONDITIONS["k_perp"], strict=True):
        across, along = rod_matrices.condition_numbers(int(n))
        assert across == pytest.approx(wanted, rel=1e-10)
        assert along == pytest.approx(1.0 if n == 3 else n / 2, rel=1e-12)


@pytest.mark.parametrize("n", [2, 3, 4, 10, 50])
@pytest.mark.parametrize("force", [nothing, springs])
def test_closed_form_equals_the_multipliers(n, force):
    line, x, v = random_line(n, 1)
    for got, wanted in zip(*(lv.step(line, x, v, 0.05, force, closed) for closed in (True, False)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=0, atol=3e-13 * n)


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("n", [3, 10, 50])
def test_one_step_sets_a_disturbed_geometry_right(n, closed):
    line, x, v = random_line(n, 2)
    rng = np.random.default_rng(1)
    x, v = (rows + 1e-3 * rng.normal(size=x.shape) for rows in (x, v))
    assert min(lv.errors(line, x, v)) > 5e-4
    off, rate = lv.errors(line, *lv.step(line, x, v, 0.05, springs, closed))
    assert off < 1e-15 * n * line.length and rate < 1e-14 * n * line.length


@pytest.mark.parametrize("n", [3, 10])
def test_constraint_forces_have_no_sum_and_no_torque(n):
    line, x, v = random_line(n, 3)
    a = lv.position_weights(line, 0.05)
    free = x + 0.05 * v + a[:, None] * springs(x)
    _, force = lv.solve(line, a, free, x[-1] - x[0])
    scale = np.abs(force).sum()
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-14 * scale)
    np.testing.assert_allclose(np.cross(x, force).sum(axis=0), 0.0, atol=1e-14 * scale * np.abs(x).max())


def test_a_free_line_turns_by_the_arc_sine_of_omega_dt():
    line, x, v = random_line(5, 4, damping=0.0)
    omega = np.linalg.norm(v[-1] - v[0]) / line.length
    dt = 0.4 / omega
    after, _ = lv.step(line, x, v, dt, nothing)
    cosine = (after[-1] - after[0]) @ (x[-1] - x[0]) / line.length**2
    assert np.arccos(cosine) == pytest.approx(np.arcsin(0.4), abs=1e-14)


def test_no_step_where_omega_dt_exceeds_1():
    line, x, v = random_line(5, 4, damping=0.0)
    omega = np.linalg.norm(v[-1] - v[0]) / line.length
    for closed in (True, False):
        lv.step(line, x, v, 0.999 / omega, nothing, closed)
        with pytest.raises(lv.NoStep, match="turns the line too far"):
            lv.step(line, x, v, 1.001 / omega, nothing, closed)


def run(line, x, v, end, steps, force, closed=True):
    """Return the state after a number of equal steps."""
    for _ in range(steps):
        x, v = lv.step(line, x, v, end / steps, force, closed)
    return x, v


def rigid_motion(line, x, v, end, force, steps=800):
    """Return the state of the rigid body itself: Newton's and Euler's equations of centre and axis, by Runge-Kutta.

    M X'' = sum_j (F_j - alpha_j V_j),  I u'' = [sum_j s_j (F_j - alpha_j V_j)] across u - I |u'|^2 u.
    """
    s = (line.place - line.mass @ line.place / line.mass.sum())[:, None]
    inertia, total = float(line.mass @ s[:, 0] ** 2), line.mass.sum()

    def rates(y):
        centre, axis, drift, turn = y
        pull = force(centre + s * axis) - line.damping[:, None] * (drift + s * turn)
        torque = np.sum(s * pull, axis=0)
        bend = (torque - (torque @ axis) * axis) / inertia - (turn @ turn) * axis
        return np.array([drift, turn, pull.sum(axis=0) / total, bend])

    mean, h = line.mass / total, end / steps
    y = np.array([mean @ x, (x[-1] - x[0]) / line.length, mean @ v, (v[-1] - v[0]) / line.length])
    for _ in range(steps):
        one = rates(y)
        two = rates(y + 0.5 * h * one)
        three = rates(y + 0.5 * h * two)
        y = y + h / 6.0 * (one + 2.0 * two + 2.0 * three + rates(y + h * three))
    return y[0] + s * y[1], y[2] + s * y[3]


def gravity(position):
    """Return equal forces on all particles, whatever their mass: they push a line of unequal ones round, too."""
    return np.tile([0.3, -0.2, -1.0], (len(position), 1))


def charges(position):
    """Return the forces of a uniform field on charges of both signs: a pendulum that turns about its centre."""
    return np.linspace(-1.0, 1.5, len(position))[:, None] * np.array([0.0, 0.0, 2.0])


@pytest.mark.parametrize("rate", [0.0, 0.7])
def test_order_two_to_the_exact_rotor(rate):
    """Free, and damped in proportion to mass, where both motions fade exactly."""
    line, x, v = random_line(6, 5)
    line = rod_matrices.Line(line.mass, line.place, rate * line.mass)
    wanted, steps = lv.damped_exactly(line, x, v, rate, 2.0), np.array([100, 200, 400, 800])
    for part in range(2):
        errors = [np.abs(run(line, x, v, 2.0, n, nothing)[part] - wanted[part]).max() for n in steps]
        assert np.polyfit(np.log(2.0 / steps), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.02)


@pytest.mark.parametrize("closed", [True, False], ids=["closed", "multipliers"])
@pytest.mark.parametrize("damping", [0.0, 1.0])
@pytest.mark.parametrize("force", [springs, gravity, charges])
def test_order_two_to_the_rigid_bodys_own_equations(force, damping, closed):
    """Unequal masses, places and damping, which couple drift and turning, and external forces."""
    line, x, v = random_line(6, 6, damping)
    wanted, steps = rigid_motion(line, x, v, 1.0, force), np.array([50, 100, 200])
    for part in range(2):
        errors = [np.abs(run(line, x, v, 1.0, n, force, closed)[part] - wanted[part]).max() for n in steps]
        assert errors[-1] < 1e-3
        assert np.polyfit(np.log(1.0 / steps), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.05)


def test_a_falling_line_reaches_its_exact_end_speed():
    """Damped in proportion to mass, in a field of gravity: it drifts at g / rate, exactly, and turns no more."""
    line, x, v = random_line(5, 8)
    rate, g = 2.0, np.array([0.0, 0.0, -9.8])
    line = rod_matrices.Line(line.mass, line.place, rate * line.mass)
    _, v = run(line, x, v, 20.0, 2000, lambda position: line.mass[:, None] * g)
    np.testing.assert_allclose(v, np.tile(g / rate, (5, 1)), atol=1e-12)


def test_energy_of_a_line_in_a_potential_does_not_drift():
    """Without damping the step is Verlet's with exact constraints: energy swings by O(dt^2) and comes back."""
    line, x, v = random_line(4, 7, damping=0.0)
    stiffness = np.linspace(0.5, 2.0, 4)[:, None]
    spreads = []
    for dt in (0.02, 0.01):
        y, w, energies = x, v, []
        for _ in range(int(60 / dt)):
            y, w = lv.step(line, y, w, dt, springs)
            energies.append(0.5 * np.sum(line.mass[:, None] * w**2) + 0.5 * np.sum(stiffness * y**2))
        early, late = np.array_split(np.array(energies), 2)
        spreads.append(np.ptp(energies))
        assert abs(late.mean() - early.mean()) < 0.1 * spreads[-1]
    assert spreads[0] / spreads[1] == pytest.approx(4.0, abs=0.2)
