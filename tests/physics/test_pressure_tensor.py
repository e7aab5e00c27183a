"""The virial's tensor and the flow of energy: both theorems in open space, rough contacts, ranks, and the pressure."""

import numpy as np
import pytest

from hpcchain import read
from hpcchain.layout import arrays as L
from hpcchain.model.system import OPEN, PERIODIC
from hpcchain.sector.serial import Engine
from tests.physics.test_rough import touching
from tests.support.extended import step_potentials
from tests.support.gases import MIXTURE, gas
from tests.support.identity import parallel, require_same, serial
from tests.support.run_folders import run_here, write_input
from tests.support.whole import frame_of

PARTS = ((1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
COMPONENTS = ((0, 0), *PARTS)


def tensor_of(engine):
    """Return (3, 3) the tensor of an engine's virial so far [mass length^2 / time]."""
    found = np.zeros((3, 3))
    for (a, b), quanta in zip(PARTS, engine.sums[L.SUM_TENSOR : L.SUM_TENSOR + L.FLOW], strict=True):
        found[a, b] = found[b, a] = quanta * engine.quantum
    found[0, 0] = engine.sums[L.SUM_VIRIAL] * engine.quantum - found[1, 1] - found[2, 2]
    return found


def centres(system, rows):
    """Return (M, 3) the means over each molecule's mass of rows of all beads, and the molecules' masses."""
    topology = system.topology.whole()
    mass = np.add.reduceat(topology.mass, topology.first_bead[:-1])
    return np.add.reduceat(topology.mass[:, None] * rows, topology.first_bead[:-1]) / mass[:, None], mass


def moment(system, engine, time):
    """Return (3, 3) the sum of M X V of the molecules' centres of mass at a time, symmetric, and that of M V V."""
    position, velocity, image = frame_of(engine, time)
    x, mass = centres(system, position + image * system.box.size)
    v, _ = centres(system, velocity)
    product = np.einsum("m,ma,mb->ab", mass, x, v)
    return 0.5 * (product + product.T), np.einsum("m,ma,mb->ab", mass, v, v)


def flow_of(engine):
    """Return (3,) the energy that contacts have carried from molecule to molecule, times the way, so far."""
    unit = L.FLOW_SCALE * engine.quantum * engine.energy_quantum / engine.impulse_quantum
    return unit * np.array(engine.sums[L.SUM_TENSOR + L.FLOW : L.SUM_WALL_IMPULSE])


def energy_moment(system, engine, time):
    """Return (3,) the sums over molecules of E X and of E V at a time, E their kinetic energy."""
    position, velocity, image = frame_of(engine, time)
    topology = system.topology.whole()
    energy = np.add.reduceat(0.5 * topology.mass * np.sum(velocity**2, axis=1), topology.first_bead[:-1])
    x, v = (centres(system, rows)[0] for rows in (position + image * system.box.size, velocity))
    return energy @ x, energy @ v


def falling_together(seed, wells):
    """Return a System in open space whose molecules fly towards its middle."""
    system = gas(MIXTURE * 4, seed, 3.6, boundary=(OPEN,) * 3)
    x, _ = centres(system, system.state.position)
    sizes = np.diff(system.topology.whole().first_bead)
    system.state.velocity[:] = 0.4 * system.state.velocity - 0.6 * np.repeat(x, sizes, axis=0)
    return step_potentials(np.random.default_rng(seed), system) if wells else system


@pytest.mark.parametrize("wells", [False, True])
def test_the_virial_theorem_holds_part_by_part(wells):
    """The sum of M X V changes by the integral of M V V and by the virial: velocities of centres jump, no more."""
    system, end = falling_together(3, wells), 4.0
    time = np.concatenate([[0.0], np.sort(serial(system, end).events["time"]), [end]])
    assert len(time) > 40
    engine = Engine(system)
    begin, inner = moment(system, engine, 0.0)[0], np.zeros((3, 3))
    for low, high in zip(time[:-1], time[1:], strict=True):
        middle = 0.5 * (low + high)
        engine.advance(middle)
        inner += moment(system, engine, middle)[1] * (high - low)
    engine.advance(end)
    found = moment(system, engine, end)[0] - begin - inner
    assert np.abs(found).min() > 0.01
    assert tensor_of(engine) == pytest.approx(found, abs=1e-7)


def test_the_flow_of_energy_is_that_of_its_moment():
    """The sum of E X changes by the integral of E V and by what contacts carry: energies jump, places do not."""
    system, end = falling_together(3, False), 4.0
    time = np.concatenate([[0.0], np.sort(serial(system, end).events["time"]), [end]])
    engine = Engine(system)
    begin, inner = energy_moment(system, engine, 0.0)[0], np.zeros(3)
    for low, high in zip(time[:-1], time[1:], strict=True):
        middle = 0.5 * (low + high)
        engine.advance(middle)
        inner += energy_moment(system, engine, middle)[1] * (high - low)
    engine.advance(end)
    found = energy_moment(system, engine, end)[0] - begin - inner
    assert np.abs(found).min() > 0.01
    assert flow_of(engine) == pytest.approx(found, rel=3e-9, abs=1e-7)


@pytest.mark.parametrize("names", [("monomer", "monomer"), ("chain", "star"), ("monomer", "ring")])
def test_the_tensor_of_a_rough_contact(tmp_path, names):
    """Half of J l + l J, of the impulse with its tangential part, and the vector between the centres of mass."""
    system, _, _ = touching(tmp_path, names, 0.8, -0.4, np.random.default_rng(8))
    engine = Engine(system, log_events=True)
    x, mass = centres(system, system.state.position)
    before, _ = centres(system, system.state.velocity)
    engine.advance(1e-12)
    after, _ = centres(system, frame_of(engine, 1e-12)[1])
    assert len(engine.drain_events()) == 1
    expected = np.outer(mass[0] * (after - before)[0], x[0] - x[1])
    assert tensor_of(engine) == pytest.approx(0.5 * (expected + expected.T), abs=1e-8)


@pytest.mark.parametrize("ranks", [2, 3])
def test_the_tensor_is_the_same_on_any_ranks(ranks):
    system = gas(MIXTURE * 4, 5, 3.0, boundary=(PERIODIC,) * 3)
    one = serial(system, 3.0)
    assert all(one.sums[1 : 1 + L.TENSOR_COMPONENTS])
    require_same(one, parallel(system, 3.0, ranks, times=(0.7, 2.0)), f"{ranks} ranks")


def test_its_trace_is_the_pressure(tmp_path):
    """A third of the trace and N kT / V, in every report; in equal boxes the axes are alike in the mean."""
    tables = {
        "box": {"size": [7.0] * 3},
        "molecule": [{"kind": "chain", "beads": 4, "count": 40}, {"name": "single", "kind": "monomer", "count": 40}],
        "run": {"end_time": 6.0},
        "output": {"report_every": 0.5, "frame_every": 0.5},
    }
    run = read(run_here(write_input(tmp_path / "in.toml", tables), tmp_path / "out"))
    found, frames = run.observables, run.trajectory
    pressure, tensor = found["pressure"], found["collisional_pressure"]
    kinetic = 80 * found["temperature"] / 7.0**3
    assert np.isnan(tensor[0]).all() and tensor.shape == (13, 3, 3)
    assert np.array_equal(tensor[1:], tensor[1:].transpose(0, 2, 1))
    assert kinetic[1:] + np.trace(tensor[1:], axis1=1, axis2=2) / 3 == pytest.approx(pressure[1:], rel=1e-13)
    first = np.flatnonzero(np.diff(frames.molecule, prepend=-1))
    mass = np.add.reduceat(frames.mass, first)
    carried = np.add.reduceat(frames.mass[:, None] * frames.velocity, first, axis=1)
    squares = np.einsum("fma,fmb->fab", carried, carried / mass[:, None]) / 7.0**3
    assert found["kinetic_pressure"] == pytest.approx(squares, rel=1e-12, abs=1e-15)
    mean = tensor[1:].mean(axis=0)
    assert np.diag(mean) == pytest.approx(np.trace(mean) / 3, rel=0.2)
    assert np.abs(mean - np.diag(np.diag(mean))).max() < 0.15 * np.trace(mean)
