"""The [[molecule]] tables: their keys, and the sizes that follow from their kind."""

from collections.abc import Callable, Iterator

from hpcchain.config.keys.schema import KIND_KEYS
from hpcchain.config.keys.sections import MoleculeSection
from hpcchain.config.keys.values import Wrong, shown
from hpcchain.model.molecules.bodies import LEAST_BEADS as LEAST_IN_BODY

LEAST_BEADS = {"monomer": 1, "chain": 1, "ring": 3, "star": 2, "graph": 1, "rod": 2, "rigid": LEAST_IN_BODY}


def read_molecules(tables: dict | list | None, method: str, read_section: Callable) -> tuple | tuple:
    """Return the MoleculeSections of the input.

    Parameters
    ----------
    tables : Any
        What TOML holds under "molecule".
    method : str
        initial.method; molecules may be left out for "file" alone.
    read_section : callable
        (table, section, where) -> {key: value}.

    Raises
    ------
    Wrong
        With key and reason.
    """
    if tables is None and method == "file":
        return ()
    if tables is None or tables == []:
        raise Wrong("molecule: is missing; give at least one [[molecule]] with its kind")
    if isinstance(tables, dict):
        raise Wrong("molecule: is written as [molecule]; use the header [[molecule]], once per kind")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise Wrong(f"molecule: {shown(tables)} is not a list of tables; use the header [[molecule]], once per kind")
    read = [read_section(table, "molecule", f"molecule[{i}]") for i, table in enumerate(tables)]
    give_names(read)
    return tuple(finish(values, f"molecule[{i}]") for i, values in enumerate(read))


def give_names(read: list) -> None:
    """Name the kinds without a name A, B, …, and raise Wrong when two kinds share one."""
    taken = {}
    for i, values in enumerate(read):
        name = values["name"]
        if name is not None and name in taken:
            raise Wrong(f"molecule[{i}].name: {shown(name)} is the name of molecule[{taken[name]}] already")
        taken[name] = i
    free = (name for name in labels() if name not in taken)
    for values in read:
        if values["name"] is None:
            values["name"] = next(free)


def labels() -> Iterator[str]:
    """Yield A, B, …, Z, A1, B1, … without end."""
    number = 0
    while True:
        for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
            yield f"{letter}{number or ''}"
        number += 1


def finish(values: dict, where: str) -> MoleculeSection:
    """Return the MoleculeSection of one table with its number of beads worked out."""
    kind = values["kind"]
    for name, kinds in KIND_KEYS.items():
        if values[name] is not None and kind not in kinds:
            raise Wrong(f'{where}.{name}: means nothing for kind "{kind}", only for {", ".join(kinds)}; remove it')
        if values[name] is None and kind in kinds:
            raise Wrong(f'{where}.{name}: is missing; kind "{kind}" needs it')
    values["beads"] = beads_of(values, where)
    if values["beads"] < LEAST_BEADS[kind]:
        raise Wrong(f'{where}.beads: {values["beads"]} is too few; kind "{kind}" needs at least {LEAST_BEADS[kind]}')
    return MoleculeSection(**values)


def beads_of(values: dict, where: str) -> int:
    """Return the number of beads of a molecule; raises Wrong when it is missing or contradicts the kind."""
    kind, beads = values["kind"], values["beads"]
    follows = None
    if kind == "monomer":
        follows, why = 1, 'kind "monomer" has one bead'
    if kind == "star":
        follows = 1 + values["arms"] * values["arm_beads"]
        why = f"one centre and {values['arms']} arms of {values['arm_beads']} make {follows}"
    if kind == "rigid":
        follows = len(values["sites"])
        why = f"sites has {follows} rows"
        if follows < LEAST_IN_BODY:
            raise Wrong(
                f'{where}.sites: {follows} beads make no body of kind "rigid", which has at least {LEAST_IN_BODY}; use '
                'kind = "rod" for two, "monomer" for one'
            )
    if follows is not None:
        if beads not in (None, follows):
            raise Wrong(f"{where}.beads: {beads} is wrong: {why}; remove the key or correct it")
        return follows
    if beads is None:
        raise Wrong(f'{where}.beads: is missing; kind "{kind}" needs the number of beads of one molecule')
    return beads
