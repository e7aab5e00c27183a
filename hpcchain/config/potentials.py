"""The [[potential]] tables and [thermostat]: which keys each has."""

from collections.abc import Callable

from hpcchain.config.schema import OPTIONAL_OF_POTENTIAL, POTENTIAL_KEYS, THERMOSTAT_KEYS
from hpcchain.config.sections import PotentialSection, ThermostatSection
from hpcchain.config.values import Wrong, shown


def read_potentials(tables: int | list, read_section: Callable) -> tuple:
    """Return the PotentialSections of the input.

    Parameters
    ----------
    tables : object
        What TOML holds under "potential".
    read_section : callable
        (table, section, place) -> {key: value}.

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
        potential(read_section(table, "potential", f"potential[{i}]"), f"potential[{i}]")
        for i, table in enumerate(tables)
    )


def potential(values: dict, place: str) -> PotentialSection:
    """Return the PotentialSection of one table; raises Wrong where it has too much or too little."""
    name = values["name"]
    for key, names in POTENTIAL_KEYS.items():
        if name not in names and values[key] is not None:
            raise Wrong(f'{place}.{key}: means nothing for "{name}", only for {", ".join(names)}; remove it')
        if name in names and values[key] is None and key not in OPTIONAL_OF_POTENTIAL:
            raise Wrong(f'{place}.{key}: is missing; "{name}" needs it')
    if name == "lennard-jones" and values["shift"] is None:
        values["shift"] = True
    return PotentialSection(**values)


def thermostat(values: dict) -> ThermostatSection:
    """Return the ThermostatSection of {key: value}; raises Wrong where there is too much or too little."""
    for key, name in THERMOSTAT_KEYS.items():
        if values["name"] != name and values[key] is not None:
            raise Wrong(f'thermostat.{key}: means nothing for "{values["name"]}", only for {name}; remove it')
        if values["name"] == name and values[key] is None:
            raise Wrong(f'thermostat.{key}: is missing; "{name}" needs it')
    return ThermostatSection(**values)
