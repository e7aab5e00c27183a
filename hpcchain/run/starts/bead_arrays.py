"""Beads of arrays: cut into molecules, made whole, joined to kinds, and put on their bonds."""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hpcchain.config.keys.values import LARGEST
from hpcchain.errors import ConfigError
from hpcchain.io.tools.configurations import digits_of
from hpcchain.model.molecules.exclusion import BondWalker
from hpcchain.model.starts.constraints import bond_vectors, project_positions, project_velocities
from hpcchain.model.starts.given import TOLERANCE, GivenBeads
from hpcchain.model.starts.wholeness import beads_named, made_whole
from hpcchain.model.topology import build_composition
from hpcchain.parallel.comm import launched

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.model.system import Box

LOG = logging.getLogger("hpcchain.api")

DIGITS = 10  # of a measured bond length
ALIKE = 1e-5
"""Relative: numbers of molecules that differ by less are equal but for the rounding of single precision."""
FARTHEST = 0.1
"""Relative: how far bonds may be from the length that is asked for, where no tolerance is."""

NUMBERS = ("mass", "diameter", "bond_length", "moment")
"""Keys of [[molecule]] that are numbers of beads or bonds."""
Entry = TypeVar("Entry", np.float64, np.int64)
Values = NDArray[np.float64] | NDArray[np.object_] | NDArray[np.bool_]


class Kind(NamedTuple):
    """A [[molecule]] table without its places, beads of one molecule, and of all: from the first to behind the last."""

    table: dict[str, object]
    beads: int
    low: int
    high: int


class Names(NamedTuple):
    """What a file calls its beads, one for each: numbers, and types."""

    ids: NDArray[np.int64]
    types: NDArray[np.object_]

    def pair(self, i: int, j: int) -> str:
        """Return what messages call two beads."""
        one, other = (f"{self.ids[bead]} ({self.types[bead]})" for bead in (i, j))
        return f"beads {one} and {other} of the file"


