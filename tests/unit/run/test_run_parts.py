"""The small parts of run control: lock, signals, totals, run log, timers, compiling notice."""

import itertools
import json
import logging
import math
import os
import signal
import socket
import subprocess
import sys
import time
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest

from hpcchain.errors import UsageError
from hpcchain.io.checkpoint.layout import CONTACTS, MOST, SOLVED
from hpcchain.layout import arrays as L
from hpcchain.model.system import WALL
from hpcchain.observe.observables import COLUMNS, Interval, Observables
from hpcchain.observe.runlog import RunLog
from hpcchain.observe.timers import Timers
from hpcchain.parallel.comm import Single
from hpcchain.parallel.signals import Signals, remember_from_the_start
from hpcchain.run import compiling
from hpcchain.run.compiling import CompilingNotice
from hpcchain.run.controller import Run
from hpcchain.run.folder import cut_log
from hpcchain.run.guards import lock as locks
from hpcchain.run.guards.lock import FolderLock
from hpcchain.run.totals import Totals
from tests.support.kernel_tools import make_system


def test_the_lock_is_held_and_let_go(tmp_path):
    folder = tmp_path / "out"
    with FolderLock(folder):
        (folder / "result").write_text("x")
        holder = json.loads((folder / "run.lock").read_text())
        assert (holder["pid"], holder["host"]) == (os.getpid(), socket.gethostname())
        with pytest.raises(UsageError, match=f"process {os.getpid()} on "), FolderLock(folder):
            pass
        assert (folder / "run.lock").exists()
    assert [path.name for path in folder.iterdir()] == ["result"]


def test_the_lock_leaves_no_folder_of_its_own(tmp_path):
    with FolderLock(tmp_path / "new"):
        pass
    (tmp_path / "old").mkdir()
    with FolderLock(tmp_path / "old"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"pid": 1, "host": "elsewhere"}', '{"pid": "x"}', "\0" * 10])
def test_what_a_killed_run_left_is_no_obstacle(tmp_path, text):
    (tmp_path / "run.lock").write_text(text)
    with FolderLock(tmp_path):
        assert json.loads((tmp_path / "run.lock").read_text())["pid"] == os.getpid()


def test_without_system_locks_a_living_process_holds_it(tmp_path, monkeypatch):
    def refuse(*args):
        raise OSError("no locks here")

    monkeypatch.setattr(locks.fcntl, "flock", refuse)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        (tmp_path / "run.lock").write_text(json.dumps({"pid": other.pid, "host": socket.gethostname()}))
        with pytest.raises(UsageError, match=f"process {other.pid} on "), FolderLock(tmp_path):
            pass
        other.communicate(b"\n")
    with FolderLock(tmp_path):
        pass


def test_signals_are_remembered_and_given_back():
    before = signal.getsignal(signal.SIGTERM)
    with Signals() as signals:
        assert (signals.stop, signals.save) == (False, False)
        signal.raise_signal(signal.SIGUSR2)
        assert (signals.stop, signals.save) == (False, True)
    for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT):
        with Signals() as signals:
            assert not signals.stop
            signal.raise_signal(number)
            assert signals.stop
    assert signal.getsignal(signal.SIGTERM) is before


PASSED_OVER = """
import contextlib, signal
from hpcchain.parallel.signals import Signals, remember_from_the_start

signal.signal(signal.SIGINT, signal.default_int_handler)  # what starts the tests may have it ignored
remember_from_the_start(["run"])
with contextlib.suppress(KeyboardInterrupt):
    signal.raise_signal(signal.SIGINT)
    raise SystemExit("not at once")
with Signals() as signals:
    assert signals.stop
"""


def test_an_interrupt_that_a_module_passes_over_stops_the_run():
    """Python does so in a `__del__`, too."""
    done = subprocess.run([sys.executable, "-c", PASSED_OVER], check=False)
    assert done.returncode == 0


AT_THE_VERY_END = """
import os, signal
from hpcchain.parallel.signals import remember_from_the_start

class Last:
    def __del__(self, kill=os.kill, process=os.getpid(), number=signal.SIGUSR1):
        kill(process, number)

remember_from_the_start(["run"])
last = Last()
"""


