"""rattle and variational in the engine, against the equations of their contact law.

Order 2, what is conserved, exact contacts, restarts, solvers and searches that agree.
"""

import json

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.papers import single_chain
from hpcchain.papers.collisions import Integrator
from hpcchain.sector.serial import Engine
from tests.reference import tables
from tests.reference.program import run
from tests.reference.systems import Molecule, System, place, thermal, toml
from tests.support import twins
from tests.support.solved import RING, instants, invariants, start, stretched, tumbling
from tests.support.stepping import dense_step
from tests.support.whole import frame_of, state_of

LAWS = [
    {"name": "rattle"},
    {"name": "variational", "collision": "exact"},
    {"name": "variational"},
]
NAMES = ["rattle", "exact", "variational"]


@pytest.mark.parametrize("propagator", LAWS, ids=NAMES)
@pytest.mark.parametrize("name", ["trimer_44", "thermal_n5_seed7"])
def test_times_of_contacts_are_of_order_2(name, propagator, tmp_path):
    """The published events, in their order, at times that are off by a step's square."""
    table = tables.load(name)
    exact = table.time[:4].astype(float)
    steps = 0.04 * 2.0 ** -np.linspace(0, 3, 13)  # where a contact falls between two nodes matters, too
    errors = []
    for step in steps:
        engine = Engine(start(tables.SYSTEMS[name](), tmp_path, step=step, **propagator), log_events=True)
        engine.advance(exact[-1] + 0.01)
        events = engine.drain_events()
        wanted = [contact for contacts in table.contacts[:4] for contact, _ in contacts]
        assert [(kind, *beads) for kind, beads in zip(events["kind"], events["bead"].tolist(), strict=True)] == wanted
        errors.append(np.max(np.abs(instants(events) - exact)))
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert abs(slope - 2) < 0.35, errors


def test_four_beads_between_walls(tmp_path):
    """Simultaneous contacts, at walls and of beads: the published events at their own order, and one impulse each."""
    table = tables.load("four_periodic_d1")
    errors = []
    for step in (0.1, 0.05):
        system = tables.SYSTEMS["four_periodic_d1"]()
        engine = Engine(start(system, tmp_path, step=step, name="variational"), log_events=True)
        engine.advance(float(table.time[2]) + 0.3)
        events = engine.drain_events()
        assert len(events) == sum(len(contacts) for contacts in table.contacts[:3])
        assert engine.counters["ties"] >= 1
        errors.append(np.max(np.abs(instants(events)[:3] - table.time[:3].astype(float))))
    assert 3 < errors[0] / errors[1] < 5


@pytest.mark.parametrize("step", [0.5, 0.2])
def test_law_is_that_of_the_paper(step, tmp_path):
    """Contact time and momentum are those of Leyendecker et al. 2012, (13) and (14), by a dense Newton solver."""
    system = tables.trimer()
    engine = Engine(start(system, tmp_path, step=step, name="variational"), log_events=True)
    engine.advance(3.15)
    (event,) = engine.drain_events()
    bonds, mass = system.bonds, system.mass
    x, v = system.position, system.velocity
    nodes = int(event["time"] / step)
    for _ in range(nodes):
        rate, x = dense_step(bonds, x, v, mass, step)
        v = twins.project(bonds, x, rate, mass)
    low, high = 0.0, step
    for _ in range(60):
        alpha = 0.5 * (low + high)
        rate, at = dense_step(bonds, x, v, mass, alpha)
        low, high = (alpha, high) if np.linalg.norm(at[2] - at[0]) > 1.0 else (low, alpha)
    assert abs(nodes * step + alpha - event["time"]) < 1e-12
    after, nu = paper_law(bonds, mass, at, rate, (nodes + 1) * step - event["time"])
    assert nu > 0
    momentum = twins.project(bonds, at, after, mass)
    wanted = np.linalg.norm((mass[:, None] * (momentum - twins.project(bonds, at, rate, mass))).sum(axis=0))
    assert wanted < 1e-13
    state = state_of(engine)
    assert np.abs(state.position - at).max() < 1e-11
    assert np.abs(state.velocity - momentum).max() < 1e-11


