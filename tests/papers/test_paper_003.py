"""Kaufman and Pai 2012: its integrators' orders, symplecticity, energies and momenta; quick runs of its experiments."""

import numpy as np
import pytest

from hpcchain.papers import experiments, inclusion_runs, inclusions
from hpcchain.papers import inclusion_baselines as baselines
from hpcchain.papers import inclusion_systems as systems
from hpcchain.papers.inclusions import Method
from hpcchain.papers.result import check

DEAR = ("003-fig11", "003-figs4-7")
"""They take longer than the others together."""


@pytest.fixture(scope="module")
def results(request):
    """Quick results by name, of the dear ones with --long."""
    known = experiments.found()
    names = [name for name in known if name.startswith("003-") and (name not in DEAR or request.config.option.long)]
    made = {name: known[name].run(True) for name in names}
    for name, result in made.items():
        check(name, result)
    return made


def test_all_figures_are_there_and_agree(results):
    names = ["003-fig10", "003-fig11", "003-fig3", "003-fig8", "003-figs4-7", "003-figs6-9"]
    assert [name for name in experiments.found() if name.startswith("003-")] == names
    rows = [row for result in results.values() for table in result.tables for row in table.rows]
    assert len(rows) > (30 if len(results) == len(names) else 20)
    assert [row.quantity for row in rows if "NOT AGREE" in row.why] == []


@pytest.mark.parametrize("build", [systems.pogo, systems.oscillator, systems.cradle, systems.chain])
def test_slopes_and_gradients_are_the_derivatives(build):
    system, q, _ = build()
    q = q + 0.01 * np.random.default_rng(2).normal(size=len(q))
    steps = 1e-5 * np.eye(len(q))
    slope = [(system.potential(q + e) - system.potential(q - e)) / 2e-5 for e in steps]
    assert np.allclose(slope, system.slope(q), rtol=1e-6, atol=1e-6 * (1.0 + np.abs(slope).max()))
    curved = system.curvature(q)
    assert np.allclose(systems.differences(system.slope, q), curved, atol=1e-5 * (1.0 + np.abs(curved).max()))
    for constraint in (system.gaps, system.holds):
        values = np.array([(constraint(q + e)[0] - constraint(q - e)[0]) / 2e-5 for e in steps])
        assert np.allclose(values, constraint(q)[1], atol=1e-8)


def state_after(system, method, q, p, time):
    """Return position and momentum after a time."""
    for _ in range(round(time / method.h)):
        q, p = inclusions.step(system, method, q, p)
    return np.concatenate([q, p])


@pytest.mark.parametrize("base", ["verlet", "midpoint"])
def test_smooth_motion_is_of_order_two(base):
    system, q, p = systems.chain()
    steps = (0.008, 0.004, 0.002)
    exact = state_after(system, Method(0.00025, base), q, p, 0.04)
    errors = [np.abs(state_after(system, Method(h, base), q, p, 0.04) - exact).max() for h in steps]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("base", ["verlet", "midpoint"])
def test_a_step_without_contacts_is_symplectic(base):
    system, q, p = systems.oscillator()
    n, e = len(q), 1e-5
    method = Method(0.05, base)

    def ends(z):
        return np.concatenate(inclusions.step(system, method, z[:n], z[n:]))

    z = np.concatenate([q, p])
    jacobian = np.array([(ends(z + one) - ends(z - one)) / (2.0 * e) for one in e * np.eye(2 * n)]).T
    form = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    assert np.abs(jacobian.T @ form @ jacobian - form).max() < 1e-8
    assert np.abs(jacobian - np.eye(2 * n)).max() > 1e-3


@pytest.mark.parametrize("base, factor", [("verlet", 1.0), ("midpoint", -0.5)])
def test_reflections_keep_their_own_energy(base, factor):
    """A reflection with the metric W of H2 keeps p W p and turns the rate of W."""
    system, q, p = systems.pogo()
    h, normal = 0.1, np.array([0.0, 1.0])
    weight = inclusions.metric(system, Method(h, base, "H2"), q)
    assert np.allclose(weight, np.eye(2) + factor * h**2 / 6.0 * system.curvature(q))
    impulse, rates = inclusions.reflected(
        np.array([[normal @ weight @ normal]]), np.array([normal @ weight @ np.array([0.5, -2.0])])
    )
    before, after = np.array([0.5, -2.0]), np.array([0.5, -2.0]) + impulse[0] * normal
    assert after @ weight @ after == pytest.approx(before @ weight @ before, rel=1e-13)
    assert rates[0] == pytest.approx(-(normal @ weight @ before), rel=1e-13)


@pytest.mark.parametrize("build, fastest", [(systems.oscillator, 2.0), (systems.pogo, 6.0), (systems.chain, 6.0)])
def test_penetration_is_that_of_two_steps_at_most(build, fastest):
    system, q, p = build()
    h = 0.01
    track = inclusion_runs.follow(system, Method(h, "verlet"), (q, p), 400)
    assert not track.failed and track.deepest < 2.0 * h * fastest


def test_collisions_with_exact_contact_keep_the_gap():
    system, q, p = systems.oscillator()
    track = inclusion_runs.follow(system, Method(0.1), (q, p), 200, baselines.collision)
    assert track.deepest < 1e-9 and np.ptp(track.momentum) < 1e-10


def test_steps_to_contacts_and_from_them_can_be_of_order_four():
    system, q, p = systems.pogo()
    q, p, ends = q + [0.5, 0.1], p + [0.3, -0.2], []
    for parts in (4, 8, 16, 128):
        a, b = q, p
        for _ in range(parts):
            a, b = baselines.fourth(system, Method(0.4 / parts, "verlet"), a, b)
        ends.append(np.concatenate([a, b]))
    off = [np.abs(one - ends[-1]).max() for one in ends[:-1]]
    slopes = -np.diff(np.log2(off))
    assert np.abs(slopes - 4.0).max() < 0.25
    track = inclusion_runs.follow(system, Method(0.1, "verlet", "H"), (q, p), 200, baselines.finer, planar=False)
    assert not track.failed and track.deepest < 1e-9


def test_restitution_of_the_endpoint_rule():
    assert [abs(baselines.restitution(xi)) for xi in (0.0, 0.25, 0.5, 1.0)] == pytest.approx([1.0, 0.5, 0.0, 1.0])


@pytest.mark.long
@pytest.mark.parametrize("energy, low, high", [("H", 0.0, 0.025), ("H2", -0.0115, 0.0145)])
def test_the_pogo_stick_stays_in_its_band_for_very_long(energy, low, high):
    system, q, p = systems.pogo()
    track = inclusion_runs.follow(system, Method(0.1, "verlet", energy), (q, p), 200_000, planar=False)
    least, most = (part / track.energy[0] for part in track.rise)
    assert low - 1e-6 < least and most < high
    moved, band = inclusion_runs.walk(track)
    assert moved < band


@pytest.mark.long
def test_the_oscillator_stays_in_its_band_for_very_long():
    system, q, p = systems.oscillator()
    track = inclusion_runs.follow(system, Method(0.1), (q, p), 100_000)
    assert track.energy.min() > 4.45 and track.energy.max() < 4.62
    assert np.ptp(track.momentum) < 1e-9
