"""One step of SHAKE/RATTLE and of the variational midpoint.

Solvers against a dense twin and each other, order 2, symplectic and reversible, what many steps conserve, and the bound
of its cubic.
"""

import numpy as np
import pytest

from hpcchain.errors import ConfigError
from hpcchain.propagators.catalogue import STEP_SOLVER_CODES
from hpcchain.propagators.steps.null_space import tree_walk
from hpcchain.propagators.steps.rattle_and_variational import ITERATIONS, NOT_SOLVED, SOLVED
from hpcchain.propagators.steps.step_molecule import cubic_error, to_grid
from hpcchain.propagators.taylor.graph import graph_bonds
from tests.support import twins
from tests.support.free_motion import build, reference, thermal
from tests.support.molecules import GRAPHS, Molecule, chain, ring
from tests.support.stepping import dense_step, form, march, on_bonds, state, step, still

SHAPES = ["dimer", "chain3", "chain11", "ring3", "ring6", "star3x2", "tetrahedron", "tree9", "two rings"]


@pytest.mark.parametrize("tau", [0.1, 0.03, 0.003])
@pytest.mark.parametrize("name", SHAPES)
def test_all_solvers_give_the_dense_twins_step(name, tau):
    m = build(name)
    tau *= 0.3 if name == "tree9" else 1.0  # its bonds are long, and it turns fast
    v, x = dense_step(m.bonds, m.x, m.v, m.mass, tau)
    for solver in STEP_SOLVER_CODES:
        if solver == "null-space" and len(m.bonds) >= m.n:
            continue
        status, rate, end, _, _ = step(m, tau, solver)
        assert status == SOLVED
        assert np.abs(end - x).max() < 1e-14 * np.abs(m.x).max() * 3
        assert np.abs(rate - v).max() < 1e-12 * max(1.0, np.abs(m.v).max())


def test_newton_counts():
    """docs/theory/numerics.md: 2 to 4 iterations from a good guess; sweeps take more, and more for a longer chain."""
    short, long = thermal(chain(4), 4), thermal(chain(30), 30)
    assert 2 <= step(short, 0.1)[4][ITERATIONS] <= 4
    assert 2 <= step(long, 0.05)[4][ITERATIONS] <= 4
    assert step(long, 0.05, "sweeping")[4][ITERATIONS] > 10


@pytest.mark.parametrize("name", ["chain4", "ring5", "star3x2"])
def test_order_2(name):
    errors, time, counts = [], 0.6, (24, 48, 96)
    wanted = reference(build(name), time)
    for count in counts:
        found = march(build(name), time / count, count)
        errors.append([np.abs(a - b).max() for a, b in zip(found, wanted, strict=True)])
    slopes = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert np.all(np.abs(slopes - 2) < 0.2), slopes


@pytest.mark.parametrize("name", ["chain4", "ring5", "star3x2"])
def test_symplectic(name):
    """The form sum m (dq1 . dv2 - dq2 . dv1) of two disturbances that keep the bonds is the same after a step.

    Central differences: what is left is their own error, eps^2. A step whose reaction acts along the bonds at its end
    instead of its start is as accurate and not symplectic: the test sees that.
    """
    m, tau, eps = build(name), 0.15, 1e-4
    random = np.random.default_rng(8)

    def disturbed(direction, size):
        x = m.x + size * direction[0]
        for _ in range(4):
            x = on_bonds(m, x)
        v = twins.project(m.bonds, x, m.v + size * direction[1], m.mass)
        moved = Molecule(m.bonds, x, v, m.mass)
        _, rate, end, _, _ = step(moved, tau)
        other = x + tau * v
        for _ in range(40):
            other = on_bonds(m, other)
        crooked = other, still(moved, other, (other - x) / tau)
        return np.array([x, v]), np.array([end, still(moved, end, rate)]), np.array(crooked)

    pairs = [
        (twins.project(m.bonds, m.x, random.normal(size=m.x.shape), m.mass), random.normal(size=m.x.shape))
        for _ in range(2)
    ]
    ends = [[(a - b) / (2 * eps) for a, b in zip(disturbed(d, eps), disturbed(d, -eps), strict=True)] for d in pairs]
    forms = [form(m.mass, one, other) for one, other in zip(*ends, strict=True)]
    assert abs(forms[0]) > 0.1
    assert abs(forms[1] - forms[0]) < 1e-6 * abs(forms[0])
    assert abs(forms[2] - forms[0]) > 1e-3 * abs(forms[0])


@pytest.mark.parametrize("name", ["chain11", "ring6"])
def test_motion_backwards_returns_to_the_start(name):
    m = build(name)
    x, v = march(m, 0.05, 30)
    back = Molecule(m.bonds, x, -v, m.mass)
    x, v = march(back, 0.05, 30)
    assert np.abs(x - m.x).max() < 1e-11
    assert np.abs(v + m.v).max() < 1e-10


