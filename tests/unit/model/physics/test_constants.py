"""Tables of constants as files have them: what is read is written again to the letter, and the wrong is refused."""

import pytest

from hpcchain.model.physics.constants import ExtendedPhysics, SteppedPhysics, made, table_of
from hpcchain.model.system import Physics

WALL = {"side": "z-", "shape": None, "center": None, "radius": None, "axis": None}
EXTENDED = {
    "exclude": True,
    "fixed": True,
    "pairs": [{"types": ["A", "z-"], "restitution": 0.5, "tangential_restitution": None, "contact_time": 0.1}],
    "simultaneous": "moreau",
    "rough": {"tangential_restitution": -1.0, "seed": 3, "temperature": 1.0},
    "orientations": [True, False],
    "potentials": [
        {"types": ["A", "A"], "distances": [1.5, 2.0], "energies": [-1.0, 0.5]},
        {"types": ["A", "B"], "distances": [1.5], "energies": [0.0], "bridge": 0.5},
    ],
    "distance_limits": [[[2, 1.2, 1.9]], []],
    "gravity": [0.0, 0.0, -1.0],
    "walls": [WALL | {"velocity": 0.1, "temperature": 1.0, "restitution": -1.0, "tangential_restitution": 0.5}],
    "thermostat": {"temperature": 1.0, "rate": 2.0},
    "seed": 3,
}
POTENTIAL = {"name": "fene", "types": None, "epsilon": 1.0, "sigma": 1.0, "cutoff": None, "shift": None}
POTENTIAL |= {"stiffness": 30.0, "length": 1.5, "center": None, "file": None, "function": None, "on": None}
STEPS = {
    "step": 0.01,
    "integrator": "contact",
    "base": "verlet",
    "energy": "H",
    "predictions": 1,
    "solver": "newton",
    "potentials": [POTENTIAL | {"digest": None}],
    "gravity": [0.0, 0.0, -1.0],
    "thermostat": {"name": "langevin", "temperature": 1.0, "damping": 0.5, "rate": None},
    "seed": 3,
    "damping": [0.0, 0.1],
    "simultaneous": "moreau",
    "friction": 0.0,
    "pairs": [{"types": ["A", "z-"], "restitution": 0.5, "friction": None}],
    "walls": {"z-": 0.5},
}
OPTIONAL = ("simultaneous", "friction", "pairs", "walls")


@pytest.mark.parametrize("left_out", [None, *EXTENDED])
def test_tables_beyond_smooth_beads_come_back(left_out):
    table = {name: value for name, value in EXTENDED.items() if name != left_out}
    assert table_of(made(ExtendedPhysics, table, "extended")) == table


@pytest.mark.parametrize("left_out", [None, *OPTIONAL])
def test_tables_of_steps_come_back(left_out):
    table = {name: value for name, value in STEPS.items() if name != left_out}
    assert table_of(made(SteppedPhysics, table, "steps")) == table


def test_constants_come_back():
    own = {
        "propagator": "rattle",
        "stages": 4,
        "step": 0.1,
        "tolerance": 1e-9,
        "options": Physics(0.5).table()["options"],
    }
    table = Physics(0.5).table() | {"kinds": [{}, own], "steps": STEPS, "extended": {"impulses": True}}
    assert made(Physics, table, "physics").table() == table
    assert Physics(0.5).table() == Physics(0.5).table() | {"kinds": [], "steps": {}, "extended": {}}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"spin": 1}, "extended: spin is missing, or unknown to this version"),
        ({"rough": {"seed": 1}}, "rough: .*temperature"),
        ({"potentials": 5}, "potentials: are no list"),
        ({"walls": [5]}, "walls: are no table"),
        ({"pairs": [{"types": ["A", "A"]}]}, "pairs: contact_time, .* is missing"),
        ({"seed": True}, "seed: is True, and no int"),
        ({"seed": 1.0}, "seed: is 1.0, and no int"),
        ({"exclude": 1}, "exclude: is 1, and no bool"),
        ({"simultaneous": None}, "simultaneous: is None, and no str"),
        ({"fixed_speed": "fast"}, "fixed_speed: is 'fast', and no float"),
        ({"orientations": [True, 1]}, "orientations: is 1, and no bool"),
        ({"gravity": {"x": 1.0}}, "gravity: are no list"),
        ({"distance_limits": [[[2.5, 1.2, 1.9]]]}, "distance_limits: is 2.5, and no int"),
        ({"distance_limits": [[[2, 1.2]]]}, "shorter"),
        ({"rough": 3.0}, "rough: are no table"),
    ],
)
def test_what_is_no_such_table_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        made(ExtendedPhysics, EXTENDED | change, "extended")


@pytest.mark.parametrize("name", sorted(STEPS.keys() - {*OPTIONAL}))
def test_steps_lack_nothing(name):
    with pytest.raises(ValueError, match=name):
        made(SteppedPhysics, {one: value for one, value in STEPS.items() if one != name}, "steps")
