"""Runs taken together to state points: which ones, means and errors over them, tables, pictures, and Python."""

import csv
import io
import json

import numpy as np
import pytest

import hpcchain
from hpcchain.analysis import points
from hpcchain.analysis.plot import axis_of
from hpcchain.analysis.tables import Curve, Report, Value
from hpcchain.cli.main import main
from hpcchain.config import load_config
from hpcchain.errors import DataError, UsageError
from hpcchain.io.output.runs import DONE, Row, write_runs
from tests.support.analysed import free_chains, write_run

INPUT = """
[box]
packing_fraction = {packed}
[[molecule]]
kind = "chain"
beads = 4
count = 6
[initial]
seed = {seed}
[run]
end_time = 5.0
"""
SEEDS, PACKED = (1, 2, 3), (0.1, 0.2)


def pressure(seed, packed):
    """Return the pressure that a run of the ensemble has in all of its reports."""
    return 10.0 * packed + 0.1 * seed


def one_run(folder, seed, packed):
    """Write a run and its resolved input."""
    position = free_chains(seed, 6, 6, 4).reshape(6, -1, 3)
    reports = [{"temperature": 1.0, "pressure": pressure(seed, packed)} for _ in range(6)]
    write_run(folder, [4] * 6, position, reports=reports)
    (folder / "given.toml").write_text(INPUT.format(seed=seed, packed=packed))
    (folder / "input.toml").write_text(load_config(folder / "given.toml").to_toml())


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Return the folder of an ensemble of three seeds at two packing fractions, and one run that has not begun."""
    home = tmp_path_factory.mktemp("points") / "many"
    rows = []
    for seed in SEEDS:
        for packed in PACKED:
            name = f"seed-{seed}_packing_fraction-{packed}"
            one_run(home / name, seed, packed)
            rows.append(Row(name, {"initial.seed": str(seed), "box.packing_fraction": str(packed)}, DONE, 0))
    rows.append(Row("later", {"initial.seed": "4", "box.packing_fraction": ".1"}))
    write_runs(home, rows)
    return home


def test_state_points_are_runs_that_differ_in_one_key_alone(many, caplog):
    runs = points.runs_in([many])
    assert len(runs) == 6 and "1 of 7 runs have written nothing yet" in caplog.text
    found = points.points_of(runs, "initial.seed")
    assert [point.keys for point in found] == [{"box.packing_fraction": 0.1}, {"box.packing_fraction": 0.2}]
    assert [point.name for point in found] == ["packing_fraction=0.1", "packing_fraction=0.2"]
    assert [len(point.runs) for point in found] == [3, 3] and found[0].runs == runs[::2]
    found = points.points_of(runs, "box.packing_fraction")
    assert [point.keys for point in found] == [{"initial.seed": seed} for seed in SEEDS]


def test_runs_of_no_ensemble_are_compared_by_their_inputs(many, tmp_path):
    """A packing fraction stands as a size in resolved inputs; what changes no results is not compared."""
    for seed, packed in ((1, 0.1), (2, 0.1), (1, 0.2)):
        one_run(tmp_path / f"{seed}-{packed}", seed, packed)
    path = tmp_path / "2-0.1" / "input.toml"
    path.write_text(path.read_text().replace('window = "auto"', "window = 0.1").replace("frame_every", "#"))
    runs = [str(tmp_path / name) for name in ("1-0.1", "2-0.1", "1-0.2")]
    found = points.points_of(runs, "initial.seed")
    assert [len(point.runs) for point in found] == [2, 1] and [list(point.keys) for point in found] == [
        ["box.size"]
    ] * 2
    found = points.points_of(runs, "box.packing_fraction")
    assert [(point.keys, len(point.runs)) for point in found] == [({"initial.seed": 1}, 2), ({"initial.seed": 2}, 1)]
    with pytest.raises(UsageError, match="do not differ in it, they differ in box.size, initial.seed"):
        points.points_of(runs, "run.end_time")
    path.unlink()
    with pytest.raises(DataError, match=r"holds no input.toml"):
        points.points_of(runs, "initial.seed")
    with pytest.raises(DataError, match=r"gone: holds no input.toml"):
        points.points_of([tmp_path / "gone", *runs], "initial.seed")


def test_keys_of_several_tables_are_named_as_set_does():
    table = {"box": {"size": [1.0, 2.0]}, "molecule": [{"count": 1}], "wall": [{"side": "x-"}, {"side": "x+"}]}
    assert dict(points.flattened(table)) == {
        "box.size": [1.0, 2.0],
        "molecule.count": 1,
        "wall.0.side": "x-",
        "wall.1.side": "x+",
    }


def test_means_and_errors_over_runs(many, capsys):
    assert main(["analyze", str(many), "--over", "initial.seed", "--from", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["runs"]
    assert [(run["over"], run["keys"], len(run["runs"])) for run in found] == [
        ("initial.seed", {"box.packing_fraction": packed}, 3) for packed in PACKED
    ]
    for run, packed in zip(found, PACKED, strict=True):
        (value,) = [value for value in run["values"] if value["figure"] == "pressure"]
        all_of = np.array([pressure(seed, packed) for seed in SEEDS])
        assert value["value"] == pytest.approx(all_of.mean())
        assert value["error"] == pytest.approx(all_of.std(ddof=1) / 3**0.5)


def test_curves_are_means_where_all_runs_have_them(many):
    runs = hpcchain.read_many(many)
    one = runs.over("initial.seed", start=0.0, figures=("displacement",))[0]
    alone = [run.analysis(0.0, ("displacement",)).curve("g1", "A") for run in runs[::2]]
    curve = one.curve("g1", "A")
    assert curve.value == pytest.approx(np.mean([each.value for each in alone], axis=0))
    assert curve.error == pytest.approx(np.std([each.value for each in alone], axis=0, ddof=1) / 3**0.5)
    assert curve.x.tolist() == alone[0].x.tolist()


def report(x, value, **numbers):
    """Return a Report with a curve and numbers."""
    values = [
        Value(name, "A", number, 0.5, "length", 0, "" if np.isfinite(number) else "no motion")
        for name, number in numbers.items()
    ]
    there = np.array(x), np.array(value), np.full(len(x), 0.25)
    return Report("run", values=values, curves=[Curve("f", "A", "", "lag", "time", *there)])


def test_abscissae_that_all_have_and_numbers_that_some_lack():
    point = points.Point("initial.seed", {}, ["a", "b", "c"])
    reports = [
        report([0.1, 0.2, 0.4], [1.0, 2.0, 4.0], a=1.0, b=np.nan),
        report([0.2, 0.30000000000000004, 0.4], [4.0, 0.0, 4.0], a=3.0, b=2.0),
        report([0.1, 0.2, 0.4000000000000001], [9.0, 3.0, 4.0], a=2.0, b=4.0),
    ]
    whole = points.joined(point, reports)
    curve = whole.curve("f", "A")
    assert curve.x.tolist() == [0.2, 0.4] and curve.value.tolist() == [3.0, 4.0]
    assert curve.error == pytest.approx([1.0 / 3**0.5, 0.0])
    assert (whole.value("a", "A").value, whole.value("a", "A").error) == (2.0, pytest.approx(1.0 / 3**0.5))
    assert (whole.value("b", "A").value, whole.value("b", "A").error) == (3.0, 1.0)
    assert whole.left_out == {"b A": "in 1 of 3 runs, so the mean is over the other 2: no motion"}
    apart = points.joined(point, [report([0.1], [1.0]), report([0.2], [1.0])])
    assert apart.curves == [] and apart.left_out == {"f A": "the runs have it at different lag"}


def test_one_run_keeps_its_own_errors():
    whole = points.joined(points.Point("initial.seed", {}, ["a"]), [report([0.1], [1.0], a=1.0)])
    assert whole.value("a", "A").error == 0.5 and whole.curve("f", "A").error.tolist() == [0.25]


def test_the_table_over_the_keys(many, capsys):
    words = ["analyze", str(many), "--over", "initial.seed", "--from", "0"]
    assert main([*words, "--csv"]) == 0
    captured = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(captured.out)))
    assert list(rows[0])[:4] == ["run", "box.packing_fraction", "runs", "figure"] and "run 6 of 6" in captured.err
    found = {row["box.packing_fraction"]: float(row["value"]) for row in rows if row["figure"] == "pressure"}
    assert found == pytest.approx({"0.1": pressure(2, 0.1), "0.2": pressure(2, 0.2)})
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "runs" in said.splitlines()[0] and "packing_fraction=0.2" in said
    assert "means over 3 runs that differ in initial.seed, errors by their scatter; 18 frames in all" in " ".join(
        said.split()
    )


def test_what_was_found_is_not_lost_when_a_run_fails(many, tmp_path, capsys):
    one_run(tmp_path / "a", 1, 0.1)
    one_run(tmp_path / "b", 2, 0.1)
    one_run(tmp_path / "c", 3, 0.1)
    (tmp_path / "c" / "trajectory.h5").write_bytes(b"nothing")
    runs = [str(tmp_path / name) for name in "abc"]
    for form in ("--json", "--csv"):
        assert main(["analyze", *runs, "--over", "initial.seed", "--from", "0", form]) == 65
        captured = capsys.readouterr()
        assert "trajectory.h5" in captured.err
        if form == "--json":
            (found,) = json.loads(captured.out)["runs"]
            (value,) = [value for value in found["values"] if value["figure"] == "pressure"]
            assert value["value"] == pytest.approx(np.mean([pressure(1, 0.1), pressure(2, 0.1)]))
        else:
            assert ",pressure," in captured.out


def test_an_ensemble_stands_for_its_runs(many, capsys):
    assert main(["analyze", str(many), "--from", "0", "--figures", "observables", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == 6


def test_pictures_over_a_key(many, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    words = [
        "analyze",
        str(many),
        "--over",
        "initial.seed",
        "--from",
        "0",
        "--figures",
        "observables,sizes,displacement",
    ]
    assert main([*words, "--plot", "--output", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["analysis.png", "numbers.png"]
    assert main([*words, "--plot", "--figure", "pressure,g1", "--output", str(tmp_path / "one")]) == 0
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["g1.pdf", "pressure.pdf"]
    assert "figure: " in capsys.readouterr().out
    assert main([*words, "--plot", "--figure", "g4"]) == 2
    assert "choose of g1, g2, g3, pressure" in capsys.readouterr().err, "numbers are figures, too"
    assert main([*words, "--plot", "--against", "initial.seed"]) == 2
    assert "--against initial.seed: state points differ in other keys: box.packing_fraction" in capsys.readouterr().err
    assert main(["analyze", str(many), "--against", "initial.seed"]) == 2
    assert "give --over and --plot, too" in capsys.readouterr().err


def test_the_axis_is_the_first_key_of_numbers():
    reports = [Report("x", point=points.Point("", {"a": "word", "b": k, "c": 1.0 + k}, [])) for k in (1, 2)]
    assert (axis_of(reports, None), axis_of(reports, "c")) == ("b", "c")
    with pytest.raises(UsageError, match="--against a: has other values than numbers"):
        axis_of(reports, "a")


def test_many_runs_in_python(many, tmp_path):
    runs = hpcchain.read_many(many)
    assert len(runs) == 6 and runs[0].trajectory.position.shape == (6, 24, 3)
    assert runs.settings[0] == {"initial.seed": 1, "box.packing_fraction": 0.1}
    assert repr(runs).startswith("<Runs: 6, from ")
    found = runs.over("box.packing_fraction", figures=("observables",))
    assert [point.point.keys["initial.seed"] for point in found] == list(SEEDS)
    for wrong, kind in ((3, UsageError), ([], UsageError), ([3], UsageError), (tmp_path / "none", DataError)):
        with pytest.raises(kind):
            hpcchain.read_many(wrong)
    with pytest.raises(UsageError, match="--over initial.sead"):
        runs.over("initial.sead")
    write_runs(tmp_path, [Row("later", {"initial.seed": "4"})])
    with pytest.raises(DataError, match="none of its 1 run has written anything yet"):
        hpcchain.read_many(tmp_path)
