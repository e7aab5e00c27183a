"""The [[wall]] tables: which keys each has, and that they fit the box, the molecules and the end of the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.config.keys.sections import WallSection
from hpcchain.config.keys.values import Wrong, shown

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config

AXES = ("x", "y", "z")
PROJECTIONS, ROOM = 1000, 1e-3
"""Most projections on all walls, and by what part of a bead's radius they may still miss one."""
OF_SHAPES = {"center": ("sphere", "cylinder"), "radius": ("sphere", "cylinder"), "axis": ("cylinder",)}


def read_walls(tables: int | list, read_section: Callable) -> tuple:
    """Return the WallSections of the input.

    Parameters
    ----------
    tables : object
        What TOML holds under "wall".
    read_section : callable
        (table, section, where) -> {key: value}.

    Raises
    ------
    Wrong
        With key and reason.
    """
    if isinstance(tables, dict):
        raise Wrong("wall: is written as [wall]; use the header [[wall]], once per wall")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise Wrong(f"wall: {shown(tables)} is not a list of tables; use the header [[wall]]")
    return tuple(wall(read_section(table, "wall", f"wall[{i}]"), f"wall[{i}]") for i, table in enumerate(tables))


def wall(values: dict, where: str) -> WallSection:
    """Return the WallSection of one table; raises Wrong where it has too much or too little."""
    if (values["side"] is None) == (values["shape"] is None):
        raise Wrong(f"{where}: give it a side of the box, or a shape, and not both")
    for key, shapes in OF_SHAPES.items():
        if values[key] is not None and values["shape"] not in shapes:
            owner = "a side of the box" if values["shape"] is None else f'shape "{values["shape"]}"'
            raise Wrong(f"{where}.{key}: means nothing for {owner}; remove it")
        if values[key] is None and values["shape"] in shapes:
            raise Wrong(f'{where}.{key}: is missing; shape "{values["shape"]}" needs it')
    return WallSection(**values)


def check_walls(config: Config) -> None:
    """Raise Wrong when walls do not fit the box, one another, the molecules or the end of the run."""
    taken: dict = {}
    for index, one in enumerate(config.walls):
        where = f"wall[{index}]"
        if one.temperature is not None and one.restitution is not None:
            raise Wrong(f"{where}.restitution: means nothing for a wall with a temperature; remove one of the two")
        if one.shape is None:
            check_side(config, one, where)
            if one.side in taken:
                raise Wrong(f'{where}.side: "{one.side}" is wall[{taken[one.side]}] already; give it one table')
            taken[one.side] = index
        else:
            check_shape(config, one, where)
    check_apart(config, config.run.end_time)
    if config.initial.method == "grow" and config.molecules:
        check_meeting(config)


def check_meeting(config: Config) -> None:
    """Check that the box and all shapes have a place in common for the largest bead, by projecting a point on each."""
    radius = 0.5 * max(float(np.max(kind.diameter)) for kind in config.molecules)
    every = {f"wall[{index}]": one for index, one in enumerate(config.walls) if one.shape is not None}
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
            beyond = distance - (one.radius - radius)
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
    axis = AXES.index(one.side[0])
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
    largest = max((float(np.max(kind.diameter)) for kind in config.molecules), default=0.0)
    if one.radius <= 0.5 * largest:
        raise Wrong(f"{where}.radius: {one.radius:g} leaves the largest bead, of diameter {largest:g}, no room to move")


def check_apart(config: Config, end: float) -> None:
    """Check that walls that move leave beads room up to the end of a run [time]."""
    largest = max((float(np.max(kind.diameter)) for kind in config.molecules), default=0.0)
    for axis, name in enumerate(AXES):
        sides = [(i, one) for i, one in enumerate(config.walls) if one.side in (f"{name}-", f"{name}+")]
        rate = sum(one.velocity for _, one in sides)
        if rate > 0.0 and config.box.size[axis] - rate * end <= largest:
            fastest = max(sides, key=lambda side: side[1].velocity)[0]
            raise Wrong(
                f"wall[{fastest}].velocity: the walls of axis {name} leave the largest bead no room from time "
                f"{(config.box.size[axis] - largest) / rate:.6g} on; end the run before, or move them more slowly"
            )
    for index, one in enumerate(config.walls):
        if one.shape is not None and one.velocity > 0.0 and one.radius - one.velocity * end <= 0.5 * largest:
            raise Wrong(
                f"wall[{index}].velocity: the {one.shape} leaves the largest bead no room from time "
                f"{(one.radius - 0.5 * largest) / one.velocity:.6g} on; end the run before, or move it more slowly"
            )
