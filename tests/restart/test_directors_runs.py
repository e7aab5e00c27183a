"""Runs of spheres with directors among chains: stops, restarts, ranks and output times leave no trace in what turns."""

import h5py
import numpy as np
import pytest

from hpcchain import api
from hpcchain.errors import ConfigError
from hpcchain.io.checkpoint.store import list_checkpoints
from hpcchain.model.rotation import times
from hpcchain.papers import directors as paper
from tests.support.mixtures import WITH_DIRECTORS
from tests.support.outputs import frames_in, read_observables
from tests.support.run_folders import (
    checkpoint_times,
    command,
    difference,
    frame_times,
    resume_here,
    run_here,
    write_input,
)

EVERY = ("trajectory", "events", "observables")
NO_EVENTS = ("trajectory", "observables")
END = 3.0
TABLES = WITH_DIRECTORS | {
    "run": {"end_time": END},
    "output": {"frame_every": 0.25, "report_every": 0.5, "checkpoint_every": 0.75, "events": True},
}
EXACT, STEPPED, STILL = slice(24, 44), slice(54, 62), np.r_[0:24, 44:54]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the start of the box, an input that begins there, and its uninterrupted run in `whole`."""
    folder = tmp_path_factory.mktemp("directors")
    grow = write_input(folder / "grow.toml", TABLES)
    api.build(grow, folder / "start.h5")
    write_input(folder / "in.toml", TABLES | {"initial": {"method": "file", "file": "start.h5"}})
    run_here(folder / "in.toml", folder / "whole")
    return folder


def orientations(folder):
    """Return times (F,), orientations (F, N, 4), angular velocities (N, 3) and moments (N,) of a run's trajectory."""
    with frames_in(folder / "trajectory.h5") as found:
        q = np.array([found.table("orientation", k) for k in range(len(found))])
        return found.time, q, found.fixed.angular_velocity, found.fixed.moment_of_inertia


def turned(q, w, time):
    """Return orientations turned at angular velocities for a time, by the exponential of w t / 2."""
    speed = np.linalg.norm(w, axis=1)[:, None]
    half = 0.5 * speed * time
    return times(np.column_stack([np.cos(half), np.sin(half) * w / speed]), q)


def test_the_spheres_turn_as_free_ones_do(place):
    time, q, w, moment = orientations(place / "whole")
    assert time.tolist() == np.arange(0.0, END + 0.1, 0.25).tolist()
    assert moment[24] == 0.2 and moment[54] == 0.3 and not moment[STILL].any()
    assert np.abs(np.linalg.norm(q, axis=2) - 1.0).max() < 1e-15
    assert np.all(q[:, STILL] == [1.0, 0.0, 0.0, 0.0]) and not w[STILL].any()
    speed = np.linalg.norm(w[STEPPED], axis=1)
    slower = w[STEPPED] * (np.arcsin(0.02 * speed) / (0.02 * speed))[:, None]
    for frame, t in zip(q, time, strict=True):
        assert np.abs(frame[EXACT] - turned(q[0][EXACT], w[EXACT], t)).max() < 1e-14
        assert np.abs(frame[STEPPED] - turned(q[0][STEPPED], slower, t)).max() < 1e-14


def test_energy_and_spin_are_reported_and_never_change(place):
    _, _, w, moment = orientations(place / "whole")
    found = read_observables(place / "whole" / "observables.h5")
    energy, spin = found["rotational_energy"][2], found["spin"][2]
    assert len(energy) == 7 and len(set(energy.tolist())) == 1 and np.all(spin == spin[0])
    assert energy[0] == pytest.approx(np.sum(0.5 * moment[:, None] * w**2), rel=1e-14)
    assert np.allclose(spin[0], moment @ w, rtol=1e-13)


def test_the_start_from_a_file_is_the_start_itself(place):
    run_here(place / "grow.toml", place / "grown")
    assert difference(place / "whole", place / "grown", EVERY) is None


def test_stopped_and_resumed(place):
    run_here(place / "in.toml", place / "pieces", until=0.7310001)
    for until in (1.5, 2.1, END):
        resume_here(place / "pieces", until)
    assert difference(place / "pieces", place / "whole", EVERY) is None
    assert frame_times(place / "pieces") == frame_times(place / "whole")


def test_output_times_leave_no_trace(place):
    settings = ["output.frame_every=0.5", "output.report_every=0.07", "output.checkpoint_every=0.9"]
    folder = run_here(place / "in.toml", place / "odd", settings=settings)
    assert difference(folder, place / "whole", ("trajectory",), common=True) is None


@pytest.mark.long  # tests/parallel/test_directors_mpi.py has ranks, too
@pytest.mark.parametrize("ranks", [2, 3])  # each runs on both numbers
def test_on_ranks_and_on_with_others(place, ranks):
    name = f"ranks-{ranks}"
    command(["run", "in.toml", "--output", name, "--until", "1.3"], place, ranks=ranks)
    command(["resume", name, "--until", str(END)], place, ranks=5 - ranks)
    assert difference(place / name, place / "whole", EVERY) is None


