"""Runs on several ranks leave the files of one rank, whichever is stopped and however many go on.

The engine is a stand-in (replicated.py); what is tested is all that stands around it.
"""

import itertools
import logging
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from hpcchain import api
from hpcchain.errors import EXIT_DONE, EXIT_RESUBMIT, ConfigError, DataError, UsageError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint
from hpcchain.io.checkpoint.store import list_checkpoints
from hpcchain.io.tools.compare import compare
from hpcchain.observe.timers import Timers
from hpcchain.parallel import slabs
from hpcchain.parallel.comm import Single, World, world
from hpcchain.parallel.signals import Stopped
from tests.support.outputs import read_observables
from tests.support.replicated import SEAM, ReplicatedEngine, stand_in
from tests.support.run_folders import checkpoint_times, difference, frame_times, leftovers, log_rows, write_input

pytestmark = pytest.mark.mpi

END = 2.5
EVERY = ("trajectory", "events", "observables")
TABLES = {
    "box": {"size": [7.0, 7.0, 7.0], "boundary": ["periodic", "wall", "periodic"]},
    "molecule": [{"kind": "monomer", "count": 40}, {"kind": "chain", "beads": 4, "count": 12, "mass": 2.0}],
    "run": {"end_time": END},
    "output": {"frame_every": 0.25, "report_every": 0.2, "checkpoint_every": 0.6, "events": True},
}

FROM_FILE = TABLES | {"initial": {"method": "file", "file": "start.h5"}}


@pytest.fixture(scope="module")
def comm():
    return world()


@pytest.fixture(scope="module")
def place(comm):
    """One folder for all ranks, with an input, its start, and its run on one rank in `whole`."""
    name = comm.bcast(tempfile.mkdtemp(prefix="run_mpi_") if comm.rank == 0 else None)
    folder = Path(name)

    def prepare(one):
        grow = write_input(folder / "grow.toml", TABLES)
        api.build(grow, folder / "start.h5", comm=one)
        write_input(folder / "in.toml", FROM_FILE)
        assert api.run(folder / "in.toml", output=folder / "whole", comm=one) == EXIT_DONE

    on(comm, 1, prepare)
    yield folder
    comm.barrier()
    if comm.rank == 0:
        shutil.rmtree(name)


@pytest.fixture(autouse=True)
def engine(monkeypatch):
    """Put a stand-in where several ranks find their engine; call it with another class to exchange it."""

    def put(kind):
        monkeypatch.setitem(sys.modules, SEAM, stand_in(kind))

    put(ReplicatedEngine)
    return put


def on(comm, ranks, action):
    """Let the first `ranks` ranks act together while the others wait; return what the root's action returned."""
    part = comm.mpi.Split(comm.rank >= ranks, comm.rank)
    result = None
    if comm.rank < ranks:
        result = action(Single() if ranks == 1 else World(part))
    part.Free()
    return comm.bcast(result)


def of_root(comm, look):
    """Return on every rank what the root finds."""
    return comm.bcast(look() if comm.rank == 0 else None)


def run(comm, path, output, **options):
    return api.run(path, output=output, comm=comm, **options)


def resume(comm, folder, until, ranks):
    """Go on with a run on some of the ranks."""
    assert on(comm, ranks, lambda some: api.resume(folder, until=until, comm=some)) == EXIT_DONE


def asked_by(number, rank, turn):
    """Return an engine in which one rank alone gets a signal in the middle of a run."""

    class Asked(ReplicatedEngine):
        def _take(self, table):
            super()._take(table)
            if (self._comm.rank, self._turn) == (rank % self._comm.size, turn) and not hasattr(self, "stopped"):
                self.stopped = True
                signal.raise_signal(number)

    return Asked


def what(folder):
    """Return what the run's log says that does not depend on wall clocks."""
    names = ("time", "events", "contacts", "wall_contacts", "energy", "energy_error", "temperature", "momentum")
    return [[row[name] for name in names] for row in log_rows(folder)]


