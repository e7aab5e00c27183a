"""Which tables and counters a checkpoint has, and what makes their contents a state that a run can have."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.config.keys.values import LARGEST, shown
from hpcchain.io.hdf5.checksummed import Rule
from hpcchain.io.hdf5.files import wrong_contents
from hpcchain.model import sound
from hpcchain.model.composition import running_sum
from hpcchain.model.directors import kind_of_beads
from hpcchain.model.molecules.long_chains import divided, divided_classes, sizes_of_parts
from hpcchain.model.system import BEAD_STATE

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config
    from hpcchain.model.system import System, Topology

STATE = {column.name: Rule(column.dtype, column.columns) for column in BEAD_STATE}
"""Name -> Rule of the tables with one row per bead."""

PIECE = 1 << 14
"""Beads whose molecules are looked at together."""


def check_system(path: Path | str, system: System, time: float, config: Config) -> None:
    """Raise DataError unless the states of a system's beads are possible.

    Parameters
    ----------
    path : path
        Named in the message.
    system : System
        Of the molecules that it holds each is looked at alone, where it has not all. These follow one another.
    time : float
        [time]
    config : Config
        The input.
    """
    topology, held = system.topology, system.held
    ids = None if held is None else topology.beads_of(held)
    problem = sound.fields_problem(system.state, ids) or sound.extra_problem(system, time, ids)
    problem = problem or _first_problem(system, np.arange(topology.molecules) if held is None else held, time)
    problem = problem or _fixed_problem(config, system, np.arange(topology.beads) if ids is None else ids)
    if problem:
        raise wrong_contents(path, problem)


def _fixed_problem(config: Config, system: System, ids: np.ndarray) -> str | None:
    """Return which fixed bead has another velocity than the input says, or None; a start file may say another."""
    topology, velocity = system.topology, system.state.velocity
    if config.initial.method == "file" or not topology.prototypes.fixed.any():
        return None
    speeds = np.array([kind.fixed_velocity or np.zeros(3) for kind in config.molecules])
    fixed = topology.prototypes.fixed[topology.prototype_of(ids)]
    off = np.flatnonzero(np.any(velocity != speeds[kind_of_beads(topology, ids)], axis=1) & fixed)
    text = "which is fixed, is not that of the input in it"
    return f"state/velocity: of bead {ids[off[0]]}, {text}" if len(off) else None


def _first_problem(system: System, molecules: np.ndarray, time: float) -> str | None:
    """Return what is wrong with molecules, looked at some at a time: what is made on the way stays in the cache."""
    composition, low = system.topology, 0
    first, bead = running_sum(composition.size_of(molecules)), composition.bead_range(molecules)[0]
    divides = np.array(divided_classes(composition, system.physics)) & (system.state.parts.shape[1] > 0)
    while low < len(first) - 1:
        high = max(low + 1, int(np.searchsorted(first, first[low] + PIECE, side="right")) - 1)
        begin, end = int(first[low]), int(first[high])
        piece = replace(system, state=system.state.rows(begin, end))
        ids = np.arange(bead + begin, bead + end)
        some = molecules[low:high]
        in_parts = bool(divides[composition.class_of(some)].any())
        problem = _molecules_problem(piece, composition.part(some), in_parts, time, ids)
        if problem:
            return problem
        low = high
    return None


def _molecules_problem(system: System, topology: Topology, in_parts: bool, time: float, ids: np.ndarray) -> str | None:
    """Return what is wrong with the states of these molecules; parts of long chains are looked at as molecules."""
    given = (system.state, system.physics, time, ids)
    if not in_parts:
        return sound.molecules_problem(system.box, topology, *given)
    sizes = sizes_of_parts(topology, system.physics)
    problem = sound.molecules_problem(system.box, divided(topology, sizes), *given)
    return problem or sound.parts_problem(system.box, topology, sizes, *given)


COUNTED = ("frames", "events", "reports")
"""Of a run's output."""
CONTACTS = ("contacts", "wall_contacts", "no_roots")
SOLVED = ("halved", "steps", "iterations", "nodes", "node_iterations")
MOST = ("most_iterations", "most_node_iterations")
"""Of what solving for steps took: sums, and greatest values."""
ENERGIES = ("work", "heat")
"""What has come in from outside; runs have those that are not 0."""
WHOLE, QUANTA, QUANTUM, TIME, ENERGY, BY_AXIS, SEAL, TENSOR = range(8)
PARTS = {BY_AXIS: 3, TENSOR: 5}
COUNTERS = {
    **dict.fromkeys(("part", "interval_contacts", *COUNTED, *CONTACTS, *SOLVED, *MOST), WHOLE),
    **dict.fromkeys(("interval_quanta", *ENERGIES), QUANTA),
    **dict.fromkeys(("virial_quantum", "flow_quantum", "impulse_quantum"), QUANTUM),
    **dict.fromkeys(("frame_time", "report_time", "checkpoint_time"), TIME),
    **dict.fromkeys(("interval_flow", "interval_pushes"), BY_AXIS),
    "interval_tensor": TENSOR,
    "energy": ENERGY,
    "part_seal": SEAL,
}
"""Name -> what it may be; others are no run's, and are let be."""

