"""What a run begins with: its input, read and checked, and the System that it starts from."""

import logging
from dataclasses import replace

from hpcchain.config import load_config
from hpcchain.config.cautions import cautions
from hpcchain.errors import HpcchainError
from hpcchain.model.starts.start import build_system
from hpcchain.parallel.agreement import agree, from_root, rank_of
from hpcchain.run.growth import grown_system
from hpcchain.run.progress import Progress
from hpcchain.run.start_from_file import system_from_file

LOG = logging.getLogger("hpcchain.api")


def read_input(path, overrides, mpi):
    """Return the checked input, or raise what is wrong with it, on every rank as rank 0 reads it; collective."""
    config, failure = None, None
    if rank_of(mpi) == 0:
        try:
            config = load_config(path, overrides)
        except HpcchainError as error:
            failure = error
    agree(mpi, failure)
    return from_root(mpi, config)


def warn(config, mpi, begin=0.0):
    """Say once what an input asks for that hardly anyone means, of a run that goes on from a time [time]."""
    for line in cautions(config, begin) if rank_of(mpi) == 0 else ():
        LOG.warning("%s: %s", config.source, line)


def mpi_of(comm):
    """Return the communicator for parallel files, or None for one rank."""
    return comm.mpi if comm is not None and comm.size > 1 else None


def with_end(config, until):
    """Return the input with another end time, if one is given."""
    return config if until is None else replace(config, run=replace(config.run, end_time=float(until)))


def start_system(config, signals, comm=None, limit=None, keep=None):
    """Return the System that an input starts from, of a start in a file this rank's part; collective.

    Where it is grown, a GrowthFile `keep` keeps it when a signal or the wall limit stops it.
    """
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
