"""Which engine runs a system on how many ranks, and its beads brought together from all of them."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from numpy.typing import NDArray

from hpcchain.config.keys.values import counted
from hpcchain.layout import arrays as L
from hpcchain.machine import cores_allowed, processors_allowed
from hpcchain.model.molecules.long_chains import asks_for_stretches, divided_classes, whole_chains
from hpcchain.model.physics.extended import widened
from hpcchain.model.physics.external import draws_momenta
from hpcchain.model.physics.spins import orientations_at
from hpcchain.model.starts.constraints import degrees_of_freedom
from hpcchain.model.starts.levels import range_of, wrong_level
from hpcchain.model.starts.overlap import bead_overlap
from hpcchain.parallel import slabs
from hpcchain.parallel.overlap import dealt_by_place, overlap_on_ranks
from hpcchain.parallel.tuning.ranks_at_work import LEAST_BEADS, Work
from hpcchain.sector import interface
from hpcchain.sector.ahead.helper import can_help
from hpcchain.sector.serial import Engine

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.model.system import System
    from hpcchain.parallel.comm import Single, World
    from hpcchain.parallel.exchange import Exchange

LOG = logging.getLogger("hpcchain.run")
FRAME = ("position", "velocity", "image")
ENERGIES, ANGULAR_VELOCITY = "energies", "angular_velocity"
Slabs = dict[str, NDArray[np.float64] | NDArray[np.int64]]
"""This rank's slabs of what beads have, by name; see `in_slabs`."""


def engine_for(
    system: System, config: Config, comm: Single | World, growth: tuple[float, float] | None = None
) -> interface.Engine:
    """Return the engine that an input asks for on these ranks; collective.

    Parameters
    ----------
    system : System
        The whole, on every rank, or this rank's part.
    config : Config
    comm : Single or World
    growth : (float, float), optional
        While a start is made: contact distances as a fraction of the full ones at time 0, and that fraction's rate
        [1 / time]; contacts are not logged then.
    """

    def make(given: System, exchange: Exchange | None) -> interface.Engine:
        return engine_on(given, config, exchange, growth, cores)

    if growth is not None and asks_for_stretches(system.physics):  # a start is grown of chains that move as wholes
        system = replace(system, physics=whole_chains(system.physics))
    ranks = ranks_for(work_of(system), config.run.sectors, comm.size, bool(system.physics.steps))
    cores = cores_allowed() // max(comm.sharing, sharing_at_work(comm, ranks))
    if comm.size == 1:
        return make(system, None)
    if ranks == comm.size:
        return make(system, comm.exchange)
    from hpcchain.parallel.tuning.active_ranks import ActiveRanksEngine  # one rank need not load it

    return cast("interface.Engine", ActiveRanksEngine(system, comm.exchange, make, ranks))


def engine_on(
    system: System,
    config: Config,
    exchange: Exchange | None,
    growth: tuple[float, float] | None,
    cores: int = 1,
) -> interface.Engine:
    """Return the engine of the ranks of an exchange, or of one without any, which has some cores; see `engine_for`."""
    run, log_events = config.run, config.output.events and growth is None
    ranks = 1 if exchange is None else exchange.size
    asked = None if isinstance(run.sectors, str) else run.sectors
    sectors = asked if asked and math.prod(asked) == ranks else None  # a run may go on, on other ranks
    if system.physics.steps and growth is None:
        from hpcchain.steps.engine import SteppedEngine  # runs of events need not load its kernels

        return SteppedEngine(system, exchange, chosen(run.list_shell), sectors, log_events)
    shell, cell, growing = chosen(run.list_shell), chosen(run.cell_size), growth or (1.0, 0.0)
    threads = run.threads if cores > 1 else 1
    if exchange is None:
        return Engine(system, log_events=log_events, shell=shell, cell=cell, growth=growing, threads=threads)
    from hpcchain.parallel.windows import WindowedEngine  # the same

    window = chosen(run.window)
    return WindowedEngine(
        system,
        exchange,
        log_events=log_events,
        shell=shell,
        cell=cell,
        growth=growing,
        window=window,
        sectors=sectors,
        threads=threads,
    )


def sharing_at_work(comm: Single | World, ranks: int) -> int:
    """Return how many of the first `ranks` ranks compute on the processors that this one may run on; collective."""
    here = processors_allowed()
    return sum(works and not here.isdisjoint(theirs) for works, theirs in comm.on_node((comm.rank < ranks, here)))


