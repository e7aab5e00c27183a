"""Bead types as viewers know them: beads of one molecule kind, diameter and mass are of one type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hpcchain.model.system import Topology


def bead_types(topology: Topology) -> tuple[np.ndarray, list]:
    """Return the type of every bead, and the types' names.

    Parameters
    ----------
    topology : Topology

    Returns
    -------
    species : (N,) int32 array
        Ordered by (kind, diameter, mass).
    names : list of str
        The kind's name; with a number behind it where one kind has several bead types.
    """
    kind = np.repeat(topology.kind, np.diff(topology.first_bead))
    if not len(kind):
        return np.zeros(0, dtype=np.int32), []
    triples = np.column_stack([kind.astype(np.float64), topology.diameter, topology.mass])
    types, species = np.unique(triples, axis=0, return_inverse=True)
    kinds = types[:, 0].astype(int)
    numbers = [int(np.sum(kinds[:place] == kind)) for place, kind in enumerate(kinds)]
    several = np.bincount(kinds)[kinds] > 1
    names = [topology.names[k] + (f".{n}" if more else "") for k, n, more in zip(kinds, numbers, several, strict=True)]
    return species.reshape(-1).astype(np.int32), names
