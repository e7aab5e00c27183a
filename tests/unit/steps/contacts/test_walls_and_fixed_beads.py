"""Fixed beads, and walls that move or have shapes, in steps."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.errors import ConfigError
from hpcchain.layout import arrays as L
from hpcchain.model.starts.overlap import bead_overlap
from hpcchain.run.starts.growth import grown_system
from hpcchain.sector.serial import Engine
from hpcchain.steps.engine import SteppedEngine
from tests.support.stepped import LJ, config_of, liquid, require_equal, run_on, stepping, system_of, zigzag

STILL = [0.0, 0.0, 0.0]


def beads(places, velocities, name="A", **keys):
    """Return a table of monomers."""
    given = {"positions": places, "velocities": velocities}
    return {"name": name, "kind": "monomer", "count": len(places)} | given | keys


def tables(*kinds, step=0.01, **sections):
    """Return an input of molecules in a large open box."""
    made = {
        "box": {"size": [20.0] * 3, "boundary": ["open"] * 3},
        "molecule": list(kinds),
        "initial": {"method": "explicit", "seed": 3},
        "run": {"engine": "steps", "end_time": 8.0},
        "steps": {"step": step} | sections.pop("steps", {}),
    }
    return made | sections


def engine_of(given, **options):
    """Return the engine of an input's system."""
    system = system_of(given)
    return SteppedEngine(system, **options)


def energy_of(engine, system):
    """Return the kinetic and potential energy of beads that are not fixed, less the work that has come in."""
    mass = np.where(system.topology.whole().fixed, 0.0, system.topology.whole().mass)
    energy = 0.5 * mass @ np.sum(engine.frame(engine.time)[1] ** 2, axis=1) + engine.energies()[:, 0].sum()
    return energy - engine.sums[L.SUM_WORK] * engine.energy_quantum


@pytest.mark.parametrize("integrator", ["gvi", "contact"])
@pytest.mark.parametrize("e", [1.0, 0.4])
def test_a_fixed_bead_that_moves_is_of_infinite_mass(integrator, e):
    """It strikes one at rest, which leaves at (1 + e) times its velocity; all energy is its work where e is 1."""
    given = tables(
        beads([[5.0, 5.0, 5.0]], [[2.0, 0.0, 0.0]], "F", fixed=[0], fixed_velocity=[2.0, 0.0, 0.0]),
        beads([[7.0, 5.0, 5.0]], [STILL], mass=3.0),
        contact={"restitution": e},
        steps={"integrator": integrator},
    )
    engine = engine_of(given)
    engine.advance(1.0)
    place, velocity, _ = engine.frame(1.0)
    assert np.abs(place[0] - [7.0, 5.0, 5.0]).max() < 1e-12 and np.all(velocity[0] == [2.0, 0.0, 0.0])
    assert np.abs(velocity[1] - [2.0 * (1.0 + e), 0.0, 0.0]).max() < 1e-12
    push = 3.0 * 2.0 * (1.0 + e)
    assert abs(engine.sums[L.SUM_WORK] * engine.energy_quantum - push * 2.0) < 1e-9


HELD = {
    "chain": ({"kind": "chain", "beads": 5, "fixed": [0]}, zigzag(5)),
    "hung": ({"kind": "chain", "beads": 6, "fixed": [0, 5]}, zigzag(6)),
    "spring": ({"kind": "chain", "beads": 3, "fixed": [1], "rigid": False}, zigzag(3)),
    "star": ({"kind": "star", "arms": 2, "arm_beads": 2, "fixed": [0]}, zigzag(5)[[2, 1, 0, 3, 4]]),
    "obstacle": ({"kind": "monomer", "fixed": [0]}, np.zeros((1, 3))),
}
"""Name -> keys of a kind with fixed beads, and the places of one molecule."""


