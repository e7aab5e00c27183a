"""Trajectories and checkpoints for other programs: GSD and extended XYZ; LAMMPS data, PDB and pictures of a frame."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.errors import DataError, UsageError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint
from hpcchain.io.hdf5 import atomic, files
from hpcchain.io.hdf5.collective import translated
from hpcchain.io.output.run_output import Frames, open_frames, run_output
from hpcchain.io.output.trajectory import ORIENTATION, SPIN, bead_types
from hpcchain.io.tools.configurations import library
from hpcchain.io.tools.overwrite_guard import LAMMPS_HEAD, require_replaceable
from hpcchain.io.tools.picture import Look, shown_frame, write_png
from hpcchain.layout import arrays as L
from hpcchain.model.molecules.long_chains import united
from hpcchain.model.physics.spins import orientations_at
from hpcchain.model.rotation import times
from hpcchain.model.system import PERIODIC

if TYPE_CHECKING:
    from gsd.hoomd import ParticleData

MOST_IN_PDB, PDB_NAME = 99_999, 4  # beads, and characters of a name

ELEMENTS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb "
    "Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au "
    "Hg Tl Pb Bi Po At Rn"
).split()


@dataclass
class Scene:
    """What every frame shares, and the frames, one after another.

    A frame is (step, time, position, velocity, image, orientation, angular velocity). Orientations, angular velocities
    and moments of inertia are None where no sphere has directors.
    """

    species: np.ndarray
    names: list[str]
    molecule: np.ndarray
    mass: np.ndarray
    diameter: np.ndarray
    bonds: np.ndarray
    size: np.ndarray
    origin: np.ndarray
    periodic: np.ndarray
    moment: np.ndarray | None
    frames: Sequence[tuple] | _Frames


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
        "lammps": lambda scene, temp: _write_lammps(scene, shown_frame(scene, look), temp),
        "pdb": lambda scene, temp: _write_pdb(scene, shown_frame(scene, look), temp),
        "png": lambda scene, temp: write_png(scene, look, temp),
    }
    if fmt not in writers:
        raise UsageError(f"unknown format {fmt!r}: choose one of {', '.join(sorted(writers))}")
    require_replaceable(out, fmt)
    with _scene(path) as scene, atomic.replacing(out) as temp, translated(out, "writing"):
        writers[fmt](scene, temp)


@contextmanager
def _scene(path: Path | str) -> Iterator[Scene]:
    if Path(path).is_file() and files.kind_of(path) == "checkpoint":
        yield _scene_of_checkpoint(path)
        return
    output = run_output(path)
    if not output.has("trajectory"):
        raise DataError(f"{path}: has no frames; only a trajectory or a checkpoint can be exported")
    with open_frames(output) as frames:
        fixed = frames.fixed
        yield Scene(
            fixed.species,
            fixed.names,
            fixed.molecule,
            fixed.mass,
            fixed.diameter,
            fixed.bonds,
            fixed.edges,
            fixed.origin,
            fixed.periodic,
            fixed.moment_of_inertia if fixed.turns else None,
            _Frames(frames),
        )


class _Frames:
    """The frames of a Scene, each read when it is asked for."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames

    def __len__(self) -> int:
        return len(self._frames)

    def __iter__(self) -> Iterator[tuple]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> tuple:
        number = range(len(self))[number]
        tables = [self._frames.table(name, number) for name in ("position", "velocity", "image")]
        fixed, turning = self._frames.fixed, (None, None)
        if fixed.turns:
            spins = fixed.angular_velocity
            spins = self._frames.table(SPIN[0], number) if spins is None else spins
            turning = self._frames.table(ORIENTATION, number), spins
        return self._frames.step[number], self._frames.time[number], *tables, *turning


def _scene_of_checkpoint(path: Path | str) -> Scene:
    found = read_checkpoint(path)
    box, topology, state = found.system.box, found.system.topology.whole(), united(found.system, found.time).state
    velocity = moment = orientation = None
    if found.system.directors is not None:
        turning = found.system.directors.turning(topology, 0, topology.beads)
        velocity, moment, orientation = turning.velocity, turning.moment, turning.orientation(found.time)
    elif found.system.physics.extended.orientations:
        every, moment = np.arange(topology.beads), topology.moment
        orientation = orientations_at(found.system, state.extra, every, found.time)
        velocity = state.extra[:, L.SPIN : L.SPIN + L.AXES]
    frame = (0, found.time, state.position, state.velocity, state.image, orientation, velocity)
    return Scene(
        *bead_types(topology),
        np.repeat(np.arange(len(topology.kind)), np.diff(topology.first_bead)),
        topology.mass,
        topology.diameter,
        topology.bonds,
        box.size,
        box.origin,
        box.boundary == PERIODIC,
        moment,
        [frame],
    )