def paper_law(bonds, mass, x, w, tau):
    """Return w' and nu of (14): w' = w + M^-1 (G^T mu + G_c^T nu), g(x + tau w') = 0, |w'|_M = |w|_M; beads 0, 2 meet.

    Newton from the reflected velocity in (mu, nu), with the Jacobian as the equations give it.
    """
    g = twins.gradient(bonds, x)
    contact = twins.gradient(np.array([[0, 2]]), x)
    inverse = np.repeat(1 / mass, 3)
    square = twins.lengths(bonds, x) ** 2 / 2
    rows = np.vstack([g, contact])
    p = twins.project(bonds, x, w, mass).ravel()
    still = np.linalg.lstsq(rows[:-1] * inverse @ rows[:-1].T, -rows[:-1] * inverse @ contact[0], rcond=None)[0]
    y = inverse * (contact[0] + rows[:-1].T @ still)
    size = -2 * (contact[0] @ p) / (contact[0] @ y)
    unknowns = np.append(np.linalg.lstsq((rows[:-1] * inverse).T, p - w.ravel(), rcond=None)[0] + size * still, size)
    for _ in range(60):
        after = w.ravel() + inverse * (rows.T @ unknowns)
        end = x + tau * after.reshape(-1, 3)
        bonds_off = (twins.lengths(bonds, end) ** 2 / 2 - square) / tau
        energy = 0.5 * np.sum((after**2 - w.ravel() ** 2) / inverse)
        jacobian = np.vstack([twins.gradient(bonds, end), after / inverse]) * inverse @ rows.T
        change = np.linalg.solve(jacobian, np.append(bonds_off, energy))
        unknowns = unknowns - change
    assert np.abs(change).max() < 1e-12
    return after.reshape(-1, 3), unknowns[-1]


def test_the_trimers_period_is_the_discrete_ones(tmp_path):
    """Contact after contact, each 3.6250 at h = .5, as the step in the null space of Leyendecker et al. 2012 has it."""
    engine = Engine(start(tables.trimer(), tmp_path, step=0.5, name="variational"), log_events=True)
    engine.advance(3.625 * 100)
    found = instants(engine.drain_events())
    wanted = np.array(Integrator(single_chain.trimer(), 0.5).run(contacts=len(found)).contact_time)
    assert len(found) == 100 and engine.counters["no_roots"] == 0
    assert np.abs(found - wanted).max() < 1e-9
    assert np.diff(found).mean() == pytest.approx(3.6250, abs=2e-4)


@pytest.mark.parametrize("propagator", LAWS, ids=NAMES)
def test_free_chain_conserves_momenta(propagator, tmp_path):
    """Over thousands of steps and hundreds of contacts; docs/theory/numerics.md: energy walks, the exact law's less."""
    system = tables.thermal_chain()
    engine = Engine(start(system, tmp_path, step=0.02, **propagator), log_events=True)
    engine.advance(200.0)
    assert len(engine.drain_events()) > 150
    before = invariants(system, system.position, system.velocity)
    position, velocity = frame_of(engine, 200.0)[:2]
    after = invariants(system, position, velocity)
    assert np.max(np.abs(after[1:] - before[1:])) < 1e-11
    assert stretched(system, position) < 1e-13
    assert abs(after[0] / before[0] - 1) < 0.05
    assert np.abs(twins.gradient(system.bonds, position) @ velocity.ravel()).max() < 1e-12


def test_law_without_a_root_is_counted(tmp_path):
    """Long steps of a thermal chain: contacts near grazing have no root, are counted, and the run goes on."""
    engine = Engine(start(tables.thermal_chain(), tmp_path, step=0.1, name="variational"), log_events=True)
    engine.advance(200.0)
    events = engine.drain_events()
    assert 0 < engine.counters["no_roots"] < 0.2 * len(events)
    assert np.all(events["impulse"] > 0)
    law = {"propagator": {"name": "variational", "step": 0.1}}
    done = run(tables.thermal_chain().input(200.0, report_every=100.0) | law, tmp_path)
    reports = [json.loads(line) for line in (done.directory / "run.jsonl").read_text().splitlines()]
    counts = [report["contacts_without_root"] for report in reports if "contacts_without_root" in report]
    assert counts[-1] == engine.counters["no_roots"] and counts == sorted(counts)


