"""Coefficients of pairs of types and of walls, under reflections and under contact dynamics."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.errors import ConfigError
from hpcchain.steps.contacts.complementarity import reflected
from hpcchain.steps.engine import SteppedEngine
from tests.support.heaps import G, heap, on_floor
from tests.support.stepped import config_of, require_equal, run_on, system_of
from tests.unit.steps.friction.test_contact_dynamics import energy

OWN = [
    {"types": ["A", "B"], "restitution": 0.5},
    {"types": ["B", "B"], "restitution": 0.25},
    {"types": ["A", "y-"], "restitution": 0.0},
]
WALL = [{"side": "y+", "restitution": 0.8}]


def shots(integrator, **contact):
    """Return the input of beads that fly at one another and at walls, one pair of types in each row."""
    rows = [
        ("A", [2.0, 6.0, 2.0], [1.0, 0.0, 0.0]),
        ("A", [3.2, 6.0, 2.0], [-1.0, 0.0, 0.0]),
        ("A", [2.0, 6.0, 4.0], [1.0, 0.0, 0.0]),
        ("A", [2.0, 0.6, 8.0], [0.0, -1.0, 0.0]),
        ("A", [2.0, 11.4, 8.0], [0.0, 1.0, 0.0]),
        ("B", [3.2, 6.0, 4.0], [-1.0, 0.0, 0.0]),
        ("B", [2.0, 6.0, 6.0], [1.0, 0.0, 0.0]),
        ("B", [3.2, 6.0, 6.0], [-1.0, 0.0, 0.0]),
        ("B", [6.0, 0.6, 8.0], [0.0, -1.0, 0.0]),
    ]
    kinds = []
    for name in "AB":
        mine = [row for row in rows if row[0] == name]
        places, speeds = ([row[k] for row in mine] for k in (1, 2))
        kinds.append({"name": name, "kind": "monomer", "count": len(mine), "positions": places, "velocities": speeds})
    return {
        "box": {"size": [12.0] * 3, "boundary": ["periodic", "wall", "periodic"]},
        "molecule": kinds,
        "initial": {"method": "explicit"},
        "contact": {"restitution": 0.9, "pair": OWN} | contact,
        "wall": WALL,
        "run": {"engine": "steps", "end_time": 1.0},
        "steps": {"step": 0.01, "integrator": integrator},
    }


@pytest.mark.parametrize("integrator", ["gvi", "contact"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_each_pair_and_wall_has_its_own_restitution(integrator, ranks):
    velocity = run_on(system_of(shots(integrator)), 0.4, ranks)[1]
    rates = [velocity[1, 0] - velocity[0, 0], velocity[5, 0] - velocity[2, 0], velocity[7, 0] - velocity[6, 0]]
    assert rates == pytest.approx([1.8, 1.0, 0.5], abs=1e-12)
    assert velocity[[3, 4, 8], 1] == pytest.approx([0.0, -0.8, 0.9], abs=1e-12)


def test_reflections_with_own_coefficients_win_no_energy_and_end_all_approach():
    """Also where one coefficient for each projected impulse, (1 + e) p, would win some."""
    rng = np.random.default_rng(7)
    for contacts, unknowns in ((1, 3), (2, 4), (6, 5), (15, 12), (20, 12)):
        for _ in range(20):
            jacobian, velocity = rng.normal(size=(contacts, unknowns)), rng.normal(size=unknowns)
            e = rng.choice([0.0, 0.5, 1.0], size=contacts)
            e[0] = 0.0  # some loss: else contacts on too few unknowns may go on for very long
            impulse, rates = reflected(jacobian @ jacobian.T, jacobian @ velocity, e)
            after = velocity + jacobian.T @ impulse
            assert after @ after <= velocity @ velocity * (1.0 + 1e-12)
            assert rates.min() > -1e-12 * np.abs(jacobian @ velocity).max()
            assert impulse.min() >= 0.0
            if contacts == 1 and jacobian @ velocity < 0.0:
                assert rates == pytest.approx(-e * (jacobian @ velocity), abs=1e-12)


@pytest.mark.parametrize("e", [0.0, 0.3, 0.9])
def test_reflections_with_loss_end(e):
    """More contacts than unknowns, which hand ever less on to one another."""
    rng = np.random.default_rng(11)
    for _ in range(20):
        jacobian, velocity = rng.normal(size=(6, 5)), rng.normal(size=5)
        impulse, rates = reflected(jacobian @ jacobian.T, jacobian @ velocity, e)
        after = velocity + jacobian.T @ impulse
        assert after @ after <= velocity @ velocity * (1.0 + 1e-12)
        assert rates.min() > -1e-12 * np.abs(jacobian @ velocity).max()
        assert np.abs(jacobian @ after - rates).max() < 1e-10


def test_equal_coefficients_of_contacts_are_one_coefficient():
    rng = np.random.default_rng(8)
    jacobian, velocity = rng.normal(size=(9, 8)), rng.normal(size=8)
    one = reflected(jacobian @ jacobian.T, jacobian @ velocity, 0.7)[1]
    each = reflected(jacobian @ jacobian.T, jacobian @ velocity, np.full(9, 0.7))[1]
    assert np.abs(one - each).max() < 1e-11


MIXED = {
    "restitution": 0.9,
    "friction": 0.2,
    "pair": [
        {"types": ["monomer", "monomer"], "restitution": 0.0, "friction": 1.0},
        {"types": ["monomer", "dimer"], "restitution": 1.0, "friction": 0.0},
        {"types": ["monomer", "z-"], "restitution": 0.3, "friction": 0.7},
        {"types": ["dimer", "y-"], "friction": 0.0},
    ],
}


@pytest.mark.parametrize("solver", ["newton", "gauss-seidel"])
def test_impacts_with_own_coefficients_win_no_energy(solver):
    """A dense heap of single beads, half of them bouncing, half not: energy never grows."""
    tables = heap(4, 30, 1.6, ("monomer",), hot=4.0, contact=MIXED | {"pair": []}, steps={"solver": solver})
    kind = tables["molecule"][0]
    half = len(kind["positions"]) // 2
    tables["molecule"] = [
        kind | {"name": "A", "count": half, "positions": kind["positions"][:half]},
        kind | {"name": "B", "count": 30 - half, "positions": kind["positions"][half:]},
    ]
    tables["contact"]["pair"] = [
        {"types": ["A", "B"], "restitution": 0.0, "friction": 0.9},
        {"types": ["B", "B"], "restitution": 1.0, "friction": 0.0},
        {"types": ["A", "z-"], "restitution": 1.0},
    ]
    system = system_of(tables)
    engine = SteppedEngine(system)
    found = [energy(engine, system)]
    for k in range(1, 121):
        engine.advance(round(0.01 * k, 2))
        found.append(energy(engine, system))
    assert np.diff(found).max() <= 1e-10 * found[0]
    assert engine.counters["contacts"] > 40


def test_a_blow_that_would_win_energy_takes_the_least_coefficient():
    """A ball between two: the first strikes it, e = 1; what it passes on has e = 0 (and 1, 0 the other way round)."""
    seen = 0
    for first, second in ((1.0, 0.0), (0.0, 1.0)):
        for angle in np.linspace(0.0, 1.4, 8):
            places = [[19.0, 20.0, 20.0], [20.0, 20.0, 20.0], [20.0 + np.cos(angle), 20.0 + np.sin(angle), 20.0]]
            speeds = [[1.0, 0.3, 0.0], [0.0, 0.0, 0.0], [-0.4, 0.0, 0.0]]
            tables = on_floor(places, speeds, gravity=(0, 0, 0), contact={"friction": 0.4})
            kind = tables["molecule"][0]
            tables["molecule"] = [
                kind | {"name": name, "count": 1, "positions": [place], "velocities": [speed]}
                for name, place, speed in zip("ABC", places, speeds, strict=True)
            ]
            tables["contact"]["pair"] = [
                {"types": ["A", "B"], "restitution": first},
                {"types": ["B", "C"], "restitution": second},
            ]
            system = system_of(tables)
            engine = SteppedEngine(system)
            before = energy(engine, system)
            engine.advance(0.01)
            assert energy(engine, system) <= before * (1.0 + 1e-11)
            seen += engine.counters["contacts"]
    assert seen >= 16


def test_each_pair_and_wall_has_its_own_friction():
    """Beads of two types slide on a floor; two slide on one another's tops nowhere: only walls rub."""
    tables = on_floor([[10.0, 20.0, 0.5]], [[1.0, 0.0, 0.0]], contact={"friction": 0.2})
    kind = tables["molecule"][0]
    tables["molecule"] = [kind, kind | {"name": "B", "positions": [[20.0, 20.0, 0.5]]}]
    tables["molecule"].append(kind | {"name": "C", "positions": [[30.0, 20.0, 0.5]]})
    tables["contact"]["pair"] = [{"types": ["B", "z-"], "friction": 0.1}, {"types": ["C", "z-"], "friction": 0.0}]
    velocity = run_on(system_of(tables), 0.1, 1)[1]
    assert velocity[:, 0] == pytest.approx([1.0 - 0.2 * G * 0.1, 1.0 - 0.1 * G * 0.1, 1.0], abs=1e-12)


