"""How much room neighbour lists begin with, and where they stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import arrays as L

if TYPE_CHECKING:
    from hpcchain.model.system import Topology

UNEVEN = 1.5  # how many more neighbours than the mean a list has room for
TWO_LINES = 32  # entries of a list on two cache lines


def list_capacity(topology: Topology, shell: float, beyond: float = 0.0, density: float = np.inf) -> np.ndarray:
    """Return (N,) int64 first guesses of the neighbour lists' capacities; for equal beads they are equal.

    Parameters
    ----------
    topology : Topology
    shell, beyond : float
        Half width of the lists' shell, and how much farther than contact beads act on one another [length].
    density : float
        Beads by volume, where that may tell of fewer neighbours than close packing [length^-3].
    """
    contact = topology.diameter.max() + 2.0 * beyond
    far = 0.5 * (topology.diameter + contact) + 2.0 * shell
    packed = 3.0 * (far / max(float(topology.diameter.min()), 1e-300)) ** 3
    expected = UNEVEN * density * (4.0 * np.pi / 3.0) * far**3
    return np.clip(8 + np.ceil(np.minimum(packed, expected)), 16, 4096).astype(np.int64)


def list_arrays(capacity: np.ndarray) -> dict:
    """Return the arrays of neighbour lists with these capacities, empty."""
    lists = np.zeros((len(capacity), 4), dtype=np.int32)
    neighbour, free_rooms = np.zeros(lay_out_lists(lists, capacity), dtype=np.int32), np.zeros(0, dtype=np.int64)
    return {"lists": lists, "neighbour": neighbour, "free_rooms": free_rooms}


def lay_out_lists(lists: np.ndarray, capacity: np.ndarray) -> int:
    """Write where lists of these capacities begin, one after the other, and how much room they have; return the end.

    None is an even number of cache lines long. If all were, as with chains at φ = 0.1, their first lines, which are
    those that are read, would share half of each cache's sets: windows took 1.25 times as long (Zen 5, November 2026).
    """
    room = capacity + (capacity % TWO_LINES == 0)
    first = np.concatenate([[0], np.cumsum(room)])
    lists[:, L.LIST_FIRST], lists[:, L.LIST_CAPACITY] = first[:-1], room
    return int(first[-1])