def test_solvers_and_searches_agree(tmp_path):
    """Whatever solves the steps or finds the contact: the same events, to round-off as it grows."""
    found = []
    for propagator in (
        {"name": "rattle"},
        {"name": "rattle", "solver": "sweeping"},
        {"name": "rattle", "solver": "analytic"},
        {"name": "rattle", "contact_search": "bisection"},
        {"name": "variational", "collision": "exact"},
        {"name": "variational", "collision": "exact", "solver": "null-space"},
        {"name": "variational", "collision": "exact", "solver": "multipliers"},
    ):
        engine = Engine(start(tables.thermal_chain(), tmp_path, step=0.05, **propagator), log_events=True)
        engine.advance(6.0)
        found.append(engine.drain_events())
    assert len(found[0]) >= 4
    for other in found[1:]:
        assert np.array_equal(other["bead"], found[0]["bead"])
        assert np.max(np.abs(other["time"] - found[0]["time"])) < 1e-10
        assert np.max(np.abs(other["impulse"] - found[0]["impulse"])) < 1e-9
    assert found[4].tobytes() == found[0].tobytes()


def test_too_long_a_step_is_halved(tmp_path):
    system = tables.trimer()
    engine = Engine(start(system, tmp_path, step=8.0, name="variational"), log_events=True)
    engine.advance(20.0)
    assert engine.counters["segments"] > 5
    assert stretched(system, frame_of(engine, 20.0)[0]) < 1e-13


@pytest.mark.parametrize(
    ("propagator", "message"),
    [
        ({"name": "variational", "solver": "sweeping"}, "propagator.solver"),
        ({"name": "rattle", "solver": "null-space"}, "propagator.solver"),
        ({"name": "variational", "solver": "null-space"}, "rings"),
        ({"name": "rattle", "collision": "exact"}, "collision"),
        ({"name": "variational", "contact_search": "root"}, "contact_search"),
    ],
)
def test_impossible_inputs_are_refused(propagator, message, tmp_path):
    system = tumbling(**RING)
    with pytest.raises(ConfigError, match=message):
        start(system, tmp_path, step=0.1, **propagator)


def test_step_is_required(tmp_path):
    source = tmp_path / "in.toml"
    system = System([Molecule("chain", 3)], (9.0,) * 3, position=np.eye(3) * 2, velocity=np.zeros((3, 3)))
    source.write_text(toml(system.input(1.0) | {"propagator": {"name": "rattle"}}))
    with pytest.raises(ConfigError, match="propagator.step"):
        load_config(source)


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_grazes_are_decided_by_the_steps_not_by_the_cubic(seed, tmp_path):
    """A wall just within and just out of reach of a tumbling chain: 1e-7, where the cubic errs by more.

    The velocity on the bonds is not quite the truncated steps' rate: beads may be parting where they touch, and then
    there is no impulse, and a graze is counted.
    """
    random = np.random.default_rng(seed)
    system = System([Molecule("chain", 4, self_contact=False)], (60.0,) * 3, ("open",) * 3, (-30.0,) * 3)
    thermal(place(system, random), random)
    end, step = 2.0, 0.1

    def farthest(times):
        engine = Engine(start(system, tmp_path, step=step, name="rattle"))
        reach = []
        for time in times:
            engine.advance(time)
            reach.append(np.max(frame_of(engine, time)[0][:, 0]))
        return np.max(reach), times[np.argmax(reach)]

    _, near = farthest(np.linspace(0.0, end, 200))
    reach, event_time = farthest(np.linspace(max(near - 0.02, 0.0), near + 0.02, 801))
    if not 0.05 < event_time < end - 0.05:
        pytest.skip("farthest at the end")
    for offset, contacts in ((-1e-7, 1), (1e-7, 0)):
        size = (reach + 0.5 + offset + 30.0, 60.0, 60.0)
        box = System(
            system.molecules, size, ("wall", "open", "open"), (-30.0,) * 3, 1.0, system.position, system.velocity
        )
        walled = Engine(start(box, tmp_path, step=step, name="variational"), log_events=True)
        walled.advance(event_time + 0.02)
        assert len(walled.drain_events()) + walled.counters["grazes"] == contacts, (offset, event_time)
