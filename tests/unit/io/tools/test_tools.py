"""Info, compare, export: every kind of file, every kind of difference, every digit."""

import importlib
import os
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from hpcchain.errors import DataError, UsageError
from hpcchain.io.checkpoint.checkpoint import write_checkpoint
from hpcchain.io.hdf5 import seal
from hpcchain.io.output.assemble import assemble
from hpcchain.io.output.parts import PartWriter
from hpcchain.io.output.trajectory import Lasting, bead_types
from hpcchain.io.tools.compare import compare
from hpcchain.io.tools.export import elements_for, export
from hpcchain.io.tools.inspect import info
from hpcchain.io.tools.overwrite_guard import require_other, require_replaceable
from hpcchain.model.system import PERIODIC, WALL
from tests.support.compositions import composition_of
from tests.support.io_samples import NO_COUNTS, events_between, frame_of, input_for, system_of

BEADS = 6


@pytest.fixture
def system():
    return system_of([2, 4])


def run(folder, system, numbers=(0, 1, 2, 3), events=12):
    """Make a run's files with the numbered frames at half their number."""
    (folder / "parts").mkdir(parents=True)
    writer = PartWriter(folder / "parts", 0, None, system.topology, log_events=True)
    for number in numbers:
        writer.frame(number / 2, *frame_of(BEADS, number))
        writer.report({"energy": number / 3}, number / 2)
    writer.events(events_between(0.0, 1.0, events))
    writer.close()
    assemble(folder, None, Lasting(system.topology, system.box), writer.counters)
    return folder


def checkpoint(path, system, counters=None, config=None, time=1.0):
    write_checkpoint(path, None, system, time, counters or {}, config or input_for(system))
    return path


def edit(path, name, index, value):
    """Change a number in a file and seal it again: what a run with another result would have written."""
    with h5py.File(path, "r+") as file:
        file[name][index] = value
    seal.seal(path)


def test_equal_checkpoints_have_no_difference_wherever_they_come_from(tmp_path, system):
    a = checkpoint(tmp_path / "a.h5", system, {"events": 3})
    b = checkpoint(tmp_path / "b.h5", system, {"events": 4}, replace(input_for(system), title="longer"))
    assert compare(a, b) is None


@pytest.mark.parametrize("name", ["position", "velocity", "image", "ticks", "remainder", "depth", "struck", "step"])
def test_a_last_bit_of_a_state_is_found(tmp_path, system, name):
    a = checkpoint(tmp_path / "a.h5", system)
    array = getattr(system.state, name)
    flat = array.reshape(-1)
    old = flat[-1]
    flat[-1] = np.nextafter(old, np.inf) if array.dtype == np.float64 else not old if array.dtype == bool else old + 1
    found = compare(a, checkpoint(tmp_path / "b.h5", system))
    place = (BEADS - 1, 2) if array.ndim == 2 else (BEADS - 1,)
    assert found.startswith(f"/state/{name} at index {place}: ")
    if array.dtype == np.float64:
        assert found.endswith(f"{float(old)!r} and {float(flat[-1])!r}")


def test_zeros_of_either_sign_differ_and_one_nan_equals_itself(tmp_path, system):
    system.state.step[:] = [0.0, np.nan, 0, 0, 0, 0]
    a = checkpoint(tmp_path / "a.h5", system)
    assert compare(a, a) is None
    system.state.step[0] = -0.0
    assert "0.0 and -0.0" in compare(a, checkpoint(tmp_path / "b.h5", system))


def test_other_times_boxes_and_sizes_are_found(tmp_path, system):
    a = checkpoint(tmp_path / "a.h5", system)
    assert "/time" in compare(a, checkpoint(tmp_path / "t.h5", system, time=2.0))
    given = input_for(system)
    for name, section, key, value in (
        ("/box/origin", "box", "origin", (-1.0, 0.0, 0.4)),
        ("/physics/contact_time", "contact", "contact_time", 0.02),
        ("/physics/step", "propagator", "step", 0.2),
    ):
        other = replace(given, **{section: replace(getattr(given, section), **{key: value})})
        assert f"{name}: " in compare(a, checkpoint(tmp_path / "o.h5", system, config=other))
    heavy = replace(given, molecules=tuple(replace(kind, mass=2.0) for kind in given.molecules))
    assert "/topology/mass: " in compare(a, checkpoint(tmp_path / "m.h5", system, config=heavy))
    assert "(1,)" not in compare(a, checkpoint(tmp_path / "s.h5", system_of([2, 5])))


