"""The commands that read a run's files, on files made by hand with known contents."""

import math
import re
import sys

import numpy as np
import pytest

from hpcchain.analysis.study import Wanted, split_vectors, study
from hpcchain.cli.main import main
from hpcchain.io.checkpoint.checkpoint import write_checkpoint
from hpcchain.io.output.assemble import assemble
from hpcchain.io.output.parts import PartWriter
from hpcchain.io.output.trajectory import Lasting
from tests.support.analysed import tables_of
from tests.support.io_samples import input_for, system_of

LENGTHS = [2, 4]
PNG = b"\x89PNG\r\n"


@pytest.fixture
def folder(tmp_path):
    """A run directory: four frames of two straight chains along x that stretch in time, and two checkpoints."""
    system = system_of(LENGTHS)
    (tmp_path / "parts").mkdir()
    writer = PartWriter(tmp_path / "parts", 0, None, system.topology, log_events=True)
    straight = np.zeros((6, 3))
    straight[:, 0] = [0, 1, 0, 1, 2, 3]
    for count in range(4):
        scale = 1.0 if count < 2 else 2.0
        writer.frame(float(count), scale * straight, straight, np.zeros((6, 3), dtype=np.int64))
        vector = np.array([0.0, 1.0, scale])
        writer.report({"temperature": scale, "momentum": vector, "wall_pressure": vector}, float(count))
    writer.close()
    assemble(tmp_path, None, Lasting(system.topology, system.box), writer.counters)
    (tmp_path / "checkpoints").mkdir()
    for time, seconds in ((1.0, 1.0), (3.0, 4.0)):
        path = tmp_path / "checkpoints" / f"ckpt-{time:022.12f}.h5"
        write_checkpoint(path, None, system, time, {}, input_for(system), perf={"events": (seconds, seconds, seconds)})
    return tmp_path


def lines_of(capsys):
    """Return the words of every line of stdout."""
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_analyze_averages_observables_and_sizes(capsys, folder):
    assert main(["analyze", str(folder)]) == 0
    text = capsys.readouterr().out
    tables = tables_of(text)
    means = tables["pressure", "all"]
    assert means["temperature"].startswith("1.50(") and means["wall_pressure[1]"] == "1"
    assert means["wall_pressure[2]"].startswith("1.50(") and "momentum[0]" not in means
    one, other = tables["sizes", "A"], tables["sizes", "B"]
    near = pytest.approx(math.sqrt((1 + 1 + 4 + 4) / 4), abs=0.006)
    assert float(one["end_to_end"].partition("(")[0]) == near
    assert float(other["end_to_end"].partition("(")[0]) == pytest.approx(3 * math.sqrt(2.5), abs=0.06)
    assert float(other["radius_of_gyration"].partition("(")[0]) == pytest.approx(math.sqrt(1.25 * 2.5), abs=0.06)
    assert (other["beads"], other["count"]) == ("4", "1")
    assert "gyration_tensor" not in text


