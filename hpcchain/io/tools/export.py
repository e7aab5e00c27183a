"""Trajectories and checkpoints for other programs: GSD and extended XYZ; LAMMPS data, PDB and pictures of a frame."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.config.keys.values import counted
from hpcchain.errors import DataError, UsageError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint
from hpcchain.io.hdf5 import atomic, files
from hpcchain.io.hdf5.collective import translated
from hpcchain.io.output.run_output import Frames, fixed_of, given_piece, open_frames, run_output
from hpcchain.io.output.trajectory import ORIENTATION, SPIN, VECTORS
from hpcchain.io.tools.configurations import library
from hpcchain.io.tools.overwrite_guard import LAMMPS_HEAD, require_replaceable
from hpcchain.io.tools.picture import Look, write_png
from hpcchain.layout import arrays as L
from hpcchain.model.molecules.long_chains import united
from hpcchain.model.physics.spins import orientations_at
from hpcchain.model.rotation import times

if TYPE_CHECKING:
    from gsd.hoomd import ParticleData

    from hpcchain.io.output.run_output import Frame
    from hpcchain.io.output.trajectory import Trajectory

MOST_IN_PDB, PDB_NAME = 99_999, 4  # beads, and characters of a name

ELEMENTS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb "
    "Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au "
    "Hg Tl Pb Bi Po At Rn"
).split()


def export(path: Path | str, fmt: str, out: Path | str, look: Look | None = None) -> None:
    """Write a trajectory or a checkpoint for a viewer.

    Positions of a checkpoint are those at the starts of the beads' segments, orientations those at its time.

    Parameters
    ----------
    path : path
        A run's folder, finished or not; trajectory.h5 or a checkpoint.
    fmt : str
        "gsd" or "extxyz" for all frames; "lammps", "pdb", or "png" for one.
    out : path
    look : Look, optional
        Which frame, and how a picture looks.

    Raises
    ------
    UsageError
        When the format is unknown or its package is not installed, something else is at `out`, or there is no such
        frame to be drawn.
    DataError
        When the file cannot be read, or the output cannot be written.
    """
    look = look or Look()
    writers = {
        "gsd": _write_gsd,
        "extxyz": _write_extxyz,
        "lammps": lambda frames, temp: _write_lammps(frames.fixed, shown(frames, look), temp),
        "pdb": lambda frames, temp: _write_pdb(frames.fixed, shown(frames, look), temp),
        "png": lambda frames, temp: write_png(frames.fixed, shown(frames, look).position, look, temp),
    }
    if fmt not in writers:
        raise UsageError(f"unknown format {fmt!r}: choose one of {', '.join(sorted(writers))}")
    require_replaceable(out, fmt)
    with _frames(path) as frames, atomic.replacing(out) as temp, translated(out, "writing"):
        writers[fmt](frames, temp)


@contextmanager
def _frames(path: Path | str) -> Iterator[Frames]:
    if Path(path).is_file() and files.kind_of(path) == "checkpoint":
        yield _frame_of_checkpoint(path)
        return
    output = run_output(path)
    if not output.has("trajectory"):
        raise DataError(f"{path}: has no frames; only a trajectory or a checkpoint can be exported")
    with open_frames(output) as frames:
        yield frames


def _frame_of_checkpoint(path: Path | str) -> Frames:
    found = read_checkpoint(path)
    system, fixed = found.system, fixed_of(found.system)
    state = united(system, found.time).state
    tables = {name: getattr(state, name) for name in VECTORS}
    if system.directors is not None:
        tables[ORIENTATION] = system.directors.turning(system.topology, 0, system.topology.beads).orientation(
            found.time
        )
    elif fixed.turns:
        tables[ORIENTATION] = orientations_at(system, state.extra, np.arange(system.topology.beads), found.time)
        tables[SPIN[0]] = state.extra[:, L.SPIN : L.SPIN + L.AXES]
    return Frames([given_piece(tables, found.time)], fixed)


def shown(frames: Frames, look: Look) -> Frame:
    """Return the frame that is asked for; raises UsageError where there is none."""
    if not -len(frames) <= look.frame < len(frames):
        raise UsageError(
            f"--frame {look.frame}: the file has {counted(len(frames), 'frame')}, 0 to {len(frames) - 1}; "
            "-1 is the last"
        )
    return frames[look.frame]


def _write_gsd(frames: Frames, out: Path) -> None:
    """Write GSD in HOOMD's schema; positions are wrapped into the box about its centre, in single precision."""
    hoomd, beads = library("gsd.hoomd", "export to GSD"), frames.fixed
    with hoomd.open(str(out), "w") as file:
        for one in frames:
            wrapped, moved = _wrapped(beads, one.position)
            frame = hoomd.Frame()
            frame.configuration.step = one.step
            frame.configuration.box = [*beads.edges, 0.0, 0.0, 0.0]
            frame.log["time"] = np.array([one.time])
            if not len(file):  # readers take it of all frames
                frame.log["particles/molecule"] = beads.molecule.astype(np.uint32) + 1
            _fill_particles(frame.particles, beads)
            frame.particles.position, frame.particles.velocity = wrapped, one.velocity
            frame.particles.image = one.image + moved
            if beads.turns and beads.moment_of_inertia is not None:
                _fill_spins(frame.particles, beads.moment_of_inertia, one.orientation, one.spin)
            frame.bonds.N, frame.bonds.types = len(beads.bonds), ["bond"]
            frame.bonds.group, frame.bonds.typeid = beads.bonds, np.zeros(len(beads.bonds), dtype=np.uint32)
            file.append(frame)


