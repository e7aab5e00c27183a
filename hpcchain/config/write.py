"""Write a Config as TOML."""

from __future__ import annotations

import json
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.config.keys.schema import KIND_KEYS, PROPAGATOR_KEYS, SECTIONS, keys_of
from hpcchain.config.keys.values import DistanceLimit

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config

FOLLOWS = {"box": ("packing_fraction",)}
"""Keys of a section that the resolved input has others for."""


def to_toml(config: Config) -> str:
    """Return the resolved input as text that loads back to an equal Config.

    Parameters
    ----------
    config : Config
        The checked input.

    Returns
    -------
    str
        TOML with every key that applies.
    """
    parts = [f"title = {value_text(config.title)}\n"]
    for section in SECTIONS:
        if section == "molecule":
            parts += [section_text("[[molecule]]", section, kind, skip_for(kind)) for kind in config.molecules]
        elif section == "wall":
            parts += [section_text("[[wall]]", section, one) for one in config.walls]
        elif section == "potential":
            parts += [section_text("[[potential]]", section, one) for one in config.potentials]
        elif section in ("steps", "external", "thermostat") and not applies(config, section):
            continue
        else:
            settings = getattr(config, section)
            skip = skip_for(settings) if section == "propagator" else FOLLOWS.get(section, ())
            parts.append(section_text(f"[{section}]", section, settings, skip))
        if section == "contact":
            parts += [section_text("[[contact.pair]]", "contact.pair", one) for one in config.contact.pairs]
    return "\n".join(parts)


def applies(config: Config, section: str) -> Any:
    """Return whether an input has a section that not all have."""
    if section == "external":
        return config.steps is not None or any(config.external.gravity)
    return getattr(config, section) is not None


def skip_for(settings: Any) -> tuple | tuple:
    """Return the keys that mean nothing for a molecule's kind or a propagator's name."""
    if hasattr(settings, "kind"):
        given: tuple[str, ...] = ("beads",) if settings.kind == "monomer" else ()
        given += ("beads", "bond_length", "self_contact") if settings.kind == "rigid" else ()
        given += () if settings.directors else ("directors",)
        given += tuple(name for name in ("hard", "rigid") if getattr(settings, name) is True)
        given += () if settings.damping else ("damping",)
        given += () if settings.exclude != 1 else ("exclude",)
        given += () if settings.distance_limits else ("distance_limits",)
        return given + tuple(name for name, kinds in KIND_KEYS.items() if settings.kind not in kinds)
    return tuple(name for name, names in PROPAGATOR_KEYS.items() if settings.name not in names)


def section_text(header: str, section: str, settings: Any, skip: tuple = ()) -> str:
    """Return one section with its header; keys that are not set are left out."""
    return "\n".join([header, *assignments(section, settings, skip)]) + "\n"


def assignments(section: str, settings: Any, skip: tuple = ()) -> list:
    """Return a list of "key = value" for the keys of a section that are set and not to be skipped."""
    values = {name: getattr(settings, name) for name in keys_of(section) if name not in skip}
    return [f"{name} = {value_text(value)}" for name, value in values.items() if value is not None]


def value_text(value: Any) -> str:
    """Return a value as TOML; floats in their shortest form that reads back to the same bits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, np.ndarray):
        rows = ",\n".join("    " + repr(row) for row in value.tolist())
        return f"[\n{rows},\n]" if len(value) else "[]"
    if is_dataclass(value):  # the only section inside another: a kind's own [propagator]
        return "{ " + ", ".join(assignments("propagator", value, skip_for(value))) + " }"
    if isinstance(value, DistanceLimit):
        return "{ " + ", ".join(f"{name} = {value_text(entry)}" for name, entry in value._asdict().items()) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(value_text(entry) for entry in value) + "]"
    return repr(value)
