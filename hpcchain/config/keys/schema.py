"""The table of all keys of the input, made from the sections' fields: for reading, messages and the manual."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TypeVar

from hpcchain.config.keys.key import REQUIRED, Key, Section
from hpcchain.config.keys.sections import Config, PairSection
from hpcchain.config.keys.values import CANNOT, NOWHERE, Wrong, likeness, meant, nearest, read_as, shown

S = TypeVar("S", bound=Section)

CLASSES: tuple[type[Section], ...] = (Config, *(one for one in Section.__subclasses__() if one is not Config))
KEYS = tuple(key for one in CLASSES for key in one.keys().values())
MEANINGS = {key.path: f" ({key.meaning.split(';')[0]})" for key in KEYS}
"""What messages say of a key, in short."""
SECTIONS = tuple(one.section for one in CLASSES if one not in (Config, PairSection))
"""Names of tables at the top level."""

NEAR, NEARER = 0.6, 0.75
"""Likeness from which on a name may be meant for another of the same first letter, and of another: barostat is no
thermostat."""


def keys_of(section: str) -> dict[str, Key[object]]:
    """Return {name: Key} of a section, in the table's order."""
    return next((one.keys() for one in CLASSES if one.section == section), {})


def read_values(of: type[Section], given: Mapping[str, object], where: str) -> dict[str, object]:
    """Return {key: value} of a table with every key of the section; raises Wrong for unknown, missing and bad ones.

    Parameters
    ----------
    of : class
        The section.
    given : dict
        The TOML table.
    where : str
        How messages call it, for example "molecule[0]".
    """
    keys = of.keys()
    prefix = f"{where}." if where else ""
    if of.chooser in keys and of.chooser in given:  # of an unknown potential, say, no key is known
        read_as(f"{prefix}{of.chooser}", keys[of.chooser].value, given[of.chooser])
    for name in given:
        if name not in keys:
            raise Wrong(unknown(name, of.section, prefix))
    values = {}
    for name, key in keys.items():
        if name not in given:
            if key.default is REQUIRED:
                raise Wrong(f"{prefix}{name}: is missing; give {key.meaning}: {key.value}")
            values[name] = key.default
            continue
        values[name] = read_as(f"{prefix}{name}", key.value, given[name])
    return values


def read_section(of: type[S], given: Mapping[str, object], where: str) -> S:
    """Return a section as it is given, by its class; what follows from others is None. Otherwise as `read_values`."""
    return of(**read_values(of, given, where))


def read_sections(of: type[S], given: object) -> list[S]:
    """Return the sections of a list of tables of one name; raises Wrong for what is none."""
    name = of.section
    cure = f"use the header [[{name}]], once per {ONE.get(name, name)}"
    if isinstance(given, dict):
        raise Wrong(f"{name}: is written as [{name}]; {cure}")
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise Wrong(f"{name}: {shown(given)} is not a list of tables; {cure}")
    return [read_section(of, one, f"{name}[{i}]") for i, one in enumerate(given)]


ONE = {"molecule": "kind", "contact.pair": "pair"}
"""What one table of a list stands for, where its name does not say so."""


def require_own(
    section: Section,
    what: str,
    where: str,
    optional: Collection[str] = (),
    given: Collection[str] | None = None,
) -> None:
    """Raise Wrong where a section has keys that mean nothing for the chosen kind or name, or lacks one of these.

    Parameters
    ----------
    section : Section
    what : str
        How messages call the kind or name.
    where : str
        How they call the section.
    optional : collection of str
        Keys that it may lack.
    given : collection of str, optional
        Keys that the input gives; default: those that are not None.
    """
    for name, key in section.keys().items():
        there = getattr(section, name) is not None if given is None else name in given
        if key.of and there and section.chosen not in key.of:
            raise Wrong(f"{where}.{name}: means nothing for {what}, only for {', '.join(key.of)}; remove it")
        if key.of and not there and section.chosen in key.of and name not in optional:
            raise Wrong(f"{where}.{name}: is missing; {what} needs it")


def is_near(name: str, other: str) -> bool:
    """Return whether a name may be another one misspelt; the first letter is seldom wrong."""
    return likeness(name, other) >= (NEAR if name[:1].lower() == other[:1] else NEARER)


def unknown(name: str, section: str, prefix: str) -> str:
    """Return the message for a key that does not exist: the nearest one of its table, or, where none is near, its keys.

    A key that another table has by this name is meant wherever it stands. One that other programs call so is explained:
    it may be another quantity.
    """
    here = {other: prefix + other for other in list(keys_of(section)) + ([] if section else list(SECTIONS))}
    anywhere = {other: [path] for other, path in here.items()}
    for key in KEYS:
        if key.name not in here and "." not in key.section:
            anywhere.setdefault(key.name, []).append(key.path)
    text = name if name.isidentifier() and len(name) <= 60 else shown(name)
    absent, names = name.lower() in NOWHERE, meant(name, anywhere)
    misspelt, name = names == [name], names[0]
    local, other = nearest(name, here), nearest(name, anywhere)
    better = likeness(name, other) > likeness(name, local) + 0.2
    best = other if better and (other == name or not section) else local
    owner = f"[{section}]" if section else "the input"
    has = f"; {owner} has {', '.join(here)}" if best not in here or not is_near(name, best) else ""
    if absent or not is_near(name, best):
        where = owner if is_near(name, other) and not absent else f"this program{CANNOT * absent}"
        return f"{prefix}{text}: unknown key; nothing like it is in {where}{has}"
    found = [path for one in names if (one in here) == (best in here) for path in anywhere.get(one, [])] or anywhere[
        best
    ]
    keys = "key is" if len(found) == 1 else "keys are"
    shown_as = found if misspelt else [path + MEANINGS.get(re.sub(r"\[\d+\]", "", path), "") for path in found]
    return f"{prefix}{text}: unknown key; the nearest valid {keys} {', '.join(shown_as)}{has}"
