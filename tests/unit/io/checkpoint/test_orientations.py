"""Orientation and spin in checkpoints, trajectories and exports: what comes back, and what is refused."""

from dataclasses import replace

import h5py
import numpy as np
import pytest

from hpcchain.config.load import config_from_table
from hpcchain.errors import DataError
from hpcchain.io.checkpoint import checkpoint
from hpcchain.io.checkpoint.checkpoint import read_checkpoint, read_outline, write_checkpoint
from hpcchain.io.hdf5.seal import seal
from hpcchain.io.output.assemble import assemble
from hpcchain.io.output.parts import PartWriter
from hpcchain.io.output.trajectory import Lasting, read_trajectory
from hpcchain.io.tools.compare import compare
from hpcchain.io.tools.export import export
from hpcchain.io.tools.inspect import info
from hpcchain.model.directors import Directors, Table
from hpcchain.model.rotation import times, unit
from hpcchain.parallel import slabs
from tests.support.io_samples import frame_of, input_of, same_state, system_of, tables_of
from tests.support.outputs import frames_in

LENGTHS = [1, 3, 1, 3, 1]
SPHERES = [0, 4, 8]
BEADS = 9


def spinning_input(step=0.0):
    """Return the input of a start from a file: spheres with directors, kinds A, C and E, and chains without."""
    tables = tables_of(LENGTHS)
    for kind in tables["molecule"][::2]:
        kind |= {"kind": "monomer", "directors": True, "moment": 0.3}
        kind |= {"propagator": {"name": "variational", "step": step}} if step else {}
    return config_from_table(tables, "in.toml")


def spinning_system(step=0.0, random=False):
    """Return the System of `spinning_input`; all starts are different."""
    system = system_of(LENGTHS)
    rng = np.random.default_rng(3)
    q, w = np.tile([1.0, 0.0, 0.0, 0.0], (BEADS, 1)), np.zeros((BEADS, 3))
    q[SPHERES], w[SPHERES] = unit(rng.normal(size=(3, 4))), rng.normal(size=(3, 3))
    table = None if random else Table(0, q, w)
    one = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    return replace(system, directors=Directors(0.3 * one, step * one, 5, 1.5, table))


def same_directors(a, b):
    """Return whether two Directors are the same to the bit."""
    same = a.moment.tobytes() == b.moment.tobytes() and a.step.tobytes() == b.step.tobytes()
    same = same and (a.seed, a.temperature, a.table is None) == (b.seed, b.temperature, b.table is None)
    pairs = [] if a.table is None else [(getattr(a.table, n), getattr(b.table, n)) for n in vars(a.table) if n != "low"]
    return same and all(x.tobytes() == y.tobytes() for x, y in pairs)


def saved(path, system, time=2.5):
    """Write a checkpoint and return its path."""
    turning = system.directors
    config = input_of(LENGTHS) if turning is None else spinning_input(float(turning.step.max()))
    write_checkpoint(path, None, system, time, {}, config)
    return path


@pytest.mark.parametrize("random", [False, True])
def test_a_checkpoint_brings_back_the_start(tmp_path, random):
    system = spinning_system(0.01, random)
    found = read_checkpoint(saved(tmp_path / "c.h5", system)).system
    assert same_state(found.state, system.state) and same_directors(found.directors, system.directors)
    with h5py.File(tmp_path / "c.h5") as file:
        assert set(file["directors"]) == ({"constants"} if random else {"constants", "orientation", "angular_velocity"})


def test_an_outline_looks_at_all_of_the_table_and_keeps_none(tmp_path, monkeypatch):
    monkeypatch.setattr(slabs, "BLOCK", 2)
    monkeypatch.setattr(checkpoint, "OUTLINED", 1)
    system = spinning_system()
    found = read_outline(saved(tmp_path / "c.h5", system)).system.directors
    assert found.moment.tolist() == [0.3, 0.0, 0.3, 0.0, 0.3] and found.table.orientation.shape == (0, 4)
    for name in ("orientation", "angular_velocity"):
        path = saved(tmp_path / "c.h5", broken(system, **bad_rows(system, name, np.nan)))
        with pytest.raises(DataError, match="unit quaternion|not finite"):
            read_outline(path)


def test_a_checkpoint_without_directors_has_none(tmp_path):
    assert read_checkpoint(saved(tmp_path / "c.h5", system_of(LENGTHS))).system.directors is None
    with h5py.File(tmp_path / "c.h5") as file:
        assert "directors" not in file


