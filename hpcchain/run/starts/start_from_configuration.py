"""Starts made of another program's file: its beads as molecules of ours, on their bonds, without overlaps."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hpcchain.config.keys.key import numbered, required
from hpcchain.config.keys.schema import read_sections
from hpcchain.config.keys.sections import OF_BEADS, MoleculeSection
from hpcchain.config.keys.values import shown, wrong_as
from hpcchain.config.load import config_from_table, finish, named
from hpcchain.errors import ConfigError
from hpcchain.io.tools.configurations import ROUNDED, SINGLE, format_of, read_configuration
from hpcchain.model.starts.constraints import bond_vectors
from hpcchain.model.starts.given import TOLERANCE, GivenBeads
from hpcchain.model.starts.overlap import bead_overlap
from hpcchain.model.topology import build_box, build_composition
from hpcchain.run.starts.bead_arrays import Beads, Names
from hpcchain.run.starts.growth import largest_size
from hpcchain.run.starts.starting import start_system
from hpcchain.run.starts.user_system import OF_ALL, box_of, with_keys

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.io.tools.configurations import Configuration
    from hpcchain.model.system import Box, System
    from hpcchain.parallel.comm import Single, World
    from hpcchain.parallel.signals import Signals

LOG = logging.getLogger("hpcchain.api")

END_TIME = 10.0
"""Of the run in the input that is printed, where none is given [time]."""
MANY_KINDS = 20
LONG = 1.5
"""Of the median bond: longer ones are hardly meant."""


class Source(NamedTuple):
    """A file of another program, and what is made of it.

    Attributes
    ----------
    path : path
    fmt : str or None
        Its format; see `hpcchain.io.tools.configurations`.
    frame : int or None
        The last when None.
    bond_length, tolerance : float or None
        See `System.from_arrays`.
    """

    path: Path | str
    fmt: str | None = None
    frame: int | None = None
    bond_length: float | None = None
    tolerance: float | None = None

    @property
    def rounding(self) -> float:
        """The tolerance, or by how much bonds differ for the digits of the format."""
        return ROUNDED.get(format_of(self.path, self.fmt), SINGLE) if self.tolerance is None else self.tolerance


class Found(NamedTuple):
    """An input with an explicit start, the file that this is from, and what it calls the beads."""

    config: Config
    path: str
    names: Names | None


def found_in(source: Source, given: Mapping[str, object], input_name: str | None = None) -> Found:
    """Return the input of an explicit start that is made of a file.

    Parameters
    ----------
    source : Source
    given : dict
        An input's TOML table: what the file does not say, and what is to be otherwise than it says. Tables [[molecule]]
        say what molecules its beads make, one after another; one table "molecule" has keys for all of them.
    input_name : str, optional
        Where that stands, for messages.

    Raises
    ------
    UsageError, DataError
        As `read_configuration`.
    ConfigError
        When molecules, box or bonds are not possible; the message names beads as the file does.
    """
    there = read_configuration(source.path, source.fmt, source.frame)
    table, own = dict(given), given.get("molecule", {})
    with wrong_as(ConfigError, ""):
        table["box"] = box_table(source.path, there, table)
        initial = {key: value for key, value in named("initial", table).items() if key != "file"}
        table["initial"] = initial | {"method": "explicit"}
        table["run"] = {"end_time": END_TIME, **named("run", table)}
    if isinstance(own, list):
        return of_given_molecules(source, there, table, own, input_name or str(source.path))
    if not isinstance(own, dict):
        raise ConfigError(f"molecule: is {shown(own)}; give keys for all molecules, or tables [[molecule]]")
    return of_own_molecules(source, there, table, own, input_name or str(source.path))


def of_own_molecules(
    source: Source, there: Configuration, table: dict[str, object], keys: Mapping[str, object], input_name: str
) -> Found:
    """Return what `found_in` does where the file says by bonds what molecules are; `keys`: of all molecules."""
    name = str(source.path)
    unknown = [key for key in keys if key not in (*OF_ALL, *OF_BEADS)]
    if unknown:
        raise ConfigError(
            f"{name}: molecule.{unknown[0]}: cannot be given for all molecules of a file; it may be one of "
            f"{', '.join((*OF_ALL, *OF_BEADS))}"
        )
    of_beads = {key: by_type(name, key, there, keys[key]) for key in OF_BEADS if key in keys}
    of_all = {key: value for key, value in keys.items() if key in OF_ALL}
    for key, values in (("mass", there.mass), ("diameter", there.diameter)):
        if values is None and key not in of_beads:
            LOG.warning("%s: says no %s: 1 for all beads; --set molecule.%s=… gives others", name, key, key)
        of_beads.setdefault(key, 1.0 if values is None else values)
    of_beads.setdefault("types", np.array(there.types, dtype=object))
    beads = beads_of(source, there, there.bonds, of_beads)
    if not len(there.bonds):
        LOG.warning(
            "%s: has no bonds: every bead is a molecule of its own; an input with [[molecule]] tables says otherwise",
            name,
        )
    box = box_of(name, table)
    beads.make_whole(box)
    require_bonds(beads, box)
    tolerance = source.tolerance if source.bond_length is not None else source.rounding
    beads.set_lengths(source.bond_length, tolerance, of_all.get("rigid") is not False)
    beads, sequence = beads.sorted_by_molecule()
    if np.any(np.diff(sequence) != 1):
        LOG.warning("%s: beads are numbered anew: those of a molecule, and molecules of a kind, stand together", name)
    kinds = with_names(with_keys(beads.kinds(), of_all), there, sequence)
    if len(kinds) > MANY_KINDS:
        length = np.unique(beads.length)
        LOG.warning(
            "%s: its molecules are of %d kinds, with %d bond lengths from %.6g to %.6g; where these differ by noise "
            "alone, give --bond-length or --tolerance",
            name,
            len(kinds),
            len(length),
            *(length[[0, -1]] if len(length) else (0.0, 0.0)),
        )
    config = beads.on_bonds(config_from_table(table | {"molecule": kinds}, input_name))
    return Found(config, name, beads.names)


def require_bonds(beads: Beads, box: Box) -> None:
    """Raise ConfigError where a bond is longer than half a periodic side; the log names one much longer than others."""
    length = np.linalg.norm(bond_vectors(beads.position, beads.bonds), axis=1)
    if not len(length):
        return
    at, side = np.argmax(length), np.min(np.where(box.periodic, box.size, np.inf))
    what = f"the bond of {beads.pair(*beads.bonds[at])} is {length[at]:.6g} long"
    if length[at] > 0.5 * side:
        raise ConfigError(f"{beads.source}: bonds: {what}, more than half the periodic side {side:.6g}; mend the file")
    middle = float(np.median(length))
    if length[at] > LONG * middle:
        beads.caution(f"bonds: {what}, {length[at] / middle:.3g} times the median; is it one?")


def of_given_molecules(
    source: Source, there: Configuration, table: dict[str, object], kinds: list[object], name: str
) -> Found:
    """Return what `found_in` does where the input's [[molecule]] tables say what molecules are."""
    with wrong_as(ConfigError, f"{name}: "):
        sections = [finish(kind, where) for where, kind in numbered(read_sections(MoleculeSection, kinds))]
    if source.bond_length is not None:
        raise ConfigError(f"{name}: molecule: its tables say bond_length; give it there, not by --bond-length")
    count = sum(kind.count * kind.beads for kind in sections)
    if count != len(there.position):
        raise ConfigError(
            f"{name}: molecule: its tables have {count} beads in all, {source.path} has {len(there.position)}; they "
            "are taken one after another"
        )
    filled, first = [], 0
    for kind, section in zip(cast("list[dict[str, object]]", kinds), sections, strict=True):
        own = slice(first, first + section.count * section.beads)
        moving = {} if there.velocity is None else {"velocities": there.velocity[own].tolist()}
        filled.append({**kind, "positions": there.position[own].tolist(), **moving})
        first = own.stop
    config = config_from_table(table | {"molecule": filled}, name)
    topology = build_composition(config).whole()
    beads = beads_of(source, there, topology.bonds, {})
    rows = np.lexsort(np.sort(topology.bonds, axis=1).T[::-1])  # as the beads have their bonds
    length = np.where(topology.rigid, topology.bond_length, np.nan)[rows]
    beads.make_whole(box_of(name, table), length)
    beads.set_lengths(None, source.rounding)
    beads.require_near(length, source.rounding)
    return Found(beads.on_bonds(config), str(source.path), beads.names)


