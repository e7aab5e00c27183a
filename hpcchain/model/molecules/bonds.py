"""Which beads of a molecule are bonded, by its kind, how bonds change with places, and the names of beads' types."""

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from hpcchain.model.molecules.bodies import body_bonds


class Typed(Protocol):
    """A kind of molecules, as the input has it."""

    @property
    def bead_types(self) -> tuple[str, ...]:
        """The type of each bead of a molecule, or one for all."""


def bond_table(
    beads: int,
    bonds: np.ndarray | None = None,
    sites: np.ndarray | None = None,
    arm_beads: int | None = None,
    closed: bool = False,
) -> np.ndarray:
    """Return the (bonds, 2) int64 array of the bonds of one molecule, beads counted from 0, lower first.

    A chain's bonds (l, l + 1) are in chain order, a ring's closing bond (0, n - 1) comes last, a star's arms follow one
    another, each from the centre outwards. Those of a rigid body are only drawn.

    Parameters
    ----------
    beads : int
    bonds : (b, 2) int64 array, optional
        Of a graph.
    sites : (beads, 3) float64 array, optional
        Of a rigid body [length].
    arm_beads : int, optional
        Of a star.
    closed : bool
        Whether it is a ring.
    """
    first = np.arange(beads - 1, dtype=np.int64)
    if bonds is not None:
        return np.sort(bonds, axis=1)
    if sites is not None:
        return body_bonds(sites)
    if arm_beads is not None:
        first = np.where(first % arm_beads == 0, 0, first)
    found = np.column_stack([first, np.arange(1, beads, dtype=np.int64)])
    return np.vstack([found, [[0, beads - 1]]]) if closed else found


def type_names(kinds: Iterable[Typed]) -> list[str]:
    """Return the names of the types of all beads of some kinds of molecules, in the order in which they come."""
    return list(dict.fromkeys(name for kind in kinds for name in kind.bead_types))


def gradient(bonds: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return G (bonds, 3 n) of the squares of bond vectors over 2."""
    g = np.zeros((len(bonds), len(x), 3))
    row = np.arange(len(bonds))
    d = x[bonds[:, 1]] - x[bonds[:, 0]]
    g[row, bonds[:, 1]], g[row, bonds[:, 0]] = d, -d
    return g.reshape(len(bonds), -1)