@pytest.mark.parametrize("solver, count, end", [("newton", 4, 0.6), ("gauss-seidel", 6, 0.9)])
def test_ranks_and_restarts_leave_no_trace_of_contact_dynamics(solver, count, end):
    tables = heap(2, count, 2.4, ("monomer", "dimer"), hot=9.0, contact=MIXED, steps={"solver": solver})
    system = system_of(tables)
    engine = SteppedEngine(system)
    engine.advance(end)
    assert engine.counters["contacts"] + engine.counters["wall_contacts"] > 5
    once = run_on(system, end, 1)
    require_equal(once, run_on(system, end, 3))
    middle = replace(system, state=run_on(system, 0.4, 2)[4])
    require_equal(once, run_on(middle, end, 2))


def test_reflections_lose_the_energy_of_their_pairs():
    """An inelastic floor under elastic beads: energy falls, and only there."""
    tables = shots("gvi", restitution=1.0, pair=[{"types": ["A", "y-"], "restitution": 0.5}]) | {"wall": []}
    system = system_of(tables)
    engine = SteppedEngine(system)
    engine.advance(0.4)
    lost = np.sum(system.state.velocity**2) - np.sum(engine.beads.own.velocity**2)
    assert lost == pytest.approx(0.75, abs=1e-12)


