"""Whether what has been read of `State.extra` can be: how its tables fit together, and the file's time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.clock import split
from hpcchain.model.molecules.long_chains import divides_any
from hpcchain.model.physics.extended import LEVELS, SLOTS, WARM, tables_of
from hpcchain.model.physics.spins import spinning
from hpcchain.model.physics.step_potentials import inside_is_sound
from hpcchain.model.random import Stream, uniform

if TYPE_CHECKING:
    from hpcchain.model.system import System

EPS = np.finfo(np.float64).eps
UNIT = 1e-6
"""How far the norm of a quaternion may be from 1: far above round-off of turns upon turns."""
LONGEST_WAIT = 37.0
"""The longest wait for a draw, in mean ones: of the greatest number below 1, -ln(2^-53)."""
MIXERS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
"""Odd numbers whose products have their bits well mixed."""


def extra_faults(system: System, time: float, ids: np.ndarray) -> tuple[str, int, str] | None:
    """Return what is wrong with `State.extra`: (table, row, words), or None.

    Parameters
    ----------
    system : System
        Sound but for that, with columns in `State.extra` within their bounds; its topology is of all molecules.
    time : float
        That the file has reached [time].
    ids : (n,) int64 array
        Global ids of the beads.
    """
    present = {one.name for one in tables_of(system.physics)}
    looks = {
        "angular_velocity": lambda: _spins(system, ids),
        "orientation": lambda: _orientations(system, ids),
        "turned": lambda: _turned(system, time),
        "next_draw": lambda: _next_draw(system, time, ids),
        "impulses": lambda: _impulses(system, ids),
        "inside": lambda: _inside(system, ids),
    }
    return next((found for name, look in looks.items() if name in present and (found := look())), None)


def _first(name: str, bad: np.ndarray, words: str) -> tuple[str, int, str] | None:
    return (name, int(np.argmax(bad)), words) if bad.any() else None


def _spins(system: System, ids: np.ndarray) -> tuple[str, int, str] | None:
    like, spin = system.topology.prototype_of(ids), system.state.extra[:, L.SPIN : L.SPIN + 3]
    still = ~spinning(system.topology.prototypes)[like]
    return _first("angular_velocity", np.any(spin != 0.0, axis=1) & still, "is not 0, and it cannot spin")


def _orientations(system: System, ids: np.ndarray) -> tuple[str, int, str] | None:
    norm = np.sqrt(np.sum(system.state.extra[:, L.ORIENTATION : L.ORIENTATION + 4] ** 2, axis=1))
    given = np.array(system.physics.extended.orientations)[_kind(system, ids)]
    return _first("orientation", given & ~(np.abs(norm - 1.0) <= UNIT), "is no unit quaternion")


def _kind(system: System, ids: np.ndarray) -> np.ndarray:
    prototypes = system.topology.prototypes
    return prototypes.kind[prototypes.molecule_of(system.topology.prototype_of(ids))]


def _since(system: System, time: float, first: int) -> np.ndarray:
    """Return how long before the file's time the times are that stand in two columns, ticks and remainder."""
    rows, tick = system.state.extra, system.physics.tick
    ticks, remainder = split(time, tick)
    return (ticks - rows[:, first]) * tick + (remainder - rows[:, first + 1])


def _slack(system: System, time: float) -> float:
    return 8.0 * EPS * time + system.physics.tick * 2.0**-20


def _clock(system: System, name: str, first: int) -> tuple[str, int, str] | None:
    """Return which ticks are not whole, or remainder not below a tick."""
    ticks, remainder = system.state.extra[:, first], system.state.extra[:, first + 1]
    return _first(name, (ticks != np.floor(ticks)) | (remainder >= system.physics.tick), "is no ticks and remainder")


def _turned(system: System, time: float) -> tuple[str, int, str] | None:
    late = _since(system, time, L.TURNED) < -_slack(system, time)
    return _clock(system, "turned", L.TURNED) or _first("turned", late, f"is after the checkpoint's time, {time:g}")


