"""Read the input file: TOML, overrides, keys, values, then what the keys mean together."""

from __future__ import annotations

import itertools
import os
import string
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np

from hpcchain.config.bounds import require_bounded
from hpcchain.config.demands.check import check, check_rows
from hpcchain.config.demands.contacts import read_walls
from hpcchain.config.demands.potentials import read_potentials
from hpcchain.config.keys.key import Section, numbered
from hpcchain.config.keys.schema import SECTIONS, read_section, read_sections, read_values, require_own
from hpcchain.config.keys.sections import (
    BoxSection,
    Config,
    ContactSection,
    ExternalSection,
    InitialSection,
    MoleculeSection,
    OutputSection,
    PairSection,
    PropagatorSection,
    RunSection,
    StepsSection,
    ThermostatSection,
)
from hpcchain.config.keys.values import Shares, Spread, Wrong, shown
from hpcchain.config.override import apply
from hpcchain.config.packing import require_one, with_size
from hpcchain.config.sizes import OF_START, expanded
from hpcchain.config.text import cure, read_text
from hpcchain.errors import ConfigError, DataError
from hpcchain.model.molecules.bodies import LEAST_BEADS as LEAST_IN_BODY

S = TypeVar("S", bound=Section)
Stored: TypeAlias = Callable[[str], Config]
"""Returns the input in a start file, by its path; raises DataError."""

NO_MOLECULE = "molecule: is missing; give at least one [[molecule]] with its kind"
LEAST_BEADS = {"monomer": 1, "chain": 1, "ring": 3, "star": 2, "graph": 1, "rod": 2, "rigid": LEAST_IN_BODY}


def load_config(path: Path | str, overrides: Sequence[str] = (), stored: bool = False) -> Config:
    """Return the checked Config of an input file (`read_table`, `config_from_table`)."""
    return config_from_table(read_table(path, overrides, stored), str(path))


def read_table(path: Path | str, overrides: Sequence[str] = (), stored: bool = False) -> dict[str, object]:
    """Return what an input file and the command line say, as a TOML table that is not checked yet.

    Parameters
    ----------
    path : str or Path
        The TOML file.
    overrides : iterable of str
        "section.key=value" settings that replace what the file says; the value is TOML, a bare word is taken as text.
    stored : bool
        Whether the program wrote the file itself: it may be larger then.

    Raises
    ------
    DataError
        When the file is missing or cannot be read.
    ConfigError
        When it is no TOML, or too large; one message with file and key.
    """
    name = str(path)
    table = parse(read_text(path, stored), name, stored)
    for override in overrides:
        apply(table, override)
    return table


def config_from_table(table: Mapping[str, object], name: str, stored: Stored | None = None) -> Config:
    """Return the checked Config of a TOML table; raises ConfigError with one message, `name` before it.

    Where it names no molecules they are those of the input that is `stored` in its start file.
    """
    origin = ""
    try:
        config = resolve(table, name)
        if not config.molecules and config.initial.file is not None:
            if stored is None:
                raise Wrong(NO_MOLECULE)
            origin = f"; molecules are those of the start file {config.initial.file}"
            config = with_kinds(config, stored(config.initial.file))
        check(config)
    except Wrong as wrong:
        raise ConfigError(f"{name}: {in_key_given(str(wrong), table)}{origin}") from None
    return config


def stored_config(text: str, path: Path | str) -> Config:
    """Return the Config of an input that the program has stored in a file; raises DataError where it is none."""
    name = f"{path}: the input in it cannot be used"
    try:
        return replace(config_from_table(parse(text, name, stored=True), name), source=str(path))
    except ConfigError as error:
        raise DataError(str(error)) from error


def with_kinds(config: Config, stored: Config) -> Config:
    """Return an input that names no molecules with those of its start file's, by what means something in it.

    [propagator] moves all of them, and damping is not theirs.
    """
    kinds = [
        replace(
            kind,
            propagator=None,
            damping=0.0,
            moment=kind.moment if kind.directors or config.spins else None,
            distance_limits=() if config.steps else kind.distance_limits,
            **dict.fromkeys(OF_START),  # type: ignore[arg-type]
        )
        for kind in stored.molecules
    ]
    flexible, soft = any(not kind.rigid for kind in kinds), any(np.any(kind.soft) for kind in kinds)
    if config.steps is None and (soft or flexible):
        what, like = ("soft beads", "hard") if soft else ("flexible bonds", "rigid")
        raise Wrong(
            f'run.engine: "events" would take the {what} of the start file as {like} ones; set run.engine = "steps", '
            "or build a start of other molecules"
        )
    ours, theirs = config.initial.seed, stored.initial.seed
    if ours != theirs and any(kind.sizes and kind.beads > 1 for kind in kinds):
        raise Wrong(f"initial.seed: {ours} is not {theirs}, which says which bead has which size; set that")
    return replace(config, molecules=tuple(kinds))