@pytest.mark.parametrize(
    ("file", "name", "index"),
    [
        ("trajectory", "particles/trajectory/position/value", (2, 5, 1)),
        ("trajectory", "particles/trajectory/velocity/value", (3, 0, 0)),
        ("trajectory", "connectivity/bonds", (1, 1)),
        ("observables", "energy/value", (1,)),
        ("events", "events/impulse", (7,)),
        ("events", "events/bead", (11, 1)),
    ],
)
def test_one_changed_number_is_found(tmp_path, system, file, name, index):
    a, b = run(tmp_path / "a", system) / f"{file}.h5", run(tmp_path / "b", system) / f"{file}.h5"
    assert compare(a, b) is None
    edit(b, name, index, 77)
    found = compare(a, b)
    assert f"/{name} at index {index}" in found and "77" in found


def test_only_common_times_are_compared_when_asked(tmp_path, system):
    a = run(tmp_path / "a", system, (0, 1, 2, 3)) / "trajectory.h5"
    b = run(tmp_path / "b", system, (1, 3, 5)) / "trajectory.h5"
    assert compare(a, b) is not None
    assert compare(a, b, common=True) is None
    edit(b, "particles/trajectory/position/value", (1, 4, 2), 77.0)
    assert "position/value at time 1.5, index (4, 2)" in compare(a, b, common=True)
    c = run(tmp_path / "c", system, (9, 10)) / "trajectory.h5"
    assert "no time is in both" in compare(a, c, common=True)


def test_a_folder_and_what_is_none_are_told_apart(tmp_path, system):
    folder = run(tmp_path / "a", system)
    for pair in ((folder, tmp_path / "b"), (tmp_path / "b", folder), (folder, folder / "trajectory.h5")):
        (other,) = [path for path in pair if path != folder]
        with pytest.raises(DataError, match=f"^{other}: is no folder"):
            compare(*pair)


def test_observables_at_common_times(tmp_path, system):
    a = run(tmp_path / "a", system, (0, 1, 2, 3)) / "observables.h5"
    b = run(tmp_path / "b", system, (1, 3)) / "observables.h5"
    assert compare(a, b, common=True) is None
    edit(b, "energy/value", 0, 0.5)
    assert "energy/value at time 0.5" in compare(a, b, common=True)


def test_files_of_different_kinds_are_not_compared(tmp_path, system):
    folder = run(tmp_path / "a", system)
    with pytest.raises(DataError, match="different|cannot be compared"):
        compare(folder / "trajectory.h5", folder / "events.h5")


def test_a_missing_event_is_found(tmp_path, system):
    a, b = run(tmp_path / "a", system, events=12), run(tmp_path / "b", system, events=13)
    assert "(12,) and" in compare(a / "events.h5", b / "events.h5") or "(12, 2)" in compare(
        a / "events.h5", b / "events.h5"
    )


def test_info_says_what_is_in_every_kind_of_file(tmp_path, system):
    folder = run(tmp_path / "a", system)
    path = checkpoint(tmp_path / "c.h5", system, {"events": 12}, time=0.1 + 0.2)
    expected = {
        path: ["checkpoint, format 2", "0.30000000000000004", "periodic wall open", "1 A, 1 B", "collocation", "12"],
        folder / "trajectory.h5": ["trajectory", "time 0.0 to 1.5", "A, B", "created"],
        folder / "observables.h5": ["energy:        4 reports, time 0.0 to 1.5", "numba"],
        folder / "events.h5": ["events:        12", "bead-bead"],
    }
    for file, words in expected.items():
        text = info(file)
        assert all(word in text for word in words), text


def test_info_on_a_part(tmp_path, system):
    writer = PartWriter(tmp_path, 3, None, system.topology, {"frames": 5, "events": 0, "reports": 0})
    writer.frame(1.0, *frame_of(BEADS, 0))
    writer.close()
    assert "1 after 5" in info(writer.path)


@pytest.mark.parametrize("tool", [info, lambda path: compare(path, path), lambda path: export(path, "extxyz", "x")])
@pytest.mark.parametrize("data", [None, b"", b"text", b"\x89HDF\r\n\x1a\n" + bytes(2000)])
def test_tools_refuse_what_is_no_file_of_ours(tmp_path, tool, data):
    path = tmp_path / "x.h5"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(DataError, match="x.h5"):
        tool(path)


