"""What each potential and pair of [contact] acts on: one that can act on nothing is a mistake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hpcchain.config.keys.key import required
from hpcchain.config.keys.values import Wrong
from hpcchain.model.molecules.bonds import bond_table, type_names
from hpcchain.model.physics.step_potentials import CLOSEST

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config, MoleculeSection, PotentialSection

PAIRS, BONDS = ("lennard-jones", "wca"), ("harmonic", "fene")
Types: TypeAlias = frozenset[str]
"""Of the two beads of a bond, one where they are equal."""
WCA = 2.0 ** (1.0 / 6.0)
"""Cutoff of a purely repulsive Lennard-Jones potential, in units of sigma."""


@dataclass(frozen=True)
class Bonds:
    """The bonds of one kind of molecules.

    Attributes
    ----------
    where : str
        How messages call the kind.
    flexible : bool
        Whether potentials are to hold them.
    longest : dict of frozenset -> float
        Types of the two beads of each, and the length of the longest of these [length].
    bends : bool
        Whether they may be made flexible: those of a chain, say, not of a rod.
    """

    where: str
    flexible: bool
    longest: dict[Types, float]
    bends: bool = True


def bonds_of(kind: MoleculeSection, where: str) -> Bonds:
    """Return the Bonds of a [[molecule]]."""
    if len(kind.bead_types) == 1 and np.ndim(kind.bond_length) == 0:  # also of molecules that no memory holds
        found = {frozenset(kind.bead_types): float(np.max(kind.bond_length))} if kind.bond_count else {}
        return Bonds(where, not kind.rigid, found, not (kind.is_line or kind.is_body))
    names, table = types_of_beads(kind), bond_table(kind)
    length = np.broadcast_to(kind.bond_length, len(table)) if len(table) else np.zeros(0)
    found = longest_of(names[table[:, 0]], names[table[:, 1]], length)
    return Bonds(where, not kind.rigid, found, not (kind.is_line or kind.is_body))


def longest_of(
    first: NDArray[np.object_], second: NDArray[np.object_], length: NDArray[np.float64]
) -> dict[Types, float]:
    """Return the two types of bonds (b,), whose beads are of types `first` and `second`, with the greatest length."""
    found: dict[Types, float] = {}
    for one, other, size in zip(first, second, length.tolist(), strict=True):
        types = frozenset((one, other))
        found[types] = max(found.get(types, 0.0), size)
    return found


def types_of_beads(kind: MoleculeSection) -> NDArray[np.object_]:
    """Return the type (n,) of each bead of one molecule."""
    return np.broadcast_to(np.array(kind.bead_types, dtype=object), kind.beads)


def sorts_of(kind: MoleculeSection) -> NDArray[np.object_]:
    """Return (n, 3) types, diameters [length] and softness of a molecule's beads: one row where all are equal."""
    columns = (np.array(kind.bead_types, dtype=object), np.atleast_1d(kind.diameter), np.atleast_1d(kind.soft))
    return np.stack(np.broadcast_arrays(*(column.astype(object) for column in columns)), axis=1)


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
    kinds = [bonds_of(kind, f"molecule[{k}]") for k, kind in enumerate(config.molecules)]
    check_bonds(config, kinds)
    for index, one in enumerate(config.potentials):
        if config.initial.method == "grow" and one.name == "fene":
            check_fene(one, f"potential[{index}]", kinds)
        if sort_of(one) == "pairs":
            check_beyond_contact(config, one, f"potential[{index}]")
    check_cores(config)


def check_bonds(config: Config, kinds: list[Bonds]) -> None:
    """Check that each flexible bond of some kinds has a potential, and each potential of bonds a flexible bond."""
    potentials = [(k, one) for k, one in enumerate(config.potentials) if sort_of(one) == "bonds"]
    for kind in kinds:
        held = {types for types in kind.longest if any(holds(one, types) for _, one in potentials)}
        loose = [types for types in kind.longest if kind.flexible and types not in held]
        if loose:
            raise Wrong(
                f"{kind.where}.rigid: no [[potential]] holds the bonds of {named(loose[0])}; add one of name "
                '"harmonic" or "fene"'
            )
    for index, one in potentials:
        those = [kind for kind in kinds if any(holds(one, types) for types in kind.longest)]
        if any(kind.flexible for kind in those):
            continue
        if not those:
            what = "no molecule has bonds" if one.types is None else f"no bond joins {named(frozenset(one.types))}"
            raise Wrong(f"potential[{index}]: {what}, so it acts on nothing; remove it, or correct its types")
        kind = next((each for each in those if each.bends), those[0])
        cure = f"set {kind.where}.rigid = false" if kind.bends else 'choose kind = "chain" with rigid = false'
        raise Wrong(f"potential[{index}]: no bond is flexible, so it acts on nothing; {cure}, or remove it")


