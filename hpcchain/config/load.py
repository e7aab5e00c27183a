"""Read the input file: TOML, overrides, keys, values, then what the keys mean together."""

from __future__ import annotations

import os
import tomllib
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hpcchain.config.bounds import require_bounded, require_small
from hpcchain.config.demands.check import check
from hpcchain.config.demands.contacts import read_walls
from hpcchain.config.demands.potentials import read_potentials, thermostat
from hpcchain.config.keys import sections
from hpcchain.config.keys.key import REQUIRED
from hpcchain.config.keys.schema import KEYS, PROPAGATOR_KEYS, SECTIONS, keys_of
from hpcchain.config.keys.values import Wrong, likeness, nearest, shown
from hpcchain.config.molecules import read_molecules
from hpcchain.config.override import apply
from hpcchain.config.packing import require_one, with_size
from hpcchain.config.text import read_text
from hpcchain.errors import ConfigError

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config, MoleculeSection, PropagatorSection

SECTION_CLASSES = {
    "box": sections.BoxSection,
    "initial": sections.InitialSection,
    "propagator": sections.PropagatorSection,
    "contact": sections.ContactSection,
    "external": sections.ExternalSection,
    "run": sections.RunSection,
    "output": sections.OutputSection,
}

NEAR, NEARER = 0.6, 0.75
"""Likeness from which on a name may be meant for another of the same first letter, and of another: barostat is no
thermostat."""


def load_config(path: Path | str, overrides: list | tuple = (), stored: bool = False) -> Config:
    """Read and check an input file.

    Parameters
    ----------
    path : str or Path
        The TOML file.
    overrides : iterable of str
        "section.key=value" settings that replace what the file says; the value is TOML, a bare word is taken as text.
    stored : bool
        Whether the program wrote the file itself: it may be larger then.

    Returns
    -------
    Config
        The resolved input, every default filled in.

    Raises
    ------
    DataError
        When the file is missing or cannot be read.
    ConfigError
        When its content is wrong; one message with file and key.
    """
    name = str(path)
    require_small(path, name, stored)
    table = parse(read_text(path), name, stored)
    for override in overrides:
        apply(table, override)
    return config_from_table(table, name)


def config_from_table(table: Any, name: str) -> Any:
    """Return the checked Config of a TOML table; raises ConfigError with one message, `name` before it."""
    try:
        config = resolve(table, name)
        check(config)
    except Wrong as wrong:
        raise ConfigError(f"{name}: {wrong}") from None
    return config


def parse(text: str, name: str, stored: bool = False) -> dict:
    """Return the TOML table of a text; raises ConfigError where it is not TOML, or beyond the bounds of an input."""
    require_bounded(text, name, stored)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{name}: is not valid TOML: brackets are nested too deeply") from None
    except ValueError as error:
        raise ConfigError(f"{name}: is not valid TOML: {error}") from None


def resolve(table: dict, name: str) -> Config:
    """Return the Config of a TOML table with defaults filled in; raises Wrong with key and reason."""
    top = read_section({key: value for key, value in table.items() if key not in SECTIONS}, "", "")
    values = {"box": read_named(spread(table), "box")}
    require_one(values["box"])
    read_otherwise = ("box", "initial", "contact")
    values |= {section: read_named(table, section) for section in SECTION_CLASSES if section not in read_otherwise}
    values["contact"] = read_contact(table)
    values["initial"] = read_named(table, "initial")
    initial = values["initial"]
    if initial["file"] is not None:
        initial["file"] = os.path.abspath(os.path.join(os.path.dirname(name), initial["file"]))
    check_propagator_keys(table.get("propagator", {}), values["propagator"]["name"], "propagator")
    molecules = read_molecules(table.get("molecule"), initial["method"], read_section)
    values["box"] = with_size(values["box"], molecules)
    read = {section: of_class(**values[section]) for section, of_class in SECTION_CLASSES.items()}
    molecules = tuple(own_propagator(kind, read["propagator"], i) for i, kind in enumerate(molecules))
    read["walls"] = read_walls(table.get("wall", []), read_section)
    read["potentials"] = read_potentials(table.get("potential", []), read_section, name)
    if "steps" in table or read["run"].engine == "steps":
        read["steps"] = sections.StepsSection(**read_named(table, "steps"))
    if "thermostat" in table:
        read["thermostat"] = thermostat(read_named(table, "thermostat"))
    return sections.Config(title=top["title"], molecules=molecules, source=name, **read)