def _write_gsd(scene: Scene, out: Path) -> None:
    """Write GSD in HOOMD's schema; positions are wrapped into the box about its centre, in single precision."""
    hoomd = library("gsd.hoomd", "export to GSD")
    with hoomd.open(str(out), "w") as file:
        for step, time, position, velocity, image, orientation, spins in scene.frames:
            wrapped, moved = _wrapped(scene, position)
            frame = hoomd.Frame()
            frame.configuration.step = int(step)
            frame.configuration.box = [*scene.size, 0.0, 0.0, 0.0]
            frame.log["time"] = np.array([time])
            if not len(file):  # readers take it of all frames
                frame.log["particles/molecule"] = scene.molecule.astype(np.uint32) + 1
            _fill_particles(frame.particles, scene)
            frame.particles.position, frame.particles.velocity = wrapped, velocity
            frame.particles.image = image + moved
            if orientation is not None and scene.moment is not None:
                _fill_spins(frame.particles, scene.moment, orientation, spins)
            frame.bonds.N, frame.bonds.types = len(scene.bonds), ["bond"]
            frame.bonds.group, frame.bonds.typeid = scene.bonds, np.zeros(len(scene.bonds), dtype=np.uint32)
            file.append(frame)


def _fill_particles(particles: ParticleData, scene: Scene) -> None:
    """Set what is the same in every frame; names are in UTF-8, as GSD has them, which its package leaves to us."""
    plain = all(name.isascii() for name in scene.names)
    particles.N = len(scene.species)
    particles.types = scene.names if plain else [name.encode() for name in scene.names]
    particles.typeid = scene.species
    particles.mass, particles.diameter = scene.mass, scene.diameter


def _fill_spins(particles: ParticleData, moment: np.ndarray, orientation: np.ndarray, spins: np.ndarray) -> None:
    """Set orientation and spin as HOOMD has them: angmom is the quaternion 2 q S, S the spin in the body's axes."""
    # With the spin L in the box's axes that is 2 L q.
    spin = np.column_stack([np.zeros(len(moment)), moment[:, None] * spins])
    particles.orientation, particles.angmom = orientation, 2.0 * times(spin, orientation)
    particles.moment_inertia = np.repeat(moment[:, None], 3, axis=1)


