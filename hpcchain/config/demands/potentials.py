"""The [[potential]] tables: which keys each has, files of users' own, steps and limits, and what each acts on.

A potential, or pair of [contact], that can act on nothing is a mistake.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hpcchain.config.demands.contacts import require_types
from hpcchain.config.keys.key import numbered, required
from hpcchain.config.keys.schema import read_sections, require_own
from hpcchain.config.keys.sections import PotentialSection
from hpcchain.config.keys.values import Wrong
from hpcchain.config.text import content, digest
from hpcchain.errors import ConfigError
from hpcchain.model.molecules.bonds import type_names
from hpcchain.model.physics.extended import LEVELS, type_pairs
from hpcchain.model.physics.step_potentials import CLOSEST, pairs_apart

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config, MoleculeSection


def read_potentials(tables: object, source: str) -> tuple[PotentialSection, ...]:
    """Return the PotentialSections of what TOML holds under "potential"; raises Wrong with key and reason.

    Names of files are relative to the input's file, `source`.
    """
    return tuple(finish(one, where, source) for where, one in numbered(read_sections(PotentialSection, tables)))


def finish(one: PotentialSection, where: str, source: str) -> PotentialSection:
    """Return a potential with what follows when left out; raises Wrong where it has too much or too little."""
    name = one.name
    if name == "module" and one.on is None:
        raise Wrong(f'{where}.on: is missing; "module" needs it')
    others = {key: on for key, on in OF_MODULES.items() if name == "module" and on != one.on}
    require_own(one, f'"{name}"', where, {*OPTIONAL, *others})
    for key, on in others.items():
        if getattr(one, key) is not None:
            raise Wrong(f'{where}.{key}: means nothing on "{one.on}", only on "{on}"; remove it')
    if name == "steps":
        require_steps(required(one.distances), required(one.energies), where)
    if name in one.keys()["shift"].of and one.on in (None, "pair"):
        one = replace(one, shift=one.shift is not False)
    return with_file(one, where, source) if name == "module" else one


def require_steps(distances: tuple[float, ...], energies: tuple[float, ...], where: str) -> None:
    """Raise Wrong unless distances of a potential's steps ascend, and energies have a step at each."""
    if not 0 < len(distances) < LEVELS:
        raise Wrong(f"{where}.distances: {len(distances)} of them, not from 1 to {LEVELS - 1}")
    if len(energies) != len(distances):
        raise Wrong(f"{where}.energies: {len(energies)} of them for {len(distances)} distances; give one for each")
    if any(b <= a * (1.0 + CLOSEST) for a, b in pairwise(distances)):
        raise Wrong(f"{where}.distances: {[*distances]} do not ascend, each by a millionth at least")
    if any(a == b for a, b in pairwise([*energies, 0.0])):
        raise Wrong(f"{where}.energies: {[*energies]} has a step of no height; leave that distance out")


def with_file(one: PotentialSection, where: str, source: str) -> PotentialSection:
    """Return a user's own potential with the whole name of its file and the digest of that."""
    if one.cutoff == "none":
        raise Wrong(f'{where}.cutoff: "none" is only for "lennard-jones"; give a number')
    if one.on == "center" and one.types is not None:
        raise Wrong(f'{where}.types: means nothing on "center", which draws all beads; remove it')
    file = os.path.abspath(os.path.join(os.path.dirname(source), one.file or ""))
    try:
        return replace(one, file=file, digest=one.digest or digest(content(file)))
    except ConfigError as error:
        raise Wrong(f"{where}.file: {error}") from None


OF_MODULES = {"cutoff": "pair", "shift": "pair", "center": "center"}
"""Keys of a user's own potential, and what it must act on for these."""
OPTIONAL = ("types", "shift", "digest")

EDGES = 3  # of a periodic box, in the greatest distance at which beads act on one another, at least
NEAREST_IMAGE = 2  # the same, in the length that a bond is to have
SHARES = {EDGES: "a third", NEAREST_IMAGE: "half"}