def ranks_for(work: Work, sectors: tuple[int, ...] | Literal["auto", "all"], ranks: int, stepped: bool) -> int:
    """Return how many of some ranks have molecules, from the beginning to the end; `stepped`: by the engine of steps.

    Sectors that the input asks for are one for each rank with molecules. Where they are more than there are ranks, they
    are not heeded: a run may go on, on other ranks.
    """
    if sectors == "all":
        return ranks
    if sectors != "auto" and math.prod(sectors) <= ranks:
        return math.prod(sectors)
    if stepped:
        return max(min(work.beads // LEAST_BEADS, ranks), 1)
    return work.best(ranks)


def work_of(system: System) -> Work:
    """Return what decides how many ranks pay."""
    composition = system.topology
    return Work.of(composition, system.box, divided_classes(composition, system.physics))


def ranks_at_work(engine: interface.Engine, comm: Single | World) -> int:
    """Return how many ranks have molecules."""
    return getattr(engine, "ranks", comm.size)


def chosen(value: float | Literal["auto"]) -> float | None:
    """Return a setting, None when it is left to the program."""
    return None if value == "auto" else value


def report_ranks(system: System, config: Config, comm: Single | World, engine: interface.Engine) -> None:
    """Say once in the log which ranks have no molecules, or that there are more than the work is good for."""
    if comm.rank > 0:
        return
    ranks, work, sectors, started = ranks_at_work(engine, comm), work_of(system), config.run.sectors, comm.started
    beads = work.beads
    if not isinstance(sectors, str) and math.prod(sectors) > started:
        LOG.warning(
            'run.sectors = %s does not fit %s; sectors are chosen as with "auto"',
            list(sectors),
            counted(started, "rank"),
        )
    fits = ranks_for(work, "auto", started, bool(system.physics.steps))
    if ranks < started:
        LOG.info(
            "%d of %d ranks %s the %s, the others sleep; %s would be as fast",
            ranks,
            started,
            "has" if ranks == 1 else "have",
            counted(beads, "bead"),
            counted(ranks, "rank"),
        )
    elif fits < started:
        LOG.warning(
            "%d ranks outnumber the work: %d beads are %d for each, and ghosts and messages cost more than a rank "
            "gains; %s would do, with the same results",
            started,
            beads,
            beads // started,
            counted(fits, "rank"),
        )


def report_threads(config: Config, comm: Single | World, engine: interface.Engine) -> None:
    """Say once in the log why a run that a second thread may help has none, if it is asked for, or on one rank."""
    asked, core = config.run.threads, getattr(engine, "core", None)  # engines of steps have none
    if comm.rank > 0 or asked == 1 or (core is not None and core.helper is not None):
        return
    if core is not None and can_help(core.sector) and (asked == 2 or ranks_at_work(engine, comm) == 1):
        LOG.log(
            logging.WARNING if asked == 2 else logging.INFO,
            "this rank has one core for itself, so it has no second thread (run.threads); start it with two (mpirun "
            "--map-by slot:PE=2, srun --cpus-per-task=2)",
        )
    elif asked == 2:
        LOG.info("run.threads = 2 helps with smooth hard beads in whole molecules: there is no second thread")


def freedom_of(system: System, comm: Single | World) -> int:
    """Return the degrees of freedom of a system, of which each rank may have a part; collective.

    A thermostat, or a thermal wall, moves the centre of mass, too: it counts then.
    """
    drawn = 3 if draws_momenta(system.physics) else 0
    if system.held is None:
        return drawn + degrees_of_freedom(system.topology.whole(), system.state.position)
    composition = system.topology
    first = np.cumsum(composition.size_of(system.held)) - composition.size_of(system.held)
    own = {}
    for kind, molecule in enumerate(composition.firsts):
        at = np.searchsorted(system.held, molecule)
        if at < len(system.held) and system.held[at] == molecule:
            own[kind] = system.state.position[first[at] : first[at] + composition.size_of(molecule)]
    found = {kind: position for part in comm.allgather(own) for kind, position in part.items()}
    position = np.concatenate([found[kind] for kind in range(composition.prototypes.molecules)])
    return drawn + degrees_of_freedom(composition.prototypes, position, composition.copies)


def overlap_in(
    system: System, comm: Single | World, ids: NDArray[np.int64], position: NDArray[np.float64], tolerance: float
) -> tuple[int, int, float] | None:
    """Return (bead, bead, distance) of two beads that overlap, the same on all ranks, or None; collective.

    Parameters
    ----------
    system : System
    comm : Single or World
    ids : (n,) int64 array
        Global ids of this rank's beads, whole molecules in any order.
    position : (n, 3) float64 array
        [length].
    tolerance : float
        Overlap that does not count, relative to the contact distance.
    """
    composition, sequence = system.topology, np.argsort(ids)
    if comm.size == 1:
        return bead_overlap(system.box, composition.whole(), position[sequence], tolerance)
    molecule_ids = np.unique(composition.molecule_of(ids))
    return overlap_on_ranks(comm.exchange, system.box, composition, molecule_ids, position[sequence], tolerance)


def level_problem(system: System, comm: Single | World, engine: interface.Engine, time: float) -> str | None:
    """Return that two beads are on another level of their potential than their distance says, or None.

    The same on all ranks; collective.

    Parameters
    ----------
    system : System
    comm : Single or World
    engine : Engine
        Its own, of a run that has begun.
    time : float
        That it has reached [time].
    """
    if time == 0.0 or not system.physics.extended.potentials:
        return None
    composition, physics, sequence = system.topology, system.physics, np.argsort(engine.ids)
    ids, position = engine.ids[sequence], engine.frame(time)[0][sequence]
    inside = engine.state().extra[sequence, L.INSIDE :]
    if comm.size == 1:
        here = np.ones(len(ids), dtype=bool)
        off = wrong_level(system.box, composition.whole(), physics, ids, position, inside, here)
    else:
        inside = widened(inside, max(comm.allgather(inside.shape[1])))
        own = np.unique(composition.molecule_of(ids)), position, inside
        ids, *found = dealt_by_place(comm.exchange, system.box, composition, *own, range_of(physics))
        off = None
        if len(ids):
            topology = composition.part(np.unique(composition.molecule_of(ids)))
            off = wrong_level(system.box, topology, physics, ids, *found)
        off = min((pair for pair in comm.allgather(off) if pair is not None), default=None)
    return off and (
        f"state/inside: of bead {off[0]} does not say within which step of their potential bead {off[1]} is, "
        f"{off[2]:.6g} away"
    )


def in_slabs(
    comm: Single | World, system: System, engine: interface.Engine, time: float, frame: bool, report: bool
) -> Slabs:
    """Return this rank's slab of the beads at the time that is reached, sorted and sent at once; collective.

    Parameters
    ----------
    comm : Single or World
    system : System
    engine : Engine
    time : float
        [time]
    frame, report : bool
        What it is for.

    Returns
    -------
    dict of name -> (n, ...) array
        `FRAME`; where contacts make beads spin ANGULAR_VELOCITY, and for a frame maybe "orientation"; for a report
        ENERGIES, potential energies and virials, (n, 2), where beads have them.
    """
    arrays: Slabs = dict(zip(FRAME, engine.frame(time), strict=True))
    energies = engine.energies() if report and hasattr(engine, "energies") else None
    if energies is not None:
        arrays[ENERGIES] = energies
    if system.physics.extended.rough:
        extra = engine.state().extra
        arrays[ANGULAR_VELOCITY] = np.ascontiguousarray(extra[:, L.SPIN : L.SPIN + 3])
        if frame and system.physics.extended.orientations:
            arrays["orientation"] = orientations_at(system, extra, engine.ids, time)
    return slabs.sorted_slabs(comm.mpi, system.topology.beads, engine.ids, arrays)


def brought_together(
    comm: Single | World, beads: int, ids: NDArray[np.int64], frame: interface.Frame
) -> interface.Frame:
    """Return the (position, velocity, image) of all beads in global order on every rank; collective.

    Parameters
    ----------
    comm : Single or World
    beads : int
        How many there are.
    ids : (n,) int64 array
        Global ids of this rank's beads.
    frame : (position, velocity, image)
        (n, 3) arrays, in the order of `ids`.
    """
    found = slabs.whole(comm.mpi, beads, ids, dict(zip(FRAME, frame, strict=True)))
    return found["position"], found["velocity"], found["image"]
