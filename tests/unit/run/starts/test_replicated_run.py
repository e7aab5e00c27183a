"""Runs of copied starts: beads that touch, molecules longer than the box of one copy, and several ranks."""

import numpy as np
import pytest

from hpcchain import api
from hpcchain.io.checkpoint.store import list_checkpoints
from hpcchain.model.starts.constraints import degrees_of_freedom
from hpcchain.model.starts.overlap import bead_overlap
from hpcchain.model.starts.velocities import kinetic_energy
from hpcchain.parallel.comm import Single
from hpcchain.run.starts.start_from_file import system_from_file
from hpcchain.sector.serial import Engine
from tests.support.copied import SIZE, longer, mixed
from tests.support.identity import parallel, require_same, serial
from tests.support.outputs import frames_in
from tests.support.run_folders import run_here, write_input
from tests.support.whole import frame_of

END, LATER = 1.5, 20.0


def copied(folder, tables, numbers):
    """Return the System that a run of copies starts from."""
    path = write_input(folder / "in.toml", tables)
    large = api.build(path, folder / "start.h5", copies=numbers, comm=Single())
    return system_from_file(large)


@pytest.mark.parametrize(
    ("tables", "end"),
    [(mixed(), END), (longer("rod"), 30.0), (longer(), 15.0)],
    ids=["mixed", "long rod", "long chain"],
)
@pytest.mark.parametrize("origin", [0.0, 1e4])
def test_energy_and_room_are_kept(tmp_path, tables, end, origin):
    """Also where rounding lets beads overlap that touch in one copy, by 1e-12 far from the origin."""
    system = copied(tmp_path, tables | {"box": tables["box"] | {"origin": [origin] * 3}}, (2, 1, 3))
    engine = Engine(system)
    energy = kinetic_energy(system.topology.whole(), system.state.velocity)
    for time in (0.05, end):
        engine.advance(time)
        position, velocity, image = frame_of(engine, time)
        assert kinetic_energy(system.topology.whole(), velocity) == pytest.approx(
            energy, rel=1e-13 * (1.0 + 1e-3 * origin)
        )
        assert np.abs(system.topology.whole().mass @ velocity).max() < 1e-12
        assert bead_overlap(system.box, system.topology.whole(), position + image * system.box.size, 1e-10) is None
    assert engine.counters["contacts"] > 20


def test_a_runs_checkpoint_is_copied(tmp_path):
    """Its beads are taken where they are at its time, with the velocities of a new start."""
    write_input(tmp_path / "in.toml", mixed())
    run_here(tmp_path / "in.toml", tmp_path / "out")
    (_, path), *_ = list_checkpoints(tmp_path / "out" / "checkpoints")
    again = mixed(initial={"method": "file", "file": str(path), "temperature": 3.0}) | {"molecule": []}
    with frames_in(tmp_path / "out" / "trajectory.h5") as found:
        last = found.table("position", len(found) - 1)
    system = copied(tmp_path, again, (1, 1, 2))
    chains = system.state.position[:24].reshape(2, 12, 3)
    assert np.abs(chains - last[:12] - np.multiply.outer([0.0, 1.0], [0.0, 0.0, SIZE[2]])[:, None]).max() < 1e-12
    freedom = degrees_of_freedom(system.topology.whole(), system.state.position)
    assert 2.0 * kinetic_energy(system.topology.whole(), system.state.velocity) == pytest.approx(
        3.0 * freedom, rel=1e-14
    )
    Engine(system).advance(END)


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_leave_no_trace(tmp_path, ranks):
    system = copied(tmp_path, mixed(pitch=1.02), (2, 2, 1))
    require_same(serial(system, END), parallel(system, END, ranks), f"copies on {ranks} ranks")


def test_copies_go_ways_of_their_own(tmp_path):
    """After some contacts each, where a bead and its copy are and how they move has nothing to do with one another."""
    system = copied(tmp_path, mixed(), (1, 4, 4))
    engine = Engine(system)
    engine.advance(LATER)
    position, velocity, image = frame_of(engine, LATER)
    moved = position + image * system.box.size - system.state.position
    for rows in (moved, velocity):
        single = rows[system.topology.whole().mass == 3.0].reshape(16, 27)
        one, other = single[:-1].ravel(), single[1:].ravel()
        assert abs(np.corrcoef(one, other)[0, 1]) < 5.0 / np.sqrt(one.size)
        assert np.mean((one - other) ** 2) == pytest.approx(2.0 * np.mean(single**2), rel=0.25)
    assert engine.counters["contacts"] > 2 * system.topology.beads