def test_a_signal_at_the_very_end_changes_nothing():
    """Python gives signals back to the system before it is gone; a run that is over would be called failed."""
    done = subprocess.run([sys.executable, "-c", AT_THE_VERY_END], check=False)
    assert done.returncode == 0


def test_commands_that_heed_no_signals_end_by_term_as_by_ctrl_c():
    before = signal.getsignal(signal.SIGTERM)
    try:
        remember_from_the_start(["analyze"])
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(("mine", "still"), [(False, False), (True, True)])
def test_a_signal_that_comes_while_it_is_heeded(tmp_path, mine, still):
    """On a rank that had it already it is another one; on another rank it is the launcher's copy, passed on late."""
    run = Run.__new__(Run)
    run.signals, run.time, run.folder, run.mpi = SimpleNamespace(save=mine), 1.0, tmp_path, None
    run.recorder = SimpleNamespace(open=lambda: None)
    run.timers = SimpleNamespace(wall=0.0)
    run._checkpoint = lambda: setattr(run.signals, "save", True)
    run._checkpoint_in_passing(asked=True)
    assert run.signals.save == still


class Counting:
    """Stands for an engine with counts that the test sets."""

    def __init__(self, quantum=2.0**-40):
        self.counters = dict.fromkeys((*CONTACTS, *SOLVED, *MOST), 0)
        self.quantum, self.impulse_quantum = quantum, quantum / 4
        self.sums, self.energy_quantum = [0] * L.SUMS, quantum

    def count(self, contacts, walls, virial, push=0.0):
        """Add contacts, virial, and impulse on the walls of the third axis."""
        self.counters["contacts"] += contacts
        self.counters["wall_contacts"] += walls
        self.counters["no_roots"] += walls // 2
        self.sums[L.SUM_VIRIAL] += round(virial / self.quantum)
        self.sums[L.SUM_TENSOR + 1] += round(virial / (4 * self.quantum))
        self.sums[L.SUM_TENSOR + 3] -= round(virial / (2 * self.quantum))
        self.sums[L.SUM_TENSOR + 6] += round(virial / (4 * L.FLOW_SCALE * self.quantum))
        self.sums[L.SUM_WALL_IMPULSE + 2] += round(push / self.impulse_quantum)


def test_totals_go_on_across_restarts():
    """Counts of the run and of the interval are the same with and without a restart in the middle of an interval."""
    engine = Counting()
    totals = Totals(engine, {}, Single())
    engine.count(3, 1, 2.5, 8.0)
    totals.gather()
    totals.begin_interval()
    engine.count(5, 2, 1.25, 0.75)
    totals.gather()
    other = Counting(2.0**-30)
    resumed = Totals(other, json.loads(json.dumps(totals.saved())), Single())
    engine.count(7, 0, 0.5, 0.5)
    other.count(7, 0, 0.5, 0.5)
    for found in (totals, resumed):
        found.gather()
        assert (found.contacts, found.wall_contacts, found.no_roots) == (15, 3, 1)
        assert found.interval._asdict() == {
            "virial": 1.75,
            "contacts": 14,
            "wall_impulse": [0.0, 0.0, 1.25],
            "tensor": [1.3125, 0.0, 0.4375, 0.0, -0.875, 0.0],
            "flow": [0.0, 1.75, 0.0],
        }
        found.begin_interval()
        none = {"virial": 0.0, "contacts": 0, "wall_impulse": [0.0] * 3, "tensor": [0.0] * 6, "flow": [0.0] * 3}
        assert found.interval._asdict() == none