def held(heavy=False, **steps):
    """Return the input of molecules with fixed beads, or with beads of enormous mass, and of others about them."""
    kinds = []
    rng = np.random.default_rng(4)
    for k, (name, (keys, shape)) in enumerate(HELD.items()):
        rows = shape * 1.05 + [1.5 + 5.5 * (k % 2), 2.0 + 2.5 * k, 4.0]
        kind = {"name": name, "count": 1, "diameter": 0.9, "positions": rows.tolist()} | keys
        kind |= {"bond_length": 1.05} if len(shape) > 1 else {}
        speeds = rng.normal(size=shape.shape) * (2.0 if keys["kind"] != "monomer" else 0.0)
        speeds[keys["fixed"]] = 0.0
        kind["velocities"] = speeds.tolist()
        if heavy:
            mass = np.ones(len(shape))
            mass[kind.pop("fixed")] = 1e11
            kind["mass"] = mass.tolist()
        kinds.append(kind)
    free = np.array([[x, y, z] for x in (2.0, 6.0, 9.5) for y in (2.9, 6.0, 9.0) for z in (2.2, 5.8)])
    kinds.append(beads(free.tolist(), (6.0 * rng.normal(size=free.shape)).tolist(), diameter=0.9))
    potentials = [LJ | {"epsilon": 0.5, "sigma": 0.8}, {"name": "harmonic", "stiffness": 60.0, "length": 1.05}]
    box = {"box": {"size": [13.0, 13.5, 8.0], "boundary": ["periodic", "periodic", "wall"]}}
    return tables(*kinds, step=0.005, potential=potentials, steps=steps, **box)


def bonds_held(given):
    """Return an input whose velocities do not stretch bonds: those of its start at rest, after one step."""
    for kind in given["molecule"]:
        if kind["kind"] != "monomer":
            kind["velocities"] = np.zeros_like(kind["velocities"]).tolist()
    return given


@pytest.mark.parametrize(
    "steps",
    [
        {},
        {"energy": "H2"},
        {"base": "midpoint", "energy": "H2"},
        {"integrator": "dsi"},
        {"predictions": 2},
        {"integrator": "contact"},
    ],
)
def test_fixed_beads_are_those_of_enormous_mass(steps):
    fixed, heavy = (run_on(system_of(bonds_held(held(which, **steps))), 0.8, 1) for which in (False, True))
    assert np.abs(fixed[0] - heavy[0]).max() < 1e-8 and np.abs(fixed[1] - heavy[1]).max() < 1e-7
    system = system_of(bonds_held(held(**steps)))
    still = system.topology.whole().fixed
    assert still.sum() == 6 and np.array_equal(fixed[0][still], system.state.position[still])
    assert np.all(fixed[1][still] == 0.0)
    engine = SteppedEngine(system)
    engine.advance(0.8)
    assert engine.counters["contacts"] > 5 and engine.counters["wall_contacts"] > 2


def test_the_energy_of_molecules_on_fixed_beads_is_kept():
    system = system_of(bonds_held(held()))
    engine, begin = SteppedEngine(system), None
    for k in range(9):
        engine.advance(0.5 * k)
        begin = energy_of(engine, system) if begin is None else begin
        assert abs(energy_of(engine, system) - begin) < 5e-3 * abs(begin)


def pendulum(step):
    """Return the input of a dimer that hangs on a fixed bead."""
    kind = {"kind": "chain", "beads": 3, "count": 1, "fixed": [0], "mass": [1.0, 2.0, 1.0]}
    places = [[5.0, 5.0, 5.0], [6.0, 5.0, 5.0], [6.0, 6.0, 5.0]]
    kind |= {"positions": places, "velocities": [STILL] * 3}
    return tables(kind, step=step, external={"gravity": [0.0, 0.0, -3.0]})


@pytest.mark.engine
def test_a_double_pendulum_is_that_of_the_engine_of_events_to_order_two():
    given = pendulum(0.01)
    exact = Engine(system_of({k: v for k, v in given.items() if k != "steps"} | {"run": {"end_time": 8.0}}))
    exact.advance(1.5)
    place = exact.frame(1.5)[0]
    error = [np.abs(run_on(system_of(pendulum(h)), 1.5, 1)[0] - place).max() for h in (0.02, 0.01, 0.005)]
    assert 1.9 < np.log2(error[0] / error[1]) < 2.1 and 1.9 < np.log2(error[1] / error[2]) < 2.1