def holds(one: PotentialSection, types: Types) -> bool:
    """Return whether a potential of bonds is for those of two types of beads."""
    return one.types is None or types == frozenset(one.types)


def named(types: Types) -> str:
    """Return the names of two types, of which there may be one twice."""
    names = sorted(types)
    return f"{names[0]} and {names[-1]}"


def check_fene(one: PotentialSection, where: str, kinds: list[Bonds]) -> None:
    """Check that a start that is grown has no bond as long as its potential allows at most."""
    most = required(one.length)
    for kind in kinds:
        lengths = [length for types, length in kind.longest.items() if holds(one, types)]
        if kind.flexible and max(lengths, default=0.0) >= most:
            raise Wrong(
                f"{kind.where}.bond_length: {max(lengths):g} is not below {where}.length = {most:g}, at which "
                "fene bonds tear; shorten it, or enlarge that"
            )


def check_beyond_contact(config: Config, one: PotentialSection, where: str) -> None:
    """Check that a potential of pairs reaches beyond contact for some two beads, where all of them have hard cores."""
    cutoff = WCA * one.sigma if one.name == "wca" and one.sigma else one.cutoff
    if not isinstance(cutoff, float) or not all(kind.self_contact for kind in config.molecules):
        return
    least: dict[str, float] = {}
    for kind in config.molecules:
        for name, diameter, soft in sorts_of(kind):
            least[name] = min(least.get(name, np.inf), 0.0 if soft else diameter)
    pairs = [tuple(one.types)] if one.types else [(a, b) for a in least for b in least]
    near = [0.5 * (least[a] + least[b]) if least[a] and least[b] else 0.0 for a, b in pairs]
    if near and cutoff <= min(near) * (1.0 + CLOSEST):
        key = "sigma" if one.name == "wca" else "cutoff"
        raise Wrong(
            f"{where}.{key}: it ends at {cutoff:g}, not beyond the contact distance {min(near):g} of hard cores, so "
            "it acts on nothing; enlarge it, or set molecule.hard = false"
        )


def check_cores(config: Config) -> None:
    """Check that coefficients of contacts are of beads with hard cores."""
    names = type_names(config.molecules)
    hard = {name for kind in config.molecules for name, _, soft in sorts_of(kind) if not soft}
    given = {"restitution": config.contact.restitution != 1.0, "simultaneous": config.contact.simultaneous != "joint"}
    for key, there in given.items() if names and not hard else ():
        if there:
            raise Wrong(f"contact.{key}: no bead has a hard core, so it acts on nothing; remove it")
    for index, one in enumerate(config.contact.pairs):
        soft = [name for name in one.types if name in names and name not in hard]
        if soft:
            raise Wrong(
                f"contact.pair[{index}].types: beads of {soft[0]} have no hard core, so it acts on nothing; remove it, "
                "or set molecule.hard = true"
            )


def pairs_that_are_none(config: Config) -> list[str]:
    """Return lines on potentials of pairs of which there is no pair: a table of all types may be meant."""
    count: dict[str, int] = {}
    for kind in config.molecules:
        for name in kind.bead_types:
            count[name] = count.get(name, 0) + kind.count * (kind.beads if len(kind.bead_types) == 1 else 1)
    lines = []
    for index, one in enumerate(config.potentials if config.molecules else ()):
        if one.name != "steps" and sort_of(one) != "pairs":
            continue
        few = sum(count.values()) < 2 if one.types is None else len(set(one.types)) == 1 and count[one.types[0]] < 2
        if few:
            of = "" if one.types is None else f" of type {one.types[0]}"
            lines.append(f"potential[{index}] acts on nothing: there is but one bead{of}")
    return lines
