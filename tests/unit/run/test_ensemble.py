"""Ensembles on one rank: which runs are left, in which order, what the table says, and what goes on."""

import csv
import logging
import os
from dataclasses import replace

import pytest

from hpcchain import api
from hpcchain.cli.main import main
from hpcchain.config import load_config
from hpcchain.config.vary import combinations
from hpcchain.errors import ConfigError, DataError, UsageError
from hpcchain.io.output.runs import DONE, FAILED, RUNNING, STOPPED, WAITING, Row, note_row, read_runs, write_runs
from hpcchain.machine import Available, Bound
from hpcchain.parallel.comm import Single
from hpcchain.parallel.groups import Groups, Turns
from hpcchain.parallel.signals import Signals
from hpcchain.run import ensemble
from hpcchain.run.guards.memory import require_memory
from tests.support.ensembles import states, write
from tests.support.run_folders import difference, leftovers, run_here

SEEDS = ["initial.seed=1:3", "run.end_time=.5,1"]
NAMES = [f"seed-{seed}_end_time-{end}" for seed in (1, 2, 3) for end in ("0.5", "1")]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with an input and its ensemble of six runs."""
    folder = tmp_path_factory.mktemp("ensemble")
    write(folder / "in.toml")
    assert api.run_many(folder / "in.toml", SEEDS, output=folder / "many") == 0
    return folder


def test_every_combination_is_a_run_with_the_bits_of_its_own(place):
    assert sorted(path.name for path in (place / "many").iterdir()) == sorted([*NAMES, "runs.csv"])
    assert leftovers(place / "many") == []
    alone = run_here(place / "in.toml", place / "alone", settings=["initial.seed=2", "run.end_time=1"])
    assert difference(place / "many" / "seed-2_end_time-1", alone) is None
    assert difference(place / "many" / "seed-2_end_time-1", place / "many" / "seed-1_end_time-1") is not None


def test_the_table_has_a_row_a_run(place):
    with (place / "many" / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "run",
        "initial.seed",
        "run.end_time",
        *"state code ranks began ended seconds message".split(),
    ]
    assert [row["run"] for row in rows] == NAMES and {row["state"] for row in rows} == {DONE}
    assert {(row["code"], row["ranks"], row["message"]) for row in rows} == {("0", "1", "")}
    assert all(row["began"] <= row["ended"] and float(row["seconds"]) > 0.0 for row in rows)


def test_each_run_has_its_log_and_the_console_a_line_for_each(place, capsys):
    write(place / "log.toml", end=0.25)
    assert main(["run", str(place / "log.toml"), "--vary", "initial.seed=1:2", "--output", str(place / "log")]) == 0
    said = capsys.readouterr().err
    assert said.count(": done, ") == 2 and "2 of 2 runs done" in said and "contacts/s" not in said
    assert "done at t 0.25" in (place / "log" / "seed-1" / "run.log").read_text()
    assert "left to do" not in (place / "log" / "seed-1" / "run.log").read_text()


def test_info_says_how_far_all_are(place, capsys):
    assert main(["info", str(place / "many")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{place / 'many'}: 6 runs, 6 done" and lines[2].split() == ["run", "state", "code", "time"]
    assert [line.split()[:3] for line in lines[3:]] == [[name, "done", "0"] for name in NAMES]


def test_the_same_command_finds_all_done_and_more_values_add_runs(place, tmp_path):
    write(tmp_path / "in.toml", end=0.25)
    assert api.run_many(tmp_path / "in.toml", ["initial.seed=1:2"], output=tmp_path / "many") == 0
    before = (tmp_path / "many" / "seed-1" / "trajectory.h5").stat().st_mtime_ns
    assert api.run_many(tmp_path / "in.toml", ["initial.seed=1:2"], output=tmp_path / "many") == 0
    assert api.run_many(tmp_path / "in.toml", ["initial.seed=2,10"], output=tmp_path / "many") == 0
    assert states(tmp_path / "many") == dict.fromkeys(["seed-1", "seed-2", "seed-10"], DONE)
    assert (tmp_path / "many" / "seed-1" / "trajectory.h5").stat().st_mtime_ns == before


def test_a_later_end_extends_all_and_resume_needs_no_input(place, tmp_path):
    write(tmp_path / "in.toml", end=0.5)
    assert api.run_many(tmp_path / "in.toml", ["initial.seed=1:2"], output=tmp_path / "many") == 0
    (tmp_path / "in.toml").unlink()
    assert main(["resume", str(tmp_path / "many"), "--until", "1"]) == 0
    for seed in (1, 2):
        assert difference(tmp_path / "many" / f"seed-{seed}", place / "many" / f"seed-{seed}_end_time-1") is None


def test_one_run_fails_and_the_others_go_on(tmp_path, capsys):
    """Beads wider than their grid overlap; the table says so, and the command ends with that failure's code."""
    path = write(tmp_path / "in.toml", end=0.25)
    words = ["run", str(path), "--vary", "molecule.diameter=2.5,1.0,.9", "--output", str(tmp_path / "many")]
    for _ in range(2):
        assert main(words) == 78
        said = capsys.readouterr().err
        assert "diameter-2.5: failed (exit code 78): " in said and "2 of 3 runs done, 1 failed" in said
        assert "Traceback" not in said
        found = {row.run: row for row in read_runs(tmp_path / "many")}
        assert [row.state for row in found.values()] == [FAILED, DONE, DONE]
        assert found["diameter-2.5"].code == 78 and "overlap" in found["diameter-2.5"].message


