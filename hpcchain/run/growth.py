"""Initial configurations by growth: small beads placed at random, grown to full size by the dynamics itself.

After Lubachevsky and Stillinger: contact distances grow linearly in time, d(t) = d (g0 + rate t), while the molecules
move and collide; the heat that growing surfaces give is taken out between slices by rescaling velocities. Sums that
feed back into the motion are exact (math.fsum), so the start depends on the input alone. Where beads jam, as long
molecules do that had no time to turn out of each other's way, growth goes on more slowly from before that, and where
that does not help, from another placement.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.errors import ConfigError, WindowError
from hpcchain.model.directors import build_directors
from hpcchain.model.independence import DependentBonds
from hpcchain.model.starts.constraints import degrees_of_freedom, project_positions, project_velocities
from hpcchain.model.starts.placement import NoArrangement, place
from hpcchain.model.starts.start import build_physics
from hpcchain.model.starts.velocities import maxwell
from hpcchain.model.system import State, System
from hpcchain.model.topology import build_box, build_topology
from hpcchain.parallel.comm import Single
from hpcchain.run.engines import brought_together, engine_for
from hpcchain.run.orientations import checked
from hpcchain.run.signals import Stopped

if TYPE_CHECKING:
    from hpcchain.config.sections import Config
    from hpcchain.model.system import Box, Physics, Topology
    from hpcchain.parallel.comm import World
    from hpcchain.sector.interface import Engine

LOG = logging.getLogger("hpcchain.run")
PLACED_FRACTION = 0.06
RATE = 0.4
SLICES = 24
CLEARANCE = 1e-10
ATTEMPTS = 6
MOST_CONTACTS = 500  # of a bead in a slice; at a packing fraction of .6 some tens
WALLS_PER_CONTACT = 400
SLOWER, FINER, SLOWEST = 4.0, 2, 1  # where beads jam: rate divided by, slices by, and how often that is tried
MOST_SLOWNESS = 1000.0  # of a mean bead over a light one, where masses differ
PLACEMENTS, NEXT_SEED = 2, 0x9E3779B97F4A7C15  # how often beads are placed, and what a further one adds to the seed
CALM = 60.0  # contacts of a bead in a thermal time, up to which nothing is near jamming
SLOW_SECONDS, SLOW_SHARE = 15.0, 0.05  # wall time of a slice that is told of, and share of the most contacts by then
LONGEST_STEP = 0.25  # of a thermal time: with longer ones molecules turn too far in a step for growth to get on


class Jammed(ConfigError):
    """Beads that grow have come to a size at which they cannot move past one another."""


def grown_system(
    config: Config, progress: Callable | None = None, pause: Callable | None = None, comm: Single | World | None = None
) -> System:
    """Return the System of an input with initial.method "grow", the same to the bit on any ranks; collective.

    Parameters
    ----------
    config : Config
    progress : callable, optional
        Called with the fraction of the full size that is reached, after each slice.
    pause : callable, optional
        Called between kernel calls; a true result on any rank gives up.
    comm : Single or World, optional
        Default: this process alone.

    Raises
    ------
    ConfigError
        When no room is found for the molecules, they jam while they grow, or spheres spin too fast for their steps.
    Stopped
        On every rank, when `pause` gives up.
    """
    box, topology = build_box(config), build_topology(config)
    grown = replace(topology, flexible=None, soft=None)  # beads that potentials hold are grown like all others
    directors = checked(build_directors(config), topology, None if comm is None else comm.mpi, config.source)
    position = Growth(config, box, grown, progress, pause, comm or Single()).positions()
    temperature, seed = config.initial.temperature, config.initial.seed
    velocity = maxwell(topology, position, temperature, seed)
    state, physics = State.at_time_zero(position, velocity), build_physics(config, topology, velocity)
    return System(box, topology, state, physics, directors=directors)


def place_small(config: Config, box: Box, topology: Topology, parallel: bool = False) -> tuple[float, np.ndarray]:
    """Return the largest fraction of the full diameters, of a few tried, that could be placed, and the positions."""
    packing = float(np.sum(topology.diameter**3)) * math.pi / 6.0 / box.volume
    scale = min(1.0, (PLACED_FRACTION / packing) ** (1.0 / 3.0))
    known = {}
    for attempt in range(ATTEMPTS):
        try:
            return scale, place(config, box, topology, scale, parallel, known)
        except (NoArrangement, DependentBonds):
            raise
        except ConfigError:
            if attempt + 1 == ATTEMPTS:
                raise
            scale *= 0.8
    raise ConfigError("initial.method: no placement was tried")


class Growth:
    """Makes positions of full beads from small ones, slice by slice.

    Parameters
    ----------
    config : Config
    box, topology :
        The system.
    progress, pause, comm :
        See `grown_system`.
    """

    def __init__(
        self,
        config: Config,
        box: Box,
        topology: Topology,
        progress: Callable | None,
        pause: Callable | None,
        comm: Single | World,
    ) -> None:
        self._config, self._box, self._topology = config, box, topology
        self._progress, self._pause, self._comm = progress, pause, comm

    def positions(self) -> np.ndarray:
        """Return (N, 3) positions of beads that were placed small and grown to their full size [length].

        Where they jam they are placed anew, with other random numbers: some bead may have been caught between others.
        Rods are then placed parallel: random ones do not find their way into a dense nematic.
        """
        rods = bool(self._topology.rod.any())
        for draw in range(PLACEMENTS):
            try:
                scale, position = place_small(self._drawn(draw), self._box, self._topology, rods and draw > 0)
                if scale == 1.0:
                    return position
                return self.grown(position, scale, 0 if rods and draw == 0 else SLOWEST)
            except ConfigError as error:
                again = isinstance(error, Jammed) or (rods and not isinstance(error, (NoArrangement, DependentBonds)))
                if not again or draw + 1 == PLACEMENTS:
                    raise
                LOG.warning("%s (placed anew%s)", error, ", rods parallel" if rods else "")
        raise ConfigError("initial.method: no placement was tried")

    def _drawn(self, draw: int) -> Config:
        """Return the Config with the seed of a placement: the input's, then others."""
        initial = self._config.initial
        return replace(self._config, initial=replace(initial, seed=(initial.seed + draw * NEXT_SEED) % 2**64))

    def grown(self, position: np.ndarray, scale: float, tries: int) -> np.ndarray:
        """Return (N, 3) positions after the diameters have grown from a fraction `scale` to their full size.

        Where the beads jam, growth goes on from the last slice in which they did not meet often yet, more slowly.

        Parameters
        ----------
        position : (N, 3) float64 array
            Without overlaps at that fraction [length].
        scale : float
            Starting fraction.
        tries : int
            How often it may go on more slowly.
        """
        initial, topology = self._config.initial, self._topology
        velocity = maxwell(topology, position, initial.temperature, initial.seed)
        unit = thermal_time(topology, initial.temperature)
        elastic = replace(build_physics(self._config, topology, velocity), restitution=1.0, contact_time=0.0)
        physics = with_short_steps(elastic, LONGEST_STEP * unit)
        rate = RATE if initial.growth_rate == "auto" else initial.growth_rate * unit
        slices = max(SLICES, int(math.ceil((1.0 - scale) / rate * 8)))
        step = (1.0 + CLEARANCE - scale) / slices
        freedom = degrees_of_freedom(topology, position)
        k, calm = 0, (0, position, velocity)
        while k < slices:
            system = System(self._box, topology, State.at_time_zero(position, velocity), physics)
            length = step / rate * unit
            engine = engine_for(system, self._config, self._comm, growth=(scale + k * step, rate / unit))
            contacts = self._slice(engine, length, scale + k * step)
            if contacts > MOST_CONTACTS:
                if tries == 0:
                    raise Jammed(jam(self._config, scale + k * step))
                tries, (k, position, velocity) = tries - 1, calm
                rate, step, k, slices = rate / SLOWER, step / FINER, k * FINER, slices * FINER
                calm = k, position, velocity
                continue
            position, velocity, _ = brought_together(self._comm, topology, engine.ids, engine.frame(length))
            del engine  # before the next one is made: two at a time would be the most memory that a run ever takes
            position = project_positions(topology, position)
            velocity = project_velocities(topology, position, velocity)
            velocity = rescaled(topology, velocity, freedom, initial.temperature)
            k += 1
            if contacts * unit < CALM * length:
                calm = k, position, velocity
            if self._progress is not None:
                self._progress(scale + k * step)
        return position

    def _slice(self, engine: Any, length: float, scale: float) -> float:
        """Carry an engine, its beads growing from size `scale`, to a slice's end; return all ranks' contacts a bead.

        That decides what is done next, so it is the same on any ranks. Where it is above MOST_CONTACTS the end may not
        have been reached.
        """
        share = MOST_CONTACTS * self._topology.beads / self._comm.size
        notice, most = SlowSlice(scale, share * self._comm.size), share
        while True:
            try:
                reached = engine.advance(length, lambda most=most: notice.look(engine) > most or self._stopped())
            except (ConfigError, WindowError):  # contacts in no time, on all ranks
                return math.inf
            contacts = sum(self._comm.allgather(met(engine))) / self._topology.beads
            stopped = self._comm.any(self._stopped())  # asked again: a short slice ends before the engine asks
            if reached or stopped or contacts > MOST_CONTACTS:
                break
            most += 0.25 * share  # only some ranks have had theirs
        if stopped and contacts <= MOST_CONTACTS:
            raise Stopped(
                "stopped by a signal or the wall limit while making the start; nothing is kept yet: run the "
                "same command again"
            )
        return contacts

    def _stopped(self) -> bool:
        return self._pause is not None and self._pause()