def same_reports(a, b):
    """Whether two runs report the same; the pressure of an interval with a restart in it but for its last bits."""
    ours, theirs = read_observables(a / "observables.h5"), read_observables(b / "observables.h5")
    exact = [name for name in ours if name != "pressure"]
    same = all(
        np.array_equal(x, y, equal_nan=True) for name in exact for x, y in zip(ours[name], theirs[name], strict=True)
    )
    return same and np.allclose(ours["pressure"][2], theirs["pressure"][2], rtol=1e-9, atol=0.0, equal_nan=True)


def test_a_frame_and_a_report_that_are_due_together_are_sent_once(comm, place, monkeypatch):
    """And so is a report alone; checkpoints, which have depths, are sent besides."""
    sent, send = [], slabs.to_slabs

    def counted(mpi, bounds, ids, arrays):
        sent.append(sorted(arrays))
        return send(mpi, bounds, ids, arrays)

    monkeypatch.setattr(slabs, "to_slabs", counted)
    output = {"frame_every": 0.5, "report_every": 0.25, "checkpoint_every": 2.0}
    of_root(comm, lambda: write_input(place / "both.toml", {**FROM_FILE, "output": output, "run": {"end_time": 2.0}}))
    assert run(comm, place / "both.toml", place / "both") == EXIT_DONE
    assert [names for names in sent if "depth" not in names] == [["image", "position", "velocity"]] * 9


def test_the_run_is_long_enough_to_differ(comm, place):
    assert of_root(comm, lambda: log_rows(place / "whole")[-1]["events"]) > 150
    assert of_root(comm, lambda: log_rows(place / "whole")[-1]["wall_contacts"]) > 10


def test_a_start_is_the_same_on_any_ranks(comm, place):
    api.build(place / "grow.toml", place / "other.h5", comm=comm)
    assert of_root(comm, lambda: compare(place / "start.h5", place / "other.h5")) is None


def test_a_run_is_the_same_on_any_ranks(comm, place):
    assert run(comm, place / "in.toml", place / "ranks") == EXIT_DONE
    assert of_root(comm, lambda: difference(place / "ranks", place / "whole", EVERY)) is None
    assert of_root(comm, lambda: what(place / "ranks") == what(place / "whole"))
    assert of_root(comm, lambda: leftovers(place / "ranks")) == []
    last = of_root(comm, lambda: log_rows(place / "ranks")[-1])
    assert last["passes_per_window"] == comm.size and last["imbalance"] == 0.0


def test_checkpoints_are_the_same_on_any_ranks(comm, place):
    """Counters included, but for what names another file; those of `whole` at the same times."""
    run(comm, place / "in.toml", place / "kept")

    def compared():
        pairs = zip(*(list_checkpoints(place / name / "checkpoints") for name in ("kept", "whole")), strict=True)
        return [compare(a, b) for (_, a), (_, b) in pairs]

    assert of_root(comm, compared) == [None, None]
    counters = [of_root(comm, lambda name=name: newest(place / name).counters) for name in ("kept", "whole")]
    for each in counters:
        del each["part_seal"]  # says which file the output's last part is; how many ranks wrote it shows in that
    assert counters[0] == counters[1] and counters[0]["interval_contacts"] > 0


def newest(folder):
    return read_checkpoint(list_checkpoints(folder / "checkpoints")[0][1])


def test_a_start_from_a_checkpoint_is_the_same_on_any_ranks(comm, place):
    """Whose molecules have clocks of their own."""
    source = of_root(comm, lambda: str(list_checkpoints(place / "whole" / "checkpoints")[1][1]))
    tables = TABLES | {"initial": {"method": "file", "file": source}, "run": {"end_time": 0.4}}
    of_root(comm, lambda: write_input(place / "again.toml", tables))
    run(comm, place / "again.toml", place / "again")
    on(comm, 1, lambda one: run(one, place / "again.toml", place / "again-1"))
    assert of_root(comm, lambda: difference(place / "again", place / "again-1", EVERY)) is None