def _wrapped(scene: Scene, position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return positions in the box centred on 0, and the box lengths that were taken off, per periodic axis."""
    moved = np.where(scene.periodic, np.floor((position - scene.origin) / scene.size), 0.0)
    return position - scene.origin - (moved + 0.5) * scene.size, moved.astype(np.int64)


def _write_extxyz(scene: Scene, out: Path) -> None:
    """Write extended XYZ with every digit; positions as stored, unwrapped about each molecule.

    Species are chemical elements, since readers such as ASE take no others: the head's Types says which stand for
    which beads. Orientations have their scalar part last, which is how OVITO takes them, after which columns are named.
    For ASE, which finds masses and velocities under these names alone, masses and momenta stand there, too.
    """
    size = scene.size
    lattice = " ".join(_digits(value) for value in np.diag(size).ravel())
    periodic = " ".join("T" if flag else "F" for flag in scene.periodic)
    origin = " ".join(_digits(value) for value in scene.origin)
    labels = elements_for(scene.names)
    types = ",".join(f"{label}={name}" for label, name in zip(labels, scene.names, strict=True))
    types = types.replace("\\", "_").replace('"', "_")
    more = "" if scene.moment is None else ":orientation:R:4:omega:R:3"
    more += ":id:I:1:molecule:I:1:map_shift:I:3:masses:R:1:momenta:R:3"
    ids = np.arange(1, len(scene.species) + 1)
    with open(out, "w", encoding="utf-8") as file:
        for step, time, position, velocity, image, orientation, spins in scene.frames:
            file.write(f"{len(position)}\n")
            file.write(
                f'Lattice="{lattice}" Origin="{origin}" pbc="{periodic}" '
                f"Properties=species:S:1:pos:R:3:velo:R:3:mass:R:1:radius:R:1{more} "
                f'Time={_digits(time)} Step={int(step)} Types="{types}"\n'
            )
            columns = [position, velocity, scene.mass, scene.diameter / 2.0]
            if orientation is not None:
                columns += [np.roll(orientation, -1, axis=1), spins]
            columns += [ids, scene.molecule + 1, image, scene.mass, scene.mass[:, None] * velocity]
            rows = (np.reshape(column, (len(ids), -1)).tolist() for column in columns)
            for kind, *row in zip(scene.species, *rows, strict=True):
                file.write(f"{labels[kind]} {' '.join(str(number) for part in row for number in part)}\n")


def _write_lammps(scene: Scene, frame: tuple, out: Path) -> None:
    """Write LAMMPS data with every digit: atom style "bond", or "atomic" without bonds, images with the places.

    A type of beads is one of LAMMPS for each mass and diameter that it has; comments name it. Places are those of whole
    molecules, beyond periodic sides, too. An axis that is not periodic is made long enough for all beads.
    """
    step, time, position, velocity, image = frame[:5]
    kinds, of_bead = np.unique(
        np.column_stack([scene.species, scene.mass, scene.diameter]), axis=0, return_inverse=True
    )
    low, high = scene.origin, scene.origin + scene.size
    low = np.where(scene.periodic, low, np.minimum(low, position.min(axis=0)))
    high = np.where(scene.periodic, high, np.maximum(high, position.max(axis=0)))
    numbers, style = (of_bead.reshape(-1) + 1).tolist(), "bond" if len(scene.bonds) else "atomic"
    places, images = position.tolist(), image.tolist()
    with open(out, "w", encoding="utf-8") as file:
        file.write(f"{LAMMPS_HEAD}: step {int(step)}, time {_digits(time)}\n\n{len(numbers)} atoms\n")
        file.write(f"{len(scene.bonds)} bonds\n{len(kinds)} atom types\n{int(style == 'bond')} bond types\n\n")
        for axis, bounds in enumerate(zip(low, high, strict=True)):
            file.write(f"{_words(bounds)} {'xyz'[axis]}lo {'xyz'[axis]}hi\n")
        file.write("\nMasses\n\n")
        for number, (species, mass, diameter) in enumerate(kinds.tolist(), 1):
            name = "".join(one if one.isprintable() else "_" for one in scene.names[int(species)])
            file.write(f"{number} {mass!r} # {name}, diameter {diameter!r}\n")
        file.write(f"\nAtoms # {style}\n\n")
        for bead, (kind, place, turns) in enumerate(zip(numbers, places, images, strict=True)):
            molecule = f"{scene.molecule[bead] + 1} " if style == "bond" else ""
            file.write(f"{bead + 1} {molecule}{kind} {_words(place)} {_words(turns)}\n")
        file.write("\nVelocities\n\n")
        for bead, row in enumerate(velocity.tolist(), 1):
            file.write(f"{bead} {_words(row)}\n")
        if len(scene.bonds):
            file.write("\nBonds\n\n")
        for number, (first, second) in enumerate(scene.bonds.tolist(), 1):
            file.write(f"{number} 1 {first + 1} {second + 1}\n")


def _write_pdb(scene: Scene, frame: tuple, out: Path) -> None:
    """Write PDB by MDAnalysis, molecules as residues, bonds as CONECT; the box begins at 0, as it does there."""
    if len(scene.species) > MOST_IN_PDB:
        raise UsageError(
            f"PDB has numbers for {MOST_IN_PDB} beads, and here are {len(scene.species)}: use --to gsd or lammps"
        )
    analysis = library("MDAnalysis", "export to PDB")
    short = [name[:PDB_NAME] for name in scene.names]
    fits = len(set(short)) == len(short) and all(name.isascii() and name.isprintable() for name in short)
    names = np.array(short if fits else elements_for(scene.names), dtype=object)[scene.species]
    molecules, first, residue = np.unique(scene.molecule, return_index=True, return_inverse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what PDB has and beads have not
        universe = analysis.Universe.empty(
            len(names), len(molecules), atom_resindex=residue.reshape(-1), trajectory=True
        )
        for attribute, values in (("names", names), ("resids", molecules + 1), ("resnames", names[first])):
            universe.add_TopologyAttr(attribute, values)
        universe.add_TopologyAttr("bonds", [tuple(bond) for bond in scene.bonds.tolist()])
        universe.atoms.positions = frame[2] - scene.origin
        universe.dimensions = [*scene.size, 90.0, 90.0, 90.0]
        try:
            with analysis.Writer(str(out), multiframe=False, bonds="all", format="PDB") as writer:
                writer.write(universe.atoms)
        except ValueError as error:
            raise DataError(f"PDB has too few columns for this: {error}") from error


def _words(values: Iterable[float]) -> str:
    return " ".join(repr(value) if isinstance(value, int) else _digits(value) for value in values)


def elements_for(names: list[str]) -> list[str]:
    """Return a chemical element for each bead type: its name where all are elements' symbols, else one after another.

    Parameters
    ----------
    names : list of str
    """
    if set(names) <= set(ELEMENTS):
        return list(names)
    return [ELEMENTS[number] if number < len(ELEMENTS) else "X" for number in range(len(names))]


def _digits(value: float) -> str:
    return repr(float(value))
