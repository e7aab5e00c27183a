"""Where a file comes from: versions, machine, time; nothing about the user."""

from __future__ import annotations

import os
import platform
import socket
import sys
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING

import h5py
from llvmlite import binding

import hpcchain
from hpcchain.parallel.agreement import from_root, gathered, size_of
from hpcchain.parallel.comm import library

if TYPE_CHECKING:
    from hpcchain.parallel.agreement import Communicator


def collect(comm: Communicator | None = None) -> dict[str, str | int]:
    """Return versions of everything that computed or wrote, the machine, and the time; the same on all ranks.

    Returns
    -------
    dict of str -> str or int
        `cpu_names` holds every distinct CPU name over the ranks, joined by commas: more than one means unlike nodes.
        `mpi` is empty where no MPI library is in use.
    """
    hosts = len(set(gathered(comm, socket.gethostname())))
    cpus = sorted(set(gathered(comm, cpu_name())))
    found: dict[str, str | int] = {
        "hpcchain": hpcchain.__version__,
        "python": platform.python_version(),
        **{name: version_of(name) for name in ("numpy", "numba", "llvmlite", "mpi4py", "h5py")},
        "hdf5": h5py.version.hdf5_version,
        "mpi": library() if "mpi4py.MPI" in sys.modules else "",
        "system": f"{platform.system()} {platform.machine()}",
        "cpu_names": ", ".join(cpus),
        "hosts": hosts,
        "ranks": size_of(comm),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return from_root(comm, found)


def cpu_name() -> str:
    """Return the CPU that numba compiles for: NUMBA_CPU_NAME, or the host's."""
    return os.environ.get("NUMBA_CPU_NAME") or binding.get_host_cpu_name()


def version_of(package: str) -> str:
    """Return an installed package's version, or "absent"."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"
