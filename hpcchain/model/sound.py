"""Whether states that have been read can be those of a system: bounds of every field, and what they have in common.

The bounds of a bead's state stand in `system.BEAD_STATE`. Behind them stand the looks at `State.extra` and at long
chains in parts (`State.parts`). All looks are vectorised, and work on some molecules of a system as on all of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.config.keys.values import LARGEST
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.arrays import LONGEST_TICKS
from hpcchain.model.clock import split
from hpcchain.model.molecules.equal_shapes import groups_of
from hpcchain.model.molecules.long_chains import at_time, divides_any
from hpcchain.model.physics.extended import LEVELS, SLOTS, WARM, is_extended, tables_of
from hpcchain.model.physics.external import gravity_of
from hpcchain.model.physics.spins import spinning, with_orientation
from hpcchain.model.physics.step_potentials import inside_is_sound
from hpcchain.model.random import Stream, uniform
from hpcchain.model.starts.constraints import bond_vectors, project_group
from hpcchain.model.starts.overlap import wall_overlap
from hpcchain.model.system import BEAD_STATE, PERIODIC

if TYPE_CHECKING:
    from hpcchain.model.physics.extended import Bounds
    from hpcchain.model.system import Box, Column, Physics, State, System, Topology


MUTUAL = "state/inside: a bead names another that does not name it, or another level of their potential"
EPS = np.finfo(np.float64).eps
OFF, LOOSE = 1e-6, 1e-2
"""By how much what follows from other numbers may be off, relative: far above round-off; bonds' lengths under forms
that do not hold them exactly."""
DEEP = 1e-3
"""How far into a wall a bead may reach, relative to its diameter: no propagator leaves it so deep."""
TURNS = 1e9
"""Box lengths from the box beyond which positions lose their digits; those of a run that has begun are next to it."""
LONGEST_WAIT = 37.0
"""The longest wait for a draw, in mean ones: of the greatest number below 1, -ln(2^-53)."""
MIXERS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
"""Odd numbers whose products have their bits well mixed."""


AT_A_STEP = 1e-3
"""Of a step: how far the time of beads that all move in steps may be from a checkpoint's."""


def tick_problem(tick: object) -> str | None:
    """Return what is wrong with the tick of a run's clock, or None."""
    if type(tick) is not float or not 1.0 / LARGEST <= tick <= LARGEST or math.frexp(tick)[0] != 0.5:
        return f"physics: tick: {tick!r} is not a power of two"
    return None


def extra_problem(system: System, time: float, ids: np.ndarray | None) -> str | None:
    """Return what is wrong with `State.extra` of the beads with these global ids (None: of all), or None.

    Parameters
    ----------
    system : System
        Sound but for that; its topology is of all molecules.
    time : float
        That the file has reached [time]; a run that has begun has the segments of parts.
    ids : (n,) int64 array or None
    """
    rows = system.state.extra
    divided, columns = divides_any(system.topology, system.physics), system.state.parts.shape[1]
    if columns and not divided:
        return "state/parts: is there, and its physics divides no chain"
    if time > 0.0 and divided and columns == 0:
        return "state/parts is missing, and its run has stretches of long chains"
    if rows.shape[1] == 0:
        return None
    if not is_extended(system.physics):
        return "state: has tables that its physics has no use for"
    own = np.arange(len(rows)) if ids is None else ids
    for one in tables_of(system.physics):
        part = rows[:, one.first : one.first + one.columns] if one.columns else rows[:, one.first :]
        least, most = limits(one.bounds)
        good = np.all((part >= least) & (part <= most), axis=1)
        if not good.all():
            return _at(one.name, int(np.argmin(good)), own, "is out of bounds")
    found = _extra_faults(system, time, own)
    return MUTUAL if found is None and ids is None and imbalance(system, own) else found


def fields_problem(state: State, ids: np.ndarray | None = None) -> str | None:
    """Return which field of which bead's state is not within its bounds, or None; `ids`: of the beads, for messages."""
    for column in BEAD_STATE:
        array = getattr(state, column.name)
        least, most = limits(column)
        good = (array >= least) & (array <= most)  # not a number is neither
        if not np.all(good):
            row = int(np.argmin(good.reshape(len(array), -1).all(axis=1)))
            return _at(column.name, row, ids, f"is {array[row].tolist()}, not from {least:g} to {most:g}")
    return None


