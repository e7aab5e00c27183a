"""What events keep and change, one by one: wells, limits, bridges, moving walls, shapes, fixed beads, drawn velocities.

As in `test_event_by_event`: the engine's beads just before and just after each event, and what the log says of it.
`--long` looks at a hundred thousand.
"""

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.sector.serial import Engine
from tests.support.constant_tables import table_of
from tests.support.extended import (
    bridges,
    distance_limits,
    fixed_beads,
    gravity,
    shapes,
    sides,
    slides,
    spins,
    step_potentials,
    surface_of,
    thermostat,
    with_extended,
)
from tests.support.gases import gas

KINDS = ["monomer", "chain3", "dimer", "monomer", "ring", "chain5", "monomer", "dimer"]
PART = 300
"""Events of one system; then comes the next."""
WALL, LEFT, DRAWN = 1, 3, 6
"""Kinds of events in the log."""


def wells(rng, system):
    """Add steps of potentials, and limits of distances."""
    return distance_limits(rng, step_potentials(rng, system))


def wet(rng, system):
    """Let beads form bridges, and limit distances."""
    return distance_limits(rng, bridges(rng, system))


def walls(rng, system):
    """Let walls move and oscillate, along themselves too, or shapes that hold all; beads are rough, or not."""
    system = slides(rng, sides(rng, system) if rng.random() < 0.5 else shapes(rng, system))
    cold = [wall | {"temperature": 0.0} for wall in table_of(system.physics.extended).get("walls", [])]
    return spins(rng, with_extended(system, walls=cold) if cold else system)


def fixed(rng, system):
    """Fix some beads, which may move; others fall."""
    return spins(rng, gravity(rng, fixed_beads(rng, system)))


def drawn(rng, system):
    """Draw velocities anew now and then."""
    return thermostat(rng, system)


SORTS = {"wells": wells, "wet": wet, "walls": walls, "fixed": fixed, "drawn": drawn}


def system_of(sort, seed):
    """Return a system in a box of walls with what a sort of events needs."""
    rng = np.random.default_rng([23, seed])
    kinds = [str(kind) for kind in rng.permutation(KINDS)]
    # What falls, or is pushed by beads that move, and loses energy comes to rest by ever shorter flights.
    e = 1.0 if sort in ("wells", "fixed") else float(rng.choice([1.0, 0.9]))
    return SORTS[sort](rng, gas(kinds, seed, 4.2, None, (1, 1, 1), restitution=e))


class Look:
    """What an engine's beads are at a time; sums are of those that are free."""

    def __init__(self, engine, time):
        top, order = engine.system.topology.whole(), np.argsort(engine.ids)
        x, v, _ = engine.frame(time)
        self.x, self.v = x[order], v[order]
        is_rough = engine.system.physics.extended.rough is not None
        self.w = engine.state().extra[order, L.SPIN : L.SPIN + 3] if is_rough else 0.0 * self.v
        free = ~top.fixed[:, None]
        m, moment = np.where(free, top.mass[:, None], 0.0), np.where(free, top.moment[:, None], 0.0)
        self.momentum = np.sum(m * self.v, axis=0)
        self.angular = np.sum(m * np.cross(self.x, self.v) + moment * self.w, axis=0)
        self.kinetic = 0.5 * np.sum(m * self.v**2) + 0.5 * np.sum(moment * self.w**2)
        energies = engine.energies()
        has_steps = bool(engine.system.physics.extended.potentials)
        self.potential = float(np.sum(energies[:, 0])) if energies is not None and has_steps else 0.0
        apart, rate = (a[top.bonds[:, 1]] - a[top.bonds[:, 0]] for a in (self.x, self.v))
        self.bonds = np.sqrt(np.sum(apart**2, axis=1)) - top.bond_length
        self.stretching = np.sum(apart * rate, axis=1)


def wall_of(system, code):
    """Return the table of the wall of a code in the log, {} for a side that is plain."""
    given, number = table_of(system.physics.extended).get("walls", []), -1 - code
    if number >= L.SIDES:
        return [wall for wall in given if wall["shape"]][number - L.SIDES]
    return {wall["side"]: wall for wall in given}.get(L.SIDE_NAMES[number], {})


def bridge_of(system, row):
    """Return the energy that breaking the bridge of the two beads of an event takes, 0 where they form none."""
    types = {system.topology.type_names[k] for k in system.topology.whole().bead_type[row["bead"]]}
    return next((one.bridge or 0.0 for one in system.physics.extended.potentials if {*one.types} == types), 0.0)


def normal(system, row, x):
    """Return the unit normal of a row of the log, towards its first bead."""
    i, j = row["bead"]
    if j >= 0:
        away = x[i] - x[j]
    elif j < -L.SIDES:
        wall = wall_of(system, j)
        away = np.where([axis == wall["axis"] for axis in "xyz"], 0.0, np.array(wall["center"]) - x[i])
    else:
        away = np.eye(3)[(-1 - j) % 3] * (1.0 if j > -4 else -1.0)
    return away / np.linalg.norm(away)


