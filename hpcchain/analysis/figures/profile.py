"""Profiles along an axis, or by the distance from walls, a point, a line: density, velocity, temperature, stress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.figures.figure import LENGTH, Figure, Frame
from hpcchain.analysis.tables import Curve, Value
from hpcchain.errors import UsageError
from hpcchain.model.system import images_between

if TYPE_CHECKING:
    from hpcchain.analysis.kinds import Kind
    from hpcchain.analysis.statistics import Sums
    from hpcchain.io.output.trajectory import Trajectory

AXES = ("x", "y", "z")
FROM_WALLS = tuple(f"wall-{axis}" for axis in AXES)
FLAT = (*AXES, *FROM_WALLS)
ALONG = (*FLAT, "sphere", *(f"cylinder-{axis}" for axis in AXES))
"""What a profile may be along: an axis, the distance from the nearer wall of one, from a point, or from a line."""
DENSITY, VELOCITY, STRESS = "1 / length^3", "length / time", "energy / length^3"


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
        if self.shape in FLAT and (self.center is not None or self.reach is not None):
            raise UsageError(f"a profile along {self.shape} has no center and no reach: it is along the whole box")
        if not 1 <= self.bins <= 10_000:
            raise UsageError(f"a profile of {self.bins} bins: give 1 to 10000")

    @property
    def across(self) -> list[int]:
        """The axes that the distance is measured in; of a profile along an axis that one."""
        if self.shape == "sphere":
            return [0, 1, 2]
        return [k for k, axis in enumerate(AXES) if (axis == self.shape[-1]) == (self.shape in FLAT)]


def maybe_open(found: Trajectory) -> np.ndarray:
    """Return (3,) which axes may have no boundary: where one has none, files do not tell walls from it."""
    return ~found.periodic & (not found.bounded)


def why_none(along: Along, found: Trajectory) -> str:
    """Return why a box has no such profile, "" where it has: where an axis is open it has no volume to count in."""
    is_open = maybe_open(found)
    needed = [k for k in range(3) if along.shape in FLAT or k not in along.across]
    if any(is_open[k] for k in needed):
        return f"the box has an open axis, along which there is no end to a profile of {along.shape}"
    walls = [AXES[k] for k in along.across if not (found.periodic[k] or is_open[k])]
    if along.shape in FROM_WALLS and not walls:
        return f"the box has no walls along {along.shape[-1]}"
    if along.center == "mass" and walls:
        return f"the box has walls along {', '.join(walls)}: give a center in place of mass"
    return ""


class Profile(Figure):
    """Sums in bins over beads of each type, and over the centres of mass of each kind of molecules."""

    def __init__(self, along: Along, found: Trajectory, kinds: list[Kind]) -> None:
        self.along = along
        self.box, self.origin, self.periodic = found.edges, found.origin, found.periodic
        self.mass, self.volume = found.mass, np.pi / 6.0 * found.diameter**3
        types = {name: found.species == k for k, name in enumerate(found.names) if np.any(found.species == k)}
        self.types = ({"": np.ones(len(found.mass), bool)} | types) if len(types) > 1 else {"": slice(None)}
        self.kinds = kinds
        self.spinning = None
        if found.moment_of_inertia is not None and found.angular_velocity is None:
            self.spinning = found.moment_of_inertia
        self.middle = found.origin + 0.5 * found.edges
        if along.center is not None and along.center != "mass":
            self.middle = np.array(along.center, dtype=np.float64)
        self.edges = np.linspace(*self._ends(maybe_open(found)), along.bins + 1)
        self.shells = self._volumes()

    def _ends(self, is_open: np.ndarray) -> tuple[float, float]:
        """Return where the first bin begins and the last ends."""
        axes = self.along.across
        if self.along.shape in FLAT:
            low, width = float(self.origin[axes[0]]), float(self.box[axes[0]])
            return (0.0, 0.5 * width) if self.along.shape in FROM_WALLS else (low, low + width)
        space = np.minimum(self.middle - self.origin, self.origin + self.box - self.middle)
        if np.any((space < np.where(self.periodic, -self.box, 0.0))[axes]):  # the images of a periodic side are near
            at = ",".join(f"{x:g}" for x in self.middle)
            raise UsageError(f"a profile about {at}: that is outside the box; give a center in it")
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
        others = np.prod(np.delete(self.box, self.along.across)) * (2.0 if self.along.shape in FROM_WALLS else 1.0)
        return others * (np.diff(self.edges) if self.along.shape in FLAT else np.pi * np.diff(self.edges**2))

    @property
    def middles(self) -> np.ndarray:
        """(bins,) the middle of each bin [length]."""
        return 0.5 * (self.edges[1:] + self.edges[:-1])

    @property
    def x_name(self) -> str:
        """What the profile is along."""
        return {**{axis: axis for axis in AXES}, **dict.fromkeys(FROM_WALLS, "distance")}.get(self.along.shape, "r")

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the components of velocities."""
        if self.along.shape in FLAT:
            return AXES
        return ("radial",) if self.along.shape == "sphere" else ("radial", "around", "axial")

    def placed(self, position: np.ndarray, velocity: np.ndarray, center: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where points are along the line, (n,), and the components of their velocities, (n, c)."""
        axes = self.along.across
        if self.along.shape in AXES:
            away = position[:, axes[0]] - self.origin[axes[0]]
            return self.origin[axes[0]] + (away % self.box[axes[0]] if self.periodic[axes[0]] else away), velocity
        if self.along.shape in FROM_WALLS:
            [axis] = axes
            away = position[:, axis] - self.origin[axis]
            upper, mirrored = away > 0.5 * self.box[axis], velocity.copy()
            mirrored[upper, axis] *= -1.0
            return np.where(upper, self.box[axis] - away, away), mirrored
        away = position - center
        away -= self.box * images_between(away, self.box, self.periodic)
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
        """Return the sums in bins: of each type and kind N, M, M v, M v², then what is theirs alone, then stress.

        Of types that is volume, and of spins how many there are and I ω²; the stress is M v v of all centres of mass.
        """
        center = self.center(frame.position)
        at, moving = self.placed(frame.position, frame.velocity, center)
        squares = np.sum(frame.velocity**2, axis=1)
        spins = [] if self.spinning is None else [self.spinning > 0.0, self.spinning * np.sum(frame.spin**2, axis=1)]
        rows = []
        for own in self.types.values():
            extra = [self.volume[own], *(spin[own] for spin in spins)]
            rows += self.binned(at[own], [*carried(self.mass[own], moving[own], squares[own]), *extra])
        stress = np.zeros((len(self.pairs), self.along.bins))
        for kind in self.kinds:
            x, v = (kind.centres(kind.positions(table)) for table in (frame.position, frame.velocity))
            at_centre, own_moving = self.placed(x, v, center)
            mass = np.full(len(x), kind.mass.sum())
            rows += self.binned(at_centre, carried(mass, own_moving, np.sum(v * v, axis=1)))
            stress += self.binned(at_centre, [mass * own_moving[:, a] * own_moving[:, b] for a, b in self.pairs])
        return np.concatenate([*rows, *stress])[None]

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
        x, name = self.middles, self.x_name
        found: list[Value | Curve] = []

        def curve(figure: str, of: str, unit: str, what: Callable) -> None:
            value, error = sums.estimate(lambda s: what(s.reshape(-1, self.along.bins)))
            found.append(Curve(figure, of, unit, name, LENGTH, x, value, error))

        common = 3 + len(self.components)
        width = common + (1 if self.spinning is None else 3)
        for number, of in enumerate(self.types):
            first = number * width
            curve("profile_beads", of, DENSITY, lambda s, k=first: s[k] / self.shells)
            curve("profile_packing", of, "", lambda s, k=first: s[k + common] / self.shells)
            for p, component in enumerate(self.components):
                flow = f"profile_velocity_{component}"
                curve(flow, of, VELOCITY, lambda s, k=first, p=p: s[k + 2 + p] / s[k + 1])
            curve("profile_bead_temperature", of, "energy", lambda s, k=first: self.temperature(s, k))
            if self.spinning is not None:
                spins = first + common + 1
                curve("profile_spin_temperature", of, "energy", lambda s, k=spins: s[k + 1] / (3.0 * s[k]))
        kinds = [len(self.types) * width + number * common for number in range(len(self.kinds))]
        for first, kind in zip(kinds, self.kinds, strict=True):
            if any(one.size > 1 for one in self.kinds):
                curve("profile_molecules", kind.name, DENSITY, lambda s, k=first: s[k] / self.shells)
            curve("profile_temperature", kind.name, "energy", lambda s, k=first: self.temperature(s, k))
        stress = len(self.types) * width + len(self.kinds) * common
        for number, (a, b) in enumerate(self.pairs):
            axes = "".join(self.components[k] for k in (a, b)) if self.along.shape in FLAT else self.components[a]
            component = f"profile_kinetic_pressure_{axes}"
            curve(component, "", STRESS, lambda s, k=stress + number, a=a, b=b: self.carry(s, k, kinds, a, b))
        return found

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Components of the stress; about points and lines, where others have no mean, those along the diagonal."""
        axes = range(len(self.components))
        both = [(a, b) for a in axes for b in axes if a < b] if self.along.shape in FLAT else []
        return [*((a, a) for a in axes), *both]

    def temperature(self, sums: np.ndarray, first: int) -> np.ndarray:
        """Return a third of M (V - U)² of each, of the mean velocity U in each bin; `sums`: rows of `add`."""
        count, mass, *flow, square = sums[first : first + 3 + len(self.components)]
        return (square - sum(one**2 for one in flow) / mass) / (3.0 * count)

    def carry(self, sums: np.ndarray, k: int, kinds: list[int], a: int, b: int) -> np.ndarray:
        """Return M (V - U) (V - U) per volume of all centres of mass, of the mean velocity U in each bin; k: M V V."""
        mass, one, other = (sum(sums[first + column] for first in kinds) for column in (1, 2 + a, 2 + b))
        return (sums[k] - np.where(mass > 0.0, one * other / mass, 0.0)) / self.shells


def carried(mass: np.ndarray, moving: np.ndarray, squares: np.ndarray) -> list[np.ndarray | None]:
    """Return what is summed of points: their number, M, M v by component, M v²."""
    return [None, mass, *(mass[:, None] * moving).T, mass * squares]
