"""Systems made of arrays, as Python programs have them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcchain.config.keys.schema import SECTIONS, keys_of
from hpcchain.config.keys.sections import BoxSection, Config
from hpcchain.config.keys.values import LARGEST, Wrong, shown
from hpcchain.config.load import config_from_table, named, read_named
from hpcchain.errors import ConfigError
from hpcchain.model.starts.constraints import NotConverged, bond_vectors, project_positions, project_velocities
from hpcchain.model.starts.start import TOLERANCE, build_system, check_rates, stretching
from hpcchain.model.starts.wholeness import images_of, made_whole
from hpcchain.model.system import Box
from hpcchain.model.topology import BOUNDARY, build_topology
from hpcchain.parallel.launcher import launched

LOG = logging.getLogger("hpcchain.api")

SOURCE = "System.from_arrays"
DIGITS = 10  # of a measured bond length
ALIKE = 1e-5
"""Relative: numbers of molecules that differ by less are equal but for the rounding of single precision."""

NUMBERS = ("mass", "diameter", "bond_length")
OF_ALL = ("exclude", "self_contact", "hard", "rigid", "damping", "moment", "distance_limits")
"""Keys of [[molecule]] that all molecules of arrays may have."""
Entry = TypeVar("Entry", np.float64, np.int64)


class Kind(NamedTuple):
    """A [[molecule]] table without its places, beads of one molecule, and of all: from the first to behind the last."""

    table: dict[str, object]
    beads: int
    low: int
    high: int


@dataclass(frozen=True)
class System:
    """A start made of arrays; give it to `Simulation`.

    Attributes
    ----------
    config : Config
        The resolved input that says the same.
    """

    config: Config

    @classmethod
    def from_arrays(
        cls,
        position: ArrayLike,
        velocity: ArrayLike | None = None,
        bonds: ArrayLike = (),
        box: ArrayLike | None = None,
        mass: ArrayLike = 1.0,
        diameter: ArrayLike = 1.0,
        molecule: ArrayLike | None = None,
        boundary: tuple[str, str, str] = ("periodic", "periodic", "periodic"),
        origin: ArrayLike = (0.0, 0.0, 0.0),
        **sections: object,
    ) -> System:
        """Return a System of beads at given places.

        Molecules that periodic sides cut are made whole. Neighbours whose bond lengths, diameters and masses differ by
        less than 1e-5 relative, as single precision makes them, are one kind with the numbers of its first. Positions
        and velocities are then put on its bonds. The log says where this changes anything beyond 1e-9.

        Parameters
        ----------
        position : (N, 3) array
            Bonds must be shorter than half a periodic side; nothing may overlap [length].
        velocity : (N, 3) array, optional
            No bond may stretch, to 1e-5 of the speed; drawn at initial.temperature when left out [length / time].
        bonds : (B, 2) array
            Bead numbers from 0; each bond keeps the length that it has, to 10 digits.
        box : (3,) array
            Edge lengths [length].
        mass, diameter : number or (N,) array
            [mass], [length]
        molecule : (N,) array, optional
            Which molecule each bead is of; those of one stand together. Default: what bonds join.
        boundary : (str, str, str)
            "periodic", "wall" or "open" of each axis.
        origin : (3,) array
            The box's lower corner [length].
        sections : dicts
            The input's other sections, for example contact={"restitution": 0.9} or initial={"seed": 2}; those that it
            may have more than once (wall, potential, contact["pair"]) are lists of dicts. Also keys of [[molecule]],
            for all molecules: exclude, self_contact, hard, rigid, damping, moment, distance_limits.

        Raises
        ------
        ConfigError
            When the arrays do not fit one another or the start is impossible; the message names key or beads.
        """
        beads = Beads(position, velocity, bonds, mass, diameter)
        if box is None:
            raise ConfigError(f"{SOURCE}: box: is missing; give three edge lengths")
        of_all = {name: plain(sections.pop(name)) for name in OF_ALL if name in sections}
        table = {name: section_of(name, section) for name, section in sections.items()}
        size, corner = (numbers_of(name, values) for name, values in (("box", box), ("origin", origin)))
        table["box"] = {"size": size, "origin": corner, "boundary": plain(boundary)}
        table["initial"] = {"method": "explicit", **named("initial", table)}
        table["run"] = {"end_time": 0.0, **named("run", table)}
        beads.make_whole(box_of(table))
        table["molecule"] = [each | of_all for each in beads.kinds(molecule, of_all.get("rigid") is not False)]
        config = beads.on_bonds(config_from_table(table, SOURCE))
        build_system(config)  # says what is wrong with places and bonds now, not when it is to move
        return cls(config)

    def __repr__(self) -> str:
        box, kinds = self.config.box, self.config.molecules
        size = " x ".join(f"{edge:.6g}" for edge in box.size)
        molecules = sum(kind.count for kind in kinds)
        return f"<System: {self.config.beads} beads in {molecules} molecules, box {size} ({', '.join(box.boundary)})>"

    @property
    def position(self) -> NDArray[np.float64]:
        """(N, 3) positions [length]."""
        return np.concatenate([kind.positions for kind in self.config.molecules])

    def to_toml(self) -> str:
        """Return the input file that says the same."""
        return self.config.to_toml()


class Beads:
    """Arrays of beads, cut into molecules.

    Parameters
    ----------
    position, velocity, bonds, mass, diameter :
        See `System.from_arrays`.
    """

    def __init__(
        self,
        position: ArrayLike,
        velocity: ArrayLike | None,
        bonds: ArrayLike,
        mass: ArrayLike,
        diameter: ArrayLike,
    ) -> None:
        self.position = table_of("position", position, 3, np.float64)
        count = len(self.position)
        if count == 0:
            raise ConfigError(f"{SOURCE}: position: has no row; give one for each bead")
        self.velocity = None if velocity is None else table_of("velocity", velocity, 3, np.float64)
        if self.velocity is not None and len(self.velocity) != count:
            raise ConfigError(
                f"{SOURCE}: velocity: has {len(self.velocity)} rows; needs {count}, one for each position"
            )
        self.bonds = np.sort(table_of("bonds", bonds, 2, np.int64), axis=1)
        if len(self.bonds) and not 0 <= self.bonds.min() <= self.bonds.max() < count:
            raise ConfigError(f"{SOURCE}: bonds: name beads outside 0 … {count - 1}")
        alone = self.bonds[self.bonds[:, 0] == self.bonds[:, 1], 0]
        if len(alone):
            raise ConfigError(f"{SOURCE}: bonds: bead {alone[0]} is bonded to itself; a bond joins two beads")
        self.bonds = self.bonds[np.lexsort(self.bonds.T[::-1])]
        self.mass, self.diameter = column_of("mass", mass, count), column_of("diameter", diameter, count)
        self._difference = 0.0

    def make_whole(self, box: Box) -> None:
        """Take the nearest images of what bonds join; raises ConfigError where these are not certain."""
        known = (f"{SOURCE}: position", box, self.bonds, self.position)
        images = images_of(*known, np.full(len(self.bonds), np.nan))
        self.position = made_whole(*known, images)
        cut = self.bonds[images.any(axis=1)]
        if len(cut):
            length = np.linalg.norm(bond_vectors(self.position, cut), axis=1)
            i, j = cut[np.argmax(length)]
            caution(
                f"position: {len(cut)} of the bonds reach across periodic sides; molecules are made whole by nearest "
                f"images, by which the longest of these bonds is {length.max():.6g} (beads {i} and {j})"
            )

    def kinds(self, molecule: ArrayLike | None, rigid: bool) -> list[dict[str, object]]:
        """Return the [[molecule]] tables: neighbours that are alike are one kind; bonds not rigid get a mean."""
        bounds = self._bounds(molecule)
        ends, length = self.bonds[:, 0], np.linalg.norm(bond_vectors(self.position, self.bonds), axis=1)
        if not rigid and len(length):
            length[:] = length.mean()
        found: list[Kind] = []
        for low, high in zip(bounds[:-1], bounds[1:], strict=True):
            bonds = slice(np.searchsorted(ends, low), np.searchsorted(ends, high))
            own = self.bonds[bonds]
            if len(own) and own.max() >= high:
                raise ConfigError(f"{SOURCE}: molecule: a bond joins beads {own[own[:, 1] >= high][0].tolist()} of two")
            kind = self._kind(low, high, own, length[bonds])
            if found and self._is_alike(found[-1].table, kind):
                found[-1] = found[-1]._replace(high=high)
            else:
                found.append(Kind(kind, high - low, low, high))
        if self._difference > TOLERANCE:
            caution(
                f"bonds, diameter, mass: molecules that differ by less than {ALIKE:g} relative, here by up to "
                f"{self._difference:.2g}, are one kind with the numbers of its first; beads are put on its bonds"
            )
        return [self._placed(each) for each in found]

    def _is_alike(self, first: dict[str, object], other: dict[str, object]) -> bool:
        """Return whether two kinds are the same but for rounding; keeps the largest difference of those that are."""
        if first == other:
            return True
        names = [name for name in NUMBERS if name in first]
        if first | {name: other.get(name) for name in names} != other:
            return False
        one, two = (np.concatenate([kind[name] for name in names]) for kind in (first, other))
        differ = np.abs(two - one)
        if not np.all(differ <= ALIKE * np.abs(one)):
            return False
        self._difference = max(self._difference, float(np.max(differ[differ > 0.0] / np.abs(one[differ > 0.0]))))
        return True

    def on_bonds(self, config: Config) -> Config:
        """Return an input with positions and velocities on its bonds, as far as they are farther off than it may have.

        Raises
        ------
        ConfigError
            Where velocities change a bond's length by more than rounding does.
        """
        topology, position, velocity = build_topology(config), self.position, self.velocity
        length = np.linalg.norm(bond_vectors(position, topology.bonds), axis=1)
        if np.any(np.abs(length / topology.bond_length - 1.0)[topology.rigid] > TOLERANCE):
            try:
                position = project_positions(topology, position)
            except NotConverged as error:
                raise ConfigError(f"{SOURCE}: position: {error}") from None
        if velocity is not None:
            typical = float(np.einsum("ik,ik->i", velocity, velocity).mean())
            check_rates(SOURCE, topology, self.position, velocity, np.arange(len(position)), typical, ALIKE)
            if np.any(stretching(topology, position, velocity, typical, TOLERANCE)[1] > 0.0):
                caution(f"velocity: is made to keep the bonds' lengths, which it does to {ALIKE:g} of the speed")
                velocity = project_velocities(topology, position, velocity)
        if position is self.position and velocity is self.velocity:
            return config
        molecules, first = [], 0
        for kind in config.molecules:
            own = slice(first, first + kind.count * kind.beads)
            moving = None if velocity is None else velocity[own]
            molecules.append(replace(kind, positions=position[own], velocities=moving))
            first = own.stop
        return replace(config, molecules=tuple(molecules))

    def _bounds(self, molecule: ArrayLike | None) -> list[int]:
        """Return where molecules begin, and the end of the last."""
        count = len(self.position)
        if molecule is None:
            joined = np.zeros(count + 1, dtype=np.int64)  # how many bonds reach over the gap before each bead
            np.add.at(joined, self.bonds[:, 0] + 1, 1)
            np.add.at(joined, self.bonds[:, 1] + 1, -1)
            return [0, *(np.flatnonzero(np.cumsum(joined)[1:count] == 0) + 1).tolist(), count]
        number = np.asarray(molecule)
        if number.shape != (count,):
            raise ConfigError(f"{SOURCE}: molecule: needs {count} numbers, one for each bead")
        starts = [0, *(np.flatnonzero(number[1:] != number[:-1]) + 1).tolist(), count]
        if len(set(number.tolist())) != len(starts) - 1:
            raise ConfigError(f"{SOURCE}: molecule: the beads of one molecule do not stand together; sort them")
        return starts

    def _kind(self, low: int, high: int, bonds: NDArray[np.int64], length: NDArray[np.float64]) -> dict[str, object]:
        """Return the table of one molecule without its places."""
        kind: dict[str, object] = {"mass": self.mass[low:high].tolist(), "diameter": self.diameter[low:high].tolist()}
        if high - low == 1:
            return {"kind": "monomer"} | kind
        if len(bonds) < high - low - 1:
            raise ConfigError(
                f"{SOURCE}: bonds: do not join beads {low} … {high - 1} to one molecule; sort the beads, so that those "
                "of each molecule stand together"
            )
        kind |= {"beads": high - low, "bond_length": [float(f"{each:.{DIGITS}g}") for each in length]}
        own = (bonds - low).tolist()
        if own == [[i, i + 1] for i in range(high - low - 1)]:
            return {"kind": "chain"} | kind
        return {"kind": "graph", "bonds": own} | kind

    def _placed(self, kind: Kind) -> dict[str, object]:
        own = slice(kind.low, kind.high)
        count = (kind.high - kind.low) // kind.beads
        table = {**kind.table, "count": count, "positions": self.position[own].tolist()}
        return table if self.velocity is None else {**table, "velocities": self.velocity[own].tolist()}


def caution(text: str) -> None:
    """Say in the log, once and not on every rank, what becomes of arrays."""
    if launched()[1] == 0:
        LOG.warning("%s: %s", SOURCE, text)


def section_of(name: str, section: object) -> object:
    """Return a section of the input as TOML would have it; raises ConfigError where it is no dict, or list of dicts."""
    if name in keys_of("molecule") and name not in SECTIONS:
        raise ConfigError(
            f"{SOURCE}: {name}: cannot be given for all molecules of arrays; write the input that says the same with "
            "to_toml() and change it there"
        )
    if name in ("wall", "potential", "contact.pair"):
        if not isinstance(section, (list, tuple)) or not all(isinstance(one, Mapping) for one in section):
            example = {"wall": "'side': 'z-'", "potential": "'name': 'steps'"}.get(name, "'types': ['A', 'B']")
            raise ConfigError(f"{SOURCE}: {name}: is {shown(section)}; it is a list of dicts, as [{{{example}, …}}]")
    elif name in SECTIONS and not isinstance(section, Mapping):
        raise ConfigError(f"{SOURCE}: {name}: is {section!r}; sections are dicts, as contact={{'restitution': 0.9}}")
    elif name == "contact" and isinstance(section, Mapping) and "pair" in section:
        section_of("contact.pair", section["pair"])
    return plain(section)


def plain(value: object) -> object:
    """Return a value with dicts, lists and numbers of Python for like ones of others."""
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return [plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def box_of(table: Mapping[str, object]) -> Box:
    """Return the Box of an input's table; raises ConfigError where it is none."""
    try:
        box = read_named(BoxSection, table)
    except Wrong as wrong:
        raise ConfigError(f"{SOURCE}: {wrong}") from None
    kinds = np.array([BOUNDARY[name] for name in box.boundary], dtype=np.int8)
    return Box(np.array(box.size), np.array(box.origin), kinds)


