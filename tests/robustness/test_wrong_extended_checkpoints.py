"""Well sealed checkpoints of runs of more than smooth hard beads, with states that no run comes to: refused with 65."""

import json
import shutil

import h5py
import numpy as np
import pytest

from hpcchain.cli.main import main
from hpcchain.errors import DataError
from hpcchain.io.checkpoint.store import list_checkpoints
from hpcchain.model.physics.extended import LEVELS
from tests.robustness.test_wrong_checkpoints import put_json
from tests.support.launching import run_hpcchain
from tests.support.run_folders import log_rows, resume_here, run_here
from tests.support.spoilt import spoil
from tests.support.stepped import toml

END, SOON = 1.0, 1.05
FIXED, FREE, OTHER = 0, 7, 8
BEADS = [[1.0 + 1.3 * i, 1.0 + 1.3 * j, 1.0 + 1.3 * k] for i in range(3) for j in range(3) for k in range(3)]
INPUT = {
    "box": {"size": [5.2] * 3, "boundary": ["periodic", "periodic", "wall"]},
    "molecule": [
        {"name": "F", "kind": "monomer", "count": 1, "positions": BEADS[:1], "fixed": [0]},
        {"name": "A", "kind": "monomer", "count": 26, "positions": BEADS[1:], "directors": True},
    ],
    "initial": {"method": "explicit", "temperature": 1.0, "seed": 3},
    "contact": {"tangential_restitution": -1.0},
    "potential": [{"name": "steps", "distances": [1.5], "energies": [-0.5]}],
    "thermostat": {"name": "andersen", "temperature": 1.0, "rate": 2.0},
    "run": {"end_time": END, "sectors": "all"},
    "output": {"frame_every": 0.5, "report_every": 0.5, "checkpoint_every": 1.0},
}
OF_A = {"types": ["A", "A"]}
PILE = [[x - 0.3, y - 0.3, 1.05 * z - 0.55] for x, y, z in BEADS]
GRAINS = {
    "box": {"size": [5.0] * 3, "boundary": ["periodic", "periodic", "wall"]},
    "molecule": [{"kind": "monomer", "count": 27, "positions": PILE}],
    "initial": {"method": "explicit", "temperature": 0.01, "seed": 3},
    "contact": {"friction": 0.5},
    "external": {"gravity": [0.0, 0.0, -1.0]},
    "run": {"engine": "steps", "end_time": END},
    "steps": {"step": 0.01, "integrator": "contact"},
    "output": {"frame_every": 0.5, "report_every": 0.5, "checkpoint_every": 1.0},
}


