"""The box and the molecules of a checked input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hpcchain.config.keys.sections import MoleculeSection
from hpcchain.model.composition import Composition, running_sum
from hpcchain.model.molecules.bodies import body_sites, bond_lengths
from hpcchain.model.molecules.bonds import type_names
from hpcchain.model.system import BOUNDARIES, FOLLOWS, Box, Topology

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import BoxSection, Config

MEASURES = "mass", "diameter"


def build_box(section: BoxSection) -> Box:
    """Return the Box of [box]."""
    size, origin = (np.array(one, dtype=np.float64) for one in (section.size, section.origin))
    return Box(size, origin, np.array([BOUNDARIES.index(name) for name in section.boundary], dtype=np.int8))


def build_composition(config: Config) -> Composition:
    """Return the Composition of an input: kinds in the file's order, equal molecules one after another.

    Parameters
    ----------
    config : Config
        A checked input.
    """
    kinds = config.molecules
    return Composition(
        prototypes=_one_of_each(kinds, config.is_rough),
        run=np.arange(len(kinds)),
        first_molecule=running_sum([kind.count for kind in kinds]),
        first_bead=running_sum([kind.count * kind.beads for kind in kinds]),
        first_bond=running_sum([kind.count * kind.bond_count for kind in kinds]),
    )


def _one_of_each(kinds: Sequence[MoleculeSection], rough: bool) -> Topology:
    """Return the Topology of one molecule of each kind; `rough`: whether contacts turn beads."""
    first_bead = running_sum([kind.beads for kind in kinds])
    bonds = [kind.bond_table + first for kind, first in zip(kinds, first_bead, strict=False) if kind.bond_count]
    numbers = {name: k for k, name in enumerate(type_names(kinds))}
    types = [[numbers[name] for name in kind.bead_types] for kind in kinds]
    lengths = [bond_lengths(kind.sites) if kind.sites is not None else kind.bond_length for kind in kinds]
    mass, diameter = (per_item(kinds, [getattr(kind, name) for kind in kinds], "beads") for name in MEASURES)
    # Not a number where it is a uniform sphere's; that of smooth spheres with directors stands with these.
    own = [math.nan if kind.moment is None or (kind.directors and not rough) else kind.moment for kind in kinds]
    moment = per_item(kinds, own, "beads")
    return Topology(
        names=tuple(kind.name for kind in kinds),
        kind=np.arange(len(kinds), dtype=np.int32),
        first_bead=first_bead,
        first_bond=running_sum([kind.bond_count for kind in kinds]),
        bonds=np.concatenate([np.zeros((0, 2), dtype=np.int64), *bonds]),
        bond_length=per_item(kinds, lengths, "bond_count"),
        mass=mass,
        diameter=diameter,
        self_contact=np.array([kind.self_contact and not (kind.is_line or kind.is_body) for kind in kinds], dtype=bool),
        rod=np.array([kind.is_line for kind in kinds], dtype=bool),
        flexible=np.array([not kind.rigid for kind in kinds], dtype=bool),
        soft=per_item(kinds, [kind.hard for kind in kinds], "beads") == 0.0,
        bead_type=per_item(kinds, [own[0] if len(own) == 1 else own for own in types], "beads").astype(np.int32),
        moment=np.where(np.isnan(moment), mass * diameter**2 / 10.0, moment),
        exclude=np.array([kind.exclude for kind in kinds], dtype=np.int8),
        type_names=tuple(numbers),
        fixed=per_item(kinds, [kind.pinned if kind.fixed else False for kind in kinds], "beads").astype(bool),
        body=np.array([kind.is_body for kind in kinds], dtype=bool),
        site=np.concatenate([sites_of(kind) for kind in kinds]) if any(kind.is_body for kind in kinds) else FOLLOWS,
    )


def sites_of(kind: MoleculeSection) -> np.ndarray:
    """Return (beads, 3) places of a molecule's beads along its body's axes, zeros where it is none [length]."""
    if kind.sites is None:
        return np.zeros((kind.beads, 3))
    return body_sites(kind.sites, np.broadcast_to(np.asarray(kind.mass, dtype=np.float64), kind.beads))


def per_item(kinds: Sequence[MoleculeSection], values: Sequence[ArrayLike], size: str) -> np.ndarray:
    """Return one float64 value per bead or bond of a molecule of each kind, which has one for all of them or a list."""
    each = zip(kinds, values, strict=True)
    numbers = [np.broadcast_to(np.asarray(value, np.float64), getattr(kind, size)) for kind, value in each]
    return np.concatenate([np.zeros(0), *numbers])