NARROWEST = 1e-3
"""Of a distance: how far limits are apart which random starts find."""
ANGLES = 4001
"""Angles at which it is looked how near the ends of four beads come."""


def check_step_potentials(config: Config) -> None:
    """Check types, that no pair has two potentials, and that distances are beyond contact and within the box.

    Bridges of pairs are such potentials, too.
    """
    given = [(where, one.types, "distances", one.distances or ()) for where, one in numbered(config.potentials)]
    given += [
        (where, one.types, "bridge_distance", (one.bridge_distance,))
        for where, one in numbered(config.contact.pairs)
        if one.bridge_distance is not None
    ]
    if not given:
        return
    largest = {name: one.largest for name, one in types_in(config).items()}
    taken: dict[tuple[str, str], str] = {}
    for where, types, name, distances in given:
        require_types(types or (), largest, where)
        key = f"{where}.{name}"
        for pair in type_pairs(types, list(largest)):
            if pair in taken:
                raise Wrong(f"{where}: pairs of {pair[0]} and {pair[1]} have {taken[pair]} already")
            taken[pair] = where
            contact = 0.5 * (largest[pair[0]] + largest[pair[1]])
            if distances[0] <= contact * (1.0 + CLOSEST):
                raise Wrong(
                    f"{key}: {distances[0]:g} is not beyond the contact distance {contact:g} of "
                    f"{pair[0]} and {pair[1]}; enlarge it"
                )
        require_long_sides(config, key, distances[-1])


def require_long_sides(config: Config, key: str, distance: float, edges: int = EDGES) -> None:
    """Raise Wrong where a periodic side is too short for beads that act on one another at a distance."""
    for axis, (size, boundary) in enumerate(zip(config.box.size, config.box.boundary, strict=True)):
        if boundary == "periodic" and size < edges * distance:
            raise Wrong(
                f"{key}: {distance:g} is more than {SHARES[edges]} of the periodic side {size:g} along axis {axis}; "
                "enlarge box.size or shorten the distance"
            )


def check_limits(config: Config, kind: MoleculeSection, key: str) -> None:
    """Check that a kind has beads so far apart, and that bonds and beads leave them such distances."""
    if not kind.distance_limits:
        return
    separations = [separation for separation, _, _ in kind.distance_limits]
    if len(set(separations)) < len(separations):
        raise Wrong(f"{key}: separation {max(separations, key=separations.count)} stands there twice; give it once")
    bonds = kind.bond_table
    lengths = np.broadcast_to(kind.bond_length, len(bonds))
    diameter = np.broadcast_to(kind.diameter, kind.beads)
    for separation, least, most in kind.distance_limits:
        if least >= most:
            raise Wrong(f"{key}: least = {least:g} is not below most = {most:g}")
        pairs = pairs_apart(kind.beads, bonds, separation)
        if not len(pairs):
            raise Wrong(f"{key}: no beads are {separation} bonds apart; remove it")
        farthest = separation * float(lengths.max())
        if least >= farthest * (1.0 - CLOSEST):
            raise Wrong(f"{key}: least = {least:g} is farther than {separation} bonds reach, {farthest:g}; lower it")
        contact = 0.5 * float((diameter[pairs[:, 0]] + diameter[pairs[:, 1]]).max())
        if kind.self_contact and separation > kind.exclude and most <= contact * (1.0 + CLOSEST):
            raise Wrong(f"{key}: most = {most:g} is not beyond the contact distance {contact:g}; enlarge it")
        if separation == 2 and most <= float(np.ptp(lengths)) * (1.0 + CLOSEST):
            raise Wrong(f"{key}: most = {most:g} is nearer than two of the bonds let beads come; enlarge it")
        require_long_sides(config, key, most)
        narrowest = NARROWEST if config.initial.method == "grow" else CLOSEST
        if most - least < narrowest * most:
            raise Wrong(
                f"{key}: least = {least:.12g} and most = {most:.12g} are nearer to each other than a part "
                f"{narrowest:g} of them, which no random start finds, and runs hardly get on; widen them, or "
                'hold these beads by a bond: kind = "graph"'
            )
    check_together(kind, lengths, diameter, key)


