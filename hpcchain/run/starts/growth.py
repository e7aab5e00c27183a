"""Initial configurations by growth: small beads placed at random, grown to full size by the dynamics itself.

After Lubachevsky and Stillinger: contact distances grow linearly in time, d(t) = d (g0 + rate t), while the molecules
move and collide; the heat that growing surfaces give is taken out between slices by rescaling velocities. Sums that
feed back into the motion are exact (math.fsum), so the start depends on the input alone. Where beads jam, as long
molecules do that had no time to turn out of each other's way, growth goes on more slowly from before that, and where
that does not help, from another placement.

Bonds of small beads can cross. Three bonds that cross one another at one place are caught when their beads have grown
to 1/√2 of the bond's length: six beads are then an octahedron that cannot open. More bonds are caught, at larger sizes,
in other ways. Large dense systems have some such places. Where beads jam at that size, or jam while there is much free
room, the last placement is one with beads so large that bonds do not cross.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcchain.config.demands.check import walls_of
from hpcchain.errors import ConfigError, WindowError
from hpcchain.io.growth_state import GrowthState
from hpcchain.model.molecules.independence import DependentBonds
from hpcchain.model.physics.walls import outside, volume_within
from hpcchain.model.starts.constraints import degrees_of_freedom, project_positions, project_velocities
from hpcchain.model.starts.given import TOLERANCE
from hpcchain.model.starts.overlap import bead_overlap, wall_overlap
from hpcchain.model.starts.placement import NoArrangement, place
from hpcchain.model.starts.spins import build_directors
from hpcchain.model.starts.start import at_time_zero, build_physics, moved_along, physics_with, while_growing
from hpcchain.model.starts.velocities import maxwell
from hpcchain.model.system import State, System
from hpcchain.model.topology import build_box, build_composition
from hpcchain.parallel.comm import Single
from hpcchain.parallel.signals import Stopped
from hpcchain.run.engines import brought_together, engine_for, ranks_at_work
from hpcchain.run.orientations import checked

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import Box, Physics, Topology
    from hpcchain.parallel.comm import World
    from hpcchain.run.starts.growth_file import GrowthFile
    from hpcchain.sector.interface import Engine

LOG = logging.getLogger("hpcchain.run")
PLACED_FRACTION = 0.06
RATE = 0.4
SLICES = 24
CLEARANCE = 1e-10
ATTEMPTS = 6
SMALLEST = 0.02  # of the full size, from which beads at given places grow
MOST_CONTACTS = 500  # of a bead in a slice; at a packing fraction of .6 some tens
SLOWER, FINER, SLOWEST = 4.0, 2, 1  # where beads jam: rate divided by, slices by, and how often that is tried
MOST_SLOWNESS = 1000.0  # of a mean bead over a light one, where masses differ
CROSSING = 2.0**-0.5  # contact distance over bond length beyond which bonds do not cross
BEYOND_CROSSING, JAMMED_CROSSING = 1.003, 1.01  # of that size: beads that are placed, and that jam for this reason
DENSEST_PLACED = 0.25  # packing fraction
LOOSEST_JAM = 0.45  # packing fraction below which beads that jam are a few that are caught
PLACEMENTS, NEXT_SEED = 2, 0x9E3779B97F4A7C15  # how often beads are placed, and what a further one adds to the seed
CALM = 60.0  # contacts of a bead in a thermal time, up to which nothing is near jamming
LONGEST_STEP = 0.25  # of a thermal time: with longer ones molecules turn too far in a step for growth to get on
WALLS_PER_CONTACT = 400
STALLED_CONTACTS, STALLED_PACE = 200_000, 40_000.0  # contacts that come at a pace of so many a bead and slice: a jam
SLOW_SECONDS, SLOW_SHARE = 15.0, 0.05  # wall time of a slice that is reported, and share of the most contacts by then


class Jammed(ConfigError):
    """Beads that grow have come to a size, a fraction of the full one, at which they cannot move past one another."""

    def __init__(self, message: str, size: float = 1.0) -> None:
        super().__init__(message)
        self.size = size


def grown_system(
    config: Config,
    progress: Callable[[float], object] | None = None,
    pause: Callable[[], bool] | None = None,
    comm: Single | World | None = None,
    keep: GrowthFile | None = None,
    places: NDArray[np.float64] | None = None,
) -> System:
    """Return the System of an input whose beads are grown, the same to the bit on any ranks; collective.

    Parameters
    ----------
    config : Config
    progress : callable, optional
        Called with the fraction of the full size that is reached, now and then.
    pause : callable, optional
        Called between kernel calls; a true result on any rank gives up.
    comm : Single or World, optional
        Default: this process alone.
    keep : GrowthFile, optional
        Where a start that is still growing is kept, and goes on from.
    places : (N, 3) float64 array, optional
        Where beads grow from, on their bonds; random places when left out [length].

    Raises
    ------
    ConfigError
        When no room is found for the molecules, they jam while they grow, or spheres spin too fast for their steps.
    Stopped
        On every rank, when `pause` gives up.
    """
    box, composition = build_box(config.box), build_composition(config)
    topology, one = composition.whole(), composition.prototypes
    like_others = replace(one, flexible=np.zeros_like(one.flexible), soft=np.zeros_like(one.soft))
    grown = replace(composition, prototypes=like_others)  # beads that potentials hold are grown like all others
    comm = comm or Single()
    directors = checked(build_directors(config), composition, comm.mpi, config.source)
    growth = Growth(config, box, grown, progress, pause, comm, keep)
    position = growth.positions() if places is None else growth.from_places(places)
    temperature, seed = config.initial.temperature, config.initial.seed
    velocity = moved_along(config, maxwell(topology, position, temperature, seed))
    return at_time_zero(config, box, topology, position, velocity, directors)


def largest_size(config: Config, box: Box, topology: Topology, position: NDArray[np.float64]) -> float:
    """Return the largest fraction of the full diameters, at most 1, at which beads at given places do not overlap.

    Parameters
    ----------
    config : Config
    box, topology :
        The system.
    position : (N, 3) float64 array
        [length]

    Raises
    ------
    ConfigError
        Where that is less than SMALLEST.
    """
    scale, shapes = 1.0, [wall for wall in walls_of(config) if wall.shape is not None]
    while scale >= SMALLEST:
        smaller = replace(topology, diameter=scale * topology.diameter)
        pair, wall = (find(box, smaller, position, TOLERANCE) for find in (bead_overlap, wall_overlap))
        depth = outside(shapes, position, 0.5 * smaller.diameter).max(axis=1, initial=-np.inf)
        if pair is not None:
            part = pair[2] / (0.5 * smaller.diameter[[*pair[:2]]].sum())
        elif wall is not None:
            part = 1.0 - wall[2] / (0.5 * smaller.diameter[wall[0]])
        elif np.any(depth > TOLERANCE * smaller.diameter):
            part = 1.0 - float(np.max(depth / (0.5 * smaller.diameter)))
        else:
            return scale
        scale *= max(part, 0.0) * (1.0 - CLEARANCE)
    raise ConfigError(
        f"{config.source}: position: beads overlap so deeply that they would have to begin smaller than {SMALLEST} of "
        "their diameters to grow from where they are; move them apart"
    )


def packing_of(config: Config, box: Box, topology: Topology) -> float:
    """Return the packing fraction of the full beads in the box, or in a shape that is smaller."""
    return float(np.sum(topology.diameter**3)) * math.pi / 6.0 / volume_within(box.size, walls_of(config))


def crossing_size(topology: Topology) -> float:
    """Return the fraction of the full diameters beyond which no bonds cross; 0 without bonds."""
    contact = 0.5 * topology.diameter[topology.bonds].sum(axis=1)
    return CROSSING * float(np.max(topology.bond_length / contact, initial=0.0))


def place_small(
    config: Config, box: Box, topology: Topology, parallel: bool = False, scale: float | None = None
) -> tuple[float, NDArray[np.float64]]:
    """Return the largest fraction of the full diameters, of a few tried, that could be placed, and the positions.

    A fraction `scale` is tried alone.
    """
    if scale is not None:
        return scale, place(config, box, topology, scale, parallel, {})
    scale = min(1.0, (PLACED_FRACTION / packing_of(config, box, topology)) ** (1.0 / 3.0))
    known: dict[int, NDArray[np.float64]] = {}
    attempts = ATTEMPTS
    while True:
        try:
            return scale, place(config, box, topology, scale, parallel, known)
        except ConfigError as error:
            attempts -= 1
            if attempts == 0 or isinstance(error, (NoArrangement, DependentBonds)):
                raise
            scale *= 0.8


def slower(state: GrowthState) -> GrowthState:
    """Return the GrowthState from which growth goes on more slowly: the last calm one."""
    return replace(
        state,
        position=state.calm_position,
        velocity=state.calm_velocity,
        tries=state.tries - 1,
        rate=state.rate / SLOWER,
        step=state.step / FINER,
        slices=state.slices * FINER,
        slice=state.calm * FINER,
        calm=state.calm * FINER,
    )


def log_another(error: ConfigError, which: str) -> None:
    """Log that a placement did not grow and another is tried: what to change stands in the last one's error."""
    what = f"the beads jam at {error.size:.3g} of their diameters" if isinstance(error, Jammed) else error
    LOG.info("growing the start: %s; trying %s", what, which)


