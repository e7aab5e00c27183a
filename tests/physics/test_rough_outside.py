"""Rough beads at walls that move, have shapes or are thermal, and at fixed beads: exact cases, energy, ranks."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.sector.serial import Engine
from tests.support.compositions import composition_of
from tests.support.extended import rough, with_extended
from tests.support.gases import gas, monomer
from tests.support.identity import in_stages, parallel, require_same, serial
from tests.support.kernel_tools import make_system

SPHERE = {"side": None, "shape": "sphere", "center": [0.0] * 3, "radius": 3.0, "axis": None}
CYLINDER = SPHERE | {"shape": "cylinder", "axis": "z"}
SIDE = {"side": "x+", "shape": None, "center": None, "radius": None, "axis": None}


def fixed(system, beads):
    """Return a system of which some beads are fixed, and do not spin."""
    flags = np.isin(np.arange(system.topology.beads), beads)
    state = replace(system.state, extra=np.where(flags[:, None], 0.0, system.state.extra))
    system = replace(system, topology=composition_of(replace(system.topology.whole(), fixed=flags)), state=state)
    return with_extended(system, fixed=True)


def end(system, time):
    """Return places, velocities and spins at a time, and the engine."""
    engine = Engine(system, log_events=True)
    engine.advance(time)
    order = np.argsort(engine.ids)
    position, velocity, _ = engine.frame(time)
    return position[order], velocity[order], engine.state().extra[order, L.SPIN : L.SPIN + 3], engine


def energy(system, velocity, spins):
    """Return the energy of what moves, spins included."""
    top = system.topology.whole()
    free = ~top.fixed[:, None]
    both = top.mass[:, None] * np.square(velocity) + top.moment[:, None] * np.square(spins)
    return 0.5 * np.sum(free * both)


@pytest.mark.parametrize(("e_n", "e_t"), [(1.0, -1.0), (0.5, 0.25)])
def test_a_ball_that_slides_along_a_wall_that_moves(e_n, e_t):
    """Formulas of one rough sphere on a plane, in the frame of the plane; the energy is that and the wall's work."""
    wall = SIDE | {"velocity": 0.5, "restitution": e_n}
    bead = make_system([monomer([0.0, 0.0, 0.0], [1.0, 2.0, 0.0], 2.0)], (8.0,) * 3, (1, 0, 0))
    system = rough(bead, [[0.0, 0.0, 3.0]], e_t, [wall])
    _, v, w, engine = end(system, 2.5)  # they meet at 3.5 / 1.5
    moment, mass, radius = system.topology.whole().moment[0], 2.0, 0.5
    slip = 2.0 + radius * 3.0  # along y, of the surface at x+, R w x of which is +R w_z y
    change = (1.0 - e_t) * slip / (1.0 / mass + radius**2 / moment)
    np.testing.assert_allclose(v[0], [-0.5 - e_n * 1.5, 2.0 - change / mass, 0.0], atol=1e-14)
    np.testing.assert_allclose(w[0], [0.0, 0.0, 3.0 - radius * change / moment], atol=1e-13)
    log = engine.drain_events()
    size = mass * 1.5 * (1.0 + e_n)
    assert log["impulse"] == pytest.approx([size], rel=1e-14)
    np.testing.assert_allclose(log["tangential"][0], [0.0, -change, 0.0], atol=1e-14)
    if e_t == -1.0:
        before = energy(system, system.state.velocity, [[0.0, 0.0, 3.0]])
        assert energy(system, v, w) - before == pytest.approx(0.5 * size, rel=1e-12)
        assert engine.sums[L.SUM_WORK] * engine.energy_quantum == pytest.approx(0.5 * size, rel=1e-9)