def check_together(
    kind: MoleculeSection, lengths: NDArray[np.float64], diameter: NDArray[np.float64], key: str
) -> None:
    """Check that beads can keep all limits at once, by triangle inequalities and, of four in a row, by their planes."""
    limits = {separation: (least, most) for separation, least, most in kind.distance_limits}
    low, high = {1: float(lengths.min())}, {1: float(lengths.max())}
    for separation in range(2, max(limits) + 1):
        parts = [(i, separation - i) for i in range(1, separation)]
        nearest = max([0.0, *(low[i] - high[j] for i, j in parts)])
        farthest = min(high[i] + high[j] for i, j in parts)
        if separation == 3 and low[1] == high[1]:
            nearest, farthest = four_in_a_row(low[1], max(low[2], high[2] * 1e-9), high[2])
        if kind.self_contact and separation > kind.exclude:
            nearest = max(nearest, float(diameter.min()))
        least, most = limits.get(separation, (0.0, np.inf))
        if least >= farthest * (1.0 - CLOSEST) or most <= nearest * (1.0 + CLOSEST):
            raise Wrong(
                f"{key}: beads {separation} bonds apart are to be {least:g} to {most:g} apart, but bonds and the other "
                f"limits leave them {nearest:.6g} to {farthest:.6g}; change one of these limits"
            )
        low[separation], high[separation] = max(nearest, least), min(farthest, most)


def four_in_a_row(bond: float, low: float, high: float) -> tuple[float, float]:
    """Return between which distances the ends of four beads can be, joined by equal bonds [length].

    They are nearest where all four are in a plane on one side, farthest where on both.

    Parameters
    ----------
    bond : float
    low, high : float
        Between which distances each end is from the inner bead that it is not bonded to [length].
    """
    first, last = (2.0 * np.arcsin(min(0.5 * end / bond, 1.0)) for end in (low, high))
    angle = np.linspace(first, last, ANGLES)
    other = np.stack([bond - bond * np.cos(angle), bond * np.sin(angle)])
    distance, seen = np.hypot(*other), np.arctan2(other[1], other[0])
    off = np.clip(seen, first, last) - seen
    squared = bond**2 + distance**2 - 2.0 * bond * distance * np.cos(off)
    between = 0.5 * bond * (last - first) / (ANGLES - 1)
    nearest = np.sqrt(np.maximum(squared, 0.0)).min() - between  # less by what it can be between two angles
    return max(float(nearest), 0.0), float(np.hypot(bond - 2.0 * bond * np.cos(last), 2.0 * bond * np.sin(last)))


PAIRS, BONDS = ("lennard-jones", "wca"), ("harmonic", "fene")
Types: TypeAlias = frozenset[str]
"""Of the two beads of a bond, one where they are equal."""
Kind: TypeAlias = "tuple[str, MoleculeSection, dict[Types, float]]"
"""A kind of molecules behind how messages call it, and its `longest_bonds`."""
WCA = 2.0 ** (1.0 / 6.0)
"""Cutoff of a purely repulsive Lennard-Jones potential, in units of sigma."""


def longest_bonds(kind: MoleculeSection) -> dict[Types, float]:
    """Return the types of the two beads of each bond of a kind, and how long the longest of these is [length]."""
    if len(kind.bead_types) == 1 and np.ndim(kind.bond_length) == 0:  # also of molecules that no memory holds
        return {frozenset(kind.bead_types): float(np.max(kind.bond_length))} if kind.bond_count else {}
    names, table = types_of_beads(kind), kind.bond_table
    length = np.broadcast_to(kind.bond_length, len(table))
    found: dict[Types, float] = {}
    for (one, other), size in zip(names[table].tolist(), length.tolist(), strict=True):
        types = frozenset((one, other))
        found[types] = max(found.get(types, 0.0), size)
    return found


