"""Whether states that have been read can be those of a system: bounds of every field, and what they have in common.

The bounds of a bead's state stand in `system.BEAD_STATE`. Behind them stand the looks at `State.extra` and at long
chains in parts (`State.parts`). All looks are vectorised, and work on some molecules of a system as on all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.config.keys.key import required
from hpcchain.config.keys.values import LARGEST
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.arrays import LONGEST_TICKS
from hpcchain.model.clock import since
from hpcchain.model.molecules.equal_shapes import groups_of
from hpcchain.model.molecules.long_chains import at_time, divides_any
from hpcchain.model.physics.extended import LEVELS, SLOTS, WARM, is_extended, tables_of
from hpcchain.model.physics.external import gravity_of
from hpcchain.model.physics.spins import spinning, with_orientation
from hpcchain.model.physics.step_potentials import inside_is_sound
from hpcchain.model.random import Stream, uniform
from hpcchain.model.starts.constraints import bond_vectors, project_group
from hpcchain.model.starts.overlap import wall_overlap
from hpcchain.model.system import BEAD_STATE

if TYPE_CHECKING:
    from hpcchain.model.physics.extended import Bounds, ExtraColumn
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
Look = tuple[str, np.ndarray, str]
"""A table, which beads are wrong in it (n,) bool, and what is wrong."""


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
    tables = tables_of(system.physics)
    found = _first((_within(rows, one) for one in tables), own)
    for look in [EXTRA_LOOKS[one.name] for one in tables if one.name in EXTRA_LOOKS]:
        found = found or _first(look(system, time, own), own)
    return MUTUAL if found is None and ids is None and imbalance(system, own) else found


def _within(rows: np.ndarray, one: ExtraColumn) -> Look:
    part = rows[:, one.first : one.first + one.columns] if one.columns else rows[:, one.first :]
    least, most = limits(one.bounds)
    return one.name, ~np.all((part >= least) & (part <= most), axis=1), "is out of bounds"


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


def _first(looks: Iterable[Look], ids: np.ndarray) -> str | None:
    """Return what the first look that finds something wrong says of its first bead, or None."""
    return next((_at(name, int(np.argmax(bad)), ids, words) for name, bad, words in looks if bad.any()), None)


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
    looks = _shared(topology, state), _clocks(state, physics, time), _places(box, topology, state, time)
    found = _first(chain(*looks), ids) or _walls(box, topology, state, physics, ids)
    return found or _bonds(topology, state, physics, ids)


def _shared(topology: Topology, state: State) -> Iterator[Look]:
    """Look at what the beads of a molecule have in common."""
    first = np.repeat(topology.first_bead[:-1], np.diff(topology.first_bead))
    for name in [column.name for column in BEAD_STATE if column.of_molecule]:
        array = getattr(state, name)
        other = (array != array[first]).reshape(len(array), -1).any(axis=1)
        yield name, other, "is not that of its molecule's other beads"


def _clocks(state: State, physics: Physics, time: float) -> tuple[Look, ...]:
    """Look at when segments began: in normal form, not after the checkpoint or long before; and at lasting contacts."""
    tick, ticks, remainder = physics.tick, state.ticks, state.remainder
    passed, slack = since(ticks, remainder, time, tick), _slack(time, tick)
    longest = 2.0 * max([LONGEST_TICKS * tick, *(one.step for one in physics.every())])
    start, instant = (ticks == 0.0) & (remainder == 0.0), physics.longest_contact_time == 0.0
    apart = AT_A_STEP * physics.steps.step if physics.steps else np.inf
    return (
        ("ticks", ticks != np.floor(ticks), "are not whole"),
        ("remainder", remainder >= tick, f"is not below a tick, {tick:g}"),
        ("ticks", passed < -slack, f"and remainder are a time after the checkpoint's, {time:g}"),
        ("ticks", passed > longest + slack, f"and remainder are a time further before {time:g} than segments last"),
        ("ticks", np.abs(passed) > apart + slack, f"and remainder are not the checkpoint's time, {time:g}"),
        ("depth", (state.depth < 0) & ~start, "is -1, which is for the very start alone"),
        ("struck", state.struck & (state.depth < 0), "is set where nothing has happened yet"),
        ("step", state.step > 2.0 * longest, f"is longer than any segment, {longest:g}"),
        ("in_contact", (state.in_contact != 0) & instant, "is set, and contacts take no time"),
    )


def _places(box: Box, topology: Topology, state: State, time: float) -> Iterator[Look]:
    """Look at image counts and at positions, which are next to the box."""
    periodic = box.periodic
    moved = (state.image[:, ~periodic] != 0).any(axis=1)
    yield "image", moved, "is not 0 along an axis that is not periodic"
    first = state.position[topology.first_bead[:-1]]
    away = np.abs((first - box.origin) / box.size - 0.5)[:, periodic]
    far = (away > (1.5 if time > 0.0 else TURNS)).any(axis=1)
    yield "position", np.repeat(far, np.diff(topology.first_bead)), "is far outside the box"


def _walls(box: Box, topology: Topology, state: State, physics: Physics, ids: np.ndarray) -> str | None:
    """Look at positions between walls; beads that move in steps reach into them."""
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


def _spins(system: System, _: float, ids: np.ndarray) -> Iterator[Look]:
    like, spin = system.topology.prototype_of(ids), system.state.extra[:, L.SPIN : L.SPIN + 3]
    still = ~spinning(system.topology.prototypes)[like]
    yield "angular_velocity", np.any(spin != 0.0, axis=1) & still, "is not 0, and it cannot spin"


def _orientations(system: System, _: float, ids: np.ndarray) -> Iterator[Look]:
    norm = np.sqrt(np.sum(system.state.extra[:, L.ORIENTATION : L.ORIENTATION + 4] ** 2, axis=1))
    yield "orientation", with_orientation(system, ids) & ~(np.abs(norm - 1.0) <= OFF), "is no unit quaternion"


def _passed(system: System, time: float, first: int) -> np.ndarray:
    """Return how long before the file's time the times are that stand in two columns, ticks and remainder."""
    return since(system.state.extra[:, first], system.state.extra[:, first + 1], time, system.physics.tick)