@pytest.mark.parametrize("wall", [SPHERE, CYLINDER], ids=["sphere", "cylinder"])
@pytest.mark.parametrize("kind", ["monomer", "chain3"])
def test_shapes_keep_energy_and_can_be_gone_back(wall, kind):
    """Perfectly rough contacts: after as long with all velocities and spins turned round, all is where it was."""
    one = gas([kind], 3)
    if wall is CYLINDER:
        one = replace(one, box=replace(one.box, boundary=np.array([2, 2, 0], dtype=np.int8)))
    else:
        one = replace(one, box=replace(one.box, boundary=np.array([2, 2, 2], dtype=np.int8)))
    spins = np.random.default_rng(4).normal(size=(one.topology.beads, 3))
    system = rough(one, spins, -1.0, [wall])
    x, v, w, engine = end(system, 10.0)
    assert engine.counters["wall_contacts"] > 3
    assert energy(system, v, w) == pytest.approx(energy(system, one.state.velocity, spins), rel=1e-12)
    back = replace(one, state=one.state.at_time_zero(x, -v))
    y, u, spin, _ = end(rough(back, -w, -1.0, [wall]), 10.0)
    moved = y - one.state.position
    moved -= np.where(one.box.boundary == 0, np.rint(moved / one.box.size) * one.box.size, 0.0)
    np.testing.assert_allclose(moved, 0.0, atol=1e-8)
    np.testing.assert_allclose(u, -one.state.velocity, atol=1e-8)
    np.testing.assert_allclose(spin, -spins, atol=1e-8)