@pytest.fixture(scope="module")
def plain(place):
    """The folder of the same run without directors."""
    molecules = [
        {k: v for k, v in kind.items() if k not in ("directors", "moment", "propagator")} for kind in TABLES["molecule"]
    ]
    return run_here(write_input(place / "plain.toml", TABLES | {"molecule": molecules}), place / "plain")


def test_directors_change_nothing_else(place, plain):
    folder = plain
    assert difference(folder, place / "whole", ("events",)) is None
    with h5py.File(folder / "trajectory.h5") as ours, h5py.File(place / "whole" / "trajectory.h5") as theirs:
        here, there = ours["particles/trajectory"], theirs["particles/trajectory"]
        assert set(there) - set(here) == {"orientation", "angular_velocity", "moment_of_inertia"}
        for name in ("position", "velocity", "image"):
            assert here[f"{name}/value"][...].tobytes() == there[f"{name}/value"][...].tobytes()
    ours, theirs = (set(read_observables(run / "observables.h5")) for run in (place / "whole", folder))
    assert ours - theirs == {"rotational_energy", "spin"}
    assert "directors" not in (folder / "input.toml").read_text()


@pytest.fixture(scope="module")
def middle(place):
    """A checkpoint in the middle of the run."""
    run_here(place / "in.toml", place / "half", until=1.5)
    assert max(checkpoint_times(place / "half")) == 1.5
    return list_checkpoints(place / "half" / "checkpoints")[0][1]


def started_from(place, name, start, molecules=None, **sections):
    """Return a run of one time unit that starts from a file; `molecules` None: the input leaves them out."""
    tables = {
        "box": TABLES["box"],
        "initial": {"method": "file", "file": str(start), "seed": 11, "temperature": 0.5},
        "run": {"end_time": 1.0},
        "output": {"frame_every": 0.5},
        **sections,
    }
    if molecules is not None:
        tables["molecule"] = molecules
    return run_here(write_input(place / f"{name}.toml", tables), place / name)


@pytest.mark.parametrize("named", [False, True])
def test_a_start_from_another_runs_checkpoint_goes_on_with_its_orientations(place, middle, named):
    name = f"onward-{named}"
    folder = started_from(place, name, middle, TABLES["molecule"] if named else None)
    time, q, w, _ = orientations(place / "whole")
    later, found, same, _ = orientations(folder)
    assert same.tobytes() == w.tobytes()
    for t, frame in zip(later, found, strict=True):
        wanted = q[np.flatnonzero(time == 1.5 + t)[0]]
        assert np.abs(frame[EXACT] - wanted[EXACT]).max() < 1e-14
    stepped = q[np.flatnonzero(time == 2.5)[0]][STEPPED]
    assert (np.abs(found[-1][STEPPED] - stepped).max() < 1e-14) == named  # left out, [propagator] moves all
    resumed = place / f"{name}-pieces"
    run_here(place / f"{name}.toml", resumed, until=0.3)
    resume_here(resumed, 1.0)
    assert difference(resumed, folder, NO_EVENTS) is None


@pytest.mark.long
def test_such_a_start_on_ranks(place, middle):
    started_from(place, "one", middle)
    command(["run", "one.toml", "--output", "two"], place, ranks=2)
    assert difference(place / "one", place / "two", NO_EVENTS) is None


def test_a_start_file_without_orientations_leaves_them_to_the_seed(place, plain):
    start = list_checkpoints(plain / "checkpoints")[0][1]
    _, found, _, _ = orientations(started_from(place, "seeded", start, TABLES["molecule"]))
    _, again, _, _ = orientations(started_from(place, "again", start, TABLES["molecule"]))
    assert found.tobytes() == again.tobytes()
    assert np.all(np.abs(found[0][EXACT] - orientations(place / "whole")[1][0][EXACT]).max(axis=1) > 1e-3)


def test_a_start_that_was_built_turns_as_the_input_says(place, plain):
    """With other steps than those it was built for, and with directors that it was built without."""
    molecules = [dict(kind) for kind in TABLES["molecule"]]
    molecules[3]["propagator"] = {"name": "variational", "step": 0.05}
    _, wanted, w, _ = orientations(place / "whole")
    time, found, same, _ = orientations(started_from(place, "steps", place / "start.h5", molecules))
    assert same.tobytes() == w.tobytes() and found[0].tobytes() == wanted[0].tobytes()
    speed = np.linalg.norm(w[STEPPED], axis=1)
    slower = w[STEPPED] * (np.arcsin(0.05 * speed) / (0.05 * speed))[:, None]
    assert np.abs(found[-1][STEPPED] - turned(found[0][STEPPED], slower, time[-1])).max() < 1e-14
    api.build(place / "plain.toml", place / "bare.h5")
    _, found, w, _ = orientations(started_from(place, "bare", place / "bare.h5", molecules))
    assert np.abs(w[EXACT]).min() > 0.0 and np.all(found[0][EXACT] != [1.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"directors": False}, "molecule.directors: bead 24 has moment of inertia 0 here, 0.2"),
        ({"moment": 0.25}, "molecule.moment: bead 24 has moment of inertia 0.25 here, 0.2"),
    ],
)
def test_a_start_file_with_other_directors_is_refused(place, change, words):
    molecules = [dict(kind) for kind in TABLES["molecule"]]
    molecules[1] |= change
    with pytest.raises(ConfigError) as caught:
        started_from(place, "wrong", place / "start.h5", molecules)
    assert words in str(caught.value) and not (place / "wrong" / "checkpoints").exists()