def limits(one: Bounds | Column) -> tuple[float, float]:
    """Return between which numbers some are; those that there are where it says none."""
    most = LARGEST if one.most is None else one.most
    return -most if one.least is None else one.least, most


def _at(name: str, row: int, ids: np.ndarray | None, words: str) -> str:
    bead = row if ids is None else int(ids[row])
    return f"state/{name}: of bead {bead} {words}"


def _first(name: str, bad: np.ndarray, ids: np.ndarray, words: str) -> str | None:
    """Return what is wrong with the first bead that is bad in a table, or None."""
    return _at(name, int(np.argmax(bad)), ids, words) if bad.any() else None


def _since(ticks: np.ndarray, remainder: np.ndarray, time: float, tick: float) -> np.ndarray:
    """Return how long before the file's time the times are that ticks and remainder say [time]."""
    now, rest = split(time, tick)
    return (now - ticks) * tick + (rest - remainder)


def _slack(time: float, tick: float) -> float:
    """Return by how much rounding may make a time differ [time]."""
    return 8.0 * EPS * time + tick * 2.0**-20


def molecules_problem(
    box: Box, topology: Topology, state: State, physics: Physics, time: float, ids: np.ndarray
) -> str | None:
    """Return what is wrong with the states of some molecules, each field of which is within its bounds, or None.

    Parameters
    ----------
    box, physics :
        The system's.
    topology : Topology
        Of these molecules alone.
    state : State
        Of their beads.
    time : float
        Of the checkpoint [time].
    ids : (n,) int64 array
        Global ids of their beads.
    """
    if topology.beads == 0:
        return None
    looks = (
        _shared(topology, state, ids),
        _clocks(state, physics, time, ids),
        _contacts(state, physics, ids),
        _places(box, topology, state, time, ids, physics),
        _bonds(topology, state, physics, ids),
    )
    return next((problem for problem in looks if problem), None)


def _shared(topology: Topology, state: State, ids: np.ndarray) -> str | None:
    """Look at what the beads of a molecule have in common."""
    first = np.repeat(topology.first_bead[:-1], np.diff(topology.first_bead))
    for column in BEAD_STATE:
        array = getattr(state, column.name)
        other = (array != array[first]).reshape(len(array), -1).any(axis=1) if column.of_molecule else np.zeros(1, bool)
        found = _first(column.name, other, ids, "is not that of its molecule's other beads")
        if found:
            return found
    return None


def _clocks(state: State, physics: Physics, time: float, ids: np.ndarray) -> str | None:
    """Look at the times at which segments began: in normal form, not after the checkpoint's or long before."""
    tick, ticks, remainder = physics.tick, state.ticks, state.remainder
    since, slack = _since(ticks, remainder, time, tick), _slack(time, tick)
    longest = 2.0 * max([LONGEST_TICKS * tick, *(one.step for one in physics.every())])
    start = (ticks == 0.0) & (remainder == 0.0)
    apart = AT_A_STEP * physics.steps.step if physics.steps else np.inf
    tests = (
        ("ticks", ticks != np.floor(ticks), "are not whole"),
        ("remainder", remainder >= tick, f"is not below a tick, {tick:g}"),
        ("ticks", since < -slack, f"and remainder are a time after the checkpoint's, {time:g}"),
        ("ticks", since > longest + slack, f"and remainder are a time further before {time:g} than segments last"),
        ("ticks", np.abs(since) > apart + slack, f"and remainder are not the checkpoint's time, {time:g}"),
        ("depth", (state.depth < 0) & ~start, "is -1, which is for the very start alone"),
        ("struck", state.struck & (state.depth < 0), "is set where nothing has happened yet"),
        ("step", state.step > 2.0 * longest, f"is longer than any segment, {longest:g}"),
    )
    return next((found for name, bad, words in tests if (found := _first(name, bad, ids, words))), None)


def _contacts(state: State, physics: Physics, ids: np.ndarray) -> str | None:
    bad = (state.in_contact != 0) & (physics.longest_contact_time == 0.0)
    return _first("in_contact", bad, ids, "is set, and contacts take no time")


