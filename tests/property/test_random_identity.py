"""Small random systems: restarts, lists, cells and frames in between leave no trace, for every kind of molecule."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.model.starts.start import build_system
from hpcchain.model.system import State
from hpcchain.run.starts.growth import grown_system
from hpcchain.sector.serial import Engine
from tests.support.checkpoints import through_file
from tests.support.mixtures import random_input, to_toml
from tests.support.run_folders import command, difference, write_input
from tests.support.whole import frame_of, state_of

SEEDS = (1, 3, 4, 6, 10, 13, 15, 16, 24, 34, 60, 62, 87, 111, 113)
COMMAND_SEEDS = (4, 53)
SPAN = 5.0
"""Length of a run in units of unit length over thermal speed."""


def start_of(seed, folder):
    """Return the start of a random system and the time to run it for."""
    tables = random_input(seed)
    path = write_input(folder / f"{seed}.toml", tables | {"run": {"end_time": 1.0}})
    return grown_system(load_config(path)), SPAN / np.sqrt(tables["initial"]["temperature"])


def straight(system, end):
    """Return contacts, the last frame and the state of a run in one piece."""
    engine = Engine(system, log_events=True)
    frame_of(engine, 0.0)
    engine.advance(end)
    return engine.drain_events(), frame_of(engine, end), state_of(engine)


def in_pieces(system, end, rng, folder):
    """Return the same with other lists and cells, a second thread, frames here and there, restarts from checkpoints."""
    tables = []
    for stop in [*sorted(rng.uniform(0.0, end, 4)), end]:
        largest = system.topology.whole().diameter.max()
        shell, cell = rng.uniform(0.05, 0.8) * largest, rng.uniform(0.0, 3.0) * largest
        engine = Engine(system, log_events=True, shell=shell, cell=cell, threads=2)
        for time in [*sorted(rng.uniform(time_of(system), stop, 2)), stop]:
            engine.advance(time)
            frame_of(engine, time)
        tables.append(engine.drain_events())
        system = through_file(folder / "c.h5", replace(system, state=state_of(engine)), stop)
    return np.concatenate(tables), frame_of(engine, end), state_of(engine)


def time_of(system):
    """Return the latest clock of a system's molecules [time]."""
    return float(np.max(system.state.ticks * system.physics.tick + system.state.remainder))


def bits(arrays):
    """Return arrays as bytes."""
    return [np.ascontiguousarray(array).tobytes() for array in arrays]


def states(state):
    """Return a state's arrays in order."""
    return [getattr(state, name) for name in State.ARRAYS]


def require_same(one, other, seed):
    """Fail with the first contact that differs."""
    events, others = one[0], other[0]
    common = min(len(events), len(others))
    differ = np.flatnonzero(events[:common] != others[:common])
    assert len(differ) == 0, f"seed {seed}: contact {differ[0]}: {events[differ[0]]} and {others[differ[0]]}"
    assert len(events) == len(others), f"seed {seed}: {len(events)} and {len(others)} contacts"
    assert bits(one[1]) == bits(other[1]), f"seed {seed}: the last frames differ"
    assert bits(states(one[2])) == bits(states(other[2])), f"seed {seed}: the states differ"


@pytest.mark.parametrize("seed", SEEDS)
def test_pieces_make_the_whole(tmp_path, seed):
    system, end = start_of(seed, tmp_path)
    whole = straight(system, end)
    assert len(whole[0]) > 30
    require_same(whole, in_pieces(system, end, np.random.default_rng(seed), tmp_path), seed)


def test_the_random_systems_differ_enough():
    """All kinds, boundaries and propagators, and lists of masses and diameters, are among them."""
    inputs = [random_input(seed) for seed in SEEDS]
    molecules = [kind for tables in inputs for kind in tables["molecule"]]
    assert {kind["kind"] for kind in molecules} == {"monomer", "chain", "ring", "star", "graph", "rod"}
    assert {name for tables in inputs for name in tables["box"]["boundary"]} == {"periodic", "wall", "open"}
    assert {tables["propagator"]["name"] for tables in inputs} >= {"taylor", "collocation", "rattle", "variational"}
    assert {tables["contact"]["restitution"] for tables in inputs} == {1.0, 0.95, 0.4}
    assert all({type(kind[name]) for kind in molecules} == {float, list} for name in ("mass", "diameter"))


def test_the_comparison_sees_one_bit(tmp_path):
    system, end = start_of(SEEDS[0], tmp_path)
    whole = straight(system, end)
    fastest = np.unravel_index(np.argmax(np.abs(system.state.velocity)), system.state.velocity.shape)
    system.state.velocity[fastest] = np.nextafter(system.state.velocity[fastest], np.inf)
    with pytest.raises(AssertionError, match="contact|frames"):
        require_same(whole, straight(system, end), SEEDS[0])


@pytest.mark.parametrize("seed", [COMMAND_SEEDS[0], pytest.param(COMMAND_SEEDS[1], marks=pytest.mark.long)])
def test_through_the_command(tmp_path, seed):
    tables = random_input(seed)
    end = SPAN / np.sqrt(tables["initial"]["temperature"])
    output = {"frame_every": end / 8, "report_every": end / 8, "checkpoint_every": end / 3, "events": True}
    write_input(tmp_path / "in.toml", tables | {"run": {"end_time": end}, "output": output})
    command(["run", "in.toml", "--output", "whole"], tmp_path)
    words = ["--set", f"output.checkpoint_every={end / 7}", "--set", "run.list_shell=0.3"]
    command(["run", "in.toml", "--output", "pieces", "--until", 0.37 * end, *words], tmp_path)
    command(["resume", "pieces", "--until", 0.81 * end], tmp_path)
    command(["run", "in.toml", "--output", "pieces", "--resume", "auto"], tmp_path)
    assert difference(tmp_path / "whole", tmp_path / "pieces") is None


def test_bonds_longer_than_a_quarter_of_the_box(tmp_path):
    path = tmp_path / "in.toml"
    path.write_text(
        to_toml(
            {
                "box": {"size": [3.5, 3.5, 3.5]},
                "molecule": [
                    {
                        "kind": "chain",
                        "beads": 3,
                        "positions": [[1, 1, 1], [2, 1, 1], [2, 2, 1]],
                        "velocities": [[0, 0.3, 0], [0, 0, 0.5], [-0.3, 0, 0]],
                    }
                ],
                "initial": {"method": "explicit"},
                "run": {"end_time": 5.0},
            }
        )
    )
    system = build_system(load_config(path))
    require_same(straight(system, 5.0), in_pieces(system, 5.0, np.random.default_rng(1), tmp_path), "trimer")