def types_of_beads(kind: MoleculeSection) -> NDArray[np.object_]:
    """Return the type (n,) of each bead of one molecule."""
    return np.broadcast_to(np.array(kind.bead_types, dtype=object), kind.beads)


class TypeOfBeads(NamedTuple):
    """Greatest inverse mass [1 / mass], least and largest diameter [length], whether all or some have a hard core."""

    slowness: float
    least: float
    largest: float
    hard: bool
    some_hard: bool


def types_in(config: Config) -> dict[str, TypeOfBeads]:
    """Return what each type of beads has, in the types' order."""
    found: dict[str, TypeOfBeads] = {}
    for kind in config.molecules:
        soft, diameter = np.atleast_1d(kind.soft), np.atleast_1d(kind.diameter)
        columns = (np.array(kind.bead_types, dtype=object), slowness_of(kind), diameter, soft)
        rows = np.stack(np.broadcast_arrays(*(column.astype(object) for column in columns)), axis=1)
        for name, slowness, size, is_soft in dict.fromkeys(map(tuple, rows.tolist())):
            one = found.get(name, TypeOfBeads(slowness, size, size, not is_soft, not is_soft))
            found[name] = TypeOfBeads(
                max(one.slowness, slowness),
                min(one.least, size),
                max(one.largest, size),
                one.hard and not is_soft,
                one.some_hard or not is_soft,
            )
    return found


def slowness_of(kind: MoleculeSection) -> NDArray[np.float64]:
    """Return the inverse masses by which forces move a kind's beads at least, 0 of fixed ones: (beads,) or one for all.

    Beads of a rigid molecule move with it as a whole, if nothing turns [1 / mass].
    """
    mass = np.atleast_1d(np.asarray(kind.mass, dtype=float))
    if kind.rigid and not kind.fixed:
        return np.full(1, 1.0 / (mass.sum() if len(mass) == kind.beads else kind.beads * mass[0]))
    return np.where(kind.pinned, 0.0, 1.0 / mass) if kind.fixed else 1.0 / mass


def sort_of(one: PotentialSection) -> str:
    """Return what a potential is of: "pairs", "bonds" or "center"."""
    if one.name == "module":
        return {"pair": "pairs", "bond": "bonds"}.get(one.on or "", "center")
    return "pairs" if one.name in PAIRS else "bonds" if one.name in BONDS else "center"


def check_acting(config: Config) -> None:
    """Raise Wrong, with key and reason, where a potential or pair of coefficients can act on nothing.

    Parameters
    ----------
    config : Config
        Of the engine of steps, its molecules checked; the engine of events has wells beyond contact alone.
    """
    kinds = [(where, kind, longest_bonds(kind)) for where, kind in numbered(config.molecules)]
    check_bonds(config, kinds)
    others = any(sort_of(one) == "pairs" for one in config.potentials)
    others = others or any(one.some_hard for one in types_in(config).values())
    for where, one in numbered(config.potentials):
        if one.name == "harmonic" and (others or config.initial.method == "grow"):  # bonds alone have no lists
            require_long_sides(config, f"{where}.length", required(one.length), NEAREST_IMAGE)
        if config.initial.method == "grow" and one.name == "fene":
            check_fene(one, where, kinds)
        if sort_of(one) == "pairs":
            check_beyond_contact(config, one, where)
    check_cores(config)


def check_bonds(config: Config, kinds: list[Kind]) -> None:
    """Check that each flexible bond of some kinds has a potential, and each potential of bonds a flexible bond."""
    potentials = [(where, one) for where, one in numbered(config.potentials) if sort_of(one) == "bonds"]
    for where, kind, longest in kinds:
        loose = [types for types in longest if not any(holds(one, types) for _, one in potentials)]
        if loose and not kind.rigid:
            raise Wrong(
                f"{where}.rigid: no [[potential]] holds the bonds of {named(loose[0])}; add one of name "
                '"harmonic" or "fene"'
            )
    for where, one in potentials:
        those = {place: kind for place, kind, longest in kinds if any(holds(one, types) for types in longest)}
        if not all(kind.rigid for kind in those.values()):
            continue
        if not those:
            what = "no molecule has bonds" if one.types is None else f"no bond joins {named(frozenset(one.types))}"
            raise Wrong(f"{where}: {what}, so it acts on nothing; remove it, or correct its types")
        bends = next((place for place, kind in those.items() if not (kind.is_line or kind.is_body)), None)
        cure = f"set {bends}.rigid = false" if bends else 'choose kind = "chain" with rigid = false'
        raise Wrong(f"{where}: no bond is flexible, so it acts on nothing; {cure}, or remove it")


