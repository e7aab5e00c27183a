"""The public names of Python: read, System and Simulation, alone and on ranks, against what the commands write."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
from fractions import Fraction

import numpy as np
import pytest

import hpcchain
from hpcchain import api
from hpcchain.config import load_config
from hpcchain.errors import ConfigError, DataError, UsageError
from hpcchain.io.output.parts import PartWriter
from hpcchain.io.tools.compare import compare
from hpcchain.model.system import OPEN
from hpcchain.parallel.comm import Single
from hpcchain.run.recorder import Recorder
from tests.support.analysed import write_run
from tests.support.launching import run_python
from tests.support.unfinished import FRAMES, PARTS, run_folder

INPUT = """
[box]
packing_fraction = 0.1
[[molecule]]
name = "dumbbell"
kind = "chain"
beads = 3
count = 12
mass = 2.0
[[molecule]]
name = "solvent"
kind = "monomer"
count = 20
diameter = 0.8
[run]
end_time = 2.0
[output]
frame_every = 0.5
report_every = 0.25
events = true
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with an input and its run in `out`, as the command makes it."""
    folder = tmp_path_factory.mktemp("public")
    (folder / "in.toml").write_text(INPUT, encoding="utf-8")
    assert api.run(folder / "in.toml", output=folder / "out", comm=Single()) == 0
    return folder


def test_importing_the_package_is_cheap_and_names_are_there():
    code = "import sys, hpcchain; assert 'numba' not in sys.modules and 'h5py' not in sys.modules; print(dir(hpcchain))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"read", "System", "Simulation"} <= set(eval(done.stdout)) and "read" in dir(hpcchain)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = hpcchain.nothing


def test_results_are_arrays(place):
    found = hpcchain.read(place / "out")
    assert found.trajectory.position.shape == found.trajectory.velocity.shape == (5, 56, 3)
    np.testing.assert_array_equal(found.trajectory.time, [0.0, 0.5, 1.0, 1.5, 2.0])
    np.testing.assert_array_equal(found.trajectory.frame(-1)[0], found.trajectory.position[-1])
    assert found.trajectory.names == ["dumbbell", "solvent"] and found.trajectory.bonds.shape == (24, 2)
    np.testing.assert_array_equal(
        found.trajectory.unwrapped, found.trajectory.position + found.trajectory.image * found.trajectory.box
    )
    assert found.observables["pressure"].shape == found.observables.time.shape == (9,)
    assert "temperature" in found.observables and found.observables["momentum"].shape == (9, 3)
    with pytest.raises(KeyError, match="'presure' is no observable of this run: it has .*pressure"):
        found.observables["presure"]
    assert len(found.events) == found.observables["contacts"].sum() and found.events["time"].max() <= 2.0
    assert hpcchain.read(place / "out" / "trajectory.h5").folder == place / "out"


def test_analysis_has_what_the_command_prints(place):
    found = hpcchain.read(place / "out").analysis(start=0.5)
    value = hpcchain.read(place / "out").observables["pressure"][2:]
    assert found.observables["pressure"].mean == pytest.approx(value.mean(), rel=1e-12)
    assert found.observables["pressure"].reports == 7
    assert set(found.molecules) == {"dumbbell", "solvent"}
    size = found.molecules["dumbbell"]
    assert (size.beads, size.molecules) == (3, 12) and 1.0 < size.end_to_end < 2.0 and size.gyration_error > 0.0
    assert found.value("radius_of_gyration", "dumbbell").value == size.gyration
    whole = hpcchain.read(place / "out").analysis(0.0, figures=None)
    assert whole.curve("g3", "solvent").value[0] > 0.0 and whole.curve("g3", "nothing") is None


@pytest.mark.parametrize("joined", [0, 1, PARTS])
def test_results_of_a_run_that_goes_on(tmp_path, joined):
    found = hpcchain.read(run_folder(tmp_path, joined))
    assert found.trajectory.position.shape == (FRAMES * PARTS, 6, 3)
    assert found.trajectory.position[-1, 0, 0] == 1000.0 * (FRAMES * PARTS - 1)
    assert found.observables["temperature"].tolist() == [1.5 * k for k in range(FRAMES * PARTS)]
    assert found.events["time"].tolist() == [k + 0.5 for k in range(FRAMES * PARTS)]
    assert found.analysis(1.0).observables["temperature"].reports == FRAMES * PARTS - 1
    if joined < PARTS:
        pytest.importorskip("MDAnalysis")
        with pytest.raises(DataError, match="not all frames are in trajectory.h5"):
            found.universe()


@pytest.mark.parametrize("joined", [0, 1, PARTS])
def test_events_of_rough_beads_have_the_rest_of_the_impulse(tmp_path, joined):
    found = hpcchain.read(run_folder(tmp_path, joined, rough=True)).events
    assert found["tangential"].tolist() == [[float(k)] * 3 for k in range(FRAMES * PARTS)]


def test_a_universe_has_bonds_masses_and_molecules(place):
    pytest.importorskip("MDAnalysis")
    found = hpcchain.read(place / "out")
    universe = found.universe()
    assert len(universe.trajectory) == 5 and len(universe.residues) == 32 and len(universe.bonds) == 24
    assert universe.atoms.masses[:4].tolist() == [2.0] * 4 and universe.residues.resnames[0] == "dumbbell"
    universe.trajectory[4]
    np.testing.assert_allclose(universe.atoms.positions, found.trajectory.position[4], rtol=1e-5, atol=1e-5)


def test_a_universe_has_the_times_of_the_frames(place, tmp_path):
    """In the file and in memory; of a run that begins later, and whose last frame is off the raster."""
    pytest.importorskip("MDAnalysis")
    found = hpcchain.read(place / "out")
    universe = found.universe()
    assert universe.trajectory.dt == found.trajectory.dt == 0.5 and universe.trajectory.totaltime == 2.0
    universe.transfer_to_memory()
    assert [frame.time for frame in universe.trajectory] == found.trajectory.time.tolist()
    universe.trajectory[4]
    np.testing.assert_allclose(universe.atoms.velocities, found.trajectory.velocity[4], rtol=1e-6)
    times = 3.0 + np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.43])
    later = hpcchain.read(write_run(tmp_path / "later", [2, 2], np.ones((6, 4, 3)), times=times)).universe()
    assert later.trajectory.dt == pytest.approx(0.1) and [frame.time for frame in later.trajectory] == times.tolist()
    later.transfer_to_memory(stop=5, time_offset=later.trajectory[0].time)
    assert [frame.time for frame in later.trajectory] == pytest.approx(times[:5])


def test_a_universe_has_all_that_is_known_of_molecules(place, tmp_path):
    pytest.importorskip("MDAnalysis")
    universe = hpcchain.read(place / "out").universe()
    beads = universe.atoms
    assert beads.ids.tolist() == list(range(1, 57)) and beads.molnums[[0, 2, 3]].tolist() == [0, 0, 1]
    assert beads.moltypes[0] == "dumbbell" and beads.resnums[-1] == 32 and len(beads.fragments) == 32
    assert universe.dimensions[3:].tolist() == [90.0] * 3 and len(universe.select_atoms("segid SYSTEM")) == 56
    free = hpcchain.read(write_run(tmp_path / "free", [2, 2], np.ones((2, 4, 3)), boundary=OPEN)).universe()
    assert free.dimensions is None and all(frame.dimensions is None for frame in free.trajectory)
    single = hpcchain.read(write_run(tmp_path / "single", [2], np.ones((1, 2, 3)))).universe()
    assert len(single.trajectory) == 1


def test_what_is_printed_of_an_object_is_one_line_that_says_what_it_is(place):
    found = hpcchain.read(place / "out")
    analysis = found.analysis(figures=("observables", "displacement"))
    system = hpcchain.System.from_arrays(position=[[1, 1, 1], [2, 1, 1], [4, 4, 4]], bonds=[[0, 1]], box=[8, 8, 9])
    simulation = hpcchain.Simulation(place / "in.toml", overrides=["molecule.0.count=2"])
    path, edge = place / "out" / "trajectory.h5", f"{simulation.box[0]:.6g}"
    for one, text in (
        (found, f"<Results in {place / 'out'}: trajectory.h5, observables.h5, events.h5>"),
        (found.trajectory, f"<Trajectory {path}: 5 frames from time 0 to 2 of 56 beads>"),
        (system, "<System: 3 beads in 2 molecules, box 8 x 8 x 9 (periodic, periodic, periodic)>"),
        (
            simulation,
            f"<Simulation of {place / 'in.toml'}: 26 beads in 22 molecules, box {edge} x {edge} x {edge}, time 0 of 2>",
        ),
        (analysis.curve("g3", "solvent"), "<Curve g3 of solvent: 4 points by lag>"),
    ):
        assert repr(one) == text
    assert re.fullmatch(r"<Observables: 9 reports from time 0 to 2 of .*pressure.*>", repr(found.observables))
    assert re.fullmatch(rf"<Analysis of {place / 'out'} from time .*: 5 frames, \d+ numbers, 4 curves>", repr(analysis))
    simulation.close()
    assert repr(simulation).endswith("in.toml: closed, time 0 of 2>")


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match="holds none of trajectory.h5"):
        hpcchain.read(tmp_path)


def test_a_simulation_in_pieces_has_the_bits_of_the_command(place):
    seen = []
    with hpcchain.Simulation(place / "in.toml", output=place / "pieces") as simulation:
        simulation.every(0.7, lambda each: seen.append(each.time))
        assert simulation.run(0.3) == 0.3 and simulation.run(until=1.1) == 1.1
        assert simulation.run() == 2.0 and simulation.time == 2.0
        last = simulation.position
    assert seen == [0.0, 0.7, 1.4]
    for name in ("trajectory", "events"):
        assert compare(place / "pieces" / f"{name}.h5", place / "out" / f"{name}.h5") is None
    np.testing.assert_array_equal(last, hpcchain.read(place / "pieces").trajectory.position[-1])


def test_without_output_nothing_is_written_and_the_bits_are_the_same(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    simulation = hpcchain.Simulation(place / "in.toml")
    energy = simulation.energy
    simulation.run(1.25)
    simulation.run(0.75)
    whole = hpcchain.read(place / "out").trajectory
    np.testing.assert_array_equal(simulation.position, whole.position[-1])
    np.testing.assert_array_equal(simulation.velocity, whole.velocity[-1])
    assert simulation.energy == pytest.approx(energy, rel=1e-12) and list(tmp_path.iterdir()) == []


def test_a_simulation_has_what_reports_have(place):
    found = hpcchain.read(place / "out")
    reports, frames = found.observables, found.trajectory
    simulation = hpcchain.Simulation(place / "in.toml")
    assert np.isnan(simulation.pressure) and simulation.potential_energy == 0.0
    for report in (1, 2):
        simulation.run(0.25)
        assert simulation.pressure == reports["pressure"][report]
        assert simulation.temperature == reports["temperature"][report]
    np.testing.assert_array_equal(simulation.box, frames.box)
    np.testing.assert_array_equal(simulation.bonds, frames.bonds)
    seen = []
    with hpcchain.Simulation(place / "in.toml", output=place / "asked") as other:
        other.every(0.1, lambda now: seen.append((now.time, now.pressure)))
        other.run(0.5)
    assert [time for time, _ in seen] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, 0.5]) and np.isnan(seen[0][1])
    assert compare(place / "asked" / "observables.h5", place / "out" / "observables.h5", common=True) is None


def test_energies_of_potentials_are_there():
    wells = [{"name": "steps", "types": ["A", "A"], "distances": [1.5], "energies": [-2.0]}]
    system = hpcchain.System.from_arrays([[1, 1, 1], [2.2, 1, 1], [5, 5, 5]], box=(8, 8, 8), potential=wells)
    assert hpcchain.Simulation(system).potential_energy == -2.0


@pytest.mark.parametrize("name", ["position", "velocity", "image", "box", "bonds"])
def test_arrays_of_a_simulation_are_copies_that_cannot_be_written_to(place, name):
    simulation = hpcchain.Simulation(place / "in.toml")
    with pytest.raises(ValueError, match="read-only"):
        getattr(simulation, name)[:] = 0
    with pytest.raises(AttributeError):
        setattr(simulation, name, 0)


def test_a_simulation_past_the_inputs_end_can_be_resumed(place):
    with hpcchain.Simulation(place / "in.toml", output=place / "longer", overrides=["run.end_time=0.5"]) as simulation:
        simulation.run(1.0)
    assert api.resume(place / "longer", until=2.0, comm=Single()) == 0
    assert compare(place / "longer" / "trajectory.h5", place / "out" / "trajectory.h5") is None


@pytest.mark.parametrize("kind", [np.int64, np.float32, np.float64, Fraction, int])
def test_times_may_be_numbers_of_any_kind(place, tmp_path, kind):
    with hpcchain.Simulation(place / "in.toml", output=tmp_path / "out") as simulation:
        simulation.every(kind(1), lambda each: None)
        simulation.run(0.1)
        assert simulation.run(kind(1)) == 1.1 and type(simulation.time) is float
        assert simulation.run(until=kind(2)) == 2.0 and type(simulation.time) is float
    for name in ("trajectory", "events", "observables"):
        assert compare(tmp_path / "out" / f"{name}.h5", place / "out" / f"{name}.h5") is None


def test_an_interrupt_while_output_is_written_comes_after_it(place, tmp_path, monkeypatch):
    """As Ctrl-C in a notebook, where the next cell may go on."""
    interrupted = {}

    def interrupt_once(kind, name):
        def interrupted_by(self, *given, **named):
            if interrupted.setdefault((kind, name), True):
                interrupted[kind, name] = False
                signal.raise_signal(signal.SIGINT)
            return before(self, *given, **named)

        before = getattr(kind, name)
        monkeypatch.setattr(kind, name, interrupted_by)

    for name in ("open", "close", "frame", "assemble"):
        interrupt_once(Recorder, name)
    interrupt_once(PartWriter, "report")
    handler = signal.getsignal(signal.SIGINT)
    simulation = hpcchain.Simulation(
        place / "in.toml", output=tmp_path / "out", overrides=["output.checkpoint_every=1"]
    )
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        while simulation.time < 2.0:
            with contextlib.suppress(KeyboardInterrupt):
                simulation.run()
        with pytest.raises(KeyboardInterrupt):
            simulation.close()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert len(interrupted) == 5 and not any(interrupted.values()) and not (tmp_path / "out" / "run.lock").exists()
    for name in ("trajectory", "events", "observables"):
        assert compare(tmp_path / "out" / f"{name}.h5", place / "out" / f"{name}.h5") is None


def test_commands_and_simulations_run_in_threads(place, tmp_path):
    def go():
        codes.append(api.run(place / "in.toml", output=tmp_path / "a", until=1.0, comm=Single()))
        codes.append(api.resume(tmp_path / "a", until=2.0, comm=Single()))
        with hpcchain.Simulation(place / "in.toml", output=tmp_path / "b") as simulation:
            simulation.run()

    codes = []
    thread = threading.Thread(target=go)
    thread.start()
    thread.join()
    assert codes == [0, 0]
    for name in ("a", "b"):
        assert compare(tmp_path / name / "trajectory.h5", place / "out" / "trajectory.h5") is None


def test_callbacks_can_end_a_run_and_times_are_checked(place):
    simulation = hpcchain.Simulation(place / "in.toml")
    simulation.every(0.25, lambda each: each.time >= 0.5)
    assert simulation.run(5.0) == 0.5
    with pytest.raises(UsageError, match="give dt or until"):
        simulation.run(1.0, until=2.0)
    with pytest.raises(UsageError, match="the time 0.25 is not after the present one, 0.5"):
        simulation.run(until=0.25)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda simulation: simulation.run("1"), "'1' is no time"),
        (lambda simulation: simulation.run(float("nan")), "nan is no time"),
        (lambda simulation: simulation.run(10**400), "10+ is no time"),
        (lambda simulation: simulation.every(0.0, print), "interval 0.0 is no number above 0"),
        (lambda simulation: simulation.every(0.1, "print"), "'print' cannot be called"),
        (
            lambda simulation: [simulation.every(0.1, lambda each: each.run(1.0)), simulation.run(0.5)],
            "goes on already",
        ),
        (
            lambda simulation: [simulation.every(0.1, lambda each: each.close()), simulation.run(0.5)],
            "cannot close the Simulation that calls it: return True",
        ),
        (lambda simulation: [simulation.close(), simulation.run(0.5)], "this Simulation is closed"),
    ],
)
def test_what_a_simulation_cannot_do_is_said(place, ask, message):
    with pytest.raises(UsageError, match=message):
        ask(hpcchain.Simulation(place / "in.toml"))


@pytest.mark.parametrize(
    ("ask", "kind", "message"),
    [
        (lambda found: found.analysis(figures=("size",)), UsageError, "'size' is no figure: choose of observables"),
        (lambda found: found.analysis(figures="sizes"), UsageError, "give a tuple of names"),
        (lambda found: found.analysis(start=float("nan")), UsageError, "the time nan to start from is no finite"),
        (lambda found: found.analysis(start="1"), UsageError, "the time '1' to start from"),
        (lambda found: found.trajectory.frame(9), IndexError, "there is no frame 9: it has 5"),
    ],
)
def test_what_results_do_not_have_is_said(place, ask, kind, message):
    with pytest.raises(kind, match=message):
        ask(hpcchain.read(place / "out"))


def test_events_that_were_not_logged_are_said(place, tmp_path):
    with hpcchain.Simulation(place / "in.toml", output=tmp_path / "quiet", overrides=["output.events=false"]) as found:
        found.run(0.1)
    with pytest.raises(DataError, match="no contacts were logged; run again with output.events = true"):
        _ = hpcchain.read(tmp_path / "quiet").events


def test_a_failure_inside_lets_the_folder_go(place):
    with pytest.raises(ZeroDivisionError):
        with hpcchain.Simulation(place / "in.toml", output=place / "failed") as simulation:
            simulation.every(0.25, lambda each: 1 / 0)
            simulation.run(1.0)
    assert not (place / "failed" / "run.lock").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": None}, "source: None is no path; give the path of an input file, or a System"),
        ({"source": 3}, "source: 3 is no path"),
        ({"source": {"box": 1}}, "source: {'box': 1} is no path"),
        ({"source": np.zeros(3)}, "source: array.* is no path"),
        ({"output": 3.5}, "output: 3.5 is no path; give the path of a folder"),
        ({"comm": "world"}, "comm: 'world' is no communicator"),
        ({"overrides": None}, "overrides: is None; give a list"),
        ({"overrides": "run.end_time=1"}, "overrides: is 'run.end_time=1'; give a list"),
        ({"overrides": [3]}, "--set '3': needs the form section.key=value"),
    ],
)
def test_what_is_no_input_is_said(place, options, message):
    with pytest.raises((UsageError, ConfigError), match=message):
        hpcchain.Simulation(**({"source": place / "in.toml"} | options))


def test_files_that_are_no_input_are_named(place):
    checkpoint = sorted((place / "out" / "checkpoints").glob("*.h5"))[-1]
    with pytest.raises(ConfigError, match=f"{checkpoint.name}: is an HDF5 file, not an input; .*hpcchain resume"):
        hpcchain.Simulation(checkpoint)
    for path, reason in ((place, "it is a folder"), (place / "missing.toml", "No such file")):
        with pytest.raises(DataError, match=f"{path.name}: the input file cannot be read: {reason}"):
            hpcchain.Simulation(path)
    with pytest.raises(UsageError, match="read: None is no path"):
        hpcchain.read(None)


def test_a_path_of_another_kind_is_named_as_a_path(place):
    """As libraries have them: an object that Python can open, whose text is no path."""
    entry = next(one for one in os.scandir(place) if one.name == "in.toml")
    assert str(entry) != entry.path
    with pytest.raises(ConfigError, match=f"^{entry.path}: initial.file"):
        hpcchain.Simulation(entry, overrides=["initial.file=start.h5", "initial.method=grow"])
    with pytest.raises(DataError, match=f"^{entry.path}: initial.file: {place / 'start.h5'}: no such file"):
        hpcchain.Simulation(entry, overrides=["initial.file=start.h5", "initial.method=file"])


TRIMERS = np.array([[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]] * 3) + [[[1, 1, 1]], [[4, 1, 1]], [[4, 4, 4]]]


def test_a_system_from_arrays_finds_its_kinds(tmp_path):
    position = np.concatenate([TRIMERS.reshape(-1, 3), [[7.0, 7.0, 7.0], [1.0, 7.0, 7.0]]])
    bonds = [[1, 0], [1, 2], [3, 4], [4, 5], [6, 7], [7, 8], [8, 6]]
    position[8] = position[6] + [0.5, np.sqrt(0.75), 0.0]
    position[7] = position[6] + [1.0, 0.0, 0.0]
    system = hpcchain.System.from_arrays(
        position=position, bonds=bonds, box=(9.0, 9.0, 9.0), mass=[1.0] * 9 + [2.0, 2.0], initial={"seed": 4}
    )
    kinds = [(kind.kind, kind.count, kind.beads) for kind in system.config.molecules]
    assert kinds == [("chain", 2, 3), ("graph", 1, 3), ("monomer", 2, 1)]
    np.testing.assert_array_equal(system.position, position)
    simulation = hpcchain.Simulation(system)
    energy = simulation.energy
    simulation.run(3.0)
    assert simulation.time == 3.0 and simulation.energy == pytest.approx(energy, rel=1e-12) and energy > 0.0
    (tmp_path / "same.toml").write_text(system.to_toml(), encoding="utf-8")
    assert load_config(tmp_path / "same.toml") == system.config
    again = hpcchain.Simulation(tmp_path / "same.toml")
    again.run(3.0)
    np.testing.assert_array_equal(again.position, simulation.position)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"box": None}, "box: is missing"),
        ({"position": [[1.0, 2.0]]}, r"position: has the shape \(1, 2\); needs \(n, 3\)"),
        ({"velocity": [[0.0, 0.0, 0.0]]}, "velocity: has 1 rows; needs 9"),
        ({"bonds": [[0, 9]]}, "bonds: name beads outside 0 … 8"),
        ({"bonds": [[3, 3]]}, "bonds: bead 3 is bonded to itself"),
        ({"bonds": [[0.5, 1.0]]}, "bonds: needs whole numbers"),
        ({"bonds": [[0, 2], [1, 3]]}, "bonds: do not join beads 0 … 3 to one molecule; sort the beads"),
        ({"position": []}, "position: has no row"),
        ({"box": "large"}, "box: 'large' is not a number, or a list of 3"),
        ({"bonds": None}, "bonds: is None; needs rows of 2 numbers"),
        ({"velocities": 0.0}, "velocities: is called velocity here"),
        ({"seed": 3}, r'seed: unknown key; the nearest valid key is initial={"seed": …}; the input has title'),
        ({"radius": 0.5}, r"radius: unknown key; the nearest valid key is diameter"),
        ({"side": "z-"}, r'side: unknown key; the nearest valid key is wall=\[{"side": …}\]'),
        ({"contact": 0.9}, "contact: is 0.9; sections are dicts"),
        ({"mass": [1.0, 2.0]}, r"mass: has the shape \(2,\); needs one number, or 9"),
        ({"molecule": [0, 1, 0, 2, 2, 2, 3, 3, 3]}, "molecule: the beads of one molecule do not stand together"),
        ({"molecule": [0, 0, 1, 2, 2, 2, 3, 3, 3]}, "molecule: beads 1 and 2 are bonded, but of two molecules"),
        ({"position": np.concatenate([TRIMERS[0], TRIMERS[0] + [0.0, 0.0, 0.5], TRIMERS[2]])}, "beads 0 and 3 overlap"),
        ({"position": np.vstack([TRIMERS[0, [0, 0]], TRIMERS.reshape(-1, 3)[2:]])}, "bonds: beads 0 and 1 are at"),
        ({"position": TRIMERS.reshape(-1, 3) + 1e-9j}, "position: has complex or masked entries; give real numbers"),
        ({"velocity": np.ma.masked_equal(np.zeros((9, 3)), 0.0)}, "velocity: has complex or masked entries"),
        ({"mass": np.ma.masked_greater(np.arange(1.0, 10.0), 5.0)}, "mass: has complex or masked entries"),
        ({"contact": {"restitutoin": 1.0}}, "contact.restitutoin: unknown key; .* valid key is contact={.restitution"),
    ],
)
def test_arrays_that_do_not_fit_are_named(change, message):
    arrays = {"position": TRIMERS.reshape(-1, 3), "bonds": [[0, 1], [1, 2], [3, 4], [4, 5], [6, 7], [7, 8]]}
    with pytest.raises(ConfigError, match=message):
        hpcchain.System.from_arrays(**(arrays | {"box": (9.0, 9.0, 9.0)} | change))


SCRIPT = """
import sys
import numpy as np
from mpi4py import MPI
import hpcchain
with hpcchain.Simulation(sys.argv[1], output=sys.argv[2], comm=MPI.COMM_WORLD) as simulation:
    simulation.run(1.0)
    simulation.run()
    position, bonds = simulation.position, simulation.bonds
    asked = [simulation.pressure, simulation.temperature, simulation.potential_energy]
