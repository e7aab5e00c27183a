"""Autocorrelations of fluxes and what follows: known correlations, plain sums, and runs without a plateau."""

import numpy as np
import pytest

from hpcchain.analysis.correlate import lags_of
from hpcchain.analysis.figures import transport
from hpcchain.analysis.figures.transport import BLOCKS, BULK, HEAT, SHEAR, FluxSeries, products, trace, traceless
from hpcchain.analysis.study import Wanted, study
from hpcchain.errors import DataError
from tests.support.analysed import write_run

STEP, TIME, SQUARE, SUDDEN = 0.1, 1.0, 0.5, 0.7
"""Reports' distance; the centres' part decays in TIME from SQUARE; contacts' part is white and adds SUDDEN to it."""


def stresses(seeds, reports, step=STEP, time=TIME):
    """Return centres (reports, 5) and contacts (reports - 1, 5) of each seed: the former of Ornstein and Uhlenbeck."""
    rng = np.random.default_rng(5)
    drawn = rng.normal(size=(reports, seeds, 5))
    keep = np.exp(-step / time)
    centres = [drawn[0]]
    for row in drawn[1:]:
        centres.append(keep * centres[-1] + np.sqrt(1.0 - keep**2) * row)
    contacts = np.sqrt(2.0 * SUDDEN / step) * rng.normal(size=(reports - 1, seeds, 5))
    centres = np.sqrt(SQUARE) * np.array(centres)
    return [(centres[:, seed], contacts[:, seed]) for seed in range(seeds)]


def numbers(series):
    """Return name -> Value of the numbers that a series gives."""
    return {found.figure: found for found in series.figures() if hasattr(found, "why")}


def test_errors_are_honest():
    """Of 60 seeds: the deviations over their errors have no mean and a root mean square of about 1."""
    found = [numbers(FluxSeries(SHEAR, STEP, *one, 1.0)) for one in stresses(60, 8000)]
    assert sum("viscosity_green_kubo" in one for one in found) > 50
    for name in ("viscosity", "viscosity_green_kubo"):
        own = [one[name] for one in found if "viscosity_green_kubo" in one]
        z = np.array([(value.value - SQUARE - SUDDEN) / value.error for value in own])
        assert 0.8 < np.sqrt(np.mean(z**2)) < 1.35 and abs(z.mean()) < 0.4
        assert np.mean([value.error for value in own]) < 0.1 * (SQUARE + SUDDEN)


@pytest.mark.parametrize(("of", "components"), [(BULK, 1), (HEAT, 3)])
def test_of_pressure_and_of_heat(of, components):
    """The same numbers of one component about its mean, which is far from zero, and of three; errors are honest."""
    found, mean = [], 30.0 * (of is BULK)
    for centres, contacts in stresses(30, 16000):
        flux = centres[:, :components] + 0.4 * mean, contacts[:, :components] + 0.6 * mean
        found.append(numbers(FluxSeries(of, STEP, *flux, 1.0)))
    found = [one for one in found if not one[of.name].why]
    assert len(found) > 24
    for name in (of.name, f"{of.name}_green_kubo"):
        z = np.array([(one[name].value - SQUARE - SUDDEN) / one[name].error for one in found])
        assert 0.7 < np.sqrt(np.mean(z**2)) < 1.6 and abs(z.mean()) < 0.5


def test_no_plateau_is_seen_before_molecules_have_turned():
    """A slow part may hide in the noise, so lags below the molecules' correlation time are no plateau."""
    [one] = stresses(1, 8000)
    plateau = numbers(FluxSeries(SHEAR, STEP, *one, 1.0))["stress_plateau"].value
    late = numbers(FluxSeries(SHEAR, STEP, *one, 1.0, memory=10.0))
    assert plateau < 10.0 <= late["stress_plateau"].value
    longer = numbers(FluxSeries(SHEAR, STEP, *one, 1.0, memory=25.0))
    assert list(longer) == ["viscosity"] and "twice the molecules' correlation time of 25" in longer["viscosity"].why


