"""What a run begins with: its input, read and checked, and the System that it starts from."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcchain.config.demands.cautions import cautions
from hpcchain.config.demands.contacts import check_apart
from hpcchain.config.demands.stepping import require_whole
from hpcchain.config.keys.values import wrong_as
from hpcchain.config.load import config_from_table, read_table
from hpcchain.errors import CodeError, DataError, UsageError
from hpcchain.io.checkpoint.checkpoint import read_config
from hpcchain.io.hdf5 import seal
from hpcchain.io.hdf5.collective import on_root
from hpcchain.model.starts.spins import with_spins
from hpcchain.model.starts.start import build_system, stepping
from hpcchain.own_folder import Unusable, require_own_file
from hpcchain.parallel.agreement import rank_of
from hpcchain.run.guards.memory import BYTES_PER_RANK, BYTES_WHOLE, short_of_memory
from hpcchain.run.progress import Progress
from hpcchain.run.starts.growth import grown_system
from hpcchain.run.starts.start_from_file import system_from_file

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.model.physics.constants import PotentialConstants
    from hpcchain.model.system import Physics, System
    from hpcchain.parallel.agreement import Communicator
    from hpcchain.parallel.comm import Single, World
    from hpcchain.parallel.signals import Signals
    from hpcchain.run.guards.wall_limit import WallLimit
    from hpcchain.run.starts.growth_file import GrowthFile

LOG = logging.getLogger("hpcchain.api")


def load_input(path: Path | str, overrides: Sequence[str] = ()) -> Config:
    """Return the checked Config of an input file; parameters and errors as `read_table` has them."""
    return input_from_table(read_table(path, overrides), str(path))


def input_from_table(table: Mapping[str, object], name: str) -> Config:
    """Return the checked Config of an input's TOML table, `name` in messages.

    Its molecules, where it names none, are those of its start file.

    Raises
    ------
    ConfigError
        One message with the key.
    DataError
        Where molecules are to be those of a start file that cannot be read.
    """

    def stored(file: str) -> Config:
        try:
            return read_config(file)
        except DataError as error:
            problem = error
        try:
            seal.check(file)  # which says more of what is no such file
        except DataError as error:
            problem = error
        raise DataError(f"{name}: initial.file: {problem}")

    return config_from_table(table, name, stored)


def read_input(path: Path | str, overrides: Sequence[str], mpi: Communicator | None, trust: bool = False) -> Config:
    """Return the checked input, or raise what is wrong with it, on every rank as rank 0 reads it; collective.

    `trust`: see `try_steps`.
    """

    def read() -> Config:
        config = load_input(path, overrides)
        try_steps(config, trust)
        return config

    return on_root(mpi, read)


def try_steps(config: Config, trust: bool = False, source: Path | str | None = None) -> None:
    """Raise ConfigError where a box is too short for lists of steps, or a user's own potential cannot run.

    Parameters
    ----------
    config : Config
    trust : bool
        Whether code is run that other users could have changed.
    source : path, optional
        The file of this program that holds the input.
    """
    beads = sum(kind.beads for kind in config.molecules)
    if config.run.engine == "steps" and beads and short_of_memory(BYTES_PER_RANK + BYTES_WHOLE * beads) is None:
        from hpcchain.steps.skin import require_wide_box  # kernels that other runs need not load

        require_wide_box(config)
    modules = own_potentials(config)
    require_trusted(modules, trust, source)
    if modules:
        from hpcchain.steps.potentials.laws import try_laws  # kernels that other runs need not load

        lengths = [float(np.mean(kind.bond_length)) for kind in config.molecules if kind.bond_count]
        try_laws(modules, min(lengths, default=1.0), max(config.box.size))


def own_potentials(config: Config) -> list[PotentialConstants]:
    """Return an input's potentials of a user's own."""
    steps = stepping(config)
    return steps.modules if steps else []


def require_own_potentials(physics: Physics, mpi: Communicator | None, trust: bool, source: Path | str) -> None:
    """Raise ConfigError, on every rank, where a user's own potential may not be run, or is another; collective.

    Parameters
    ----------
    physics : Physics
        In a checkpoint.
    mpi : communicator or None
    trust, source :
        See `try_steps`.
    """
    modules = physics.steps.modules if physics.steps else []

    def announce() -> None:
        from hpcchain.steps.potentials.laws import announced  # kernels that other runs need not load

        require_trusted(modules, trust, source)
        announced(modules)

    if modules:
        on_root(mpi, announce)


def require_trusted(modules: Sequence[PotentialConstants], trust: bool, source: Path | str | None = None) -> None:
    """Raise CodeError for the files of potentials, and for the file that names them, that others could have changed."""
    if not modules:
        return
    files = {one.file: "potential.file: " for one in modules if one.file is not None and os.path.lexists(one.file)}
    if source is not None:
        files = {str(source): "", **files}
    for path, key in {} if trust else files.items():
        try:
            require_own_file(path)
        except Unusable as found:
            what = f"{key}{found}" if key else f"{found}; it names {modules[0].file}"
            raise CodeError(
                f"{what}, which is run as Python, with your rights: {found.mend}; or take the risk with --trust-code "
                "(in Python: trust_code=True)"
            ) from None


def warn(config: Config, mpi: Communicator | None, begin: float = 0.0) -> None:
    """Say once what an input asks for that hardly anyone means, of a run that goes on from a time [time]."""
    for line in cautions(config, begin) if rank_of(mpi) == 0 else ():
        LOG.warning("%s: %s", config.source, line)


def with_end(config: Config, until: float | None) -> Config:
    """Return the input with another end time, if one is given, which must be a whole number of steps where there are.

    Raises
    ------
    UsageError
    """
    if until is None:
        return config
    if config.steps is not None:
        with wrong_as(UsageError, ""):
            require_whole("--until", float(until), config.steps.step)
    require_walls_apart(config, float(until))
    return replace(config, run=replace(config.run, end_time=float(until)))


def require_walls_apart(config: Config, until: float) -> None:
    """Raise UsageError where walls that move leave beads no room up to a time [time]."""
    with wrong_as(UsageError, f"until {until:g}: "):
        check_apart(config, until)


def start_system(
    config: Config,
    signals: Signals,
    comm: Single | World,
    limit: WallLimit | None = None,
    keep: GrowthFile | None = None,
    places: NDArray[np.float64] | None = None,
) -> System:
    """Return the System that an input starts from, of a start in a file this rank's part; collective.

    Where it is grown, a GrowthFile `keep` keeps it when a signal or the wall limit stops it. Beads of an explicit start
    grow where there are `places` (N, 3) that they grow from [length].
    """
    method = config.initial.method
    if method == "explicit" and places is None:
        return with_spins(build_system(config), config)
    if method == "file":
        return with_spins(system_from_file(config, comm), config)
    LOG.info("growing the initial configuration")
    progress = Progress("growing the start: size", None, 1.0, comm.rank)
    try:
        grown = grown_system(
            config, progress.look, lambda: signals.stop or (limit is not None and limit.near()), comm, keep, places
        )
    finally:
        progress.close()
    return with_spins(grown, config)
