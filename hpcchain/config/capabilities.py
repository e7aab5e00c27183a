"""Which capabilities of the engine of events work with which propagators and kinds of molecules: one table.

The check of an input and the manual (docs/guide/potentials.md) derive from `CAPABILITIES`. A cell of the table
that does not work is refused with one message that says what to choose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hpcchain.config.values import Wrong
from hpcchain.propagators.catalogue import PROPAGATORS

if TYPE_CHECKING:
    from hpcchain.config.sections import Config, MoleculeSection

KINDS = ("monomer", "chain", "ring", "star", "graph", "rod")
EVERY = {name: KINDS for name in PROPAGATORS}
"""Propagators and kinds: all of them."""
EXACT = {"taylor": KINDS} | {name: ("monomer",) for name in PROPAGATORS if name != "taylor"}
"""Those that fly exactly, where contacts are the roots of polynomials: everything under taylor, single beads always."""


@dataclass(frozen=True)
class Capability:
    """One capability.

    Attributes
    ----------
    key : str
        The key of the input that asks for it, for messages and the manual.
    used : callable
        Takes a Config; whether the input asks for it.
    works : dict of str -> tuple of str
        Propagator -> kinds of molecules with which it works.
    not_while : callable, optional
        Takes a Config; returns another key, with what to do about it, that it does not work together with, or None.
    """

    key: str
    used: Callable[[Config], bool]
    works: dict
    not_while: Callable[[Config], str | None] | None = None


def has_steps(config: Config) -> bool:
    """Return whether a potential with steps is asked for."""
    return any(one.name == "steps" for one in config.potentials)


def has_limits(config: Config) -> bool:
    """Return whether distances inside molecules are limited."""
    return any(kind.distance_limits for kind in config.molecules)


def not_tried_with(config: Config) -> str | None:
    """Return what to do about what else has not been tried with steps: contacts that take time, rough beads, fields."""
    if config.contact.contact_time > 0.0 or any(one.contact_time for one in config.contact.pairs):
        return "contact.contact_time: set it to 0"
    if config.contact.is_rough:
        return "contact.tangential_restitution: set it to 1"
    others = {
        "external.gravity": any(config.external.gravity),
        "thermostat": config.thermostat is not None,
        "wall": bool(config.walls),
        "molecule.fixed": any(kind.fixed for kind in config.molecules),
    }
    return next((f"{key}: leave it out" for key, there in others.items() if there), None)


CAPABILITIES = (
    Capability('potential, name "steps"', has_steps, EXACT, not_tried_with),
    Capability(
        "molecule.distance_limits",
        has_limits,
        {"taylor": tuple(kind for kind in KINDS if kind != "rod")} | {name: ("monomer",) for name in list(EXACT)[1:]},
        not_tried_with,
    ),
)
"""A new capability adds its row here."""


def check_capabilities(config: Config) -> None:
    """Raise Wrong where the input asks for a capability that does not work with a propagator or kind that it has.

    Parameters
    ----------
    config : Config
        Of the engine of events.
    """
    for one in CAPABILITIES:
        if not one.used(config):
            continue
        other = one.not_while(config) if one.not_while else None
        if other is not None:
            raise Wrong(f"{other}, or leave {one.key} out: they do not work together")
        for index, kind in enumerate(config.molecules):
            name = (kind.propagator or config.propagator).name
            if kind_of(kind) not in one.works.get(name, ()):
                good = [other for other in one.works if kind_of(kind) in one.works[other]]
                what = f"choose propagator.name = {' or '.join(good)}" if good else "leave one of the two out"
                raise Wrong(
                    f"{one.key}: does not work for molecule[{index}], kind {kind_of(kind)!r}, with propagator "
                    f"{name!r}; {what}"
                )


def kind_of(kind: MoleculeSection) -> str:
    """Return the kind of molecules as the table has it: whatever has one bead is a monomer."""
    return "monomer" if kind.beads == 1 else kind.kind


def capabilities_markdown() -> str:
    """Return the table of what works with what as Markdown."""
    lines = ["| capability | " + " | ".join(PROPAGATORS) + " |", "|---" * (1 + len(PROPAGATORS)) + "|"]
    for one in CAPABILITIES:
        cells = []
        for name in PROPAGATORS:
            kinds = one.works.get(name, ())
            cells.append("all kinds" if kinds == KINDS else ", ".join(kinds) or "refused")
        lines.append(f"| `{one.key}` | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
