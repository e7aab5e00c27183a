"""The input that a checkpoint carries: read as any other, and compared with the system that is stored with it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hpcchain.config import load_config
from hpcchain.config.demands.check import check
from hpcchain.config.keys.values import Wrong
from hpcchain.errors import DataError, HpcchainError
from hpcchain.io.checkpoint.checkpoint import read_input, read_outline
from hpcchain.io.checkpoint.layout import wrong_contents
from hpcchain.io.hdf5.collective import FAILURES
from hpcchain.model.composition import composition_of
from hpcchain.model.directors import kind_of_beads
from hpcchain.model.starts.spins import build_directors
from hpcchain.model.starts.start import divided_from, physics_with
from hpcchain.model.system import TOPOLOGY
from hpcchain.model.topology import build_box, build_composition, sections_of
from hpcchain.parallel.agreement import gathered
from hpcchain.parallel.slabs import slab

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config, PropagatorSection
    from hpcchain.io.checkpoint.checkpoint import Checkpoint
    from hpcchain.model.composition import Composition
    from hpcchain.model.directors import Directors
    from hpcchain.model.system import Box, KindPhysics, Physics, System, Topology
    from hpcchain.parallel.agreement import Communicator


def config_of(checkpoint: Checkpoint, path: Path | str) -> Config:
    """Return the input that a checkpoint carries."""
    return config_of_text(checkpoint.config_toml, path)


def config_of_text(stored: str, path: Path | str) -> Config:
    """Return the Config of an input that the program has stored in a file; raises DataError where it is none."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "input.toml"
        text.write_text(stored, encoding="utf-8")
        try:
            return replace(load_config(text, stored=True), source=str(path))
        except HpcchainError as error:
            raise DataError(f"{path}: the input in it cannot be used: {error}") from error


def described(config: Config) -> Config:
    """Return an input with the molecules of its start file where it has none of its own, as far as they can be read."""
    if config.molecules or config.initial.file is None:
        return config
    try:
        stored = config_of_text(read_input(config.initial.file), config.initial.file)
    except (HpcchainError, *FAILURES):
        return config
    return replace(config, molecules=tuple(replace(kind, propagator=None) for kind in stored.molecules))


def require_own_input(checkpoint: Checkpoint, path: Path | str, mpi: Communicator | None = None) -> Config:
    """Return the input in a checkpoint or start file after comparing it with all that does not change; collective.

    Parameters
    ----------
    checkpoint : Checkpoint
        On several ranks its topology is a Composition, and each compares its slabs.
    path : path
    mpi : communicator or None

    Raises
    ------
    DataError
        On every rank, naming what differs, or when the input cannot be used.
    """
    config = config_of(checkpoint, path)
    system = checkpoint.system
    box, problem = box_difference(config, system.box), _physics_problem(config, system)
    if box is not None:
        problem = "box/{} is {}, that of the input in it {}".format(*box)
    problem = problem or (_molecules_problem(config, system, mpi) if config.molecules else _impossible(config, system))
    if problem:
        raise wrong_contents(path, problem)
    return config


def checked_outline(path: Path) -> Checkpoint:
    """Read a checkpoint as `read_outline` does and compare it with its own input; not collective."""
    found = read_outline(path)
    require_own_input(found, path)
    return found


def box_difference(config: Config, box: Box) -> tuple[str, list[float], list[float]] | None:
    """Return the first key of a box that is not the input's, its value there and the input's; None: it is its box."""
    given = build_box(config.box)
    found = ((key, getattr(box, key).tolist(), getattr(given, key).tolist()) for key in ("size", "origin", "boundary"))
    return next((one for one in found if one[1] != one[2]), None)


def _physics_problem(config: Config, system: System) -> str | None:
    """Return which constant is not that of the input."""
    stored = system.physics
    given = physics_with(_as_chosen(config, stored), stored.tick)
    ours, theirs = (dict(numbers_in(one.table())) for one in (stored, given))
    for name in ours | theirs:
        if ours.get(name) != theirs.get(name):
            return f"physics: {name} is {ours.get(name)!r}, that of the input in it {theirs.get(name)!r}"
    return None


