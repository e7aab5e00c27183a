"""Uniform gravity: closed forms, motion in the falling frame, the way back, and the barometric profile."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.config.load import config_from_table
from hpcchain.model.physics.constants import ExtendedPhysics
from hpcchain.model.starts.start import build_system, physics_with
from hpcchain.model.system import State
from hpcchain.run.starts.growth import grown_system
from hpcchain.sector.serial import Engine
from tests.support.whole import frame_of, state_of

PULL = [0.3, -0.2, -1.0]
EVERY_KIND = [
    {"kind": "monomer", "count": 8},
    {"kind": "chain", "beads": 4, "count": 4, "mass": [1.0, 2.0, 0.5, 1.0]},
    {"kind": "chain", "beads": 2, "count": 3},
    {"kind": "rod", "beads": 3, "count": 2},
    {"kind": "ring", "beads": 4, "count": 2},
]


def config_of(molecule, boundary="periodic", size=7.0, **sections):
    """Return the Config of molecules in a cube."""
    box = {"size": [size] * 3, "boundary": [boundary] * 3}
    return config_from_table({"box": box, "molecule": molecule, "run": {"end_time": 1.0}} | sections, "input")


def falling(system, gravity):
    """Return a System with gravity."""
    return replace(system, physics=replace(system.physics, extended=ExtendedPhysics(gravity=tuple(gravity))))


def energy_of(system, frame, gravity):
    """Return kinetic and potential energy of a frame together."""
    position, velocity, image = frame
    mass = system.topology.whole().mass
    place = position + image * system.box.size
    return float(0.5 * mass @ np.sum(velocity**2, axis=1) - mass @ place @ np.array(gravity))


def test_a_bouncing_ball_keeps_its_time():
    """Dropped from a height h its contacts are at (2 k + 1) (2 h / g)^1/2."""
    ball = {"kind": "monomer", "positions": [[5.0, 5.0, 3.0]], "velocities": [[0.0, 0.1, 0.0]]}
    config = config_of([ball], "wall", 10.0, initial={"method": "explicit"}, external={"gravity": [0.0, 0.0, -2.0]})
    engine = Engine(build_system(config), log_events=True)
    engine.advance(100.0)
    events = engine.drain_events()
    times = events["time"][events["bead"][:, 1] == -3]
    exact = np.sqrt(2.0 * 2.5 / 2.0) * (2.0 * np.arange(len(times)) + 1.0)
    assert len(times) == 32 and np.max(np.abs(times - exact)) < 1e-12
    assert np.max(np.abs(events["impulse"][events["bead"][:, 1] == -3] - 2.0 * np.sqrt(2.0 * 2.0 * 2.5))) < 1e-12


def test_a_ball_that_loses_energy_bounces_by_the_closed_form():
    """Its flights shrink by e each time; the second contact is at (2 h / g)^1/2 (1 + 2 e)."""
    ball = {"kind": "monomer", "positions": [[5.0, 5.0, 3.0]], "velocities": [[0.0, 0.0, 0.0]]}
    more = {"initial": {"method": "explicit"}, "external": {"gravity": [0.0, 0.0, -1.0]}}
    engine = Engine(build_system(config_of([ball], "wall", 10.0, contact={"restitution": 0.6}, **more)), True)
    engine.advance(8.0)
    times = engine.drain_events()["time"]
    flights = 2.0 * np.sqrt(5.0) * 0.6 ** np.arange(1, len(times))
    assert len(times) == 4 and np.max(np.abs(np.diff(times) - flights)) < 1e-12


def test_all_that_falls_keeps_its_relative_motion():
    """With gravity every contact is as without, and all is displaced by g t^2 / 2: beads, rods, chains, rings."""
    still = grown_system(config_of(EVERY_KIND, initial={"seed": 3}))
    engines = Engine(still, log_events=True), Engine(falling(still, PULL), log_events=True)
    for time in (0.5, 1.0, 2.0):
        for engine in engines:
            engine.advance(time)
        (x, v, image), (y, w, other) = (frame_of(engine, time) for engine in engines)
        moved = (y + other * still.box.size) - (x + image * still.box.size)
        assert np.max(np.abs(moved - 0.5 * np.array(PULL) * time**2)) < 1e-12
        assert np.max(np.abs(w - v - np.array(PULL) * time)) < 1e-12
        one, same = (engine.drain_events() for engine in engines)
        assert len(one) > 3 and np.array_equal(one["bead"], same["bead"])
        assert np.max(np.abs(one["time"] - same["time"])) < 1e-12


def test_energy_is_kept_and_the_way_leads_back():
    """Between walls kinetic and potential energy are kept together; with velocities turned round all goes back."""
    system = falling(grown_system(config_of(EVERY_KIND, "wall", 8.0, initial={"seed": 5})), PULL)
    engine = Engine(system)
    engine.advance(1.5)
    frame = frame_of(engine, 1.5)
    begin = energy_of(system, (system.state.position, system.state.velocity, system.state.image), PULL)
    assert engine.counters["wall_contacts"] > 10 and engine.counters["contacts"] > 5
    assert abs(energy_of(system, frame, PULL) - begin) < 1e-11
    turned = Engine(replace(system, state=State.at_time_zero(frame[0], -frame[1])))
    turned.advance(1.5)
    back = frame_of(turned, 1.5)
    assert np.max(np.abs(back[0] - system.state.position)) < 1e-7
    assert np.max(np.abs(back[1] + system.state.velocity)) < 1e-7


def test_a_start_without_gravity_may_be_used():
    """Constants of a run with gravity differ from those without in that alone."""
    config = config_of([{"kind": "monomer", "count": 3}], external={"gravity": PULL})
    assert physics_with(config, 0.5).extended == ExtendedPhysics(gravity=tuple(PULL))
    assert state_of(Engine(grown_system(config))).position.shape == (3, 3)


def barometric(scale, height, virial, per_area, levels):
    """Return the share of hard spheres above some levels, at equilibrium below a wall at a height.

    Up to the second virial coefficient the pressure is T (rho + B rho^2), so that ln rho + 2 B rho falls by z / scale.
    """
    z = np.linspace(0.0, height, 4001)
    middle = 0.5 * (z[1:] + z[:-1])
    low, high = -30.0, 30.0
    for _ in range(80):
        chemical = 0.5 * (low + high)
        density = np.exp(np.minimum(chemical - middle / scale, 0.0))
        for _ in range(60):
            density -= (np.log(density) + 2.0 * virial * density + middle / scale - chemical) / (
                1.0 / density + 2.0 * virial
            )
        low, high = (low, chemical) if density.sum() * z[1] > per_area else (chemical, high)
    return np.array([density[middle > level].sum() for level in levels]) / density.sum()


@pytest.mark.long
def test_a_dilute_gas_settles_to_the_barometric_profile():
    """The share of beads above a height is that of hard spheres at equilibrium, T being the gas's own.

    Differences are compared with the standard error of ten stretches' means.
    """
    count, diameter = 300, 0.2
    beads = {"kind": "monomer", "count": count, "diameter": diameter}
    box = {"size": [6.0, 6.0, 40.0], "boundary": ["periodic", "periodic", "wall"]}
    table = {"box": box, "molecule": [beads], "initial": {"seed": 2}, "external": {"gravity": [0.0, 0.0, -1.0]}}
    engine = Engine(grown_system(config_from_table(table | {"run": {"end_time": 1.0}}, "input")))
    heights, temperature = [], []
    for time in range(400, 4400, 10):
        engine.advance(float(time))
        position, velocity, _ = frame_of(engine, float(time))
        heights.append(position[:, 2] - 0.5 * diameter)
        temperature.append(np.mean(velocity**2))
    scale = float(np.mean(temperature))
    levels = scale * np.array([0.5, 1.0, 2.0, 3.0])
    shares = np.mean(np.array(heights)[:, :, None] > levels, axis=1)
    expected = barometric(scale, 40.0 - diameter, 2.0 * np.pi / 3.0 * diameter**3, count / 36.0, levels)
    error = np.std(shares.reshape(10, -1, len(levels)).mean(axis=1), axis=0, ddof=1) / np.sqrt(10.0)
    assert np.all(error < 0.03 * expected)
    assert np.all(np.abs(shares.mean(axis=0) - expected) < 4.0 * error), (shares.mean(axis=0), expected, error)
