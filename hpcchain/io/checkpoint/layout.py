"""Which tables a checkpoint has, and what makes their contents a system that can run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import h5py
import numpy as np

from hpcchain.config.keys.values import LARGEST
from hpcchain.errors import DataError, EngineError
from hpcchain.model import sound
from hpcchain.model.composition import composition_of, one_of_each, running_sum
from hpcchain.model.molecules.long_chains import divided, divides_any, sizes_of_parts
from hpcchain.model.sound_parts import parts_problem
from hpcchain.model.system import BEAD_STATE

if TYPE_CHECKING:
    from hpcchain.model.system import System, Topology

STATE = {column.name: (column.dtype, column.columns) for column in BEAD_STATE}
"""Name -> (type, columns) of the tables with one row per bead; 0 columns: one number per row."""

TOPOLOGY = {
    "kind": (np.int32, 0),
    "first_bead": (np.int64, 0),
    "first_bond": (np.int64, 0),
    "bonds": (np.int64, 2),
    "bond_length": (np.float64, 0),
    "mass": (np.float64, 0),
    "diameter": (np.float64, 0),
    "self_contact": (np.bool_, 0),
    "rod": (np.bool_, 0),
    "flexible": (np.bool_, 0),
    "soft": (np.bool_, 0),
    "bead_type": (np.int32, 0),
    "exclude": (np.int8, 0),
    "moment": (np.float64, 0),
    "fixed": (np.bool_, 0),
    "body": (np.bool_, 0),
    "site": (np.float64, 3),
}
"""The same for the tables of molecules, bonds and beads."""

OPTIONAL = ("rod", "flexible", "soft", "bead_type", "exclude", "moment", "fixed", "body", "site")
"""Tables of a topology that are there only where they say something; all of them would be a fifth of a file.