def test_what_no_run_could_be_ends_all_before_any_begins(tmp_path, capsys):
    path = write(tmp_path / "in.toml")
    words = ["run", str(path), "--output", str(tmp_path / "many"), "--vary"]
    assert main([*words, "contact.restitution=.5,1.5"]) == 78
    assert "contact.restitution" in (said := capsys.readouterr().err) and "(run restitution-1.5)" in said
    assert main([*words, "initial.sead=1:2"]) == 78
    assert "initial.sead" in capsys.readouterr().err
    assert main([*words, "initial.seed=1:2", "--ranks-per-run", "2"]) == 2
    assert "--ranks-per-run 2: the command has 1 rank; give 1 to that many" in capsys.readouterr().err
    assert main(["run", str(path), "--ranks-per-run", "1"]) == 2
    assert "give --vary, too" in capsys.readouterr().err
    assert not (tmp_path / "many" / "runs.csv").exists()


def test_other_physics_or_other_keys_in_the_same_folder_are_refused(place, capsys):
    before = (place / "many" / "runs.csv").read_bytes()
    write(place / "other.toml", contact={"restitution": 0.5})
    words = ["--output", str(place / "many"), "--vary"]
    assert main(["run", str(place / "other.toml"), *words, *SEEDS]) == 78
    assert "[contact] is not that of the run in" in capsys.readouterr().err
    assert main(["run", str(place / "in.toml"), *words, "contact.restitution=.5"]) == 78
    assert "its runs vary initial.seed, run.end_time, not contact.restitution" in capsys.readouterr().err
    assert main(["run", str(place / "in.toml"), "--output", str(place / "many" / NAMES[0]), "--vary", *SEEDS]) == 2
    assert "holds a run of its own" in capsys.readouterr().err
    assert main(["run", str(place / "in.toml"), "--output", str(place / "many"), "--resume", "auto"]) == 2
    assert "holds many runs; go on with them by 'hpcchain resume" in capsys.readouterr().err
    assert main(["resume", str(place / "many"), "--output", str(place / "else")]) == 2
    assert main(["resume", str(place / "many" / NAMES[0]), "--ranks-per-run", "1"]) == 2
    assert (place / "many" / "runs.csv").read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "run,a\n",
        "run,initial.seed,state,code,ranks,began,ended,seconds,message\nseed-1,1,dreaming,,,,,0,\n",
        "run,initial.seed,state,code,ranks,began,ended,seconds,message\n../seed-1,1,done,0,1,,,0,\n",
        "run,initial.seed,state,code,ranks,began,ended,seconds,message\n..,1,done,0,1,,,0,\n",
        "run,initial.seed,state,code,ranks,began,ended,seconds,message\n\n",
        "run,initial.seed,state,code,ranks,began,ended,seconds,message\n" + "x" * 200000,
        "run,initial.seed,state,code,ranks,began,ended,seconds,message\nseed-1,1,done,0,1,,,long,\n",
        "run,initial.seed,state,code,ranks,began,ended,seconds,message\nseed-1,1,done\n",
    ],
)
def test_a_table_that_is_none_is_named(tmp_path, text, capsys):
    (tmp_path / "runs.csv").write_text(text)
    with pytest.raises(DataError, match="runs.csv"):
        read_runs(tmp_path)
    assert main(["resume", str(tmp_path)]) == 65
    assert "runs.csv" in capsys.readouterr().err


