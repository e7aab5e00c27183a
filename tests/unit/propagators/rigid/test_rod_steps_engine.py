"""Rods in the engine that move in the steps of Tapia-McClung and Grønbech-Jensen 2005.

Contacts as bodies at truncated steps, what they keep, choices.
"""

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.layout.arrays import MOL_SOLVER, ROD, ROD_STEPPER
from hpcchain.model.starts.start import build_system
from hpcchain.model.system import Options
from hpcchain.run.starts.growth import grown_system
from hpcchain.sector.serial import Engine
from hpcchain.sector.setup.molecule_classes import MoleculeClasses
from tests.support import twins
from tests.support.kernel_tools import make_system
from tests.support.mixtures import to_toml
from tests.support.rods import by_paper, random_rod, two_rods, unit
from tests.support.whole import frame_of

STEPS = {"propagator": "rattle"}


def test_rods_move_in_steps_under_rattle_alone():
    def code(n, rods, **physics):
        return MoleculeClasses(make_system([random_rod(n, 1)], rods=rods, step=0.1, **physics)).rows[0, MOL_SOLVER]

    assert code(4, (0,), **STEPS) == ROD_STEPPER
    others = [code(4, (0,), propagator=name) for name in ("taylor", "collocation", "variational")]
    assert others == [ROD] * 3
    assert code(2, (), **STEPS) not in (ROD, ROD_STEPPER)


def test_steps_that_turn_too_far_are_halved_and_counted():
    """Nothing is lost by it."""
    rod = random_rod(5, 4, turn=3.0)
    engine = Engine(make_system([rod], rods=(0,), step=1.0, **STEPS))
    engine.advance(4.0)
    assert engine.counters["halved"] > 4
    _, x, v, mass = rod
    before, after = twins.invariants(x, v, mass), twins.invariants(*frame_of(engine, 4.0)[:2], mass)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-13 * before[0])
    still = Engine(make_system([random_rod(5, 4, turn=0.7)], rods=(0,), step=1.0, **STEPS))
    still.advance(4.0)
    assert still.counters["halved"] == 0


def in_steps(rods, time, step):
    """Return the states of rods at a time, stepped along the grid as the paper has it and cut short there."""
    whole = int(time / step)
    found = []
    for rod in rods:
        state = rod[1:3]
        for tau in [step] * whole + [time - whole * step] * int(time > whole * step):
            state = by_paper((rod[0], *state, rod[3]), tau)
        found.append(state)
    return found


@pytest.mark.parametrize("search", ["root", "bisection"])
def test_two_rods_collide_as_bodies(search):
    """When truncated steps touch, by bisecting the paper's; J = -(1+e) v_n m_eff with the velocities there."""
    rods, step = two_rods(), 0.125
    low, high = 0.0, 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        (x, _), (y, _) = in_steps(rods, middle, step)
        apart = np.linalg.norm(x[:, None] - y, axis=2).min() > 1.0
        low, high = (middle, high) if apart else (low, middle)
    (x, v), (y, w) = in_steps(rods, high, step)
    gap = np.linalg.norm(x[:, None] - y, axis=2)
    a, b = np.unravel_index(np.argmin(gap), (3, 3))
    n, mass = unit(x[a] - y[b]), rods[0][3]
    inverse, turns = 0.0, []
    for state, bead in ((x, a), (y, b)):
        place, axis = state - mass @ state / mass.sum(), unit(state[-1] - state[0])
        s, inertia = (place @ axis)[bead], mass @ np.sum(place**2, axis=1)
        inverse += 1.0 / mass.sum() + s**2 / inertia * (1.0 - (axis @ n) ** 2)
        turns.append(n / mass.sum() + (place @ axis)[:, None] * s / inertia * (n - (axis @ n) * axis))
    impulse = -1.7 * (n @ (v[a] - w[b])) / inverse
    options = Options(contact_search=search)
    physics = {"propagator": "rattle", "options": options, "step": step, "restitution": 0.7}
    engine = Engine(make_system(rods, rods=(0, 1), **physics), log_events=True)
    engine.advance(high + 1e-3)
    (event,) = engine.drain_events()
    assert event["bead"].tolist() == [a, 3 + b]
    assert event["time"] == pytest.approx(high, abs=1e-13)
    assert event["impulse"] == pytest.approx(impulse, rel=1e-11)
    position, velocity, _ = frame_of(engine, high + 1e-3)
    (x, v), (y, w) = (
        by_paper((rods[0][0], *state, mass), 1e-3)
        for state in ((x, v + impulse * turns[0]), (y, w - impulse * turns[1]))
    )
    np.testing.assert_allclose(position, np.concatenate([x, y]), atol=1e-12)
    np.testing.assert_allclose(velocity, np.concatenate([v, w]), atol=1e-11)
    both = np.concatenate([mass, mass])
    before = twins.invariants(*(np.concatenate([rods[0][k], rods[1][k]]) for k in (1, 2)), both)
    after = twins.invariants(position, velocity, both)
    np.testing.assert_allclose(after[1:], before[1:], atol=1e-12)
    assert after[0] - before[0] == pytest.approx(-0.5 * (1 - 0.49) * (impulse / 1.7) ** 2 * inverse, rel=1e-11)


