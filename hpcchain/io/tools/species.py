"""Bead types as viewers know them: beads of one type, diameter and mass are of one species."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hpcchain.model.system import Topology


def bead_types(topology: Topology) -> tuple[np.ndarray, list]:
    """Return the species of every bead, and the species' names.

    Parameters
    ----------
    topology : Topology

    Returns
    -------
    species : (N,) int32 array
        Ordered by (type, diameter, mass).
    names : list of str
        The type's name, which is the molecule's unless the input has others; with a number behind it where beads of one
        type have several diameters or masses. No two are the same.
    """
    kind = topology.bead_type
    if not len(kind):
        return np.zeros(0, dtype=np.int32), []
    triples = np.column_stack([kind.astype(np.float64), topology.diameter, topology.mass])
    types, species = np.unique(triples, axis=0, return_inverse=True)
    kinds = types[:, 0].astype(int)
    numbers = [int(np.sum(kinds[:before] == kind)) for before, kind in enumerate(kinds)]
    several = np.bincount(kinds)[kinds] > 1
    names: list = []
    for k, n, more in zip(kinds, numbers, several, strict=True):
        name = topology.type_names[k] + (f".{n}" if more else "")
        while more and (name in topology.type_names or name in names):
            name += "_"
        names.append(name)
    return species.reshape(-1).astype(np.int32), names