def test_a_table_keeps_what_is_written(tmp_path):
    rows = [
        Row("a", {"title": '"x, y"'}, FAILED, 70, 2, "2026-01-01T00:00:00", "", 1.5, 'bead 7, at "1"'),
        Row("b", {"title": "z"}),
    ]
    write_runs(tmp_path, rows)
    assert read_runs(tmp_path) == rows
    note_row(tmp_path, replace(rows[1], state=RUNNING))
    assert [row.state for row in read_runs(tmp_path)] == [FAILED, RUNNING]


def test_runs_that_were_killed_or_have_lost_their_folder_are_left(place, tmp_path):
    path = write(tmp_path / "in.toml", end=0.5)
    assert api.run_many(path, ["initial.seed=1:4"], output=tmp_path / "many") == 0
    rows = read_runs(tmp_path / "many")
    write_runs(tmp_path / "many", [replace(rows[0], state=RUNNING), replace(rows[1], state=FAILED, code=70), *rows[2:]])
    for file in sorted((tmp_path / "many" / "seed-3").rglob("*"), reverse=True):
        file.unlink() if file.is_file() else file.rmdir()
    wanted = [(one, load_config(path, one.overrides)) for one in combinations(["initial.seed=1:4"])]
    plan = ensemble.planned(tmp_path / "many", wanted, 1)
    assert [row.state for row in plan.rows] == [STOPPED, FAILED, WAITING, DONE]
    assert plan.left == [2, 0, 1] and plan.ranks == 1  # a whole run, one that has only to end, and at last what failed
    assert api.run_many(path, ["initial.seed=1:4"], output=tmp_path / "many") == 0
    assert set(states(tmp_path / "many").values()) == {DONE}


def test_a_stop_leaves_the_rest_waiting(tmp_path, monkeypatch):
    """The signal comes in the second run; what came to its own Signals holds for those after it."""
    path = write(tmp_path / "in.toml", end=0.5)
    carried, seen = api.run_in, []

    def stops(folder, *args):
        seen.append(folder.name)
        if len(seen) == 2:
            with Signals() as inner:
                inner.pass_on(True, 0)
                code = carried(folder, *args)
            return code
        return carried(folder, *args)

    monkeypatch.setattr(api, "run_in", stops)
    assert api.run_many(path, ["initial.seed=1:4"], output=tmp_path / "many") == 75
    assert len(seen) == 2 and sorted(states(tmp_path / "many").values()) == [DONE, STOPPED, WAITING, WAITING]
    assert api.resume(tmp_path / "many") == 0
    assert len(seen) == 5 and set(states(tmp_path / "many").values()) == {DONE}


def test_a_wall_limit_that_is_near_begins_nothing(tmp_path):
    path = write(tmp_path / "in.toml", end=0.5)
    assert api.run_many(path, ["initial.seed=1:2"], output=tmp_path / "many", wall_limit=1.0) == 75
    assert set(states(tmp_path / "many").values()) == {WAITING}


def test_long_runs_take_longer_by_the_model(tmp_path):
    chains = {"molecule": [{"kind": "chain", "beads": 10, "count": 500}], "box": {"packing_fraction": 0.2}}
    path = write(tmp_path / "in.toml", **chains, initial={})

    def seconds(*settings, ranks=1):
        return ensemble.seconds(load_config(path, settings), ranks)

    assert seconds("run.end_time=2") == pytest.approx(2.0 * seconds())
    assert seconds("box.packing_fraction=.4") > 2.0 * seconds()
    assert seconds("molecule.count=2000") > 4.0 * seconds()
    assert seconds("initial.temperature=4") == pytest.approx(2.0 * seconds())
    assert seconds("molecule.count=50000", ranks=2) < 0.7 * seconds("molecule.count=50000")