@pytest.mark.parametrize(
    ("name", "count", "molecules"), [("chain4", 20_000, 9), ("ring6", 10_000, 9), ("star3x2", 10_000, 9)]
)
def test_many_steps(name, count, molecules):
    """Momenta and bonds to round-off; the energy moves within a band that does not widen.

    Molecules are chaotic, and how far the energy of one goes is chance: the band is that of most of them. It
    would be 1.7 times as wide in the second half of a random walk, and more in that of a drift.
    """
    wider = []
    for seed in range(3, 3 + molecules):
        m = build(name, seed)
        energies = []
        for _ in range(400):
            x, v = march(m, 0.05, count // 400)
            energies.append(twins.invariants(x, v, m.mass)[0])
        before, after = twins.invariants(m.x, m.v, m.mass), twins.invariants(x, v, m.mass)
        assert np.abs(after[1:4] - before[1:4]).max() < 1e-11
        assert np.abs(after[4:] - before[4:]).max() < 1e-10
        assert np.abs(twins.lengths(m.bonds, x) / twins.lengths(m.bonds, m.x) - 1).max() < 1e-11
        energies = np.array(energies) / before[0] - 1
        assert np.abs(energies).max() < 0.02
        wider.append(np.linalg.norm(energies[200:]) / np.linalg.norm(energies[:200]))
    assert np.median(wider) < 1.3


def test_one_step_of_a_rotor_turns_by_the_arcsine():
    """A dimer of rotation speed omega turns by arcsin(omega tau) and keeps omega."""
    m = Molecule([(0, 1)], [[0.5, 0, 0], [-0.5, 0, 0]], [[0, 0.5, 0], [0, -0.5, 0]], [1, 1])
    x, v = march(m, 0.3, 1)
    assert np.arctan2(x[0, 1], x[0, 0]) == pytest.approx(np.arcsin(0.3), abs=1e-15)
    assert np.linalg.norm(v[0]) == pytest.approx(0.5, abs=1e-15)


def test_the_discrete_velocity_starts_the_same_step_as_its_part_on_the_bonds():
    """Why the node's state need not hold V: what V has across the bonds is taken up by the multipliers."""
    m = build("chain11")
    _, v, x, _, _ = step(m, 0.05)
    raw, put = (Molecule(m.bonds, x, np.zeros_like(x), m.mass) for _ in range(2))
    raw.put(1, v)
    put.put(1, still(m, x, v))
    assert np.abs(step(raw, 0.04)[2] - step(put, 0.04)[2]).max() < 2e-15


def test_cubic_is_within_its_bound():
    """Truncated steps leave the cubic by less than `cubic_error`, by far."""
    worst = 0.0
    for seed in range(60):
        n = 3 + seed % 9
        m = thermal(ring(n) if seed % 3 == 0 else chain(n), n, seed=seed)
        tau = 10.0 ** np.random.default_rng(seed).uniform(-2.5, -0.7)
        status, v, x, a, _ = step(m, tau)
        if status != SOLVED:
            continue
        cube = ((v - m.v) / tau - a / 2) / tau
        for s in tau * np.linspace(0.1, 0.9, 9):
            part = step(m, s)
            assert part[0] == SOLVED
            off = part[2] - (m.x + s * m.v + s**2 * a / 2 + s**3 * cube)
            worst = max(worst, np.linalg.norm(off, axis=1).max() / bound(m, x, a / 2, cube, tau))
    assert 0.05 < worst < 0.5


def bound(m, x, square, cube, tau):
    """Return the kernel's bound."""
    start, end = np.zeros((2, 3 * m.stride))
    for bonds, at in ((start, m.x), (end, x)):
        graph_bonds(m.g, m.flat(at), bonds)
    return cubic_error(m.g, m.flat(square), m.flat(cube), start, end, tau)


@pytest.mark.parametrize("solver", ["tridiagonal", "sweeping", "analytic", "multipliers"])
def test_far_too_long_a_step_is_refused(solver):
    n = 6
    with np.errstate(all="ignore"):
        assert step(thermal(ring(n), n), 50.0, solver)[0] == NOT_SOLVED


def test_null_space_is_for_trees():
    with pytest.raises(ConfigError, match="rings"):
        tree_walk(4, np.array(ring(4)))
    with pytest.raises(ConfigError, match="joined"):
        tree_walk(4, np.array([(0, 1), (2, 3), (2, 3)]))


def test_redundant_bonds_change_nothing():
    n, bonds = GRAPHS["complete5"]
    over = thermal(bonds, n)
    enough = Molecule(bonds[:-1], over.x, over.v, over.mass)
    assert np.abs(step(over, 0.05)[2] - step(enough, 0.05)[2]).max() < 1e-12


def test_rest_and_single_beads():
    at_rest = Molecule(chain(3), np.eye(3), np.zeros((3, 3)), np.ones(3))
    status, v, x, _, _ = step(at_rest, 0.5)
    assert status == SOLVED and np.array_equal(x, at_rest.x) and not v.any()
    assert np.array_equal(state(at_rest)[0], at_rest.x)


def test_grid_is_the_same_from_wherever_time_is_split():
    tick, h = 2.0**-5, 0.1
    for k in range(200):
        time = 0.037 * k
        ticks = np.floor(time / tick)
        left = to_grid(ticks, time - ticks * tick, tick, h)
        assert 0 < left <= h
        assert abs((time + left) / h - np.rint((time + left) / h)) < 1e-10
    assert to_grid(0.0, 0.0, tick, h) == h
    assert to_grid(0.0, 3 * h, tick, h) == pytest.approx(h, abs=1e-15)
    assert to_grid(0.0, 0.3 - 1e-12, tick, h) == pytest.approx(h, abs=1e-11)