def test_compare_sees_another_start(tmp_path):
    system = spinning_system()
    one = saved(tmp_path / "a.h5", system)
    assert compare(one, saved(tmp_path / "b.h5", system)) is None
    table = system.directors.table
    velocity = table.angular_velocity.copy()
    velocity[4, 1] = np.nextafter(velocity[4, 1], 9.0)
    other = replace(system.directors, table=replace(table, angular_velocity=velocity))
    found = compare(one, saved(tmp_path / "b.h5", replace(system, directors=other)))
    assert found.startswith("/directors/angular_velocity at index (4, 1)")
    seeded = saved(tmp_path / "b.h5", spinning_system(random=True))
    assert "directors" in compare(one, seeded)


def broken(system, **changes):
    """Return the system with other Directors, or other rows in their table."""
    table = {name: changes.pop(name) for name in ("orientation", "angular_velocity") if name in changes}
    directors = system.directors
    return replace(system, directors=replace(directors, **changes, table=replace(directors.table, **table)))


def bad_rows(system, name, value):
    """Return a table of the start with one number changed."""
    slabs = getattr(system.directors.table, name).copy()
    slabs[4, 2] = value
    return {name: slabs}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: bad_rows(s, "orientation", np.nan), "an orientation is no unit quaternion"),
        (lambda s: bad_rows(s, "orientation", 2.0), "an orientation is no unit quaternion"),
        (
            lambda s: {"orientation": s.directors.table.orientation * (1.0 + 1e-11)},
            "an orientation is no unit quaternion",
        ),
        (lambda s: bad_rows(s, "angular_velocity", np.inf), "an angular velocity is not finite"),
        (lambda s: {"orientation": s.directors.table.angular_velocity}, "/directors/orientation is float64 (9, 3)"),
        (lambda s: {"angular_velocity": s.directors.table.angular_velocity.astype(np.float32)}, "is float32 (9, 3)"),
        (lambda s: {"temperature": 0.0}, "the seed or the temperature"),
        (lambda s: {"seed": "x"}, "the seed or the temperature"),
    ],
)
def test_impossible_directors_are_refused(tmp_path, change, words):
    system = spinning_system()
    path = saved(tmp_path / "c.h5", broken(system, **change(system)))
    with pytest.raises(DataError) as caught:
        read_checkpoint(path)
    assert words in str(caught.value) and str(path) in str(caught.value)


@pytest.mark.parametrize("missing", ["constants", "orientation", "angular_velocity"])
def test_a_checkpoint_that_lacks_a_part_of_them_is_refused(tmp_path, missing):
    path = saved(tmp_path / "c.h5", spinning_system())
    with h5py.File(path, "r+") as file:
        del file[f"directors/{missing}"]
    seal(path)
    with pytest.raises(DataError, match=missing):
        read_checkpoint(path)


def test_a_write_that_went_wrong_is_noticed(tmp_path):
    path = saved(tmp_path / "c.h5", spinning_system())
    with h5py.File(path, "r+") as file:
        file["directors/orientation"][0] = [1.0, 0.0, 0.0, 0.0]
    seal(path)
    with pytest.raises(DataError, match="directors/orientation was not written correctly"):
        read_checkpoint(path)