def _next_draw(system: System, time: float, ids: np.ndarray) -> tuple[str, int, str] | None:
    """Look at when velocities are drawn next: after the file's time, and no longer than anyone waits."""
    found = _clock(system, "next_draw", L.NEXT_DRAW)
    if found:
        return found
    rows, topology, extended = system.state.extra, system.topology, system.physics.extended
    rate, wait = extended.thermostat.rate, -_since(system, time, L.NEXT_DRAW)
    never = np.all(rows[:, [L.NEXT_DRAW, L.NEXT_DRAW_REM]] == 0.0, axis=1)
    molecule, prototypes = topology.molecule_of(ids), topology.prototypes
    follows = np.append(False, (np.diff(ids) == 1) & (np.diff(molecule) == 0))
    others = np.append(False, np.any(np.diff(rows[:, [L.NEXT_DRAW, L.NEXT_DRAW_REM]], axis=0) != 0.0, axis=1))
    tests = [
        (follows & others, "is not that of its molecule's other beads"),
        (~never & (wait < -_slack(system, time)), f"is before the checkpoint's time, {time:g}"),
        (wait > LONGEST_WAIT / rate + _slack(system, time), f"is longer after {time:g} than anyone waits"),
    ]
    if not any(wall.temperature for wall in extended.walls):  # these draw numbers of beads, too
        tests.append((never != (rows[:, L.DRAWS] == 0.0), "does not fit how often its velocity has been drawn"))
    if not divides_any(topology, system.physics):
        all_fixed = np.logical_and.reduceat(prototypes.fixed, prototypes.first_bead[:-1])
        first = (molecule != topology.molecule_of(np.maximum(ids - 1, 0))) | (ids == 0)
        first &= never & ~all_fixed[prototypes.molecule_of(topology.prototype_of(ids))]
        begin = -np.log(1.0 - uniform(extended.seed, Stream.WAITING, ids[first])[:, 0]) / rate
        late = np.zeros(len(ids), dtype=bool)
        late[first] = begin < time - _slack(system, time)
        tests.append((late, "is 0, and its velocity has been drawn before the checkpoint's time"))
    return next((found for bad, words in tests if (found := _first("next_draw", bad, words))), None)


def _impulses(system: System, ids: np.ndarray) -> tuple[str, int, str] | None:
    """Look at impulses that are kept: each of another contact, which is with a bead or a wall that there is."""
    table = system.state.extra[:, L.INSIDE : L.INSIDE + SLOTS * WARM].reshape(-1, SLOTS, WARM)
    code = table[:, :, 0]
    none = code == 0.0
    walls = L.SIDES + len(system.physics.extended.walls)
    bad = (code != np.floor(code)) | (code > system.topology.beads) | (code < -walls) | (code == ids[:, None] + 1.0)
    bad |= none & np.any(table[:, :, 1:] != 0.0, axis=2)
    ordered = np.sort(code, axis=1)
    twice = np.any((np.diff(ordered, axis=1) == 0.0) & (ordered[:, 1:] != 0.0), axis=1)
    return _first("impulses", bad.any(axis=1) | twice, "are not each of another contact")


def _inside(system: System, ids: np.ndarray) -> tuple[str, int, str] | None:
    inside = system.state.extra[:, L.INSIDE :]
    bad = ~inside_is_sound(inside, ids, system.topology, system.physics)
    found = _first("inside", bad, "names no bead within a step of it")
    return found or _first("inside", _names_itself(inside, ids), "names itself")


def _names_itself(inside: np.ndarray, ids: np.ndarray) -> np.ndarray:
    return np.any((inside > 0.0) & (inside // LEVELS - 1.0 == ids[:, None]), axis=1)


def imbalance(system: System, ids: np.ndarray) -> int:
    """Return a number of some beads that is 0 in the sum over all beads, modulo 2^64, where tables are mutual.

    Of two beads within a step of one another each names the other, with the same level.
    """
    if not system.physics.extended.potentials or system.state.extra.shape[1] <= L.INSIDE:
        return 0
    inside = system.state.extra[:, L.INSIDE :]
    rows, at = np.nonzero(inside > 0.0)
    codes = inside[rows, at].astype(np.int64)
    own, other, level = ids[rows], codes // LEVELS - 1, codes % LEVELS
    low, high = (pick(own, other).astype(np.uint64) for pick in (np.minimum, np.maximum))
    mixed = (low * MIXERS[0] ^ high * MIXERS[1]) * MIXERS[0] + level.astype(np.uint64)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * MIXERS[1]
    mixed = mixed ^ (mixed >> np.uint64(32))
    sums = [int(np.sum(mixed[side], dtype=np.uint64)) for side in (own < other, own > other)]
    return (sums[0] - sums[1]) % 2**64
