"""Free rotation.

Against exact arithmetic, against SciPy, over long times, and the null-space step of Leyendecker et al. 2012.
"""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from hpcchain.model.numerics import double_double
from hpcchain.model.rotation import Rotation, angle_per_step, times, unit
from hpcchain.papers import directors as paper

TWO_PI = Decimal("6.283185307179586476925286766559005768394338798750211641949889184615632812572417997256069650684")
TIMES = [0.0, 1e-9, 0.1, 1.0, math.pi, 1234.567, 1e6, 3e9 + 0.3, 7e12 + 0.3, 1e15]


def random_spheres(n, seed=0, speed=3.0):
    """Return unit quaternions (n, 4) and angular velocities (n, 3)."""
    rng = np.random.default_rng(seed)
    return unit(rng.normal(size=(n, 4))), speed * rng.normal(size=(n, 3))


def turned(start, velocity, time, rate=None):
    """Return one sphere's quaternion, its angle reduced in decimals of 90 digits; `rate`: not the angular speed."""
    with localcontext() as context:
        context.prec = 90
        speed = sum(Decimal(float(w)) ** 2 for w in velocity).sqrt()
        half = (speed if rate is None else rate) * Decimal(time) / 2
        angle = float(half - TWO_PI * (half / TWO_PI).to_integral_value())
        axis = [float(Decimal(float(w)) / speed) for w in velocity]
    return times(np.array([[math.cos(angle), *(math.sin(angle) * a for a in axis)]]), start[None])[0]


@pytest.mark.parametrize("time", TIMES)
def test_the_rotation_is_exact_at_any_time(time):
    start, velocity = random_spheres(200)
    found = Rotation(start, velocity, np.zeros(200)).at(time)
    wanted = np.array([turned(*sphere, time) for sphere in zip(start, velocity, strict=True)])
    assert np.abs(found - wanted).max() < 1e-15


def test_the_rotation_is_scipys():
    rotation = pytest.importorskip("scipy.spatial.transform").Rotation
    start, velocity = random_spheres(100, seed=1)
    found = Rotation(start, velocity, np.zeros(100)).at(0.77)
    wanted = rotation.from_rotvec(0.77 * velocity) * rotation.from_quat(start, scalar_first=True)
    assert np.abs(rotation.from_quat(found, scalar_first=True).as_matrix() - wanted.as_matrix()).max() < 1e-14


def test_orientations_stay_unit_and_begin_where_they_were():
    start, velocity = random_spheres(1000, seed=2)
    rotation = Rotation(start, velocity, np.zeros(1000))
    assert np.array_equal(rotation.at(0.0), start)
    for time in (1e6, 1e6 + 0.1, 1e12):
        assert np.abs(np.linalg.norm(rotation.at(time), axis=1) - 1.0).max() < 1e-15


def test_the_paths_between_two_times_turn_by_the_angular_velocity():
    start, velocity = random_spheres(50, seed=3)
    rotation, dt = Rotation(start, velocity, np.zeros(50)), 1e-3
    before, after = rotation.at(2.0 - dt), rotation.at(2.0 + dt)
    back = before * [1.0, -1.0, -1.0, -1.0]
    assert np.allclose(times(after, back)[:, 1:] / dt, velocity, rtol=0.0, atol=2e-4)


def test_a_sphere_at_rest_keeps_its_orientation_and_tiny_spins_are_no_trouble():
    start, _ = random_spheres(3)
    velocity = np.array([[0.0, 0.0, 0.0], [1e-200, 0.0, 0.0], [0.0, -1e-60, 0.0]])
    assert np.array_equal(Rotation(start, velocity, np.zeros(3)).at(5.0), start)