@pytest.mark.parametrize("kind", ["trajectory", "observables", "events"])
def test_truncated_output_is_refused(tmp_path, system, kind):
    path = run(tmp_path / "a", system) / f"{kind}.h5"
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(DataError, match=f"{kind}.h5"):
        info(path)


def test_extxyz_has_every_digit(tmp_path, system):
    export(run(tmp_path / "a", system) / "trajectory.h5", "extxyz", tmp_path / "out.xyz")
    lines = (tmp_path / "out.xyz").read_text().splitlines()
    assert len(lines) == 4 * (BEADS + 2)
    head = lines[BEADS + 3]
    assert 'Lattice="7.0 0.0 0.0 0.0 8.0 0.0 0.0 0.0 9.1"' in head
    assert 'pbc="T F F"' in head and 'Origin="-1.0 0.0 0.3"' in head and "Time=0.5" in head
    assert "Properties=species:S:1:pos:R:3:velo:R:3:" in head
    table = [line.split() for line in lines[BEADS + 4 : 2 * BEADS + 4]]
    assert [row[0] for row in table] == ["H"] * 2 + ["He"] * 4 and head.endswith('Types="H=A,He=B"')
    position, velocity, _ = frame_of(BEADS, 1)
    assert np.array_equal(np.array([row[1:4] for row in table], dtype=float), position)
    assert np.array_equal(np.array([row[4:7] for row in table], dtype=float), velocity)
    assert "radius:R:1:id:I:1:molecule:I:1:map_shift:I:3:masses:R:1:momenta:R:3 " in head
    assert [row[9:11] for row in table] == [["1", "1"], ["2", "1"], *([str(n), "2"] for n in range(3, 7))]
    assert [list(map(int, row[11:14])) for row in table] == frame_of(BEADS, 1)[2].tolist()


def test_extxyz_opens_in_ase(tmp_path, system):
    ase_io = pytest.importorskip("ase.io")
    export(run(tmp_path / "a", system) / "trajectory.h5", "extxyz", tmp_path / "out.xyz")
    frames = ase_io.read(tmp_path / "out.xyz", index=":", format="extxyz")
    position, velocity, _ = frame_of(BEADS, 1)
    assert len(frames) == 4 and frames[1].info["Time"] == 0.5 and frames[1].info["Types"] == "H=A,He=B"
    assert np.array_equal(frames[1].positions, position) and np.array_equal(frames[1].arrays["velo"], velocity)
    assert np.array_equal(frames[1].get_masses(), system.topology.whole().mass)
    assert np.allclose(frames[1].get_velocities(), velocity, rtol=1e-15)
    assert frames[1].cell.lengths().tolist() == [7.0, 8.0, 9.1] and frames[1].pbc.tolist() == [True, False, False]


def test_species_are_elements():
    assert elements_for(["O", "H"]) == ["O", "H"]
    assert elements_for(["O", "water"]) == ["H", "He"]
    assert elements_for([f"T{n}" for n in range(90)])[-4:] == ["X"] * 4


def test_info_gives_the_packing_fraction_of_a_bounded_box(tmp_path, system):
    bounded = replace(system, box=replace(system.box, boundary=np.array([PERIODIC, WALL, WALL], dtype=np.int8)))
    fraction = np.pi / 6.0 * np.sum(system.topology.whole().diameter ** 3) / np.prod(system.box.size)
    share = f"packing:       fraction {fraction:.6g}"
    given = input_for(system)
    config = replace(given, box=replace(given.box, boundary=("periodic", "wall", "wall")))
    assert share in info(checkpoint(tmp_path / "c.h5", bounded, config=config))
    assert share in info(run(tmp_path / "a", bounded) / "trajectory.h5")
    assert "packing:" not in info(checkpoint(tmp_path / "open.h5", system))