def ended(folder, tables):
    """Return the checkpoint at the end of a run."""
    (folder / "in.toml").write_text(toml(tables))
    return list_checkpoints(run_here(folder / "in.toml", folder / "out") / "checkpoints")[0][1]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the checkpoint of a run of rough beads in wells, with a thermostat, directors and a fixed bead."""
    return ended(tmp_path_factory.mktemp("extended"), INPUT)


@pytest.fixture(scope="module")
def grains(tmp_path_factory):
    """Return the checkpoint of a run of contact dynamics."""
    return ended(tmp_path_factory.mktemp("grains"), GRAINS)


def table(name, change):
    """Return a change of a table of states in place: `change` takes the array."""

    def changed(file):
        rows = file[f"state/{name}"][()]
        change(rows)
        file[f"state/{name}"][...] = rows

    return changed


def setting(where, value):
    """Return a change of an array."""
    return lambda rows: rows.__setitem__(where, value)


def no_others(rows):
    rows[:] = 0


def one_sided(rows):
    rows[int(np.argmax(rows[:, 0] > 0))] = 0


def itself(rows):
    rows[FREE] = 0
    rows[FREE, 0] = (FREE + 1) * LEVELS + 1


def far(rows):
    """Let two beads name one another that do not, in their order."""
    names = {tuple(row[row > 0] // LEVELS - 1) for row in rows[[FREE]]}.pop()
    other = next(bead for bead in range(len(rows) - 1, 0, -1) if bead != FREE and bead not in names)
    for a, b in ((FREE, other), (other, FREE)):
        found = np.sort(np.append(rows[a][rows[a] > 0], (b + 1) * LEVELS + 1))[: rows.shape[1]]
        rows[a] = 0
        rows[a, : len(found)] = found


TABLES = {
    "draws long ago": ("next_draw", lambda rows: rows.__imul__(0.5), "next_draw"),
    "no draws yet": ("next_draw", no_others, "next_draw"),
    "draws at the first tick": ("next_draw", setting((slice(None), 0), 1.0), "next_draw"),
    "a draw in an hour": ("next_draw", setting((FREE, 0), 2.0**40), "next_draw: of bead 7"),
    "half a tick": ("next_draw", lambda rows: rows.__iadd__([0.5, 0.0]), "next_draw: of bead 0 is no ticks"),
    "a fixed bead that spins": ("angular_velocity", setting(FIXED, 1.0), "angular_velocity: of bead 0"),
    "next to itself": ("inside", itself, "inside: of bead 7 names itself"),
    "named by one": ("inside", one_sided, "inside: a bead names another"),
    "turned later": ("turned", setting((FREE, 0), 2.0**30), "turned: of bead 7 is after"),
    "far from its image": ("image", setting((FREE, 0), 2**30), "image: of bead 7 is"),
    "a long quaternion": ("orientation", setting(FREE, 0.9), "orientation: of bead 7 is no unit"),
}
PLACES = {
    "none within a step": ("inside", no_others, "state/inside: of bead"),
    "far within a step": ("inside", far, "state/inside: of bead"),
    "a bead that spins": ("angular_velocity", setting(FREE, 1e15), "the energy is .* at first"),
    "a fixed bead that moves": ("velocity", setting(FIXED, 1e-3), "state/velocity: of bead 0, which is fixed"),
    "a bead that flies": ("velocity", setting(FREE, 1e3), "its state is impossible: at t 1 "),
}
"""What is found when the run goes on alone, where beads are at one time."""
COUNTERS = {
    "work": 10**400,
    "heat": -(10**400),
    "interval_quanta": 10**400,
    "interval_pushes": [0, 0, 10**400],
    "contacts": 2**63 - 1,
    "interval_contacts": 10**9,
    "energy": 10**400,
    "frame_time": 10**400,
    "part": 10**400,
    "no_roots": 10**400,
    "interval_quanta ": 1,
}


def refused(path, words, tmp_path):
    with pytest.raises(DataError, match=f"c.h5: .*{words}"):
        resume_here(path, output=tmp_path / "a", until=SOON)


def test_the_checkpoint_is_sound(whole, grains, tmp_path):
    """Each table has something to be spoilt."""
    with h5py.File(whole) as file:
        assert all(np.any(file[f"state/{name}"][()]) for name in ("next_draw", "angular_velocity", "inside", "turned"))
    assert main(["check", str(whole)]) == 0
    resume_here(whole, output=tmp_path / "a", until=SOON)
    with h5py.File(grains) as file:
        assert np.any(file["state/impulses"][()])
    resume_here(grains, output=tmp_path / "b", until=SOON)


@pytest.mark.parametrize("case", [*TABLES, *PLACES])
def test_tables(whole, tmp_path, case):
    name, change, words = (TABLES | PLACES)[case]
    path = spoil(whole, tmp_path / "c.h5", table(name, change))
    refused(path, words, tmp_path)
    if case in TABLES:
        assert main(["check", str(path)]) == 65


@pytest.mark.parametrize("case", COUNTERS)
def test_counters(whole, tmp_path, case):
    with h5py.File(whole) as file:
        value = json.loads(file["counters"][()].tobytes()) | {case.strip(): COUNTERS[case]}
    refused(spoil(whole, tmp_path / "c.h5", put_json("counters", value)), f"counters.*{case.strip()}", tmp_path)


@pytest.mark.parametrize("name", ["frame_time", "report_time", "checkpoint_time", "contacts", "energy", "halved"])
def test_each_counter_is_there(whole, tmp_path, name):
    """Without the time of the last report the next would come when none is due; totals would begin at 0 again."""
    with h5py.File(whole) as file:
        value = json.loads(file["counters"][()].tobytes())
    del value[name]
    refused(spoil(whole, tmp_path / "c.h5", put_json("counters", value)), f"counters: {name} is missing", tmp_path)


@pytest.mark.parametrize(("name", "more"), [("contacts", 1), ("wall_contacts", -1), ("energy", 1e-6), ("energy", None)])
def test_totals_and_the_first_energy_are_those_that_are_reported(whole, tmp_path, name, more):
    folder = shutil.copytree(whole.parents[1], tmp_path / "out")
    with h5py.File(whole) as file:
        value = json.loads(file["counters"][()].tobytes())
    value[name] = None if more is None else value[name] + more
    spoil(whole, folder / "checkpoints" / whole.name, put_json("counters", value))
    with pytest.raises(DataError, match=f"counters: {'energy' if name == 'energy' else 'contacts'}: .* reported"):
        resume_here(folder, until=SOON)


def test_all_beads_of_steps_are_at_the_time_of_the_checkpoint(grains, tmp_path):
    refused(spoil(grains, tmp_path / "c.h5", table("ticks", no_others)), "ticks: of bead 0 .* time, 1", tmp_path)


def test_temperatures_do_not_follow_a_count_in_the_file(whole, tmp_path):
    """Degrees of freedom are counted anew: a number of that name, as files have had it, is not looked at."""
    with h5py.File(whole) as file:
        value = json.loads(file["counters"][()].tobytes())
    found = []
    for name, counters in (("a", value), ("b", value | {"freedom": 1})):
        path = spoil(whole, tmp_path / "c.h5", put_json("counters", counters))
        resume_here(path, output=tmp_path / name, until=SOON)
        found.append(log_rows(tmp_path / name)[-1]["temperature"])
    assert found[0] == found[1] > 0.0


def twice(rows):
    row = int(np.argmax(np.any(rows != 0.0, axis=1)))
    rows[row, 4:8] = rows[row, :4]


@pytest.mark.parametrize(
    "change", [twice, setting((0, 0), 0.5), setting((0, 0), 1e6), setting((0, 0), -99.0), setting((0, 47), 1.0)]
)
def test_impulses_that_are_kept(grains, tmp_path, change):
    refused(spoil(grains, tmp_path / "c.h5", table("impulses", change)), "impulses: of bead", tmp_path)


@pytest.mark.parametrize("case", ["none within a step", "no draws yet"])
def test_on_two_ranks_by_the_command(whole, tmp_path, case):
    name, change, words = (TABLES | PLACES)[case]
    spoil(whole, tmp_path / "c.h5", table(name, change))
    done = run_hpcchain(["resume", "c.h5", "--output", "a", "--until", SOON], tmp_path, ranks=2)
    (message,) = [line for line in done.stderr.splitlines() if line.startswith("hpcchain: ")]
    assert done.returncode == 65 and words in message and "c.h5" in message and "Traceback" not in done.stderr


@pytest.mark.parametrize("case", ["the checkpoint", "none within a step", "far within a step"])
def test_inputs_that_start_from_it(whole, tmp_path, capsys, case):
    """Of a checkpoint beads are taken where they are at its time: one that is wrong is refused by check, too."""
    name, change, words = PLACES.get(case, ("inside", lambda rows: None, ""))
    spoil(whole, tmp_path / "c.h5", table(name, change))
    tables = {key: INPUT[key] for key in ("box", "contact", "thermostat", "run", "output")}
    tables |= {"initial": {"method": "file", "file": "c.h5"}, "potential": [INPUT["potential"][0] | OF_A]}
    (tmp_path / "in.toml").write_text(toml(tables))
    code = main(["check", str(tmp_path / "in.toml")])
    assert code == (65 if words else 0) and words in capsys.readouterr().err