class Beads:
    """Arrays of beads, cut into molecules.

    Parameters
    ----------
    source : str
        Where they come from, for messages.
    position, velocity, bonds, fixed :
        See `System.from_arrays`.
    of_beads : dict
        Name in OF_BEADS -> one value, or one for each bead.
    names : Names, optional
        What messages call beads; numbers from 0 without it.
    """

    def __init__(
        self,
        source: str,
        position: ArrayLike,
        velocity: ArrayLike | None,
        bonds: ArrayLike,
        fixed: ArrayLike,
        of_beads: Mapping[str, object],
        names: Names | None = None,
    ) -> None:
        self.source, self.names = source, names
        self.position = table_of(f"{source}: position", position, 3, np.float64)
        count = len(self.position)
        if count == 0:
            raise ConfigError(f"{source}: position: has no row; give one for each bead")
        self.velocity = None if velocity is None else table_of(f"{source}: velocity", velocity, 3, np.float64)
        if self.velocity is not None and len(self.velocity) != count:
            raise ConfigError(
                f"{source}: velocity: has {len(self.velocity)} rows; needs {count}, one for each position"
            )
        self.bonds = np.sort(table_of(f"{source}: bonds", bonds, 2, np.int64), axis=1)
        if len(self.bonds) and not 0 <= self.bonds.min() <= self.bonds.max() < count:
            raise ConfigError(f"{source}: bonds: name beads outside 0 … {count - 1}")
        alone = self.bonds[self.bonds[:, 0] == self.bonds[:, 1], 0]
        if len(alone):
            raise ConfigError(f"{source}: bonds: bead {alone[0]} is bonded to itself; a bond joins two beads")
        self.bonds = self.bonds[np.lexsort(self.bonds.T[::-1])]
        self.of_beads = {name: column_of(f"{source}: {name}", name, value, count) for name, value in of_beads.items()}
        self.fixed = mask_of(f"{source}: fixed", fixed, count)
        self.length = np.full(len(self.bonds), np.nan)
        self._difference, self._put = 0.0, False

    def pair(self, i: int, j: int) -> str:
        """Return what messages call two beads."""
        return beads_named(i, j) if self.names is None else self.names.pair(i, j)

    def make_whole(self, box: Box, length: NDArray[np.float64] | None = None) -> None:
        """Take the nearest images of what bonds join; raises ConfigError where these are not certain.

        Bonds whose `length` is known, and not NaN, may be taken as they are given.
        """
        length = np.full(len(self.bonds), np.nan) if length is None else length
        whole = made_whole(f"{self.source}: position", box, self.bonds, self.position, length, self.pair)
        self.position, images = whole
        cut = self.bonds[images.any(axis=1)]
        if len(cut):
            length = np.linalg.norm(bond_vectors(self.position, cut), axis=1)
            self.caution(
                f"position: {len(cut)} of the bonds reach across periodic sides; molecules are made whole by nearest "
                f"images, by which the longest of these bonds is {length.max():.6g} "
                f"({self.pair(*cut[np.argmax(length)])})"
            )

    def set_lengths(self, bond_length: object = None, tolerance: object = None, rigid: bool = True) -> None:
        """Give bonds their lengths: one, those that they have, or where a tolerance is given those of bonds alike.

        Parameters
        ----------
        bond_length : number or None
            Of all bonds [length].
        tolerance : number or None
            Relative; see `System.from_arrays`.
        rigid : bool
            Where bonds are not rigid all get their mean.

        Raises
        ------
        ConfigError
            Where a bond is farther from its length than that.
        """
        wanted, least = (
            number_of(f"{self.source}: {name}", value)
            for name, value in (("bond_length", bond_length), ("tolerance", tolerance))
        )
        measured = np.linalg.norm(bond_vectors(self.position, self.bonds), axis=1)
        alike = self.bonds[measured == 0.0]
        if len(alike):
            raise ConfigError(f"{self.source}: bonds: {self.pair(*alike[0])} are at the same place; move them apart")
        self._put = wanted is not None or least is not None
        if wanted is not None:
            self.length = np.full(len(measured), wanted)
            self.require_near(self.length, FARTHEST if least is None else least)
        elif not rigid and len(measured):
            self.length = np.full(len(measured), measured.mean())
        else:
            self.length = measured if least is None else joined(measured, least)

    def require_near(self, length: NDArray[np.float64], tolerance: float) -> None:
        """Raise ConfigError unless bonds are as long as they should be, to a tolerance, relative; NaN: any length."""
        measured = np.linalg.norm(bond_vectors(self.position, self.bonds), axis=1)
        off = np.nan_to_num(np.abs(measured / length - 1.0))
        far = np.flatnonzero(off > tolerance)
        if len(far):
            at = far[np.argmax(off[far])]
            raise ConfigError(
                f"{self.source}: bonds: {len(far)} of {len(off)} are farther from their length than the tolerance "
                f"{tolerance:g}; farthest is that of {self.pair(*self.bonds[at])}, {measured[at]:.6g} long in place of "
                f"{length[at]:.6g}; mend the bonds, say how long they are by bond_length, or allow more by tolerance"
            )

    def sorted_by_molecule(self) -> tuple[Beads, NDArray[np.int64]]:
        """Return the beads with those of each molecule, and molecules of each kind, together, and their numbers here.

        Beads of a linear molecule stand from one end to the other.
        """
        sequence = molecule_sequence(self.bonds, self.fixed, self.of_beads)
        place = np.empty(len(sequence), dtype=np.int64)
        place[sequence] = np.arange(len(sequence))
        ends = np.sort(place[self.bonds], axis=1)
        rows = np.lexsort(ends.T[::-1])
        other = copy(self)
        other.position, other.bonds, other.length = self.position[sequence], ends[rows], self.length[rows]
        other.velocity = None if self.velocity is None else self.velocity[sequence]
        other.of_beads = {name: values[sequence] for name, values in self.of_beads.items()}
        other.fixed = self.fixed[sequence]
        if self.names is not None:
            other.names = Names(self.names.ids[sequence], self.names.types[sequence])
        return other, sequence

    def kinds(self, molecule: ArrayLike | None = None) -> list[dict[str, object]]:
        """Return the [[molecule]] tables: neighbours that are alike are one kind."""
        bounds = self._bounds(molecule)
        ends, length = self.bonds[:, 0], self.length
        found: list[Kind] = []
        for low, high in zip(bounds[:-1], bounds[1:], strict=True):
            bonds = slice(np.searchsorted(ends, low), np.searchsorted(ends, high))
            own = self.bonds[bonds]
            if len(own) and own.max() >= high:
                pair = self.pair(*own[own[:, 1] >= high][0])
                raise ConfigError(f"{self.source}: molecule: {pair} are bonded, but of two molecules; make them of one")
            kind = self._kind(low, high, own, length[bonds])
            if found and self._is_alike(found[-1].table, kind):
                found[-1] = found[-1]._replace(high=high)
            else:
                found.append(Kind(kind, high - low, low, high))
        if self._difference > TOLERANCE:
            self.caution(
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
            Where velocities change a bond's length by more than rounding does, and lengths were not asked for.
        """
        topology, position, velocity = build_composition(config).whole(), self.position, self.velocity
        length = np.linalg.norm(bond_vectors(position, topology.bonds), axis=1)
        if np.any(np.abs(length / topology.bond_length - 1.0)[topology.rigid] > TOLERANCE):
            position = project_positions(topology, position, f"{self.source}: position")
            if self._put:
                moved = float(np.linalg.norm(position - self.position, axis=1).max())
                self.caution(f"position: beads are put on their bonds; they move by up to {moved:.2g}")
        if velocity is not None:
            if not self._put:
                GivenBeads(self.source, topology, self.position, velocity).check_rates(ALIKE)
            if np.any(GivenBeads(self.source, topology, position, velocity).lengthening()[1] > 0.0):
                given, velocity = velocity, project_velocities(topology, position, velocity)
                self._caution_of_velocities(topology.mass, given, velocity)
        if position is self.position and velocity is self.velocity:
            return config
        molecules, first = [], 0
        for kind in config.molecules:
            own = slice(first, first + kind.count * kind.beads)
            moving = None if velocity is None else velocity[own]
            molecules.append(replace(kind, positions=position[own], velocities=moving))
            first = own.stop
        return replace(config, molecules=tuple(molecules))

    def _caution_of_velocities(
        self, mass: NDArray[np.float64], given: NDArray[np.float64], velocity: NDArray[np.float64]
    ) -> None:
        """Say what was taken out of the velocities."""
        if not self._put:
            self.caution(f"velocity: is made to keep the bonds' lengths, which it does to {ALIKE:g} of the speed")
            return
        before, after = (float(mass @ np.sum(each**2, axis=1)) for each in (given, velocity))
        share = 1.0 - after / before
        self.caution(f"velocity: what would lengthen bonds is taken out, {100.0 * share:.3g} % of the kinetic energy")

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
            raise ConfigError(f"{self.source}: molecule: needs {count} numbers, one for each bead")
        starts = [0, *(np.flatnonzero(number[1:] != number[:-1]) + 1).tolist(), count]
        if len(set(number.tolist())) != len(starts) - 1:
            raise ConfigError(f"{self.source}: molecule: the beads of one molecule do not stand together; sort them")
        return starts

    def _kind(self, low: int, high: int, bonds: NDArray[np.int64], length: NDArray[np.float64]) -> dict[str, object]:
        """Return the table of one molecule without its places."""
        kind: dict[str, object] = {}
        for name, values in self.of_beads.items():
            own = values[low:high].tolist()
            kind[name] = own if name in NUMBERS or any(one != own[0] for one in own) else own[0]
        if self.fixed[low:high].any():
            kind["fixed"] = np.flatnonzero(self.fixed[low:high]).tolist()
        if high - low == 1:
            return {"kind": "monomer"} | kind
        if len(bonds) < high - low - 1:
            raise ConfigError(
                f"{self.source}: bonds: do not join beads {low} … {high - 1} to one molecule; sort the beads, so that "
                "those of each molecule stand together"
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

    def caution(self, text: str) -> None:
        """Say in the log, once and not on every rank, what becomes of arrays."""
        if launched()[1] == 0:
            LOG.warning("%s: %s", self.source, text)


def joined(values: NDArray[np.float64], tolerance: float) -> NDArray[np.float64]:
    """Return numbers above 0 with those alike but for a tolerance, relative, made one: their mean.

    It has one digit more than the tolerance, or 10 where all of them agree to 1e-9.
    """
    sequence = np.argsort(values, kind="stable")
    ascending, found, low = values[sequence], np.empty_like(values), 0
    while low < len(values):
        high = int(np.searchsorted(ascending, ascending[low] * (1.0 + tolerance), side="right"))
        exact = ascending[high - 1] <= ascending[low] * (1.0 + TOLERANCE)
        digits = DIGITS if exact else min(max(math.ceil(-math.log10(tolerance)) + 1, 1), DIGITS)
        found[sequence[low:high]] = float(f"{ascending[low:high].mean():.{digits}g}")
        low = high
    return found


def molecule_sequence(
    bonds: NDArray[np.int64], fixed: NDArray[np.bool_], of_beads: Mapping[str, Values]
) -> NDArray[np.int64]:
    """Return the numbers of beads, molecule by molecule and kind by kind; see `Beads.sorted_by_molecule`."""
    walker = BondWalker(len(fixed), bonds)
    like = [like_numbers(values) for values in (fixed, *of_beads.values())]
    alike, seen = defaultdict(list), [False] * len(fixed)
    for first in range(len(fixed)):
        if seen[first]:
            continue
        own = sorted([bead for bead, _, _ in walker.walk(first)])
        near = {bead: walker.partners(bead) for bead in own}
        end = [bead for bead in own if len(near[bead]) == 1]
        if len(end) == 2 and all(len(partners) <= 2 for partners in near.values()):  # a line
            own = [bead for bead, _, _ in walker.walk(end[0])]
        place = {}
        for k, bead in enumerate(own):
            place[bead], seen[bead] = k, True
        shape = tuple(sorted([(place[i], place[j]) for i in own for j in near[i] if place[i] < place[j]]))
        alike[(shape, *(values[own].tobytes() for values in like))].append(own)
    return np.array([bead for molecules in alike.values() for own in molecules for bead in own], dtype=np.int64)


def like_numbers(values: Values) -> NDArray[np.int64]:
    """Return numbers that are equal where values are, or are but for rounding."""
    rounded = np.array([f"{value:.4g}" if isinstance(value, float) else str(value) for value in values.tolist()])
    return np.unique(rounded, return_inverse=True)[1].astype(np.int64)


def require_plain(name: str, values: object) -> None:
    """Raise ConfigError, which begins with a name, for an array of which NumPy would drop parts or masks."""
    if isinstance(values, np.ndarray) and (np.iscomplexobj(values) or np.ma.is_masked(values)):
        raise ConfigError(f"{name}: has complex or masked entries; give real numbers, none of them masked")


def table_of(name: str, values: ArrayLike, columns: int, dtype: type[Entry]) -> NDArray[Entry]:
    """Return values as an (n, columns) array; raises ConfigError, which begins with a name, where they are none."""
    require_plain(name, values)
    try:
        found = np.asarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(f"{name}: is {values!r:.60}; needs rows of {columns} numbers") from None
    if found.size == 0:
        return np.empty((0, columns), dtype=dtype)
    if dtype == np.int64 and not np.array_equal(found, np.asarray(values)):
        raise ConfigError(f"{name}: needs whole numbers")
    if found.ndim != 2 or found.shape[1] != columns:
        raise ConfigError(f"{name}: has the shape {found.shape}; needs (n, {columns})")
    if dtype == np.float64 and not np.all(np.abs(found) <= LARGEST):
        row = int(np.argwhere(~(np.abs(found) <= LARGEST))[0, 0])
        raise ConfigError(f"{name}: row {row} is {found[row].tolist()}; needs numbers up to {LARGEST:g}")
    return found


def column_of(where: str, name: str, values: object, count: int) -> Values:
    """Return one value of a key for each bead; raises ConfigError where they are others, `where` before it."""
    dtype = np.float64 if name in NUMBERS else object
    require_plain(where, values)
    try:
        found = np.asarray(digits_of(values), dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {error}") from None
    if found.shape not in ((), (count,)):
        one = "number" if dtype is np.float64 else "value"
        raise ConfigError(f"{where}: has the shape {found.shape}; needs one {one}, or {count}")
    return np.broadcast_to(found, (count,))


def number_of(where: str, value: object) -> float | None:
    """Return a number above 0, None where there is none; raises ConfigError where it is another, `where` before it."""
    if value is None:
        return None
    if not (isinstance(value, Real) and not isinstance(value, bool) and 0.0 < float(value) <= LARGEST):
        raise ConfigError(f"{where}: is {value!r:.60}; needs a number above 0")
    return float(value)


def mask_of(where: str, numbers: ArrayLike, count: int) -> NDArray[np.bool_]:
    """Return which beads have some numbers; raises ConfigError where these are none, `where` before it."""
    given = np.asarray(numbers)
    found = np.zeros(count, dtype=bool)
    if given.size == 0:
        return found
    if given.ndim != 1 or given.dtype.kind not in "iu" or not 0 <= given.min() <= given.max() < count:
        raise ConfigError(f"{where}: is {numbers!r:.60}; it is a list of beads' numbers, 0 … {count - 1}")
    found[given] = True
    return found
