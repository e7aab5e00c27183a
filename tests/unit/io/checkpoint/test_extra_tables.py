"""Tables that some runs alone have: which there are is all ranks' to say, and starts have those that can be read."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain import api
from hpcchain.config.load import config_from_table
from hpcchain.io.checkpoint.checkpoint import extra_tables, read_checkpoint, write_checkpoint
from hpcchain.io.hdf5.checksummed import Rule
from hpcchain.layout import arrays as L
from hpcchain.model.physics.extended import complete
from hpcchain.model.starts.spins import with_spins
from hpcchain.model.starts.start import build_system
from hpcchain.parallel.thread_ranks import on_ranks
from tests.unit.analysis.test_study import Threads

WALL = {"wall": [{"side": "z-", "velocity": 0.1}]}
STEPS = {"steps": {"step": 0.01}, "run": {"engine": "steps", "end_time": 1.0}}
FRICTION = {"contact": {"friction": 0.5}, "steps": {"step": 0.01, "integrator": "contact"}, "run": STEPS["run"]}
WELL = {"potential": [{"name": "steps", "distances": [1.5], "energies": [-0.5]}]}
INPUTS = {
    "a wall that moves, in steps": WALL | STEPS,
    "a wall that moves": WALL,
    "friction": FRICTION,
    "wells": WELL,
    "rough beads in wells": WELL | {"contact": {"tangential_restitution": -1.0}},
}


def table(tables):
    """Return the input of two beads."""
    return {
        "box": {"size": [8.0] * 3, "boundary": ["wall"] * 3},
        "molecule": [{"kind": "monomer", "count": 2, "positions": [[2.0, 2.0, 2.0], [3.3, 2.0, 2.0]]}],
        "initial": {"method": "explicit"},
        "run": {"end_time": 1.0},
    } | tables


def system_of(tables):
    """Return the System of an input of two beads, with spins where it has any."""
    config = config_from_table(table(tables), "in.toml")
    return with_spins(build_system(config), config)


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("begun", [True, False])
def test_a_rank_without_beads_has_the_tables_of_the_others(name, begun):
    """Whether it has the columns of a run that has begun, as one that sleeps, or those of the others, or none."""
    system = system_of(INPUTS[name])
    rows = complete(system.state.extra, system.physics, 0) if begun else system.state.extra
    asleep = [complete(np.zeros((0, 0)), system.physics, 0), rows[:0], np.zeros((0, 0))]
    states = [replace(system.state, extra=each) for each in (rows, *asleep)]

    def body(exchange):
        state = states[exchange.rank]
        return extra_tables(replace(system, state=state), Threads(exchange))

    found = on_ranks(4, body)
    one = extra_tables(replace(system, state=states[0]), None)
    for each in found:
        assert {key: Rule.of(rows) for key, rows in each.items()} == {key: Rule.of(rows) for key, rows in one.items()}
        assert all(len(rows) in (0, 2) for rows in each.values())


@pytest.mark.parametrize("name", INPUTS)
def test_a_start_comes_back(tmp_path, name):
    """What has not been looked at yet, which bead is within a step of which, stays unknown."""
    system = system_of(INPUTS[name])
    config = config_from_table(table(INPUTS[name]), "in.toml")
    write_checkpoint(tmp_path / "start.h5", None, system, 0.0, {}, config)
    found = read_checkpoint(tmp_path / "start.h5").system.state.extra
    ours, theirs = (complete(rows, system.physics, 0) for rows in (system.state.extra, found))
    if "potential" in INPUTS[name]:
        assert ours[0, L.INSIDE] == theirs[0, L.INSIDE] == -1.0
    assert np.array_equal(ours[:, : L.INSIDE], theirs[:, : L.INSIDE])


def test_a_start_of_wells_between_all_types_is_started_from(tmp_path):
    """With molecules in the input, too, though the potential names no types."""
    from tests.support.stepped import toml

    given = table(INPUTS["wells"])
    (tmp_path / "in.toml").write_text(toml(given))
    api.build(tmp_path / "in.toml", tmp_path / "start.h5")
    kind = {key: value for key, value in given["molecule"][0].items() if key != "positions"}
    given |= {"initial": {"method": "file", "file": "start.h5"}, "molecule": [kind], "run": {"end_time": 0.01}}
    (tmp_path / "again.toml").write_text(toml(given))
    assert api.run(tmp_path / "again.toml", output=tmp_path / "out") == 0