def test_totals_sum_over_ranks_to_the_last_unit():
    """Whole numbers far beyond 64 bits, as few as one apart."""

    class Three(Single):
        size = 3

        def allgather(self, value):
            others = [(10, 20, 5, 2**90, 40, 3), (1, 2, 6, -(2**90), 2, 9)]
            names = ("contacts", "wall_contacts", "no_roots", "virial", "iterations", "most_iterations")
            return [value, *(value | dict(zip(names, other, strict=True)) for other in others)]

    engine = Counting(1.0)
    engine.counters |= {"contacts": 100, "wall_contacts": 200, "no_roots": 7, "iterations": 8, "most_iterations": 4}
    engine.sums[L.SUM_VIRIAL] = 3
    engine.sums[L.SUM_WALL_IMPULSE : L.SUM_WORK] = [2**70, 0, 1]
    totals = Totals(engine, {}, Three())
    totals.gather()
    assert (totals.contacts, totals.wall_contacts, totals.interval.contacts) == (111, 222, 333)
    assert totals.no_roots == 18
    assert totals.solved["iterations"] == 50 and totals.solved["most_iterations"] == 9
    assert Totals(engine, {"iterations": 7, "most_iterations": 11}, Single()).solved["most_iterations"] == 11
    assert totals.interval.virial == 3.0 and totals.saved()["interval_quanta"] == 3
    assert totals.saved()["interval_pushes"] == [3 * 2**70, 0, 3]


def test_the_run_log_is_json_with_the_promised_keys(tmp_path):
    log = RunLog(tmp_path / "run.jsonl")
    observed = {"kinetic_energy": 2.0, "temperature": 1.0, "pressure": math.nan, "momentum": np.array([1.0, -3.0, 2.0])}
    log.report(0.0, observed, 0, 0, 0.0)
    time.sleep(0.01)
    changed = observed | {"kinetic_energy": 2.5, "pressure": 0.5}
    summary = log.report(5.0, changed, 30, 4, 0.25, {"passes_per_window": 3.5}, left=7.5)
    first, second = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert first["pressure"] is None and first["energy_error"] == 0.0
    assert (second["events"], second["contacts"], second["wall_contacts"]) == (34, 30, 4)
    assert (second["energy_error"], second["momentum"], second["pressure"]) == (0.25, 3.0, 0.5)
    assert second["passes_per_window"] == 3.5 and "passes_per_window" not in first
    assert second["events_per_second"] > 0.0 and (first["time_left"], second["time_left"]) == (None, 7.5)
    assert summary.startswith("events 34  ") and summary.endswith("energy error 2.5e-01")


def test_a_log_is_cut_back_to_whole_rows(tmp_path):
    path = tmp_path / "run.jsonl"
    cut_log(path, 3)
    assert not path.exists()
    path.write_text('{"a": 1}\n{"a": 2}\n7\n{"a": 3}\n{"a"')
    cut_log(path, 5)
    assert path.read_text() == '{"a": 1}\n{"a": 2}\n{"a": 3}\n'
    cut_log(path, 1)
    assert path.read_text() == '{"a": 1}\n'
    cut_log(path, 0)
    assert path.read_text() == ""


def test_timers_table():
    timers = Timers()
    with timers.phase("search"), timers.phase("inner"):
        time.sleep(0.01)
    with timers.phase("search"):
        time.sleep(0.01)
    table = timers.table(Single())
    assert list(table)[:2] == ["total", "search"]
    assert table["search"][0] >= table["inner"][2] + 0.01 >= 0.02  # a busy machine sleeps longer
    assert timers.table(Single(), {"search: part": 0.5})["search: part"] == (0.5, 0.5, 0.5)


def test_observables_by_hand():
    """Two beads of mass 2 and 1, one box length apart in their images."""
    system = beads_of_mass([2.0, 1.0])
    position, velocity = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]), np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
    image = np.array([[0, 0, 0], [0, 1, 0]])
    observables = Observables(system, freedom=3)
    sums = observables.sums(0, position, velocity, image, 4096)
    row = observables.measure(sums, 0.5, Interval(6.0, 11))
    assert (row["kinetic_energy"], row["temperature"], row["contacts"]) == (3.0, 2.0, 11)
    assert row["momentum"].tolist() == [2.0, 2.0, 0.0]
    assert row["angular_momentum"].tolist() == [0.0, 0.0, 2.0 - 10.0]
    assert row["pressure"] == (2 * 2.0 + 6.0 / 1.5) / 64.0
    assert math.isnan(observables.measure(sums, 0.0)["pressure"])
    row = observables.measure(sums, 0.5, Interval(6.0, 11, tensor=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]))
    assert row["collisional_pressure"].tolist() == [[v / 32.0 for v in w] for w in ([1, 4, 5], [4, 2, 6], [5, 6, 3])]
    assert row["pressure"] == 2 * 2.0 / 64.0 + np.trace(row["collisional_pressure"]) / 3.0
    assert row["kinetic_pressure"].tolist() == [[v / 64.0 for v in w] for w in ([4, 0, 0], [0, 2, 0], [0, 0, 0])]
    row = observables.measure(sums, 0.5, Interval(6.0, 11, flow=[1.0, 2.0, 3.0]))
    assert row["collisional_heat_flux"].tolist() == [1 / 32, 2 / 32, 3 / 32]
    assert row["kinetic_heat_flux"].tolist() == [2.0 * 2.0 / 64.0, 1.0 / 64.0, 0.0]
    assert row["heat_flux"].tolist() == [1 / 32 + 4.0 / 64.0, 2 / 32 + 1.0 / 64.0, 3 / 32]
    unknown = observables.measure(sums, 0.0)
    assert np.all(np.isnan(unknown["collisional_pressure"])) and np.all(np.isnan(unknown["collisional_heat_flux"]))
    assert np.array_equal(unknown["kinetic_pressure"], row["kinetic_pressure"])


