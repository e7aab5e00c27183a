"""Collocation in the engine: published tables, order 2s, what is conserved, exact contacts, restarts, the command."""

import numpy as np
import pytest
from mixtures import random_input, to_toml
from reference import cases, tables
from reference.contacts import Geometry
from reference.program import run
from reference.systems import Molecule, System, place, thermal, toml
from whole import frame_of, state_of

from hpcchain.config import load_config
from hpcchain.model.overlap import bead_overlap
from hpcchain.model.start import build_system
from hpcchain.model.system import System as Start
from hpcchain.run.growth import grown_system
from hpcchain.sector.engine import Engine


def start(system, folder, stages, step, **keys):
    """Return the engine's System of a reference system moved by collocation."""
    source = folder / "in.toml"
    source.write_text(toml(system.input(1.0) | {"propagator": propagator(stages, step) | keys}))
    return build_system(load_config(source))


def propagator(stages, step):
    """Return the [propagator] table."""
    return {"name": "collocation", "stages": stages, "step": step}


def instants(events):
    """Return the times of contacts, simultaneous ones once."""
    time = events["time"]
    return time[np.diff(time, prepend=-np.inf) > 1e-6]


def invariants(system, position, velocity):
    """Return energy, momentum and angular momentum."""
    mass = system.mass[:, None]
    moment = np.sum(mass * np.cross(position, velocity), axis=0)
    return np.array([0.5 * np.sum(mass * velocity**2), *np.sum(mass * velocity, axis=0), *moment])


def stretched(system, position):
    """Return the largest relative error of a bond."""
    bond = position[system.bonds[:, 1]] - position[system.bonds[:, 0]]
    return np.max(np.abs(np.linalg.norm(bond, axis=1) / system.bond_length - 1))


def tumbling(kind, **keys):
    """Return two equal molecules of unequal masses in a small periodic box."""
    system = System([Molecule(kind, count=2, **keys)], (5.0, 5.2, 5.4))
    random = np.random.default_rng(5)
    return thermal(place(system, random), random)


RING = {"kind": "ring", "beads": 6, "mass": [1.0, 2.0, 1.0, 0.5, 1.0, 3.0]}
STAR = {"kind": "star", "beads": 7, "arms": 3, "diameter": 0.9, "mass": [3.0, *[1.0] * 6]}


def test_a_pair_held_within_the_polynomials_error_meets_once(tmp_path):
    """Growth used to find the same graze for ever in this system: bonded to one bead, a pair parts, but hardly."""
    source = tmp_path / "in.toml"
    source.write_text(to_toml(random_input(169) | {"run": {"end_time": 1.0}}))
    system = grown_system(load_config(source))
    assert bead_overlap(system.box, system.topology, system.state.position) is None


@pytest.mark.parametrize("name", tables.SYSTEMS)
def test_event_table(name, tmp_path):
    """Six stages and a small step: the same contacts, times and impulses as with the exact motion."""
    table = tables.load(name)
    engine = Engine(start(tables.SYSTEMS[name](), tmp_path, 6, 0.05), log_events=True)
    count = int(np.sum(table.allowed < 1e-8))
    engine.advance(float(table.time[count - 1]) + 1e-3)
    events = engine.drain_events()
    wanted = [contact for contacts in table.contacts[:count] for contact in contacts]
    assert len(events) == len(wanted) >= 4
    times = np.repeat(table.time[:count], [len(contacts) for contacts in table.contacts[:count]]).astype(float)
    allowed = 1e-11 + 10 * np.repeat(table.allowed[:count], [len(contacts) for contacts in table.contacts[:count]])
    assert np.all(np.abs(events["time"] - times) < allowed)
    found = sorted(zip(np.searchsorted(instants(events), events["time"] + 1e-7).tolist(), events["kind"].tolist(),
                       *events["bead"].T.tolist(), events["impulse"].tolist(), strict=True))
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
        engine = Engine(start(tables.SYSTEMS[name](), tmp_path, stages, step), log_events=True)
        engine.advance(exact[-1] + 0.01)
        errors.append(np.max(np.abs(instants(engine.drain_events())[:4] - exact)))
    assert min(errors) > 2e-13, "at round-off there is no slope to fit"
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert abs(slope - 2 * stages) < 0.6, errors


@pytest.mark.parametrize("stages", [2, 3, 6])
def test_free_chain_conserves_to_round_off(stages, tmp_path):
    """Over ten thousand segments and hundreds of contacts, whatever the number of stages."""
    system = tables.thermal_chain()
    engine = Engine(start(system, tmp_path, stages, 0.05), log_events=True)
    engine.advance(500.0)
    assert engine.counters["segment_ends"] > 9000 and len(engine.drain_events()) > 400
    before = invariants(system, system.position, system.velocity)
    for position, velocity in (frame_of(engine, 500.0)[:2], (state_of(engine).position, state_of(engine).velocity)):
        after = invariants(system, position, velocity)
        assert abs(after[0] / before[0] - 1) < 2e-13
        assert np.max(np.abs(after[1:] - before[1:])) < 2e-12
        assert stretched(system, position) < 2e-14


@pytest.mark.parametrize("keys", [RING, STAR], ids=["rings", "stars"])
def test_rings_and_stars(keys, tmp_path):
    """Any bond graph, periodic images, contacts within and between molecules; each contact where the gap is zero."""
    system = tumbling(**keys)
    engine = Engine(start(system, tmp_path, 4, 0.04), log_events=True)
    engine.advance(40.0)
    events = engine.drain_events()
    position, velocity, _ = frame_of(engine, 40.0)
    before, after = (invariants(system, x, v) for x, v in ((system.position, system.velocity), (position, velocity)))
    assert len(events) > 100
    assert abs(after[0] / before[0] - 1) < 1e-13
    assert np.max(np.abs(after[1:4] - before[1:4])) < 1e-12
    assert stretched(system, position) < 1e-14


