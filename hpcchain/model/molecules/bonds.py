"""Which beads of a molecule are bonded, by its kind, and the names of their types."""

from typing import Any

import numpy as np

from hpcchain.model.molecules.bodies import body_bonds


def bond_table(kind: Any) -> np.ndarray:
    """Return the (bonds, 2) int64 array of the bonds of one molecule, beads counted from 0, lower first.

    A chain's bonds (l, l + 1) are in chain order, a ring's closing bond (0, n - 1) comes last, a star's arms follow one
    another, each from the centre outwards. Those of a rigid body are only drawn.
    """
    first = np.arange(kind.beads - 1, dtype=np.int64)
    if kind.kind == "graph":
        return np.sort(kind.bonds, axis=1)
    if kind.kind == "rigid":
        return body_bonds(kind.sites)
    if kind.kind == "star":
        first = np.where(first % kind.arm_beads == 0, 0, first)
    bonds = np.column_stack([first, np.arange(1, kind.beads, dtype=np.int64)])
    if kind.kind == "ring":
        bonds = np.vstack([bonds, [[0, kind.beads - 1]]])
    return bonds


def type_names(kinds: list | tuple) -> list:
    """Return the names of the types of all beads of some kinds of molecules, in the order in which they come."""
    return list(dict.fromkeys(name for kind in kinds for name in kind.bead_types))