class SlowSlice:
    """Tells the user, once, that a slice from a size `scale` takes long in which `most` contacts are allowed."""

    def __init__(self, scale: float, most: float) -> None:
        self._scale, self._most = scale, most
        self._begin, self._cells_message = time.monotonic(), False

    def look(self, engine: Engine) -> int:
        """Return how often beads of this rank have met in the slice; see the class."""
        found = met(engine)
        late = time.monotonic() > self._begin + SLOW_SECONDS
        if late and not self._cells_message and found > SLOW_SHARE * self._most:
            self._cells_message = True
            LOG.warning(
                "making the start: at %.4f of their diameters the beads meet so often that it hardly gets on; "
                "it is given up, or done again another way, after %.3g contacts (%.3g so far); a larger box "
                "helps",
                self._scale,
                self._most,
                found,
            )
        return found


def met(engine: Engine) -> int:
    """Return how often this rank's beads have met; contacts with walls count less, as narrow gaps have many."""
    return engine.counters["contacts"] + engine.counters["wall_contacts"] // WALLS_PER_CONTACT


def jam(config: Config, scale: float) -> str:
    """Return the message for beads that cannot be grown further than to a fraction of their size."""
    return (
        f"{config.source}: initial.method: the beads jam at {scale:.3f} of their diameters, however slowly they "
        "grow; make the box or gaps between walls larger, or the beads of a molecule smaller or fewer, or start "
        'from positions that are known to fit (initial.method = "explicit", or "file" from a run at lower density)'
    )


def with_short_steps(physics: Physics, longest: float) -> Physics:
    """Return Physics with no kind's step longer than that [time]; a step of 0, the propagator's choice, stays so."""
    kinds = [kind | {"step": min(kind["step"], longest)} if "step" in kind else kind for kind in physics.kinds]
    return replace(physics, step=min(physics.step, longest), kinds=kinds)


def rescaled(topology: Topology, velocity: np.ndarray, freedom: int, temperature: float) -> np.ndarray:
    """Return velocities scaled to a temperature, the kinetic energy summed exactly; a system at rest stays so."""
    twice_energy = math.fsum(np.einsum("ik,ik->i", velocity, velocity) * topology.mass)
    return velocity * math.sqrt(freedom * temperature / twice_energy) if twice_energy > 0.0 else velocity


def thermal_time(topology: Topology, temperature: float) -> float:
    """Return the mean contact distance over the thermal speed of a mean bead [time].

    At most MOST_SLOWNESS times that of a light one: else light ones meet without end until heavy ones have moved.
    """
    light = float(1.0 / np.mean(1.0 / topology.mass))
    mass = min(float(topology.mass.mean()), MOST_SLOWNESS**2 * light)
    return float(topology.diameter.mean()) * math.sqrt(mass / temperature)
