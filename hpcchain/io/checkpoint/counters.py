"""The counters of a checkpoint: which there are, and what each may be."""

import math
import re
from typing import Any

from hpcchain.config.keys.values import LARGEST

WHOLE, QUANTA, QUANTUM, TIME, ENERGY, WALL_IMPULSE, SEAL, TENSOR = range(8)
PARTS = {WALL_IMPULSE: 3, TENSOR: 5}
COUNTERS = {
    **dict.fromkeys(
        (
            "part",
            "frames",
            "events",
            "reports",
            "contacts",
            "wall_contacts",
            "no_roots",
            "interval_contacts",
            "halved",
            "steps",
            "iterations",
            "nodes",
            "node_iterations",
            "most_iterations",
            "most_node_iterations",
            "freedom",
        ),
        WHOLE,
    ),
    "interval_quanta": QUANTA,
    "virial_quantum": QUANTUM,
    "interval_tensor": TENSOR,
    "interval_pushes": WALL_IMPULSE,
    "impulse_quantum": QUANTUM,
    "frame_time": TIME,
    "report_time": TIME,
    "checkpoint_time": TIME,
    "energy": ENERGY,
    "part_seal": SEAL,
    "work": QUANTA,
    "heat": QUANTA,
}
"""Name -> what it may be; others are nobody's, and are let be."""

NEEDED = {
    "interval_quanta": "virial_quantum",
    "interval_tensor": "virial_quantum",
    "interval_pushes": "impulse_quantum",
}
"""Counters that mean something only beside another."""
MOST, MOST_QUANTA = 2**53, 2**200
"""Counts go on from there, and sums become numbers."""


def counters_problem(counters: Any, time: float, beads: int) -> Any:
    """Return what is wrong with the counters of a checkpoint at a time of so many beads, or None."""
    if not isinstance(counters, dict):
        return "counters: are no table"
    for name, value in counters.items():
        if name in COUNTERS and not _fits(COUNTERS[name], value, time):
            return f"counters: {name}: {str(value)[:60]!r} is impossible"
        if name in NEEDED and NEEDED[name] not in counters:
            return f"counters: {NEEDED[name]} is missing"
    if counters.get("freedom", 0) > 3 * beads:
        return f"counters: freedom: {counters['freedom']} is more than {beads} beads have"
    if counters.get("interval_contacts", 0) > sum(counters.get(name, 0) for name in ("contacts", "wall_contacts")):
        return f"counters: interval_contacts: {counters['interval_contacts']} are more than all contacts"
    unit = counters.get("virial_quantum", 1.0)
    if abs(counters.get("interval_quanta", 0)) > LARGEST / unit:
        return "counters: interval_quanta: is beyond all numbers"
    return None


def _fits(rule: int, value: Any, time: float) -> bool:
    """Return whether a value is what a counter may be."""
    if rule == WHOLE:
        return type(value) is int and 0 <= value <= MOST
    if rule == QUANTA:
        return type(value) is int and abs(value) <= MOST_QUANTA
    if rule in PARTS:
        return isinstance(value, list) and len(value) == PARTS[rule] and all(_fits(QUANTA, x, time) for x in value)
    if rule == SEAL:
        return isinstance(value, str) and re.fullmatch("([0-9a-f]{64})?", value) is not None
    if value is None:
        return rule != QUANTUM
    if type(value) not in (int, float) or not abs(value) <= LARGEST:
        return False
    if rule == QUANTUM:
        return type(value) is float and value >= 1.0 / LARGEST and math.frexp(value)[0] == 0.5
    return 0.0 <= value <= time if rule == TIME else True
