"""Walls that move, that enclose, and that have their own coefficient: closed forms, energies less work."""

import numpy as np
import pytest

from hpcchain.config.load import config_from_table
from hpcchain.layout import arrays as L
from hpcchain.layout.arrays import SIDE_NAMES
from hpcchain.model.starts.spins import with_spins
from hpcchain.model.starts.start import build_system
from hpcchain.sector.serial import Engine
from tests.support.whole import frame_of

OPEN = {"size": [8.0] * 3, "boundary": ["open"] * 3, "origin": [-4.0] * 3}
CHAIN = {
    "kind": "chain",
    "beads": 4,
    "positions": [[1.0, -1.5, 0.0], [1.0, -0.5, 0.0], [1.0, 0.5, 0.0], [1.0, 1.5, 0.0]],
    "velocities": [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.5]],
}


def ball(position, velocity, **keys):
    """Return the [[molecule]] table of one monomer."""
    return {"kind": "monomer", "positions": [position], "velocities": [velocity]} | keys


def run(end, **tables):
    """Return the Engine of tables in a cube of side 10 between walls, at an end time, and its contacts."""
    box = {"size": [10.0] * 3, "boundary": ["wall"] * 3}
    config = config_from_table({"box": box, "initial": {"method": "explicit"}, "run": {"end_time": end}} | tables, "in")
    engine = Engine(with_spins(build_system(config), config), log_events=True)
    engine.advance(end)
    return engine, engine.drain_events()


def energy(engine, frame, gravity=(0.0, 0.0, 0.0)):
    """Return kinetic and potential energy of a frame."""
    mass = engine.system.topology.whole().mass
    return float(0.5 * mass @ np.sum(frame[1] ** 2, axis=1) - mass @ frame[0] @ np.array(gravity))


def gained(engine, end, gravity=(0.0, 0.0, 0.0)):
    """Return by how much the energy has grown, and the work of the walls."""
    state = engine.system.state
    grown = energy(engine, frame_of(engine, end), gravity) - energy(engine, (state.position, state.velocity), gravity)
    return grown, engine.sums[L.SUM_WORK] * engine.energy_quantum


def test_a_piston_adds_twice_its_speed():
    """A ball of speed v between a wall at rest and one that comes towards it at w leaves that at v + 2 w."""
    engine, events = run(
        20.0, molecule=[ball([5.0, 5.0, 5.0], [0.0, 0.0, -1.0])], wall=[{"side": "z-", "velocity": 0.2}]
    )
    assert events["bead"][:, 1].tolist() == [-3, -6, -3, -6]
    first, place = 4.5 / 1.2, 0.5 + 0.2 * 4.5 / 1.2
    second = first + (9.5 - place) / 1.4
    third = second + (9.0 - 0.2 * second) / 1.6
    assert events["time"] == pytest.approx([first, second, third, third + (9.0 - 0.2 * third) / 1.8], abs=1e-13)
    assert events["impulse"] == pytest.approx([2.4, 2.8, 3.2, 3.6], abs=1e-13)
    grown, work = gained(engine, 20.0)
    assert grown == pytest.approx(0.5 * 1.8**2 - 0.5, abs=1e-13) and work == pytest.approx(grown, abs=1e-11)


def test_walls_that_recede_take_energy_and_all_is_counted():
    """Chains and balls in gravity between walls that come and go: the energy less the work is kept."""
    pull = [0.0, 0.0, -0.5]
    chain = CHAIN | {
        "positions": [[7.0, 7.0, z] for z in (2.0, 3.0, 4.0, 5.0)],
        "velocities": [[0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]],
    }
    balls = [ball([5.0, 5.0, 5.0], [0.3, 0.2, -1.0]), ball([2.0, 5.0, 5.0], [1.3, 0.2, -1.0])]
    walls = [{"side": "z-", "velocity": 0.1}, {"side": "z+", "velocity": -0.2}, {"side": "x+", "velocity": 0.05}]
    engine, events = run(20.0, molecule=[*balls, chain], external={"gravity": pull}, wall=walls)
    assert {-3, -4} <= set(events["bead"][:, 1].tolist())
    grown, work = gained(engine, 20.0, pull)
    assert abs(work) > 0.1 and grown == pytest.approx(work, abs=1e-10)


def test_a_wall_has_its_own_coefficient():
    """One side takes half the normal velocity, the others none."""
    engine, events = run(
        30.0, molecule=[ball([5.0, 5.0, 5.0], [0.0, 0.0, -1.0])], wall=[{"side": "z-", "restitution": 0.5}]
    )
    assert events["time"] == pytest.approx([4.5, 22.5], abs=1e-13)
    assert events["impulse"] == pytest.approx([1.5, 1.0], abs=1e-14)


CYLINDER = {"shape": "cylinder", "axis": "z", "center": [0.0, 0.0, 0.0], "radius": 3.0, "restitution": 0.5}


