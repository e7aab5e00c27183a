"""Starts from other programs' files: there and back, on their bonds, of the right kinds, and what is wrong is named."""

import importlib
import logging
import os
import warnings

import numpy as np
import pytest

from hpcchain import api
from hpcchain.cli.main import main
from hpcchain.config import load_config
from hpcchain.errors import ConfigError, DataError, UsageError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint
from hpcchain.io.tools.export import export
from hpcchain.io.tools.picture import Look
from hpcchain.model.starts.constraints import bond_vectors
from hpcchain.parallel.comm import Single
from hpcchain.run.starts.start_from_configuration import Source
from tests.support.launching import ROOT
from tests.support.other_formats import SIDE, write_data, zigzag

INPUT = f"""
[box]
size = {SIDE}
[[molecule]]
name = "CHN"
kind = "chain"
beads = 4
count = 6
diameter = 0.9
types = ["H", "P", "P", "H"]
[[molecule]]
name = "SOL"
kind = "monomer"
count = 10
diameter = 0.8
mass = 2.0
[run]
end_time = 1.0
"""
SIZES = 'molecule.diameter={H=0.9,P=0.9,SOL=0.8,"1"=0.9,"2"=0.9,"3"=0.8}'
WEIGHTS = "molecule.mass={H=1,P=1,SOL=2}"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with an input, a start that was grown, and that in each format."""
    folder = tmp_path_factory.mktemp("formats")
    (folder / "in.toml").write_text(INPUT, encoding="utf-8")
    api.build(folder / "in.toml", folder / "start.h5", comm=Single())
    for fmt in ("lammps", "gsd", "pdb", "extxyz"):
        export(folder / "start.h5", fmt, folder / f"one.{fmt}")
    return folder


def built(folder, source, *overrides, path=None, grow=False, **how):
    """Return the Config of a run that begins with what is made of a file, and the System of the start."""
    out = folder / "made.h5"
    out.unlink(missing_ok=True)
    config = api.build_from(Source(source, **how), out, path, overrides, grow)
    return config, read_checkpoint(out).system


def lengths(system):
    """Return the distances of bonded beads."""
    return np.linalg.norm(bond_vectors(system.state.position, system.topology.whole().bonds), axis=1)


def test_a_start_that_goes_there_and_back_keeps_its_bits(place, tmp_path):
    start = read_checkpoint(place / "start.h5").system
    found = {
        "lammps": built(tmp_path, place / "one.lammps", SIZES, fmt="lammps"),
        "extxyz": built(tmp_path, place / "one.extxyz", path=place / "in.toml"),
    }
    for config, system in found.values():
        np.testing.assert_array_equal(system.state.position, start.state.position)
        np.testing.assert_array_equal(system.state.velocity, start.state.velocity)
        assert [(kind.kind, kind.count, kind.bond_length) for kind in config.molecules][0] == ("chain", 6, 1.0)
        for name in ("bonds", "mass", "diameter", "bead_type"):
            np.testing.assert_array_equal(getattr(system.topology.whole(), name), getattr(start.topology.whole(), name))
    assert found["lammps"][1].topology.type_names == ("1", "2", "3")
    assert found["extxyz"][1].topology.type_names == ("H", "P", "SOL")


@pytest.mark.parametrize(("fmt", "digits"), [("gsd", 2e-6), ("pdb", 2e-3)])
def test_a_start_that_goes_there_and_back_keeps_its_digits(place, tmp_path, fmt, digits):
    start = read_checkpoint(place / "start.h5").system
    more = (SIZES, WEIGHTS) if fmt == "pdb" else ()
    config, system = built(tmp_path, place / f"one.{fmt}", *more)
    apart = system.state.position - start.state.position - config.box.origin
    assert np.abs(apart - SIDE * np.rint(apart / SIDE)).max() < digits
    assert np.abs(lengths(system) - 1.0).max() < 1e-14
    assert [(kind.kind, kind.count, kind.types) for kind in config.molecules] == [
        ("chain", 6, ("H", "P", "P", "H")),
        ("monomer", 10, "SOL"),
    ]
    np.testing.assert_allclose(system.topology.whole().mass, start.topology.whole().mass)
    np.testing.assert_allclose(system.topology.whole().diameter, start.topology.whole().diameter, rtol=1e-7)
    if fmt == "gsd":
        np.testing.assert_allclose(system.state.velocity, start.state.velocity, atol=1e-6)


def test_the_command_prints_an_input_that_runs(place, tmp_path, capsys):
    out = tmp_path / "start.h5"
    words = ["build", "--from", str(place / "one.gsd"), "-o", str(out), "--set", "run.end_time=0.1"]
    assert main(words) == 0
    (tmp_path / "run.toml").write_text(capsys.readouterr().out, encoding="utf-8")
    assert load_config(tmp_path / "run.toml").initial.file == str(out)
    assert api.run(tmp_path / "run.toml", output=tmp_path / "run", comm=Single()) == 0
    assert main(words) == 0  # replaces its own
    assert main([*words[:-1], "box.size=3"]) == 78


def test_the_input_that_is_printed_says_what_molecules_a_later_file_has(place, tmp_path, capsys):
    words = ["-o", str(tmp_path / "start.h5"), "--set", "run.end_time=0.1"]
    assert main(["build", "--from", str(place / "one.lammps"), "--format", "lammps", "--set", SIZES, *words]) == 0
    (tmp_path / "run.toml").write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["build", str(tmp_path / "run.toml"), "--from", str(place / "one.extxyz"), *words]) == 0
    kinds = read_checkpoint(tmp_path / "start.h5").system.topology.whole()
    assert kinds.molecules == 16 and len(kinds.bonds) == 18


def test_frames_are_counted_from_both_ends(place, tmp_path):
    hoomd = pytest.importorskip("gsd.hoomd")
    path = tmp_path / "two.gsd"
    with hoomd.open(str(place / "one.gsd")) as one, hoomd.open(str(path), "w") as two:
        for shift in (0.0, 1.0):
            frame = one[0]
            frame.particles.position = np.mod(frame.particles.position + shift + SIDE / 2, SIDE) - SIDE / 2
            two.append(frame)
    first, last, least = (built(tmp_path, path, frame=frame)[1].state.position.mean(axis=0) for frame in (0, None, -2))
    np.testing.assert_array_equal(first, least)
    assert np.abs(np.mod(last - first - 1.0 + 0.5, 1.0) - 0.5).max() < 0.5 and not np.array_equal(first, last)
    out = tmp_path / "first.h5"
    words = ["build", "--from", str(path), "--frame", "0", "-o", str(out), "--set", "run.end_time=1"]
    assert main(words) == 0  # 0 is a frame, not an option that is left out
    np.testing.assert_array_equal(read_checkpoint(out).system.state.position.mean(axis=0), first)
    for frame in (2, -3):
        with pytest.raises(UsageError, match=f"two.gsd: there is no frame {frame}: it has 2"):
            built(tmp_path, path, frame=frame)
    with pytest.raises(UsageError, match="no frame 1: it has 1"):
        built(tmp_path, place / "one.lammps", fmt="lammps", frame=1)
    with pytest.raises(UsageError, match="no frame 1: it has 1"):
        built(tmp_path, place / "one.extxyz", path=place / "in.toml", frame=1)


def test_gro_is_read_in_its_own_units_with_an_inputs_molecules(tmp_path):
    analysis = pytest.importorskip("MDAnalysis")
    position, _ = zigzag(3, 4, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe = analysis.Universe.empty(12, 3, atom_resindex=np.repeat(np.arange(3), 4), trajectory=True)
        for name, values in (("names", ["C"] * 12), ("resnames", ["CHN"] * 3), ("resids", [1, 2, 3])):
            universe.add_TopologyAttr(name, values)
        universe.atoms.positions = 10.0 * np.mod(position, SIDE)  # in the file: nm
        universe.dimensions = [10.0 * SIDE] * 3 + [90.0] * 3
        with analysis.Writer(str(tmp_path / "a.gro")) as writer:
            writer.write(universe.atoms)
    (tmp_path / "in.toml").write_text('[[molecule]]\nkind = "chain"\nbeads = 4\ncount = 3\nbond_length = 1.0\n')
    config, system = built(tmp_path, tmp_path / "a.gro", path=tmp_path / "in.toml")
    assert config.box.size == (SIDE,) * 3 and np.abs(lengths(system) - 1.0).max() < 1e-14
    apart = system.state.position - position
    assert np.abs(apart - SIDE * np.rint(apart / SIDE)).max() < 2e-3
    (tmp_path / "in.toml").write_text('[[molecule]]\nkind = "chain"\nbeads = 4\ncount = 2\n')
    with pytest.raises(ConfigError, match="its tables have 8 beads in all, .*a.gro has 12"):
        built(tmp_path, tmp_path / "a.gro", path=tmp_path / "in.toml")
    (tmp_path / "in.toml").write_text('[[molecule]]\nkind = "chain"\nbeads = 4\ncount = 3\nbond_length = 1.1\n')
    with pytest.raises(ConfigError, match="9 of 9 are farther .*beads .* of the file, .* in place of 1.1"):
        built(tmp_path, tmp_path / "a.gro", path=tmp_path / "in.toml")


def test_bonds_with_few_digits_are_one_kind(tmp_path, caplog):
    position, bonds = zigzag(8, 5, 0.9713)
    path = write_data(tmp_path / "a.data", position, bonds, digits=4)
    with caplog.at_level(logging.WARNING):
        config, _ = built(tmp_path, path, "molecule.diameter=0.8")
    assert isinstance(config.molecules[0].bond_length, tuple)
    config, system = built(tmp_path, path, "molecule.diameter=0.8", tolerance=5e-3)
    (kind,) = config.molecules
    assert (kind.count, kind.diameter) == (8, 0.8) and kind.bond_length == pytest.approx(0.9713, abs=2e-4)
    assert len(repr(kind.bond_length)) <= 6 and np.abs(lengths(system) - kind.bond_length).max() < 1e-14
    assert np.abs(system.state.position - position)[:1].max() < 2e-3


def test_bonds_get_a_length_by_the_least_move(tmp_path, caplog):
    position, bonds = zigzag(8, 5, 0.97, noise=0.02)
    path = write_data(tmp_path / "a.data", position, bonds)
    with caplog.at_level(logging.WARNING):
        config, system = built(tmp_path, path, "molecule.diameter=0.8", bond_length=1.0)
    assert [kind.bond_length for kind in config.molecules] == [1.0] and np.abs(lengths(system) - 1.0).max() < 1e-14
    moved = system.state.position - position
    moved -= SIDE * np.rint(moved / SIDE)
    # corrections are along bonds alone, so each chain's centre stays
    np.testing.assert_allclose(moved.reshape(8, 5, 3).mean(axis=1), 0.0, atol=1e-12)
    assert f"they move by up to {np.linalg.norm(moved, axis=1).max():.2g}" in caplog.text
    with pytest.raises(ConfigError, match=r"bonds: \d+ of 32 are farther .* beads \d+ \(1\) and \d+ \(1\) of the file"):
        built(tmp_path, path, bond_length=1.0, tolerance=0.04)
    with pytest.raises(
        ConfigError, match="32 of 32 are farther from their length than the tolerance 0.1.*by bond_length"
    ):
        built(tmp_path, path, bond_length=2.0)


def test_velocities_lose_what_would_stretch_bonds(tmp_path, caplog):
    position, bonds = zigzag(2, 3, 1.0)
    path = write_data(tmp_path / "a.data", position, bonds)
    moving = np.random.default_rng(1).normal(size=position.shape)
    rows = "".join(f"{i} {x:.17g} {y:.17g} {z:.17g}\n" for i, (x, y, z) in enumerate(moving, 1))
    path.write_text(f"{path.read_text()}\nVelocities\n\n{rows}")
    with caplog.at_level(logging.WARNING):
        _, system = built(tmp_path, path)
    left = system.state.velocity
    along = np.einsum(
        "bk,bk->b",
        bond_vectors(system.state.position, system.topology.whole().bonds),
        bond_vectors(left, np.array(bonds)),
    )
    assert np.abs(along).max() < 1e-14
    np.testing.assert_allclose(left.reshape(2, 3, 3).mean(axis=1), moving.reshape(2, 3, 3).mean(axis=1), atol=1e-12)
    share = 100.0 * (1.0 - np.sum(left**2) / np.sum(moving**2))
    assert f"is taken out, {share:.3g} % of the kinetic energy" in caplog.text


def test_scattered_beads_come_together_by_molecule_and_kind(tmp_path, caplog):
    position, bonds = zigzag(4, 3, 1.0)
    position = np.concatenate([position, [[3.0, 3, 7], [5, 5, 7]]])
    mixed = np.random.default_rng(5).permutation(14)
    back = np.argsort(mixed)
    renamed = [sorted((int(back[i]), int(back[j]))) for i, j in bonds]
    path = write_data(tmp_path / "a.data", position[mixed], renamed, sequence=np.random.default_rng(6).permutation(14))
    with caplog.at_level(logging.WARNING):
        config, system = built(tmp_path, path)
    assert sorted((kind.kind, kind.count) for kind in config.molecules) == [("chain", 4), ("monomer", 2)]
    assert "beads are numbered anew" in caplog.text and np.abs(lengths(system) - 1.0).max() < 1e-14
    wrapped = {tuple(row) for row in np.round(np.mod(position, SIDE), 6).tolist()}
    assert {tuple(row) for row in np.round(np.mod(system.state.position, SIDE), 6).tolist()} == wrapped


def test_beads_that_overlap_are_named_and_grow(tmp_path, caplog):
    position, bonds = zigzag(4, 3, 1.0)
    position = np.concatenate([position, position[-1:] + [0.0, 0.0, 0.4]])
    path = write_data(tmp_path / "a.data", position, bonds)
    with pytest.raises(
        ConfigError, match=r"beads 12 \(1\) and 13 \(1\) of the file overlap: their distance 0.4 is .*--grow"
    ):
        built(tmp_path, path)
    with caplog.at_level(logging.INFO):
        _, system = built(tmp_path, path, grow=True)
    assert "from 0.4 of the full diameters on" in caplog.text and np.abs(lengths(system) - 1.0).max() < 1e-14
    apart = system.state.position[:, None] - system.state.position
    apart = np.linalg.norm(apart - SIDE * np.rint(apart / SIDE), axis=2) + 2.0 * np.eye(13)
    assert apart.min() > 1.0 - 1e-9
    whole = write_data(tmp_path / "b.data", position[:-1], bonds)
    as_is, grown = built(tmp_path, whole)[1], built(tmp_path, whole, grow=True)[1]
    np.testing.assert_array_equal(grown.state.position, as_is.state.position)  # where nothing overlaps nothing grows
    same = write_data(tmp_path / "c.data", np.concatenate([position[:-1], position[-2:-1]]), bonds)
    with pytest.raises(ConfigError, match="c.data: position: beads overlap so deeply"):
        built(tmp_path, same, grow=True)


def test_the_manuals_file_is_put_on_bonds_and_grown(tmp_path):
    path = ROOT / "docs" / "examples" / "chains.data"
    with pytest.raises(ConfigError, match="--grow"):
        built(tmp_path, path, bond_length=1.0)
    config, system = built(tmp_path, path, bond_length=1.0, grow=True)
    assert [(kind.beads, kind.count, kind.bond_length) for kind in config.molecules] == [(5, 20, 1.0)]
    np.testing.assert_allclose(lengths(system), 1.0, rtol=1e-12)


def test_rings_get_their_bonds_from_an_input(tmp_path):
    """Whose lengths are not in the sequence in which arrays have bonds."""
    shape = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.1, 0.0], [-0.2, 1.3, 0.0]])
    size = np.linalg.norm(shape - np.roll(shape, -1, axis=0), axis=1).tolist()
    path = write_data(tmp_path / "a.data", shape + [7.0, 7.0, 3.0], style="atomic")
    head = f'[[molecule]]\nkind = "ring"\nbeads = 4\ndiameter = 0.8\nbond_length = {size}\n'
    (tmp_path / "in.toml").write_text(head)
    config, system = built(tmp_path, path, path=tmp_path / "in.toml")
    assert config.molecules[0].kind == "ring" and len(set(size)) == 4
    np.testing.assert_allclose(system.state.position, np.mod(shape[0] + [7.0, 7, 3], SIDE) + shape, atol=1e-12)
    with pytest.raises(ConfigError, match="in.toml: molecule: its tables say bond_length"):
        built(tmp_path, path, path=tmp_path / "in.toml", bond_length=1.0)


def test_atoms_of_lammps_need_no_style_where_there_are_bonds(tmp_path):
    """As MDAnalysis and LAMMPS's tool for chains write them; without bonds the third column may be a charge."""
    position, bonds = zigzag(2, 3, 1.0)
    path = write_data(tmp_path / "chains.data", position, bonds)
    path.write_text(path.read_text(encoding="utf-8").replace("Atoms # bond", "Atoms"), encoding="utf-8")
    (kind,) = built(tmp_path, path)[0].molecules
    assert (kind.kind, kind.beads, kind.count) == ("chain", 3, 2)
    path = write_data(tmp_path / "beads.data", position, style="bond")
    path.write_text(path.read_text(encoding="utf-8").replace("Atoms # bond", "Atoms"), encoding="utf-8")
    with pytest.raises(DataError, match=r'beads.data: "Atoms" does not say what its columns are; .* Atoms # bond'):
        built(tmp_path, path)