def check_impulse(system, row, before, after, kept):
    """Check momentum, angular momentum, the law along the normal, and the energy, by the impulse in the log."""
    top, (i, j) = system.topology.whole(), row["bead"]
    radius, n = 0.5 * top.diameter, normal(system, row, before.x)
    wall = wall_of(system, j) if j < 0 else {}
    moving = surface_of(wall, n, row["time"]) if j < 0 else None
    impulse = row["impulse"] * n + (row["tangential"] if "tangential" in row.dtype.names else 0.0)
    slips = []
    for look in (before, after):
        turn = radius[i] * look.w[i] + (radius[j] * look.w[j] if j >= 0 else 0.0)
        slips.append(look.v[i] - (look.v[j] if j >= 0 else moving) - np.cross(turn, n))
    gained = 0.5 * impulse @ (slips[0] + slips[1])
    if j < 0 or top.fixed[j]:
        gained += impulse @ (moving if j < 0 else before.v[j])
    elif top.fixed[i]:
        gained -= impulse @ before.v[i]
    speed = 1.0 + np.abs(before.v).max() + np.abs(before.w).max()
    held = np.isin(top.molecule_of_bead, np.unique(top.molecule_of_bead[top.fixed]))
    if not held[i] and not (j >= 0 and held[j]):
        push = impulse if j < 0 else 0.0 * impulse
        twist = np.cross(before.x[i] - radius[i] * n, push)
        np.testing.assert_allclose(after.momentum - before.momentum, push, atol=1e-9 * speed)
        np.testing.assert_allclose(after.angular - before.angular, twist, atol=1e-8 * speed)
    change = after.kinetic - before.kinetic
    assert change == pytest.approx(gained, abs=1e-8 * speed**2)
    if row["kind"] > WALL:
        lost = bridge_of(system, row) if row["kind"] == LEFT else 0.0
        assert change == pytest.approx(before.potential - after.potential - lost, abs=1e-10 * speed**2)
        return
    assert row["impulse"] > 0.0
    e = wall.get("restitution", kept) if j < 0 else kept
    assert slips[1] @ n == pytest.approx(-e * (slips[0] @ n), abs=1e-9 * speed)


def check(system, row, before, after, kept):
    """Check all that one event changes; what molecules that have no part in it do goes on."""
    top, others = system.topology.whole(), np.ones(system.topology.molecules, dtype=bool)
    others[top.molecule_of_bead[[bead for bead in row["bead"] if bead >= 0]]] = False
    rest = others[top.molecule_of_bead]
    speed = 1.0 + np.abs(before.v).max() + np.abs(before.w).max()
    np.testing.assert_allclose(after.v[rest], before.v[rest], atol=1e-12 * speed)
    np.testing.assert_allclose(after.w[rest], before.w[rest], atol=0)
    np.testing.assert_allclose(after.x, before.x, atol=1e-12 * speed)
    assert np.abs(after.bonds).max(initial=0.0) < 1e-10
    assert np.abs(after.stretching).max(initial=0.0) < 1e-9 * speed
    np.testing.assert_array_equal(after.v[top.fixed], before.v[top.fixed])
    if row["kind"] == DRAWN:
        assert np.any(after.v[~rest] != before.v[~rest])
    else:
        check_impulse(system, row, before, after, kept)


def look_at(sort, seed, most):
    """Look at up to so many events of a system; return how many there were of each kind."""
    system = system_of(sort, seed)
    engine, end, log = Engine(system, log_events=True), 0.5, []
    while sum(map(len, log)) < most and end < 12.0:
        engine.advance(end)
        log.append(engine.drain_events())
        end *= 1.5
    log = np.sort(np.concatenate(log), order="time")[:most]
    times, first, count = np.unique(log["time"], return_index=True, return_counts=True)
    engine, seen = Engine(system), np.zeros(7, dtype=int)
    for time, row in zip(times[count == 1][:-1], log[first[count == 1]][:-1], strict=True):
        engine.advance(float(np.nextafter(time, 0.0)))
        before = Look(engine, float(time))
        engine.advance(float(time))
        check(system, row, before, Look(engine, float(time)), system.physics.restitution)
        seen[row["kind"]] += 1
    assert np.count_nonzero(count > 1) <= 2
    return seen


KINDS_OF = {"wells": (0, 1, 2, 3, 4, 5), "wet": (0, 1, 3, 4, 5), "walls": (0, 1), "fixed": (0, 1), "drawn": (0, 1, 6)}


@pytest.mark.parametrize("sort", SORTS)
def test_events_keep_what_they_should(sort):
    seen = sum(look_at(sort, seed, 80) for seed in range(3))
    assert seen.sum() > 90
    assert np.all(seen[list(KINDS_OF[sort])] > 0)


@pytest.mark.long
@pytest.mark.parametrize("sort", SORTS)
def test_so_do_a_hundred_thousand(sort):
    seen, seed = np.zeros(7, dtype=int), 2
    while seen.sum() < 100000 // len(SORTS):
        seed += 1
        seen += look_at(sort, seed, PART)
    assert np.all(seen[list(KINDS_OF[sort])] > 100)
