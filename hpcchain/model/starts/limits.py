"""Whether a start keeps the limits of distances inside molecules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.errors import ConfigError
from hpcchain.model.physics.step_potentials import limited_pairs

if TYPE_CHECKING:
    from hpcchain.model.system import Physics

SLACK = 1e-9


def require_limits(source: str, topology: Any, physics: Physics, position: np.ndarray, ids: np.ndarray) -> None:
    """Raise ConfigError, naming two beads, unless distances inside molecules are within their limits, to 1e-9 relative.

    Parameters
    ----------
    source : str
        The input's name for messages.
    topology : Topology
        Of these molecules alone.
    physics : Physics
    position : (n, 3) float64 array
        Of their beads [length].
    ids : (n,) int64 array
        Global ids of their beads.
    """
    offsets, others, distances = limited_pairs(topology, physics)
    first = np.repeat(np.arange(topology.beads), np.diff(offsets))
    r = np.sqrt(np.sum((position[first] - position[others]) ** 2, axis=1))
    bad = np.flatnonzero((r < distances[:, 0] * (1.0 - SLACK)) | (r > distances[:, 1] * (1.0 + SLACK)))
    if len(bad):
        at = bad[0]
        raise ConfigError(
            f"{source}: molecule.distance_limits: beads {ids[first[at]]} and {ids[others[at]]} are {r[at]:.9g} apart, "
            f"not from {distances[at, 0]:g} to {distances[at, 1]:g}; move them, or widen the limits"
        )
