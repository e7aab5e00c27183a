"""Molecules that hang on fixed beads in a field: pendulums against closed forms, others against a plain integrator."""

import numpy as np
import pytest

from tests.physics.test_moving_walls import energy, run
from tests.support import twins
from tests.support.whole import frame_of

PULL = np.array([0.4, -0.3, -1.0])
OPEN = {"size": [40.0] * 3, "boundary": ["open"] * 3, "origin": [-20.0] * 3}
HANGING = {
    "dimer": {"kind": "chain", "beads": 2, "fixed": [1]},
    "chain": {"kind": "chain", "beads": 5, "fixed": [0], "mass": [1.0, 2.0, 0.5, 1.0, 3.0]},
    "held twice": {"kind": "chain", "beads": 6, "fixed": [1, 4]},
    "ring": {"kind": "ring", "beads": 5, "fixed": [2], "mass": [1.0, 0.7, 1.0, 2.0, 1.0]},
    "star": {"kind": "star", "arms": 3, "arm_beads": 2, "fixed": [3]},
    "tetrahedron": {
        "kind": "graph",
        "beads": 4,
        "bonds": [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]],
        "fixed": [0],
    },
}
SHAPES = {
    "dimer": [[0.0, 0.6, 0.8], [0.0, 0.0, 0.0]],
    "chain": [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.6, 0.8, 0.0], [1.6, 1.4, 0.8], [2.4, 1.4, 0.2]],
    "held twice": [[0, 0, 0], [1, 0, 0], [1.6, 0.8, 0], [1.6, 1.6, 0.6], [2.4, 1.0, 0.6], [2.4, 0.0, 0.6]],
    "ring": [[np.cos(a), np.sin(a), 0.0] for a in 2.0 * np.pi * np.arange(5) / 5],
    "star": [[0, 0, 0], *[[x * r, y * r, 0.3 * r] for x, y in ((1, 0), (-0.5, 0.8), (-0.5, -0.8)) for r in (1, 2)]],
    "tetrahedron": [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]],
}


def hanging(name, **keys):
    """Return the [[molecule]] table of one molecule by name, where it is in `SHAPES`, its bonds as long as they are."""
    table, places = HANGING[name], np.array(SHAPES[name], dtype=float)
    bonds = bonds_of(name)
    lengths = np.linalg.norm(places[bonds[:, 1]] - places[bonds[:, 0]], axis=1)
    return table | {"positions": places.tolist(), "bond_length": lengths.tolist(), "diameter": 0.1} | keys


def bonds_of(name):
    """Return the bonds of a molecule by name."""
    table = HANGING[name]
    if "bonds" in table:
        return np.array(table["bonds"])
    if table["kind"] == "star":
        return np.array([[0, 1], [1, 2], [0, 3], [3, 4], [0, 5], [5, 6]])
    chain = [[k, k + 1] for k in range(table["beads"] - 1)]
    return np.array(chain + ([[0, table["beads"] - 1]] if table["kind"] == "ring" else []))


def swung(name, position, velocity, mass, end):
    """Return position and velocity of a molecule after a time, by a general integrator of its equations of motion."""
    bonds = bonds_of(name)
    fall = np.where(np.isinf(mass)[:, None], 0.0, PULL)
    n = len(mass)

    def rate(state):
        x, v = state[: 3 * n].reshape(n, 3), state[3 * n :].reshape(n, 3)
        g = twins.gradient(bonds, x)
        right = -(g @ fall.ravel() + twins.gradient(bonds, v) @ v.ravel())
        tension = np.linalg.lstsq(twins.tension_matrix(bonds, x, mass), right, rcond=1e-11)[0]
        return np.concatenate([v.ravel(), (fall + (g.T @ tension).reshape(n, 3) / mass[:, None]).ravel()])

    found, steps = np.concatenate([position.ravel(), velocity.ravel()]), 2000
    h = end / steps
    for _ in range(steps):  # Runge and Kutta's of order 4
        a = rate(found)
        b = rate(found + 0.5 * h * a)
        c = rate(found + 0.5 * h * b)
        found = found + h / 6.0 * (a + 2.0 * b + 2.0 * c + rate(found + h * c))
    return found[: 3 * n].reshape(n, 3), found[3 * n :].reshape(n, 3)


