"""Variants of collocation (Hartmann et al. 2009) and their solvers.

Order, agreement, invariants, what the printed one lacks.
"""

import numpy as np
import pytest

from hpcchain.errors import ConfigError
from hpcchain.model.molecules.bond_graph import BAND, NARROW, build_structure
from hpcchain.propagators.collocation.collocation import SOLVED, SWEEPS, stage_work
from hpcchain.propagators.collocation.gauss_coefficients import gauss_tables
from tests.support import twins
from tests.support.free_motion import build, reference
from tests.support.molecules import GRAPHS, Molecule, chain, ring, star, views
from tests.support.stepping import form, on_bonds

SOLVERS = {
    "index2": ["quasi-newton", "newton"],
    "index1": ["quasi-newton", "newton", "fixed-point"],
    "paper": ["quasi-newton", "newton"],
}


@pytest.mark.parametrize(("bonds", "n", "band"), [(chain(7), 7, 7), (ring(8), 8, 12), (star(3, 2), 7, 13)])
def test_the_order_of_unknowns_is_narrow_and_takes_each_place_once(bonds, n, band):
    structure = build_structure(n, bonds)
    places = structure[structure[NARROW] : structure[NARROW] + n + len(bonds)]
    taken = np.concatenate([*(np.arange(place, place + 3) for place in places[:n]), places[n:]])
    assert np.array_equal(np.sort(taken), np.arange(3 * n + len(bonds)))
    assert structure[BAND] <= band
    for b, (low, high) in enumerate(bonds):
        mine = places[[low, high, n + b]]
        assert mine.max() - mine.min() + 3 <= structure[BAND]


@pytest.mark.parametrize("s", [1, 2, 5, 12])
@pytest.mark.parametrize("variant", SOLVERS)
@pytest.mark.parametrize("name", ["dimer", "chain3", "chain11", "ring6", "star3x2", "two rings"])
def test_solvers_agree(name, variant, s):
    """A multiplier of `paper` acts through tau^2, so round-off of positions is 1 / tau times as large in velocities."""
    ends = []
    for solver in SOLVERS[variant]:
        m = build(name)
        status, x, _, v, ws = m.collocate(s, 0.06, variant=variant, solver=solver)
        assert status == SOLVED, solver
        assert ws[SWEEPS] <= (6 if solver == "newton" else 25)
        ends.append((x, v))
    for x, v in ends[1:]:
        assert np.abs(x - ends[0][0]).max() < (1e-13 if variant == "paper" else 2e-15)
        assert np.abs(v - ends[0][1]).max() < (3e-12 if variant == "paper" else 2e-14)


@pytest.mark.parametrize("variant", SOLVERS)
def test_newton_finds_long_steps(variant):
    """At tau = 0.8 the printed variant's cheaper solver finds nothing for a thermal chain, the exact one does."""
    m = build("chain3")
    status, x, _, v, _ = m.collocate(8, 0.8, variant=variant, solver="newton")
    assert status == SOLVED
    assert np.abs(x - reference(build("chain3"), 0.8)[0]).max() < 0.05
    assert variant != "paper" or build("chain3").collocate(8, 0.8, variant=variant, solver="quasi-newton")[0] != SOLVED


def test_fixed_point_is_index1s_own():
    with pytest.raises(ConfigError, match='"fixed-point" does not exist for variant "paper"'):
        gauss_tables(3, "paper", "fixed-point")
    assert gauss_tables(3, "index1").solver == gauss_tables(3, "index1", "fixed-point").solver


@pytest.mark.parametrize("variant", ["index1", "paper"])
@pytest.mark.parametrize("name", ["chain4", "ring6", "star3x2"])
def test_stages_satisfy_the_variants_equations(name, variant):
    """The equations of the module's table, by dense matrices, from the stages in the workspace."""
    s, tau = 3, 0.07
    m = build(name)
    status, x_end, _, v_end, ws = m.collocate(s, tau, dense=False, variant=variant)
    assert status == SOLVED
    c, a, weight = twins.gauss(s)
    work = views(stage_work, m.g, m.npad, s, ws)
    interval = tau / c[-1] if variant == "paper" else tau

    def stages(flat):
        return np.array([m.get(one) for one in flat[: 3 * m.npad * s].reshape(s, -1)])

    x, u, f = stages(work.positions), stages(work.velocities), stages(work.accelerations)
    assert np.abs(x - (m.x + interval * np.einsum("jk,kic->jic", a, u))).max() < 1e-14
    if variant == "paper":
        assert max(np.abs(twins.lengths(m.bonds, xj) - twins.lengths(m.bonds, m.x)).max() for xj in x) < 3e-15
        assert np.array_equal(x_end, x[-1]) and np.array_equal(v_end, u[-1])
        return
    for j in range(s):
        bond, rate = (y[j][m.bonds[:, 1]] - y[j][m.bonds[:, 0]] for y in (x, u))
        force = f[j][m.bonds[:, 1]] - f[j][m.bonds[:, 0]]
        assert np.abs(np.sum(bond * force + rate * rate, axis=1)).max() < 1e-13 * np.sum(rate**2)