assert position.shape == (56, 3) and abs(position).max() < 50.0 and len(bonds) == 24
if MPI.COMM_WORLD.rank == 0:
    print(*asked)
"""


def test_a_script_on_two_ranks_has_the_same_bits(place):
    (place / "script.py").write_text(SCRIPT)
    done = run_python(["script.py", "in.toml", "ranks"], place, ranks=2, timeout=280)
    assert done.returncode == 0, done.stderr
    assert compare(place / "ranks" / "trajectory.h5", place / "out" / "trajectory.h5") is None
    simulation = hpcchain.Simulation(place / "in.toml")
    simulation.run(1.0)
    simulation.run()
    asked = [simulation.pressure, simulation.temperature, simulation.potential_energy]
    assert [float(word) for word in done.stdout.split()] == asked


FAILING = """
import sys
from mpi4py import MPI
import hpcchain

def action(simulation):
    if MPI.COMM_WORLD.rank == 1 and simulation.time > 0.0:
        raise ValueError("an own mistake")
    if sys.argv[1] == "meets":
        simulation.energy

simulation = hpcchain.Simulation("in.toml", overrides=["run.sectors=all"])
simulation.every(0.25, action)
simulation.run()
"""


@pytest.mark.parametrize("kind", ["alone", "meets"])
def test_an_action_that_fails_on_one_rank_ends_all(place, kind):
    """Whether the others wait for it at the end of the action, or inside of it."""
    (place / "failing.py").write_text(FAILING)
    done = run_python(["failing.py", kind], place, ranks=2, timeout=100)
    assert done.returncode == 1
    assert "ValueError: an own mistake" in done.stderr


ENDING = """
from mpi4py import MPI
import hpcchain

simulation = hpcchain.Simulation("in.toml", overrides=["run.sectors=all"])
simulation.every(0.25, lambda now: MPI.COMM_WORLD.rank == 1 and now.time > 0.0)
print("reached", simulation.run())
"""


def test_one_rank_can_end_a_run(place):
    (place / "ending.py").write_text(ENDING)
    done = run_python(["ending.py"], place, ranks=2, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["reached", "0.25"] * 2