def test_the_bits_of_a_sphere_depend_on_no_other():
    start, velocity = random_spheres(1000, seed=4)
    step = np.where(np.arange(1000) % 3 == 0, 0.02, 0.0)
    together = Rotation(start, velocity, step).at(17.3)
    for part in (np.arange(7), np.arange(7, 500), np.arange(999, -1, -1), np.array([3])):
        alone = Rotation(start[part], velocity[part], step[part]).at(17.3)
        assert alone.tobytes() == together[part].tobytes()


def test_double_double_numbers():
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 100)) * 10.0 ** rng.integers(-20, 20, (2, 100))
    vectors = rng.normal(size=(100, 3)) * 10.0 ** rng.integers(-40, 40, (100, 1))
    with localcontext() as context:
        context.prec = 400
        for k in range(100):
            x, y, v = Decimal(a[k]), Decimal(b[k]), [Decimal(w) for w in vectors[k]]
            found = [
                tuple(map(Decimal, map(float, pair)))
                for pair in (double_double.product(a[k], b[k]), double_double.total(a[k], b[k]))
            ]
            assert sum(found[0]) == x * y and sum(found[1]) == x + y
            ratio = sum(Decimal(float(part)) for part in double_double.quotient(a[k], b[k]))
            length = sum(Decimal(float(part[0])) for part in double_double.length(vectors[k : k + 1]))
            assert abs(ratio / (x / y) - 1) < Decimal("1e-31")
            assert abs(length / sum(w * w for w in v).sqrt() - 1) < Decimal("1e-30")


@pytest.mark.parametrize("h", [0.01, 0.1, 0.2])
def test_the_angle_per_step_is_that_of_the_papers_newton_step(h):
    """The step of Leyendecker et al. 2012 and the closed form have the same directors, node after node."""
    pair = paper.Pair(paper.Spheres([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0]], np.zeros((2, 3))), h)
    pair.tolerance = 1e-15
    course = pair.run(until=19.5 * h)
    still = np.tile([1.0, 0.0, 0.0, 0.0], (2, 1))
    rotation = Rotation(still, paper.SPIN, np.full(2, h))
    assert len(course.node_position) == 21
    for node, found in enumerate(course.node_position):
        q = rotation.at(node * h)
        assert np.abs(found[paper.DIRECTORS] - np.concatenate([rows_of(one) for one in q])).max() < 1e-12 * max(node, 1)
    moment, speed = 2.0 * paper.DIRECTOR_MASS, np.linalg.norm(paper.SPIN, axis=1)
    angle = angle_per_step(h * speed)
    assert abs(np.sum(moment * (1.0 - np.cos(angle))) / h**2 / paper.rotation_energy(paper.SPIN, h) - 1) < 1e-12


def rows_of(q):
    """Return the directors of a quaternion: the axes x, y and z, turned."""
    axes = np.column_stack([np.zeros(3), np.eye(3)])
    many = np.tile(q, (3, 1))
    return times(times(many, axes), many * [1.0, -1.0, -1.0, -1.0])[:, 1:]


def test_steps_turn_at_a_uniform_rate_between_nodes_for_any_time():
    start, velocity = random_spheres(20, seed=6)
    h = 0.05
    found = Rotation(start, velocity, np.full(20, h)).at(1e5 + 0.02)
    for sphere in range(20):
        speed = float(double_double.length(velocity[sphere : sphere + 1])[0][0])
        with localcontext() as context:
            context.prec = 60
            rate = Decimal(float(angle_per_step(np.array([h * speed]))[0])) / Decimal(h)
        wanted = turned(start[sphere], velocity[sphere], 1e5 + 0.02, rate)
        assert np.abs(found[sphere] - wanted).max() < 1e-15


def test_steps_tend_to_the_exact_rotation_at_order_two():
    start, velocity = random_spheres(10, seed=7)
    exact = Rotation(start, velocity, np.zeros(10)).at(3.0)
    errors = [np.abs(Rotation(start, velocity, np.full(10, h)).at(3.0) - exact).max() for h in (0.02, 0.01, 0.005)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(orders - 2.0) < 0.1)
