"""What the keys of [contact], [[contact.pair]] and [[wall]] must satisfy, and what cannot go with them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.config.keys.key import numbered, required
from hpcchain.config.keys.schema import read_sections, require_own
from hpcchain.config.keys.sections import WallSection
from hpcchain.config.keys.values import Wrong
from hpcchain.layout.arrays import SIDE_NAMES
from hpcchain.model.molecules.bonds import type_names
from hpcchain.model.physics.walls import AXES

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config, PairSection


def check_contact(config: Config) -> None:
    """Raise Wrong, with key and reason, where coefficients of contacts are impossible."""
    taken: dict[tuple[str, ...], str] = {}
    for where, one in numbered(config.contact.pairs):
        check_pair(config, one, where)
        pair = tuple(sorted(one.types))
        if pair in taken:
            raise Wrong(f"{where}.types: {' and '.join(one.types)} have {taken[pair]} already")
        taken[pair] = where
    if config.is_rough:
        check_rough(config)


def check_pair(config: Config, one: PairSection, where: str) -> None:
    """Check that a pair's types exist, and that it says something."""
    first, second = one.types
    names = type_names(config.molecules)
    for name in names:
        if name in SIDE_NAMES:
            raise Wrong(f"molecule: {name!r} is a wall's name in {where}.types; give that type of beads another")
    if first in SIDE_NAMES:
        raise Wrong(f"{where}.types: {first!r} is a wall; name it second, behind a type of beads")
    require_types([name for name in one.types if name not in SIDE_NAMES], names, where)
    if second in SIDE_NAMES and config.box.boundary["xyz".index(second[0])] != "wall":
        raise Wrong(f'{where}.types: there is no wall {second!r}; set box.boundary to "wall" along {second[0]}')
    if (one.bridge_distance is None) != (one.bridge_energy is None):
        missing = "bridge_energy" if one.bridge_energy is None else "bridge_distance"
        raise Wrong(f"{where}.{missing}: is missing; a bridge needs it")
    if one.bridge_distance is not None and second in SIDE_NAMES:
        raise Wrong(f"{where}.bridge_distance: walls have no bridges; remove it")
    if not one.has_coefficients and one.bridge_distance is None:
        known = "restitution or friction" if config.steps else "restitution, tangential_restitution or contact_time"
        raise Wrong(f"{where}: gives no coefficient; give {known}")


def require_types(given: Iterable[str], names: Collection[str], where: str) -> None:
    """Raise Wrong for a type of which no beads are; `names`: those that there are."""
    for name in given:
        if name not in names:
            raise Wrong(f"{where}.types: {name!r} is no type of beads; types are {', '.join(names)}")


def check_rough(config: Config) -> None:
    """Check that no kind of molecules turns in another way than contacts leave it to."""
    for where, kind in numbered(config.molecules):
        if kind.directors and (kind.propagator or config.propagator).name == "variational":
            raise Wrong(
                f'{where}.directors: rough spheres turn exactly, not by the steps of "variational"; '
                "choose another propagator, or set contact.tangential_restitution = 1"
            )


PROJECTIONS, ROOM = 1000, 1e-3
"""Most projections on all walls, and by what part of a bead's radius they may still miss one."""


def read_walls(tables: object) -> tuple[WallSection, ...]:
    """Return the WallSections of what TOML holds under "wall"; raises Wrong with key and reason."""
    walls = read_sections(WallSection, tables)
    for where, one in numbered(walls):
        if (one.side is None) == (one.shape is None):
            raise Wrong(f"{where}: give it a side of the box, or a shape, and not both")
        require_own(one, "a side of the box" if one.shape is None else f'shape "{one.shape}"', where)
    return tuple(walls)


def check_walls(config: Config) -> None:
    """Raise Wrong when walls do not fit the box, one another, the molecules or the end of the run."""
    taken: dict[str | None, str] = {}
    for where, one in numbered(config.walls):
        if one.shape is None:
            check_side(config, one, where)
            if one.side in taken:
                raise Wrong(f'{where}.side: "{one.side}" is {taken[one.side]} already; give it one table')
            taken[one.side] = where
        else:
            check_shape(config, one, where)
        check_motion(config, one, where)
    check_apart(config, config.run.end_time)
    if config.initial.method == "grow":
        check_meeting(config)


def largest_diameter(config: Config) -> float:
    """Return the largest bead's diameter; lists are looked at later [length]."""
    return max(float(np.max(kind.diameter, initial=0.0)) for kind in config.molecules)


def check_meeting(config: Config) -> None:
    """Check that the box and all shapes have a place in common for the largest bead, by projecting a point on each."""
    radius = 0.5 * largest_diameter(config)
    every = {where: one for where, one in numbered(config.walls) if one.shape is not None}
    for walls in [*({name: one} for name, one in every.items()), every]:
        if missed(config, list(walls.values()), radius) > ROOM * radius:
            names = " and ".join(walls)
            raise Wrong(
                f"{names}: {'its shape' if len(walls) == 1 else 'their shapes'} and the box have no room in common for "
                f"a bead of diameter {2.0 * radius:g}, and none can be placed; move wall.center, or enlarge "
                "wall.radius or box.size"
            )