def test_what_the_mean_takes_of_a_fluctuation_is_put_back():
    """Of white noise whose mean is not known the integral and the moment are right at each lag, also at long ones."""
    noise, expected = np.random.default_rng(3).normal(size=(400, 1601, 1)), 0.5 * STEP
    found = []
    for one in noise:
        series = FluxSeries(BULK, STEP, np.zeros((1602, 1)), one, 1.0)
        lags = lags_of(81)
        sums, origins = series.sums(lags)
        found.append(sums.sum(axis=0) / origins.sum())
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    _, integral, moment = (slice(k * len(lags) + 1, (k + 1) * len(lags)) for k in range(3))
    assert np.all(np.abs(mean[integral] - expected) < 3.5 * error[integral])
    assert np.all(np.abs(mean[moment] - expected * STEP * lags[1:]) < 3.5 * error[moment])
    assert 2.0 * 80 / 1601 * expected > 3.5 * error[integral][-1]  # what would be lost there


def test_the_correlation_is_that_of_the_stress():
    """G(t) within errors, at lags from a report on: white noise has none there; means of it are off by Δ² / τ²."""
    [one] = stresses(1, 60000)
    curve = next(
        found for found in FluxSeries(SHEAR, STEP, *one, 2.0).figures() if found.figure == "stress_correlation"
    )
    early = curve.x < 3.0
    exact = 2.0 * SQUARE * np.exp(-curve.x / TIME)
    assert np.all(np.abs(curve.value - exact)[early] < 4.0 * curve.error[early] + 0.002 * exact[early])
    assert np.sum(early) > 20 and curve.x[0] == STEP


def test_sums_are_plain_sums():
    """The products by transforms, their integral by trapezoids, and the squares of Helfand's moment."""
    [(centres, contacts)] = stresses(1, 401)
    series, lags = FluxSeries(SHEAR, STEP, centres, contacts, 3.0), lags_of(21)
    sums, origins = series.sums(lags)
    shear = contacts + 0.5 * (centres[1:] + centres[:-1])
    count = len(shear) - lags[-1]
    assert sums.shape == (5 * BLOCKS, 3 * len(lags)) and origins.sum() == 5 * count
    correlation = np.array([np.sum(shear[:count] * shear[lag : count + lag]) for lag in lags])
    integral = STEP * np.array([np.trapezoid(correlation[: lag + 1]) for lag in lags])
    squares = [
        sum(np.sum((STEP * shear[first : first + lag].sum(axis=0)) ** 2) for first in range(count)) for lag in lags
    ]
    expected = 3.0 * np.concatenate([correlation, integral, 0.5 * np.array(squares)])
    assert sums.sum(axis=0) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert products(shear, 400).shape == (1, 5)


def test_components_have_equal_squares():
    """Of a random symmetric tensor without direction; a pressure that is the same along all axes has none of them."""
    rng = np.random.default_rng(2)
    vectors = rng.normal(size=(200000, 3))
    squares = np.mean(traceless(vectors[:, :, None] * vectors[:, None, :]) ** 2, axis=0)
    assert squares == pytest.approx(np.ones(5), rel=0.03)
    assert np.array_equal(traceless(np.eye(3)[None]), np.zeros((1, 5)))
    assert np.array_equal(trace(np.diag([1.0, 2.0, 6.0])[None]), [[3.0]])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (dict(reports=2000, time=10.0), "has not come to zero"),
        (dict(reports=8000, step=1.0), "report_every below"),
        (dict(reports=8000, flow=0.4), "the mean of the stress xz is 0."),
    ],
)
def test_where_there_is_no_plateau_there_is_no_number(change, why):
    """A stress that outlives the run, reports too far apart, a flow."""
    flow = change.pop("flow", 0.0)
    [(centres, contacts)] = stresses(1, **change)
    contacts[:, 1] += flow
    found = numbers(FluxSeries(SHEAR, change.get("step", STEP), centres, contacts, 1.0))
    assert list(found) == ["viscosity"] and np.isnan(found["viscosity"].value)
    assert why in found["viscosity"].why


def test_an_uncertain_viscosity_is_none(monkeypatch):
    [one] = stresses(1, 8000)
    value = numbers(FluxSeries(SHEAR, STEP, *one, 1.0))["viscosity"]
    monkeypatch.setattr(transport, "SURE", 0.9 * value.error / value.value)
    assert "make the run longer" in numbers(FluxSeries(SHEAR, STEP, *one, 1.0))["viscosity"].why


