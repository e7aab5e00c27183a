"""Starts of many copies of a small one, and their input; each rank makes and writes an even part, blocks at a time.

Orientations and spins of copies are random, so the file has their seed and temperature instead of them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcchain.config.demands.check import check, require_tried_speed
from hpcchain.config.keys.values import wrong_as
from hpcchain.config.sizes import with_counts
from hpcchain.errors import ConfigError, UsageError
from hpcchain.io.checkpoint.checkpoint import write_start
from hpcchain.model.clock import tick_for
from hpcchain.model.starts.given import TOLERANCE, require_apart
from hpcchain.model.starts.replicate_system import Copies, Sums, Thermal
from hpcchain.model.starts.start import physics_with
from hpcchain.model.system import State, System
from hpcchain.parallel import slabs
from hpcchain.parallel.signals import Stopped
from hpcchain.run.orientations import checked

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.parallel.comm import Single, World

BLOCKS = 8
"""Blocks of 4096 beads that a rank makes at a time."""


def enlarged(config: Config, numbers: Sequence[int], start: Path | str) -> Config:
    """Return the input of numbers[0] x numbers[1] x numbers[2] copies of an input's box, which starts from a file.

    Parameters
    ----------
    config : Config
    numbers : (int, int, int)
        Copies along each axis.
    start : path
        The file.

    Raises
    ------
    UsageError
        When an axis of which there are to be several copies is not periodic.
    ConfigError
        When so large a box is no possible input.
    """
    for axis, number in enumerate(numbers):
        if number > 1 and config.box.boundary[axis] != "periodic":
            raise UsageError(
                f"--replicate: {number} copies along axis {axis}, but box.boundary is "
                f'"{config.box.boundary[axis]}" there in {config.source}; only a periodic axis can be '
                "copied: give 1 for it"
            )
    count = math.prod(numbers)
    size = tuple(edge * number for edge, number in zip(config.box.size, numbers, strict=True))
    initial = replace(config.initial, method="file", file=os.path.abspath(start))
    with wrong_as(ConfigError, f"{config.source}: --replicate: "):
        molecules = with_counts(config.molecules, count)
        large = replace(config, box=replace(config.box, size=size), molecules=molecules, initial=initial)
        check(large)
    return large


def write_copies(
    path: Path,
    config: Config,
    system: System,
    numbers: list[int] | tuple[int, ...],
    comm: Single | World,
    pause: Callable[[], bool] | None = None,
) -> None:
    """Write the start of copies of a system, with velocities of their own; the same bits on any ranks; collective.

    Spheres with directors have orientations and spins of their own, too.
    What a rank has at a time follows from the small system and from `BLOCKS`, not from the number of copies.

    Parameters
    ----------
    path : path
    config : Config
        Of all copies together (`enlarged`): temperature, seed, physics.
    system : System
        Of one copy, or this rank's part of it; its velocities, images, clocks, orientations and spins count for
        nothing.
    numbers : (int, int, int)
        Copies along each axis; more than one along periodic ones only.
    comm : Single or World
    pause : callable, optional
        Called now and then; a true result on any rank gives up.

    Raises
    ------
    ConfigError
        When nothing can move in the system, its beads overlap, there would be too many, or a sphere would spin too fast
        for its null-space step.
    DataError
        When the file cannot be written.
    Stopped
        On every rank, when `pause` gives up.
    """

    def go_on() -> None:
        if comm.any(pause is not None and pause()):
            raise Stopped("stopped by a signal while making the start; nothing is kept: run the same command again")

    def state_of(low: int, high: int) -> State:
        go_on()
        return thermal.state(low, high)

    copies = Copies(system.box, system.topology, whole_positions(system, comm), numbers)
    require_digits(config, copies)
    thermal = Thermal(copies, config.initial.temperature, config.initial.seed)
    directors = system.directors and system.directors.fresh(config.initial.seed, config.initial.temperature)
    directors = checked(directors, copies.composition, comm.mpi, config.source, BLOCKS, go_on)
    own = Sums()
    for low, high in slabs.pieces(copies.composition.beads, comm.mpi, BLOCKS):
        go_on()
        own += thermal.sums(low, high)
    total = sum(comm.allgather(own), Sums())
    taken = require_digits(config, copies, total.projected)
    require_apart(config.source, copies.overlap(TOLERANCE - taken), system.topology.diameters_of)
    thermal.settle(total)
    with wrong_as(ConfigError, f"{config.source}: initial.temperature: "):
        require_tried_speed(copies.least_diameter, thermal.speed**2)
    physics = physics_with(config, tick_for(copies.least_diameter / thermal.speed))
    no_beads = State.at_time_zero(*np.zeros((2, 0, 3)))  # `state_of` makes beads
    large = System(copies.box, copies.composition, no_beads, physics, directors=directors)
    write_start(path, comm.mpi, large, state_of, config, BLOCKS)


def require_digits(config: Config, copies: Copies, projected: float = 0.0) -> float:
    """Return `Copies.taken`, or raise ConfigError for a box in which places have too few digits."""
    taken = copies.taken(projected)
    if taken >= TOLERANCE:
        raise ConfigError(
            f"{config.source}: --replicate: the box would be so long, {list(config.box.size)}, that "
            f"rounding moves beads by {taken:.2g} of their diameter; give fewer copies along an axis"
        )
    return taken


def whole_positions(system: System, comm: Single | World) -> NDArray[np.float64]:
    """Return the positions (N, 3) of all beads of a system of which each rank may have a part; collective."""
    if system.held is None:
        return system.state.position
    ids = system.topology.beads_of(system.held)
    found = slabs.whole(comm.mpi, system.topology.beads, ids, {"position": system.state.position})
    return np.ascontiguousarray(found["position"])
