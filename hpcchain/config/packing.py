"""The volume of the beads' spheres, and the box that holds them at a packing fraction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.config.keys.values import Wrong

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import BoxSection, MoleculeSection

EITHER = {"size": "packing_fraction", "packing_fraction": "size"}
"""Keys of [box] of which one stands in place of the other."""


def bead_volume(kinds: Iterable[MoleculeSection]) -> float:
    """Return the volume of the spheres of all beads, what bonded ones share counted twice [length^3]."""
    return math.pi / 6.0 * math.fsum(kind.count * cubes(kind) for kind in kinds)


def cubes(kind: MoleculeSection) -> float:
    """Return the sum of the cubes of the diameters of one molecule's beads [length^3]."""
    each = np.power(kind.diameter, 3)
    return float(np.sum(each)) if isinstance(kind.diameter, tuple) else kind.beads * float(each)


def require_one(box: BoxSection) -> None:
    """Raise Wrong unless either size or packing_fraction is among the keys of [box] that are given."""
    if box.packing_fraction is not None and box.size is not None:
        raise Wrong("box.packing_fraction: stands together with box.size; give one of the two")
    if box.packing_fraction is None and box.size is None:
        raise Wrong(
            "box.size: is missing; give edge lengths [length]: number > 0, or a list of 3; or box.packing_fraction "
            "in its place, for a cube"
        )


def with_size(box: BoxSection, kinds: Sequence[MoleculeSection]) -> BoxSection:
    """Return [box] with a size, that which is given, or a cube's that has the packing fraction.

    Raises Wrong when a start file alone knows the beads.
    """
    if box.packing_fraction is None:
        return box
    if not kinds:
        raise Wrong("box.packing_fraction: needs the [[molecule]] tables, for the beads' volume; give box.size")
    edge = (bead_volume(kinds) / box.packing_fraction) ** (1.0 / 3.0)
    return replace(box, size=(edge,) * 3, packing_fraction=None)