def run_of(folder, centres, contacts, names=("kinetic_pressure", "collisional_pressure")):
    """Write a run of one bead in a cube of edge 2 at temperature 4, whose reports have these shear stresses."""
    reports, none = [], np.full((1, 5), np.nan)
    for row in zip(centres, np.concatenate([none, contacts]), strict=True):
        tensors = [np.eye(3) + sum(s * np.eye(3)[i][:, None] * np.eye(3)[j] for s, i, j in pairs(one)) for one in row]
        reports.append({"temperature": 4.0, "kinetic_energy": 6.0} | dict(zip(names, tensors, strict=True)))
    times = STEP * np.arange(len(reports))
    return write_run(folder, [1], np.zeros((len(reports), 1, 3)), edge=2.0, reports=reports, times=times)


def pairs(shear):
    """Return (value, i, j) of the off-diagonal components xy, xz, yz, both of each."""
    return [(s, *ij) for s, pair in zip(shear, ((0, 1), (0, 2), (1, 2)), strict=False) for ij in (pair, pair[::-1])]


def test_of_a_run(tmp_path):
    """Reports from the start on, the run's volume over its temperature; what is needed is named where it is missing."""
    [(centres, contacts)] = stresses(1, 600)
    centres[:, 3:], contacts[:, 3:] = 0.0, 0.0
    report = study(run_of(tmp_path / "run", centres, contacts), Wanted(50 * STEP - 0.01, ("stress",)))
    expected = FluxSeries(SHEAR, STEP, centres[50:], contacts[50:], 2.0)
    for name in ("stress_correlation", "stress_integral", "stress_moment"):
        exact = next(found for found in expected.figures() if found.figure == name)
        assert report.curve(name).value == pytest.approx(exact.value, rel=1e-6, abs=1e-9)
        assert report.curve(name).error == pytest.approx(exact.error, rel=1e-6, abs=1e-9)
    other = run_of(tmp_path / "other", centres[:170], contacts[:169], ("other", "collisional_pressure"))
    assert "kinetic_pressure" in study(other, Wanted(0.0)).left_out["stress"]
    short = study(run_of(tmp_path / "short", centres[:161], contacts[:160]), Wanted(STEP))
    assert "160 reports" in short.left_out["stress"]


def test_of_the_heat_of_a_run(tmp_path):
    """V over T² of one kind of molecules at rest; else, and where energy changes, there is no number, and why."""
    [(centres, contacts)] = stresses(1, 200)
    place, names = np.zeros((200, 3, 3)), ("kinetic_heat_flux", "collisional_heat_flux")

    def report_of(name, lengths=(1, 1), moving=0.0, losing=0.0, figures=("heat_flux",)):
        rows = zip(centres[:, :3], np.concatenate([np.full((1, 3), np.nan), contacts[:, :3]]), strict=True)
        reports = [
            {
                "temperature": 4.0,
                "kinetic_energy": 6.0 + losing * k,
                "momentum": np.full(3, moving),
                **dict(zip(names, row, strict=True)),
            }
            for k, row in enumerate(rows)
        ]
        at = place[:, : sum(lengths)] + np.arange(sum(lengths))[:, None]
        run = write_run(tmp_path / name, list(lengths), at, edge=2.0, reports=reports, times=STEP * np.arange(200))
        return study(run, Wanted(0.0, figures))

    report = report_of("right")
    expected = FluxSeries(HEAT, STEP, centres[:, :3], contacts[:, :3], 8.0 / 16.0)
    exact = next(found for found in expected.figures() if found.figure == "heat_flux_moment")
    assert report.curve("heat_flux_moment").value == pytest.approx(exact.value, rel=1e-9)
    for name, change, why in (
        ("kinds", {"lengths": (1, 2)}, "kinds or sizes of molecules"),
        ("moving", {"moving": 0.1}, "centre of mass of all moves"),
        ("losing", {"losing": -1e-3}, "energy is not conserved"),
        ("other", {"figures": ("stress",)}, "no kinetic_pressure and collisional_pressure"),
    ):
        with pytest.raises(DataError, match=why):
            report_of(name, **change)
