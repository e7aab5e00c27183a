"""Write a Config as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, cast

import numpy as np

from hpcchain.config.keys.key import Section
from hpcchain.config.keys.values import Oscillation, Shares, Spread
from hpcchain.config.sizes import gathered
from hpcchain.model.physics.constants import DistanceLimit

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config

UNUSED = ("directors", "hard", "rigid", "damping", "exclude", "distance_limits")
"""Keys of a molecule that are left out where they have their default."""
OF_KINDS = {"monomer": ("beads",), "rigid": ("beads", "bond_length", "self_contact")}
"""Keys that follow from a molecule's kind."""


def to_toml(config: Config, given: Mapping[str, object] | None = None) -> str:
    """Return the resolved input as text that loads back to an equal Config.

    Parameters
    ----------
    config : Config
        The checked input.
    given : dict, optional
        The TOML table that it was made from: keys that are neither there nor other than their defaults are left out.

    Returns
    -------
    str
        TOML with every key that applies.
    """
    parts = [f"title = {value_text(config.title)}\n"] if config.title or given is None else []
    has_external = config.steps is not None or any(config.external.gravity)
    for name in (one.name for one in fields(config) if one.name != "external" or has_external):
        value = getattr(config, name)
        if isinstance(value, Section):
            lines = assignments(value, given and given.get(value.section, {}))
            parts += [section_text(f"[{value.section}]", lines)] if lines or given is None else []
        tables = config.contact.pairs if name == "contact" else value if isinstance(value, tuple) else ()
        tables = gathered(config.molecules) if name == "molecules" else tables
        for index, one in enumerate(tables):
            lines = assignments(one, given and table_of(given, one.section, index))
            parts.append(section_text(f"[[{one.section}]]", lines))
    return "\n".join(parts)


def table_of(given: object, section: str, index: int) -> object:
    """Return one of the tables of a name, such as contact.pair, in the TOML table of an input that has been checked.

    It is empty where the input leaves these tables to its start file.
    """
    for name in section.split("."):
        given = cast(Mapping[str, object], given).get(name, {})
    return cast(list[object], given)[index] if given else {}


def section_text(header: str, lines: list[str]) -> str:
    """Return one section with its header."""
    return "\n".join([header, *lines]) + "\n"


def assignments(section: Section, given: object = None) -> list[str]:
    """Return a list of "key = value" for the keys of a section that are set and mean something.

    Of a TOML table `given`, only those that it has, or whose value follows from others and is no default.
    """
    found = []
    for name, key in section.keys().items():
        value = getattr(section, name)
        value = getattr(section, "sizes", None) or value if name == "diameter" else value
        if value is None or (key.of and section.chosen not in key.of):
            continue
        if section.section == "molecule":
            if name in OF_KINDS.get(section.chosen, ()) or (name in UNUSED and value == key.default):
                continue
        if isinstance(given, Mapping) and name not in given and value_text(value) == value_text(key.default):
            continue
        found.append(f"{name} = {value_text(value)}")
    return found


def value_text(value: object) -> str:
    """Return a value as TOML; floats in their shortest form that reads back to the same bits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, np.ndarray):
        rows = ",\n".join("    " + repr(row) for row in value.tolist())
        return f"[\n{rows},\n]" if len(value) else "[]"
    if isinstance(value, Section):  # the only one inside another: a kind's own [propagator]
        return "{ " + ", ".join(assignments(value)) + " }"
    if isinstance(value, (Spread, Shares, DistanceLimit, Oscillation)):
        given = [(name, one) for name, one in value._asdict().items() if one != value._field_defaults.get(name)]
        return "{ " + ", ".join(f"{name} = {value_text(entry)}" for name, entry in given) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(value_text(entry) for entry in value) + "]"
    return repr(value)
