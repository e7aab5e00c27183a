"""The [[potential]] tables and [thermostat]: which keys each has; the files of users' own potentials."""

import hashlib
import os
from collections.abc import Callable

from hpcchain.config.keys.schema import MODULE_KEYS, OPTIONAL_OF_POTENTIAL, POTENTIAL_KEYS, THERMOSTAT_KEYS
from hpcchain.config.keys.sections import PotentialSection, ThermostatSection
from hpcchain.config.keys.values import Wrong, shown
from hpcchain.config.text import opened, other_kind, read_at_most
from hpcchain.model.physics.step_potentials import steps_problem

LONGEST = 1 << 20
"""Bytes of a user's file at most."""


def content(path: str) -> bytes:
    """Return the content of a user's file; raises Wrong where it is no plain file, or cannot be read."""
    try:
        kind = other_kind(os.stat(path))  # looked at before it is opened: opening a device may do something
        if not kind:
            with opened(path) as file:
                kind = other_kind(os.fstat(file.fileno()))
                found = b"" if kind else read_at_most(file, LONGEST + 1)
    except (OSError, ValueError) as error:
        raise Wrong(f"{path} cannot be read: {getattr(error, 'strerror', error)}; name a file of Python") from None
    if kind:
        raise Wrong(f"{path} is {kind}, not a plain file; name a file of Python")
    if len(found) > LONGEST:
        raise Wrong(f"{path} is longer than {LONGEST} bytes; name a file of Python")
    return found


def digest(text: bytes) -> str:
    """Return the SHA-256 digest of a file's content as text."""
    return hashlib.sha256(text).hexdigest()


def read_potentials(tables: int | list, read_section: Callable, name: str) -> tuple:
    """Return the PotentialSections of the input.

    Parameters
    ----------
    tables : object
        What TOML holds under "potential".
    read_section : callable
        (table, section, where) -> {key: value}.
    name : str
        The input's file, to which names of files are relative.

    Raises
    ------
    Wrong
        With key and reason.
    """
    if isinstance(tables, dict):
        raise Wrong("potential: is written as [potential]; use the header [[potential]], once per potential")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise Wrong(f"potential: {shown(tables)} is not a list of tables; use the header [[potential]]")
    return tuple(
        potential(read_section(table, "potential", f"potential[{i}]"), f"potential[{i}]", name)
        for i, table in enumerate(tables)
    )


def potential(values: dict, where: str, source: str) -> PotentialSection:
    """Return the PotentialSection of one table; raises Wrong where it has too much or too little."""
    name = values["name"]
    if name == "module" and values["on"] is None:
        raise Wrong(f'{where}.on: is missing; "module" needs it')
    for key, names in POTENTIAL_KEYS.items():
        if name not in names and values[key] is not None:
            raise Wrong(f'{where}.{key}: means nothing for "{name}", only for {", ".join(names)}; remove it')
        wanted = name in names and key not in OPTIONAL_OF_POTENTIAL
        if name == "module" and key in MODULE_KEYS:
            wanted = values["on"] == MODULE_KEYS[key] and key != "shift"
            if values["on"] != MODULE_KEYS[key] and values[key] is not None:
                raise Wrong(
                    f'{where}.{key}: means nothing on "{values["on"]}", only on "{MODULE_KEYS[key]}"; remove it'
                )
        if wanted and values[key] is None:
            raise Wrong(f'{where}.{key}: is missing; "{name}" needs it')
    if name == "steps":
        problem = steps_problem(list(values["distances"]), list(values["energies"]))
        if problem:
            raise Wrong(f"{where}.{problem}")
    if name in POTENTIAL_KEYS["shift"] and values["on"] in (None, "pair"):
        values["shift"] = values["shift"] is not False
    if name == "module":
        if values["cutoff"] == "none":
            raise Wrong(f'{where}.cutoff: "none" is for "lennard-jones" alone; give a number')
        if values["on"] == "center" and values["types"] is not None:
            raise Wrong(f'{where}.types: means nothing on "center", which draws all beads; remove it')
        values["file"] = os.path.abspath(os.path.join(os.path.dirname(source), values["file"]))
        if values["digest"] is None:
            try:
                values["digest"] = digest(content(values["file"]))
            except Wrong as wrong:
                raise Wrong(f"{where}.file: {wrong}") from None
    return PotentialSection(**values)


def thermostat(values: dict) -> ThermostatSection:
    """Return the ThermostatSection of {key: value}; raises Wrong where there is too much or too little."""
    for key, name in THERMOSTAT_KEYS.items():
        if values["name"] != name and values[key] is not None:
            raise Wrong(f'thermostat.{key}: means nothing for "{values["name"]}", only for {name}; remove it')
        if values["name"] == name and values[key] is None:
            raise Wrong(f'thermostat.{key}: is missing; "{name}" needs it')
    return ThermostatSection(**values)