def in_key_given(message: str, table: Mapping[str, object]) -> str:
    """Return a message about box.size as one of the key that the size of a TOML table follows from."""
    box = table.get("box")
    follows = isinstance(box, dict) and "size" not in box and "packing_fraction" in box
    return message.replace("box.size:", "box.packing_fraction: makes a cube in which", 1) if follows else message


def parse(text: str, name: str, stored: bool = False) -> dict[str, object]:
    """Return the TOML table of a text; raises ConfigError where it is not TOML, or beyond the bounds of an input."""
    require_bounded(text, name, stored)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{name}: is not valid TOML: brackets are nested too deeply") from None
    except ValueError as error:
        raise ConfigError(f"{name}: is not valid TOML: {error}{cure(text, str(error))}") from None


def resolve(table: Mapping[str, object], name: str) -> Config:
    """Return the Config of a TOML table with defaults filled in; raises Wrong with key and reason."""
    top = read_values(Config, {key: value for key, value in table.items() if key not in SECTIONS}, "")
    box = read_named(BoxSection, table)
    require_one(box)
    propagator, external = read_named(PropagatorSection, table), read_named(ExternalSection, table)
    run, output = read_named(RunSection, table), read_named(OutputSection, table)
    contact, initial = read_contact(table), read_initial(table, name)
    require_own_keys(propagator, named("propagator", table), "propagator")
    molecules = read_molecules(table.get("molecule"), initial.method, initial.seed)
    box = with_size(box, molecules)
    return Config(
        title=str(top["title"]),
        box=box,
        molecules=tuple(own_propagator(kind, propagator, where) for where, kind in numbered(molecules)),
        initial=initial,
        propagator=propagator,
        contact=contact,
        external=external,
        walls=read_walls(table.get("wall", [])),
        potentials=read_potentials(table.get("potential", []), name),
        thermostat=read_thermostat(table),
        run=run,
        steps=read_named(StepsSection, table) if "steps" in table or run.engine == "steps" else None,
        output=output,
        source=name,
    )


def read_named(of: type[S], table: Mapping[str, object]) -> S:
    """Return one [section] of the input, by its class."""
    return read_section(of, named(of.section, table), of.section)


def named(section: str, table: Mapping[str, object]) -> Mapping[str, object]:
    """Return the TOML table of one [section] of the input."""
    given = table.get(section, {})
    if not isinstance(given, dict):
        raise Wrong(f"{section}: {shown(given)} is not a section; write it under the header [{section}] once")
    return given


def read_initial(table: Mapping[str, object], name: str) -> InitialSection:
    """Return [initial] of an input called `name`; a method that is left out is the one that a file or positions say."""
    initial, kinds = read_named(InitialSection, table), table.get("molecule")
    if initial.file is not None:
        initial = replace(initial, file=os.path.abspath(os.path.join(os.path.dirname(name), initial.file)))
    if "method" in named(InitialSection.section, table):
        return initial
    if initial.file is not None:
        return replace(initial, method="file")
    placed = isinstance(kinds, list) and any(isinstance(kind, dict) and "positions" in kind for kind in kinds)
    return replace(initial, method="explicit") if placed else initial


def read_contact(table: Mapping[str, object]) -> ContactSection:
    """Return [contact] with the PairSections of [[contact.pair]]."""
    given = dict(named("contact", table))
    pairs = tuple(read_sections(PairSection, given.pop("pair", [])))
    return replace(read_section(ContactSection, given, "contact"), pairs=pairs)


def read_thermostat(table: Mapping[str, object]) -> ThermostatSection | None:
    """Return [thermostat], if there is one; raises Wrong where it has too much or too little."""
    if "thermostat" not in table:
        return None
    one = read_named(ThermostatSection, table)
    require_own(one, f'"{one.name}"', one.section)
    return one