def test_a_contact_that_nothing_can_open_is_left_alone():
    """A bead whose bond to a fixed one is along the normal to another fixed one."""
    dimer = {"name": "D", "kind": "chain", "beads": 2, "count": 1, "fixed": [0]}
    dimer |= {"positions": [[5.0, 5.0, 5.0], [6.0, 5.0, 5.0]], "velocities": [STILL, STILL]}
    for integrator in ("gvi", "dsi"):
        given = tables(dimer, beads([[7.0, 5.0, 5.0]], [STILL], fixed=[0]), steps={"integrator": integrator})
        place = run_on(system_of(given), 0.1, 1)[0]
        assert np.array_equal(place, [[5.0, 5.0, 5.0], [6.0, 5.0, 5.0], [7.0, 5.0, 5.0]])


@pytest.mark.parametrize("integrator", ["gvi", "dsi", "contact"])
def test_fixed_beads_have_no_contacts_with_one_another_or_walls_and_no_weight(integrator):
    given = tables(
        beads([[5.0, 5.0, 0.3], [5.6, 5.0, 0.3]], [STILL] * 2, "F", fixed=[0]),
        beads([[5.3, 5.0, 1.3]], [STILL]),
        box={"size": [20.0] * 3, "boundary": ["open", "open", "wall"]},
        external={"gravity": [0.0, 0.0, -3.0]},
        contact={"restitution": 0.0} if integrator == "contact" else {},
        steps={"integrator": integrator},
    )
    engine = engine_of(given, log_events=True)
    assert np.array_equal(engine.energies()[:, 0], [0.0, 0.0, 1.3 * 3.0])
    engine.advance(1.0)
    place, velocity, _ = engine.frame(1.0)
    assert np.array_equal(place[:2], [[5.0, 5.0, 0.3], [5.6, 5.0, 0.3]]) and np.all(velocity[:2] == 0.0)
    assert np.all(np.isfinite(place)) and place[2, 2] > 1.0
    seen = {tuple(pair) for pair in engine.drain_events()["bead"].tolist()}
    assert seen == {(0, 2), (1, 2)}


@pytest.mark.parametrize("thermostat", [{"name": "langevin", "damping": 1.0}, {"name": "andersen", "rate": 5.0}])
def test_thermostats_leave_fixed_beads_alone(thermostat):
    given = bonds_held(held()) | {"thermostat": thermostat | {"temperature": 2.0}}
    given["molecule"][4] |= {"fixed_velocity": [0.5, 0.0, 0.0], "velocities": [[0.5, 0.0, 0.0]]}
    system = system_of(given)
    parts, fixed = run_on(system, 0.5, 1), system.topology.whole().fixed
    assert np.array_equal(parts[1][fixed], system.state.velocity[fixed]) and parts[1][fixed][-1, 0] == 0.5
    assert not np.array_equal(parts[1][~fixed], run_on(system_of(bonds_held(held())), 0.5, 1)[1][~fixed])


def test_the_work_of_a_bead_that_is_dragged_through_a_liquid_is_counted():
    """Of potentials, to the square of the step."""
    off = []
    for step in (0.008, 0.004, 0.002):
        given = liquid(5, beads=120, chains=2, steps={"step": step})
        places = given["molecule"][0]["positions"]
        dragged = beads([places.pop()], [[3.0, 0.0, 0.0]], "F", fixed=[0], fixed_velocity=[3.0, 0.0, 0.0], hard=False)
        given["molecule"][0]["count"] -= given["molecule"][0]["kind"] == "monomer"
        for kind in given["molecule"]:
            kind["velocities"] = np.zeros_like(kind["positions"]).tolist()
        given["molecule"].append(dragged)
        system = system_of(given)
        engine = SteppedEngine(system)
        begin = energy_of(engine, system)
        engine.advance(0.32)
        off.append(abs(energy_of(engine, system) - begin))
        assert abs(engine.sums[L.SUM_WORK] * engine.energy_quantum) > 2.0 * off[-1]
    assert off[0] / off[2] > 8.0


