"""Configurations that other programs wrote: LAMMPS data, GSD, PDB, GRO and extended XYZ, read by their libraries."""

from __future__ import annotations

import importlib
import io
import os
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcchain.config.text import OURS, opened
from hpcchain.errors import DataError, HpcchainError, UsageError

T = TypeVar("T")
SUFFIXES = {
    ".data": "lammps",
    ".lmp": "lammps",
    ".gsd": "gsd",
    ".pdb": "pdb",
    ".ent": "pdb",
    ".gro": "gro",
    ".xyz": "extxyz",
    ".extxyz": "extxyz",
}
"""Formats by the ends of files' names."""
ROUNDED = {"pdb": 5e-3, "gro": 5e-3}
"""Relative: by how much bonds differ for the three decimals that a format has."""
SINGLE = 1e-5
"""The same for single precision, and others."""
COLUMNS_OF_SEVERAL = (6, 9)
"""Of atoms in LAMMPS data: bond, angle and molecular have as many as charge."""
VELOCITY, MASS, TYPE = ("velo", "vel", "velocities"), ("masses", "mass"), ("type", "types")
RADIUS, DIAMETER = ("radius", "radii"), ("diameter", "diameters")
"""What programs call these columns of extended XYZ."""
SKEW = 1e-6
"""Of an edge: how far a box may be from a right angle."""


class Configuration(NamedTuple):
    """One frame of a file.

    Attributes
    ----------
    position : (N, 3) float64 array
        As in the file [length].
    bonds : (B, 2) int64 array
        Numbers of beads, from 0 in the file's order.
    size : (3,) float64 array or None
        Edge lengths; None where the file has no box [length].
    origin : (3,) float64 array
        Lower corner [length].
    periodic : (3,) bool array
    types : list of str
        Of each bead.
    ids : list of int
        What the file calls the beads.
    velocity : (N, 3) float64 array or None
        None where the file has none, or zeros alone [length / time].
    mass, diameter : (N,) float64 array or None
        None where the file does not say [mass], [length].
    names : list of str or None
        Name of each bead's molecule.
    """

    position: NDArray[np.float64]
    bonds: NDArray[np.int64]
    size: NDArray[np.float64] | None
    origin: NDArray[np.float64]
    periodic: NDArray[np.bool_]
    types: list[str]
    ids: list[int]
    velocity: NDArray[np.float64] | None = None
    mass: NDArray[np.float64] | None = None
    diameter: NDArray[np.float64] | None = None
    names: list[str] | None = None


class NoFrame(Exception):
    """A file has no frame of a number; `frames` is how many it has."""

    def __init__(self, frames: int) -> None:
        super().__init__(frames)
        self.frames = frames


def format_of(path: Path | str, fmt: str | None = None) -> str:
    """Return the format of a file, by its name where none is given.

    Raises
    ------
    UsageError
        Where neither says.
    """
    if fmt is not None:
        return fmt
    name = Path(path).name.lower()
    found = SUFFIXES.get(Path(name).suffix, "lammps" if name.startswith("data.") else None)
    if found is None:
        raise UsageError(
            f"{path}: its name does not say its format; say with --format which it is: {', '.join(READERS)}"
        )
    return found