class Growth:
    """Makes positions of full beads from small ones, slice by slice.

    Parameters
    ----------
    config : Config
    box, composition :
        The system.
    progress, pause, comm, keep :
        See `grown_system`.
    """

    def __init__(
        self,
        config: Config,
        box: Box,
        composition: Composition,
        progress: Callable[[float], object] | None,
        pause: Callable[[], bool] | None,
        comm: Single | World,
        keep: GrowthFile | None = None,
    ) -> None:
        self._config, self._box, self._composition, self._topology = config, box, composition, composition.whole()
        self._report, self._stopped = progress or (lambda _: None), pause or (lambda: False)
        self._comm, self._keep = comm, keep

    def positions(self) -> NDArray[np.float64]:
        """Return (N, 3) positions of beads that were placed small and grown to their full size [length].

        Where they jam they are placed anew, with other random numbers: some bead may have been caught between others.
        Rods are then placed parallel: random ones do not find their way into a dense nematic. Where they jam for bonds
        that cross, they are at last placed so large that bonds do not.
        """
        rods = bool(self._topology.rod.any())
        kept = None if self._keep is None else self._keep.load()
        first = 0 if kept is None else kept.draw
        for draw in range(first, PLACEMENTS):
            try:
                return self._drawn_and_grown(draw, rods, kept if draw == first else None)
            except ConfigError as error:
                again = isinstance(error, Jammed) or (rods and not isinstance(error, (NoArrangement, DependentBonds)))
                if not again:
                    raise
                if draw + 1 == PLACEMENTS:
                    return self._past_crossing(error)
                log_another(error, f"another placement{', rods parallel' if rods else ''}")
        return self._drawn_and_grown(first, rods, kept)

    def from_places(self, position: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (N, 3) positions of beads that were grown from given places, bonds satisfied [length].

        Raises
        ------
        ConfigError
            Where two beads, or a bead and a wall, are in one place, or beads jam.
        """
        scale = largest_size(self._config, self._box, self._topology, position)
        if scale == 1.0:
            return position
        LOG.info("growing the start from given places, from %.3g of the full diameters on", scale)
        return self.grown(self._beginning(0, position, scale, SLOWEST))

    def _drawn_and_grown(self, draw: int, rods: bool, kept: GrowthState | None) -> NDArray[np.float64]:
        """Return the positions after a placement and growth, or after growth that was kept."""
        if kept is not None:
            return self.grown(kept)
        large = BEYOND_CROSSING * crossing_size(self._topology) if draw == PLACEMENTS else None
        scale, position = place_small(self._drawn(draw), self._box, self._topology, rods and draw > 0, large)
        if scale == 1.0:
            return position
        return self.grown(self._beginning(draw, position, scale, 0 if rods and draw == 0 else SLOWEST))

    def _past_crossing(self, error: ConfigError) -> NDArray[np.float64]:
        """Return the positions after a placement of beads whose bonds do not cross; raise the error where none helps.

        Parameters
        ----------
        error : ConfigError
            Of the placement before.
        """
        size, packing = crossing_size(self._topology), packing_of(self._config, self._box, self._topology)
        at_crossing = isinstance(error, Jammed) and error.size <= JAMMED_CROSSING * size
        with_gaps = isinstance(error, Jammed) and packing * error.size**3 < LOOSEST_JAM
        may_be_placed = 0.0 < JAMMED_CROSSING * size < 1.0 and packing * (BEYOND_CROSSING * size) ** 3 <= DENSEST_PLACED
        if not (may_be_placed and (at_crossing or with_gaps)):
            raise error
        log_another(error, "the last placement, of beads so large that bonds do not cross")
        try:
            return self._drawn_and_grown(PLACEMENTS, False, None)
        except Jammed:
            raise
        except ConfigError:  # no room for beads of that size
            raise error from None

    def _drawn(self, draw: int) -> Config:
        """Return the Config with the seed of a placement: the input's, then others."""
        initial = self._config.initial
        return replace(self._config, initial=replace(initial, seed=(initial.seed + draw * NEXT_SEED) % 2**64))

    def _beginning(self, draw: int, position: NDArray[np.float64], scale: float, tries: int) -> GrowthState:
        """Return from where beads of a fraction `scale` of their size grow."""
        initial, topology = self._config.initial, self._topology
        velocity = maxwell(topology, position, initial.temperature, initial.seed)
        rate = RATE
        if initial.growth_rate != "auto":
            rate = initial.growth_rate * thermal_time(topology, initial.temperature)
        slices = max(SLICES, int(math.ceil((1.0 - scale) / rate * 8)))
        return GrowthState(
            position=position,
            velocity=velocity,
            calm_position=position,
            calm_velocity=velocity,
            draw=draw,
            placed=scale,
            step=(1.0 + CLEARANCE - scale) / slices,
            rate=rate,
            slice=0,
            slices=slices,
            calm=0,
            tries=tries,
            freedom=degrees_of_freedom(topology, position),
            tick=build_physics(self._config, topology, velocity).tick,
        )

    def grown(self, state: GrowthState) -> NDArray[np.float64]:
        """Return (N, 3) positions after the diameters have grown from a GrowthState to their full size.

        Where the beads jam, growth goes on from the last slice in which they did not meet often yet, more slowly.
        """
        initial, topology = self._config.initial, self._topology
        unit = thermal_time(topology, initial.temperature)
        given = physics_with(self._config, state.tick)
        acting = while_growing(given.extended, self._config)
        elastic = replace(given, restitution=1.0, contact_time=0.0, extended=acting)
        physics = with_short_steps(elastic, LONGEST_STEP * unit)
        while state.slice < state.slices:
            system = System(self._box, self._composition, State.at_time_zero(state.position, state.velocity), physics)
            length = state.step / state.rate * unit
            engine = engine_for(system, self._config, self._comm, growth=(state.size, state.rate / unit))
            try:
                contacts = self._slice(engine, length, state.size, state.rate / unit)
            except Stopped:
                raise Stopped(self._kept(state)) from None
            if contacts > MOST_CONTACTS:
                if state.tries == 0:
                    raise Jammed(jam(self._config, state.size), state.size)
                state = slower(state)
                continue
            position, velocity, _ = brought_together(self._comm, topology.beads, engine.ids, engine.frame(length))
            del engine  # before the next one is made: two at a time would be the most memory that a run ever takes
            position = project_positions(topology, position)
            velocity = project_velocities(topology, position, velocity)
            twice_energy = math.fsum(np.einsum("ik,ik->i", velocity, velocity) * topology.mass)
            if twice_energy > 0.0:  # a system at rest stays so
                velocity = velocity * math.sqrt(state.freedom * initial.temperature / twice_energy)
            state = replace(state, slice=state.slice + 1, position=position, velocity=velocity)
            if contacts * unit < CALM * length:
                state = replace(state, calm=state.slice, calm_position=position, calm_velocity=velocity)
            self._report(state.size)
            if self._keep is not None and self._comm.any(self._keep.due()):
                self._kept(state)
        return state.position

    def _kept(self, state: GrowthState) -> str:
        """Keep where growth is where that is possible; return the message for a stop here."""
        what, then = "stopped by a signal or the wall limit while making the start", "run the same command again"
        if self._keep is None:
            return f"{what}; nothing is kept yet: {then}"
        self._keep.save(state)
        return f"{what}, at {state.size:.3f} of full size, which is kept in {self._keep.path}: {then}"

    def _slice(self, engine: Engine, length: float, scale: float, rate: float) -> float:
        """Carry an engine, its beads growing from size `scale` at a rate; return all ranks' contacts a bead.

        That decides what is done next, so it is the same on any ranks. Where it is above MOST_CONTACTS the end may not
        have been reached.
        """
        beads = self._topology.beads / ranks_at_work(engine, self._comm)
        share = most = MOST_CONTACTS * beads
        watch = SliceWatch(scale, MOST_CONTACTS * self._topology.beads, beads, length)

        def enough(most: float) -> bool:
            self._report(min(scale + rate * max(engine.time, 0.0), 1.0))
            return watch.look(engine) > most or watch.stalled or self._stopped()

        while True:
            try:
                reached = engine.advance(length, partial(enough, most))
            except (ConfigError, WindowError):  # contacts in no time, on all ranks
                return math.inf
            contacts = sum(self._comm.allgather(met(engine))) / self._topology.beads
            stopped = self._comm.any(self._stopped())  # asked again: a short slice ends before the engine asks
            stalled = not reached and self._comm.any(watch.stalled)
            if reached or stopped or stalled or contacts > MOST_CONTACTS:
                break
            most += 0.25 * share  # only some ranks have had theirs
        if stopped and contacts <= MOST_CONTACTS:
            raise Stopped
        return math.inf if stalled else contacts


def jam(config: Config, scale: float) -> str:
    """Return the message for beads that cannot be grown further than to a fraction of their size."""
    return (
        f"{config.source}: initial.method: the beads jam at {scale:.3f} of their diameters, however slowly they "
        "grow; make the box or gaps between walls larger, or the beads of a molecule smaller or fewer, or start "
        'from positions that are known to fit (initial.method = "explicit", or "file" from a run at lower density)'
    )


def with_short_steps(physics: Physics, longest: float) -> Physics:
    """Return Physics with no kind's step longer than that [time]; a step of 0, the propagator's choice, stays so."""
    kinds = tuple(kind and replace(kind, step=min(kind.step, longest)) for kind in physics.kinds)
    return replace(physics, step=min(physics.step, longest), kinds=kinds)


def thermal_time(topology: Topology, temperature: float) -> float:
    """Return the mean contact distance over the thermal speed of a mean bead [time].

    At most MOST_SLOWNESS times that of a light one: else light ones meet without end until heavy ones have moved.
    """
    light = float(1.0 / np.mean(1.0 / topology.mass))
    mass = min(float(topology.mass.mean()), MOST_SLOWNESS**2 * light)
    return float(topology.diameter.mean()) * math.sqrt(mass / temperature)


class SliceWatch:
    """Says once that a slice takes long, and notices a few beads that are caught, of which it never ends.

    Beads that grow without a way out meet so often, towards the time at which they touch, that any pace is surpassed.
    So what this finds is a jam in any case; it only spares the wait for MOST_CONTACTS of all beads.

    Parameters
    ----------
    scale : float
        Fraction of the full diameters at the beginning.
    most : float
        Contacts that are allowed.
    beads : float
        Of this rank.
    length : float
        Of the slice [time].
    """

    def __init__(self, scale: float, most: float, beads: float, length: float) -> None:
        self._scale, self._most, self._pace = scale, most, STALLED_PACE * beads / length
        self._contacts, self._time, self.stalled = 0, 0.0, False
        self._late = time.monotonic() + SLOW_SECONDS

    def look(self, engine: Engine) -> int:
        """Return how often beads of this rank have met in the slice; see the class."""
        found = met(engine)
        more, passed = found - self._contacts, engine.time - self._time
        if more >= STALLED_CONTACTS:
            self.stalled = self.stalled or more > self._pace * passed
            self._contacts, self._time = found, engine.time
        if time.monotonic() > self._late and found > SLOW_SHARE * self._most:
            self._late = math.inf
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
