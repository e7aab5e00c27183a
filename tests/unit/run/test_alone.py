"""When one rank carries a whole run by itself."""

import os
from types import SimpleNamespace

import pytest

from hpcchain.config import load_config
from hpcchain.parallel.activity import Activity
from hpcchain.parallel.signals import Signals
from hpcchain.parallel.tuning.standby import Standby
from hpcchain.run import alone
from hpcchain.run.alone import given_input, one_does, stored_input
from tests.support.run_folders import run_here, write_input

SMALL = {
    "box": {"size": [9.0, 9.0, 9.0]},
    "molecule": [{"kind": "chain", "beads": 4, "count": 20}],
    "run": {"end_time": 0.1, "sectors": "auto"},
    "output": {"checkpoint_every": 0.1},
}
LARGE = {"box": {"size": [70.0, 70.0, 70.0]}, "molecule": [{"kind": "chain", "beads": 10, "count": 20000}]}
STEPS = {"run": {"end_time": 0.1, "sectors": "auto", "engine": "steps"}, "steps": {"step": 0.01}}


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, True),
        (LARGE, False),
        ({"run": {"end_time": 0.1, "sectors": "all"}}, False),
        ({"run": {"end_time": 0.1, "sectors": [2, 1, 1]}}, False),
        ({"run": {"end_time": 0.1, "sectors": [1, 1, 1]}}, True),
        (STEPS, True),
        (LARGE | STEPS, False),
    ],
)
def test_few_molecules_are_one_ranks_work(tmp_path, changed, found):
    config = load_config(write_input(tmp_path / "in.toml", SMALL | changed))
    assert one_does(config, 4) is found


def test_ranks_that_pay_are_those_of_the_run_not_of_its_start(tmp_path):
    """Whatever sectors are asked for; long chains in stretches are one rank's work where a sector is hardly wider."""
    path = write_input(tmp_path / "in.toml", SMALL | LARGE | {"run": {"end_time": 0.1, "sectors": [1, 1, 1]}})
    config = load_config(path)
    assert alone.ranks_that_pay(config) > 4
    chains = {"molecule": [{"kind": "chain", "beads": 1000, "count": 100}], "propagator": {"stretches": 100}}
    assert alone.ranks_that_pay(load_config(write_input(tmp_path / "b.toml", SMALL | LARGE | chains))) == 1
    assert alone.ranks_that_pay(load_config(write_input(tmp_path / "c.toml", SMALL | STEPS))) == 1


def test_long_chains_in_stretches_have_to_grow_first(tmp_path):
    """Their motion is one rank's work, but that of as many beads in whole chains may not be."""
    chains = {"molecule": [{"kind": "chain", "beads": 100, "count": 2000}], "propagator": {"stretches": 100}}
    config = load_config(write_input(tmp_path / "in.toml", SMALL | LARGE | chains))
    assert not one_does(config, 4)
    assert one_does(load_config(tmp_path / "in.toml", ["box.size=[30.0, 30.0, 30.0]", "molecule.0.count=2"]), 4)


def test_many_beads_are_written_by_all_ranks(tmp_path, monkeypatch):
    config = load_config(write_input(tmp_path / "in.toml", SMALL))
    monkeypatch.setattr(alone, "FEW", 79)
    assert not one_does(config, 4)


def test_files_say_what_a_run_goes_on_with(tmp_path):
    path = write_input(tmp_path / "in.toml", SMALL)
    folder = run_here(path, tmp_path / "a")
    newest = next(iter((folder / "checkpoints").iterdir()))
    for source in (folder, newest):
        assert one_does(stored_input(source), 4)
    start = {"initial": {"method": "file", "file": str(newest)}}
    path = write_input(tmp_path / "b.toml", SMALL | start | {"molecule": []})
    assert one_does(given_input(path, ()), 4)
    (folder / "checkpoints" / "ckpt-000000009.000000000000.h5").write_bytes(b"nothing")
    assert one_does(stored_input(folder), 4)  # the newest is damaged
    newest.write_bytes(b"nothing")
    assert given_input(path, ()) is None and not one_does(None, 4)


def test_the_root_that_works_by_itself_gives_signs_of_life():
    """None of its calls waits for other ranks, so the watchdog would think that nothing moves."""
    exchange = SimpleNamespace(activity=Activity(), heard=lambda: None, rank=0, size=2)
    signals = Signals()
    signals.listen = Standby(exchange, 1).listen
    before = exchange.activity.signs
    assert not signals.stop and not signals.save
    assert exchange.activity.signs == before + 2


def test_a_pipe_is_left_to_the_run(tmp_path):
    """A reader takes away what is in it; no process writes here, so that reading would not end."""
    os.mkfifo(tmp_path / "pipe")
    assert given_input(tmp_path / "pipe", ()) is None


def test_what_cannot_be_read_is_for_all_to_say(tmp_path):
    (tmp_path / "in.toml").write_text("[box]\nsize = 1")
    for known in (given_input(tmp_path / "in.toml", ()), given_input(tmp_path / "none.toml", ()), None):
        assert known is None and not one_does(known, 4)
    for source in (tmp_path, tmp_path / "none.h5", tmp_path / "in.toml"):
        assert stored_input(source) is None