def _places(box: Box, topology: Topology, state: State, time: float, ids: np.ndarray, physics: Physics) -> str | None:
    """Look at positions and image counts: next to the box, between walls, which steps reach into."""
    periodic = box.boundary == PERIODIC
    moved = state.image[:, ~periodic] != 0
    if moved.any():
        return _at("image", int(np.argmax(moved.any(axis=1))), ids, "is not 0 along an axis that is not periodic")
    first = state.position[topology.first_bead[:-1]]
    away = np.abs((first - box.origin) / box.size - 0.5)[:, periodic]
    far = (away > (1.5 if time > 0.0 else TURNS)).any(axis=1)
    if far.any():
        return _at("position", int(topology.first_bead[np.argmax(far)]), ids, "is far outside the box")
    moving = physics.steps or any(wall.closes for wall in physics.extended.walls)
    wall = None if moving else wall_overlap(box, topology, state.position, DEEP)
    if wall is not None:
        return _at("position", wall[0], ids, f"reaches {wall[2]:.3g} into a wall of axis {wall[1]}")
    return None


def _bonds(topology: Topology, state: State, physics: Physics, ids: np.ndarray) -> str | None:
    """Look at bonds: of their length, and not about to lengthen; rods are straight."""
    position, kind = state.position, np.repeat(topology.kind, np.diff(topology.first_bond))
    limits = [(_length_error(one), _rate(one)) for one in physics.every()]
    limits = np.array(limits if physics.kinds else limits * len(topology.names))[kind].reshape(-1, 2)
    bond, length = bond_vectors(position, topology.bonds), topology.bond_length
    reach = _greater_end(_farthest(position), topology.bonds)
    found = np.sqrt(np.einsum("bk,bk->b", bond, bond))
    bad = topology.rigid & ~(np.abs(found - length) <= limits[:, 0] * length + 16.0 * EPS * reach)
    if bad.any():
        at = int(np.argmax(bad))
        return (
            f"state/position: beads {ids[topology.bonds[at, 0]]} and {ids[topology.bonds[at, 1]]} are "
            f"{found[at]:.12g} apart, their topology/bond_length is {length[at]:.12g}"
        )
    rate = np.abs(np.einsum("bk,bk->b", bond, bond_vectors(state.velocity, topology.bonds))) / length
    speed = _greater_end(np.sqrt(np.einsum("ik,ik->i", state.velocity, state.velocity)), topology.bonds)
    bad = topology.rigid & ~(rate <= limits[:, 1] * speed * (1.0 + reach / length))
    if bad.any():
        at = int(np.argmax(bad))
        pair = ids[topology.bonds[at]]
        return f"state/velocity: the bond of beads {pair[0]} and {pair[1]} would lengthen at {rate[at]:.6g}"
    for group in groups_of(topology, topology.rod | topology.body):
        x = position[group.beads]
        off = np.abs(x - project_group(group, x)).max(axis=2)
        bad = ~(off <= OFF * group.extent + 16.0 * EPS * np.abs(x).max())
        if bad.any():
            where = "the straight line of its rod" if group.rod else "the place that its rigid body gives it"
            return f"state/position: bead {ids[group.beads[bad][0]]} is off {where}"
    return None


def _farthest(position: np.ndarray) -> np.ndarray:
    """Return each point's greatest coordinate in magnitude; ten times as fast as numpy's maximum along a short axis."""
    x, y, z = np.abs(position).T
    return np.maximum(np.maximum(x, y), z)


def _greater_end(values: np.ndarray, bonds: np.ndarray) -> np.ndarray:
    """Return of each bond the greater one of what its two beads have."""
    first, second = bonds.T
    return np.maximum(values[first], values[second])


def _length_error(physics: Physics) -> float:
    """Return by how much bonds may be off, relative, that a propagator holds."""
    exact = physics.propagator != "collocation" or physics.options.variant == "index2"
    return max(OFF, 10.0 * physics.tolerance) if exact else LOOSE


def _rate(physics: Physics) -> float:
    """Return how fast bonds may be about to lengthen, relative to their beads' speed; methods in steps hold none."""
    return 10.0 * OFF if physics.propagator == "taylor" else 2.0