def test_a_pendulum_comes_back_after_its_period():
    """From rest at an angle a it takes 4 (l / g)^1/2 K(sin a / 2), the complete elliptic integral by means (Gauss)."""
    angle, length, g = 2.0, 1.3, 0.7
    place = [[0.0, 0.0, 0.0], [length * np.sin(angle), 0.0, -length * np.cos(angle)]]
    bob = {"kind": "chain", "beads": 2, "fixed": [0], "bond_length": length, "diameter": 0.1}
    bob |= {"positions": np.array(place).tolist(), "velocities": [[0.0] * 3] * 2}
    a, b = 1.0, np.cos(0.5 * angle)
    for _ in range(8):
        a, b = 0.5 * (a + b), np.sqrt(a * b)
    period = float(2.0 * np.pi * np.sqrt(length / g) / a)
    engine, _ = run(period, box=OPEN, molecule=[bob], external={"gravity": [0.0, 0.0, -g]})
    position, velocity, _ = frame_of(engine, period)
    assert np.max(np.abs(position - place)) < 1e-11 and np.max(np.abs(velocity)) < 1e-11
    assert np.array_equal(position[0], place[0])


@pytest.mark.parametrize("name", HANGING)
def test_what_hangs_moves_as_its_equations_say(name):
    """Against an integrator of order 4 for everything that may hang, of unequal masses, in an oblique field."""
    config = {"box": OPEN, "external": {"gravity": PULL.tolist()}, "initial": {"method": "explicit", "seed": 3}}
    engine, events = run(1.5, molecule=[hanging(name, self_contact=False)], **config)
    topology, state = engine.system.topology.whole(), engine.system.state
    mass = np.where(topology.fixed, np.inf, topology.mass)
    x, v = swung(name, state.position, state.velocity, mass, 1.5)
    position, velocity, _ = frame_of(engine, 1.5)
    assert len(events) == 0
    assert np.max(np.abs(position - x)) < 1e-9 and np.max(np.abs(velocity - v)) < 1e-9
    assert np.array_equal(position[topology.fixed], state.position[topology.fixed])
    begin = energy(engine, (state.position, state.velocity), PULL)
    assert energy(engine, frame_of(engine, 1.5), PULL) == pytest.approx(begin, abs=1e-12)


def test_what_starts_at_rest_begins_to_move():
    """No velocity sets the scale of errors then: the field does."""
    still = hanging("chain", self_contact=False, velocities=[[0.0] * 3] * 5)
    engine, _ = run(2.0, box=OPEN, molecule=[still], external={"gravity": PULL.tolist()})
    state = engine.system.state
    mass = np.where(engine.system.topology.whole().fixed, np.inf, engine.system.topology.whole().mass)
    x, _ = swung("chain", state.position, state.velocity, mass, 2.0)
    position = frame_of(engine, 2.0)[0]
    assert np.max(np.abs(position - state.position)) > 0.5 and np.max(np.abs(position - x)) < 1e-9


def test_a_brush_in_a_field_keeps_its_energy():
    """Grafted chains with stiffness and wells, free beads, walls: kinetic energy, heights and wells together."""
    graft = {
        "name": "graft",
        "kind": "chain",
        "beads": 5,
        "count": 2,
        "fixed": [0],
        "positions": [[x, x, 0.5 + z] for x in (4.0, 5.5) for z in range(5)],
        "distance_limits": [{"separation": 2, "least": 1.5, "most": 2.0 + 1e-6}],
    }
    places = [[4.0, 5.5, 1.5], [8.0, 8.0, 8.0], [5.5, 4.0, 7.0]]
    free = {"name": "free", "kind": "monomer", "count": 3, "positions": places}
    well = {"name": "steps", "distances": [1.3], "energies": [-0.5]}
    pull = [0.1, 0.0, -0.6]
    engine, events = run(10.0, molecule=[graft, free], external={"gravity": pull}, potential=[well])
    state, fixed = engine.system.state, engine.system.topology.whole().fixed
    assert {0, 1, 2, 3, 5} <= set(events["kind"].tolist())
    begin, _ = run(1e-9, molecule=[graft, free], external={"gravity": pull}, potential=[well])
    first = energy_with_wells(begin, 1e-9, pull)
    assert energy_with_wells(engine, 10.0, pull) == pytest.approx(first, abs=1e-11)
    assert np.array_equal(frame_of(engine, 10.0)[0][fixed], state.position[fixed])


def energy_with_wells(engine, time, gravity):
    """Return the energy of what is not fixed in a field, and of the wells."""
    return energy_of_free(engine, frame_of(engine, time), gravity) + float(np.sum(engine.energies()[:, 0]))


def energy_of_free(engine, frame, gravity):
    """Return kinetic energy and that of heights of what is not fixed."""
    topology = engine.system.topology.whole()
    mass = np.where(topology.fixed, 0.0, topology.mass)
    return float(0.5 * mass @ np.sum(frame[1] ** 2, axis=1) - mass @ frame[0] @ np.array(gravity))