def test_times_of_contacts_are_of_order_2():
    """Where a contact falls between two nodes matters, too."""
    rods = two_rods()
    found = []
    for step in [0.0, *0.2 * 2.0 ** -np.linspace(0, 4, 13)]:
        physics = STEPS | {"step": step} if step else {}
        engine = Engine(make_system(rods, rods=(0, 1), **physics), log_events=True)
        engine.advance(2.0)
        found.append((step, float(engine.drain_events()["time"][0])))
    steps, times = np.array(found[1:]).T
    slope = np.polyfit(np.log(steps), np.log(np.abs(times - found[0][1])), 1)[0]
    assert abs(slope - 2) < 0.35, np.abs(times - found[0][1])


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 5])
def test_grazes_are_decided_by_the_steps(seed):
    """A wall just within and just out of reach of a tumbling rod, by 1e-9, where series of its steps are 1e-5 wrong."""
    random = np.random.default_rng(seed)
    bonds, x, v, mass = random_rod(4, 20 + seed, turn=2.6)
    rod = (bonds, x - mass @ x / mass.sum(), v - mass @ v / mass.sum() + 0.1 * random.normal(size=3), mass)
    step, end = 0.25, 2.0
    times = np.linspace(0.0, end, 401)
    for spread in (0.02, 5e-4, 1e-5, 0.0):
        reach = [np.max(in_steps([rod], t, step)[0][0][:, 0]) for t in times]
        best = times[np.argmax(reach)]
        times = np.clip(best + spread * np.linspace(-1.0, 1.0, 101), 0.0, end)
    assert 0.02 < best % step < step - 0.02, "farthest at a node"
    for offset, contacts in ((-1e-9, 1), (1e-9, 0)):
        wall = max(reach) + 0.5 + offset
        system = make_system(
            [rod],
            size=(wall + 50.0, 100.0, 100.0),
            boundary=(1, 2, 2),
            origin=(-50.0,) * 3,
            rods=(0,),
            step=step,
            **STEPS,
        )
        engine = Engine(system, log_events=True)
        engine.advance(best + 0.01)
        assert len(engine.drain_events()) + engine.counters["grazes"] == contacts, offset


def crowd(folder, search="root"):
    """Return the System of rods of 4 and of 9 with monomers, thermal, in a periodic box, that move in steps."""
    tables = {
        "box": {"size": [5.0, 4.8, 5.2]},
        "molecule": [
            {"kind": "rod", "beads": 4, "count": 6, "bond_length": [1.0, 1.2, 1.0], "mass": [1.0, 2.0, 0.5, 3.0]},
            {"kind": "rod", "beads": 9, "count": 2, "bond_length": 0.5, "diameter": 0.5},
            {"kind": "monomer", "count": 6},
        ],
        "initial": {"seed": 5},
        "propagator": {"name": "rattle", "step": 0.125, "contact_search": search},
        "run": {"end_time": 1.0},
    }
    path = folder / "in.toml"
    path.write_text(to_toml(tables))
    return grown_system(load_config(path))