def test_the_pressure_on_walls_by_hand():
    """Impulse per time and per area of both walls of an axis, where there are walls, and contacts have been counted."""
    system = beads_of_mass([2.0, 1.0])
    sums = np.zeros((1, 7 + COLUMNS))
    assert "wall_pressure" not in Observables(system, freedom=3).measure(sums, 0.5, Interval(6.0, 11, [1.0, 2.0, 3.0]))
    system.box.boundary[1:] = WALL
    system.box.size[:] = 2.0, 4.0, 5.0
    observables = Observables(system, freedom=3)
    found = observables.measure(sums, 0.5, Interval(6.0, 11, [0.0, 3.0, 2.0]))["wall_pressure"]
    assert math.isnan(found[0]) and found[1:].tolist() == [3.0 / (2 * 10.0 * 0.5), 2.0 / (2 * 8.0 * 0.5)]
    assert np.all(np.isnan(observables.measure(sums, 0.0)["wall_pressure"]))


def beads_of_mass(mass):
    """Return a System of monomers of these masses in a box of edge 4."""
    none = np.zeros((0, 2), dtype=np.int64)
    return make_system([(none, np.zeros((1, 3)), np.zeros((1, 3)), [m]) for m in mass], size=(4.0,) * 3)


def test_observables_are_the_same_from_any_slabs():
    rng = np.random.default_rng(4)
    observables = Observables(beads_of_mass(rng.uniform(0.5, 2.0, 50)), freedom=3)
    frame = rng.normal(size=(50, 3)), rng.normal(size=(50, 3)), rng.integers(-2, 3, (50, 3))
    whole = observables.sums(0, *frame, 8)
    for limits in ((0, 16, 50), (0, 0, 8, 48, 50)):
        parts = [observables.sums(a, *(rows[a:b] for rows in frame), 8) for a, b in itertools.pairwise(limits)]
        assert np.array_equal(np.concatenate(parts), whole)
    row, plain = (observables.measure(sums, 1.0) for sums in (whole, observables.sums(0, *frame, 50)))
    for name in ("kinetic_energy", "momentum", "angular_momentum", "kinetic_pressure"):
        np.testing.assert_allclose(row[name], plain[name], rtol=1e-13, atol=1e-13)


def said(caplog, act):
    """Return what a notice logged while a kernel, not there at first, went through an action."""
    caplog.set_level(logging.INFO, "hpcchain.compiling")
    kernel, store = SimpleNamespace(signatures=[]), SimpleNamespace(missed=False)
    with mock.patch.multiple(compiling, KERNELS=[kernel], STORE=store), CompilingNotice():
        act(kernel, store)
        time.sleep(0.5)
    return caplog.messages


def test_a_cold_cache_is_announced_once(caplog):
    def compile_it(kernel, store):
        store.missed = True
        time.sleep(0.5)
        kernel.signatures.append("signature")

    messages = said(caplog, compile_it)
    assert [message.split()[0] for message in messages] == ["compiling", "compiled"]


def test_a_warm_cache_and_a_run_that_ends_early_are_silent(caplog):
    assert said(caplog, lambda kernel, _: kernel.signatures.append("signature")) == []
    assert said(caplog, lambda *_: None) == []