def started_from(found: Found, grow: bool, signals: Signals, comm: Single | World) -> System:
    """Return the System of a start that was made of a file; collective.

    Parameters
    ----------
    found : Found
    grow : bool
        Whether beads that overlap begin smaller and grow.
    signals : Signals
    comm : Single or World

    Raises
    ------
    ConfigError
        Where it is impossible; of beads that overlap the message says what the file calls them.
    """
    config = found.config
    box, topology = build_box(config.box), build_composition(config).whole()
    position = np.concatenate([required(kind.positions) for kind in config.molecules])
    if grow:
        scale = largest_size(config, box, topology, position)
        if scale < 1.0:
            if config.molecules[0].velocities is not None and comm.rank == 0:
                LOG.warning("%s: velocity: is drawn anew, since beads grow", config.source)
            smaller, still = replace(topology, diameter=scale * topology.diameter), np.zeros_like(position)
            GivenBeads(config.source, smaller, position, still).check(box)
            return start_system(config, signals, comm, places=position)
    try:
        return start_system(config, signals, comm)
    except ConfigError:
        pair = bead_overlap(box, topology, position, TOLERANCE)
        if pair is None or found.names is None:
            raise
        i, j, distance = pair
        raise ConfigError(
            f"{found.path}: {found.names.pair(i, j)} overlap: their distance {distance:.6g} is below the contact "
            f"distance {0.5 * (topology.diameter[i] + topology.diameter[j]):.6g}; --grow grows beads from where they "
            "are, --set molecule.diameter=… makes them smaller, molecule.exclude=2 lets near ones of a molecule overlap"
        ) from None


