"""Collocation in the engine: published tables, order 2s, what is conserved, exact contacts, restarts, the command."""

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.model.starts.overlap import bead_overlap
from hpcchain.run.starts.growth import grown_system
from hpcchain.sector.serial import Engine
from tests.reference import cases, tables
from tests.reference.contacts import Geometry
from tests.reference.program import run
from tests.reference.systems import Molecule, System, place, thermal
from tests.support.mixtures import random_input, to_toml
from tests.support.solved import instants, invariants, propagator, start, stretched
from tests.support.whole import frame_of, state_of


def test_a_pair_held_within_the_polynomials_error_meets_once(tmp_path):
    """Growth used to find the same graze for ever in this system: bonded to one bead, a pair parts, but hardly."""
    source = tmp_path / "in.toml"
    source.write_text(to_toml(random_input(169) | {"run": {"end_time": 1.0}}))
    system = grown_system(load_config(source))
    assert bead_overlap(system.box, system.topology.whole(), system.state.position) is None


@pytest.mark.parametrize("name", tables.SYSTEMS)
def test_event_table(name, tmp_path):
    """Six stages and a small step: the same contacts, times and impulses as with the exact motion."""
    table = tables.load(name)
    engine = Engine(start(tables.SYSTEMS[name](), tmp_path, **propagator(6, 0.05)), log_events=True)
    count = int(np.sum(table.allowed < 1e-8))
    engine.advance(float(table.time[count - 1]) + 1e-3)
    events = engine.drain_events()
    wanted = [contact for contacts in table.contacts[:count] for contact in contacts]
    assert len(events) == len(wanted) >= 4
    times = np.repeat(table.time[:count], [len(contacts) for contacts in table.contacts[:count]]).astype(float)
    allowed = 1e-11 + 10 * np.repeat(table.allowed[:count], [len(contacts) for contacts in table.contacts[:count]])
    assert np.all(np.abs(events["time"] - times) < allowed)
    found = sorted(
        zip(
            np.searchsorted(instants(events), events["time"] + 1e-7).tolist(),
            events["kind"].tolist(),
            *events["bead"].T.tolist(),
            events["impulse"].tolist(),
            strict=True,
        )
    )
    for (_, *contact, impulse), (name, exact), slack in zip(found, wanted, allowed, strict=True):
        assert tuple(contact) == name
        assert abs(impulse - float(exact)) < 10 * slack


@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("name", ["trimer_44", "thermal_n5_seed7"])
def test_times_of_contacts_are_of_order_2s(name, stages, tmp_path):
    exact = tables.load(name).time[:4].astype(float)
    steps = {2: [0.1, 0.05, 0.025], 3: [0.2, 0.1, 0.05], 4: [0.3, 0.2, 0.12]}[stages]
    errors = []
    for step in steps:
        engine = Engine(start(tables.SYSTEMS[name](), tmp_path, **propagator(stages, step)), log_events=True)
        engine.advance(exact[-1] + 0.01)
        errors.append(np.max(np.abs(instants(engine.drain_events())[:4] - exact)))
    assert min(errors) > 2e-13, "at round-off there is no slope to fit"
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert abs(slope - 2 * stages) < 0.6, errors


@pytest.mark.parametrize("stages", [2, 3, 6])
def test_free_chain_conserves_to_round_off(stages, tmp_path):
    """Over ten thousand segments and hundreds of contacts, whatever the number of stages."""
    system = tables.thermal_chain()
    engine = Engine(start(system, tmp_path, **propagator(stages, 0.05)), log_events=True)
    engine.advance(500.0)
    assert engine.counters["segment_ends"] > 9000 and len(engine.drain_events()) > 400
    before = invariants(system, system.position, system.velocity)
    for position, velocity in (frame_of(engine, 500.0)[:2], (state_of(engine).position, state_of(engine).velocity)):
        after = invariants(system, position, velocity)
        assert abs(after[0] / before[0] - 1) < 2e-13
        assert np.max(np.abs(after[1:] - before[1:])) < 2e-12
        assert stretched(system, position) < 2e-14


@pytest.mark.parametrize("seed", [0, 3, 4, 5, 6])
def test_grazes_are_decided_by_the_solution_not_by_the_polynomial(seed, tmp_path):
    """A wall just within and just out of reach of a tumbling chain: 1e-7, where the polynomial errs by more."""
    random = np.random.default_rng(seed)
    size = (60.0,) * 3
    system = System([Molecule("chain", 4, self_contact=False)], size, ("open",) * 3, (-30.0,) * 3)
    thermal(place(system, random), random)
    end, step = 2.0, 0.3
    engine = Engine(start(system, tmp_path, **propagator(2, step)))

    def farthest(times):
        reach = [np.max(solved(engine, time)[:, 0]) for time in times]
        return np.max(reach), times[np.argmax(reach)]

    _, near = farthest(np.linspace(0.0, end, 400))
    engine = Engine(start(system, tmp_path, **propagator(2, step)))
    reach, event_time = farthest(np.linspace(max(near - 0.01, 0.0), near + 0.01, 801))
    if not 0.05 < event_time < end - 0.05:
        pytest.skip("farthest at the end")
    for offset, contacts in ((-1e-7, 1), (1e-7, 0)):
        size = (reach + 0.5 + offset + 30.0, 60.0, 60.0)
        box = System(
            system.molecules, size, ("wall", "open", "open"), (-30.0,) * 3, 1.0, system.position, system.velocity
        )
        walled = Engine(start(box, tmp_path, **propagator(2, step)), log_events=True)
        walled.advance(event_time + 0.02)
        assert len(walled.drain_events()) == contacts, (offset, event_time)


def solved(engine, time):
    """Return the positions at a time, which grows from call to call."""
    engine.advance(time)
    return frame_of(engine, time)[0]


def test_too_long_a_step_is_halved(tmp_path):
    """Where the stages are not found the segment is shortened: contacts are the same, energy is conserved."""
    system = tables.trimer()
    engine = Engine(start(system, tmp_path, **propagator(8, 8.0)), log_events=True)
    engine.advance(20.0)
    assert engine.counters["segments"] > 5
    assert np.max(np.abs(instants(engine.drain_events())[:4] - tables.load("trimer_44").time[:4].astype(float))) < 1e-4
    after = invariants(system, *frame_of(engine, 20.0)[:2])
    assert abs(after[0] / invariants(system, system.position, system.velocity)[0] - 1) < 1e-13


def test_through_the_command(tmp_path):
    """A box of mixed molecules through `hpcchain run`: energy in the trajectory, no overlap, no missed contact."""
    system = cases.build("everything")
    given = system.input(4.0, frame_every=0.1) | {"propagator": propagator(5, 0.05)}
    result = run(given, tmp_path)
    frames, log = result.frames(system.size), result.events()
    energy = np.sum(system.mass[:, None] * frames.velocity**2, axis=(1, 2)) / 2
    assert len(log) > 80
    assert np.max(np.abs(energy / energy[0] - 1)) < 1e-13
    assert min(Geometry(system, np.float64).smallest_gap(position) for position in frames.position) > -1e-12
    assert max(stretched(system, position) for position in frames.position) < 1e-13