def missed(config: Config, walls: list[WallSection], radius: float) -> float:
    """Return how far a point that comes as near as can be to being inside of all is outside of one at least [length].

    Sides keep what is a `radius` off walls, shapes their whole; all are convex, so projections in turn end in all of
    them if they have a place in common.
    """
    box = config.box
    low = np.array(box.origin, dtype=float) + radius * (np.array(box.boundary) == "wall")
    high = np.array(box.origin) + np.array(box.size) - radius * (np.array(box.boundary) == "wall")
    place = 0.5 * (low + high)
    for _ in range(PROJECTIONS):
        worst = 0.0
        for one in walls:
            away = (place - np.array(one.center)) * (np.array(AXES) != one.axis)
            distance = float(np.sqrt(np.sum(away**2)))
            beyond = distance - (required(one.radius) - radius)
            if beyond > 0.0:
                place, worst = place - away * (beyond / distance), max(worst, beyond)
        inside = np.clip(place, low, high)
        worst = max(worst, float(np.abs(inside - place).max()))
        place = inside
        if worst == 0.0:
            break
    return worst


def check_side(config: Config, one: WallSection, where: str) -> None:
    """Check that the box has walls along the axis of a side."""
    axis = AXES.index(required(one.side)[0])
    if config.box.boundary[axis] != "wall":
        raise Wrong(
            f'{where}.side: "{one.side}" is of an axis whose box.boundary is "{config.box.boundary[axis]}"; '
            'make it "wall", or choose another side'
        )


def check_shape(config: Config, one: WallSection, where: str) -> None:
    """Check that the axes across a shape are open, that it has room, and that all molecules can meet it."""
    for axis, boundary in enumerate(config.box.boundary):
        if AXES[axis] != one.axis and boundary != "open":
            raise Wrong(
                f'{where}.shape: a {one.shape} needs box.boundary "open" across it, and that of axis {AXES[axis]} is '
                f'"{boundary}"'
            )
    largest = largest_diameter(config)
    radius = required(one.radius)
    if radius <= 0.5 * largest:
        raise Wrong(f"{where}.radius: {radius:g} leaves the largest bead, of diameter {largest:g}, no room to move")


def inwards(one: WallSection, vector: float | tuple[float, ...]) -> float:
    """Return the part along a wall's normal, positive into the box, of its velocity or amplitude in the input."""
    if not isinstance(vector, tuple):
        return vector
    if one.side is None:
        return 0.0
    part = vector[AXES.index(one.side[0])]
    return part if one.side.endswith("-") else 0.0 - part


def along(one: WallSection, vector: float | tuple[float, ...]) -> tuple[float, ...] | None:
    """Return the part along the wall itself of the same, None where it is 0."""
    if not isinstance(vector, tuple):
        return None
    part = tuple(0.0 if one.side and name == one.side[0] else each for name, each in zip(AXES, vector, strict=True))
    return part if any(part) else None


def check_motion(config: Config, one: WallSection, where: str) -> None:
    """Check that a wall moves in ways that it can, and that what it does along itself is felt."""
    for key, vector in ((f"{where}.velocity", one.velocity), (f"{where}.oscillation: amplitude", one.amplitude)):
        if one.shape == "sphere" and isinstance(vector, tuple):
            raise Wrong(f"{key}: a sphere does not move along itself; give a number, how fast its radius shrinks")
        if one.axis and isinstance(vector, tuple) and any(vector[axis] for axis in range(3) if AXES[axis] != one.axis):
            raise Wrong(
                f"{key}: a cylinder moves along its axis {one.axis}, or, by a number, towards it; set the other "
                "entries to 0"
            )
        if along(one, vector) and not rubs(config, one):
            needs = "contact.friction" if config.steps else "a temperature or a tangential_restitution other than 1"
            raise Wrong(
                f"{key}: the wall moves along itself, but is smooth, so that no bead feels it; give {needs}, or "
                "remove what is not along its normal"
            )


def rubs(config: Config, one: WallSection) -> bool:
    """Whether what a wall does along itself changes the motion of beads that touch it."""
    if config.steps is not None:
        return config.contact.rubs
    own = [one.tangential_restitution]
    if own == [None]:
        own = [pair.tangential_restitution for pair in config.contact.pairs if one.side in pair.types]
        own = [*own, config.contact.tangential_restitution]
    return one.temperature is not None or any(each not in (None, 1.0) for each in own)


def check_apart(config: Config, end: float) -> None:
    """Check that walls that move leave beads room up to the end of a run [time]."""
    largest = largest_diameter(config)
    for axis, name in enumerate(AXES):
        sides = {where: one for where, one in numbered(config.walls) if one.side in (f"{name}-", f"{name}+")}
        check_room(sides, config.box.size[axis] - largest, f"the walls of axis {name} leave", end)
    for where, one in numbered(config.walls):
        if one.radius is not None:
            check_room({where: one}, one.radius - 0.5 * largest, f"the {one.shape} leaves", end)


def check_room(walls: dict[str, WallSection], room: float, what: str, end: float) -> None:
    """Check that walls, by what messages call them, that move towards one another leave some of the room between.

    Those of one period oscillate in step; of others the amplitudes count whole.
    """
    if not walls:
        return
    rates = {index: inwards(one, one.velocity) for index, one in walls.items()}
    swings = [(one.oscillation.period, inwards(one, one.amplitude)) for one in walls.values() if one.oscillation]
    together = len({period for period, _ in swings}) == 1
    swing = abs(sum(each for _, each in swings)) if together else sum(abs(each) for _, each in swings)
    key = max(walls, key=lambda index: rates[index])
    if swing > 0.0 and room <= swing:
        raise Wrong(
            f"{key}.oscillation: {what} the largest bead no room, as {room:g} is no more than the amplitude "
            f"{swing:g}; make it smaller"
        )
    rate = sum(rates.values())
    if rate > 0.0 and room - swing - rate * end <= 0.0:
        raise Wrong(
            f"{key}.velocity: {what} the largest bead no room from time {(room - swing) / rate:.6g} on; end the "
            "run before, or move slower"
        )