def test_each_run_has_one_rank_unless_more_pay(tmp_path):
    chains = {"molecule": [{"kind": "chain", "beads": 10, "count": 20000}], "box": {"packing_fraction": 0.3}}
    path = write(tmp_path / "in.toml", **chains, initial={})
    large, small = load_config(path), load_config(path, ["molecule.count=20"])
    assert ensemble.ranks_for_all([large] * 16, 2) == 1
    assert ensemble.ranks_for_all([large] * 2, 8) == 4
    assert ensemble.ranks_for_all([small] * 2, 8) == 1
    assert ensemble.ranks_for_all([large], 1) == ensemble.ranks_for_all([], 4) == 1
    grid = load_config(path, ["run.sectors=[2, 1, 1]", "molecule.count=20"])
    assert ensemble.ranks_for_all([grid] * 9, 4) == 2


def test_groups_take_the_longest_that_is_left():
    assert ensemble.time_of_all([1.0, 1.0, 2.0], 2) == 2.0 and ensemble.time_of_all([3.0, 1.0], 1) == 4.0


def test_turns_are_each_taken_once(tmp_path):
    one, other = Turns(tmp_path / "turns", 5), Turns(tmp_path / "turns", 5)
    one.open()
    assert [one.take(), other.take(), other.take(), one.take(), one.take()] == [0, 1, 2, 3, 4]
    assert one.take() is other.take() is None
    one.open()  # what a killed ensemble left does not count
    assert Turns(tmp_path / "turns", 5).take() == 0
    one.close()
    assert not (tmp_path / "turns").exists()


def test_a_table_that_cannot_be_written_ends_no_run(tmp_path, monkeypatch, caplog):
    plan = ensemble.Plan([Row("a", {"x.y": "1"})], [0], 1)
    table = ensemble.Table(tmp_path / "missing", plan)
    with caplog.at_level(logging.WARNING):
        table.take((0, replace(plan.rows[0], state=DONE, code=0, seconds=1.0)))
    assert "runs.csv: preparing to write failed" in caplog.text and table.rows[0].state == DONE


def test_runs_that_do_not_fit_together_are_refused(tmp_path, monkeypatch):
    """One of them does, and four do: five ranks of a node are one too many."""
    config = load_config(write(tmp_path / "in.toml"))
    plan = ensemble.planned(tmp_path, [(one, config) for one in combinations(["initial.seed=1:9"])], 5)
    need = plan.largest.need(1)
    for ranks, fits in ((1, True), (4, True), (5, False)):
        comm = Single()
        there = Available(node=Bound(int(4.5 * need), "free"), job=None, own=None, taken=0)
        monkeypatch.setattr(comm, "on_node", lambda _, there=there, ranks=ranks: [there] * ranks)
        try:
            require_memory(plan.largest, comm, "many", "use fewer", plan.ranks)
        except ConfigError as error:
            assert not fits and "many: 27 beads on 1 rank need about" in str(error) and "for 5 ranks" in str(error)
        else:
            assert fits


def test_one_rank_is_one_group():
    said = []
    groups, signals = Groups(Single(), 1, 4, said.append), Signals()
    groups.report("news")
    groups.listen(signals)
    assert (groups.count, groups.number, groups.leads, said) == (1, 0, True, ["news"])
    assert groups.end(signals, lambda: 7) == 7


def test_an_unknown_ensemble_is_no_run(tmp_path):
    with pytest.raises(ConfigError, match="--vary"):
        api.run_many(write(tmp_path / "in.toml"), ["initial.seed"])
    with pytest.raises(UsageError):
        ensemble.planned(tmp_path, [], 2, 3)


def test_a_pipe_is_read_once_for_all_runs(tmp_path):
    """What is wrong is said of the second run, whose input was read with the first one's."""
    reader, writer = os.pipe()
    os.write(writer, write(tmp_path / "in.toml").read_bytes())
    os.close(writer)
    with pytest.raises(ConfigError, match=r"run.end_time: -1 is out of range.*\(run end_time--1\)"):
        api.run_many(f"/dev/fd/{reader}", ["run.end_time=0.1,-1"], output=tmp_path / "many")
    os.close(reader)
