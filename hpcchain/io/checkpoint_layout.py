"""Which tables a checkpoint has, and what makes their contents a system that can run."""

from dataclasses import replace

import numpy as np

from hpcchain.errors import DataError
from hpcchain.model.system import OPEN, PERIODIC

STATE = {
    "position": (np.float64, 3), "velocity": (np.float64, 3), "image": (np.int64, 3), "ticks": (np.float64, 0),
    "remainder": (np.float64, 0), "depth": (np.int32, 0), "struck": (np.bool_, 0), "step": (np.float64, 0),
    "in_contact": (np.int32, 0),
}
"""Name -> (type, columns) of the tables with one row per bead; 0 columns: one number per row."""

TOPOLOGY = {
    "kind": (np.int32, 0), "first_bead": (np.int64, 0), "first_bond": (np.int64, 0), "bonds": (np.int64, 2),
    "bond_length": (np.float64, 0), "mass": (np.float64, 0), "diameter": (np.float64, 0), "self_contact": (np.bool_, 0),
    "rod": (np.bool_, 0),
}
"""The same for the tables of molecules, bonds and beads."""

OPTIONAL = ("rod", "in_contact")
"""Tables that are there only where they are needed: of rods, and of contacts that last (`Physics.contact_time`).

A program that does not know them stops at the input.
"""


def stored_type(kind):
    """Return the type that a table has in the file: flags are bytes there."""
    return np.uint8 if kind is np.bool_ else kind


def check_table(dataset, kind, columns, count):
    """Raise DataError unless a dataset has the given type, columns and (if not None) number of rows."""
    shape = (dataset.shape[:1] if count is None else (count,)) + ((columns,) if columns else ())
    kind = stored_type(kind)
    if dataset.dtype != kind or dataset.shape != shape:
        raise DataError(f"{dataset.file.filename}: {dataset.name} is {dataset.dtype} {dataset.shape}, "
                        f"not {np.dtype(kind)} {shape}")


def check_system(path, system, time):
    """Raise DataError unless the parts of a system fit each other.

    Parameters
    ----------
    path : path
        Named in the message.
    system : System
        Its state may have any number of rows.
    time : float
        [time]
    """
    problem = _problem(system, time)
    if problem:
        raise wrong_contents(path, problem)


def part_problem(system, time):
    """Return what is wrong with this rank's part of a system that has a Composition, or None; see `check_system`."""
    return _problem(replace(system, topology=system.topology.examples), time)


def wrong_contents(path, problem):
    """Return the DataError for a file of which every byte is as it was written, but that makes no system."""
    return DataError(f"{path}: {problem}; the file was not made by this program or is damaged")


def _problem(system, time):
    box, topology, state = system.box, system.topology, system.state
    molecules, beads, bonds = len(topology.kind), len(topology.mass), len(topology.bonds)
    tests = {
        "the time is not a finite positive number": np.isfinite(time) and time >= 0,
        "the box is not three positive lengths":
            box.size.shape == box.origin.shape == box.boundary.shape == (3,) and bool(np.all(box.size > 0))
            and bool(np.all(np.isfinite(box.origin))),
        "a boundary is unknown": bool(np.all((box.boundary >= PERIODIC) & (box.boundary <= OPEN))),
        "the molecules' beads do not add up": _partition(topology.first_bead, molecules, beads),
        "the molecules' bonds do not add up": _partition(topology.first_bond, molecules, bonds),
        "there are not as many diameters, bond lengths, self-contact flags or rod flags as needed":
            len(topology.diameter) == beads and len(topology.bond_length) == bonds
            and len(topology.self_contact) == len(topology.rod) == molecules,
        "a bond's bead does not exist": _within(topology.bonds, beads),
        "a molecule's kind has no name": _within(topology.kind, len(topology.names)),
        "there are not as many propagators as kinds": len(system.physics.kinds) in (0, len(topology.names)),
        "a mass or diameter is not positive": bool(np.all(topology.mass > 0) and np.all(topology.diameter > 0)),
        "a position or velocity is not finite":
            bool(np.all(np.isfinite(state.position)) and np.all(np.isfinite(state.velocity))),
    }
    return next((text for text, good in tests.items() if not good), None)


def _partition(first, parts, total):
    """Return whether first[0:parts + 1] cuts 0 ... total into consecutive ranges."""
    return len(first) == parts + 1 and first[0] == 0 and first[-1] == total and bool(np.all(np.diff(first) >= 0))


def _within(indices, count):
    return bool(np.all((indices >= 0) & (indices < count)))