def spread(table: dict) -> dict:
    """Return a TOML table in which one number for box.size, or one word for box.boundary, stands for all three axes."""
    box = table.get("box", {})
    if not isinstance(box, dict):
        return table
    one = {
        key: [box[key]] * 3 for key, of in (("size", (int, float)), ("boundary", (str,))) if type(box.get(key)) in of
    }
    return table | {"box": box | one}


def read_named(table: dict, section: str) -> dict:
    """Return {key: value} of one [section] of the input."""
    given = table.get(section, {})
    if not isinstance(given, dict):
        header = "[[molecule]]" if section == "molecule" else f"[{section}]"
        raise Wrong(f"{section}: {shown(given)} is not a section; write it under the header {header} once")
    return read_section(given, section, section)


def read_contact(table: dict) -> dict:
    """Return {key: value} of [contact], with the PairSections of [[contact.pair]] as `pairs`."""
    given = table.get("contact", {})
    tables = given.get("pair", []) if isinstance(given, dict) else []
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise Wrong("contact.pair: is no list of tables; use the header [[contact.pair]], once per pair")
    if isinstance(given, dict):
        given = {name: value for name, value in given.items() if name != "pair"}
    read = [read_section(one, "contact.pair", f"contact.pair[{i}]") for i, one in enumerate(tables)]
    pairs = tuple(sections.PairSection(**one) for one in read)
    return read_named({"contact": given}, "contact") | {"pairs": pairs}


def read_section(given: Any, section: str, where: str) -> dict:
    """Return {key: value} of a table with every key of the section; raises Wrong for unknown, missing and bad ones.

    Parameters
    ----------
    given : dict
        The TOML table.
    section : str
        Its section in the schema.
    where : str
        How messages call it, for example "molecule[0]".
    """
    keys = keys_of(section)
    prefix = f"{where}." if where else ""
    for name in given:
        if name not in keys:
            raise Wrong(unknown(name, section, prefix))
    values = {}
    for name, key in keys.items():
        if name not in given:
            if key.default is REQUIRED:
                raise Wrong(f"{prefix}{name}: is missing; give {key.meaning}: {key.value.text}")
            values[name] = key.default
            continue
        try:
            values[name] = key.value.read(given[name])
        except Wrong as wrong:
            raise Wrong(f"{prefix}{name}: {wrong}") from None
    return values


def is_near(name: str, other: str) -> bool:
    """Return whether a name may be another one misspelt; the first letter is seldom wrong."""
    return likeness(name, other) >= (NEAR if name[:1].lower() == other[:1] else NEARER)


def unknown(name: str, section: str, prefix: str) -> str:
    """Return the message for a key that does not exist: the nearest one of its table, or, where none is near, its keys.

    A key that another table has by this name is meant wherever it stands.
    """
    here = {other: prefix + other for other in list(keys_of(section)) + ([] if section else list(SECTIONS))}
    anywhere = {key.name: key.path for key in KEYS} | here
    local, other = nearest(name, here), nearest(name, anywhere)
    better = likeness(name, other) > likeness(name, local) + 0.2
    best = other if better and (other == name or not section) else local
    text = name if name.isidentifier() and len(name) <= 60 else shown(name)
    if not is_near(name, best):
        owner = f"[{section}]" if section else "the input"
        where = owner if is_near(name, other) else "this program"
        return f"{prefix}{text}: unknown key; nothing like it is in {where}; {owner} has {', '.join(here)}"
    return f"{prefix}{text}: unknown key; the nearest valid key is {anywhere[best]}"


def check_propagator_keys(given: Any, propagator: str, where: str) -> None:
    """Raise Wrong for a key of a propagator's table, called `where`, that the chosen propagator does not have."""
    for key, names in PROPAGATOR_KEYS.items():
        if key in given and propagator not in names:
            raise Wrong(f'{where}.{key}: means nothing for "{propagator}", only for {", ".join(names)}; remove it')


def own_propagator(kind: MoleculeSection, default: PropagatorSection, index: int) -> MoleculeSection:
    """Return a molecule kind with the table of its own propagator made a PropagatorSection.

    Keys left out are those of `default`, the input's [propagator], where the name is the same, else the defaults.
    """
    given, where = kind.propagator, f"molecule[{index}].propagator"
    if given is None:
        return kind
    values = read_section(given, "propagator", where)
    if given.get("name", default.name) == default.name:
        values = asdict(default) | {key: values[key] for key in given}
    check_propagator_keys(given, values["name"], where)
    return replace(kind, propagator=sections.PropagatorSection(**values))
