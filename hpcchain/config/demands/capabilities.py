"""Which capabilities of the engine of events work with which propagators and kinds of molecules: one table.

The check of an input, the manual (docs/guide/capabilities.md) and the test of every cell derive from `CAPABILITIES`. A
cell that does not work is refused with one message that says what to choose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from hpcchain.config.demands.molecules import SHAPE
from hpcchain.config.keys.key import numbered
from hpcchain.config.keys.values import Wrong
from hpcchain.propagators.catalogue import PROPAGATORS

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config, MoleculeSection

Works: TypeAlias = Mapping[str, tuple[str, ...]]
"""Propagator -> kinds of molecules."""
KINDS = ("monomer", "dimer", "chain", "ring", "star", "graph", "rod", "rigid")
"""Of molecules; whatever has one bead is a monomer, whatever has two is a dimer."""
ALWAYS = dict.fromkeys(PROPAGATORS, KINDS[:-1]) | {"taylor": KINDS}
"""All kinds under all propagators that move them."""
EXACT = {
    "taylor": KINDS,
    "collocation": ("monomer", "dimer", "rod"),
    "variational": ("monomer", "rod"),
    "rattle": ("monomer",),
}
"""What flies exactly: there contacts are the roots of polynomials, and nothing but events changes the energy."""


def without(works: Works, *kinds: str) -> dict[str, tuple[str, ...]]:
    """Return propagators and kinds that are left of some without these kinds."""
    return {name: tuple(kind for kind in those if kind not in kinds) for name, those in works.items()}


@dataclass(frozen=True)
class Capability:
    """One capability.

    Attributes
    ----------
    key : str
        The key of the input that asks for it, for messages and the manual.
    used : callable
        Takes a Config and one of its MoleculeSections; whether the input asks for it for that kind.
    works : dict of str -> tuple of str
        Propagator -> kinds of molecules with which it works.
    other_kinds : dict of str -> tuple of str, optional
        The same of kinds for which it is not asked, but which are there with one for which it is; None: all.
    exact_law : bool
        Whether propagators that have laws of contacts of their own must have the exact one.
    """

    key: str
    used: Callable[[Config, MoleculeSection], bool]
    works: Works
    other_kinds: Works | None = None
    exact_law: bool = False


def has_wall(key: str) -> Callable[[Config, MoleculeSection], bool]:
    """Return a test whether some wall of an input has a key that is not 0 or left out."""
    return lambda config, _: any(getattr(wall, key) not in (None, 0.0, (0.0,) * 3) for wall in config.walls)


CAPABILITIES = (
    Capability("molecule.types", lambda _, kind: kind.types is not None, ALWAYS),
    Capability(
        "contact.pair",
        lambda config, _: any(one.has_coefficients for one in config.contact.pairs),
        ALWAYS,
        exact_law=True,
    ),
    Capability("molecule.exclude", lambda _, kind: kind.exclude > 1, without(ALWAYS, "rigid")),
    Capability(
        "contact.tangential_restitution",
        lambda config, _: config.contact.is_rough,
        without(ALWAYS, "rod", "rigid"),
        exact_law=True,
    ),
    Capability("contact.contact_time", lambda config, _: config.contact.contact_time > 0.0, ALWAYS),
    Capability(
        "contact.simultaneous",
        lambda config, _: config.contact.simultaneous != "joint",
        dict.fromkeys(PROPAGATORS, ("monomer",)) | without({"taylor": KINDS}, "rod", "rigid"),
        exact_law=True,
    ),
    Capability("molecule.directors", lambda _, kind: kind.directors, dict.fromkeys(PROPAGATORS, ("monomer",))),
    Capability("external.gravity", lambda config, _: any(config.external.gravity), EXACT),
    Capability("wall.restitution", has_wall("restitution"), ALWAYS),
    Capability(
        "wall.tangential_restitution",
        lambda config, _: any(wall.tangential_restitution is not None for wall in config.walls),
        without(ALWAYS, "rod", "rigid"),
        exact_law=True,
    ),
    Capability("wall.velocity", has_wall("velocity"), EXACT),
    Capability("wall.oscillation", has_wall("oscillation"), EXACT),
    Capability("wall.temperature", has_wall("temperature"), EXACT),
    Capability("wall.shape", has_wall("shape"), EXACT),
    Capability(
        "molecule.fixed",
        lambda _, kind: bool(kind.fixed),
        without(EXACT, "rod", "rigid"),
    ),
    Capability(
        "molecule.fixed_velocity",
        lambda _, kind: kind.fixed_velocity is not None,
        dict.fromkeys(PROPAGATORS, ("monomer",)),
    ),
    Capability("thermostat", lambda config, _: config.thermostat is not None, EXACT),
    Capability(
        'potential, name "steps"', lambda config, _: any(one.name == "steps" for one in config.potentials), EXACT
    ),
    Capability(
        "contact.pair.bridge_distance",
        lambda config, _: any(one.bridge_distance is not None for one in config.contact.pairs),
        EXACT,
    ),
    Capability(
        "molecule.distance_limits",
        lambda _, kind: bool(kind.distance_limits),
        {"taylor": ("chain", "ring", "star", "graph")},
        other_kinds=EXACT,
    ),
)
"""A new capability adds its row here, and an input that asks for it in tests/physics/test_capabilities.py."""


def check_capabilities(config: Config) -> None:
    """Raise Wrong where the input asks for a capability that does not work with a propagator or kind that it has.

    Parameters
    ----------
    config : Config
        Of the engine of events.
    """
    for one in CAPABILITIES:
        asking = [one.used(config, kind) for kind in config.molecules]
        if not any(asking):
            continue
        for (where, kind), asks in zip(numbered(config.molecules), asking, strict=True):
            works = one.works if asks else one.other_kinds
            if works is not None:
                check_cell(config, kind, where, one.key, works)
        for where, own in config.propagators if one.exact_law else ():
            if PROPAGATORS[own.name].laws and own.collision != "exact":
                raise Wrong(f'{one.key}: works only with {where}.collision = "exact"; set that, or remove it')


def check_cell(config: Config, kind: MoleculeSection, where: str, key: str, works: Works) -> None:
    """Raise Wrong unless a capability works for a kind with its propagator; `works` is as a Capability's."""
    name = (kind.propagator or config.propagator).name
    if kind_of(kind) in works.get(name, ()):
        return
    good = [other for other in PROPAGATORS if kind_of(kind) in works.get(other, ())]
    names = " or ".join(f'"{other}"' for other in good)
    what = f"choose propagator.name = {names}" if good else "leave one of the two out"
    what += f" (it works for {', '.join(works[name])})" if works.get(name) and not good else ""
    what += f", or {SHAPE}" if key == "molecule.fixed" and not good else ""
    raise Wrong(f"{key}: does not work for {where}, kind {kind_of(kind)!r}, with propagator {name!r}; {what}")


def kind_of(kind: MoleculeSection) -> str:
    """Return the kind of molecules as the table has it."""
    return {1: "monomer", 2: "dimer"}.get(kind.beads, kind.kind)