@pytest.mark.parametrize("integrator", ["gvi", "contact"])
@pytest.mark.parametrize("side, sense", [("x-", 1.0), ("x+", -1.0)])
def test_a_wall_that_moves_reflects_in_its_own_frame(integrator, side, sense):
    at = 3.0 if sense > 0.0 else 17.0
    given = tables(
        beads([[at, 5.0, 5.0]], [[-sense, 1.0, 0.0]], mass=2.0),
        box={"size": [20.0] * 3, "boundary": ["wall", "open", "open"]},
        wall=[{"side": side, "velocity": 0.5, "restitution": 0.8}],
        contact={"restitution": 0.1},
        steps={"integrator": integrator},
    )
    engine = engine_of(given, log_events=True)
    engine.advance(4.0)
    speed = 0.5 + 0.8 * 1.5
    assert np.abs(engine.frame(4.0)[1][0] - [sense * speed, 1.0, 0.0]).max() < 1e-12
    rows = engine.drain_events()
    assert rows["bead"].tolist() == [[0, -1 if side == "x-" else -4]]
    # the gap closes at 1.5 from 2.5: the contact is in the step that ends when it would be 0 or less
    assert abs(rows["time"][0] - 2.5 / 1.5) < 0.011 and abs(rows["impulse"][0] - 2.0 * (speed + 1.0)) < 1e-11
    assert abs(engine.sums[L.SUM_WORK] * engine.energy_quantum - 0.5 * rows["impulse"][0]) < 1e-9


def piston(seed, **steps):
    """Return the input of hard beads and chains in a box of which one side moves inwards, another outwards."""
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*[np.arange(4)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) * 2.0 + 1.5
    places = grid[rng.permutation(64)]
    chains = np.concatenate([zigzag(2) * 1.0 - [0.4, 0.3, 0.0] + place for place in places[:12]])
    kinds = [
        {"name": "C", "kind": "chain", "beads": 2, "count": 12, "diameter": 0.9, "positions": chains.tolist()},
        {"name": "M", "kind": "monomer", "count": 52, "diameter": 0.9, "positions": places[12:].tolist()},
    ]
    walls = [{"side": "x-", "velocity": 0.3}, {"side": "z+", "velocity": -0.2}, {"side": "x+", "velocity": 0.1}]
    box = {"box": {"size": [9.0] * 3, "boundary": ["wall", "periodic", "wall"]}}
    return tables(*kinds, wall=walls, steps=steps, **box) | {
        "initial": {"method": "explicit", "seed": seed, "temperature": 2.0}
    }


def test_the_energy_of_a_gas_between_walls_that_move_grows_by_their_work():
    """Without potentials reflections keep the energy to round-off, but for what walls do."""
    given = piston(2)
    given["molecule"] = given["molecule"][1:]
    system = system_of(given)
    engine = SteppedEngine(system)
    begin = energy_of(engine, system)
    engine.advance(3.0)
    assert abs(energy_of(engine, system) - begin) < 1e-9 * begin
    assert engine.sums[L.SUM_WORK] * engine.energy_quantum > 0.02 * begin and engine.counters["wall_contacts"] > 40


def in_shape(shape, radius, velocity=0.0, restitution=None, **sections):
    """Return the sections of an input whose beads are in a sphere or a cylinder about (10, 10, 10)."""
    wall = {"shape": shape, "center": [10.0] * 3, "radius": radius, "velocity": velocity}
    wall |= {"axis": "z"} if shape == "cylinder" else {}
    wall |= {} if restitution is None else {"restitution": restitution}
    boundary = ["open", "open", "periodic" if shape == "cylinder" else "open"]
    return {"box": {"size": [20.0] * 3, "boundary": boundary}, "wall": [wall]} | sections


@pytest.mark.parametrize("shape", ["sphere", "cylinder"])
def test_a_shape_keeps_energy_and_momentum_about_its_centre_and_lets_none_out(shape):
    rng = np.random.default_rng(8)
    place, speed = [12.0, 11.0, 9.0], rng.normal(size=3).tolist()
    engine = engine_of(tables(beads([place], [speed]), **in_shape(shape, 4.0)), log_events=True)
    spin, energy = np.cross(np.array(place) - 10.0, speed), np.dot(speed, speed)
    plane = 3 if shape == "sphere" else 2
    for k in range(1, 200):
        engine.advance(round(0.5 * k, 1))
        x, v, image = engine.frame(engine.time)
        away = (x[0] + image[0] * 20.0 - 10.0)[:plane]
        assert np.linalg.norm(away) < 3.5 + 2.0 * 0.01 * np.sqrt(energy)
        assert abs(v[0] @ v[0] / energy - 1.0) < 1e-12
        assert np.abs(np.cross(x[0] + image[0] * 20.0 - 10.0, v[0]) - spin)[2] < 1e-10
    rows = engine.drain_events()
    assert engine.counters["wall_contacts"] == len(rows) > 10 and np.all(rows["bead"][:, 1] == -7)