def beads_of(source: Source, there: Configuration, bonds: NDArray[np.int64], of_beads: Mapping[str, object]) -> Beads:
    """Return the Beads of a file, which messages name by its numbers and types."""
    names = Names(np.array(there.ids), np.array(there.types, dtype=object))
    return Beads(str(source.path), there.position, there.velocity, bonds, (), of_beads, names)


def by_type(name: str, key: str, there: Configuration, value: object) -> object:
    """Return a value for all beads, or of a dict by types one for each."""
    if not isinstance(value, dict):
        return value
    missing = sorted(set(there.types) - set(value))
    if missing:
        raise ConfigError(f"{name}: molecule.{key}: says nothing of type {missing[0]}; give a value for each type")
    return [value[one] for one in there.types]


def with_names(
    kinds: list[dict[str, object]], there: Configuration, sequence: NDArray[np.int64]
) -> list[dict[str, object]]:
    """Return the [[molecule]] tables with the names that the file has for molecules, where each has its own."""
    if there.names is None:
        return kinds
    sizes = [len(cast("list[object]", kind["positions"])) for kind in kinds]
    firsts = sequence[np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)]
    names = [there.names[bead].strip() for bead in firsts]
    if "" in names or len(set(names)) < len(names):
        return kinds
    return [{"name": name, **kind} for name, kind in zip(names, kinds, strict=True)]


def box_table(path: Path | str, there: Configuration, table: Mapping[str, object]) -> dict[str, object]:
    """Return the table of [box]: the file's, but for what is given; a packing fraction gives way to a size.

    Raises Wrong where what is given is no table.
    """
    given = {name: value for name, value in named("box", table).items() if name != "packing_fraction"}
    if there.size is None and "size" not in given:
        raise ConfigError(f"{path}: has no box; give one with --set box.size=[LX,LY,LZ], or in an input")
    periodic = [True] * 3 if there.size is None else there.periodic
    found = {"origin": there.origin.tolist(), "boundary": ["periodic" if flag else "open" for flag in periodic]}
    return found | ({} if there.size is None else {"size": there.size.tolist()}) | given


def run_input(config: Config, start: Path | str) -> Config:
    """Return the input of a run that begins with a start file made of an explicit start.

    Parameters
    ----------
    config : Config
        That of the explicit start.
    start : path
        The file.
    """
    molecules = tuple(plainly(replace(kind, positions=None, velocities=None)) for kind in config.molecules)
    initial = replace(config.initial, method="file", file=str(Path(start).absolute()))
    return replace(config, molecules=molecules, initial=initial)


def plainly(kind: MoleculeSection) -> MoleculeSection:
    """Return a kind with one value where all beads, or all bonds, have the same."""
    lists = {name: getattr(kind, name) for name in (*OF_BEADS, "bond_length")}
    return replace(
        kind, **{name: own[0] for name, own in lists.items() if isinstance(own, tuple) and len(set(own)) == 1}
    )
