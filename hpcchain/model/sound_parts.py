"""Whether what has been read of long chains in parts (`State.parts`) can be: bounds, and how the parts fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.arrays import LONGEST_TICKS
from hpcchain.model.clock import split
from hpcchain.model.molecules.long_chains import at_time
from hpcchain.model.physics.external import gravity_of
from hpcchain.model.system import PERIODIC

if TYPE_CHECKING:
    from hpcchain.model.system import Box, Physics, State, Topology

EPS = np.finfo(np.float64).eps
LOOSE = 1e-6
"""By how much what follows from other numbers may be off, relative: far above round-off."""


def parts_problem(
    box: Box, topology: Topology, sizes: list[np.ndarray], state: State, physics: Physics, time: float, ids: np.ndarray
) -> str | None:
    """Return what is wrong with `State.parts` of some molecules whose parts are sound as molecules, or None.

    Parameters
    ----------
    box, physics :
        The system's.
    topology : Topology
        Of these molecules alone.
    sizes : list of int arrays
        How many beads each part of each molecule has.
    state : State
        Of their beads.
    time : float
        Of the checkpoint [time].
    ids : (n,) int64 array
        Global ids of their beads.
    """
    counts = np.array([len(each) for each in sizes])
    in_parts = np.repeat(counts > 1, np.diff(topology.first_bead))
    if not np.all(np.isfinite(state.parts)):
        return "state/parts: has what is not a finite number"
    if np.any(state.parts[~in_parts]):
        return f"state/parts: bead {ids[~in_parts][0]} has some, and its molecule is not divided"
    if not in_parts.any():
        return None
    with np.errstate(over="ignore", invalid="ignore"):  # what is too large is not what it should be
        found = _segments(state, physics, time, in_parts, np.concatenate(sizes))
        found = found or _whole(box, topology, state, physics, time, in_parts, counts)
    return None if found is None else f"state/parts: of bead {ids[found[0]]} {found[1]}"


def _first(bad: np.ndarray, words: str) -> tuple[int, str] | None:
    return (int(np.argmax(bad)), words) if bad.any() else None


def _segments(
    state: State, physics: Physics, time: float, in_parts: np.ndarray, sizes: np.ndarray
) -> tuple[int, str] | None:
    """Look at each part's segment: what its beads share, its order, its bounds, and that it lasts."""
    parts, tick = state.parts, physics.tick
    lead = np.repeat(np.cumsum(sizes) - sizes, sizes)
    order, length, speed = parts[:, W.PART_ORDER], parts[:, W.PART_LENGTH], parts[:, W.PART_SPEED]
    ticks, remainder = split(time, tick)
    over = (ticks - state.ticks) * tick + (remainder - state.remainder) - length
    moving = np.sqrt(np.einsum("ik,ik->i", state.velocity, state.velocity))
    term = np.arange(W.PART_COLUMNS - W.PART_SERIES) // L.AXES + W.FIRST_TERM
    behind = (parts[:, W.PART_SERIES :] != 0.0) & (term > order[:, None])
    shared = parts[:, [W.PART_LENGTH, W.PART_ORDER]]
    tests = (
        ((shared != shared[lead]).any(axis=1), "length and order are not those of its part's other beads"),
        ((order != np.floor(order)) | (order < W.FIRST_TERM) | (order > W.KMAX), "the order is none"),
        ((length <= 0.0) | (length > 2.0 * LONGEST_TICKS * tick), "the length is none"),
        (over > 8.0 * EPS * time + tick * 2.0**-20, "the segment has ended before the checkpoint's time"),
        (parts[:, W.PART_ACCELERATION] < 0.0, "the bound of its acceleration is negative"),
        (speed < moving * (1.0 - LOOSE), "the bound of its speed is below its speed"),
        (behind.any(axis=1), "there are coefficients behind its order"),
    )
    return next((found for bad, words in tests if (found := _first(bad & in_parts, words))), None)


def _whole(
    box: Box,
    topology: Topology,
    state: State,
    physics: Physics,
    time: float,
    in_parts: np.ndarray,
    counts: np.ndarray,
) -> tuple[int, str] | None:
    """Look at each chain's parts together, at the checkpoint's time: bonds between them, and the centre of mass."""
    size = np.where(box.boundary == PERIODIC, box.size, 0.0)
    position, velocity = at_time(state, time, physics.tick, size)
    reach, fast = np.abs(position).max(axis=1), np.sqrt(np.einsum("ik,ik->i", velocity, velocity))
    one, other = topology.bonds.T
    bond = np.sqrt(np.sum((position[other] - position[one]) ** 2, axis=1))
    slack = LOOSE * topology.bond_length + 64.0 * EPS * np.maximum(reach[one], reach[other])
    bad = np.zeros(len(position), dtype=bool)
    bad[one[~(np.abs(bond - topology.bond_length) <= slack)]] = True
    found = _first(bad & in_parts, "the bond to the next has another length at the checkpoint's time")
    if found:
        return found
    first, row = topology.first_bead[:-1], state.parts[:, W.PART_CENTRE : W.PART_SERIES]
    mass = np.add.reduceat(topology.mass, first)[:, None]
    lead = np.repeat(first, np.diff(topology.first_bead))
    dt = time - (row[first, L.START_TICKS] * physics.tick + row[first, L.START_REM])[:, None]
    faster = gravity_of(physics) * dt
    place = row[first, : L.VX] + (row[first, L.VX : L.START_TICKS] + 0.5 * faster) * dt
    off = np.abs(np.add.reduceat(position * topology.mass[:, None], first) / mass - place).max(axis=1)
    drift = np.abs(
        np.add.reduceat(velocity * topology.mass[:, None], first) / mass - row[first, L.VX : L.START_TICKS] - faster
    ).max(axis=1)
    far, top = np.maximum.reduceat(reach, first), np.maximum.reduceat(fast, first)
    bad = (counts > 1) & ~((off <= LOOSE * (1.0 + far)) & (drift <= LOOSE * (1e-3 + top)))
    return _first(
        in_parts & ((row != row[lead]).any(axis=1) | bad[np.searchsorted(first, lead)]),
        "the centre of mass is not its chain's",
    )