def test_a_bead_slides_along_the_inside_of_a_sphere():
    """dsi: pressed to it by its own motion a bead stays on it, and goes round at its speed."""
    given = tables(
        beads([[13.5, 10.0, 10.0]], [[0.0, 1.2, 0.0]]), steps={"integrator": "dsi"}, **in_shape("sphere", 4.0)
    )
    engine = engine_of(given)
    for k in range(1, 30):
        engine.advance(round(0.5 * k, 1))
        x, v, _ = engine.frame(engine.time)
        assert abs(np.linalg.norm(x[0] - 10.0) - 3.5) < 1e-11 and abs(np.linalg.norm(v[0]) - 1.2) < 1e-3


def test_a_sphere_that_shrinks_drives_a_bead_faster_at_each_reflection():
    given = tables(beads([[10.0, 10.0, 10.0]], [[2.0, 0.0, 0.0]]), **in_shape("sphere", 5.0, 0.25, 0.5))
    engine, speed = engine_of(given), 2.0
    engine.advance(8.0)
    for _ in range(engine.counters["wall_contacts"]):
        speed = 0.25 + 0.5 * (speed + 0.25)
    assert engine.counters["wall_contacts"] >= 2 and abs(abs(engine.frame(8.0)[1][0, 0]) - speed) < 1e-12


@pytest.mark.parametrize("integrator", ["gvi", "dsi", "contact"])
@pytest.mark.parametrize("pace", [0.0, 0.5])
def test_a_bead_that_lies_on_a_floor_presses_with_its_weight(integrator, pace):
    """Also on a floor that rises: the wall's impulse is m g t, its work that times its velocity."""
    given = tables(
        beads([[5.0, 5.0, 0.5]], [[0.0, 0.0, pace]], mass=2.0),
        box={"size": [20.0] * 3, "boundary": ["open", "open", "wall"]},
        external={"gravity": [0.0, 0.0, -3.0]},
        steps={"integrator": integrator},
        wall=[{"side": "z-", "velocity": pace}],
    )
    engine = engine_of(given, log_events=True)
    engine.advance(2.0)
    place, velocity, _ = engine.frame(2.0)
    assert abs(place[0, 2] - 0.5 - 2.0 * pace) < 1e-11 and abs(velocity[0, 2] - pace) < 1e-11
    push = engine.sums[L.SUM_WALL_IMPULSE + 2] * engine.impulse_quantum
    assert abs(push - 12.0) < 1e-9 and abs(engine.sums[L.SUM_WORK] * engine.energy_quantum - pace * 12.0) < 1e-8
    assert abs(engine.drain_events()["impulse"].sum() - 12.0) < 1e-9


def crowd(seed, integrator):
    """Return the input of molecules with fixed beads in a shape that shrinks, or between walls that move."""
    if seed % 2:
        given = piston(seed, integrator=integrator)
    else:
        given = bonds_held(held(integrator=integrator))
        given["box"] = {"size": [20.0] * 3, "boundary": ["open"] * 3}
        given["wall"] = [{"shape": "sphere", "center": [6.0, 6.5, 4.0], "radius": 10.5, "velocity": 2.0}]
        given["run"] |= {"end_time": 1.0}
    if integrator != "dsi":
        given["contact"] = {"restitution": 0.9}
    return given


@pytest.mark.parametrize("seed, integrator, ranks", [(1, "gvi", 3), (2, "gvi", 2), (4, "dsi", 3), (3, "contact", 2)])
def test_ranks_lists_and_restarts_leave_no_trace(seed, integrator, ranks):
    system = system_of(crowd(seed, integrator))
    alone = run_on(system, 0.8, 1)
    middle = replace(system, state=run_on(system, 0.4, ranks, skin=0.6)[4])
    require_equal(alone, run_on(middle, 0.8, 5 - ranks))