def test_spheres_too_fast_for_their_steps_are_refused(place):
    said = command(["run", "grow.toml", "--output", "fast", "--set", "molecule.3.propagator.step=0.5"], place, 78, 2)
    assert "propagator.step: 0.5 is too long for how fast bead" in said and said.count("hpcchain: ") == 1
    assert not (place / "fast" / "input.toml").exists()


def test_an_explicit_start_is_kept_by_checkpoints_and_on_ranks(place):
    """Angular speeds whose turns are many: 1e6 time units, in four pieces, on 1 and 2 ranks."""
    kind = {
        "kind": "monomer",
        "count": 2,
        "directors": True,
        "positions": [[1, 1, 1], [1, 1, 5]],
        "velocities": [[2e-6, 0, 0], [0, 0, 0]],
        "orientations": [[0.5, 0.5, 0.5, 0.5], [0.6, 0, 0, -0.8]],
        "angular_velocities": [[1, 2, -1], [2, 3, -3]],
    }
    tables = {
        "box": {"size": [9, 9, 9]},
        "molecule": [kind],
        "initial": {"method": "explicit"},
        "run": {"end_time": 1e6},
        "output": {"frame_every": 1e5, "report_every": 1e5, "checkpoint_every": 3e5},
    }
    path = write_input(place / "long.toml", tables)
    whole = run_here(path, place / "long")
    run_here(path, place / "long-pieces", until=3.5e5)
    resume_here(place / "long-pieces", 7.1e5)
    resume_here(place / "long-pieces", 1e6)
    assert difference(place / "long-pieces", whole, NO_EVENTS) is None
    command(["run", "long.toml", "--output", "long-ranks"], place, ranks=2)
    assert difference(place / "long-ranks", whole, NO_EVENTS) is None
    api.build(path, place / "long.h5")
    start = {"initial": {"method": "file", "file": "long.h5"}}
    del tables["molecule"]
    built = run_here(write_input(place / "built.toml", tables | start), place / "built")
    assert difference(built, whole, NO_EVENTS) is None
    _, q, _, _ = orientations(whole)
    assert np.abs(np.linalg.norm(q, axis=2) - 1.0).max() < 1e-15


@pytest.mark.parametrize(("name", "h"), [("head-on", 0.1), ("head-on", 0.07), ("oblique", 0.1), ("grazing", 0.1)])
def test_the_papers_three_set_ups(tmp_path, name, h):
    """Nodes of the paper's own method: the same, but its steps are cut at a contact, which turns a little less."""
    steps = round(1.2 / h)
    (centre, velocity), spin = paper.SETUPS[name], paper.SPIN
    pair = paper.run(name, h, steps, tolerance=1e-12)
    times, nodes, hit = np.array(pair.course.node_time), pair.course.node_position, pair.hit
    kind = {
        "kind": "monomer",
        "count": 2,
        "directors": True,
        "diameter": 2 * paper.RADIUS,
        "mass": paper.MASS,
        "positions": centre,
        "velocities": velocity,
        "angular_velocities": spin.tolist(),
    }
    tables = {
        "box": {"size": [12.0] * 3, "boundary": ["open"] * 3},
        "molecule": [kind],
        "initial": {"method": "explicit"},
        "propagator": {"name": "variational", "step": h},
        "run": {"end_time": steps * h},
        "output": {"frame_every": h},
    }
    folder = run_here(write_input(tmp_path / "in.toml", tables), tmp_path / "out")
    time, q, _, _ = orientations(folder)
    with frames_in(folder / "trajectory.h5") as found:
        place = [found.table("position", k) for k in range(len(found))]
    late = np.zeros(2)
    for t, orientation, position in zip(time, q, place, strict=True):
        node = int(np.argmin(np.abs(times - t)))
        assert abs(times[node] - t) < 1e-12
        if node <= hit.node:
            assert np.abs(position - nodes[node][paper.CENTRES]).max() < 1e-12
        elif hit.contact:
            speed = np.linalg.norm(spin, axis=1)
            late = sum(np.arcsin(part * speed) for part in (hit.alpha, hit.tau)) - np.arcsin(h * speed)
        for body in range(2):
            axis = spin[body] / np.linalg.norm(spin[body])
            rows = paper.turned(late[body] * axis, matrix(orientation[body]).T)
            assert np.abs(rows - nodes[node][4 * body + 1 : 4 * body + 4]).max() < 1e-11


def matrix(q):
    """Return the rotation matrix of a unit quaternion."""
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