def require_own_keys(propagator: PropagatorSection, given: Mapping[str, object], where: str) -> None:
    """Raise Wrong for a key of a propagator's table, called `where`, that the chosen propagator does not have."""
    require_own(propagator, f'"{propagator.name}"', where, optional=propagator.keys(), given=given)


def own_propagator(kind: MoleculeSection, default: PropagatorSection, where: str) -> MoleculeSection:
    """Return a molecule kind with the table of its own propagator made a PropagatorSection.

    Keys left out are those of `default`, the input's [propagator], where the name is the same, else the defaults.
    """
    given, where = kind.propagator, f"{where}.propagator"
    if not isinstance(given, dict):
        return kind
    own = read_section(PropagatorSection, given, where)
    if given.get("name", default.name) == default.name:
        own = replace(default, **{key: getattr(own, key) for key in given})
    require_own_keys(own, given, where)
    return replace(kind, propagator=own)


def read_molecules(tables: object, method: str, seed: int) -> tuple[MoleculeSection, ...]:
    """Return the MoleculeSections of the input.

    Parameters
    ----------
    tables : object
        What TOML holds under "molecule".
    method : str
        initial.method; molecules may be left out for "file" alone.
    seed : int
        initial.seed; decides which bead has which of the sizes of its kind.

    Raises
    ------
    Wrong
        With key and reason.
    """
    if tables is None and method == "file":
        return ()
    if tables is None or tables == []:
        raise Wrong(NO_MOLECULE)
    kinds = [finish(kind, where) for where, kind in numbered(with_names(read_sections(MoleculeSection, tables)))]
    for where, kind in numbered(kinds):
        if kind.sizes is not None:
            check_rows(kind, where, method)
    return expanded(kinds, seed)


def with_names(kinds: list[MoleculeSection]) -> list[MoleculeSection]:
    """Return the kinds with those without a name called A, B, …, Z, A1, …; raises Wrong when two kinds share one."""
    taken: dict[str, str] = {}
    for where, kind in numbered(kinds):
        if kind.name is not None and kind.name in taken:
            raise Wrong(f"{where}.name: {shown(kind.name)} is the name of {taken[kind.name]} already")
        taken[kind.name] = where
    labels = (f"{letter}{number or ''}" for number in itertools.count() for letter in string.ascii_uppercase)
    free = (name for name in labels if name not in taken)
    return [kind if kind.name is not None else replace(kind, name=next(free)) for kind in kinds]


def finish(kind: MoleculeSection, where: str) -> MoleculeSection:
    """Return a MoleculeSection with its number of beads worked out."""
    require_own(kind, f'kind "{kind.kind}"', where)
    beads, least = beads_of(kind, where), LEAST_BEADS[kind.kind]
    if beads < least:
        raise Wrong(f'{where}.beads: {beads} is too few; kind "{kind.kind}" needs at least {least}')
    if isinstance(kind.diameter, (Spread, Shares)):
        return replace(kind, beads=beads, diameter=0.0, sizes=kind.diameter)
    return replace(kind, beads=beads)


def beads_of(kind: MoleculeSection, where: str) -> int:
    """Return the number of beads of a molecule; raises Wrong when it is missing or contradicts the kind."""
    follows, why = None, ""
    if kind.kind == "monomer":
        follows, why = 1, 'kind "monomer" has one bead'
    if kind.arms is not None and kind.arm_beads is not None:
        follows = 1 + kind.arms * kind.arm_beads
        why = f"one centre and {kind.arms} arms of {kind.arm_beads} make {follows}"
    if kind.sites is not None:
        follows = len(kind.sites)
        why = f"sites has {follows} rows"
        if follows < LEAST_IN_BODY:
            raise Wrong(
                f'{where}.sites: {follows} beads make no body of kind "rigid", which has at least {LEAST_IN_BODY}; use '
                'kind = "rod" for two, "monomer" for one'
            )
    if follows is not None:
        if kind.beads not in (None, follows):
            raise Wrong(f"{where}.beads: {kind.beads} is wrong: {why}; remove the key or correct it")
        return follows
    if kind.beads is None:
        raise Wrong(f'{where}.beads: is missing; kind "{kind.kind}" needs the number of beads of one molecule')
    return kind.beads
