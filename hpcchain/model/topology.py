"""The box and the molecules of a checked input."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hpcchain.config.keys.sections import MoleculeSection
from hpcchain.model.composition import Composition, composition_of, running_sum
from hpcchain.model.molecules.bodies import body_sites, bond_lengths
from hpcchain.model.molecules.bonds import type_names
from hpcchain.model.system import FOLLOWS, OPEN, PERIODIC, WALL, Box, Topology

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config

MEASURES = "mass", "diameter"
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
    lengths = [bond_lengths(kind.sites) if kind.sites is not None else kind.bond_length for kind in kinds]
    pairs, begin = [np.zeros((0, 2), dtype=np.int64)], 0
    for kind in kinds:
        if kind.bond_count:
            start = first_bead[begin : begin + kind.count]
            pairs.append((kind.bond_table[None] + start[:, None, None]).reshape(-1, 2))
        begin += kind.count
    mass, diameter = (per_item(kinds, [getattr(kind, name) for kind in kinds], "beads") for name in MEASURES)
    moment = per_item(kinds, [given_moment(kind, config.is_rough) for kind in kinds], "beads")
    return Topology(
        names=tuple(kind.name for kind in kinds),
        kind=np.repeat(np.arange(len(kinds), dtype=np.int32), counts),
        first_bead=first_bead,
        first_bond=first_bond,
        bonds=np.concatenate(pairs),
        bond_length=per_item(kinds, lengths, "bond_count"),
        mass=mass,
        diameter=diameter,
        self_contact=np.repeat([kind.self_contact and not (kind.is_line or kind.is_body) for kind in kinds], counts),
        rod=np.repeat([kind.is_line for kind in kinds], counts),
        flexible=np.repeat([not kind.rigid for kind in kinds], counts),
        soft=per_item(kinds, [kind.hard for kind in kinds], "beads") == 0.0,
        bead_type=per_item(kinds, [own[0] if len(own) == 1 else own for own in types], "beads").astype(np.int32),
        moment=np.where(np.isnan(moment), mass * diameter**2 / 10.0, moment),
        exclude=np.repeat(np.array([kind.exclude for kind in kinds], dtype=np.int8), counts),
        type_names=tuple(numbers),
        fixed=per_item(kinds, [kind.pinned if kind.fixed else False for kind in kinds], "beads").astype(bool),
        body=np.repeat([kind.is_body for kind in kinds], counts),
        site=np.concatenate([sites_of(kind) for kind in kinds]) if any(kind.is_body for kind in kinds) else FOLLOWS,
    )


def sections_of(topology: Topology | Composition, directors: np.ndarray | None = None) -> tuple[MoleculeSection, ...]:
    """Return the [[molecule]] tables, without rows of a start, that `build_topology` makes molecules like these of.

    Rings and stars are graphs. `directors`: (K,) whether the molecules of each kind have them; none without it.
    """
    composition = composition_of(topology)
    one, found = composition.prototypes, []
    for k, copies in enumerate(composition.copies.tolist()):
        low, high = one.first_bead[k : k + 2].tolist()
        beads, bonds = slice(low, high), slice(*one.first_bond[k : k + 2].tolist())
        pairs, count = one.bonds[bonds] - low, high - low
        kind = "graph"
        if one.body[k]:
            kind = "rigid"
        elif count == 1:
            kind = "monomer"
        elif np.array_equal(pairs, np.arange(count - 1)[:, None] + [0, 1]):
            kind = "rod" if one.rod[k] else "chain"
        own = MoleculeSection(
            name=one.names[one.kind[k]],
            kind=kind,
            beads=count,
            count=copies,
            bonds=pairs if kind == "graph" else None,
            sites=one.site[beads] if kind == "rigid" else None,
            diameter=tuple(one.diameter[beads].tolist()),
            mass=tuple(one.mass[beads].tolist()),
            types=tuple(one.type_names[number] for number in one.bead_type[beads].tolist()),
            self_contact=bool(one.self_contact[k]) or kind in ("rod", "rigid"),
            exclude=int(one.exclude[k]),
            hard=tuple((~one.soft[beads]).tolist()),
            rigid=not one.flexible[k],
            fixed=tuple(np.flatnonzero(one.fixed[beads]).tolist()) or None,
            directors=directors is not None and bool(directors[one.kind[k]]),
        )
        lengths = tuple(one.bond_length[bonds].tolist())
        found.append(replace(own, bond_length=lengths) if len(lengths) and kind != "rigid" else own)
    return tuple(found)


def sites_of(kind: MoleculeSection) -> np.ndarray:
    """Return (count * beads, 3) places of beads along their bodies' axes, zeros where they are of none [length]."""
    if kind.sites is None:
        return np.broadcast_to(np.zeros(3), (kind.count * kind.beads, 3))
    mass = np.broadcast_to(np.asarray(kind.mass, dtype=np.float64), kind.beads)
    return np.tile(body_sites(kind.sites, mass), (kind.count, 1))


def given_moment(kind: MoleculeSection, rough: bool) -> float | tuple[float, ...]:
    """Return the moment of inertia of a kind's beads, not a number where it is that of a uniform sphere.

    That of smooth spheres with directors stands with these (`model.directors`); `rough`: whether contacts turn beads.
    """
    return math.nan if kind.moment is None or (kind.directors and not rough) else kind.moment


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
    first, numbers = [0], []
    for kind, value in zip(kinds, values, strict=True):
        numbers.extend(value if isinstance(value, (tuple, list, np.ndarray)) else [value] * getattr(kind, size))
        first.append(len(numbers))
    found = np.array(numbers, dtype=np.float64)
    if all(kind.count == 1 for kind in kinds):
        return found
    parts = zip(itertools.pairwise(first), (kind.count for kind in kinds), strict=True)
    return np.concatenate(
        [found[slice(*at)] if count == 1 else np.tile(found[slice(*at)], count) for at, count in parts]
    )