NEEDED = {
    "interval_quanta": "virial_quantum",
    "interval_tensor": "virial_quantum",
    "interval_flow": "flow_quantum",
    "interval_pushes": "impulse_quantum",
    "frames": "frame_time",
    "reports": "report_time",
    "part": "checkpoint_time",
}
"""Counters that mean something only with another."""
GREATEST, MOST_QUANTA = 2**53, 2**200
"""Counts go on from there, and sums become numbers."""


def counters_problem(counters: Mapping[str, object], time: float) -> str | None:
    """Return what is wrong with the counters of a checkpoint at a time, or None."""
    for name, value in counters.items():
        if name in COUNTERS and not _fits(COUNTERS[name], value, time):
            return f"counters: {name}: {shown(value)} is impossible"
        if name in NEEDED and NEEDED[name] not in counters:
            return f"counters: {NEEDED[name]} is missing"
    if "part" in counters:  # a run's, and no start's
        for name in COUNTERS:
            if name not in counters and name not in ENERGIES:
                return f"counters: {name} is missing"
    if whole(counters, "interval_contacts") > whole(counters, "contacts") + whole(counters, "wall_contacts"):
        return f"counters: interval_contacts: {counters['interval_contacts']} are more than all contacts"
    nothing = (0, *([0] * count for count in PARTS.values()))
    since = [name for name in COUNTERS if name.startswith("interval_") and counters.get(name, 0) not in nothing]
    if since and counters.get("report_time") == time:
        return f"counters: {since[0]}: is not 0, and a report of this very time counts from here"
    if abs(whole(counters, "interval_quanta")) > LARGEST / (number(counters, "virial_quantum") or 1.0):
        return "counters: interval_quanta: is beyond all numbers"
    return None


def _fits(rule: int, value: object, time: float) -> bool:
    """Return whether a value is what a counter may be."""
    if rule == WHOLE:
        return type(value) is int and 0 <= value <= GREATEST
    if rule == QUANTA:
        return type(value) is int and abs(value) <= MOST_QUANTA
    if rule in PARTS:
        return isinstance(value, list) and len(value) == PARTS[rule] and all(_fits(QUANTA, x, time) for x in value)
    if rule == SEAL:
        return isinstance(value, str) and re.fullmatch("([0-9a-f]{64})?", value) is not None
    if value is None:
        return rule != QUANTUM
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        return False
    if rule == QUANTUM:
        return type(value) is float and value >= 1.0 / LARGEST and math.frexp(value)[0] == 0.5
    return 0.0 <= value <= time if rule == TIME else True


def whole(counters: Mapping[str, object], name: str) -> int:
    """Return a count of a checkpoint, whose reader has looked at them all; 0 where it has none of this name."""
    found = counters.get(name)
    return found if isinstance(found, int) else 0


def number(counters: Mapping[str, object], name: str) -> float | None:
    """Return a number among a checkpoint's counters, None where it has none of this name."""
    found = counters.get(name)
    return float(found) if isinstance(found, int | float) else None
