"""Figures of motion against exact cases: free flight, random walks, chains of known modes; evenly spaced frames."""

import csv
import io
import json

import numpy as np
import pytest

from hpcchain.analysis.correlate import autocorrelations, flat, lags_of, square_distances
from hpcchain.analysis.figures.displacement import not_diffusive
from hpcchain.analysis.study import Wanted, evenly_spaced, study
from hpcchain.cli.main import main
from tests.support.analysed import free_chains, write_run


def test_correlations_are_those_of_the_double_sum():
    x = np.random.default_rng(1).normal(size=(11, 4, 3)) + 50.0
    for lag in range(11):
        products = np.sum(x[lag:] * x[: 11 - lag]) / (11 - lag)
        squares = np.sum((x[lag:] - x[: 11 - lag]) ** 2) / (11 - lag)
        assert autocorrelations(flat(x))[lag] == pytest.approx(products)
        assert square_distances(flat(x))[lag] == pytest.approx(squares, abs=1e-9)


def test_lags_are_all_short_ones_and_some_of_the_long():
    assert lags_of(0).tolist() == [] and lags_of(1).tolist() == [0] and lags_of(20).tolist() == list(range(20))
    found = lags_of(10_000)
    assert len(found) < 200 and np.all(np.diff(found) > 0) and found[-1] < 10_000
    assert np.all(np.diff(found)[31:] <= found[32:] / 8)


def test_free_flight_and_wrapping(tmp_path):
    """g3 = v^2 t^2 of molecules that fly straight; images undo the wrapping into the box; velocities never change."""
    rng, frames, molecules, edge = np.random.default_rng(2), 21, 40, 5.0
    speed = rng.normal(size=(molecules, 1, 3))
    time = 0.5 * np.arange(frames)
    way = rng.uniform(0.0, edge, (molecules, 1, 3)) + time[:, None, None, None] * speed
    image = np.floor(way / edge).astype(np.int64)
    position = way - image * edge + np.array([[0.0, 0, 0], [0.7, 0.0, 0.0]])
    image = np.repeat(image, 2, axis=2)
    velocity = np.broadcast_to(speed, (frames, molecules, 2, 3))
    folder = write_run(
        tmp_path,
        [2] * molecules,
        position.reshape(frames, -1, 3),
        velocity.reshape(frames, -1, 3),
        edge,
        times=time,
        image=image.reshape(frames, -1, 3),
    )
    report = study(folder, Wanted(0.0, ("displacement", "velocity_correlation", "end_correlation")))
    g1, g2, g3 = (report.curve(name, "A") for name in ("g1", "g2", "g3"))
    square = np.mean(np.sum(speed**2, axis=2))
    assert g3.value == pytest.approx(square * g3.x**2, rel=1e-9)
    assert g1.value == pytest.approx(g3.value, rel=1e-9)
    assert g2.value == pytest.approx(0.0, abs=1e-9)
    assert report.value("diffusion_exponent", "A").value == pytest.approx(2.0)
    assert np.isnan(report.value("diffusion", "A").value) and "t^2.00" in report.missing()["diffusion A"]
    assert report.curve("velocity_correlation_centre", "A").value == pytest.approx(1.0)
    assert report.value("velocity_square_bead", "A").value == pytest.approx(square)
    assert report.curve("end_correlation", "A").value == pytest.approx(1.0)


def test_a_random_walk_diffuses(tmp_path):
    """Steps of variance 2 D t along each axis: g3 = 6 D t, exponent 1."""
    rng, constant = np.random.default_rng(3), 0.125
    steps = rng.normal(size=(400, 64, 3)) * (2.0 * constant * 0.5) ** 0.5
    folder = write_run(tmp_path, [1] * 64, np.cumsum(steps, axis=0), edge=1000.0, times=0.5 * np.arange(400))
    report = study(folder, Wanted(0.0, ("displacement",)))
    found = report.value("diffusion", "A")
    assert abs(found.value - constant) < 4.0 * found.error and found.error < 0.15 * constant
    assert report.value("diffusion_exponent", "A").value == pytest.approx(1.0, abs=0.15)
    g3 = report.curve("g3", "A")
    early = g3.x <= 10.0
    assert np.all(np.abs(g3.value - 6.0 * constant * g3.x)[early] < 4.5 * g3.error[early])
    assert report.curve("g1", "A") is None


