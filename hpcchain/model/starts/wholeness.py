"""Make molecules whole that periodic sides cut, as positions wrapped into the box have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.errors import ConfigError
from hpcchain.model.molecules.exclusion import BondWalker
from hpcchain.model.starts.constraints import bond_vectors
from hpcchain.model.system import images_between

if TYPE_CHECKING:
    from hpcchain.model.system import Box

HALF = 0.5 - 1e-5
"""Of a periodic side: two images of a bead at this distance or more are told apart by rounding, or not at all."""
FARTHEST_IMAGE = 1e6
"""Box lengths: beads farther apart have lost 6 of the 16 digits of their place in the box."""


def beads_named(i: int, j: int) -> str:
    """Return what messages call two beads."""
    return f"beads {i} and {j}"


def made_whole(
    name: str,
    box: Box,
    bonds: np.ndarray,
    position: np.ndarray,
    length: np.ndarray,
    pair: Callable[[int, int], str] = beads_named,
) -> tuple[np.ndarray, np.ndarray]:
    """Return positions with each bead at the image that its bonds say, and how many box lengths each bond was cut by.

    The first bead of each molecule stays. A bond that fits its length as it is given, or as well as with the nearest
    image, is taken so; where all are, positions keep every bit.

    Parameters
    ----------
    name : str
        Where positions come from, for messages.
    box : Box
    bonds : (B, 2) int array
    position : (N, 3) float64 array
        [length]
    length : (B,) float64 array
        NaN where it is not known [length].
    pair : callable
        Returns what messages call two beads.

    Raises
    ------
    ConfigError
        Where a bond of unknown length is half a periodic side or more, so that it could be either of two. Where beads
        are too far from the box. Where bonds close on themselves through a periodic side: no molecule is whole then.
    """
    apart = bond_vectors(position, bonds)
    period = np.where(box.periodic, box.size, np.inf)
    images = images_between(apart, box.size, box.periodic)
    nearest = apart - images * box.size
    given, other = (np.abs(np.linalg.norm(vector, axis=1) - length) for vector in (apart, nearest))
    wide = np.abs(nearest) >= HALF * period
    for bond, axis in np.argwhere(wide & np.isnan(length)[:, None])[:1]:
        long = f"{abs(nearest[bond, axis]):.6g} long along axis {'xyz'[axis]}"
        raise ConfigError(
            f"{name}: the bond of {pair(*bonds[bond])} is {long}, half the periodic side {box.size[axis]:.6g} or more, "
            "so that their nearest images are not certain; enlarge the box"
        )
    for bond, axis in np.argwhere(np.abs(images) > FARTHEST_IMAGE)[:1]:
        raise ConfigError(
            f"{name}: {pair(*bonds[bond])} are bonded and {abs(images[bond, axis]):.3g} box lengths apart along axis "
            f"{'xyz'[axis]}, so far that rounding hides where they are in the box; give positions near the box"
        )
    images[given <= other] = 0.0
    if not images.any():
        return position, images
    shift = shifts_along(bonds, images, len(position))
    for bond in np.flatnonzero((bond_vectors(shift, bonds) + images).any(axis=1))[:1]:
        raise ConfigError(
            f"{name}: the bonds of the molecule of {pair(*bonds[bond])} close on themselves through a periodic side, "
            "so that it has no end; leave a bond out, or enlarge the box"
        )
    return position + shift * box.size, images


def shifts_along(bonds: np.ndarray, images: np.ndarray, beads: int) -> np.ndarray:
    """Return by how many box lengths (beads, 3) beads are moved that the first of their molecule reaches by bonds."""
    walker, shift, seen = BondWalker(beads, bonds), np.zeros((beads, 3)), set[int]()
    for first in np.unique(bonds).tolist():
        for bead, parent, bond in [] if first in seen else walker.walk(first):
            seen.add(bead)
            if bond >= 0:
                shift[bead] = shift[parent] + (images[bond] if bonds[bond, 0] == bead else -images[bond])
    return shift
