"""The box and the molecules of a checked input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hpcchain.model.composition import Composition, running_sum
from hpcchain.model.molecules.bodies import body_sites, bond_lengths
from hpcchain.model.molecules.bonds import type_names
from hpcchain.model.system import FOLLOWS, OPEN, PERIODIC, WALL, Box, Topology

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config, MoleculeSection

BOUNDARY = {"periodic": PERIODIC, "wall": WALL, "open": OPEN}


def build_box(config: Config) -> Box:
    """Return the Box of an input.

    Parameters
    ----------
    config : Config
        A checked input.
    """
    section = config.box
    return Box(
        size=np.array(section.size, dtype=np.float64),
        origin=np.array(section.origin, dtype=np.float64),
        boundary=np.array([BOUNDARY[name] for name in section.boundary], dtype=np.int8),
    )


def build_topology(config: Config) -> Topology:
    """Return the Topology of an input: kinds in the file's order, equal molecules one after another.

    Parameters
    ----------
    config : Config
        A checked input.
    """
    kinds = config.molecules
    counts = [kind.count for kind in kinds]
    beads = np.repeat([kind.beads for kind in kinds], counts)
    bonds = np.repeat([kind.bond_count for kind in kinds], counts)
    first_bead, first_bond = running_sum(beads), running_sum(bonds)
    numbers = {name: k for k, name in enumerate(type_names(kinds))}
    types = [[numbers[name] for name in kind.bead_types] for kind in kinds]
    shapes = [sites_of(kind) for kind in kinds]
    lengths = [kind.bond_length if kind.sites is None else bond_lengths(kind.sites) for kind in kinds]
    pairs, begin = [], 0
    for kind in kinds:
        start = first_bead[begin : begin + kind.count]
        pairs.append((kind.bond_table[None] + start[:, None, None]).reshape(-1, 2))
        begin += kind.count
    return Topology(
        names=tuple(kind.name for kind in kinds),
        kind=np.repeat(np.arange(len(kinds), dtype=np.int32), counts),
        first_bead=first_bead,
        first_bond=first_bond,
        bonds=np.concatenate(pairs),
        bond_length=per_item(kinds, lengths, "bond_count"),
        mass=per_item(kinds, [kind.mass for kind in kinds], "beads"),
        diameter=per_item(kinds, [kind.diameter for kind in kinds], "beads"),
        self_contact=np.repeat([kind.self_contact and not (kind.is_line or kind.is_body) for kind in kinds], counts),
        rod=np.repeat([kind.is_line for kind in kinds], counts),
        flexible=np.repeat([not kind.rigid for kind in kinds], counts),
        soft=per_item(kinds, [kind.soft for kind in kinds], "beads").astype(bool),
        bead_type=per_item(kinds, types, "beads").astype(np.int32),
        moment=np.concatenate([moments(kind, config.is_rough) for kind in kinds]) if kinds else np.zeros(0),
        exclude=np.repeat(np.array([kind.exclude for kind in kinds], dtype=np.int8), counts),
        type_names=tuple(numbers),
        fixed=per_item(kinds, [kind.pinned for kind in kinds], "beads").astype(bool),
        body=np.repeat([kind.is_body for kind in kinds], counts),
        site=np.concatenate(shapes) if any(kind.is_body for kind in kinds) else FOLLOWS,
    )


def sites_of(kind: MoleculeSection) -> np.ndarray:
    """Return (count * beads, 3) places of beads along their bodies' axes, zeros where they are of none [length]."""
    if kind.sites is None:
        return np.broadcast_to(np.zeros(3), (kind.count * kind.beads, 3))
    mass = np.broadcast_to(np.asarray(kind.mass, dtype=np.float64), kind.beads)
    return np.tile(body_sites(kind.sites, mass), (kind.count, 1))


def moments(kind: MoleculeSection, rough: bool) -> np.ndarray:
    """Return the moment of inertia of each bead of a kind's molecules; of a uniform sphere unless it is given.

    That of smooth spheres with directors stands with these (`model.directors`); `rough`: whether contacts turn beads.
    """
    one = kind.moment
    if one is None or (kind.directors and not rough):
        one = np.asarray(kind.mass) * np.asarray(kind.diameter) ** 2 / 10.0
    one = np.broadcast_to(np.asarray(one, dtype=np.float64), kind.beads)
    return np.broadcast_to(one, (kind.count, kind.beads)).ravel()


def build_composition(config: Config) -> Composition:
    """Return the Composition of an input: `build_topology` in memory that does not grow with the molecules' number.

    Parameters
    ----------
    config : Config
        A checked input.
    """
    kinds = config.molecules
    counts = [kind.count for kind in kinds]
    return Composition(
        prototypes=build_topology(replace(config, molecules=[replace(kind, count=1) for kind in kinds])),  # type: ignore[arg-type]
        run=np.arange(len(kinds)),
        first_molecule=running_sum(counts),
        first_bead=running_sum([kind.count * kind.beads for kind in kinds]),
        first_bond=running_sum([kind.count * kind.bond_count for kind in kinds]),
    )


def per_item(kinds: Sequence[MoleculeSection], values: Sequence[ArrayLike], size: str) -> np.ndarray:
    """Return one float64 value per bead or bond of all molecules, of what each kind has: one for all or a list."""
    blocks = []
    for kind, value in zip(kinds, values, strict=True):
        one = np.broadcast_to(np.asarray(value, dtype=np.float64), getattr(kind, size))
        blocks.append(np.broadcast_to(one, (kind.count, len(one))).ravel())
    return np.concatenate(blocks)
