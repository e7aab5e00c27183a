"""Whether the disk has space for a run's frames, seen to before the run starts."""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hpcchain.config.demands.cautions import frame_bytes, times
from hpcchain.config.keys.values import counted
from hpcchain.errors import ConfigError
from hpcchain.io.hdf5.collective import root_does
from hpcchain.machine import size
from hpcchain.parallel.agreement import agree

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.parallel.agreement import Communicator

ROUNDING = 1e-12  # of a quotient that is meant to be whole


def frames_between(config: Config, begin: float = 0.0) -> int:
    """Return how many frames an input writes from a time that has its frame already, or from 0 with that one [time].

    The end has one, too, where it is off the raster.
    """
    span = config.run.end_time - begin
    return math.ceil(times(span, config.output.frame_every) * (1.0 - ROUNDING)) + (1 if begin == 0.0 else 0)


def require_disk_for(config: Config, beads: int, folder: Path, mpi: Communicator | None, begin: float = 0.0) -> None:
    """Raise ConfigError on every rank where the frames of a run do not fit on the disk of its folder; collective.

    They are there twice while they are joined, be it in passing: in parts or in the file that was joined before, and in
    the file that is made of these and of all earlier frames. A checkpoint takes as much as two frames, and one more is
    there than are kept.

    Parameters
    ----------
    config : Config
    beads : int
    folder : path
        The output directory; it may still have to be made.
    mpi : communicator or None
    begin : float
        Where the run goes on from [time].
    """
    count = frames_between(config, begin)
    earlier = frames_between(replace(config, run=replace(config.run, end_time=begin))) if begin > 0.0 else 0
    checkpoints = config.output.keep_checkpoints + 1 if begin == 0.0 else 0
    need = (2 * count + earlier + 2 * checkpoints) * frame_bytes(config, beads)
    there = root_does(mpi, folder, "asking for free disk space", lambda: free_bytes(folder))
    if there is None or need <= there:
        return
    agree(
        mpi,
        ConfigError(
            f"{config.source}: output.frame_every: {counted(count, 'frame')} of {counted(beads, 'bead')}, twice while "
            f"they are joined, and checkpoints take {size(need)}, and the disk of {folder} has {size(there)} left. "
            "Write frames less often, end the run earlier (run.end_time), or choose an --output on a larger disk"
        ),
    )


def free_bytes(folder: Path) -> int | None:
    """Return the bytes that may be written where a folder is or will be; None where the system does not say."""
    there = Path(os.path.abspath(folder))
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        return shutil.disk_usage(there).free
    except OSError:
        return None