def _clock(system: System, name: str, first: int) -> Look:
    """Look at times in two columns, ticks and remainder, in normal form."""
    ticks, remainder = system.state.extra[:, first], system.state.extra[:, first + 1]
    return name, (ticks != np.floor(ticks)) | (remainder >= system.physics.tick), "is no ticks and remainder"


def _turned(system: System, time: float, _: np.ndarray) -> Iterator[Look]:
    yield _clock(system, "turned", L.TURNED)
    late = _passed(system, time, L.TURNED) < -_slack(time, system.physics.tick)
    yield "turned", late, f"is after the checkpoint's time, {time:g}"


def _next_draw(system: System, time: float, ids: np.ndarray) -> Iterator[Look]:
    """Look at when velocities are drawn next: after the file's time, and no longer than anyone waits."""
    yield _clock(system, "next_draw", L.NEXT_DRAW)
    rows, topology, extended = system.state.extra, system.topology, system.physics.extended
    slack, name = _slack(time, system.physics.tick), "next_draw"
    rate, wait = required(extended.thermostat).rate, -_passed(system, time, L.NEXT_DRAW)
    never = np.all(rows[:, [L.NEXT_DRAW, L.NEXT_DRAW_REM]] == 0.0, axis=1)
    molecule, prototypes = topology.molecule_of(ids), topology.prototypes
    follows = np.append(False, (np.diff(ids) == 1) & (np.diff(molecule) == 0))
    others = np.append(False, np.any(np.diff(rows[:, [L.NEXT_DRAW, L.NEXT_DRAW_REM]], axis=0) != 0.0, axis=1))
    yield name, follows & others, "is not that of its molecule's other beads"
    yield name, ~never & (wait < -slack), f"is before the checkpoint's time, {time:g}"
    yield name, wait > LONGEST_WAIT / rate + slack, f"is longer after {time:g} than anyone waits"
    if not any(wall.temperature for wall in extended.walls):  # these draw numbers of beads, too
        yield name, never != (rows[:, L.DRAWS] == 0.0), "does not fit how often its velocity has been drawn"
    if not divides_any(topology, system.physics):
        all_fixed = np.logical_and.reduceat(prototypes.fixed, prototypes.first_bead[:-1])
        first = (molecule != topology.molecule_of(np.maximum(ids - 1, 0))) | (ids == 0)
        first &= never & ~all_fixed[prototypes.molecule_of(topology.prototype_of(ids))]
        begin = -np.log(1.0 - uniform(required(extended.seed), Stream.WAITING, ids[first])[:, 0]) / rate
        late = np.zeros(len(ids), dtype=bool)
        late[first] = begin < time - slack
        yield name, late, "is 0, and its velocity has been drawn before the checkpoint's time"