@pytest.mark.parametrize(("number", "rank"), [(signal.SIGUSR1, -1), (signal.SIGTERM, 0)])
def test_a_stop_that_one_rank_hears_of_and_other_ranks_going_on(comm, place, engine, number, rank):
    folder = place / f"stopped-{number}-{rank}"
    engine(asked_by(number, rank, turn=5))
    assert run(comm, place / "in.toml", folder) == EXIT_RESUBMIT
    assert 0.0 < of_root(comm, lambda: checkpoint_times(folder)[0]) < 1.0
    engine(ReplicatedEngine)
    resume(comm, folder, 1.1234567, 1)
    resume(comm, folder, 1.7, 2)
    resume(comm, folder, END, comm.size)
    assert of_root(comm, lambda: difference(folder, place / "whole")) is None
    assert of_root(comm, lambda: frame_times(folder) == frame_times(place / "whole"))
    assert of_root(comm, lambda: same_reports(folder, place / "whole") and what(folder) == what(place / "whole"))
    assert of_root(comm, lambda: leftovers(folder)) == []


def test_a_checkpoint_in_passing_that_one_rank_hears_of(comm, place, engine, caplog):
    caplog.set_level(logging.INFO, "hpcchain.run")
    engine(asked_by(signal.SIGUSR2, -1, turn=5))
    folder = place / "passing"
    run(comm, place / "in.toml", folder, overrides=["output.keep_checkpoints=100"])
    assert caplog.text.count("checkpoint written at t ") == 1
    times = of_root(comm, lambda: checkpoint_times(folder))
    assert len(times) == 7 and len([t for t in times if t not in (0.0, 0.6, 1.2, 1.8, 2.4, END)]) == 1
    assert of_root(comm, lambda: difference(folder, place / "whole")) is None


def test_a_checkpoint_by_one_ranks_clock(comm, place, monkeypatch):
    """The others' clocks stand still; a minute passes each time that the one looks at its own."""
    minutes = itertools.count()
    wall = property(lambda self: 60.0 * next(minutes) if comm.rank == comm.size - 1 else 0.0)
    folder = place / "clock"
    overrides = ["output.keep_checkpoints=100", "output.checkpoint_wall_minutes=7"]
    with monkeypatch.context() as patch:
        patch.setattr(Timers, "wall", wall)
        run(comm, place / "in.toml", folder, overrides=overrides, until=1.0)
    assert len(of_root(comm, lambda: checkpoint_times(folder))) > 5
    on(comm, 1, lambda one: run(one, place / "in.toml", place / "clock-1", until=1.0))
    assert of_root(comm, lambda: difference(folder, place / "clock-1")) is None


def test_a_stop_while_the_start_is_made_that_one_rank_hears_of(comm, place, engine):
    class SignalledEngine(ReplicatedEngine):
        def advance(self, time, pause=None):
            if self.growing and self._comm.rank == self._comm.size - 1:
                signal.raise_signal(signal.SIGUSR1)
            return super().advance(time, pause)

    engine(SignalledEngine)
    with pytest.raises(Stopped, match="run the same command again"):
        run(comm, place / "grow.toml", place / "early")
    assert of_root(comm, lambda: sorted(path.name for path in (place / "early").iterdir())) == ["growth.h5"]


def test_the_input_is_what_the_root_reads(comm, place):
    """Nothing hangs or differs when the others see another file, or none."""
    mine = place / "grow.toml" if comm.rank == 0 else place / "absent.toml"
    api.build(mine, place / "third.h5", comm=comm)
    assert of_root(comm, lambda: compare(place / "start.h5", place / "third.h5")) is None
    mine = place / "absent.toml" if comm.rank == 0 else place / "grow.toml"
    with pytest.raises(DataError, match="absent.toml"):
        run(comm, mine, place / "never")
    with pytest.raises(ConfigError, match="end_time"):
        run(comm, place / "grow.toml", place / "never", overrides=["run.end_time=-1"] if comm.rank == 0 else [])
    comm.barrier()
    assert not (place / "never").exists()


def test_a_run_that_is_there_is_refused_on_all_ranks(comm, place):
    with pytest.raises(UsageError, match="holds a run already"):
        run(comm, place / "in.toml", place / "whole")