def holds(one: PotentialSection, types: Types) -> bool:
    """Return whether a potential of bonds is for those of two types of beads."""
    return one.types is None or types == frozenset(one.types)


def named(types: Types) -> str:
    """Return the names of two types, of which there may be one twice."""
    names = sorted(types)
    return f"{names[0]} and {names[-1]}"


def check_fene(one: PotentialSection, where: str, kinds: list[Kind]) -> None:
    """Check that a start that is grown has no bond as long as its potential allows at most."""
    most = required(one.length)
    for place, kind, longest in kinds:
        lengths = [length for types, length in longest.items() if holds(one, types)]
        if not kind.rigid and max(lengths, default=0.0) >= most:
            raise Wrong(
                f"{place}.bond_length: {max(lengths):g} is not below {where}.length = {most:g}, at which "
                "fene bonds tear; shorten it, or enlarge that"
            )


def check_beyond_contact(config: Config, one: PotentialSection, where: str) -> None:
    """Check that a potential of pairs reaches beyond contact for some two beads, where all of them have hard cores."""
    cutoff = WCA * one.sigma if one.name == "wca" and one.sigma else one.cutoff
    if not isinstance(cutoff, float) or not all(kind.self_contact for kind in config.molecules):
        return
    least = {name: each.least if each.hard else 0.0 for name, each in types_in(config).items()}
    pairs = [tuple(one.types)] if one.types else [(a, b) for a in least for b in least]
    near = [0.5 * (least[a] + least[b]) if least[a] and least[b] else 0.0 for a, b in pairs]
    if cutoff <= min(near) * (1.0 + CLOSEST):
        key = "sigma" if one.name == "wca" else "cutoff"
        raise Wrong(
            f"{where}.{key}: it ends at {cutoff:g}, not beyond the contact distance {min(near):g} of hard cores, so "
            "it acts on nothing; enlarge it, or set molecule.hard = false"
        )


def check_cores(config: Config) -> None:
    """Check that coefficients of contacts are of beads with hard cores."""
    names = type_names(config.molecules)
    hard = {name for name, one in types_in(config).items() if one.some_hard}
    given = {"restitution": config.contact.restitution != 1.0, "simultaneous": config.contact.simultaneous != "joint"}
    for key, there in given.items() if not hard else ():
        if there:
            raise Wrong(f"contact.{key}: no bead has a hard core, so it acts on nothing; remove it")
    for where, one in numbered(config.contact.pairs):
        soft = [name for name in one.types if name in names and name not in hard]
        if soft:
            raise Wrong(
                f"{where}.types: beads of {soft[0]} have no hard core, so it acts on nothing; remove it, "
                "or set molecule.hard = true"
            )


def pairs_that_are_none(config: Config) -> list[str]:
    """Return lines on potentials of pairs of which there is no pair: a table of all types may be meant."""
    count: dict[str, int] = {}
    for kind in config.molecules:
        for name in kind.bead_types:
            count[name] = count.get(name, 0) + kind.count * (kind.beads if len(kind.bead_types) == 1 else 1)
    lines = []
    for where, one in numbered(config.potentials):
        if one.name != "steps" and sort_of(one) != "pairs":
            continue
        few = sum(count.values()) < 2 if one.types is None else len(set(one.types)) == 1 and count[one.types[0]] < 2
        if few:
            of = "" if one.types is None else f" of type {one.types[0]}"
            lines.append(f"{where} acts on nothing: there is but one bead{of}")
    return lines
