"""What a run puts out: parts between checkpoints, rows of the run log, and the output files at the end."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcchain.errors import EngineError, HpcchainError
from hpcchain.io.checkpoint.layout import whole
from hpcchain.io.hdf5 import atomic
from hpcchain.io.output.assemble import assemble
from hpcchain.io.output.lineage import PARTS
from hpcchain.io.output.parts import PartWriter, counts_in, seal_in
from hpcchain.io.output.recoverable_output import Inventory
from hpcchain.io.output.trajectory import ORIENTATION, SPIN, Lasting
from hpcchain.parallel.agreement import is_parallel
from hpcchain.parallel.slabs import slab

if TYPE_CHECKING:
    from hpcchain.model.directors import Turning
    from hpcchain.model.system import System
    from hpcchain.parallel.agreement import Communicator
    from hpcchain.run.engines import Slabs

Report = dict[str, float | NDArray[np.float64]]
"""What a report holds, by name (`Observables.measure`)."""


class Recorder:
    """Writes frames, events and reports of one run directory, and counts them.

    Parameters
    ----------
    folder : path
        The run's directory.
    comm : communicator or None
    system : System
        For the composition, in place of a topology, and the box.
    counters : dict
        Those of the checkpoint that the run goes on from; empty for a new run.
    log_events : bool
        Whether contacts are logged.
    turning : Turning, optional
        Of spheres with directors in this rank's slab.

    Attributes
    ----------
    counters : dict
        "part": number of the next part; "frames", "events", "reports": totals of the closed parts; "part_seal": that of
        the last, "" when there is none (see `hpcchain.io.output.lineage`).
    """

    def __init__(
        self,
        folder: Path,
        comm: Communicator | None,
        system: System,
        counters: Mapping[str, object],
        log_events: bool,
        turning: Turning | None = None,
    ) -> None:
        self.counters: dict[str, int | str] = {"part": whole(counters, "part"), **counts_in(counters)}
        self.counters["part_seal"] = seal_in(counters)
        self.log_events = log_events
        self._turning = turning
        self._folder, self._comm, self._system = Path(folder), comm, system
        self._part: PartWriter | None = None
        self._inventory = Inventory(folder, comm, self.counters)

    def open(self) -> None:
        """Begin a part."""
        folder = self._folder / PARTS
        atomic.make_folder(folder, self._comm)
        self._part = PartWriter(
            folder,
            whole(self.counters, "part"),
            self._comm,
            self._system.topology,
            self.counters,
            self.log_events,
        )
        self._inventory.opened(self._part.path)

    def close(self) -> None:
        """Finish the part: it is on the disk, for a checkpoint to count.

        Raises
        ------
        DataError
            On every rank, when what the run has written earlier is no longer there as it was, or this part is not.
        """
        self._inventory.require()
        self.part.close()
        self._inventory.closed(self.part.path)
        self.counters.update(self.part.counters)

    def abort(self) -> None:
        """Give up the part, if one is open, after a failure; on several ranks it is left for the next run to remove."""
        if self._part is not None and not is_parallel(self._comm):
            with suppress(HpcchainError, OSError, RuntimeError):
                self._part.abort()

    @property
    def part(self) -> PartWriter:
        """The part that is open, which takes events and reports."""
        if self._part is None:
            raise EngineError("the run writes before its output is open")
        return self._part

    def frame(self, time: float, slabs: Slabs) -> None:
        """Append a frame: this rank's slab of the beads at a time, by the names of `PartWriter.frame`."""
        turning = {} if self._turning is None else {ORIENTATION: self._turning.orientation(time)}
        self.part.frame(time, **slabs, **turning)

    def assemble(self, provenance: dict[str, str | int]) -> None:
        """Bring the output files up to the last closed part, and remove the parts."""
        topology, extended = self._system.topology, self._system.physics.extended
        lasting = Lasting(topology, self._system.box)
        if extended.rough:
            moment = topology.prototypes.moment[topology.prototype_of(np.arange(*slab(topology.beads, self._comm)))]
            tables = [SPIN[0], ORIENTATION] if extended.orientations else [SPIN[0]]
            lasting = lasting._replace(constant={SPIN[1]: moment}, turning=tables)
        elif self._turning is not None:
            constant = dict(zip(SPIN, (self._turning.velocity, self._turning.moment), strict=True))
            lasting = lasting._replace(constant=constant, turning=[ORIENTATION])
        assemble(self._folder, self._comm, lasting, self.counters, provenance)
        self._inventory = Inventory(self._folder, self._comm, self.counters)

    def end(self, provenance: dict[str, str | int]) -> None:
        """Do as `assemble`, and remove the folder of the parts: none follows."""
        self.assemble(provenance)
        atomic.remove_empty(self._folder / PARTS, self._comm)