def _fill_particles(particles: ParticleData, beads: Trajectory) -> None:
    """Set what is the same in every frame; names are in UTF-8, as GSD has them, which its package leaves to us."""
    plain = all(name.isascii() for name in beads.names)
    particles.N = len(beads.species)
    particles.types = beads.names if plain else [name.encode() for name in beads.names]
    particles.typeid = beads.species
    particles.mass, particles.diameter = beads.mass, beads.diameter


def _fill_spins(particles: ParticleData, moment: np.ndarray, orientation: np.ndarray, spins: np.ndarray) -> None:
    """Set orientation and spin as HOOMD has them: angmom is the quaternion 2 q S, S the spin in the body's axes."""
    # With the spin L in the box's axes that is 2 L q.
    spin = np.column_stack([np.zeros(len(moment)), moment[:, None] * spins])
    particles.orientation, particles.angmom = orientation, 2.0 * times(spin, orientation)
    particles.moment_inertia = np.repeat(moment[:, None], 3, axis=1)


def _wrapped(beads: Trajectory, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return positions in the box centred on 0, and the box lengths that were taken off, per periodic axis."""
    moved = np.where(beads.periodic, np.floor((position - beads.origin) / beads.edges), 0.0)
    return position - beads.origin - (moved + 0.5) * beads.edges, moved.astype(np.int64)


def _write_extxyz(frames: Frames, out: Path) -> None:
    """Write extended XYZ with every digit; positions as stored, unwrapped about each molecule.

    Species are chemical elements, since readers such as ASE take no others: the head's Types says which stand for
    which beads. Orientations have their scalar part last, which is how OVITO takes them, after which columns are named.
    For ASE, which finds masses and velocities under these names alone, masses and momenta stand there, too.
    """
    beads = frames.fixed
    lattice = " ".join(_digits(value) for value in np.diag(beads.edges).ravel())
    periodic = " ".join("T" if flag else "F" for flag in beads.periodic)
    origin = " ".join(_digits(value) for value in beads.origin)
    labels = elements_for(beads.names)
    types = ",".join(f"{label}={name}" for label, name in zip(labels, beads.names, strict=True))
    types = types.replace("\\", "_").replace('"', "_")
    more = "" if not beads.turns else ":orientation:R:4:omega:R:3"
    more += ":id:I:1:molecule:I:1:map_shift:I:3:masses:R:1:momenta:R:3"
    ids = np.arange(1, len(beads.species) + 1)
    with open(out, "w", encoding="utf-8") as file:
        for one in frames:
            file.write(f"{len(ids)}\n")
            file.write(
                f'Lattice="{lattice}" Origin="{origin}" pbc="{periodic}" '
                f"Properties=species:S:1:pos:R:3:velo:R:3:mass:R:1:radius:R:1{more} "
                f'Time={_digits(one.time)} Step={one.step} Types="{types}"\n'
            )
            columns = [one.position, one.velocity, beads.mass, beads.diameter / 2.0]
            if beads.turns:
                columns += [np.roll(one.orientation, -1, axis=1), one.spin]
            columns += [ids, beads.molecule + 1, one.image, beads.mass, beads.mass[:, None] * one.velocity]
            rows = (np.reshape(column, (len(ids), -1)).tolist() for column in columns)
            for kind, *row in zip(beads.species, *rows, strict=True):
                file.write(f"{labels[kind]} {' '.join(str(number) for part in row for number in part)}\n")


def _write_lammps(beads: Trajectory, frame: Frame, out: Path) -> None:
    """Write LAMMPS data with every digit: atom style "bond", or "atomic" without bonds, images with the places.

    A type of beads is one of LAMMPS for each mass and diameter that it has; comments name it. Places are those of whole
    molecules, beyond periodic sides, too. An axis that is not periodic is made long enough for all beads.
    """
    position = frame.position
    kinds, of_bead = np.unique(
        np.column_stack([beads.species, beads.mass, beads.diameter]), axis=0, return_inverse=True
    )
    low, high = beads.origin, beads.origin + beads.edges
    low = np.where(beads.periodic, low, np.minimum(low, position.min(axis=0)))
    high = np.where(beads.periodic, high, np.maximum(high, position.max(axis=0)))
    numbers, style = (of_bead.reshape(-1) + 1).tolist(), "bond" if len(beads.bonds) else "atomic"
    places, images = position.tolist(), frame.image.tolist()
    with open(out, "w", encoding="utf-8") as file:
        file.write(f"{LAMMPS_HEAD}: step {frame.step}, time {_digits(frame.time)}\n\n{len(numbers)} atoms\n")
        file.write(f"{len(beads.bonds)} bonds\n{len(kinds)} atom types\n{int(style == 'bond')} bond types\n\n")
        for axis, bounds in enumerate(zip(low, high, strict=True)):
            file.write(f"{_words(bounds)} {'xyz'[axis]}lo {'xyz'[axis]}hi\n")
        file.write("\nMasses\n\n")
        for number, (species, mass, diameter) in enumerate(kinds.tolist(), 1):
            name = "".join(one if one.isprintable() else "_" for one in beads.names[int(species)])
            file.write(f"{number} {mass!r} # {name}, diameter {diameter!r}\n")
        file.write(f"\nAtoms # {style}\n\n")
        for bead, (kind, place, turns) in enumerate(zip(numbers, places, images, strict=True)):
            molecule = f"{beads.molecule[bead] + 1} " if style == "bond" else ""
            file.write(f"{bead + 1} {molecule}{kind} {_words(place)} {_words(turns)}\n")
        file.write("\nVelocities\n\n")
        for bead, row in enumerate(frame.velocity.tolist(), 1):
            file.write(f"{bead} {_words(row)}\n")
        if len(beads.bonds):
            file.write("\nBonds\n\n")
        for number, (first, second) in enumerate(beads.bonds.tolist(), 1):
            file.write(f"{number} 1 {first + 1} {second + 1}\n")


def _write_pdb(beads: Trajectory, frame: Frame, out: Path) -> None:
    """Write PDB by MDAnalysis, molecules as residues, bonds as CONECT; the box begins at 0, as it does there."""
    if len(beads.species) > MOST_IN_PDB:
        raise UsageError(
            f"PDB has numbers for {MOST_IN_PDB} beads, and here are {len(beads.species)}: use --to gsd or lammps"
        )
    analysis = library("MDAnalysis", "export to PDB")
    short = [name[:PDB_NAME] for name in beads.names]
    fits = len(set(short)) == len(short) and all(name.isascii() and name.isprintable() for name in short)
    names = np.array(short if fits else elements_for(beads.names), dtype=object)[beads.species]
    molecules, first, residue = np.unique(beads.molecule, return_index=True, return_inverse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what PDB has and beads have not
        universe = analysis.Universe.empty(
            len(names), len(molecules), atom_resindex=residue.reshape(-1), trajectory=True
        )
        for attribute, values in (("names", names), ("resids", molecules + 1), ("resnames", names[first])):
            universe.add_TopologyAttr(attribute, values)
        universe.add_TopologyAttr("bonds", [tuple(bond) for bond in beads.bonds.tolist()])
        universe.atoms.positions = frame.position - beads.origin
        universe.dimensions = [*beads.edges, 90.0, 90.0, 90.0]
        try:
            with analysis.Writer(str(out), multiframe=False, bonds="all", format="PDB") as writer:
                writer.write(universe.atoms)
        except ValueError as error:
            raise DataError(f"PDB has too few columns for this: {error}") from error


def _words(values: Iterable[float]) -> str:
    return " ".join(repr(value) if isinstance(value, int) else _digits(value) for value in values)


def elements_for(names: list[str]) -> list[str]:
    """Return a chemical element for each bead type: its name where all are elements, else one after another."""
    if set(names) <= set(ELEMENTS):
        return list(names)
    return [ELEMENTS[number] if number < len(ELEMENTS) else "X" for number in range(len(names))]


def _digits(value: float) -> str:
    return repr(float(value))