def _extra_faults(system: System, time: float, ids: np.ndarray) -> str | None:
    """Return what is wrong with how the tables of `State.extra` fit together and the file's time, or None.

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
        "turned": lambda: _turned(system, time, ids),
        "next_draw": lambda: _next_draw(system, time, ids),
        "impulses": lambda: _impulses(system, ids),
        "inside": lambda: _inside(system, ids),
    }
    return next((found for name, look in looks.items() if name in present and (found := look())), None)


def _spins(system: System, ids: np.ndarray) -> str | None:
    like, spin = system.topology.prototype_of(ids), system.state.extra[:, L.SPIN : L.SPIN + 3]
    still = ~spinning(system.topology.prototypes)[like]
    return _first("angular_velocity", np.any(spin != 0.0, axis=1) & still, ids, "is not 0, and it cannot spin")


def _orientations(system: System, ids: np.ndarray) -> str | None:
    norm = np.sqrt(np.sum(system.state.extra[:, L.ORIENTATION : L.ORIENTATION + 4] ** 2, axis=1))
    given = with_orientation(system, ids)
    return _first("orientation", given & ~(np.abs(norm - 1.0) <= OFF), ids, "is no unit quaternion")


def _passed(system: System, time: float, first: int) -> np.ndarray:
    """Return how long before the file's time the times are that stand in two columns, ticks and remainder."""
    return _since(system.state.extra[:, first], system.state.extra[:, first + 1], time, system.physics.tick)


def _clock(system: System, name: str, first: int, ids: np.ndarray) -> str | None:
    """Return which ticks are not whole, or remainder not below a tick."""
    ticks, remainder = system.state.extra[:, first], system.state.extra[:, first + 1]
    return _first(
        name, (ticks != np.floor(ticks)) | (remainder >= system.physics.tick), ids, "is no ticks and remainder"
    )


def _turned(system: System, time: float, ids: np.ndarray) -> str | None:
    late = _passed(system, time, L.TURNED) < -_slack(time, system.physics.tick)
    return _clock(system, "turned", L.TURNED, ids) or _first(
        "turned", late, ids, f"is after the checkpoint's time, {time:g}"
    )


def _next_draw(system: System, time: float, ids: np.ndarray) -> str | None:
    """Look at when velocities are drawn next: after the file's time, and no longer than anyone waits."""
    found = _clock(system, "next_draw", L.NEXT_DRAW, ids)
    if found:
        return found
    rows, topology, extended = system.state.extra, system.topology, system.physics.extended
    if extended.thermostat is None or extended.seed is None:
        return None if extended.thermostat is None else "physics: seed: is missing, and there is a thermostat"
    rate, wait = extended.thermostat.rate, -_passed(system, time, L.NEXT_DRAW)
    never = np.all(rows[:, [L.NEXT_DRAW, L.NEXT_DRAW_REM]] == 0.0, axis=1)
    molecule, prototypes = topology.molecule_of(ids), topology.prototypes
    follows = np.append(False, (np.diff(ids) == 1) & (np.diff(molecule) == 0))
    others = np.append(False, np.any(np.diff(rows[:, [L.NEXT_DRAW, L.NEXT_DRAW_REM]], axis=0) != 0.0, axis=1))
    tests = [
        (follows & others, "is not that of its molecule's other beads"),
        (~never & (wait < -_slack(time, system.physics.tick)), f"is before the checkpoint's time, {time:g}"),
        (wait > LONGEST_WAIT / rate + _slack(time, system.physics.tick), f"is longer after {time:g} than anyone waits"),
    ]
    if not any(wall.temperature for wall in extended.walls):  # these draw numbers of beads, too
        tests.append((never != (rows[:, L.DRAWS] == 0.0), "does not fit how often its velocity has been drawn"))
    if not divides_any(topology, system.physics):
        all_fixed = np.logical_and.reduceat(prototypes.fixed, prototypes.first_bead[:-1])
        first = (molecule != topology.molecule_of(np.maximum(ids - 1, 0))) | (ids == 0)
        first &= never & ~all_fixed[prototypes.molecule_of(topology.prototype_of(ids))]
        begin = -np.log(1.0 - uniform(extended.seed, Stream.WAITING, ids[first])[:, 0]) / rate
        late = np.zeros(len(ids), dtype=bool)
        late[first] = begin < time - _slack(time, system.physics.tick)
        tests.append((late, "is 0, and its velocity has been drawn before the checkpoint's time"))
    return next((found for bad, words in tests if (found := _first("next_draw", bad, ids, words))), None)


