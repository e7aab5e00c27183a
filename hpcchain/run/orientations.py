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
    from hpcchain.model.directors import Directors, Turning
    from hpcchain.parallel.agreement import Communicator


def turning_of(directors: Directors | None, topology: Composition, comm: Communicator | None) -> Turning | None:
    """Return the Turning of this rank's slab of the beads, None where there are no Directors; collective.

    Raises
    ------
    ConfigError
        On every rank, when a sphere is too fast for its null-space step.
    """
    low, high = parallel_slabs.slab(topology.beads, comm)
    with agreed(comm):
        return None if directors is None else directors.turning(topology, low, high)


def rotation_of(turning: Turning, comm: Communicator | None) -> dict[str, float | NDArray[np.float64]]:
    """Return what reports say of spheres, the same at all times, from all ranks' Turnings; collective.

    It is "rotational_energy" [mass length^2 / time^2] and "spin", (3,) angular momentum about the spheres' own centres
    [mass length^2 / time].
    """
    sums = np.concatenate(gathered(comm, turning.sums(parallel_slabs.BLOCK)))
    energy, *spin = (math.fsum(column) for column in sums.T)
    return {"rotational_energy": energy, "spin": np.array(spin)}


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
