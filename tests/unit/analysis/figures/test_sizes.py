"""Errors of molecules' sizes, against the scatter over seeds of series whose error is known; correlation times."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hpcchain.analysis.correlate import autocorrelations, correlation_times, flat, integrated
from hpcchain.analysis.figures.sizes import ENDS, Sizes
from hpcchain.analysis.kinds import far_ends, kinds_in
from hpcchain.analysis.statistics import Sums, split
from hpcchain.cli import analyze
from hpcchain.cli.main import main
from hpcchain.io.output.assemble import assemble
from hpcchain.io.output.parts import PartWriter
from hpcchain.io.output.trajectory import Lasting
from tests.support.analysed import tables_of
from tests.support.compositions import composition_of
from tests.support.io_samples import chains as chains_of
from tests.support.io_samples import system_of

SEEDS = 12
CHAINS = 10


def vectors(seed, frames, time, chains=CHAINS):
    """Return (frames, chains, 3) normal vectors of variance 1 whose correlation is exp(-t / time); a steady start."""
    rng, decay = np.random.default_rng(seed), math.exp(-1.0 / time)
    found = rng.normal(size=(frames, chains, 3))
    for k in range(1, frames):
        found[k] = decay * found[k - 1] + math.sqrt(1.0 - decay**2) * found[k]
    return found


def write_run(folder, spans):
    """Write a run of dimers whose bonds are `spans` (frames, chains, 3) at times 0, 1, ..."""
    frames, chains, _ = spans.shape
    system = replace(system_of([2] * chains), topology=composition_of(chains_of([2] * chains, ("A", "B"))))
    (folder / "parts").mkdir(parents=True)
    writer = PartWriter(folder / "parts", 0, None, system.topology, log_events=False)
    still = np.zeros((2 * chains, 3))
    for k, span in enumerate(spans):
        position = still.copy()
        position[1::2] = span
        writer.frame(float(k), position, still, still.astype(np.int64))
        writer.report({"temperature": 1.0}, float(k))
    writer.close()
    assemble(folder, None, Lasting(system.topology, system.box), writer.counters)
    return folder


def printed(capsys):
    """Return the sizes of the first kind of molecules, each with its error, that JSON has."""
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    values = {value["figure"]: value for value in run["values"] if value["molecules"] == "A"}
    return [values[name][key] for name in ("end_to_end", "radius_of_gyration") for key in ("value", "error")]


@pytest.mark.parametrize(("frames", "time"), [(40, 200.0), (40, 10.0)])
def test_errors_printed_are_the_scatter_over_seeds(tmp_path, capsys, frames, time):
    found = []
    for seed in range(SEEDS):
        folder = write_run(tmp_path / str(seed), vectors(seed, frames, time))
        assert main(["analyze", str(folder), "--from", "0", "--figures", "sizes", "--json"]) == 0
        found.append(printed(capsys))
    for mean, error in ((0, 1), (2, 3)):
        scatter = np.std([row[mean] for row in found], ddof=1)
        assert 0.7 < scatter / np.mean([row[error] for row in found]) < 1.4


def mean_and_error(values):
    """Return the mean of (frames, chains) values and its error, as figures of single frames have them."""
    frames, groups = split(len(values)), split(values.shape[1])
    by_time = np.add.reduceat(values.sum(axis=1), frames[:-1])[:, None]
    by_group = np.add.reduceat(values.sum(axis=0), groups[:-1])[:, None]
    sums = Sums(by_time, np.diff(frames) * values.shape[1], by_group, np.diff(groups) * len(values))
    value, error = sums.estimate(lambda x: x)
    return float(value[0]), float(error[0])


@pytest.mark.parametrize(
    ("frames", "time", "chains"), [(30, 100.0, 10), (200, 10.0, 10), (2000, 5.0, 10), (400, 1.0, 50), (4000, 20.0, 1)]
)
def test_error_of_a_mean_over_many_seeds(frames, time, chains):
    means, errors = [], []
    for seed in range(60):
        found = mean_and_error(np.sum(vectors(seed, frames, time, chains) ** 2, axis=2))
        means.append(found[0])
        errors.append(found[1])
    assert 0.7 < np.std(means, ddof=1) / np.mean(errors) < 1.3
    assert abs(np.mean(means) - 3.0) < 4.0 * np.mean(errors) / math.sqrt(60)


def test_one_molecule_has_an_error_over_time_and_one_frame_one_over_molecules():
    assert mean_and_error(np.array([[1.0], [3.0]])) == (2.0, pytest.approx(1.0))
    assert mean_and_error(np.array([[1.0, 3.0]])) == (2.0, pytest.approx(1.0))
    mean, error = mean_and_error(np.array([[1.0]]))
    assert mean == 1.0 and math.isnan(error)


def test_the_greater_error_is_taken():
    apart = np.tile([1.0, 3.0], (64, 1))  # differ for ever: all of the error is over molecules
    together = np.repeat([[0.0], [1.0]] * 32, 2, axis=1)  # the same at all times: all of it is over time
    assert mean_and_error(apart) == (2.0, pytest.approx(1.0))
    assert mean_and_error(together)[1] > 0.0


def correlation_time(series):
    """Return the integrated correlation time of (frames, chains, 3) vectors in frames."""
    values = autocorrelations(flat(series))
    return integrated(np.arange(float(len(values))), values / values[0])


@pytest.mark.parametrize("time", [0.2, 3.0, 40.0])
def test_correlation_time_of_a_long_run(time):
    decay = math.exp(-1.0 / time)
    assert correlation_time(vectors(7, 4000, time, chains=30)) == pytest.approx(
        0.5 * (1.0 + decay) / (1.0 - decay), rel=0.12
    )


def test_correlation_of_vectors_that_stay_is_as_long_as_the_run():
    still = np.ones((100, 3, 3))
    assert autocorrelations(flat(still)) == pytest.approx(9.0)
    assert correlation_time(still) > 50.0


def test_correlation_of_a_curve_that_is_known():
    lags = np.arange(200.0)
    assert integrated(lags, np.exp(-lags / 6.0)) == pytest.approx(6.0, rel=0.02)
    assert math.isnan(integrated(lags[:1], np.ones(1)))


@pytest.mark.parametrize(
    ("beads", "bonds", "ends"),
    [
        (1, [], (0, 0)),
        (4, [[0, 1], [1, 2], [2, 3]], (0, 3)),
        (6, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [0, 5]], (0, 3)),
        (7, [[0, 1], [1, 2], [0, 3], [3, 4], [0, 5], [5, 6]], (2, 4)),
        (5, [[0, 2], [2, 4], [1, 4], [1, 3]], (0, 3)),
    ],
)
def test_beads_most_bonds_apart(beads, bonds, ends):
    assert far_ends(beads, np.array(bonds, dtype=np.int64).reshape(-1, 2)) == ends


def test_kinds_whose_molecules_do_not_stand_together():
    found = SimpleNamespace(
        species=np.array([0, 0, 1, 0, 0]),
        molecule=np.array([0, 0, 1, 2, 2]),
        mass=np.ones(5),
        diameter=np.ones(5),
        bonds=np.array([[0, 1], [3, 4]]),
        names=["A", "B"],
    )
    one, other = kinds_in(found)
    assert one.beads.tolist() == [[0, 1], [3, 4]] and other.beads.tolist() == [[2]] and one.linear
    position = np.array([[0.0, 0, 0], [1, 0, 0], [9, 9, 9], [0, 0, 0], [0, 3, 0]])
    assert Sizes(one).add(SimpleNamespace(position=position))[:, ENDS].tolist() == [1.0, 9.0]


def test_a_short_run_is_warned_of_and_a_long_one_is_not(tmp_path, capsys):
    short = write_run(tmp_path / "short", vectors(1, 40, 20.0))
    assert main(["analyze", str(short), "--from", "0"]) == 0
    captured = capsys.readouterr()
    assert captured.err.count("shorter than 5 correlation times") == 2  # of molecules A and of B
    assert captured.err.count("\n") == 2
    assert tables_of(captured.out)["dynamics", "A"]["end_correlation_time"].endswith("(?)")
    longer = write_run(tmp_path / "long", vectors(1, 400, 4.0))
    assert main(["analyze", str(longer), "--from", "0"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    relaxation = tables_of(captured.out)["dynamics", "A"]["end_correlation_time"]
    assert 3.0 < float(relaxation.partition("(")[0]) < 5.5 and not relaxation.endswith("(?)")


def test_a_warning_names_a_lower_bound_as_such(caplog):
    analyze.warn_of_short_run("out/trajectory.h5", "A", 39.0, 37.0)
    analyze.warn_of_short_run("out/trajectory.h5", "A", 39.0, 9.0)
    analyze.warn_of_short_run("out/trajectory.h5", "A", 39.0, math.nan)
    first, second = [record.getMessage() for record in caplog.records]
    assert "at least 37" in first and "at least" not in second


def test_a_correlation_time_that_the_lags_do_not_hold_has_no_error():
    lags, rng = np.arange(100.0), np.random.default_rng(1)
    rows = np.exp(-lags / np.array([[5.0], [60.0]])) + 0.01 * rng.standard_normal((40, 2, 100))
    rows[:, :, 0] = 1.0
    sums = Sums(rows.reshape(40, 200), np.ones(40), rows.reshape(40, 200), np.ones(40))
    times, errors = correlation_times(sums, lags, lambda x: x.reshape(2, 100))
    assert times[0] == pytest.approx(5.0, rel=0.05) and 0.0 < errors[0] < 0.5
    assert 40.0 < times[1] < 60.0 and math.isnan(errors[1])
    nothing, unknown = correlation_times(sums, lags, lambda x: np.full((1, 100), np.nan))
    assert math.isnan(nothing[0]) and math.isnan(unknown[0])