def test_velocities_and_masses_of_extended_xyz_have_several_names(tmp_path):
    """LAMMPS and GPUMD say vel and mass where OVITO says velo and ASE masses."""
    row = "C 1 1 1 0.5 0 0 3\nN 3 3 3 0 0.25 0 4\n"
    for moving, mass in (("vel", "mass"), ("velo", "masses"), ("velocities", "mass")):
        head = f'Lattice="6 0 0 0 6 0 0 0 6" Properties=species:S:1:pos:R:3:{moving}:R:3:{mass}:R:1'
        (tmp_path / "one.xyz").write_text(f"2\n{head}\n{row}", encoding="utf-8")
        system = built(tmp_path, tmp_path / "one.xyz")[1]
        np.testing.assert_array_equal(system.state.velocity, [[0.5, 0, 0], [0, 0.25, 0]])
        np.testing.assert_array_equal(system.topology.whole().mass, [3.0, 4.0])


def test_lammps_data_may_have_any_blanks(tmp_path):
    """ASE alone takes sides with a tabulator for those of a box of edge 1."""
    position, bonds = zigzag(2, 3, 1.0)
    given = built(tmp_path, write_data(tmp_path / "chains.data", position, bonds))[0]
    text = (tmp_path / "chains.data").read_text(encoding="utf-8")
    (tmp_path / "tabs.data").write_bytes(b"units of \xc5\n" + text[6:].replace(" ", "\t").encode())
    found = built(tmp_path, tmp_path / "tabs.data")[0]
    assert found.box == given.box and found.molecules == given.molecules and found.box.size == (SIDE,) * 3