def test_gsd_has_bonds_types_diameters_and_wrapped_positions(tmp_path, system):
    hoomd = pytest.importorskip("gsd.hoomd")
    export(run(tmp_path / "a", system) / "trajectory.h5", "gsd", tmp_path / "out.gsd")
    with hoomd.open(str(tmp_path / "out.gsd")) as file:
        assert len(file) == 4
        frame = file[2]
    position, velocity, image = frame_of(BEADS, 2)
    size, origin = system.box.size, system.box.origin
    assert frame.configuration.box[:3].tolist() == np.float32(size).tolist()
    assert frame.log["time"][0] == 1.0 and frame.configuration.step == 2
    assert frame.log["particles/molecule"].tolist() == [1, 1, 2, 2, 2, 2]
    assert np.array_equal(frame.particles.mass, np.float32(system.topology.whole().mass))
    assert frame.bonds.group.tolist() == system.topology.whole().bonds.tolist()
    assert frame.particles.types == ["A", "B"]
    assert frame.particles.typeid.tolist() == [0, 0, 1, 1, 1, 1]
    assert frame.particles.diameter.tolist() == [1.0] * BEADS
    assert np.all(np.abs(frame.particles.position[:, 0]) <= 3.5)
    moved = frame.particles.image - image
    assert not moved[:, 1:].any()
    back = frame.particles.position + moved * size + origin + size / 2
    assert np.allclose(back, position, atol=1e-6)
    assert np.allclose(frame.particles.velocity, velocity, atol=1e-6)


def test_names_in_any_letters_are_exported(tmp_path, system):
    hoomd = pytest.importorskip("gsd.hoomd")
    names = ("Kügelchen", "鎖 $x_=\u00b5$")
    named = replace(system, topology=composition_of(replace(system.topology.whole(), names=names, type_names=names)))
    folder = run(tmp_path / "a", named)
    for fmt in ("gsd", "extxyz", "png"):
        export(folder, fmt, tmp_path / f"out.{fmt}")
    with hoomd.open(str(tmp_path / "out.gsd")) as file:
        assert [tuple(frame.particles.types) for frame in file] == [names] * 4
    head = (tmp_path / "out.extxyz").read_text(encoding="utf-8").splitlines()[1]
    assert head.endswith(f'Types="H={names[0]},He={names[1]}"')


def test_no_two_types_have_one_name(system):
    topology = replace(
        system.topology.whole(), diameter=np.array([1.0, 1.0, 1.0, 0.5, 1.0, 0.5]), type_names=("B.1", "B")
    )
    assert bead_types(topology)[1] == ["B.1", "B.0", "B.1_"]


def test_a_checkpoint_is_exported_as_one_frame(tmp_path, system):
    export(checkpoint(tmp_path / "c.h5", system, time=2.5), "extxyz", tmp_path / "out.xyz")
    lines = (tmp_path / "out.xyz").read_text().splitlines()
    assert len(lines) == BEADS + 2 and "Time=2.5" in lines[1]


def test_gsd_without_its_package_says_what_to_install(tmp_path, system, monkeypatch):
    path = checkpoint(tmp_path / "c.h5", system)
    real = importlib.import_module

    def without(name, *arguments):
        if name == "gsd.hoomd":
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(UsageError, match=r"the package gsd: pip install 'hpcchain\[formats\]'"):
        export(path, "gsd", tmp_path / "out.gsd")
    assert [p.name for p in tmp_path.iterdir()] == ["c.h5"]


def test_unknown_formats_and_files_that_cannot_be_exported(tmp_path, system):
    folder = run(tmp_path / "a", system)
    with pytest.raises(UsageError, match="extxyz, gsd, lammps, pdb, png"):
        export(folder / "trajectory.h5", "xtc", tmp_path / "out")
    with pytest.raises(DataError, match="only a trajectory"):
        export(folder / "events.h5", "gsd", tmp_path / "out")


def test_beads_of_one_kind_with_two_diameters_are_two_types(system):
    diameter = np.array([1.0, 1.0, 1.0, 0.5, 1.0, 0.5])
    species, names = bead_types(replace(system.topology.whole(), diameter=diameter))
    assert names == ["A", "B.0", "B.1"]
    assert species.tolist() == [0, 0, 2, 1, 2, 1]


def test_only_the_io_folder_imports_h5py_and_it_never_imports_mpi4py():
    root = Path(__file__).parents[4] / "hpcchain"
    for path in root.rglob("*.py"):
        words = path.read_text(encoding="utf-8").split()
        imports = {words[i + 1].partition(".")[0] for i in range(len(words) - 1) if words[i] in ("import", "from")}
        where = path.relative_to(root).parts[0]
        assert "h5py" not in imports or where == "io", path
        assert "mpi4py" not in imports or where == "parallel", path