@pytest.mark.engine
@pytest.mark.parametrize("pace", [0.0, 0.1])
def test_starts_with_fixed_beads_grow_for_steps(pace):
    """In a sphere, too; fixed beads then move as the input says."""
    given = tables(
        {"name": "A", "kind": "chain", "beads": 3, "count": 12, "fixed": [1]},
        {"name": "B", "kind": "monomer", "count": 10, "fixed": [0], "fixed_velocity": [pace, 0.0, 0.0]},
        {"name": "C", "kind": "monomer", "count": 30},
        **in_shape("sphere", 6.0),
    )
    given["initial"] = {"method": "grow", "seed": 5}
    system = grown_system(config_of(given))
    fixed = system.topology.whole().fixed
    place, velocity, *_ = run_on(system, 0.5, 1)
    assert np.abs(np.linalg.norm(place - 10.0, axis=1)).max() < 5.6
    moved = place[fixed] - system.state.position[fixed]
    assert np.abs(moved[:12]).max() == 0.0 and np.abs(moved[12:] - [0.5 * pace, 0.0, 0.0]).max() < 1e-12
    assert np.all(velocity[~fixed].any(axis=1))


@pytest.mark.engine
def test_a_start_with_fixed_beads_grows_as_it_does_for_the_engine_of_events():
    """Obstacles and grafted chains stand while the others grow round them, whichever engine is to go on."""
    kinds = [
        {"name": "O", "kind": "monomer", "count": 4, "fixed": [0]},
        {"name": "C", "kind": "chain", "beads": 4, "count": 8, "fixed": [0]},
        {"name": "M", "kind": "monomer", "count": 20},
    ]
    given = tables(*kinds, box={"size": [4.6] * 3}, initial={"method": "grow", "seed": 5})
    events = given | {"run": {"engine": "events", "end_time": 1.0}}
    del events["steps"]
    found, expected = grown_system(config_of(given)), grown_system(config_of(events))
    np.testing.assert_array_equal(found.state.position, expected.state.position)
    assert bead_overlap(found.box, found.topology.whole(), found.state.position, 1e-12) is None


ROD = {"kind": "rod", "beads": 3, "count": 1, "fixed": [0], "positions": [[1.0, 1.0, z] for z in (1.0, 2.0, 3.0)]}
ROD |= {"velocities": [STILL] * 3}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"wall": [{"side": "x-", "temperature": 2.0}]}, r"wall\[0\].temperature: .*thermostat.*events"),
        ({"wall": [{"side": "x-", "tangential_restitution": 0.5}]}, r"wall\[0\].tangential_restitution: .*rough"),
        (in_shape("sphere", 9.0) | {"steps": {"step": 0.01, "integrator": "contact"}}, r"wall\[0\].shape: .*gvi"),
        (in_shape("sphere", 0.4), r"wall\[0\].radius"),
        ({"wall": [{"side": "x-", "velocity": 3.0}]}, r"wall\[0\].velocity: .*no room"),
        ({"wall": [{"side": "x-", "velocity": [0.0, 1.0, 0.0]}]}, r"wall\[0\].velocity: .*smooth.*contact.friction"),
        (
            {"wall": [{"side": "x-", "oscillation": {"amplitude": 0.1, "period": 1.0}}]},
            r"wall\[0\].oscillation: .*events",
        ),
        ({"molecule": [beads([[5.0] * 3], [STILL], fixed=[0])]}, "all beads of all molecules are fixed"),
        (
            {"molecule": [beads([[5.0] * 3], [STILL]), ROD]},
            r"molecule\[1\].fixed: .*'rod'",
        ),
    ],
)
def test_bad_input_says_what_to_change(change, message):
    given = tables(beads([[5.0, 5.0, 5.0]], [STILL]), box={"size": [20.0] * 3, "boundary": ["wall", "open", "open"]})
    with pytest.raises(ConfigError, match=message):
        config_of(given | change)


def test_steps_of_a_pendulum_are_of_order_two_on_the_midpoint_rule_too():
    system = system_of(pendulum(0.01) | {"steps": {"step": 0.01, "base": "midpoint"}})
    fine = run_on(stepping(system, 1.0 / 2048), 1.0, 1)
    error = [np.abs(run_on(stepping(system, 2.0**-k), 1.0, 1)[0] - fine[0]).max() for k in (5, 6, 7)]
    assert -2.15 < np.polyfit(range(3), np.log2(error), 1)[0] < -1.85
