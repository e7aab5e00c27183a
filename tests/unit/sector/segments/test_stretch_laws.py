"""Stretches of long chains under laws beyond smooth hard beads, against the same chains moved as wholes.

Their kernels take minutes to compile: with --long.
"""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.model.molecules.long_chains import is_divided
from hpcchain.model.system import OPEN, PERIODIC, WALL, State
from hpcchain.sector.serial import Engine
from tests.support.checkpoints import through_file
from tests.support.compositions import composition_of
from tests.support.extended import rough, wall_table, with_extended
from tests.support.identity import in_stages, serial
from tests.support.kernel_tools import chain_bonds, make_system
from tests.support.long_chains import SIDE, crowd, in_parts, line
from tests.support.twins import project
from tests.support.whole import frame_of

GRAVITY = [0.3, -0.2, -0.8]
WELLS = {"distances": [1.2, 1.5], "energies": [-0.6, 0.3]}
ENOUGH = 60


def wells(system, **more):
    """Add wells with a rim between the beads of the first kinds, which are those of chains and some single beads."""
    names = system.topology.type_names[:12]
    pairs = [[a, b] for k, a in enumerate(names) for b in names[k:]]
    return with_extended(system, potentials=[{"types": pair} | WELLS for pair in pairs], **more)


def wet(system, **more):
    """Let the beads that `wells` are for form bridges."""
    names = system.topology.type_names[:12]
    bridge = {"distances": [1.3], "energies": [0.0], "bridge": 0.2}
    tables = [{"types": [a, b]} | bridge for k, a in enumerate(names) for b in names[k:]]
    return with_extended(system, potentials=tables, **more)


def shaft(seed):
    """Return chains in a vertical cylinder that narrows, with a floor that rises, under gravity."""
    cylinder = wall_table(
        shape="cylinder", center=[7.5, 7.5, 7.5], radius=9.68, axis="z", velocity=0.3, restitution=0.8
    )
    floor = wall_table(side="z-", velocity=0.2, restitution=0.9)
    system = crowd(seed, boundary=(OPEN, OPEN, WALL), restitution=0.95)
    return with_extended(system, gravity=GRAVITY, walls=[cylinder, floor])


def everything(seed):
    """Return chains with wells, and coefficients of their own, that fall on a floor past a bead that is fixed."""
    system = crowd(seed, boundary=(PERIODIC, PERIODIC, WALL))
    fixed = np.zeros(system.topology.beads, dtype=bool)
    fixed[-3] = True
    velocity = np.where(fixed[:, None], 0.0, system.state.velocity)
    system = replace(
        system,
        topology=composition_of(replace(system.topology.whole(), fixed=fixed)),
        state=replace(system.state, velocity=velocity),
        physics=replace(system.physics, contact_time=0.01),
    )
    name = system.topology.type_names[0]
    pairs = [
        {"types": types, "restitution": e, "tangential_restitution": None, "contact_time": None}
        for types, e in (([name, name], 0.97), ([name, "z-"], 0.7))
    ]
    return wells(system, fixed=True, gravity=GRAVITY, pairs=pairs, walls=[wall_table(side="z+", velocity=-0.1)])


def bath(seed):
    """Return chains between walls of two temperatures, one of which moves, whose velocities are drawn anew at times."""
    system = crowd(seed, boundary=(PERIODIC, WALL, WALL))
    walls = [
        wall_table(side="z-", temperature=2.0, velocity=0.1),
        wall_table(side="y-", temperature=0.5),
        wall_table(side="y+", temperature=1.0),
    ]
    system = with_extended(system, walls=walls, thermostat={"temperature": 1.5, "rate": 3.0}, seed=7)
    return wells(system)


def spinning(seed, **more):
    """Return rough chains and beads that spin, between walls of which one is hot."""
    system = crowd(seed, boundary=(PERIODIC, WALL, WALL), restitution=0.97)
    spins = np.random.default_rng(seed).normal(size=(system.topology.beads, 3))
    walls = [
        wall_table(side="z-", temperature=2.0, tangential_restitution=0.5),
        wall_table(side="y-", tangential_restitution=-0.4, restitution=0.9),
        wall_table(side="y+", tangential_restitution=1.0),
    ]
    return rough(system, spins, 0.3, walls, seed=7, **more)