def _impulses(system: System, _: float, ids: np.ndarray) -> Iterator[Look]:
    """Look at impulses that are kept: each of another contact, which is with a bead or a wall that there is."""
    table = system.state.extra[:, L.INSIDE : L.INSIDE + SLOTS * WARM].reshape(-1, SLOTS, WARM)
    code = table[:, :, 0]
    none = code == 0.0
    walls = L.SIDES + len(system.physics.extended.walls)
    bad = (code != np.floor(code)) | (code > system.topology.beads) | (code < -walls) | (code == ids[:, None] + 1.0)
    bad |= none & np.any(table[:, :, 1:] != 0.0, axis=2)
    ordered = np.sort(code, axis=1)
    twice = np.any((np.diff(ordered, axis=1) == 0.0) & (ordered[:, 1:] != 0.0), axis=1)
    yield "impulses", bad.any(axis=1) | twice, "are not each of another contact"


def _inside(system: System, _: float, ids: np.ndarray) -> Iterator[Look]:
    inside = system.state.extra[:, L.INSIDE :]
    sound = inside_is_sound(inside, ids, system.topology, system.physics)
    yield "inside", ~sound, "names no bead within a step of it"
    itself = np.any((inside > 0.0) & (inside // LEVELS - 1.0 == ids[:, None]), axis=1)
    yield "inside", itself, "names itself"


EXTRA_LOOKS: dict[str, Callable[[System, float, np.ndarray], Iterator[Look]]] = {
    "angular_velocity": _spins,
    "orientation": _orientations,
    "turned": _turned,
    "next_draw": _next_draw,
    "impulses": _impulses,
    "inside": _inside,
}
"""How tables of `State.extra` fit together and the file's time, beads with these global ids; each within its bounds."""


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
    box, topology, state, physics, time, ids :
        As of `molecules_problem`.
    sizes : list of int arrays
        How many beads each part of each molecule has.
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
        looks = (
            _segments(state, physics, time, np.concatenate(sizes)),
            _whole(box, topology, state, physics, time, counts),
        )
        return _first((("parts", bad & in_parts, words) for bad, words in chain(*looks)), ids)


def _segments(state: State, physics: Physics, time: float, sizes: np.ndarray) -> tuple[tuple[np.ndarray, str], ...]:
    """Look at each part's segment: what its beads share, its order, its bounds, and that it lasts."""
    parts, tick = state.parts, physics.tick
    lead = np.repeat(np.cumsum(sizes) - sizes, sizes)
    order, length, speed = parts[:, W.PART_ORDER], parts[:, W.PART_LENGTH], parts[:, W.PART_SPEED]
    over = since(state.ticks, state.remainder, time, tick) - length
    moving = np.sqrt(np.einsum("ik,ik->i", state.velocity, state.velocity))
    term = np.arange(W.PART_COLUMNS - W.PART_SERIES) // L.AXES + W.FIRST_TERM
    behind = (parts[:, W.PART_SERIES :] != 0.0) & (term > order[:, None])
    shared = parts[:, [W.PART_LENGTH, W.PART_ORDER]]
    return (
        ((shared != shared[lead]).any(axis=1), "length and order are not those of its part's other beads"),
        ((order != np.floor(order)) | (order < W.FIRST_TERM) | (order > W.KMAX), "the order is none"),
        ((length <= 0.0) | (length > 2.0 * LONGEST_TICKS * tick), "the length is none"),
        (over > _slack(time, tick), "the segment has ended before the checkpoint's time"),
        (parts[:, W.PART_ACCELERATION] < 0.0, "the bound of its acceleration is negative"),
        (speed < moving * (1.0 - OFF), "the bound of its speed is below its speed"),
        (behind.any(axis=1), "there are coefficients behind its order"),
    )


def _whole(
    box: Box, topology: Topology, state: State, physics: Physics, time: float, counts: np.ndarray
) -> Iterator[tuple[np.ndarray, str]]:
    """Look at each chain's parts together, at the checkpoint's time: bonds between them, and the centre of mass."""
    position, velocity = at_time(state, time, physics.tick, box.period)
    reach, fast = np.abs(position).max(axis=1), np.sqrt(np.einsum("ik,ik->i", velocity, velocity))
    one, other = topology.bonds.T
    bond = np.sqrt(np.sum((position[other] - position[one]) ** 2, axis=1))
    slack = OFF * topology.bond_length + 64.0 * EPS * np.maximum(reach[one], reach[other])
    bad = np.zeros(len(position), dtype=bool)
    bad[one[~(np.abs(bond - topology.bond_length) <= slack)]] = True
    yield bad, "the bond to the next has another length at the checkpoint's time"
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
    yield (row != row[lead]).any(axis=1) | bad[np.searchsorted(first, lead)], "the centre of mass is not its chain's"
