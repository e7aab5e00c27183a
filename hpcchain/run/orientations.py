"""Orientation and spin of a run's spheres with directors: each rank has those of its slab of the beads.

They are a function of the start and the time alone, so they are made where they are written, whoever owns the spheres.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcchain.errors import ConfigError
from hpcchain.io.hdf5.collective import agreed
from hpcchain.parallel import slabs as parallel_slabs
from hpcchain.parallel.agreement import agree, gathered

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.directors import Directors
    from hpcchain.parallel.agreement import Communicator


class Spinning:
    """What a run writes of its spheres with directors; collective.

    Parameters
    ----------
    directors : Directors
        A table in it must have this rank's slab.
    topology : Composition
    comm : communicator or None

    Attributes
    ----------
    directors : Directors
        Of this rank's slab alone, for checkpoints.
    observables : dict
        "rotational_energy" [mass length^2 / time^2] and "spin", (3,) angular momentum about the spheres' own centres
        [mass length^2 / time]: the same at all times.

    Raises
    ------
    ConfigError
        On every rank, when a sphere is too fast for its null-space step.
    """

    def __init__(self, directors: Directors, topology: Composition, comm: Communicator | None) -> None:
        low, high = parallel_slabs.slab(topology.beads, comm)
        with agreed(comm):
            self.directors = directors.part(low, high)
            self._turning = self.directors.turning(topology, low, high)
        sums = np.concatenate(gathered(comm, self._turning.sums(parallel_slabs.BLOCK)))
        energy, *spin = (math.fsum(column) for column in sums.T)
        self.observables = {"rotational_energy": energy, "spin": np.array(spin)}

    def orientation(self, time: float) -> NDArray[np.float64]:
        """Return the (n, 4) unit quaternions of this rank's slab of the beads at a time [time]."""
        return self._turning.orientation(time)

    def slabs(self) -> dict[str, NDArray[np.float64]]:
        """Return this rank's slabs of what does not change with time, by name, for the trajectory."""
        return {"angular_velocity": self._turning.velocity, "moment_of_inertia": self._turning.moment}


def checked(
    directors: Directors | None,
    topology: Composition,
    comm: Communicator | None,
    source: str,
    blocks: int | None = None,
    pause: Callable[[], object] | None = None,
) -> Directors | None:
    """Return Directors that can turn, None where there are none; collective.

    Parameters
    ----------
    directors : Directors or None
        A table in it must have this rank's slab.
    topology : Composition
    comm : communicator or None
    source : str
        The input.
    blocks : int, optional
        How many blocks of beads to look at together; default: all of this rank's.
    pause : callable, optional
        Called before each look, on all ranks equally often.

    Raises
    ------
    ConfigError
        On every rank, naming the input `source`, when a sphere is too fast for its null-space step.
    """
    if directors is None or not directors.step.any():
        return directors
    failure = None
    for low, high in parallel_slabs.pieces(topology.beads, comm, blocks):
        if pause is not None:
            pause()
        try:
            directors.turning(topology, low, high)
        except ConfigError as error:
            failure = failure or ConfigError(f"{source}: {error}")
    agree(comm, failure)
    return directors