def totals(system, velocity):
    """Return kinetic energy and momentum."""
    mass = system.topology.whole().mass[:, None]
    return np.array([0.5 * np.sum(mass * velocity**2), *np.sum(mass * velocity, axis=0)])


def test_contacts_keep_energy_and_lead_back(tmp_path):
    """Energy to round-off, unlike that of chains in steps; and all velocities turned round it all comes again."""
    system = crowd(tmp_path)
    engine = Engine(system, log_events=True)
    end = 2.0
    engine.advance(end)
    contacts = len(engine.drain_events())
    assert contacts > 30
    position, velocity, image = frame_of(engine, end)
    np.testing.assert_allclose(totals(system, velocity), totals(system, system.state.velocity), atol=1e-11)
    state = system.state.at_time_zero(position, -velocity)
    state.image[:] = image
    back = Engine(type(system)(system.box, system.topology, state, system.physics), log_events=True)
    back.advance(end)
    assert len(back.drain_events()) == contacts
    position, velocity, image = frame_of(back, end)
    size = system.box.size
    assert np.abs(position + image * size - system.state.position - system.state.image * size).max() < 1e-11
    assert np.abs(velocity + system.state.velocity).max() < 1e-10


def test_searches_agree(tmp_path):
    events = []
    for search in ("root", "bisection"):
        engine = Engine(crowd(tmp_path, search), log_events=True)
        engine.advance(1.5)
        events.append(engine.drain_events())
    assert len(events[0]) > 6
    assert np.array_equal(events[0]["bead"], events[1]["bead"])
    np.testing.assert_allclose(events[1]["time"], events[0]["time"], atol=1e-9)
    np.testing.assert_allclose(events[1]["impulse"], events[0]["impulse"], atol=1e-7)


def test_a_kind_of_rods_may_fly_exactly_among_others_in_steps(tmp_path):
    """The same bits as in a box of its own way, until something is met."""
    rods = random_rod(4, 1), random_rod(5, 2)
    molecules = [
        {
            "kind": "rod",
            "beads": len(x),
            "mass": mass.tolist(),
            "positions": (x + place).tolist(),
            "bond_length": twins.lengths(bonds, x).tolist(),
            "diameter": 0.5,
            "velocities": v.tolist(),
        }
        for (bonds, x, v, mass), place in zip(rods, (0.0, 30.0), strict=True)
    ]

    def found(general, *own):
        tables = {
            "box": {"size": [200.0] * 3, "origin": [-100.0] * 3, "boundary": ["open"] * 3},
            "molecule": [each | ({"propagator": way} if way else {}) for each, way in zip(molecules, own, strict=True)],
            "initial": {"method": "explicit"},
            "propagator": general,
            "run": {"end_time": 1.0},
        }
        path = tmp_path / "in.toml"
        path.write_text(to_toml(tables))
        engine = Engine(build_system(load_config(path)))
        engine.advance(3.0)
        return frame_of(engine, 3.0)[0]

    rattle = {"name": "rattle", "step": 0.1}
    exact_for_all, steps_for_all = found({"name": "taylor"}, None, None), found(rattle, None, None)
    assert np.abs(exact_for_all - steps_for_all)[4:].max() > 1e-4 < np.abs(exact_for_all - steps_for_all)[:4].max()
    wanted = np.concatenate([steps_for_all[:4], exact_for_all[4:]])
    assert found(rattle, None, {"name": "taylor"}).tobytes() == wanted.tobytes()
    assert found({"name": "taylor"}, rattle, None).tobytes() == wanted.tobytes()
    with pytest.raises(ConfigError, match=r'molecule\[1\].propagator: rods have no steps of "variational"'):
        found({"name": "taylor"}, None, {"name": "variational", "step": 0.1})
