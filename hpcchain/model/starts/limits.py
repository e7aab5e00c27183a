"""Whether a start keeps the limits of distances inside molecules, and leaves bonds that can tear whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.errors import ConfigError
from hpcchain.model.physics.step_potentials import limited_pairs

if TYPE_CHECKING:
    from hpcchain.model.physics.constants import PotentialConstants
    from hpcchain.model.system import Physics, Topology

SLACK = 1e-9


def require_limits(source: str, topology: Topology, physics: Physics, position: np.ndarray, ids: np.ndarray) -> None:
    """Raise ConfigError, naming two beads, unless distances inside molecules are within their limits, to 1e-9 relative.

    Bonds that potentials hold must be shorter than these allow.

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
    for index, one in enumerate(physics.steps.potentials if physics.steps else ()):
        if one.name == "fene":
            _require_shorter(f"{source}: potential[{index}].length", one, topology, position, ids)


def _require_shorter(
    where: str, one: PotentialConstants, topology: Topology, position: np.ndarray, ids: np.ndarray
) -> None:
    """Raise ConfigError, naming the beads of the longest bond, where one that a FENE potential holds is torn."""
    bonds = topology.bonds[~topology.rigid]
    if one.types is not None:
        types = np.array(topology.type_names, dtype=object)[topology.bead_type[bonds]]
        bonds = bonds[np.all(np.sort(types.astype(str), axis=1) == sorted(one.types), axis=1)]
    length = np.sqrt(np.sum((position[bonds[:, 1]] - position[bonds[:, 0]]) ** 2, axis=1))
    if np.max(length, initial=0.0) >= one.length:
        at = int(np.argmax(length))
        raise ConfigError(
            f"{where}: {one.length:g} is not above the distance {length[at]:.9g} of the bonded beads "
            f"{ids[bonds[at, 0]]} and {ids[bonds[at, 1]]} at the start, so their bond is torn; enlarge it, or move them"
        )
