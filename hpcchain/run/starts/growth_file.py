"""Keeps a start that is still growing, so that a stop or a kill costs little of it."""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hpcchain.config.load import stored_config
from hpcchain.errors import DataError
from hpcchain.io.checkpoint.store import list_checkpoints
from hpcchain.io.growth_state import read_growth, write_growth
from hpcchain.io.hdf5.collective import root_does
from hpcchain.io.output.lineage import CHECKPOINTS, GROWTH
from hpcchain.parallel.agreement import from_root, rank_of

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.io.growth_state import GrowthState
    from hpcchain.parallel.agreement import Communicator

LOG = logging.getLogger("hpcchain.run")
MINUTES = 10.0
"""Wall time between two files where the input does not say."""
SAME = ("box", "molecules", "initial", "propagator", "contact", "walls")
"""Sections of the input that the start follows from."""


class GrowthFile:
    """One file next to what the start is made for."""

    def __init__(self, path: Path | str, config: Config, mpi: Communicator | None) -> None:
        self.path, self._config, self._mpi = Path(path), config, mpi
        self._minutes = config.output.checkpoint_wall_minutes or MINUTES
        self._written = time.monotonic()

    def load(self) -> GrowthState | None:
        """Return the GrowthState to go on from, None where there is none for this input; collective."""
        return from_root(self._mpi, self._load() if rank_of(self._mpi) == 0 else None)

    def _load(self) -> GrowthState | None:
        if not self.path.is_file():
            return None
        try:
            state, text = read_growth(self.path)
            earlier = stored_config(text, self.path)
        except DataError as error:
            LOG.warning("the start is grown anew: %s", error)
            return None
        if any(getattr(earlier, name) != getattr(self._config, name) for name in SAME):
            LOG.warning("%s: is of another input and is replaced; the start is grown anew", self.path)
            return None
        LOG.info("the start goes on growing from %s", self.path)
        return state

    def due(self) -> bool:
        """Return whether so much wall time has passed that it should be written."""
        return time.monotonic() - self._written > 60.0 * self._minutes

    def save(self, state: GrowthState) -> None:
        """Write the file; collective."""
        root_does(self._mpi, self.path, "writing", lambda: write_growth(self.path, state, self._config.to_toml()))
        self._written = time.monotonic()

    def forget(self) -> None:
        """Remove the file where the run next to it has a checkpoint to go on from."""
        if rank_of(self._mpi) == 0 and list_checkpoints(self.path.parent / CHECKPOINTS):
            self.remove()

    def remove(self) -> None:
        """Remove the file where there is one; the start is safe elsewhere."""
        if rank_of(self._mpi) == 0:
            with suppress(OSError):
                os.unlink(self.path)


def input_of(folder: Path, mpi: Communicator | None) -> Config | None:
    """Return the input of a run whose start was still growing when it stopped, None where it was not; collective."""
    path = Path(folder) / GROWTH
    return root_does(
        mpi, path, "reading", lambda: stored_config(read_growth(path)[1], path) if path.is_file() else None
    )
