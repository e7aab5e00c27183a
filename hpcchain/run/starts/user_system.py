"""Systems made of arrays, as Python programs have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcchain.config.keys.sections import Config
from hpcchain.config.load import config_from_table
from hpcchain.errors import ConfigError
from hpcchain.model.starts.start import build_system

SOURCE = "System.from_arrays"
DIGITS = 10  # of a measured bond length: molecules that are alike but for rounding are of one kind


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
        **sections: Mapping[str, Any],
    ) -> System:
        """Return a System of beads at given places.

        Parameters
        ----------
        position : (N, 3) array
            Molecules whole; nothing may overlap [length].
        velocity : (N, 3) array, optional
            No bond may stretch; drawn at initial.temperature when left out [length / time].
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
            Of the input's other sections, for example contact={"restitution": 0.9} or initial={"seed": 2}.

        Raises
        ------
        ConfigError
            When the arrays do not fit one another or the start is impossible; the message names key or beads.
        """
        beads = Beads(position, velocity, bonds, mass, diameter)
        if box is None:
            raise ConfigError(f"{SOURCE}: box: is missing; give three edge lengths")
        table: dict[str, Any] = {name: section_of(name, section) for name, section in sections.items()}
        size, corner = (numbers_of(name, values) for name, values in (("box", box), ("origin", origin)))
        table["box"] = {"size": size, "origin": corner, "boundary": list(boundary)}
        table["initial"] = {"method": "explicit", **table.get("initial", {})}
        table["run"] = {"end_time": 0.0, **table.get("run", {})}
        table["molecule"] = beads.kinds(molecule)
        config = config_from_table(table, SOURCE)
        build_system(config)  # says what is wrong with places and bonds now, not when it is to move
        return cls(config)

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

    def __init__(self, position: ArrayLike, velocity: Any, bonds: Any, mass: ArrayLike, diameter: ArrayLike) -> None:
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

    def kinds(self, molecule: Any) -> Any:
        """Return the [[molecule]] tables: neighbours that are alike are one kind."""
        bounds = self._bounds(molecule)
        ends = self.bonds[:, 0]
        found = []
        for low, high in zip(bounds[:-1], bounds[1:], strict=True):
            own = self.bonds[np.searchsorted(ends, low) : np.searchsorted(ends, high)]
            if len(own) and own.max() >= high:
                raise ConfigError(f"{SOURCE}: molecule: a bond joins beads {own[own[:, 1] >= high][0].tolist()} of two")
            kind = self._kind(low, high, own)
            if found and found[-1][0] == kind:
                found[-1][2] = high
            else:
                found.append([kind, low, high])
        return [self._table(*each) for each in found]

    def _bounds(self, molecule: int) -> Any:
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

    def _kind(self, low: int, high: int, bonds: np.ndarray) -> Any:
        """Return the table of one molecule without its places."""
        kind = {"mass": self.mass[low:high].tolist(), "diameter": self.diameter[low:high].tolist()}
        if high - low == 1:
            return {"kind": "monomer"} | kind
        if len(bonds) < high - low - 1:
            raise ConfigError(
                f"{SOURCE}: bonds: do not join beads {low} … {high - 1} to one molecule; sort the beads, so that those "
                "of each molecule stand together"
            )
        length = np.sqrt(np.sum((self.position[bonds[:, 1]] - self.position[bonds[:, 0]]) ** 2, axis=1))
        kind |= {"beads": high - low, "bond_length": [float(f"{each:.{DIGITS}g}") for each in length]}
        own = (bonds - low).tolist()
        if own == [[i, i + 1] for i in range(high - low - 1)]:
            return {"kind": "chain"} | kind
        return {"kind": "graph", "bonds": own} | kind

    def _table(self, kind: Any, low: int, high: int) -> Any:
        table = {**kind, "count": (high - low) // kind.get("beads", 1), "positions": self.position[low:high].tolist()}
        return table if self.velocity is None else {**table, "velocities": self.velocity[low:high].tolist()}


def section_of(name: str, section: Any) -> dict[str, Any]:
    """Return a section of the input as a dict; raises ConfigError where it is none."""
    if not isinstance(section, Mapping):
        raise ConfigError(f"{SOURCE}: {name}: is {section!r}; sections are dicts, as contact={{'restitution': 0.9}}")
    return dict(section)


def numbers_of(name: str, values: Any) -> Any:
    """Return values as a list of numbers; raises ConfigError where they are none."""
    try:
        return np.asarray(values, dtype=np.float64).tolist()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{SOURCE}: {name}: needs three numbers: {error}") from None


def table_of(name: str, values: Any, columns: int, dtype: Any) -> Any:
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
    return found


def column_of(name: str, values: Any, count: int) -> Any:
    """Return one number for each bead; raises ConfigError where they are others."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{SOURCE}: {name}: {error}") from None
    if found.shape not in ((), (count,)):
        raise ConfigError(f"{SOURCE}: {name}: has the shape {found.shape}; needs one number, or {count}")
    return np.broadcast_to(found, (count,))