@pytest.mark.parametrize(
    ("variant", "s", "counts", "order"),
    [
        ("index1", 1, (32, 64, 128), 2),
        ("index1", 2, (16, 32, 64), 4),
        ("index1", 3, (9, 14, 20), 6),
        ("index1", 4, (6, 8, 11), 8),
        ("paper", 2, (64, 128, 256), 2),
        ("paper", 3, (32, 64, 128), 3),
        ("paper", 4, (24, 48, 96), 4),
    ],
)
def test_order(variant, s, counts, order):
    """Positions: 2s for index1, and s only for the printed variant."""
    time, errors = 0.7, []
    exact = reference(build("chain4"), time)[0]
    for count in counts:
        x, _ = build("chain4").steps(s, time / count, count, projected=False, variant=variant, solver="newton")
        errors.append(np.abs(x - exact).max())
    assert min(errors) > 2e-13, "at round-off there is no slope to fit"
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert abs(slope - order) < 0.4, (slope, errors)


@pytest.mark.parametrize(
    ("variant", "s", "order"),
    [
        ("index2", 1, 3),
        ("index2", 2, 5),
        ("index1", 2, 5),
        ("paper", 1, 2),
        ("paper", 3, 4),
    ],
)
def test_symplectic_to_its_own_order(variant, s, order):
    """The defect of a step's Jacobian: 2s + 1, that of its error. As printed, to s + 1 only.

    Gauss collocation keeps the form exactly where disturbed stages lie on the bonds. Those of index2 do to order s + 1
    only: their lengths' rates vanish there, not the lengths' errors.
    """
    steps = (0.1, 0.05, 0.025)
    defects = [abs(np.divide(*forms_of(build("chain4"), s, tau, variant)) - 1) for tau in steps]
    assert min(defects) > 1e-11, "at round-off there is no slope to fit"
    slope = np.polyfit(np.log(steps), np.log(defects), 1)[0]
    assert abs(slope - order) < 0.4, (slope, defects)


def forms_of(m, s, tau, variant, eps=1e-4):
    """Return the symplectic form of two disturbances that keep the bonds, after a step and before it.

    By fourth-order differences.
    """
    random = np.random.default_rng(8)

    def ends(x, v, size):
        x = m.x + size * x
        for _ in range(4):
            x = on_bonds(m, x)
        v = twins.project(m.bonds, x, m.v + size * v, m.mass)
        moved = Molecule(m.bonds, x, v, m.mass)
        _, x_end, v_end, _, _ = moved.collocate(s, tau, variant=variant, solver="newton")
        return np.array([x_end, v_end]), np.array([x, v])

    changes = []
    for _ in range(2):
        disturbance = twins.project(m.bonds, m.x, random.normal(size=m.x.shape), m.mass), random.normal(size=m.x.shape)
        near, back, far, further_back = (ends(*disturbance, k * eps) for k in (1, -1, 2, -2))
        changes.append(
            [(8 * (a - b) - (c - d)) / (12 * eps) for a, b, c, d in zip(near, back, far, further_back, strict=True)]
        )
    return [form(m.mass, one, other) for one, other in zip(*changes, strict=True)]


def test_index1_keeps_momenta_and_the_rate_of_bonds_but_not_the_energy():
    drift = []
    counts = (40, 80, 160)
    for count in counts:
        m = build("chain4")
        x, v = m.steps(2, 2.0 / count, count, projected=False, variant="index1")
        before, after = twins.invariants(m.x, m.v, m.mass), twins.invariants(x, v, m.mass)
        assert np.abs(after[1:] - before[1:]).max() < 1e-13
        assert np.abs(twins.gradient(m.bonds, x) @ v.ravel()).max() < 1e-13
        drift.append(abs(after[0] / before[0] - 1))
    assert abs(-np.polyfit(np.log(counts), np.log(drift), 1)[0] - 4) < 0.4


def test_the_printed_variants_energy_drifts_and_index2s_does_not():
    """After twice the time the printed variant's error has about doubled: no bound, however small the step."""
    errors = {}
    for variant in ("paper", "index2"):
        for count in (1000, 2000):
            m = build("chain4")
            x, v = m.steps(4, 0.1, count, projected=False, variant=variant)
            errors[variant, count] = twins.invariants(x, v, m.mass)[0] / twins.invariants(m.x, m.v, m.mass)[0] - 1
            if variant == "paper":
                assert np.abs(twins.lengths(m.bonds, x) / twins.lengths(m.bonds, m.x) - 1).max() < 1e-12
    assert abs(errors["paper", 1000]) > 1e-6
    assert 1.5 < errors["paper", 2000] / errors["paper", 1000] < 2.5
    assert max(abs(errors["index2", count]) for count in (1000, 2000)) < 1e-12


@pytest.mark.parametrize("variant", ["index2", "index1"])
def test_motion_backwards_returns_to_the_start(variant):
    m = build("ring6")
    m.steps(3, 0.08, 30, projected=False, variant=variant)
    x, v = m.steps(3, -0.08, 30, projected=False, variant=variant)
    assert np.abs(x - m.x).max() < 1e-11
    assert np.abs(v - m.v).max() < 1e-11


def test_the_printed_variant_does_not_return():
    m = build("chain4")
    m.steps(3, 0.08, 30, projected=False, variant="paper")
    x, _ = m.steps(3, -0.08, 30, projected=False, variant="paper")
    assert np.abs(x - m.x).max() > 1e-4


@pytest.mark.parametrize("name", GRAPHS)
def test_every_graph_has_a_narrow_order(name):
    n, bonds = GRAPHS[name]
    structure = build_structure(n, bonds)
    assert 3 <= structure[BAND] <= 3 * n + len(bonds) + 3