def test_gap_is_zero_at_every_contact(tmp_path):
    """With few stages and long segments the polynomials' own roots are off by far more."""
    system = cases.build("everything")
    whole = start(system, tmp_path, 3, 0.1)
    engine = Engine(whole, log_events=True)
    engine.advance(2.0)
    events = engine.drain_events()
    assert len(events) > 40
    engine = Engine(whole)
    for time, kind, (first, second) in zip(events["time"], events["kind"], events["bead"], strict=True):
        engine.advance(float(np.nextafter(time, 0)))
        position, _, image = frame_of(engine, float(time))
        x = position + image * np.array(system.size)
        if kind == 0:
            r = x[first] - x[second]
            r -= np.array([5.0, 0.0, 5.4]) * np.rint(r / [5.0, 1.0, 5.4])
            gap = np.linalg.norm(r) - (system.diameter[first] + system.diameter[second]) / 2
        else:
            wall = 0.2 if second == -2 else 0.2 + 4.6
            gap = abs(x[first, 1] - wall) - system.diameter[first] / 2
        assert abs(gap) < 1e-13


@pytest.mark.parametrize("seed", [0, 3, 4, 5, 6])
def test_grazes_are_decided_by_the_solution_not_by_the_polynomial(seed, tmp_path):
    """A wall just within and just out of reach of a tumbling chain: 1e-7, where the polynomial errs by more."""
    random = np.random.default_rng(seed)
    size = (60.0,) * 3
    system = System([Molecule("chain", 4, self_contact=False)], size, ("open",) * 3, (-30.0,) * 3)
    thermal(place(system, random), random)
    end, step = 2.0, 0.3
    engine = Engine(start(system, tmp_path, 2, step))

    def farthest(times):
        reach = [np.max(solved(engine, time)[:, 0]) for time in times]
        return np.max(reach), times[np.argmax(reach)]

    _, near = farthest(np.linspace(0.0, end, 400))
    engine = Engine(start(system, tmp_path, 2, step))
    reach, when = farthest(np.linspace(max(near - 0.01, 0.0), near + 0.01, 801))
    if not 0.05 < when < end - 0.05:
        pytest.skip("farthest at the end")
    for offset, contacts in ((-1e-7, 1), (1e-7, 0)):
        size = (reach + 0.5 + offset + 30.0, 60.0, 60.0)
        box = System(system.molecules, size, ("wall", "open", "open"), (-30.0,) * 3, 1.0, system.position,
                     system.velocity)
        walled = Engine(start(box, tmp_path, 2, step), log_events=True)
        walled.advance(when + 0.02)
        assert len(walled.drain_events()) == contacts, (offset, when)


def solved(engine, time):
    """Return the positions at a time, which grows from call to call."""
    engine.advance(time)
    return frame_of(engine, time)[0]


def bits(engine, time):
    """Return the bytes of the state and of a frame at the engine's time."""
    state, frame = state_of(engine), frame_of(engine, time)
    return [getattr(state, name).tobytes() for name in state.ARRAYS] + [part.tobytes() for part in frame]


@pytest.mark.parametrize(("stages", "step"), [(6, 0.02), (3, 0.1), (2, 0.2)])
def test_restarts_and_lists_leave_no_trace(stages, step, tmp_path):
    """Other shells and cells, and an engine made anew from the state at odd times: the same bits and events."""
    whole = start(cases.build("everything"), tmp_path, stages, step)
    end = 6.0
    engine = Engine(whole, log_events=True)
    engine.advance(end)
    events, wanted = engine.drain_events(), bits(engine, end)
    assert len(events) > 150
    for shell, cell in ((0.05, None), (0.4, 2.0)):
        other = Engine(whole, log_events=True, shell=shell, cell=cell)
        other.advance(end)
        assert other.drain_events().tobytes() == events.tobytes()
        assert bits(other, end) == wanted
    rows, state = [], whole.state
    for time in (0.7137, 2.0001, 3.3333, end):
        part = Engine(Start(whole.box, whole.topology, state, whole.physics), log_events=True, shell=0.2)
        part.advance(time)
        rows.append(part.drain_events())
        state = state_of(part)
    assert np.concatenate(rows).tobytes() == events.tobytes()
    assert bits(part, end) == wanted


def test_too_long_a_step_is_halved(tmp_path):
    """Where the stages are not found the segment is shortened: contacts are the same, energy is conserved."""
    system = tables.trimer()
    engine = Engine(start(system, tmp_path, 8, 8.0), log_events=True)
    engine.advance(20.0)
    assert engine.counters["segments"] > 5
    assert np.max(np.abs(instants(engine.drain_events())[:4] - tables.load("trimer_44").time[:4].astype(float))) < 1e-4
    after = invariants(system, *frame_of(engine, 20.0)[:2])
    assert abs(after[0] / invariants(system, system.position, system.velocity)[0] - 1) < 1e-13


def test_through_the_command(tmp_path):
    """A box of mixed molecules through `hpcchain run`: energy in the trajectory, no overlap, no missed contact."""
    system = cases.build("everything")
    given = system.input(4.0, frame_every=0.1) | {"propagator": propagator(5, 0.05)}
    result = run(given, tmp_path, timeout=200)
    frames, log = result.frames(system.size), result.events()
    energy = np.sum(system.mass[:, None] * frames.velocity**2, axis=(1, 2)) / 2
    assert len(log) > 80
    assert np.max(np.abs(energy / energy[0] - 1)) < 1e-13
    assert min(Geometry(system, np.float64).smallest_gap(position) for position in frames.position) > -1e-12
    assert max(stretched(system, position) for position in frames.position) < 1e-13