def numbers_of(name: str, values: ArrayLike) -> list[float]:
    """Return values as a list of numbers; raises ConfigError where they are none."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{SOURCE}: {name}: needs three numbers: {error}") from None
    if found.shape != (3,):
        raise ConfigError(f"{SOURCE}: {name}: has the shape {found.shape}; needs three numbers")
    return found.tolist()


def table_of(name: str, values: ArrayLike, columns: int, dtype: type[Entry]) -> NDArray[Entry]:
    """Return values as an (n, columns) array; raises ConfigError where they are none."""
    try:
        found = np.asarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ConfigError(f"{SOURCE}: {name}: {error}") from None
    if found.size == 0:
        return np.empty((0, columns), dtype=dtype)
    if dtype == np.int64 and not np.array_equal(found, np.asarray(values)):
        raise ConfigError(f"{SOURCE}: {name}: needs whole numbers")
    if found.ndim != 2 or found.shape[1] != columns:
        raise ConfigError(f"{SOURCE}: {name}: has the shape {found.shape}; needs (n, {columns})")
    if dtype == np.float64 and not np.all(np.abs(found) <= LARGEST):
        row = int(np.argwhere(~(np.abs(found) <= LARGEST))[0, 0])
        raise ConfigError(f"{SOURCE}: {name}: row {row} is {found[row].tolist()}; needs numbers up to {LARGEST:g}")
    return found


def column_of(name: str, values: ArrayLike, count: int) -> NDArray[np.float64]:
    """Return one number for each bead; raises ConfigError where they are others."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{SOURCE}: {name}: {error}") from None
    if found.shape not in ((), (count,)):
        raise ConfigError(f"{SOURCE}: {name}: has the shape {found.shape}; needs one number, or {count}")
    return np.broadcast_to(found, (count,))
