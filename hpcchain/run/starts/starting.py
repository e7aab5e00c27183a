"""What a run begins with: its input, read and checked, and the System that it starts from."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hpcchain.config import load_config
from hpcchain.config.demands.cautions import cautions
from hpcchain.config.demands.stepping import require_whole
from hpcchain.config.demands.walls import check_apart
from hpcchain.config.keys.values import Wrong
from hpcchain.errors import ConfigError, HpcchainError, UsageError
from hpcchain.model.physics.spins import with_spins
from hpcchain.model.starts.start import build_system
from hpcchain.parallel.agreement import agree, from_root, rank_of
from hpcchain.run.progress import Progress
from hpcchain.run.starts.growth import grown_system
from hpcchain.run.starts.start_from_file import system_from_file

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.model.system import Physics
    from hpcchain.parallel.agreement import Communicator
    from hpcchain.run.guards.signals import Signals
    from hpcchain.run.guards.wall_limit import WallLimit

LOG = logging.getLogger("hpcchain.api")


def read_input(path: Any, overrides: Any, mpi: Communicator) -> Any:
    """Return the checked input, or raise what is wrong with it, on every rank as rank 0 reads it; collective."""
    config, failure = None, None
    if rank_of(mpi) == 0:
        try:
            config = load_config(path, overrides)
            try_steps(config)
        except HpcchainError as error:
            failure = error
    agree(mpi, failure)
    return from_root(mpi, config)


def try_steps(config: Config) -> None:
    """Raise ConfigError where the engine of steps finds no room for its lists, or a user's own potential is wrong."""
    if config.run.engine == "steps" and config.molecules:
        from hpcchain.steps.engine import require_room  # kernels that other runs need not load

        require_room(config)
    if any(one.name == "module" for one in config.potentials):
        from hpcchain.steps.potentials.laws import try_laws  # kernels that other runs need not load

        try_laws(config)


def require_own_potentials(physics: Physics, mpi: Communicator) -> None:
    """Raise ConfigError, on every rank, where a user's own potential is not what a run began with; collective."""
    modules = [one for one in physics.steps.get("potentials", ()) if one["name"] == "module"]
    failure = None
    if modules and rank_of(mpi) == 0:
        from hpcchain.steps.potentials.laws import source_of  # kernels that other runs need not load

        try:
            for one in modules:
                source_of(one)
        except ConfigError as error:
            failure = error
    agree(mpi, failure)


def warn(config: Config, mpi: Communicator, begin: float = 0.0) -> None:
    """Say once what an input asks for that hardly anyone means, of a run that goes on from a time [time]."""
    for line in cautions(config, begin) if rank_of(mpi) == 0 else ():
        LOG.warning("%s: %s", config.source, line)


def mpi_of(comm: Any) -> Any:
    """Return the communicator for parallel files, or None for one rank."""
    return comm.mpi if comm is not None and comm.size > 1 else None


def with_end(config: Config, until: float) -> Any:
    """Return the input with another end time, if one is given, which must be a whole number of steps where there are.

    Raises
    ------
    UsageError
    """
    if until is None:
        return config
    if config.steps is not None:
        try:
            require_whole("--until", float(until), config.steps.step)
        except Wrong as wrong:
            raise UsageError(str(wrong)) from None
    require_walls_apart(config, float(until))
    return replace(config, run=replace(config.run, end_time=float(until)))


def require_walls_apart(config: Config, until: float) -> None:
    """Raise UsageError where walls that move leave beads no room up to a time [time]."""
    try:
        check_apart(config, until)
    except Wrong as wrong:
        raise UsageError(f"until {until:g}: {wrong}") from None


def start_system(
    config: Config,
    signals: Signals,
    comm: Any = None,
    limit: WallLimit | None = None,
    keep: Any = None,
) -> Any:
    """Return the System that an input starts from, of a start in a file this rank's part; collective.

    Where it is grown, a GrowthFile `keep` keeps it when a signal or the wall limit stops it.
    """
    return with_spins(_start_system(config, signals, comm, limit, keep), config)


def _start_system(config: Config, signals: Signals, comm: Any, limit: WallLimit | None, keep: Any) -> Any:
    """Return the System that `start_system` gives spins to, made by the input's method."""
    method = config.initial.method
    if method == "explicit":
        return build_system(config)
    if method == "file":
        return system_from_file(config, comm)
    LOG.info("growing the initial configuration")
    progress = Progress("growing the start: size", None, 1.0, 0 if comm is None else comm.rank)
    try:
        return grown_system(
            config, progress.look, lambda: signals.stop or (limit is not None and limit.near()), comm, keep
        )
    finally:
        progress.close()
