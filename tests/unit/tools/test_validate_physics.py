"""The theory that tools/validate_physics compares with, against exact cases; and the manual's table of it."""

import runpy

import numpy as np
import pytest

from tests.reference.theory import TANGENT_DIMERS
from tests.support.launching import ROOT


@pytest.fixture(scope="module")
def tool():
    """What the program defines; it is not to hand over to another Python here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HPCCHAIN_TOOL_ENVIRONMENT", str(ROOT))
        patch.syspath_prepend(str(ROOT / "tools"))
        yield runpy.run_path(str(ROOT / "tools" / "validate_physics"))


@pytest.fixture(scope="module")
def theory(tool):
    """The module of the theories."""
    from physics_cases import theory

    return theory


@pytest.fixture(scope="module")
def cases(tool):
    """The module of the cases."""
    from physics_cases import cases

    return cases


def test_perturbation_theories(theory):
    """Both are Carnahan and Starling's for single spheres, one another's for dimers, and near figures of dimers."""
    assert theory.tpt1(1, 0.3) == theory.carnahan_starling(0.3)
    for fraction, known in TANGENT_DIMERS.items():
        assert theory.tpt1(2, fraction) == pytest.approx(theory.tpt_dimers(2, fraction), rel=1e-14)
        assert theory.tpt1(2, fraction) == pytest.approx(known, rel=0.012)


def test_dimers_of_monte_carlo_and_flory(theory):
    """The fit has nearly Isihara's second virial coefficient; Flory's theory is it for dimers, and near TPT beyond."""
    slope = (theory.tildesley_streett(1e-6) - 1) / 1e-6
    assert slope == pytest.approx(5.444, abs=0.02)
    for fraction, known in TANGENT_DIMERS.items():
        assert theory.tildesley_streett(fraction) == pytest.approx(known, rel=0.003)
        assert theory.flory_dimers(2, fraction) == theory.tildesley_streett(fraction)
    assert theory.flory_dimers(16, 0.3) == pytest.approx(theory.tpt_dimers(16, 0.3), rel=0.05)


def test_published_diffusion(theory):
    """Of a thin gas it is the first Sonine approximation; near the density where the fit ends nothing moves."""
    assert theory.speedy_diffusion(1e-6) == pytest.approx(3 / (8 * np.sqrt(np.pi) * 6e-6 / np.pi), rel=1e-5)
    assert theory.speedy_diffusion(0.1) == pytest.approx(theory.enskog_diffusion(0.1, np.inf), rel=0.1)
    assert abs(theory.speedy_diffusion(np.pi / 6 * 1.09)) < 1e-15


def test_transport_of_a_thin_gas(theory):
    """Chapman and Enskog's ratios at no density; the bulk viscosity is that of the viscosity's sum by hand."""
    thin = theory.enskog_conductivity(1e-9) / theory.enskog_viscosity(1e-9)
    assert thin == pytest.approx(15 / 4 * 1.02513 / 1.016, rel=1e-6) and theory.enskog_bulk_viscosity(1e-9) < 1e-15
    dilute, y = 5 / (16 * np.sqrt(np.pi)) * 1.016, 1.2 * theory.contact_value(0.3)
    assert theory.enskog_bulk_viscosity(0.3) == pytest.approx(1.0025 * dilute * 1.2 * y, rel=1e-3)


def test_the_tail_of_velocities_by_hand(theory):
    """Density 0.573, D 0.151, nu 1.277: 0.0054 at time 2 of an endless system."""
    assert theory.velocity_tail(0.3, 2.0, np.inf) == pytest.approx(0.0054, rel=0.01)
    assert theory.velocity_tail(0.3, 8.0, np.inf) * 8 == pytest.approx(theory.velocity_tail(0.3, 2.0, np.inf))
    assert theory.velocity_tail(0.3, 2.0, 100) == theory.velocity_tail(0.3, 2.0, np.inf) - 0.01


def test_second_virial_coefficient(theory):
    """2 pi / 3 of spheres; of tangent dimers 5.444 times their volume (Isihara 1950)."""
    spheres = theory.second_virial(np.zeros((400, 1, 3)), seed=1)
    assert spheres[0] == pytest.approx(2 * np.pi / 3)
    dimers = theory.second_virial(theory.chains_alone(2, seed=1), seed=2)
    assert abs(dimers[0] - 5.444 * np.pi / 3) < 3 * dimers[1] < 0.06


def test_pivot_moves_have_the_weight_of_rigid_bonds(theory):
    """Trimers have the angles of the closed form; springs would be 5 % off."""
    position = theory.chains_alone(3, seed=3, molecules=20_000, turns=30)
    cosine = theory.cosines(np.diff(position, axis=1))[:, 0]
    for values, known in zip((cosine, cosine**2), theory.trimer_angles(), strict=True):
        assert abs(values.mean() - known) < 3 * values.std() / np.sqrt(len(values))
    assert not theory.overlapping(position).any()


def test_metric_is_the_determinant(theory):
    cosine = np.random.default_rng(4).uniform(-0.5, 1, size=(5, 6))
    for row, found in zip(cosine, theory.log_metric(cosine), strict=True):
        matrix = 2 * np.eye(7) - np.diag(row, 1) - np.diag(row, -1)
        assert found == pytest.approx(0.5 * np.log(np.linalg.det(matrix)), abs=1e-13)


def test_excluded_volume_and_order(theory):
    """Spheres keep 4 pi / 3 away at any angle; thin rods lose their order at low density."""
    angles = np.array([0.0, 0.7, np.pi / 2])
    assert theory.excluded_volume(1, angles, seed=6) == pytest.approx(4 * np.pi / 3, rel=0.02)
    across = theory.excluded_volume(10, angles, seed=6)
    assert np.all(np.diff(across) > 0)
    assert abs(theory.parsons_lee_order(10, 0.05)) < 1e-3 < 0.8 < theory.parsons_lee_order(10, 0.3)


def test_modes_that_bonds_allow(cases):
    """The motion w stretches no bond; w . w is what is left of the displacement: as dense linear algebra has both."""
    random = np.random.default_rng(7)
    position, velocity = random.normal(size=(2, 1, 1, 5, 3))
    shape = random.normal(size=5)
    top, low = cases.projected(position, velocity, shape)
    bond = np.diff(position[0, 0], axis=0)
    gradient = np.zeros((4, 5, 3))
    for k in range(4):
        gradient[k, k], gradient[k, k + 1] = -bond[k], bond[k]
    gradient = gradient.reshape(4, 15)
    left = np.eye(15) - np.linalg.pinv(gradient) @ gradient
    moves = [left @ np.outer(shape, np.eye(3)[axis]).ravel() for axis in range(3)]
    assert low[0, 0] == pytest.approx(sum(move @ move for move in moves), rel=1e-12)
    assert top[0, 0] == pytest.approx(sum((move @ velocity.ravel()) ** 2 for move in moves), rel=1e-12)


def test_the_manual_has_a_row_of_every_case(tool):
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (ROOT / "docs" / "physics.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and "`" in line
    ]
    assert {row[1].split("`")[1] for row in rows} == set(tool["CASES"])
    assert all(abs(float(row[-1])) <= 3 for row in rows)
