"""The published starts and the event tables of tests/data."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .systems import Molecule, System

DATA = Path(__file__).resolve().parent.parent / "data"


@dataclass(frozen=True)
class Table:
    """An event table: one row per instant, with all its contacts.

    `contacts` holds per instant a list of ((kind, first, second), impulse); `allowed` the error in time that a code
    with 1e-16 per step makes and 1e-16 of disturbance grows to [time].
    """

    time: np.ndarray
    contacts: list
    position: np.ndarray
    before: np.ndarray
    after: np.ndarray
    allowed: np.ndarray


def numbers(values):
    """Return nested lists of decimal strings as a longdouble array."""
    return np.array(values, dtype=object).astype(np.longdouble)


def bead_pair(contact):
    """Return (kind, first, second) of a table's contact."""
    if contact[0] == "w":
        _, bead, axis, side = contact
        return 1, bead, (-4 if side > 0 else -1) - axis
    return 0, min(contact[1:]), max(contact[1:])


def contacts_of(event):
    """Return the sorted [((kind, first, second), impulse)] of a table's event."""
    pairs = zip(event["contacts"], event["impulse"], strict=True)
    return sorted((bead_pair(contact), np.longdouble(impulse)) for contact, impulse in pairs)


def load(name):
    """Return the Table of tests/data/mp_<name>.json."""
    data = json.loads((DATA / f"mp_{name}.json").read_text())
    guide = json.loads((DATA / "tolerance_guidance.json").read_text())[data["name"]]
    events = data["events"]
    return Table(
        numbers([e["t"] for e in events]),
        [contacts_of(event) for event in events],
        numbers([e["r"] for e in events]),
        numbers([e["v_minus"] for e in events]),
        numbers([e["v_plus"] for e in events]),
        np.maximum.accumulate(np.array(guide["double_err"]) + 1e-16 * np.array(guide["amplification"]))[: len(events)],
    )


def trimer():
    """The self-colliding trimer of the variational paper's section 4.4, its missing numbers restored."""
    position = np.array([[1.0, 0, 0], [0, 0, 0], [0, -1.0, 0]])
    velocity = np.array([[0, 0.5, 0], [0, 0, 0], [-0.5, 0, 0]])
    return System([Molecule("chain", 3)], (20.0,) * 3, ("open",) * 3, (-10.0,) * 3, 1.0, position, velocity)


def four_beads(velocity):
    """The chain of four beads of section 4.5 between hard walls, with bead diameter 1."""
    a = 1 / np.sqrt(8.0)
    position = np.array([[-3 * a, -a, 0], [-a, a, 0], [a, -a, 0], [3 * a, a, 0]])
    box = (8.0, 10.0, 14.0)
    return System([Molecule("chain", 4)], box, ("wall",) * 3, (-4.0, -5.0, -7.0), 1.0, position, np.array(velocity))


def four_beads_periodic():
    """Its planar periodic motion."""
    sixth = np.array([1.0, 1.0, 0.0]) / 6
    return four_beads([sixth, sixth, -sixth, -sixth])


def four_beads_chaotic():
    """Its chaotic motion in space."""
    return four_beads([[-0.1, 0.1, -0.1], [0.0] * 3, [0.0] * 3, [0.0] * 3])


def thermal_chain():
    """The thermal chain of five, start in its table."""
    start = json.loads((DATA / "mp_thermal_n5_seed7.json").read_text())["init"]
    r, v = (numbers(start[key]).astype(np.float64) for key in ("r", "v"))
    return System([Molecule("chain", 5)], (40.0,) * 3, ("open",) * 3, (-20.0,) * 3, 1.0, r, v)


SYSTEMS = {"trimer_44": trimer, "four_periodic_d1": four_beads_periodic, "thermal_n5_seed7": thermal_chain}