def test_types_and_diameters_of_extended_xyz_have_several_names(tmp_path):
    for kind, wide, width in (("type:I:1", "diameter", 0.8), ("types:S:1", "radii", 0.4), ("type:S:1", "radius", 0.4)):
        head = f'Lattice="6 0 0 0 6 0 0 0 6" Properties={kind}:pos:R:3:{wide}:R:1'
        (tmp_path / "one.xyz").write_text(f"2\n{head}\n1 1 1 1 {width}\n2 3 3 3 {width}\n", encoding="utf-8")
        config = built(tmp_path, tmp_path / "one.xyz")[0]
        assert [(kind.types, kind.diameter) for kind in config.molecules] == [("1", 0.8), ("2", 0.8)]


def test_decimals_of_single_precision_stay_decimals(tmp_path):
    gsd = pytest.importorskip("gsd.hoomd")
    frame = gsd.Frame()
    frame.particles.N, frame.particles.position = 2, [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
    frame.particles.diameter, frame.particles.mass = [0.9, 0.9], [0.1, 0.1]
    frame.configuration.box = [7.3, 7.3, 7.3, 0, 0, 0]
    with gsd.open(tmp_path / "one.gsd", "w") as file:
        file.append(frame)
    config = built(tmp_path, tmp_path / "one.gsd")[0]
    (kind,) = config.molecules
    assert (kind.diameter, kind.mass, config.box.size) == (0.9, 0.1, (7.3,) * 3)


def test_types_can_be_given_names(place, tmp_path):
    names = 'molecule.types={"1"="H","2"="P","3"="SOL"}'
    config, _ = built(tmp_path, place / "one.lammps", SIZES, names, fmt="lammps")
    assert [kind.types for kind in config.molecules] == [("H", "P", "P", "H"), "SOL"]


def test_a_box_stays_where_it_is(tmp_path):
    position, bonds = zigzag(2, 3, 1.0)
    path = write_data(tmp_path / "a.data", position, bonds)
    path.write_text(path.read_text().replace("0 7.5 xlo", "-2.5 5.0 xlo"))
    config, _ = built(tmp_path, path)
    assert config.box.origin == (-2.5, 0.0, 0.0) and config.box.size == (SIDE,) * 3
    assert built(tmp_path, path, "box.origin=[1,2,3]")[0].box.origin == (1.0, 2.0, 3.0)


def test_bonds_for_the_engine_of_steps_are_not_rigid(tmp_path):
    position, bonds = zigzag(4, 3, 1.0, noise=0.05)
    path = write_data(tmp_path / "a.data", position, bonds)
    (tmp_path / "soft.toml").write_text("""
[molecule]
rigid = false
diameter = 0.8
[run]
engine = "steps"
end_time = 0.05
[steps]
step = 0.005
[[potential]]
name = "harmonic"
stiffness = 100.0
length = 1.0
""")
    config, system = built(tmp_path, path, path=tmp_path / "soft.toml")
    measured = np.linalg.norm(bond_vectors(position, np.array(bonds)), axis=1)
    np.testing.assert_allclose(lengths(system), measured, rtol=1e-12)
    assert [(kind.count, kind.rigid) for kind in config.molecules] == [(4, False)]
    assert not system.topology.whole().rigid.any() and config.run.engine == "steps"


def test_bonds_that_cannot_be_any_are_named(tmp_path, caplog):
    position, bonds = zigzag(2, 3, 1.0)
    far = np.concatenate([position, position[:1] + [2.3, 2.3, 2.3], position[:1] + [0.0, 0.0, 2.2]])
    path = write_data(tmp_path / "a.data", far, [*bonds, (0, 6)])
    with pytest.raises(
        ConfigError, match=r"beads 1 \(1\) and 7 \(1\) of the file is 3.98372 long, .* periodic side 7.5"
    ):
        built(tmp_path, path)
    with caplog.at_level(logging.WARNING):
        built(tmp_path, write_data(tmp_path / "b.data", far, [*bonds, (0, 7)]))
    assert "the bond of beads 1 (1) and 8 (1) of the file is 2.2 long, 2.2 times the median" in caplog.text


def broken(name, old, new):
    """Return what writes a file of a format with a text replaced."""

    def write(place, folder):
        path = folder / f"broken.{name}"
        text = (place / f"one.{name}").read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        return path

    return write


def fifo(place, folder):
    os.mkfifo(folder / "pipe.gsd")
    return folder / "pipe.gsd"


def empty(place, folder):
    (folder / "empty.extxyz").touch()
    return folder / "empty.extxyz"


def cut(place, folder):
    (folder / "cut.gsd").write_bytes((place / "one.gsd").read_bytes()[:300])
    return folder / "cut.gsd"


@pytest.mark.parametrize(
    ("write", "kind", "message"),
    [
        (broken("lammps", "34 atoms", "900000000000 atoms"), DataError, "cannot be read as a file of format lammps"),
        (broken("lammps", "34 atoms", "35 atoms"), DataError, "cannot be read as a file of format lammps"),
        (
            broken("lammps", "\n1 1 1 2\n", "\n1 1 1 99\n"),
            DataError,
            "cannot be read as .* do not fit one another .99.; see that it has as many atoms",
        ),
        (
            broken("lammps", "0.0 7.5 xlo xhi", "0.0 7.5 xlo xhi\n1 0 0 xy xz yz"),
            DataError,
            "broken.lammps: the box is not rectangular",
        ),
        (broken("lammps", " bonds\n", "0 bonds\n"), DataError, "says that it has 180 bonds, and has 18"),
        (broken("lammps", "\n1 1 1 2\n", "\n"), DataError, "has 18 bonds, and has 17; restore the file"),
        (broken("lammps", "0.0 7.5 xlo xhi\n0.0 7.5 ylo yhi\n0.0 7.5 zlo zhi", ""), ConfigError, "has no box"),
        (broken("lammps", "\n1 1 1 2\n", "\n1 1 1 1\n"), ConfigError, "bead 0 is bonded to itself"),
        (
            broken("lammps", "Atoms # bond", "ITEM: ATOMS"),
            DataError,
            'broken.lammps: has no section "Atoms"; LAMMPS data',
        ),
        (broken("lammps", "Atoms # bond", "Atoms # dipole"), DataError, 'Style "dipole" not supported'),
        (
            broken("pdb", "CRYST1    7.500    7.500    7.500", "REMARK   10.000   10.000   10.000"),
            ConfigError,
            "has no box",
        ),
        (
            broken("pdb", "90.00  90.00  90.00", "90.00  90.00  60.00"),
            DataError,
            "broken.pdb: the box is not rectangular",
        ),
        (broken("extxyz", "pos:R:3", "pos:R:9"), DataError, "cannot be read as a file of format extxyz"),
        (broken("extxyz", "H ", "Qq "), DataError, "broken.extxyz: species 'Qq' is no chemical element, .* Types="),
        (fifo, DataError, "it is a pipe, not a plain file"),
        (
            broken("extxyz", "", "99999"),
            DataError,
            "its first line says 99999[0-9]* atoms, which are more than it can have",
        ),
        (empty, DataError, "empty.extxyz: has no frame; see that its first line has the number of atoms"),
        (cut, DataError, "cannot be read as a file of format gsd"),
        (lambda place, folder: folder, DataError, "cannot be read: it is a folder, not a plain file"),
        (lambda place, folder: folder / "none.gsd", DataError, "none.gsd: cannot be read: No such file"),
        (lambda place, folder: place / "start.h5", DataError, 'is a file of hpcchain; .*initial.method = "file"'),
        (lambda place, folder: place / "in.toml", DataError, "in.toml: cannot be read as a file of format gsd"),
    ],
)
def test_files_that_are_no_starts_are_named(place, tmp_path, write, kind, message):
    path = write(place, tmp_path)
    fmt = path.suffix[1:] if path.suffix[1:] in ("lammps", "pdb", "extxyz") else "gsd"
    given = place / "in.toml" if fmt == "extxyz" else None
    with pytest.raises(kind, match=message) as found:
        built(tmp_path, path, path=given, fmt=fmt)
    assert str(found.value).count("\n") == 0 and not (tmp_path / "made.h5").exists()


def test_numbers_that_are_none_are_refused(place, tmp_path):
    text = (place / "one.lammps").read_text().splitlines()
    row = text.index("Atoms # bond") + 2
    for value in ("nan", "inf", "1e300"):
        bad = text[row].split()
        bad[3] = value
        (tmp_path / "bad.lammps").write_text("\n".join([*text[:row], " ".join(bad), *text[row + 1 :], ""]))
        with pytest.raises(ConfigError, match="bad.lammps: position: row 0 is .*; needs numbers up to"):
            built(tmp_path, tmp_path / "bad.lammps", fmt="lammps")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["molecule.diameter={H=1}"], "molecule.diameter: says nothing of type P; give a value for each type"),
        (["molecule.count=3"], "molecule.count: cannot be given for all molecules of a file"),
        (["molecule=3"], "molecule: is 3; give keys for all molecules"),
        (["box.boundary=wall"], "into a wall"),
        (["box.size=[7.5,7.5]"], "box.size"),
        (["run=3"], "run: 3 is not a section"),
    ],
)
def test_settings_that_do_not_fit_are_named(place, tmp_path, overrides, message):
    with pytest.raises(ConfigError, match=message):
        built(tmp_path, place / "one.gsd", *overrides)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--from", "a.txt"], "its name does not say its format; say with --format which it is: lammps, gsd, pdb"),
        (["--from", "a.gsd", "--replicate", "2", "2", "2"], "--replicate copies the start of an input"),
        (["--grow", "in.toml"], "--grow is for a file of another program: give --from"),
        (["--bond-length", "1", "in.toml"], "--bond-length is for a file of another program"),
        (["--from", "a.gsd", "--tolerance", "-1"], "'-1' is no number above 0"),
        ([], "give an input file, or another program's file with --from"),
    ],
)
def test_options_that_do_not_go_together_are_named(words, message, capsys):
    assert main(["build", "-o", "start.h5", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("fmt", "package"), [("lammps", "ase"), ("gsd", "gsd"), ("pdb", "MDAnalysis")])
def test_a_missing_package_is_named_with_its_extra(place, tmp_path, monkeypatch, fmt, package):
    real = importlib.import_module

    def without(name, *arguments):
        if name.partition(".")[0] == package:
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(UsageError, match=rf"needs the package {package}: pip install 'hpcchain\[formats\]'"):
        built(tmp_path, place / f"one.{fmt}", fmt=fmt)


def test_what_is_exported_is_one_frame_of_a_sort_that_may_be_replaced(place, tmp_path):
    for fmt in ("lammps", "pdb"):
        out = tmp_path / "out"
        export(place / "start.h5", fmt, out)
        before = out.read_bytes()
        export(place / "start.h5", fmt, out, Look(frame=-1))
        assert out.read_bytes() == before
        with pytest.raises(UsageError, match="--frame 1: the file has 1 frame"):
            export(place / "start.h5", fmt, out, Look(frame=1))
        with pytest.raises(UsageError, match="is there already, and not as"):
            export(place / "start.h5", "gsd", out)
        out.write_text("other\n")
        with pytest.raises(UsageError, match="is there already, and not as"):
            export(place / "start.h5", fmt, out)
        out.unlink()


def test_a_file_is_not_replaced_by_what_is_made_of_it(place):
    with pytest.raises(UsageError, match="is what would be read"):
        api.build_from(Source(place / "one.gsd"), place / "one.gsd")
