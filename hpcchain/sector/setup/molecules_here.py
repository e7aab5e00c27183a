"""Which molecules of the whole system a rank's sector has."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class MoleculesHere:
    """Which molecules a rank has.

    Attributes
    ----------
    molecule_ids : (k,) int64 array
        Global numbers, in ascending order.
    ownership : (k,) int8 array
        OWNED, GHOST or FULL_GHOST.
    dormant : (n,) bool array
        Of their beads: which are dormant (`dormant_beads`).
    """

    molecule_ids: np.ndarray
    ownership: np.ndarray
    dormant: np.ndarray