PAIR = {"types": ["A", "B"], "restitution": 0.5}


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"steps": {"step": 0.01, "integrator": "dsi"}, "contact": {"pair": [PAIR]}, "wall": []},
            r'contact.pair\[0\]: means nothing for steps.integrator "dsi"',
        ),
        ({"steps": {"step": 0.01, "integrator": "dsi"}, "contact": {}}, r"wall\[0\].restitution: means nothing for"),
        (
            {"steps": {"step": 0.01, "integrator": "dsi"}, "contact": {"restitution": 0.5}, "wall": []},
            r'contact.restitution: means nothing for steps.integrator "dsi"',
        ),
        ({"contact": {"pair": [{"types": ["A", "B"]}]}}, "gives no coefficient; give restitution or friction"),
        ({"contact": {"pair": [{"types": ["A", "B"], "restitution": 1.1}]}}, "restitution: 1.1 is out of range"),
        ({"contact": {"pair": [{"types": ["A", "X"], "restitution": 1.0}]}}, "'X' is no type of beads"),
        ({"contact": {"pair": [{"types": ["A", "z-"], "restitution": 1.0}]}}, "there is no wall 'z-'"),
        ({"wall": [*WALL, *WALL]}, r'wall\[1\].side: "y\+" is wall\[0\] already'),
        ({"wall": [{"side": "y-", "temperature": 2.0}]}, r'wall\[0\].temperature: run.engine "steps" has no walls'),
        ({"molecule": "rod"}, "beads of a rod do not spin"),
    ],
)
def test_bad_input_says_what_to_change(change, message):
    tables = shots("gvi") | {name: value for name, value in change.items() if name != "molecule"}
    if "molecule" in change:
        tables["steps"]["integrator"] = "contact"
        tables["contact"]["pair"] = [{"types": ["A", "A"], "friction": 0.1}]
        rods = {"kind": "rod", "beads": 3, "count": 1, "positions": [[k + 1.0, 4.0, 4.0] for k in range(3)]}
        tables["molecule"] = [tables["molecule"][0], rods]
    if "molecule" not in change and change.get("steps") and "contact" not in change:
        tables["wall"] = []
    with pytest.raises(ConfigError, match=message):
        config_of(tables)
