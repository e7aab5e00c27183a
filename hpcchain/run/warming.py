"""The warm-up: small runs compile the kernels that others will need. Older caches are removed.

This module imports no kernel, so that a warm cache is seen at once.
"""

from __future__ import annotations

import logging
import math
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hpcchain.errors import ConfigError, EngineError
from hpcchain.jit.store import NAME, in_use
from hpcchain.jit.store import STORE as STORE  # commands say where it is

LOG = logging.getLogger("hpcchain.compiling")
WARMUP = """
[box]
size = [12.0, 12.0, 12.0]
boundary = ["periodic", "periodic", "wall"]
[[molecule]]
kind = "chain"
beads = 4
count = 12
[[molecule]]
kind = "chain"
beads = 2
count = 8
[[molecule]]
kind = "ring"
beads = 4
count = 4
[[molecule]]
kind = "monomer"
count = 40
[run]
end_time = 0.2
threads = 2
[output]
events = true
"""
RIGID = """
[[molecule]]
name = "bent"
kind = "rigid"
count = 4
sites = [[-0.5, 0.0, 0.0], [0.0, 0.4, 0.0], [0.5, 0.0, 0.0]]
"""
SOFT = """
[[molecule]]
name = "rod"
kind = "rod"
beads = 3
count = 4
[[molecule]]
name = "soft"
kind = "chain"
beads = 3
count = 4
rigid = false
[[potential]]
name = "wca"
epsilon = 1.0
sigma = 1.0
[[potential]]
name = "harmonic"
types = ["soft", "soft"]
stiffness = 100.0
length = 1.0
[[potential]]
name = "center"
stiffness = 0.1
center = [6.0, 6.0, 6.0]
[steps]
step = 0.005
"""
FRICTION = """
[external]
gravity = [0.0, 0.0, -20.0]
[contact]
restitution = 0.0
friction = 0.5
[propagator]
tolerance = 1e-6
[steps]
step = 0.01
integrator = "contact"
"""
ROUGH = "[contact]\nrestitution = 0.9\ntangential_restitution = 0.5\n"
FALLING = "[external]\ngravity = [0.0, 0.0, -0.1]\n"
STRETCHED = WARMUP.replace("beads = 4\ncount = 12", "beads = 100\ncount = 1") + "[propagator]\nstretches = 100\n"
IN_STEPS = '[propagator]\nname = "collocation"\nstep = 0.05\n'
OF_STEPS = WARMUP.replace("[run]", '[run]\nengine = "steps"').replace("events = true", "report_every = 0.1") + RIGID
USUAL = (  # runs of events, whose kernels differ (`jit.struct`), and of steps; no two share most of their kernels
    WARMUP,
    WARMUP + ROUGH,
    STRETCHED,
    WARMUP.replace('kind = "ring"', 'kind = "ring"\npropagator = { name = "rattle", step = 0.05 }') + IN_STEPS,
    OF_STEPS + SOFT,
    OF_STEPS + FRICTION,
)
RARE = (  # other choices of the same options
    WARMUP + RIGID + FALLING,
    STRETCHED + ROUGH,
    STRETCHED + RIGID,
    STRETCHED + RIGID + FALLING,
)
"""What `hpcchain warmup --all` runs besides."""

LEFT_OUT = (
    "not compiled, since few runs use it: rigid bodies or molecules that move in steps, with gravity, walls of their "
    "own, rough beads or other extensions; stretches with any of these. Their first run takes two to four minutes "
    "more, or 'hpcchain warmup --all' does it"
)
WARM_SECONDS = 15.0  # within which the runs of the warm-up are over where all is compiled
POLL_SECONDS = 0.1
LISTS = {False: "usual", True: "all"}
OTHERS = re.compile(r"hpcchain-[0-9a-f]{16}")
RECENT = 3600.0
"""How long ago something was written to a folder that may be in use, where locks do not say [seconds]."""


def kept(every: bool = False) -> int:
    """Return how many kernels the warm-up has left; 0 if it has not been done, or any of them is missing or broken.

    `every`: the warm-up with the kernels that few runs use.
    """
    return STORE.listed(LISTS[every])


def warmup(every: bool = False) -> None:
    """Compile kernels by runs that use them, each also on two ranks, in a process for each processor.

    Parameters
    ----------
    every : bool
        Also those that few runs use.

    Raises
    ------
    EngineError
        Where a run fails; with its output.
    """
    if kept(every):
        return
    waiting, running = list(USUAL + RARE if every else USUAL), list[Aside]()
    notice = time.monotonic() + WARM_SECONDS
    try:
        while waiting or running:
            while waiting and len(running) < len(os.sched_getaffinity(0)):
                running.append(Aside(waiting.pop(0)))
            time.sleep(POLL_SECONDS)
            running = [one for one in running if not one.is_over()]
            if time.monotonic() > notice:
                LOG.info("compiling for this machine, once: %s", "ten minutes" if every else "two to five minutes")
                notice = math.inf
    finally:
        for one in running:
            one.process.kill()
    for name in {LISTS[False], LISTS[every]}:
        STORE.keep_list(name)


class Aside:
    """Runs `hpcchain.api.warm_up` in a process of its own: one process compiles one kernel at a time.

    It imports this very package, wherever it was found, and nothing from the present folder.

    Parameters
    ----------
    text : str
        The input of a run.
    """

    def __init__(self, text: str) -> None:
        program = "import sys; from hpcchain import api; api.warm_up(sys.argv[1])"
        found = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, found))}
        command = [sys.executable, "-P", "-c", program, text]
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=self.said, stderr=self.said
        )

    def is_over(self) -> bool:
        """Return whether the run has ended; raises EngineError with what it said where it failed."""
        code = self.process.poll()
        if code:
            self.said.seek(0)
            raise EngineError(f"the warm-up ended with {code}: {self.said.read().decode(errors='replace').strip()}")
        return code is not None


def prune() -> list[tuple[Path, int | None]]:
    """Remove the cache folders of other states of the sources; return [(folder, bytes or None)].

    Only this user's folders with such a name are removed. Bytes are None of one that stays, since a process uses it.

    Raises
    ------
    ConfigError
        When one cannot be removed.
    """
    found = []
    for folder in sorted(STORE.path.parents[1].iterdir()):
        while OTHERS.fullmatch(folder.name) and folder != STORE.path.parent and folder.exists():
            try:
                found += _pruned(folder)
                break
            except FileNotFoundError:  # another process, maybe another rank, removes it as well: see what is left
                continue
            except OSError as reason:
                raise ConfigError(
                    f"{folder}: cannot be removed: {reason.strerror}; remove it (rm -r {folder})"
                ) from None
    return found


def _pruned(folder: Path) -> list[tuple[Path, int | None]]:
    """Remove a cache folder as `prune` does; return what it says of it, nothing where it is none of this user's."""
    status = folder.lstat()
    if not (stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()):
        return []
    files = [path.lstat() for path in folder.rglob("*")]
    used = in_use(folder / NAME)
    if used is None:
        used = max(one.st_mtime for one in [status, *files]) > time.time() - RECENT
    if not used:
        shutil.rmtree(folder)
    return [(folder, None if used else sum(one.st_size for one in files))]