They are of rods, of bonds that potentials hold, beads without hard cores, types of beads that are not their molecules'
names, what is excluded beyond bonds, moments of inertia that are not those of uniform spheres, fixed beads, and rigid
bodies and where their beads are.
"""

PIECE = 1 << 14
"""Beads whose molecules are looked at together."""


def stored_type(kind: np.dtype | type) -> np.dtype | type:
    """Return the type that a table has in the file: flags are bytes there."""
    return np.uint8 if kind is np.bool_ else kind


def check_table(dataset: h5py.Dataset, kind: type, columns: int, count: int | None) -> None:
    """Raise DataError unless a dataset has the given type, columns and (if not None) number of rows."""
    shape = (dataset.shape[:1] if count is None else (count,)) + ((columns,) if columns else ())
    kind = stored_type(kind)
    if dataset.dtype != kind or dataset.shape != shape:
        raise DataError(
            f"{dataset.file.filename}: {dataset.name} is {dataset.dtype} {dataset.shape}, not {np.dtype(kind)} {shape}"
        )


def check_system(path: Path | str, system: System, time: float, ids: np.ndarray | None = None) -> None:
    """Raise DataError unless the parts of a system fit each other and all that they say is possible.

    Parameters
    ----------
    path : path
        Named in the message.
    system : System
        With a Topology of all molecules.
    time : float
        [time]
    ids : (n,) int64 array, optional
        Global ids of the beads that the state has; default: all. Of some beads each is looked at alone.
    """
    problem = system_problem(system, system.topology, time) or sound.fields_problem(system.state, ids)
    problem = problem or sound.extra_problem(system, time, ids)
    if not problem and ids is None:
        topology = system.topology
        problem = _first_problem(system, topology.first_bead, lambda m: one_of_each(topology, m), time, 0)
    if problem:
        raise wrong_contents(path, problem)


def check_part(path: Path | str, system: System, time: float, held: np.ndarray) -> None:
    """Raise DataError unless molecules `held` of a system that has a Composition are possible; see `check_system`.

    They follow one another.
    """
    composition, ids = system.topology, system.topology.beads_of(held)
    problem = system_problem(system, composition.prototypes, time) or sound.fields_problem(system.state, ids)
    problem = problem or sound.extra_problem(system, time, ids)
    if not problem and len(held):
        first = running_sum(composition.size_of(held))
        problem = _first_problem(system, first, lambda m: composition.part(held[m]), time, ids[0])
    if problem:
        raise wrong_contents(path, problem)


def _first_problem(system: System, first: np.ndarray, part_of: Callable, time: float, bead: int) -> str | None:
    """Return what is wrong with molecules, looked at some at a time: what is made on the way stays in the cache.

    Parameters
    ----------
    system : System
        Its state has their beads.
    first : (n + 1,) int64 array
        Row of the state at which each molecule begins, and the end of the last.
    part_of : function of an integer array
        Returns the Topology of some of the n molecules.
    time : float
        [time]
    bead : int
        Global id of the first bead; the others follow it.
    """
    low = 0
    while low < len(first) - 1:
        high = max(low + 1, int(np.searchsorted(first, first[low] + PIECE, side="right")) - 1)
        begin, end = int(first[low]), int(first[high])
        piece = replace(system, state=system.state.rows(begin, end))
        problem = _molecules_problem(piece, part_of(np.arange(low, high)), time, np.arange(bead + begin, bead + end))
        if problem:
            return problem
        low = high
    return None


def _molecules_problem(system: System, topology: Topology, time: float, ids: np.ndarray) -> str:
    """Return what is wrong with the states of these molecules; parts of long chains are looked at as molecules."""
    given = (system.state, system.physics, time, ids)
    if not divides_any(topology, system.physics) or system.state.parts.shape[1] == 0:
        return sound.molecules_problem(system.box, topology, *given)
    sizes = sizes_of_parts(topology, system.physics)
    problem = sound.molecules_problem(system.box, divided(topology, sizes), *given)
    return problem or parts_problem(system.box, topology, sizes, *given)


def wrong_contents(path: Path | str, problem: str) -> DataError:
    """Return the DataError for a file of which every byte is as it was written, but that makes no system."""
    return DataError(f"{path}: {problem}; the file was not made by this program or is damaged")


def system_problem(system: System, topology: Topology, time: float) -> str:
    """Return what is wrong with all of a system but the states of its beads, or None.

    Parameters
    ----------
    system : System
    topology : Topology
        Its molecules, or one of each kind.
    time : float
        [time]
    """
    names = topology.names
    if not (math.isfinite(time) and 0.0 <= time <= LARGEST):
        return f"the time, {time!r}, is not a finite positive number"
    problem = sound.box_problem(system.box) or tables_problem(topology)
    if problem:
        return problem
    problem = sound.physics_problem(system.physics, len(names))
    if problem:
        return problem
    try:
        prototypes = composition_of(topology).firsts if topology.molecules else []
    except EngineError as error:
        return f"topology: {error}"
    return sound.topology_problem(system.box, topology, prototypes) or sound.extended_problem(system)


def tables_problem(topology: Topology) -> str | None:
    """Return what is wrong with how the tables cut beads and bonds into molecules, or None."""
    molecules, beads, bonds = len(topology.kind), len(topology.mass), len(topology.bonds)
    tests = {
        "topology/first_bead: the molecules' beads do not add up": _partition(topology.first_bead, molecules, beads),
        "topology/first_bond: the molecules' bonds do not add up": _partition(topology.first_bond, molecules, bonds),
        "topology: there are not as many diameters, bond lengths, self-contact flags or flags as needed": len(
            topology.diameter
        )
        == beads
        and len(topology.bond_length) == bonds
        and len(topology.self_contact) == len(topology.rod) == len(topology.flexible) == len(topology.body) == molecules
        and len(topology.soft)
        == len(topology.fixed)
        == len(topology.bead_type)
        == len(topology.moment)
        == len(topology.site)
        == beads
        and len(topology.exclude) == molecules,
        "topology/bonds: a bond's bead does not exist": _within(topology.bonds, beads),
        "topology/kind: a molecule's kind has no name": _within(topology.kind, len(topology.names)),
        "topology/bead_type: a bead's type has no name": _within(topology.bead_type, len(topology.type_names)),
        "topology/exclude: is not 1, 2 or 3": _within(topology.exclude - 1, 3),
    }
    return next((text for text, good in tests.items() if not good), None)


def _partition(first: np.ndarray, parts: int, total: int) -> bool:
    """Return whether first[0:parts + 1] cuts 0 ... total into consecutive ranges."""
    return len(first) == parts + 1 and first[0] == 0 and first[-1] == total and bool(np.all(np.diff(first) >= 0))


def _within(indices: np.ndarray, count: int) -> bool:
    return bool(np.all((indices >= 0) & (indices < count)))