def _impulses(system: System, ids: np.ndarray) -> str | None:
    """Look at impulses that are kept: each of another contact, which is with a bead or a wall that there is."""
    table = system.state.extra[:, L.INSIDE : L.INSIDE + SLOTS * WARM].reshape(-1, SLOTS, WARM)
    code = table[:, :, 0]
    none = code == 0.0
    walls = L.SIDES + len(system.physics.extended.walls)
    bad = (code != np.floor(code)) | (code > system.topology.beads) | (code < -walls) | (code == ids[:, None] + 1.0)
    bad |= none & np.any(table[:, :, 1:] != 0.0, axis=2)
    ordered = np.sort(code, axis=1)
    twice = np.any((np.diff(ordered, axis=1) == 0.0) & (ordered[:, 1:] != 0.0), axis=1)
    return _first("impulses", bad.any(axis=1) | twice, ids, "are not each of another contact")


def _inside(system: System, ids: np.ndarray) -> str | None:
    inside = system.state.extra[:, L.INSIDE :]
    bad = ~inside_is_sound(inside, ids, system.topology, system.physics)
    found = _first("inside", bad, ids, "names no bead within a step of it")
    itself = np.any((inside > 0.0) & (inside // LEVELS - 1.0 == ids[:, None]), axis=1)
    return found or _first("inside", itself, ids, "names itself")


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
        found = _segments(state, physics, time, in_parts, np.concatenate(sizes), ids)
        return found or _whole(box, topology, state, physics, time, in_parts, counts, ids)


def _segments(
    state: State, physics: Physics, time: float, in_parts: np.ndarray, sizes: np.ndarray, ids: np.ndarray
) -> str | None:
    """Look at each part's segment: what its beads share, its order, its bounds, and that it lasts."""
    parts, tick = state.parts, physics.tick
    lead = np.repeat(np.cumsum(sizes) - sizes, sizes)
    order, length, speed = parts[:, W.PART_ORDER], parts[:, W.PART_LENGTH], parts[:, W.PART_SPEED]
    over = _since(state.ticks, state.remainder, time, tick) - length
    moving = np.sqrt(np.einsum("ik,ik->i", state.velocity, state.velocity))
    term = np.arange(W.PART_COLUMNS - W.PART_SERIES) // L.AXES + W.FIRST_TERM
    behind = (parts[:, W.PART_SERIES :] != 0.0) & (term > order[:, None])
    shared = parts[:, [W.PART_LENGTH, W.PART_ORDER]]
    tests = (
        ((shared != shared[lead]).any(axis=1), "length and order are not those of its part's other beads"),
        ((order != np.floor(order)) | (order < W.FIRST_TERM) | (order > W.KMAX), "the order is none"),
        ((length <= 0.0) | (length > 2.0 * LONGEST_TICKS * tick), "the length is none"),
        (over > _slack(time, tick), "the segment has ended before the checkpoint's time"),
        (parts[:, W.PART_ACCELERATION] < 0.0, "the bound of its acceleration is negative"),
        (speed < moving * (1.0 - OFF), "the bound of its speed is below its speed"),
        (behind.any(axis=1), "there are coefficients behind its order"),
    )
    return next((found for bad, words in tests if (found := _first("parts", bad & in_parts, ids, words))), None)


def _whole(
    box: Box,
    topology: Topology,
    state: State,
    physics: Physics,
    time: float,
    in_parts: np.ndarray,
    counts: np.ndarray,
    ids: np.ndarray,
) -> str | None:
    """Look at each chain's parts together, at the checkpoint's time: bonds between them, and the centre of mass."""
    size = np.where(box.boundary == PERIODIC, box.size, 0.0)
    position, velocity = at_time(state, time, physics.tick, size)
    reach, fast = np.abs(position).max(axis=1), np.sqrt(np.einsum("ik,ik->i", velocity, velocity))
    one, other = topology.bonds.T
    bond = np.sqrt(np.sum((position[other] - position[one]) ** 2, axis=1))
    slack = OFF * topology.bond_length + 64.0 * EPS * np.maximum(reach[one], reach[other])
    bad = np.zeros(len(position), dtype=bool)
    bad[one[~(np.abs(bond - topology.bond_length) <= slack)]] = True
    found = _first("parts", bad & in_parts, ids, "the bond to the next has another length at the checkpoint's time")
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
    bad = (counts > 1) & ~((off <= OFF * (1.0 + far)) & (drift <= OFF * (1e-3 + top)))
    bad = in_parts & ((row != row[lead]).any(axis=1) | bad[np.searchsorted(first, lead)])
    return _first("parts", bad, ids, "the centre of mass is not its chain's")
