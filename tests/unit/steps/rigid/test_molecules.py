"""Rigid bonds and rods in steps: kept to round-off, of order two, the same bits on any ranks and across restarts."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.errors import EngineError
from hpcchain.model.molecules.rod_matrices import Line
from hpcchain.papers.line_verlet import damped_exactly
from hpcchain.steps.engine import SteppedEngine
from tests.support.stepped import require_equal, rigid, run_on, stepping, system_of, total

HEAT = {"thermostat": {"name": "langevin", "temperature": 1.3, "damping": 2.0}}


def stretched(system, parts):
    """Return the greatest relative error of bonds, and of rods' distances of any two beads."""
    topology = system.topology.whole()
    apart = parts[0][topology.bonds[:, 1]] - parts[0][topology.bonds[:, 0]]
    error = np.abs(np.sqrt(np.sum(apart**2, axis=1)) / topology.bond_length - 1.0).max()
    for m in np.flatnonzero(topology.rod):
        first, last = topology.first_bead[m], topology.first_bead[m + 1] - 1
        length = topology.bond_length[topology.first_bond[m] : topology.first_bond[m + 1]].sum()
        error = max(error, abs(np.linalg.norm(parts[0][last] - parts[0][first]) / length - 1.0))
    return error


@pytest.mark.parametrize("seed, ranks, sections", [(1, 2, {}), (2, 3, HEAT)])
def test_ranks_leave_no_trace(seed, ranks, sections):
    system = system_of(rigid(seed, **sections))
    require_equal(run_on(system, 0.5, 1), run_on(system, 0.5, ranks))


def test_restarts_leave_no_trace():
    andersen = {"thermostat": {"name": "andersen", "temperature": 0.8, "rate": 3.0}}
    system = system_of(rigid(3, **andersen))
    once = run_on(system, 0.5, 1)
    for time, ranks in ((0.21, 2), (0.36, 1)):
        system = replace(system, state=run_on(system, time, ranks)[4])
    require_equal(once, run_on(system, 0.5, 3))


def test_bonds_momentum_and_energy_are_kept():
    system = system_of(rigid(4))
    begin, end = run_on(system, 0.0, 1), run_on(system, 20.0, 1)
    assert stretched(system, end) < 1e-14 * 10
    drift = system.topology.whole().mass @ (end[1] - begin[1])
    assert np.abs(drift).max() < 1e-9
    kinetic = 0.5 * system.topology.whole().mass @ np.sum(begin[1] ** 2, axis=1)
    assert abs(total(end, system) - total(begin, system)) < 2e-3 * kinetic


def test_velocities_do_not_stretch_bonds():
    system = system_of(rigid(5, **HEAT))
    parts = run_on(system, 0.2, 1)
    topology = system.topology.whole()
    bond, rate = (rows[topology.bonds[:, 1]] - rows[topology.bonds[:, 0]] for rows in parts[:2])
    assert np.abs(np.sum(bond * rate, axis=1)).max() < 1e-12


def test_order_two():
    system = system_of(rigid(6, count=1))
    exact = run_on(stepping(system, 2.0**-12), 0.5, 1)[0]
    error = [np.abs(run_on(stepping(system, 2.0**-k), 0.5, 1)[0] - exact).max() for k in (6, 7, 8, 9)]
    slope = np.polyfit(range(4), np.log2(error), 1)[0]
    assert -2.2 < slope < -1.8


def test_damped_rods_move_as_the_exact_solution():
    """Tapia-McClung and Grønbech-Jensen 2005: linear damping of a rod, here in a run."""
    tables = rigid(7, count=1, potential=[])
    tables["molecule"] = [kind | {"damping": 0.7} for kind in tables["molecule"] if kind["name"] == "rod"]
    system = system_of(tables)
    mass, start = system.topology.whole().mass, system.state
    line = Line(mass, np.arange(4.0), 0.7 * mass)
    wanted, speed = damped_exactly(line, start.position, start.velocity, 0.7, 1.0)
    errors = []
    for k in (6, 7, 8):
        parts = run_on(stepping(system, 2.0**-k), 1.0, 1)
        place = parts[0] + parts[2] * system.box.size
        errors.append(max(np.abs(place - wanted).max(), np.abs(parts[1] - speed).max()))
    assert errors[2] < 1e-4 and 3.5 < errors[0] / errors[1] < 4.5 and 3.5 < errors[1] / errors[2] < 4.5


@pytest.mark.parametrize(
    "heat",
    [{"name": "langevin", "temperature": 1.3, "damping": 2.0}, {"name": "andersen", "temperature": 1.3, "rate": 5.0}],
)
def test_thermostats_hold_their_temperature(heat):
    """The mean square velocity of every sort of molecule, each with its own degrees of freedom."""
    system = system_of(rigid(8, count=4, thermostat=heat, steps={"step": 0.01}))
    engine, topology = SteppedEngine(system), system.topology.whole()
    twice = []
    for k in range(400):
        engine.advance(round(2.0 + 0.1 * k, 1))
        velocity = engine.frame(engine.time)[1]
        twice.append(np.bincount(topology.kind[topology.molecule_of_bead], topology.mass * np.sum(velocity**2, axis=1)))
    found = np.mean(twice, axis=0) / 4.0
    freedom = np.array([18 - 5, 15 - 5, 21 - 6, 5, 5, 3])
    error = found / (1.3 * freedom) - 1.0
    assert (
        np.abs(error).max() < 6.0 * np.sqrt(2.0 / (4 * 3 * 130)) and abs(found.sum() / (1.3 * freedom.sum()) - 1) < 0.03
    )


def test_a_rod_that_turns_too_far_is_named():
    tables = rigid(9, count=1, potential=[], steps={"step": 0.5}, output={"frame_every": 0.5, "report_every": 0.5})
    system = system_of(tables)
    system.state.velocity[:] *= 15.0  # an input with such a start is refused
    with pytest.raises(EngineError, match="the molecule of bead .* has no next step.*steps.step smaller"):
        SteppedEngine(system).advance(20.0)
