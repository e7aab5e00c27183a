"""How much memory this process and its node may still take: what the machine, its control groups and the job allow.

Everything is read from files and variables, which tests put in place of the system's.
"""

from __future__ import annotations

import ctypes
import math
import os
import resource
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MEGABYTE = 2**20
LIMITS = (("RLIMIT_AS", 0), ("RLIMIT_DATA", 5))
"""The limits of one process, and the column of /proc/self/statm that counts against each."""


@dataclass(frozen=True)
class Bound:
    """So many bytes may be taken [byte], and what says so, for messages."""

    bytes: float
    reason: str

    @staticmethod
    def least(bounds: list) -> Bound | None:
        """Return the lowest of some bounds, None where there is none."""
        return min(bounds, key=lambda bound: bound.bytes, default=None)


@dataclass(frozen=True)
class Available:
    """What one process has taken, and what it may take in all.

    Attributes
    ----------
    taken : int
        Memory of its own so far; libraries that processes share do not count [byte].
    node : Bound or None
        What all processes of the run on this node may still take together; None where it is not known.
    job : Bound or None
        What the job may take on this node in all, what it has taken so far among it.
    own : Bound or None
        What this process alone may still take.
    """

    taken: int
    node: Bound | None
    job: Bound | None
    own: Bound | None

    def left(self) -> float:
        """Return what this process may still take if no other takes any; infinite where nothing is known [byte]."""
        job = [] if self.job is None else [max(self.job.bytes - self.taken, 0)]
        return min([bound.bytes for bound in (self.node, self.own) if bound is not None] + job, default=math.inf)


def available(
    root: Path | str = "/", environment: Mapping[str, str] | None = None, limits: Callable = resource.getrlimit
) -> Available:
    """Return what is available to this process.

    Parameters
    ----------
    root : path
        Where proc and sys/fs/cgroup are.
    environment : mapping, optional
        Stands in for the process's environment variables.
    limits : callable
        Stands in for resource.getrlimit.
    """
    root = Path(root)
    environment = os.environ if environment is None else environment
    used = statm(root)
    node = [bound for bound in (free(root), *groups(root)) if bound is not None]
    return Available(used[1] - used[2], Bound.least(node), job(environment), Bound.least(own(limits, used)))


def return_freed() -> None:
    """Return memory that this process has freed to the system, where the C library is one that keeps it and can.

    It keeps what lies below anything that is in use, and never asks again whether that is worth its space.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def processors_allowed() -> frozenset[int]:
    """Return the processors that this process may run on."""
    return frozenset(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1))


def cores_allowed(root: Path | str = "/", allowed: Collection[int] | None = None) -> int:
    """Return how many cores this process may run on; processors that share one, as hyperthreads do, count as one.

    Parameters
    ----------
    root : path
        Where sys/devices is.
    allowed : collection of int, optional
        Stands in for the processors that the system allows.
    """
    allowed = processors_allowed() if allowed is None else allowed
    place = Path(root) / "sys/devices/system/cpu"
    return len({text_of(place / f"cpu{k}/topology/thread_siblings_list").strip() or str(k) for k in allowed})


def statm(root: Path) -> list:
    """Return the numbers of proc/self/statm in bytes, zeros where there is none."""
    words = text_of(root / "proc/self/statm").split()
    numbers = [int(word) if word.isdigit() else 0 for word in words[:7]]
    return [number * resource.getpagesize() for number in numbers + [0] * (7 - len(numbers))]


def free(root: Path) -> Bound | None:
    """Return the Bound of the machine's memory, None where the system does not say."""
    for line in text_of(root / "proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        words = value.split()
        if name == "MemAvailable" and words and words[0].isdigit():
            return Bound(int(words[0]) * 1024, "available on this machine (MemAvailable)")
    return None


def groups(root: Path) -> list:
    """Return the Bounds of the control groups that this process is in, of both versions, up to the top."""
    found = []
    for line in text_of(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            for mount in ("sys/fs/cgroup", "sys/fs/cgroup/unified"):
                found += upwards(root / mount, path, ("memory.max", "memory.current", ""))
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_")
            found += upwards(root / "sys/fs/cgroup/memory", path, names)
    return found


def upwards(mount: Path, path: str, names: tuple) -> list:
    """Return the Bounds of a control group and of those above it.

    Where a container has its own view of the tree, its group may not be there by the name that it has outside; then
    what is found above it, at last the mount itself, is what counts.

    Parameters
    ----------
    mount : path
    path : str
        The group as the kernel names it.
    names : (str, str, str)
        The files with limit and use, and how names in memory.stat begin.
    """
    limit_file, used_file, prefix = names
    found, deepest = [], mount / path.strip().lstrip("/")
    for folder in (deepest, *deepest.parents):
        if folder != mount and mount not in folder.parents:
            break
        limit, used = (text_of(folder / name).strip() for name in (limit_file, used_file))
        if limit.isdigit() and used.isdigit():
            cache = file_cache(folder, prefix)
            left = max(int(limit) - max(int(used) - cache, 0), 0)
            found.append(Bound(left, f"left in the control group {folder} ({limit_file})"))
    return found


def file_cache(folder: Path, prefix: str) -> int:
    """Return what a control group counts as used but gives back when asked to: cached files [byte]."""
    wanted = (f"{prefix}active_file", f"{prefix}inactive_file")
    lines = [line.split() for line in text_of(folder / "memory.stat").splitlines()]
    return sum(int(words[1]) for words in lines if len(words) == 2 and words[0] in wanted and words[1].isdigit())


def job(environment: Any) -> Bound | None:
    """Return the Bound that Slurm sets on a job on each of its nodes, None where it sets none (0: all there is)."""
    node, cpu, cpus = (environment.get(f"SLURM_{name}", "") for name in ("MEM_PER_NODE", "MEM_PER_CPU", "CPUS_ON_NODE"))
    if node.isdigit() and int(node) > 0:
        return Bound(int(node) * MEGABYTE, "the job's on a node (SLURM_MEM_PER_NODE)")
    if cpu.isdigit() and cpus.isdigit() and int(cpu) * int(cpus) > 0:
        return Bound(int(cpu) * int(cpus) * MEGABYTE, "the job's on a node (SLURM_MEM_PER_CPU × SLURM_CPUS_ON_NODE)")
    return None


def own(limits: Callable, used: list) -> list:
    """Return the Bounds of this process's limits; `used`: see `statm`."""
    found = []
    for name, column in LIMITS:
        soft = limits(getattr(resource, name))[0]
        if soft != resource.RLIM_INFINITY:
            found.append(Bound(max(soft - used[column], 0), f"left to a process (ulimit, {name})"))
    return found


def text_of(path: Path) -> str:
    """Return a file's text, empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):  # the latter of names that no file can have
        return ""


def size(count: Any) -> str:
    """Return a number of bytes with a fitting unit."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1000.0 or unit == "TB":
            return f"{count:.3g} {unit}"
        count /= 1000.0
    return ""
