"""The Composition of molecules that a test has listed one by one."""

import numpy as np

from hpcchain.model.composition import Composition, one_of_each
from tests.support.io_samples import same_topology


def composition_of(topology):
    """Return the Composition of a Topology; molecules of one kind are alike."""
    _, prototypes, classes = np.unique(topology.kind, return_index=True, return_inverse=True)
    classes = classes.reshape(-1).astype(np.int64)
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    ends = np.append(starts, topology.molecules)
    firsts = (first[ends].astype(np.int64) for first in (topology.first_bead, topology.first_bond))
    composition = Composition(one_of_each(topology, prototypes), classes[starts], ends, *firsts)
    assert topology.molecules == 0 or same_topology(composition.whole(), topology), "molecules of one kind differ"
    return composition
