"""Profiles along an axis, or by the distance from a point or a line: densities, velocities, temperature of centres."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.figures.figure import LENGTH, Frame
from hpcchain.analysis.tables import Curve, Value
from hpcchain.errors import UsageError

if TYPE_CHECKING:
    from hpcchain.analysis.kinds import Kind
    from hpcchain.analysis.statistics import Sums
    from hpcchain.io.output.trajectory import Trajectory

AXES = ("x", "y", "z")
ALONG = (*AXES, "sphere", *(f"cylinder-{axis}" for axis in AXES))
"""What a profile may be along: an axis, the distance from a point, or that from a line along an axis."""
DENSITY, VELOCITY = "1 / length^3", "length / time"


@dataclass(frozen=True)
class Along:
    """What a profile is along.

    Attributes
    ----------
    shape : str
        One of ALONG.
    center : (3,) tuple of float, or "mass", or None
        Of a sphere, or a point of a cylinder's axis; the centre of mass of each frame; the middle of the box [length].
    bins : int
    reach : float, optional
        Greatest distance from the centre; as far as the box goes, when left out [length].
    """

    shape: str = "z"
    center: tuple[float, ...] | str | None = None
    bins: int = 50
    reach: float | None = None

    def require_possible(self) -> None:
        """Raise UsageError when it is no line, or has no bins."""
        if self.shape not in ALONG:
            raise UsageError(f"a profile along {self.shape!r} is not known: choose of {', '.join(ALONG)}")
        if self.shape in AXES and (self.center is not None or self.reach is not None):
            raise UsageError(f"a profile along {self.shape} has no center and no reach: it is along the whole box")
        if not 1 <= self.bins <= 10_000:
            raise UsageError(f"a profile of {self.bins} bins: give 1 to 10000")

    @property
    def across(self) -> list[int]:
        """The axes that the distance is measured in; of a profile along an axis that one."""
        if self.shape == "sphere":
            return [0, 1, 2]
        return [k for k, axis in enumerate(AXES) if (axis == self.shape[-1]) == (self.shape in AXES)]


def maybe_open(found: Trajectory) -> np.ndarray:
    """Return (3,) which axes may have no boundary: where one has none, files do not tell walls from it."""
    return ~found.periodic & (not found.bounded)


def why_none(along: Along, found: Trajectory) -> str:
    """Return why a box has no such profile, "" where it has: where an axis is open it has no volume to count in."""
    is_open = maybe_open(found)
    needed = [k for k in range(3) if along.shape in AXES or k not in along.across]
    if any(is_open[k] for k in needed):
        return f"the box has an open axis, along which there is no end to a profile of {along.shape}"
    walls = [AXES[k] for k in along.across if not (found.periodic[k] or is_open[k])]
    if along.center == "mass" and walls:
        return f"the box has walls along {', '.join(walls)}: give a center in place of mass"
    return ""


class Profile:
    """Sums in bins over beads of each type, and over the centres of mass of each kind of molecules.

    Parameters
    ----------
    along : Along
    found : Trajectory
    kinds : list of Kind
    """

    most = 0

    def __init__(self, along: Along, found: Trajectory, kinds: list[Kind]) -> None:
        self.along, self.groups = along, np.ones(1)
        self.box, self.origin, self.periodic = found.edges, found.origin, found.periodic
        self.mass, self.volume = found.mass, np.pi / 6.0 * found.diameter**3
        types = {name: found.species == k for k, name in enumerate(found.names) if np.any(found.species == k)}
        self.types = ({"": np.ones(len(found.mass), bool)} | types) if len(types) > 1 else {"": slice(None)}
        self.kinds = kinds
        self.middle = found.origin + 0.5 * found.edges
        if along.center is not None and along.center != "mass":
            self.middle = np.array(along.center, dtype=np.float64)
        self.edges = np.linspace(*self._ends(maybe_open(found)), along.bins + 1)
        self.shells = self._volumes()

    def _ends(self, is_open: np.ndarray) -> tuple[float, float]:
        """Return where the first bin begins and the last ends."""
        axes = self.along.across
        if self.along.shape in AXES:
            low = float(self.origin[axes[0]])
            return low, low + float(self.box[axes[0]])
        space = np.minimum(self.middle - self.origin, self.origin + self.box - self.middle)
        space = np.where(self.periodic, 0.5 * self.box, space)[axes]
        limit = float(np.min(space[~is_open[axes]], initial=np.inf))
        reach = limit if np.isfinite(limit) else 0.5 * float(self.box[axes].min())
        reach = reach if self.along.reach is None else self.along.reach
        if not 0.0 < reach <= limit * (1.0 + 1e-12):
            raise UsageError(f"a profile to the distance {reach:g}: the box has space for {limit:g} about its center")
        return 0.0, reach

    def _volumes(self) -> np.ndarray:
        """Return (bins,) the volume of each bin [length^3]."""
        if self.along.shape == "sphere":
            return 4.0 / 3.0 * np.pi * np.diff(self.edges**3)
        others = np.prod(np.delete(self.box, self.along.across))
        return others * (np.diff(self.edges) if self.along.shape in AXES else np.pi * np.diff(self.edges**2))

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the components of velocities."""
        if self.along.shape in AXES:
            return AXES
        return ("radial",) if self.along.shape == "sphere" else ("radial", "around", "axial")

    def placed(self, position: np.ndarray, velocity: np.ndarray, center: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where points are along the line, (n,), and the components of their velocities, (n, c)."""
        axes = self.along.across
        if self.along.shape in AXES:
            away = position[:, axes[0]] - self.origin[axes[0]]
            return self.origin[axes[0]] + (away % self.box[axes[0]] if self.periodic[axes[0]] else away), velocity
        away = position - center
        away -= np.where(self.periodic, self.box, 0.0) * np.round(away / self.box)
        distance = np.sqrt(np.sum(away[:, axes] ** 2, axis=1))
        outward = away[:, axes] / np.maximum(distance, 1e-300)[:, None]
        parts = [np.sum(outward * velocity[:, axes], axis=1)]
        if len(axes) == 2:
            first, second = axes if axes != [0, 2] else (2, 0)  # so that with the axis they are right-handed
            u, v = away[:, first] / np.maximum(distance, 1e-300), away[:, second] / np.maximum(distance, 1e-300)
            parts += [u * velocity[:, second] - v * velocity[:, first], np.delete(velocity, axes, axis=1)[:, 0]]
        return distance, np.stack(parts, axis=1)

    def center(self, position: np.ndarray) -> np.ndarray:
        """Return the centre in a frame; along periodic axes the mean of angles, beads weighted by mass."""
        if self.along.center != "mass":
            return self.middle
        turn = np.exp(2j * np.pi * (position - self.origin) / self.box)
        angle = np.angle(self.mass @ turn) / (2.0 * np.pi)
        return np.where(self.periodic, self.origin + angle * self.box, self.mass @ position / self.mass.sum())

    def add(self, frame: Frame) -> np.ndarray:
        """Return the sums in bins: of each type N, volume, M, M v; of each kind of molecules N, M, M V, M V²."""
        center = self.center(frame.position)
        at, moving = self.placed(frame.position, frame.velocity, center)
        rows = []
        for own in self.types.values():
            mass = self.mass[own]
            rows += self.binned(at[own], [None, self.volume[own], mass, *(mass[:, None] * moving[own]).T])
        for kind in self.kinds:
            x, v = (kind.centres(kind.positions(table)) for table in (frame.position, frame.velocity))
            at_centre, own_moving = self.placed(x, v, center)
            mass = np.full(len(x), kind.mass.sum())
            squares = mass * np.sum(v * v, axis=1)
            rows += self.binned(at_centre, [None, mass, *(mass[:, None] * own_moving).T, squares])
        return np.concatenate(rows)[None]

    def binned(self, at: np.ndarray, weights: list) -> list[np.ndarray]:
        """Return the sums of weights (None: of ones) in each bin; what lies beyond the ends is in none."""
        low, high = self.edges[0], self.edges[-1]
        inside = (at >= low) & (at <= high)
        number = np.minimum(((at[inside] - low) / (high - low) * self.along.bins).astype(np.int64), self.along.bins - 1)
        return [
            np.bincount(number, None if weight is None else weight[inside], self.along.bins).astype(np.float64)
            for weight in weights
        ]

    def result(self, sums: Sums) -> list[Value | Curve]:
        """Return the curves, of all and of each type and kind."""
        x, name = 0.5 * (self.edges[1:] + self.edges[:-1]), "r" if self.along.shape not in AXES else self.along.shape
        found: list[Value | Curve] = []

        def curve(figure: str, of: str, unit: str, what: Callable) -> None:
            found.append(Curve(figure, of, unit, name, LENGTH, x, *sums.estimate(what)))

        parts = len(self.components)
        for number, of in enumerate(self.types):
            first = number * (3 + parts)
            curve("profile_beads", of, DENSITY, lambda s, k=first: self.row(s, k) / self.shells)
            curve("profile_packing", of, "", lambda s, k=first: self.row(s, k + 1) / self.shells)
            for p, component in enumerate(self.components):
                flow = f"profile_velocity_{component}"
                curve(flow, of, VELOCITY, lambda s, k=first, p=p: self.row(s, k + 3 + p) / self.row(s, k + 2))
        for number, kind in enumerate(self.kinds):
            first = (len(self.types) + number) * (3 + parts)
            if any(one.size > 1 for one in self.kinds):
                curve("profile_molecules", kind.name, DENSITY, lambda s, k=first: self.row(s, k) / self.shells)
            curve("profile_temperature", kind.name, "energy", lambda s, k=first: self.temperature(s, k, parts))
        return found

    def row(self, sums: np.ndarray, k: int) -> np.ndarray:
        """Return the k-th of the sums in bins."""
        return sums[k * self.along.bins : (k + 1) * self.along.bins]

    def temperature(self, sums: np.ndarray, first: int, parts: int) -> np.ndarray:
        """Return a third of M (V - U)² per molecule, of the mean velocity U in each bin."""
        count, mass, square = (self.row(sums, first + k) for k in (0, 1, 2 + parts))
        flow = sum(self.row(sums, first + 2 + k) ** 2 for k in range(parts))
        return (square - flow / mass) / (3.0 * count)
