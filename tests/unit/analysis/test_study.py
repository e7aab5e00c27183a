"""`hpcchain analyze` as a whole: several runs, formats, pictures, runs that go on, ranks, and what is wrong."""

import csv
import io
import json
import re
import sys
import tracemalloc

import numpy as np
import pytest

from hpcchain.analysis.catalogue import FIGURES
from hpcchain.analysis.study import Wanted, shared, study
from hpcchain.cli.main import main
from hpcchain.errors import DataError
from hpcchain.parallel.thread_ranks import on_ranks
from tests.support.analysed import free_chains, write_run
from tests.support.launching import call_hpcchain
from tests.support.unfinished import PARTS, run_folder

FRAMES, CHAINS, BEADS = 40, 12, 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of chains in which all of the first quarter of the reports is far off, and beads 0 and 4 touch."""
    position = free_chains(7, FRAMES, CHAINS, BEADS).reshape(FRAMES, -1, 3) + 5.0
    noise = np.random.default_rng(8).normal(size=FRAMES)
    reports = [{"temperature": 1.0, "pressure": 1.0 + 0.1 * noise[k] + 5.0 * (k < 10)} for k in range(FRAMES)]
    reports = [report | {"collisional_pressure": 0.1 * noise[k] * np.eye(3)} for k, report in enumerate(reports)]
    time = np.arange(0.5, FRAMES - 1.0, 0.25)
    events = time, np.zeros(len(time)), np.tile([0, 9], (len(time), 1)), np.ones(len(time))
    return write_run(
        tmp_path_factory.mktemp("whole") / "out", [BEADS] * CHAINS, position, events=events, reports=reports, edge=20.0
    )


def test_the_end_of_equilibration_is_found_unless_a_time_is_given(folder):
    found = study(folder, Wanted())
    assert (found.start, found.found_by, found.frames) == (10.0, "equilibration", 30)
    assert found.value("pressure").value == pytest.approx(1.0, abs=0.06) and found.value("pressure").samples == 30
    given = study(folder, Wanted(0.0))
    assert (given.start, given.found_by, given.frames) == (0.0, "option", FRAMES)
    assert given.value("pressure").value > 2.0


def test_the_series_that_decided_is_named(folder, tmp_path, capsys, monkeypatch):
    """In the table, in JSON and in the picture."""
    pytest.importorskip("matplotlib")
    position = free_chains(7, FRAMES, CHAINS, BEADS)
    position[:5] *= 2.0
    sizes = write_run(tmp_path / "out", [BEADS] * CHAINS, position.reshape(FRAMES, -1, 3))
    panels = []
    monkeypatch.setattr("matplotlib.axes.Axes.set_ylabel", lambda panel, text, **_: panels.append(text))
    for run, name in ((folder, "pressure"), (sizes, "radius_of_gyration A")):
        assert study(run, Wanted()).decisive[0] == name
        assert main(["analyze", str(run), "--figures", "observables", "--plot", "--output", str(tmp_path)]) == 0
        assert f"where equilibration of {name} ends" in " ".join(capsys.readouterr().out.split())
        assert main(["analyze", str(run), "--figures", "observables", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["runs"][0]["from_series"] == name
    assert panels == ["$p$", r"$R_\mathrm{g}$ A", r"$R_\mathrm{e}$ A"] + [r"$R_\mathrm{g}$ A", r"$R_\mathrm{e}$ A"]


def slow_chains(seed, frames, chains, time):
    """Return (frames, 2 chains, 3) dimers whose centres walk at random, D = .01, and whose lengths change slowly."""
    rng, decay = np.random.default_rng(seed), np.exp(-1.0 / time)
    centre = np.cumsum(rng.normal(size=(frames, chains, 3)) * 0.02**0.5, axis=0)
    length = rng.normal(size=(frames, chains)) * np.sqrt(1.0 - decay**2)
    length[0] = rng.normal(size=chains)
    for k in range(1, frames):
        length[k] += decay * length[k - 1]
    half = np.zeros((frames, chains, 3))
    half[..., 0] = 0.5 * (2.0 + 0.3 * length)
    return np.stack([centre - half, centre + half], axis=2).reshape(frames, -1, 3)


def test_slow_sizes_do_not_shorten_steady_runs(tmp_path):
    """Sizes of correlation times of an eighth of the run: all is analysed, and D of six seeds agrees in its errors."""
    runs = [write_run(tmp_path / str(seed), [2] * 20, slow_chains(seed, 200, 20, 25.0), edge=1e4) for seed in range(6)]
    found = [study(run, Wanted(None, ("displacement",))) for run in runs]
    assert [report.start for report in found] == [0.0] * 6
    assert {report.found_by for report in found} == {"equilibration"} and any(report.slow for report in found)
    values = [report.value("diffusion", "A") for report in found]
    pulls = [(value.value - 0.01) / value.error for value in values]
    assert np.std([value.value for value in values]) < 2.0 * np.mean([value.error for value in values])
    assert max(map(abs, pulls)) < 4.0 and np.mean(np.square(pulls)) < 3.0


def test_a_slow_series_warns(tmp_path, capsys):
    growing = free_chains(1, 1, CHAINS, BEADS).reshape(1, -1, 3) * np.linspace(1.0, 2.0, 30)[:, None, None]
    run = write_run(tmp_path / "out", [BEADS] * CHAINS, growing)
    assert main(["analyze", str(run), "--figures", "observables"]) == 0
    captured = capsys.readouterr()
    assert captured.err.count("too few independent samples of radius_of_gyration A, end_to_end A") == 1
    assert "since no series starts differently" in " ".join(captured.out.split())


def test_few_samples_are_all_taken(tmp_path):
    report = study(write_run(tmp_path, [2], np.random.default_rng(1).normal(size=(5, 2, 3))), Wanted())
    assert (report.start, report.found_by) == (0.0, "all")


def test_contacts_by_bead(folder):
    """Four contacts a time of two beads, ends 0 and 4 of two chains out of 12."""
    curve = study(folder, Wanted(0.0, ("contacts",))).curve("contacts_by_bead", "A")
    length = FRAMES - 1.0
    events = len(np.arange(0.5, FRAMES - 1.0, 0.25))
    assert curve.value == pytest.approx(np.array([1.0, 0, 0, 0, 1.0]) * events / (length * CHAINS))
    assert curve.error[0] > 0.05 and curve.error[1] == 0.0


def test_json_has_all_figures_and_stable_names(folder, capsys):
    assert main(["analyze", str(folder), str(folder), "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert set(whole) == {"format", "program", "runs"} and whole["format"] == 1 and len(whole["runs"]) == 2
    run = whole["runs"][0]
    assert set(run) == set("run from from_found_by from_series frames times molecules values curves left_out".split())
    assert run["molecules"] == [{"name": "A", "beads": BEADS, "count": CHAINS}]
    assert all(set(value) == {"figure", "molecules", "value", "error", "unit"} for value in run["values"])
    for curve in run["curves"]:
        assert set(curve) == {"figure", "molecules", "unit", "x_name", "x_unit", "x", "value", "error"}
        assert len(curve["x"]) == len(curve["value"]) == len(curve["error"])
    assert {
        "g1",
        "g2",
        "g3",
        "structure_factor",
        "pair_distribution_intra",
        "rouse_squares",
        "end_correlation",
        "contacts_by_bead",
        "internal_distances",
    } <= {curve["figure"] for curve in run["curves"]}
    assert set(run["left_out"]) == {"diffusion A", "stress", "heat_flux"}


def test_csv_is_one_tidy_table_of_the_same(folder, capsys):
    assert main(["analyze", str(folder), "--csv"]) == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    report = study(folder, Wanted())
    lines = len(report.values) + sum(len(curve.x) for curve in report.curves) + len(report.left_out)
    assert len(table) == lines
    g3 = [row for row in table if row["figure"] == "g3"]
    assert [float(row["value"]) for row in g3] == report.curve("g3", "A").value.tolist()
    assert {row["x_name"] for row in g3} == {"lag"} and {row["unit"] for row in g3} == {"length^2"}


def test_the_table_of_several_runs_names_them(folder, capsys):
    assert main(["analyze", str(folder), str(folder / "trajectory.h5"), "--from", "0"]) == 0
    for table in capsys.readouterr().out.split("\n\n")[:3]:
        rows = [line.split() for line in table.splitlines()]
        runs = {row[0] for row in rows if row[1:2] == ["A"]}
        assert rows[0][0] == "run" and runs == {str(folder), str(folder / "trajectory.h5")}


@pytest.mark.parametrize(("form", "head"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_pictures(folder, tmp_path, capsys, form, head):
    pytest.importorskip("matplotlib")
    words = [
        "--plot",
        "--plot-as",
        form,
        "--output",
        str(tmp_path / "new"),
        "--figures",
        "observables,displacement,sizes",
    ]
    assert main(["analyze", str(folder), str(folder), *words]) == 0
    printed = capsys.readouterr().out
    for name in ("observables", "analysis"):
        assert (tmp_path / "new" / f"{name}.{form}").read_bytes().startswith(head)
        assert f"figure: {tmp_path / 'new' / name}.{form}" in printed


def test_one_figure_is_a_picture_for_one_column(folder, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    words = ["analyze", str(folder), "--from", "0", "--figures", "observables,displacement", "--plot", "--figure"]
    assert main([*words, "g1,radius_of_gyration A", "--output", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g1.pdf", "radius_of_gyration_A.pdf"]
    width = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ", (tmp_path / "g1.pdf").read_bytes())[1]
    assert float(width) == pytest.approx(3.4 * 72.0)
    assert f"figure: {tmp_path / 'g1.pdf'}" in capsys.readouterr().out
    assert main([*words, "g4", "--output", str(tmp_path)]) == 2
    assert "--figure g4: there is no such curve or observable: choose of g1, g2, g3, " in capsys.readouterr().err


def test_pictures_need_matplotlib_before_anything_is_read(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    assert main(["analyze", str(folder / "missing"), "--plot"]) == 2
    assert "pip install 'hpcchain[plot]'" in capsys.readouterr().err


def test_a_run_that_goes_on_gives_what_the_joined_one_gives(tmp_path, capsys):
    printed = []
    for joined in (0, 2, PARTS):
        run = run_folder(tmp_path / str(joined), joined)
        assert main(["analyze", str(run), "--csv"]) == 0
        printed.append(capsys.readouterr().out.replace(str(run), "run"))
    assert printed[0] == printed[1] == printed[2] and "contacts_by_bead" in printed[0]


@pytest.mark.parametrize("form", ["table", "--json", "--csv"])
def test_runs_before_one_that_fails_are_printed(folder, tmp_path, capsys, form, monkeypatch):
    """A second run that is not there ends the command with its message, Ctrl-C with 130; what was found stands."""
    words = ["--figures", "observables", *([form] if form != "table" else [])]
    assert main(["analyze", str(folder), *words]) == 0
    alone = capsys.readouterr().out
    assert main(["analyze", str(folder), str(tmp_path / "gone"), str(folder), *words]) == 65
    captured = capsys.readouterr()
    assert captured.out == alone and captured.err.count(f"{tmp_path / 'gone'}: no such file") == 1
    assert "run 2 of 3: " in captured.err and "run 3 of 3" not in captured.err
    asked = []

    def interrupted(source, *rest):
        asked.append(source)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return study(source, *rest)

    monkeypatch.setattr("hpcchain.analysis.study.study", interrupted)
    assert main(["analyze", str(folder), str(folder), *words]) == 130
    assert capsys.readouterr().out == alone


def test_csv_of_a_run_is_out_before_the_next_is_read(folder, capsys, monkeypatch):
    words = ["analyze", str(folder), str(folder), "--csv", "--figures", "observables"]
    assert main(words) == 0
    whole, printed = capsys.readouterr().out, []

    def telling(*given):
        printed.append(capsys.readouterr().out)
        return study(*given)

    monkeypatch.setattr("hpcchain.analysis.study.study", telling)
    assert main(words) == 0
    printed.append(capsys.readouterr().out)
    assert printed[0] == "" and printed[1].startswith("run,figure")
    assert printed[1].count(str(folder)) == printed[2].count(str(folder)) > 0
    assert "".join(printed) == whole


def wrong(capsys, words):
    """Return (exit code, message) of a command that must print nothing and say one line."""
    code = main(["analyze", *map(str, words)])
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    return code, captured.err


def test_wrong_input_is_one_message(folder, tmp_path, capsys):
    assert wrong(capsys, [folder, "--from", 100])[0] == 2
    still = write_run(tmp_path / "still", [1] * 4, np.zeros((1, 4, 3)))
    for figure, why in (
        ("contacts", "output.events = true"),
        ("displacement", "there are not two frames"),
        ("rouse_modes", "there are not two frames"),
        ("internal_distances", "only chains"),
        ("bond_angles", "no molecule has two bonds"),
    ):
        code, message = wrong(capsys, [still, "--figures", figure])
        assert code == 65 and f"{figure}: " in message and why in message
    code, message = wrong(capsys, [still / "observables.h5", "--figures", "sizes"])
    assert code == 65 and "there are no frames" in message
    path = still / "trajectory.h5"
    path.write_bytes(path.read_bytes()[:-10])
    assert wrong(capsys, [still])[0] == 65
    assert wrong(capsys, [folder, "--output", tmp_path / "pictures"]) == (
        2,
        "hpcchain: --output, --plot-as and --figure say where and what to draw: give --plot, too\n",
    )
    assert main(["analyze", str(folder), "--figures", "gyrations"]) == 2
    assert ", ".join(FIGURES) in capsys.readouterr().err


class Threads:
    """What `shared` needs of a communicator, between threads."""

    def __init__(self, exchange):
        self.allgather, self.Get_rank, self.Get_size = exchange.allgather, lambda: exchange.rank, lambda: exchange.size

    def Allreduce(self, sent, received):
        received[0] = sum(self.allgather(sent[0]))


def test_memory_does_not_follow_the_frames(tmp_path, monkeypatch):
    """A trajectory of 21 MB, of positions, velocities and images, is analysed in a fifth of that."""
    frames, beads = 150, 2000
    position = np.broadcast_to(np.random.default_rng(2).normal(size=(beads, 3)), (frames, beads, 3))
    still = np.broadcast_to(np.zeros(3), position.shape)
    folder = write_run(
        tmp_path / "out",
        [5] * (beads // 5),
        position,
        still,
        image=np.broadcast_to(np.zeros(3, np.int64), position.shape),
    )
    size = (folder / "trajectory.h5").stat().st_size
    monkeypatch.setattr("hpcchain.analysis.study.PIECE", 1 << 13)
    tracemalloc.start()
    study(folder, Wanted(0.0, ("sizes", "bond_angles", "internal_distances", "displacement", "rouse_modes")))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size > 21e6 and most < 0.2 * size


@pytest.mark.parametrize("ranks", [2, 3])
def test_shared_work_comes_in_order_on_every_rank(ranks):
    def on_rank(exchange):
        return list(shared(Threads(exchange), 7, lambda k: (k, exchange.rank)))

    for found in on_ranks(ranks, on_rank):
        assert found == [(k, k % ranks) for k in range(7)]


def test_a_failure_of_shared_work_is_raised():
    def work(k):
        if k == 2:
            raise DataError("piece 2")
        return k

    with pytest.raises(DataError, match="piece 2"):
        list(shared(None, 4, work))


def test_ranks_find_the_same_to_the_last_digit(folder):
    """With frames, molecules and events shared among three ranks."""
    pytest.importorskip("mpi4py")
    texts = []
    for ranks in (1, 3):
        done = call_hpcchain(["analyze", folder, "--json"], folder.parent, ranks)
        assert done.returncode == 0, done.stderr
        texts.append(done.stdout)
    assert texts[0] == texts[1] and json.loads(texts[0])["runs"]


def test_a_failure_on_ranks_is_one_message(folder, tmp_path):
    pytest.importorskip("mpi4py")
    done = call_hpcchain(["analyze", folder, "--from", "100"], tmp_path, 2)
    assert done.returncode == 2 and done.stderr.count("nothing is left") == 1 and done.stdout == ""