@pytest.mark.parametrize(
    ("exponent", "error", "objection"),
    [
        (1.0, 0.05, ""),
        (1.02, 0.005, ""),
        (1.09, 0.02, "t^1.09"),
        (0.85, 0.08, ""),
        (1.6, 0.1, "g3 grows as t^1.60 from lag 1 to 5, error 0.1; in diffusion it is t^1: make the run longer"),
        (0.8, 0.05, "t^0.80"),
        (1.3, 0.3, "too uncertain"),
        (1.25, 0.2, "t^1.25"),
        (1.0, np.nan, "too uncertain"),
        (1.5, np.nan, "make the run longer"),
        (np.nan, np.nan, "does not grow"),
    ],
)
def test_only_diffusion_has_a_coefficient(exponent, error, objection):
    lag = np.array([1.0, 2.0, 5.0])
    why = not_diffusive(np.array([1.0, *[exponent] * 3]), np.array([0.1, *[error] * 3]), lag)
    assert objection in why and bool(objection) == bool(why)
    late = not_diffusive(np.array([1.0, 1.0, 1.0, 1.4]), np.array([0.1, 0.1, 0.2, 0.1]), lag)
    assert "t^1.40 from lag 2 to 5" in late


def test_why_there_is_no_coefficient_is_said_everywhere(tmp_path, capsys, monkeypatch):
    """Molecules that are caught in cages and do not get farther: in the table, in JSON, CSV and the picture."""
    pytest.importorskip("matplotlib")
    caged = np.random.default_rng(4).normal(size=(60, 30, 3))
    folder, why = write_run(tmp_path / "out", [1] * 30, caged), "in diffusion it is t^1: make the run longer"
    texts = []
    monkeypatch.setattr("matplotlib.figure.Figure.supxlabel", lambda figure, text, **_: texts.append(text))
    words = ["analyze", str(folder), "--from", "0", "--figures", "displacement"]
    assert main([*words, "--plot"]) == 0 and "left out: diffusion A: g3 grows as t^" in texts[0] and why in texts[0]
    table = " ".join(capsys.readouterr().out.split())
    assert "left out: diffusion A: g3 grows as t^" in table and why in table and "dynamics diffusion_exponent" in table
    assert main([*words, "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert why in run["left_out"]["diffusion A"]
    assert [value["value"] for value in run["values"] if value["figure"] == "diffusion"] == [None]
    assert main([*words, "--csv"]) == 0
    (row,) = [row for row in csv.DictReader(io.StringIO(capsys.readouterr().out)) if row["figure"] == "diffusion"]
    assert row["value"] == "" and why in row["left_out"]


def test_rouse_modes_of_freely_jointed_chains(tmp_path):
    """< X_p^2 > = 1 / (8 n sin^2(p pi / 2 n)) bonds^2 of freely jointed chains, each frame anew: no memory."""
    n, molecules, frames = 8, 50, 100
    position = free_chains(4, frames, molecules, n).reshape(frames, -1, 3)
    report = study(write_run(tmp_path, [n] * molecules, position), Wanted(0.0, ("rouse_modes", "end_correlation")))
    squares = report.curve("rouse_squares", "A")
    exact = 1.0 / (8.0 * n * np.sin(squares.x * np.pi / (2.0 * n)) ** 2)
    assert len(squares.x) == n - 1
    assert np.all(np.abs(squares.value - exact) < 4.5 * squares.error)
    assert np.all(squares.error < 0.1 * exact)
    assert report.curve("rouse_times", "A").value == pytest.approx(0.5, abs=0.1)
    assert report.curve("rouse_correlation_1", "A").value[1:10] == pytest.approx(0.0, abs=0.1)
    assert report.value("end_correlation_time", "A").value == pytest.approx(0.5, abs=0.1)


def test_modes_that_are_round_off_have_no_time(tmp_path):
    """The second mode of straight rods of three beads is nothing."""
    ends = np.random.default_rng(6).normal(size=(20, 30, 1, 3))
    position = (np.arange(3.0)[:, None] - 1.0) * ends + 7.0
    report = study(write_run(tmp_path, [3] * 30, position.reshape(20, -1, 3)), Wanted(0.0, ("rouse_modes",)))
    times = report.curve("rouse_times", "A").value
    assert np.isfinite(times[0]) and np.isnan(times[1])


def test_one_molecule_has_errors_over_time(tmp_path):
    steps = np.random.default_rng(5).normal(size=(256, 1, 3))
    report = study(write_run(tmp_path, [1], np.cumsum(steps, axis=0), edge=1e4), Wanted(0.0, ("displacement",)))
    g3 = report.curve("g3", "A")
    assert np.isfinite(g3.error[:10]).all() and g3.error[0] < 0.5


def test_the_last_frame_may_be_off_the_raster_but_not_many():
    assert evenly_spaced(np.array([0.0, 1.0, 2.0, 3.0, 3.2])) == 4
    assert evenly_spaced(np.array([0.0, 1.0, 2.0, 3.0])) == 4
    assert evenly_spaced(np.array([0.0, 1.0, 5.0, 6.0, 7.0])) == 0
    assert evenly_spaced(np.array([1.0])) == 0