def test_info_has_no_empty_facts_and_none_of_the_bookkeeping(tmp_path, system):
    counters = {
        "contacts": 7,
        "events": 3,
        "checkpoint_time": 0.1,
        "part_seal": "0a" * 32,
        "report_time": 0.1,
        "virial_quantum": 2.0**-9,
        "interval_pushes": [1, 2, 3],
        "impulse_quantum": 2.0**-9,
    }
    said = info(checkpoint(tmp_path / "a.h5", system, counters)).splitlines()
    totals = [line.split(":")[0] for line in said if line.startswith("total ")]
    assert totals == ["total contacts", "total events logged"]
    assert "total contacts: 7" in said and all(line.partition(":")[2].strip() for line in said)
    said = info(checkpoint(tmp_path / "b.h5", system, NO_COUNTS | counters)).splitlines()
    assert not [line for line in said if line.startswith(("total part", "total interval", "total virial"))]
    assert all(line.partition(":")[2].strip() for line in said)


def test_runs_of_other_lengths_are_compared_where_they_are_common(tmp_path, system):
    short, long = run(tmp_path / "a", system, (0, 1)), run(tmp_path / "b", system)
    said = compare(short / "trajectory.h5", long / "trajectory.h5")
    assert "(2,) and float64 (4,); --common" in said, said
    assert compare(short / "trajectory.h5", long / "trajectory.h5", common=True) is None


def test_exports_replace_nothing_but_exports(tmp_path, system):
    """The trajectory itself, a checkpoint, what a user wrote, links and devices stay; an earlier export does not."""
    folder = run(tmp_path / "a", system)
    (tmp_path / "notes.txt").write_text("by hand", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "notes.txt")
    os.mkfifo(tmp_path / "pipe")
    start = checkpoint(tmp_path / "start.h5", system)
    others = [tmp_path / name for name in ("notes.txt", "link", "pipe", "")]
    for out in (folder / "trajectory.h5", start, *others, ""):
        before = Path(out).read_bytes() if Path(out).is_file() else None
        for fmt in ("gsd", "extxyz"):
            with pytest.raises(UsageError, match="choose another -o"):
                export(folder / "trajectory.h5", fmt, out)
        assert before is None or Path(out).read_bytes() == before
    assert (tmp_path / "link").is_symlink() and (tmp_path / "pipe").is_fifo()
    (tmp_path / "empty").touch()
    for fmt, out in (("gsd", tmp_path / "a.gsd"), ("extxyz", tmp_path / "a.xyz"), ("extxyz", tmp_path / "empty")):
        for _ in range(2):
            export(folder / "trajectory.h5", fmt, out)
    with pytest.raises(UsageError, match="is there already, and not as a GSD file"):
        export(folder / "trajectory.h5", "gsd", tmp_path / "a.xyz")


def test_starts_replace_nothing_but_starts(tmp_path, system):
    folder = run(tmp_path / "a", system)
    own = checkpoint(folder / "ckpt-000000001.000000000000.h5", system)
    start = checkpoint(tmp_path / "start.h5", system)
    require_replaceable(start, "start")
    require_replaceable(tmp_path / "new.h5", "start")
    for nowhere in (tmp_path / "none" / "new.h5", start / "new.h5"):
        with pytest.raises(UsageError, match=f"there is no folder {nowhere.parent}; choose another -o"):
            require_replaceable(nowhere, "start")
    for out in (own, folder / "events.h5"):
        with pytest.raises(UsageError, match="not as a start file"):
            require_replaceable(out, "start")
    (tmp_path / "again.h5").hardlink_to(start)
    with pytest.raises(UsageError, match="what would be read"):
        require_other(tmp_path / "again.h5", start)
    require_other(tmp_path / "new.h5", start)


@pytest.mark.parametrize(
    ("sort", "other", "own"),
    [
        ("start", "a.data", "a.start"),
        ("start", "a.toml", "a.h5"),
        ("gsd", "a.XYZ", "a.gsd"),
        ("lammps", "a.h5", "a.lmp"),
    ],
)
def test_files_have_no_name_of_another_format(tmp_path, sort, other, own):
    """Readers, this program's too, know formats by the ends of names."""
    with pytest.raises(UsageError, match=f"{other}: is to be .*, and its name is of another format; choose another -o"):
        require_replaceable(tmp_path / other, sort)
    require_replaceable(tmp_path / own, sort)