@pytest.mark.parametrize("side", ["z+", "z-"])
def test_a_shape_has_nothing_of_the_coefficients_of_a_side(side):
    """A ball that has just been hit meets a cylinder: elastic, whatever pairs say of its contacts with sides."""
    box = OPEN | {"boundary": ["open", "open", "wall"]}
    balls = [ball([-1.5, 0.0, 0.0], [1.0, 0.0, 0.0], name="A"), ball([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], name="B")]
    pair = {"types": ["B", side], "restitution": 0.3, "contact_time": 0.0}
    contact = {"contact_time": 5.0, "pair": [pair]}
    _, events = run(3.5, box=box, molecule=balls, wall=[CYLINDER], contact=contact)
    assert events["bead"].tolist() == [[0, 1], [1, -7]]
    assert events["impulse"] == pytest.approx([1.0, 2.0], abs=1e-13)


def falling(*xs):
    """Return the table of monomers that fall, side by side."""
    keys = {"count": len(xs), "positions": [[x, 5.0, 3.0] for x in xs], "velocities": [[0.0, 0.0, -1.0]] * len(xs)}
    return {"name": "A", "kind": "monomer"} | keys


LANDING = {"name": "B", "kind": "chain", "beads": 2, "bond_length": 1.2, "velocities": [[0.0] * 3] * 2}
CORNER = 0.5 + 1.1 / 0.95
OWN = {"z-": 0.5, "x-": 0.25}


@pytest.mark.parametrize("lasts", [False, True])
@pytest.mark.parametrize(
    ("upper", "lower", "momentum"),
    [
        (falling(5.0), ball([5.0, 5.0, 1.6], [0.0] * 3, name="B"), {(1, -3): 0.95}),
        (falling(CORNER), ball([CORNER + 0.4, 5.0, 1.6], [-1.0, 0.0, 0.0], name="B"), {(1, -3): 0.95, (1, -1): 1.0}),
        (
            falling(4.0, 5.2),
            LANDING | {"positions": [[4.0, 5.0, 1.6], [5.2, 5.0, 1.6]]},
            {(2, -3): 0.95, (3, -3): 0.95},
        ),
    ],
    ids=["single", "corner", "molecule"],
)
def test_a_wall_has_its_own_coefficient_unless_its_contact_time_lasts(upper, lower, momentum, lasts):
    """A contact time of another pair alone says nothing of a wall, though the beads have just been hit."""
    pairs = [{"types": ["A", "A"], "contact_time": 5.0}]
    pairs += [{"types": ["B", side], "contact_time": 5.0} for side in OWN if lasts]
    _, events = run(
        2.0,
        molecule=[upper, lower],
        wall=[{"side": side, "restitution": e} for side, e in OWN.items()],
        contact={"restitution": 0.9, "pair": pairs},
    )
    at_walls = {tuple(one["bead"].tolist()): one["impulse"] for one in events if one["kind"] == 1}
    assert events["kind"][0] == 0 and at_walls.keys() == momentum.keys()
    for (bead, code), size in momentum.items():
        e = 1.0 if lasts else OWN[SIDE_NAMES[-1 - code]]
        assert at_walls[bead, code] == pytest.approx((1.0 + e) * size, abs=1e-9)


def test_a_ball_in_a_sphere_meets_it_at_equal_times():
    """On a chord of half length a its contacts are at a (2 k + 1); all flights are chords of equal length."""
    sphere = {"shape": "sphere", "center": [0.0, 0.0, 0.0], "radius": 3.0}
    _, events = run(100.0, box=OPEN, molecule=[ball([0.0, 0.0, 1.0], [1.0, 0.0, 0.0])], wall=[sphere])
    chord = np.sqrt(2.5**2 - 1.0)
    assert np.all(events["bead"] == [0, -7]) and np.all(events["kind"] == 1)
    assert len(events) == 22 and np.max(np.abs(events["time"] - chord * (2.0 * np.arange(22) + 1.0))) < 1e-11
    assert np.max(np.abs(events["impulse"] - 2.0 * chord / 2.5)) < 1e-12


@pytest.mark.parametrize(
    "shape",
    [
        {"shape": "sphere", "center": [0.0, 0.0, 0.0], "radius": 3.0},
        {"shape": "cylinder", "axis": "z", "center": [0.1, 0.0, 0.0], "radius": 3.0, "velocity": 0.05},
    ],
    ids=["sphere", "cylinder"],
)
def test_shapes_keep_beads_inside_and_energy(shape):
    """A chain and balls under gravity: nothing gets out, energy less work is kept; a cylinder closes in."""
    pull, end = [0.3, 0.0, -0.4], 12.0
    box = OPEN | {"boundary": ["open", "open", "open" if shape["shape"] == "sphere" else "wall"]}
    balls = [ball([-1.0, 0.0, 1.0], [1.0, 0.0, 0.0]), ball([-1.0, 1.0, -1.0], [0.2, 0.0, 0.0])]
    engine, events = run(end, box=box, molecule=[*balls, CHAIN], wall=[shape], external={"gravity": pull})
    assert np.count_nonzero(events["bead"][:, 1] == -7) > 10
    grown, work = gained(engine, end, pull)
    assert grown == pytest.approx(work, abs=1e-10) and (work > 0.1) == ("velocity" in shape)
    away = frame_of(engine, end)[0] - shape["center"]
    away[:, 2] *= shape["shape"] == "sphere"
    limit = 2.5 - shape.get("velocity", 0.0) * end
    assert np.max(np.linalg.norm(away, axis=1)) < limit + 1e-11
