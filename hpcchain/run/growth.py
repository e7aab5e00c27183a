"""Initial configurations by growth: small beads placed at random, grown to full size by the dynamics itself.

After Lubachevsky and Stillinger: contact distances grow linearly in time, d(t) = d (g0 + rate t), while the molecules
move and collide; the heat that growing surfaces give is taken out between slices by rescaling velocities. Sums that
feed back into the motion are exact (math.fsum), so the start depends on the input alone.
"""

import math
from dataclasses import replace

import numpy as np

from hpcchain.errors import ConfigError
from hpcchain.model.constraints import degrees_of_freedom, project_positions, project_velocities
from hpcchain.model.directors import build_directors
from hpcchain.model.independence import DependentBonds
from hpcchain.model.placement import place
from hpcchain.model.start import build_physics
from hpcchain.model.system import State, System
from hpcchain.model.topology import build_box, build_topology
from hpcchain.model.velocities import maxwell
from hpcchain.parallel.comm import Single
from hpcchain.run.engines import brought_together, engine_for
from hpcchain.run.signals import Stopped
from hpcchain.run.spinning import checked

PLACED_FRACTION = 0.06
RATE = 0.4
SLICES = 24
CLEARANCE = 1e-10
ATTEMPTS = 6
MOST_CONTACTS = 20000  # of a bead in a slice; at a packing fraction of .6 some tens
LONGEST_STEP = 0.25  # of a thermal time: with longer ones molecules turn too far in a step for growth to get on


def grown_system(config, progress=None, pause=None, comm=None):
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
    directors = checked(build_directors(config), topology, None if comm is None else comm.mpi, config.source)
    scale, position = place_small(config, box, topology)
    temperature, seed = config.initial.temperature, config.initial.seed
    if scale < 1.0:
        position = grow(config, box, topology, position, scale, progress, pause, comm or Single())
    velocity = maxwell(topology, position, temperature, seed)
    state, physics = State.at_rest_clock(position, velocity), build_physics(config, topology, velocity)
    return System(box, topology, state, physics, directors=directors)


def place_small(config, box, topology):
    """Return the largest fraction of the full diameters, of a few tried, that could be placed, and the positions."""
    packing = float(np.sum(topology.diameter**3)) * math.pi / 6.0 / box.volume
    scale = min(1.0, (PLACED_FRACTION / packing) ** (1.0 / 3.0))
    for attempt in range(ATTEMPTS):
        try:
            return scale, place(config, box, topology, scale)
        except ConfigError as error:
            if attempt + 1 == ATTEMPTS or isinstance(error, DependentBonds):
                raise
            scale *= 0.8
    raise ConfigError("initial.method: no placement was tried")


def grow(config, box, topology, position, scale, progress, pause, comm):
    """Return (N, 3) positions after the diameters have grown from a fraction `scale` to their full size.

    Parameters
    ----------
    config : Config
    box, topology :
        The system.
    position : (N, 3) float64 array
        Without overlaps at that fraction [length].
    scale : float
        Starting fraction.
    progress, pause, comm :
        See `grown_system`.
    """
    velocity = maxwell(topology, position, config.initial.temperature, config.initial.seed)
    unit = thermal_time(topology, config.initial.temperature)
    physics = with_short_steps(build_physics(config, topology, velocity), LONGEST_STEP * unit)
    physics.restitution, physics.contact_time = 1.0, 0.0
    rate = RATE if config.initial.growth_rate == "auto" else config.initial.growth_rate * unit
    slices = max(SLICES, int(math.ceil((1.0 - scale) / rate * 8)))
    step = (1.0 + CLEARANCE - scale) / slices
    freedom = degrees_of_freedom(topology, position)
    for k in range(slices):
        system = System(box, topology, State.at_rest_clock(position, velocity), physics)
        length = step / rate * unit
        engine = engine_for(system, config, comm, growth=(scale + k * step, rate / unit))
        reached = engine.advance(length, lambda engine=engine: jammed(engine) or (pause is not None and pause()))
        if comm.any(jammed(engine)):
            raise ConfigError(f"{config.source}: initial.method: the beads jam at {scale + k * step:.3f} of their "
                              "diameters; make the box larger, or the beads of a molecule smaller or fewer")
        if not reached or comm.any(pause is not None and pause()):  # a short slice ends before the engine asks
            raise Stopped("stopped by a signal or the wall limit while making the start; nothing is kept yet: run the "
                          "same command again")
        position, velocity, _ = brought_together(comm, topology, engine.ids, engine.frame(length))
        del engine  # before the next one is made: two at a time would be the most memory that a run ever takes
        position = project_positions(topology, position)
        velocity = project_velocities(topology, position, velocity)
        velocity = rescaled(topology, velocity, freedom, config.initial.temperature)
        if progress is not None:
            progress(scale + (k + 1) * step)
    return position


def jammed(engine):
    """Return whether this rank's beads have met so often in a slice that growing them further has no end."""
    return engine.counters["contacts"] > MOST_CONTACTS * max(len(engine.ids), 1)


def with_short_steps(physics, longest):
    """Return Physics with no kind's step longer than that [time]; a step of 0, the propagator's choice, stays so."""
    kinds = [kind | {"step": min(kind["step"], longest)} if "step" in kind else kind for kind in physics.kinds]
    return replace(physics, step=min(physics.step, longest), kinds=kinds)


def rescaled(topology, velocity, freedom, temperature):
    """Return velocities scaled to a temperature, the kinetic energy summed exactly; a system at rest stays so."""
    twice_energy = math.fsum(np.einsum("ik,ik->i", velocity, velocity) * topology.mass)
    return velocity * math.sqrt(freedom * temperature / twice_energy) if twice_energy > 0.0 else velocity


def thermal_time(topology, temperature):
    """Return the mean contact distance over the thermal speed of a mean bead [time]."""
    return float(topology.diameter.mean()) * math.sqrt(float(topology.mass.mean()) / temperature)
