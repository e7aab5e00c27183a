"""The volume of the beads' spheres, and the box that holds them at a packing fraction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.config.keys.values import Wrong

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import MoleculeSection

EITHER = {"size": "packing_fraction", "packing_fraction": "size"}
"""Keys of [box] of which one stands in place of the other."""


def bead_volume(kinds: Iterable) -> float:
    """Return the volume of the spheres of all beads, what bonded ones share counted twice [length^3].

    Parameters
    ----------
    kinds : sequence of MoleculeSection
    """
    return math.pi / 6.0 * math.fsum(kind.count * _cubes(kind) for kind in kinds)


def _cubes(kind: MoleculeSection) -> float:
    cubes = np.power(kind.diameter, 3)
    return float(np.sum(cubes)) if isinstance(kind.diameter, tuple) else kind.beads * float(cubes)


def require_one(values: dict) -> None:
    """Raise Wrong unless either size or packing_fraction is among the values of [box]."""
    fraction, size = values["packing_fraction"], values["size"]
    if fraction is not None and size is not None:
        raise Wrong("box.packing_fraction: stands beside box.size; give one of the two")
    if fraction is None and size is None:
        raise Wrong(
            "box.size: is missing; give edge lengths [length]: list of 3 × (number > 0); or box.packing_fraction "
            "in its place, for a cube"
        )


def with_size(values: dict, kinds: Sequence) -> dict:
    """Return the values of [box] with a size: that which is given, or a cube's that has the packing fraction.

    Parameters
    ----------
    values : dict
        Of the keys of [box], one of the two given; packing_fraction is not among those returned.
    kinds : sequence of MoleculeSection

    Raises
    ------
    Wrong
        When a start file alone knows the beads.
    """
    values = dict(values)
    fraction = values.pop("packing_fraction")
    if fraction is not None and not kinds:
        raise Wrong("box.packing_fraction: needs the [[molecule]] tables, for the beads' volume; give box.size")
    if fraction is not None:
        values["size"] = ((bead_volume(kinds) / fraction) ** (1.0 / 3.0),) * 3
    return values