def read_configuration(path: Path | str, fmt: str | None = None, frame: int | None = None) -> Configuration:
    """Return a frame of a file of another program.

    Parameters
    ----------
    path : path
    fmt : str, optional
        One of READERS; the file's name says it when left out.
    frame : int, optional
        From 0, or from the end; the last when left out.

    Raises
    ------
    UsageError
        Where the format is not known, its package is not installed, or there is no such frame.
    DataError
        Where the file cannot be read, or its box is not rectangular.
    """
    kind = format_of(path, fmt)
    require_foreign(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of guesses that are not used
            found = READERS[kind](str(path), -1 if frame is None else frame)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    except HpcchainError:
        raise
    except NoFrame as none:
        if not none.frames:
            raise DataError(f"{path}: has no frame; see that {WANTED[kind]}") from None
        raise UsageError(f"{path}: there is no frame {frame}: it has {none.frames}, the first is --frame 0") from None
    except Exception as error:  # whatever the library finds
        said = " ".join(str(error).split()).removeprefix("ase.io.extxyz: ")[:200] or "the file ends too early"
        said = f"its numbers do not fit one another ({said})" if isinstance(error, (LookupError, NameError)) else said
        raise DataError(
            f"{path}: cannot be read as a file of format {kind}: {said}; see that {WANTED[kind]}"
        ) from error
    if not len(found.position):
        raise DataError(f"{path}: has no beads")
    still = found.velocity is None or not np.any(found.velocity)
    return found._replace(velocity=None) if still else found


def require_foreign(path: Path | str) -> None:
    """Raise DataError unless a path is a plain file, and none that this program wrote."""
    try:
        with opened(path) as file:
            head = file.read(max(map(len, OURS)))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if head.startswith(OURS):
        raise DataError(f'{path}: is a file of hpcchain; a run starts from it with initial.method = "file"')


def library(name: str, what: str, extra: str = "formats") -> ModuleType:
    """Return a module of a package that is not always installed, with an extra; raises UsageError without it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError as reason:
        package = name.partition(".")[0]
        raise UsageError(f"{what} needs the package {package}: pip install 'hpcchain[{extra}]'") from reason


WANTED = {
    "lammps": 'it has as many atoms, bonds and types as its head says, the columns of the style behind "Atoms #", and '
    "bonds between atoms that are there",
    "gsd": "it is one that gsd or HOOMD-blue wrote, to its end",
    "pdb": "its ATOM records have the columns of the format",
    "gro": "its second line has the number of atoms, and its last, behind these, the three lengths of the box",
    "extxyz": 'its first line has the number of atoms, its second Lattice="LX 0 0 0 LY 0 0 0 LZ" and Properties',
}
"""What a file of each format that can be read is like."""


def numbered(frame: int, frames: int) -> int:
    """Return the number of a frame from 0, which may be counted from the end; raises NoFrame where there is none."""
    if not -frames <= frame < frames:
        raise NoFrame(frames)
    return frame % frames


def edges(cell: ArrayLike) -> NDArray[np.float64] | None:
    """Return the edge lengths of a box whose edges are rows of a (3, 3) array; None of a box without volume.

    Raises
    ------
    DataError
        Where it is not rectangular along the axes.
    """
    rows = np.asarray(cell, dtype=np.float64)
    size = np.diag(rows).copy()
    if np.any(np.abs(rows - np.diag(size)) > SKEW * np.abs(size).max()):
        raise DataError("the box is not rectangular along the axes, and hpcchain has no others")
    return size if np.all(size > 0.0) else None


def _read_lammps(path: str, frame: int) -> Configuration:
    """Read LAMMPS data by ASE, which keeps all digits; images are left to the bonds."""
    read = library("ase.io.lammpsdata", "reading LAMMPS data").read_lammps_data
    numbered(frame, 1)
    nothing = defaultdict(int, {0: 0})  # for every type the same element: else it guesses by masses
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [" ".join(line.split()) for line in file]  # ASE knows the box's sides by "xlo xhi", with one blank
    corner, bonds, style = head_of(lines)
    atoms = read(
        io.StringIO("\n".join(lines)), Z_of_type=nothing, units="ASE", read_image_flags=False, atom_style=style
    )
    pairs: list[tuple[int, int]] = []
    for bead, joined in enumerate(atoms.arrays.get("bonds", ())):
        pairs += [(bead, int(other.partition("(")[0])) for other in str(joined).split(",") if other != "_"]
    if len(pairs) != bonds:
        raise DataError(f"says that it has {bonds} bonds, and has {len(pairs)}; restore the file, or mend its header")
    return Configuration(
        position=atoms.positions,
        bonds=np.array(pairs, dtype=np.int64).reshape(-1, 2),
        size=None if corner is None else edges(atoms.cell),
        origin=np.zeros(3) if corner is None else corner,
        periodic=np.ones(3, dtype=bool),
        types=[str(one) for one in atoms.arrays["type"].tolist()],
        ids=atoms.arrays["id"].tolist(),
        velocity=atoms.get_velocities() if atoms.has("momenta") else None,
        mass=atoms.get_masses() if atoms.has("masses") else None,
    )


def head_of(lines: list[str]) -> tuple[NDArray[np.float64] | None, int, str | None]:
    """Return what ASE does not say or guess of LAMMPS data: the box's lower corner or None, bonds, and the atom style.

    The style is None where the file says it, or the number of columns does, which ASE knows.

    Raises
    ------
    DataError
        Where neither does, nor that there are bonds.
    """
    corner, bonds, style = {}, 0, None
    rows = iter(lines)
    for line in rows:
        words = line.partition("#")[0].split()
        if words[:1] == ["Atoms"]:
            first = next(filter(None, rows), "").partition("#")[0].split()
            if not line.partition("#")[2].strip() and len(first) in COLUMNS_OF_SEVERAL:
                if not bonds:
                    raise DataError('"Atoms" does not say what its columns are; write the style there: Atoms # bond')
                style = "bond"
            break
        if words[3:] in (["xhi"], ["yhi"], ["zhi"]):
            corner[words[3]] = float(words[0])
        elif words[1:] == ["bonds"]:
            bonds = int(words[0])
    else:
        raise DataError('has no section "Atoms"; LAMMPS data have one, as its write_data writes them')
    place = np.array([corner[name] for name in ("xhi", "yhi", "zhi")]) if len(corner) == 3 else None
    return place, bonds, style


def _read_gsd(path: str, frame: int) -> Configuration:
    with library("gsd.hoomd", "reading GSD").open(path, "r") as file:
        found = file[numbered(frame, len(file))]
    beads, (*size, xy, xz, yz) = found.particles, found.configuration.box
    if found.configuration.dimensions != 3:
        raise DataError("is of two dimensions, and hpcchain has three")
    size = digits_of(np.array(size))
    box = edges([[size[0], 0, 0], [xy * size[1], size[1], 0], [xz * size[2], yz * size[2], size[2]]])
    return Configuration(
        position=np.array(beads.position, dtype=np.float64),
        bonds=np.array(found.bonds.group, dtype=np.int64).reshape(-1, 2),
        size=box,
        origin=np.zeros(3) if box is None else -0.5 * box,
        periodic=np.ones(3, dtype=bool),
        types=[beads.types[kind] for kind in beads.typeid],
        ids=list(range(beads.N)),
        velocity=np.array(beads.velocity, dtype=np.float64),
        mass=digits_of(beads.mass),
        diameter=digits_of(beads.diameter),
    )


def _read_mdanalysis(kind: str) -> Callable[[str, int], Configuration]:
    """Return what reads PDB or GRO by MDAnalysis, which guesses nothing then, and keeps the file's units."""

    def read(path: str, frame: int) -> Configuration:
        analysis = library("MDAnalysis", f"reading {kind.upper()}")
        given = {"format": kind.upper(), "topology_format": kind.upper(), "convert_units": False, "to_guess": ()}
        universe = analysis.Universe(path, **given)
        now = universe.trajectory[numbered(frame, len(universe.trajectory))]
        box, atoms = now.dimensions, universe.atoms
        if box is not None and np.any(np.abs(box[3:] - 90.0) > 1e-3):
            edges(np.ones((3, 3)))
        return Configuration(
            position=np.array(now.positions, dtype=np.float64),
            bonds=np.array(atoms.bonds.indices if hasattr(atoms, "bonds") else (), dtype=np.int64).reshape(-1, 2),
            size=None if box is None or not np.all(box[:3] > 0.0) else digits_of(box[:3]),
            origin=np.zeros(3),
            periodic=np.ones(3, dtype=bool),
            types=[str(name) for name in atoms.names],
            ids=atoms.ids.tolist(),
            velocity=np.array(now.velocities, dtype=np.float64) if now.has_velocities else None,
            names=[str(name) for name in atoms.resnames],
        )

    return read


def digits_of(values: T) -> T | NDArray[np.float64]:
    """Return an array of single precision as the decimals that its numbers stand for; anything else as it is."""
    if getattr(values, "dtype", None) != np.float32:
        return values
    given = np.asarray(values)
    single, where = np.unique(given, return_inverse=True)
    return np.array([float(str(value)) for value in single])[where].reshape(given.shape)


def _read_extxyz(path: str, frame: int) -> Configuration:
    read = library("ase.io.extxyz", "reading extended XYZ").read_xyz
    with open(path, "rb") as plain:
        count = plain.readline(32).strip()
    if count.isdigit() and 2 * int(count) > os.path.getsize(path):  # the library would go on to count such lines
        raise ValueError(f"its first line says {int(count)} atoms, which are more than it can have")
    with open(path, encoding="utf-8") as file:
        try:
            frames = list(read(file, index=slice(frame, frame + 1 or None)))
        except KeyError as species:
            raise DataError(
                f"species {species} is no chemical element, and ASE reads no others; write elements, and in the "
                f'head what they stand for: Types="H=A,He=B"'
            ) from species
        if not frames:
            raise NoFrame(sum(1 for _ in read(file, index=slice(None))))
    (atoms,) = frames
    arrays, info = atoms.arrays, atoms.info
    columns = (VELOCITY, MASS, TYPE, RADIUS, DIAMETER)
    moving, mass, types, radius, diameter = (
        next((arrays[name] for name in names if name in arrays), None) for names in columns
    )
    if diameter is None and radius is not None:
        diameter = 2.0 * radius
    if moving is None and atoms.has("momenta"):
        moving = atoms.get_velocities()
    known = dict(pair.split("=", 1) for pair in str(info.get("Types", "")).split(",") if "=" in pair)
    symbols = atoms.get_chemical_symbols()
    if types is not None and set(symbols) == {"X"}:  # there are no species
        symbols = [str(one) for one in types.tolist()]
    return Configuration(
        position=atoms.positions,
        bonds=np.empty((0, 2), dtype=np.int64),
        size=edges(atoms.cell),
        origin=np.array(info.get("Origin", np.zeros(3)), dtype=np.float64).reshape(3),
        periodic=np.array(atoms.pbc),
        types=[known.get(symbol, symbol) for symbol in symbols],
        ids=arrays["id"].tolist() if "id" in arrays else list(range(1, len(symbols) + 1)),
        velocity=None if moving is None else np.array(moving, dtype=np.float64),
        mass=None if mass is None else np.array(mass, dtype=np.float64),
        diameter=diameter,
    )


READERS: dict[str, Callable[[str, int], Configuration]] = {
    "lammps": _read_lammps,
    "gsd": _read_gsd,
    "pdb": _read_mdanalysis("pdb"),
    "gro": _read_mdanalysis("gro"),
    "extxyz": _read_extxyz,
}