CASES = {
    "wells": lambda seed: wells(crowd(seed)),
    "wet": lambda seed: wet(crowd(seed)),
    "a shaft": shaft,
    "everything": everything,
    "a bath": bath,
    "rough": spinning,
    "rough, with wells": lambda seed: wells(spinning(seed, gravity=GRAVITY)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_events_are_those_of_whole_chains(name):
    """The same beads meet, cross and turn back, in the same order, at times that round-off alone tells apart."""
    system, end = CASES[name](1), 1.2
    whole, parts = (Engine(one, log_events=True) for one in (system, in_parts(system)))
    for engine in (whole, parts):
        assert engine.advance(end)
    of_whole, found = whole.drain_events(), parts.drain_events()
    assert len(of_whole) > ENOUGH and len(found) == len(of_whole)
    np.testing.assert_array_equal(found["bead"], of_whole["bead"])
    np.testing.assert_array_equal(found["kind"], of_whole["kind"])
    np.testing.assert_allclose(found["time"], of_whole["time"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found["impulse"], of_whole["impulse"], rtol=0, atol=1e-6)
    scale = np.abs(of_whole["impulse"]).sum()
    assert abs(parts.sums[L.SUM_VIRIAL] - whole.sums[L.SUM_VIRIAL]) * whole.quantum < 1e-8 * scale * SIDE
    tensors = np.array(parts.sums[L.SUM_TENSOR : L.SUM_WALL_IMPULSE]) - np.array(
        whole.sums[L.SUM_TENSOR : L.SUM_WALL_IMPULSE]
    )
    assert np.abs(tensors).max() * whole.quantum < 1e-8 * scale * SIDE
    for one, other in (
        (parts.sums[L.SUM_WORK], whole.sums[L.SUM_WORK]),
        (parts.sums[L.SUM_HEAT], whole.sums[L.SUM_HEAT]),
    ):
        assert abs(one - other) * whole.energy_quantum < 1e-8 * scale
    places = [np.empty((system.topology.beads, 3)) for _ in range(2)]
    for engine, place in zip((whole, parts), places, strict=True):
        x, _, image = engine.frame(end)
        place[engine.ids] = x + image * system.box.size
    np.testing.assert_allclose(*places, rtol=0, atol=1e-7)
    spins = [whole_state(engine).extra[:, L.SPIN : L.SPIN + 3] for engine in (whole, parts)]
    np.testing.assert_allclose(*spins, rtol=0, atol=1e-6)
    assert ("rough" in name) == bool(np.any(spins[0]))


@pytest.mark.long
def test_events_of_all_sorts_have_been_compared():
    """What the cases are for: chains meet walls, one another's steps from both sides, and each other."""
    kinds = {name: serial(in_parts(make(1)), 1.2).events for name, make in CASES.items()}
    assert {0, 2, 3} <= {*kinds["wells"]["kind"].tolist()}
    met = kinds["a shaft"]
    assert {-3, -7} <= {*met["bead"][met["bead"][:, 0] < 231].min(axis=1).tolist()}
    warmed = kinds["a bath"][kinds["a bath"]["bead"][:, 0] < 231]
    assert {-3, -2} <= {*warmed["bead"].min(axis=1).tolist()} and L.DRAW_KIND in warmed["kind"]


@pytest.mark.long
def test_energy_with_wells_and_gravity_stays():
    """Kinetic, of the wells, and of the height: walls at rest that give all back."""
    plain = crowd(2, boundary=(PERIODIC, PERIODIC, WALL))
    system = in_parts(wells(plain, gravity=[0.0, 0.0, -0.5]))
    engine = Engine(system)
    mass = system.topology.whole().mass

    def energy(time):
        x, v, _ = engine.frame(time)
        own = mass[engine.ids]
        return 0.5 * (own[:, None] * v**2).sum() + 0.5 * (own * x[:, 2]).sum() + engine.energies()[:, 0].sum()

    assert engine.advance(1e-6)
    first = energy(1e-6)
    assert engine.advance(6.0) and engine.counters["contacts"] > 1000
    assert energy(6.0) == pytest.approx(first, rel=1e-13)


@pytest.mark.long
def test_what_falls_freely_moves_as_without_gravity():
    """In the frame that falls with it; the centre of mass that is carried along is that of the beads."""
    system = crowd(3, singles=0)
    pair = [in_parts(system), in_parts(with_extended(system, gravity=GRAVITY))]
    engines = [Engine(one, log_events=True) for one in pair]
    end = 1.0
    for engine in engines:
        assert engine.advance(end)
    of_whole, found = (engine.drain_events() for engine in engines)
    assert len(of_whole) > ENOUGH
    np.testing.assert_array_equal(found["bead"], of_whole["bead"])
    np.testing.assert_allclose(found["time"], of_whole["time"], rtol=0, atol=1e-9)
    (x, v, image), (fallen, faster, other) = (engine.frame(end) for engine in engines)
    way = fallen + other * system.box.size - x - image * system.box.size
    np.testing.assert_allclose(way, np.broadcast_to(0.5 * np.array(GRAVITY) * end**2, way.shape), rtol=0, atol=1e-9)
    np.testing.assert_allclose(faster - v, np.broadcast_to(np.array(GRAVITY) * end, v.shape), rtol=0, atol=1e-8)
    assert engines[1].sums[L.SUM_VIRIAL] == pytest.approx(
        engines[0].sums[L.SUM_VIRIAL], abs=1e-9 * SIDE * len(of_whole) / engines[0].quantum
    )


@pytest.mark.long
@pytest.mark.parametrize("name", ["a shaft", "everything", "a bath", "rough, with wells"])
def test_runs_go_on_from_checkpoints_to_the_same_bits(name, tmp_path):
    system = in_parts(CASES[name](4))
    expected = serial(system, 0.9)
    engine = Engine(system)
    engine.advance(0.37)
    path = tmp_path / "c.h5"
    found = serial(through_file(path, replace(system, state=whole_state(engine)), 0.37), 0.9)
    assert len(found.events) > 10
    np.testing.assert_array_equal(found.events, expected.events[expected.events["time"] > 0.37])
    for got, want in zip(found.frame, expected.frame, strict=True):
        np.testing.assert_array_equal(got, want)
    stages = in_stages(system, [(until, 0, {}) for until in (0.2, 0.63, 0.9)])
    np.testing.assert_array_equal(stages.events, expected.events)
    for field in State.ARRAYS:
        np.testing.assert_array_equal(getattr(stages.state, field), getattr(expected.state, field))


def whole_state(engine):
    """Return the State of all beads in the order of their ids."""
    state, order = engine.state(), np.argsort(engine.ids)
    return replace(state, **{field: getattr(state, field)[order] for field in State.ARRAYS})


@pytest.mark.long
def test_a_chain_pulled_through_its_own_well_is_moved_as_a_whole():
    """A bead that flies along a straight chain crosses wells; none of the impulse is lost at parts' ends."""
    system = wells(line(120, [([7.0, 20.0, 20.0], [1.0, 0.0, 0.0])]))
    total = []
    for one in (system, in_parts(system)):
        engine = Engine(one, log_events=True)
        assert engine.advance(3.0)
        assert len(engine.drain_events()) >= 2
        v = np.empty((121, 3))
        v[engine.ids] = engine.frame(3.0)[1]
        total.append(v)
    np.testing.assert_allclose(total[1], total[0], rtol=0, atol=1e-11)


@pytest.mark.long
def test_a_bead_sticks_to_a_long_chain_as_to_a_whole_one():
    """It leaves one bead of the chain, and is caught by the next two."""
    system = wet(line(100, [([56.66, 17.5, 17.17], [0.0, 1.0, 0.0])], bend=0.25, seed=1))
    whole, parts = (Engine(one, log_events=True) for one in (system, in_parts(system)))
    for engine in (whole, parts):
        assert engine.advance(3.5)
    of_whole, found = whole.drain_events(), parts.drain_events()
    assert of_whole["kind"].tolist() == found["kind"].tolist() == [0, 3, 0, 0, 4]
    np.testing.assert_array_equal(found["bead"], of_whole["bead"])
    for name in ("time", "impulse"):
        np.testing.assert_allclose(found[name], of_whole[name], rtol=0, atol=1e-11)


def test_chains_with_limits_of_their_own_move_as_wholes():
    system = in_parts(crowd(5))
    limited = with_extended(system, distance_limits=[[], [[2, 0.9, 2.1]], *[[]] * 41])
    assert is_divided(system.topology.whole(), 1, system.physics) and not is_divided(
        limited.topology.whole(), 1, limited.physics
    )
    assert is_divided(limited.topology.whole(), 0, limited.physics)


@pytest.mark.long
def test_a_thermostat_draws_what_it_draws_for_whole_chains():
    """Chains of parts and whole ones have the same mean energy, and the same draws, over many."""
    system = with_extended(crowd(8, singles=5), thermostat={"temperature": 1.5, "rate": 20.0}, seed=3)
    ends = []
    for one in (system, in_parts(system)):
        engine = Engine(one, log_events=True)
        assert engine.advance(1.0)
        events = engine.drain_events()
        draws = events[events["kind"] == L.DRAW_KIND]
        assert len(draws) > 100
        ends.append(draws["bead"][:, 0])
    np.testing.assert_array_equal(*ends)


@pytest.mark.long
def test_perfectly_rough_chains_keep_energy_and_momentum():
    """Contacts turn the slip of surfaces round: kinetic energy and that of spins stay together."""
    plain = crowd(9)
    spins = np.random.default_rng(1).normal(size=(plain.topology.beads, 3))
    system = in_parts(rough(plain, spins, -1.0))
    mass, inertia = system.topology.whole().mass, system.topology.whole().moment
    engine = Engine(system)

    def figures(time):
        _, v, _ = engine.frame(time)
        own, turn = engine.ids, engine.state().extra[:, L.SPIN : L.SPIN + 3]
        energy = 0.5 * (mass[own][:, None] * v**2).sum() + 0.5 * (inertia[own][:, None] * turn**2).sum()
        return energy, mass[own] @ v

    assert engine.advance(1e-6)
    energy, momentum = figures(1e-6)
    assert engine.advance(5.0) and engine.counters["contacts"] > 500
    later, total = figures(5.0)
    assert later == pytest.approx(energy, rel=2e-13)
    np.testing.assert_allclose(total, momentum, rtol=0, atol=1e-12)


@pytest.mark.long
def test_what_rubs_along_a_flat_chain_is_felt_far_away():
    """A bead that meets it right across its plane moves one bead that way, and many along it: none of that is lost."""
    n, step = 160, np.array([[np.cos(0.25), np.sin(0.25), 0.0], [np.cos(0.25), -np.sin(0.25), 0.0]])
    x = np.cumsum(np.vstack([[[10.0, 20.0, 20.0]], step[np.arange(n - 1) % 2]]), axis=0)
    still = (chain_bonds(n), x, np.zeros((n, 3)), np.ones(n))
    hit = (np.zeros((0, 2), int), (x[80] + [-1.05, -0.63, 3.0])[None], np.array([[0.5, 0.3, -1.0]]), np.ones(1))
    plain = make_system([still, hit], (200.0, 40.0, 40.0), (PERIODIC,) * 3, (0.0,) * 3, diameter=0.9)
    system = rough(plain, np.zeros((n + 1, 3)), -1.0)
    found = []
    for one in (system, in_parts(system)):
        engine = Engine(one, log_events=True)
        assert engine.advance(2.3)
        assert len(engine.drain_events()) == 1
        velocity = np.empty((n + 1, 3))
        velocity[engine.ids] = engine.frame(2.3)[1]
        found.append(velocity)
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(plain.topology.whole().mass @ found[1], [0.5, 0.3, -1.0], rtol=0, atol=1e-13)
    assert np.abs(found[1][:n, 0]).max() > 0.01


@pytest.mark.long
def test_a_molecule_with_limits_meets_a_chain_and_itself_at_one_instant():
    """A V stands on a chain by one end, and its ends meet: tied as with whole chains, and as without the limits."""
    chain = line(100, [], bend=0.2, seed=3)
    place, mass = chain.state.position, chain.topology.whole().mass
    x = place[50] + [[0.0, 0.9, 0.0], [0.0, 0.9 + np.sqrt(1.0 - 0.45**2), 0.45], [0.0, 0.9, 0.9]]
    v = project(chain_bonds(3), x, np.array([[0.0, -1.0, 0.7], [0.0, -0.3, 0.0], [0.0, -1.0, -0.7]]), np.ones(3))
    molecules = [(chain_bonds(100), place, np.zeros((100, 3)), mass), (chain_bonds(3), x, v, np.ones(3))]
    system = make_system(molecules, (140.0, 40.0, 40.0), diameter=0.9)
    limited = with_extended(system, distance_limits=[[], [[2, 0.5, 1.8]]])
    found = []
    for one in (system, limited, in_parts(limited)):
        engine = Engine(one)
        assert engine.advance(0.1) and engine.counters["ties"] == 1
        found.append(frame_of(engine, 0.1)[1])
    np.testing.assert_allclose(found[1], found[0], atol=1e-9)
    np.testing.assert_allclose(found[2], found[0], atol=1e-9)