def numbers_in(table: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Yield the names, such as steps.gravity.2, and the values of all that is neither table nor list in a table."""
    if isinstance(table, (dict, list, tuple)):
        for key, one in table.items() if isinstance(table, dict) else enumerate(table):
            yield from numbers_in(one, f"{name}.{key}".lstrip("."))
    else:
        yield name, table


def _as_chosen(config: Config, physics: Physics) -> Config:
    """Return an input with what it leaves to the program as a run's constants have it: another version may differ."""

    def like(one: PropagatorSection, own: Physics | KindPhysics) -> PropagatorSection:
        chosen = own.options.stretches
        left = one.stretches == "auto" and (chosen == 0 or divided_from(one, config) > 0)
        return replace(one, stretches=chosen) if left else one

    kinds = [*physics.kinds, *[None] * len(config.molecules)]
    molecules = tuple(
        kind if kind.propagator is None or own is None else replace(kind, propagator=like(kind.propagator, own))
        for kind, own in zip(config.molecules, kinds, strict=False)
    )
    return replace(config, propagator=like(config.propagator, physics), molecules=molecules)


def _impossible(config: Config, system: System) -> str | None:
    """Return what is wrong with the molecules of a file whose input names none, or None."""
    try:
        whole_input(config, system)
    except Wrong as wrong:
        return f"topology: {wrong}"
    return None


def whole_input(config: Config, system: System) -> Config:
    """Return an input that names no molecules with those of a file; raises Wrong where they are impossible together."""
    turning = None if system.directors is None else system.directors.moment > 0.0
    whole = replace(config, molecules=sections_of(system.topology, turning))
    check(whole)
    return whole


def _molecules_problem(config: Config, system: System, mpi: Communicator | None) -> str | None:
    given, topology = build_composition(config), system.topology
    if tuple(topology.names) != tuple(given.names):
        return f"names: {list(topology.names)} are not those of the input in it, {list(given.names)}"
    if tuple(topology.type_names) != tuple(given.type_names):
        return f"type_names: {list(topology.type_names)} are not those of the input in it, {list(given.type_names)}"
    for table in TOPOLOGY:
        where = first_difference(given, topology, table.name, mpi)
        if where is not None:
            return f"topology/{table.name}: is not that of the input in it{where}"
    directors = build_directors(config)
    if (directors is None) != (system.directors is None):
        return "directors: are in one of the file and the input in it"
    made_here = config.initial.method != "file"
    for name in ("moment", "step", *("seed", "temperature") * made_here) if directors is not None else ():
        if not np.array_equal(getattr(directors, name), getattr(system.directors, name)):
            return f"directors: {name}: is not that of the input in it"
    return _lasting_problem(config, directors, system, mpi) if made_here else None


def _lasting_problem(
    config: Config, directors: Directors | None, system: System, mpi: Communicator | None
) -> str | None:
    """Return what no motion changes, of directors and fixed beads, and is not as in the input, or None; collective."""
    text, ids = None, held_beads(system)
    if directors is not None and system.directors is not None:
        own, given = system.directors.table, directors.table
        if (own is None) != (given is None):
            text = "directors: the start is random in one of the file and the input in it"
        elif own is not None and given is not None:
            rows = given.rows(own.low, own.low + len(own.orientation))
            same = np.array_equal(own.orientation, rows.orientation)
            same = same and np.array_equal(own.angular_velocity, rows.angular_velocity)
            text = None if same else "directors: orientation, angular_velocity: are not those of the input in it"
    topology, velocity = system.topology, system.state.velocity
    speeds = np.zeros((len(config.molecules), 3))
    for row, kind in zip(speeds, config.molecules, strict=True):
        row[:] = kind.fixed_velocity or 0.0
    fixed = topology.prototypes.fixed[topology.prototype_of(ids)]
    off = np.flatnonzero(np.any(velocity != speeds[kind_of_beads(topology, ids)], axis=1) & fixed)
    if len(off):
        text = text or f"state/velocity: of bead {ids[off[0]]}, which is fixed, is not that of the input in it"
    return next((found for found in gathered(mpi, text) if found is not None), None)


def held_beads(system: System) -> NDArray[np.int64]:
    """Return the global ids of the beads whose states a system has."""
    if system.held is None:
        return np.arange(len(system.state.velocity))
    return composition_of(system.topology).beads_of(system.held)


def first_difference(
    given: Composition, topology: Composition | Topology, table: str, mpi: Communicator | None
) -> str | None:
    """Return for a message where the tables of this name differ first, None where they do not; collective."""
    count = given.count(table)
    if count != topology.count(table):
        return ""
    low, high = slab(count, mpi)
    ours, theirs = given.rows(table, low, high), topology.rows(table, low, high)
    other, text = np.argwhere(ours != theirs), None
    if len(other):
        row = int(other[0][0])
        text = f" in row {low + row}: {ours[row].tolist()} here, {theirs[row].tolist()} there"
    return next((found for found in gathered(mpi, text) if found is not None), None)