def run(folder, system, frames=4):
    """Write a run's trajectory in two parts, assembled after each; return its path and the orientations in it."""
    turning = system.directors.turning(system.topology, 0, BEADS)
    constant = {"angular_velocity": turning.velocity, "moment_of_inertia": turning.moment}
    lasting = Lasting(system.topology, system.box, constant, ["orientation"])
    (folder / "parts").mkdir(parents=True)
    counters, written = {}, []
    for index in range(2):
        writer = PartWriter(folder / "parts", index, None, system.topology, counters or {"part_seal": ""})
        for number in range(index * frames // 2, (index + 1) * frames // 2):
            written.append(turning.orientation(number / 2))
            writer.frame(number / 2, *frame_of(BEADS, number), orientation=written[-1])
        writer.close()
        counters = writer.counters
        assemble(folder, None, lasting, counters)
    return folder / "trajectory.h5", np.array(written), turning


def test_the_trajectory_has_orientation_and_spin(tmp_path):
    path, written, turning = run(tmp_path / "a", spinning_system())
    with frames_in(path) as found:
        assert len(found) == 4
        assert np.array([found.table("orientation", k) for k in range(4)]).tobytes() == written.tobytes()
        assert found.fixed.angular_velocity.tobytes() == turning.velocity.tobytes()
        assert found.fixed.moment_of_inertia.tobytes() == turning.moment.tobytes()
        assert np.array_equal(found.table("position", 3), frame_of(BEADS, 3)[0])
    with h5py.File(path) as file:
        group = file["particles/trajectory"]
        assert group["orientation/value"].shape == (4, BEADS, 4) and group["orientation/value"].dtype == np.float64
        assert group["orientation/time"] == group["position/time"]
        assert group["orientation/step"] == group["position/step"]
    assert "orientation and spin of 3 beads" in info(path)


def test_mdanalysis_opens_it_all_the_same(tmp_path):
    mda = pytest.importorskip("MDAnalysis")
    path, _, _ = run(tmp_path / "a", spinning_system())
    universe = mda.Universe.empty(BEADS, trajectory=False)
    universe.load_new(str(path), format="H5MD", convert_units=False)
    assert len(universe.trajectory) == 4
    for number, frame in enumerate(universe.trajectory):
        assert np.array_equal(frame.positions, frame_of(BEADS, number)[0].astype(np.float32))
        assert np.array_equal(frame.velocities, frame_of(BEADS, number)[1].astype(np.float32))
    universe.trajectory.close()


@pytest.mark.parametrize("name", ["orientation", "angular_velocity", "moment_of_inertia"])
def test_a_trajectory_with_a_part_of_it_is_refused(tmp_path, name):
    path, _, _ = run(tmp_path / "a", spinning_system())
    with h5py.File(path, "r+") as file:
        del file[f"particles/trajectory/{name}"]
    seal(path)
    with pytest.raises(DataError, match="are not of 9 beads"):
        read_trajectory(path)


def test_gsd_has_them_as_hoomd_does(tmp_path):
    hoomd = pytest.importorskip("gsd.hoomd")
    path, written, turning = run(tmp_path / "a", spinning_system())
    export(path, "gsd", tmp_path / "out.gsd")
    with hoomd.open(str(tmp_path / "out.gsd")) as file:
        particles = file[3].particles
    q, p = particles.orientation.astype(np.float64), particles.angmom.astype(np.float64)
    assert np.abs(q - written[3]).max() < 1e-7
    assert particles.moment_inertia.tolist() == np.float32(np.repeat(turning.moment[:, None], 3, axis=1)).tolist()
    own = 0.5 * times(q * [1.0, -1.0, -1.0, -1.0], p)  # HOOMD: the spin in the sphere's own axes is q* p / 2
    spin = times(times(q, own), q * [1.0, -1.0, -1.0, -1.0])
    assert np.abs(spin[:, 0]).max() < 1e-6
    assert np.abs(spin[:, 1:] - turning.moment[:, None] * turning.velocity).max() < 1e-6


def test_gsd_without_directors_says_nothing_of_them(tmp_path):
    hoomd = pytest.importorskip("gsd.hoomd")
    export(saved(tmp_path / "c.h5", system_of(LENGTHS)), "gsd", tmp_path / "out.gsd")
    with hoomd.open(str(tmp_path / "out.gsd")) as file:
        assert file[0].particles.orientation.tolist() == [[1.0, 0.0, 0.0, 0.0]] * BEADS
        assert not file.file.chunk_exists(frame=0, name="particles/angmom")


def test_extended_xyz_has_the_scalar_part_last(tmp_path):
    path, written, turning = run(tmp_path / "a", spinning_system())
    export(path, "extxyz", tmp_path / "out.xyz")
    lines = (tmp_path / "out.xyz").read_text().splitlines()
    assert "radius:R:1:orientation:R:4:omega:R:3:id:I:1:" in lines[BEADS + 3]
    row = [float(word) for word in lines[BEADS + 4 + 4].split()[1:]]
    assert row[8:12] == [*written[1][4][1:], written[1][4][0]] and row[12:15] == turning.velocity[4].tolist()


def test_a_checkpoint_is_exported_with_the_orientation_of_its_time(tmp_path):
    system = spinning_system(0.02)
    path = saved(tmp_path / "c.h5", system)
    assert "A (moment 0.3, null-space steps of 0.02)" in info(path)
    export(path, "extxyz", tmp_path / "out.xyz")
    row = [float(word) for word in (tmp_path / "out.xyz").read_text().splitlines()[2].split()[1:]]
    wanted = system.directors.turning(system.topology, 0, BEADS).orientation(2.5)[0]
    assert row[8:12] == [*wanted[1:], wanted[0]]