def test_fixed_beads_take_what_they_are_given():
    """A rough ball on a fixed one is a ball on a plane; a fixed one that moves does work, along its surface, too."""
    beads = [monomer([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]), monomer([2.0, 0.0, 0.0], [-1.0, 0.5, 0.0], 2.0)]
    for moving in (0.0, 0.25):
        system = make_system(beads)
        velocity = system.state.velocity.copy()
        velocity[0] = [0.0, moving, 0.0]
        start = np.array([[0.0, 0.0, 0.0], [2.0, moving, 0.0]])
        start[0, 1] = 0.5 * 1.0 - moving * 1.0  # so that they meet on the x axis
        start[1, 1] = 0.0
        system = replace(system, state=system.state.at_time_zero(start, velocity))
        system = fixed(rough(system, [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0]], -1.0), [0])
        _, v, w, engine = end(system, 1.5)
        moment, mass, radius = system.topology.whole().moment[1], 2.0, 0.5
        slip = 0.5 - moving - radius * 2.0
        change = 2.0 * slip / (1.0 / mass + radius**2 / moment)
        np.testing.assert_allclose(v, [[0.0, moving, 0.0], [1.0, 0.5 - change / mass, 0.0]], atol=1e-13)
        np.testing.assert_allclose(w, [[0.0] * 3, [0.0, 0.0, 2.0 + radius * change / moment]], atol=1e-13)
        gained = energy(system, v, w) - energy(system, velocity, system.state.extra[:, :3])
        assert gained == pytest.approx(-change * moving, abs=1e-13)
        assert engine.sums[L.SUM_WORK] * engine.energy_quantum == pytest.approx(gained, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_ranks_windows_and_stops_leave_no_trace(seed):
    rng = np.random.default_rng(seed)
    kinds = [str(kind) for kind in rng.choice(["monomer", "monomer", "dimer", "chain5"], 18)]
    if seed < 2:
        system = gas(kinds, seed, 4.0, (3, 3, 2), (1, 1, 0))
        wall = SIDE | {"velocity": 0.05, "restitution": 0.9}
    else:
        system = gas(kinds, seed, 4.0, (3, 3, 2), (2, 2, 0))
        wall = CYLINDER | {"radius": 10.0, "velocity": 0.1}
    spins = rng.normal(size=(system.topology.beads, 3))
    system = rough(system, spins, float(rng.choice([-1.0, 0.3])), [wall])
    first = system.topology.whole().first_bead[:-1]
    singles = first[np.diff(system.topology.whole().first_bead) == 1][:3]
    state = replace(system.state, velocity=3.0 * system.state.velocity)
    state.velocity[singles] *= 0.0
    system = fixed(replace(system, state=state), singles)
    one = serial(system, 3.0)
    assert len(one.events) > 30 and np.any(one.events["tangential"])
    for ranks, window in ((2, None), (4, 0.1)):
        require_same(one, parallel(system, 3.0, ranks, window=window), f"seed {seed} on {ranks} ranks")
    require_same(one, in_stages(system, [(0.7, 1, {}), (1.9, 3, {}), (3.0, 0, {})]), f"seed {seed} in stages")


def test_walls_have_their_own_tangential_coefficient():
    """One side reverses the slip, the other takes none of it, whatever [contact] says."""
    walls = [
        SIDE | {"side": "x+", "tangential_restitution": -1.0},
        SIDE | {"side": "x-", "tangential_restitution": 1.0},
    ]
    system = rough(make_system([monomer([0.0] * 3, [1.0, 0.5, 0.0])], (4.0,) * 3, (1, 0, 0)), [[0.0] * 3], 0.25, walls)
    _, v, w, _ = end(system, 2.0)
    change = 2.0 * 0.5 / (1.0 + 0.5**2 / system.topology.whole().moment[0])
    np.testing.assert_allclose(v[0], [-1.0, 0.5 - change, 0.0], atol=1e-14)
    _, u, spin, _ = end(system, 5.0)
    np.testing.assert_allclose(u[0], [1.0, 0.5 - change, 0.0], atol=1e-14)
    np.testing.assert_allclose(spin, w, atol=0.0)


HOT = {"temperature": 1.5}


@pytest.mark.parametrize("kind", ["monomer", "chain3"])
def test_heat_of_thermal_walls_is_what_spins_gain_too(kind):
    """A thermal wall draws the spins of beads that are rough against it, and leaves those of others alone."""
    one = gas([kind], 3, 4.2, None, (1, 1, 1))
    spins = np.random.default_rng(4).normal(size=(one.topology.beads, 3))
    walls = [SIDE | HOT | {"side": side} for side in ("x-", "x+", "y-")]
    walls += [SIDE | HOT | {"side": side, "tangential_restitution": 1.0} for side in ("y+", "z-", "z+")]
    system = with_extended(rough(one, spins, -1.0, walls), seed=9)
    _, v, w, engine = end(system, 40.0)
    events = engine.drain_events()
    assert len(events) > 20
    gained = energy(system, v, w) - energy(system, one.state.velocity, spins)
    assert gained == pytest.approx(engine.sums[L.SUM_HEAT] * engine.energy_quantum, abs=1e-9)
    smooth = with_extended(rough(one, spins, -1.0, [wall | {"tangential_restitution": 1.0} for wall in walls]), seed=9)
    if kind == "monomer":
        assert np.array_equal(end(smooth, 40.0)[2], spins)


@pytest.mark.parametrize("seed", range(2))
def test_thermal_walls_leave_no_trace_of_ranks(seed):
    rng = np.random.default_rng(seed)
    kinds = [str(kind) for kind in rng.choice(["monomer", "dimer", "chain5"], 18)]
    one = gas(kinds, seed, 4.0, (3, 3, 2), (1, 1, 0))
    walls = [SIDE | HOT | {"side": "x-"}, SIDE | HOT | {"side": "y+", "tangential_restitution": 0.3, "velocity": 0.05}]
    spins = rng.normal(size=(one.topology.beads, 3))
    system = with_extended(rough(one, spins, 0.5, walls), seed=seed)
    state = replace(system.state, velocity=3.0 * system.state.velocity)
    system = replace(system, state=state)
    whole = serial(system, 5.0)
    assert np.count_nonzero(np.isin(whole.events["bead"][:, 1], (-1, -5))) > 5
    for ranks, window in ((2, None), (3, 0.1)):
        require_same(whole, parallel(system, 5.0, ranks, window=window), f"seed {seed} on {ranks} ranks")
    require_same(whole, in_stages(system, [(0.7, 1, {}), (1.9, 3, {}), (5.0, 0, {})]), f"seed {seed} in stages")


@pytest.mark.long
def test_spins_and_velocities_come_to_the_temperature_of_walls():
    """A rough ball and a rough dimer between thermal walls: 3 T / 2 of each bead's spins, and of what moves."""
    one = gas(["monomer", "dimer"], 5, 3.0, (2, 1, 1), (1, 1, 1))
    walls = [SIDE | HOT | {"side": side} for side in ("x-", "x+", "y-", "y+", "z-", "z+")]
    system = with_extended(rough(one, np.zeros((3, 3)), -1.0, walls), seed=2)
    engine, found = Engine(system), []
    for time in np.arange(50.0, 20000.0, 3.0):
        engine.advance(float(time))
        order = np.argsort(engine.ids)
        w = engine.state().extra[order, L.SPIN : L.SPIN + 3]
        v = engine.frame(float(time))[1][order]
        spin = 0.5 * system.topology.whole().moment[:, None] * w**2
        move = 0.5 * system.topology.whole().mass[:, None] * v**2
        found.append([move[:1].sum(), move[1:].sum(), *spin.sum(axis=1)])
    mean = np.mean(found, axis=0) / 1.5
    np.testing.assert_allclose(mean, [1.5, 2.5, 1.5, 1.5, 1.5], rtol=0.05)