def test_analyze_prints_one_screen_and_with_all_everything(capsys, folder, monkeypatch):
    """Grouped, no line beyond the terminal's width; what it leaves out is counted, and --all has every number."""
    report = study(folder, Wanted())
    for columns in ("80", "120"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(["analyze", str(folder)]) == 0
        brief = capsys.readouterr().out
        assert max(map(len, brief.replace(str(folder), "out").splitlines())) <= int(columns)
        assert len(brief.splitlines()) <= 30 and "eigenvalue" not in brief
        assert [line.split()[0] for line in brief.split("\n\n")][:4] == ["sizes", "structure", "dynamics", "pressure"]
        more = int(re.search(r"with --all: (\d+)", brief)[1])
        assert main(["analyze", str(folder), "--all"]) == 0
        text = capsys.readouterr().out
        rows = text.partition("\nfigure ")[2].partition("\n\n")[0].splitlines()[1:]
        assert len(rows) == more and not [v.figure for v in report.values if v.figure not in text]
    assert main(["analyze", str(folder), "--figures", "velocity_correlation"]) == 0
    assert "velocity_square_bead" in capsys.readouterr().out


def test_analyze_from_a_time_on(capsys, folder):
    assert main(["analyze", str(folder), "--from", "2"]) == 0
    tables = tables_of(capsys.readouterr().out)
    assert tables["pressure", "all"]["temperature"] == "2" and tables["sizes", "B"]["end_to_end"] == "6"
    assert main(["analyze", str(folder), "--from", "9"]) == 2
    captured = capsys.readouterr()
    assert "nothing is left from time 9 on: the run has come to 3" in captured.err and captured.out == ""


def test_analyze_draws_when_matplotlib_is_there_and_says_so_when_not(capsys, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    assert main(["analyze", str(folder), "--plot"]) == 2
    captured = capsys.readouterr()
    assert "--plot needs the package matplotlib: pip install 'hpcchain[plot]'" in captured.err and captured.out == ""
    monkeypatch.undo()
    pytest.importorskip("matplotlib")
    assert main(["analyze", str(folder), "--plot"]) == 0
    assert (folder / "observables.png").read_bytes().startswith(PNG)


def test_analyze_with_one_file_only(capsys, folder):
    (folder / "trajectory.h5").unlink()
    assert main(["analyze", str(folder)]) == 0
    assert "end_to_end" not in capsys.readouterr().out
    (folder / "observables.h5").unlink()
    assert main(["analyze", str(folder)]) == 65


def test_perf_takes_the_newest_whole_checkpoint(capsys, folder):
    assert main(["perf", str(folder)]) == 0
    assert lines_of(capsys)[2][:3] == ["events", "4.000", "4.000"]
    old, new = sorted((folder / "checkpoints").iterdir())
    assert main(["perf", str(old)]) == 0
    assert lines_of(capsys)[2][:3] == ["events", "1.000", "1.000"]
    new.write_bytes(new.read_bytes()[:-100])
    assert main(["perf", str(folder)]) == 0
    assert lines_of(capsys)[2][:3] == ["events", "1.000", "1.000"]
    old.unlink()
    assert main(["perf", str(folder)]) == 65
    assert new.name in capsys.readouterr().err


def test_compare_info_and_export(capsys, folder):
    path = str(folder / "trajectory.h5")
    one, other = sorted(map(str, (folder / "checkpoints").iterdir()))
    assert main(["compare", path, path]) == 0
    assert main(["compare", one, other]) == 1
    assert "time" in capsys.readouterr().out
    assert main(["info", path]) == 0
    assert "trajectory" in capsys.readouterr().out
    assert main(["export", path, "--to", "extxyz", "-o", str(folder / "all.xyz")]) == 0
    assert (folder / "all.xyz").read_text().splitlines().count("6") == 4


@pytest.mark.parametrize(
    "words",
    [
        ["analyze", "ok.toml"],
        ["resume", "ok.toml"],
        ["resume", "ok.toml", "--output", "new"],
        ["perf", "ok.toml"],
        ["info", "ok.toml"],
        ["compare", "ok.toml", "ok.toml"],
        ["export", "ok.toml", "--to", "extxyz", "-o", "out.xyz"],
    ],
)
def test_an_input_in_place_of_a_run_is_named(tmp_path, capsys, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ok.toml").write_text("# Länge\n[box]\nsize = [5, 5, 5]\n" + "# ä" * 2000, encoding="utf-8")
    assert main(words) == 65
    (message,) = capsys.readouterr().err.splitlines()
    assert message.startswith("hpcchain: ok.toml: is an input file: 'hpcchain run' runs it")
    assert [path.name for path in tmp_path.iterdir()] == ["ok.toml"]


def test_other_files_in_place_of_a_run_or_an_input_are_named(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "run.jsonl").write_text('{"time": 0.0}\n')
    for words, code, message in (
        (["analyze", "run.jsonl"], 65, "run.jsonl: not an HDF5 file, but text; name a run's output"),
        (["resume", "trajectory.h5"], 65, "is of kind 'trajectory' where 'checkpoint' is needed; name a run's output"),
        (["run", "trajectory.h5"], 78, "trajectory.h5: is an HDF5 file, not an input; 'hpcchain resume' continues"),
        (["run", "."], 65, ".: the input file cannot be read: it is a folder; name an input file; a run's folder is"),
    ):
        assert main(words) == code
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line


def test_vectors_and_tensors_are_split_by_component():
    time = np.arange(4.0)
    series = split_vectors(
        {
            "wall_pressure": (None, time, np.ones((4, 3)) * [1.0, 2.0, 3.0]),
            "momentum": 3 * (time,),
            "stress": (None, time, np.zeros((4, 3, 3))),
            "heat": (None, time, time),
        }
    )
    assert list(series)[:4] == ["wall_pressure[0]", "wall_pressure[1]", "wall_pressure[2]", "stress[0,0]"]
    assert len(series) == 3 + 9 + 1 and series["wall_pressure[2]"][1].tolist() == [3.0] * 4


def test_the_first_report_has_no_contacts_as_it_has_no_pressure():
    time = np.arange(3.0)
    reports = {"pressure": (None, time, np.array([np.nan, 1, 2])), "contacts": (None, time, np.array([0, 5, 6]))}
    assert np.array_equal(split_vectors(reports)["contacts"][1], [np.nan, 5.0, 6.0], equal_nan=True)
