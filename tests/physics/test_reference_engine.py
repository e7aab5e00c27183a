"""The reference engine itself, against exact answers and tables of 34 digits: it must be right to judge others."""

import numpy as np
import pytest

from tests.reference import cases, special, tables
from tests.reference.compare import disagreement, expected
from tests.reference.engine import Engine, event_list, simulate
from tests.reference.linear import inverse
from tests.reference.motion import Mechanics, at
from tests.reference.program import Log


def log_of(turns):
    """Return the turns' events as a program's log."""
    events = event_list(turns)
    columns = ([float(e.time) for e in events], [e.kind for e in events], [e.bead for e in events])
    return Log(*map(np.array, columns), np.array([float(e.impulse) for e in events]))


@pytest.mark.parametrize("name", tables.SYSTEMS)
def test_tables(name):
    """Starts are float64, so agreement is to their rounding as it grows."""
    table = tables.load(name)
    _, turns = simulate(tables.SYSTEMS[name](), events=sum(map(len, table.contacts)))
    assert len(turns) == len(table.time)
    for k, turn in enumerate(turns):
        allowed = 1e-15 + 10 * float(table.allowed[k])
        assert [(e.kind, *e.bead) for e in turn.events] == [name for name, _ in table.contacts[k]]
        assert abs(turn.time - table.time[k]) < allowed
        for got, want in ((turn.position, table.position), (turn.before, table.before), (turn.after, table.after)):
            assert np.max(np.abs(got - want[k])) < 10 * allowed
        impulses = [impulse for _, impulse in table.contacts[k]]
        assert np.max(np.abs(np.array([e.impulse for e in turn.events]) - impulses)) < 10 * allowed


def test_rotor():
    """A free dimer with unequal masses turns uniformly about its centre of mass."""
    mechanics = Mechanics([1.0, 3.0], [(0, 1)], [1.25])
    centre, speed, omega = np.array([0.1, -0.2, 0.3]), np.array([0.4, 0.0, -0.5]), np.longdouble(0.8)

    def exact(t):
        axis = np.stack([np.cos(omega * t), np.sin(omega * t), 0 * t])
        side = np.stack([-np.sin(omega * t), np.cos(omega * t), 0 * t])
        arms = np.array([[-0.75 * 1.25], [0.25 * 1.25]])
        return centre + speed * t + arms * axis, speed + arms * omega * side

    series = mechanics.series(*exact(np.longdouble(0)), order=30)
    for got, want in zip(at(series, np.longdouble(0.6)), exact(np.longdouble(0.6)), strict=True):
        assert np.max(np.abs(got - want)) < 1e-17


def test_inverse_drops_redundant_equations():
    """A consistent singular system is solved by an independent subset."""
    rows = np.random.default_rng(3).normal(size=(5, 4)).astype(np.longdouble)
    matrix = rows @ rows.T
    right = matrix @ np.arange(5).astype(np.longdouble)
    assert np.max(np.abs(matrix @ (inverse(matrix) @ right) - right)) < 1e-15


@pytest.mark.parametrize("name", cases.CASES)
def test_cases_conserve(name):
    """Energy (as the restitution says) and bonds over a case, and no overlap at any contact."""
    system = cases.build(name)
    engine, turns = simulate(system, events=30)
    mechanics, energy = engine.mechanics, engine.mechanics.energy(np.asarray(system.velocity, dtype=np.longdouble))
    for turn in turns:
        loss = sum(e.impulse * -e.normal_velocity * (1 - e.restitution) / 2 for e in turn.events)
        assert abs(mechanics.energy(turn.before) - energy) < 1e-15 * energy
        assert abs(mechanics.energy(turn.after) - energy + loss) < 1e-15 * energy
        energy = mechanics.energy(turn.after)
        bonds = np.sqrt(np.sum(mechanics.bond_vectors(turn.position) ** 2, axis=-1))
        assert np.max(np.abs(bonds - mechanics.length), initial=0) < 1e-17
        assert engine.geometry.smallest_gap(turn.position) > -1e-17
        assert all(e.normal_velocity < 0 < e.impulse for e in turn.events)


@pytest.mark.parametrize("name", cases.OUTSIDE)
def test_cases_outside_conserve(name):
    """Kinetic energy, heights and wells less the walls' work; each sort of event is there, nothing fixed moves."""
    system = cases.build(name)
    engine = Engine(system)
    geometry, start = engine.geometry, engine.position
    fixed = np.isinf(engine.mechanics.mass)
    mass, pull = np.where(fixed, 0, engine.mechanics.mass), np.array(system.gravity)

    def energy():
        wells = np.sum(geometry.potential[geometry.level])
        return np.sum(mass[:, None] * engine.velocity**2) / 2 - mass @ (engine.position @ pull) + wells

    kept, kinds = energy(), []
    for turn in engine.turns():
        for event in turn.events:
            kept += event.impulse * geometry.rate_at(-1 - event.bead[1], event.time) if event.kind == 1 else 0
            assert event.impulse * event.normal_velocity < 0 or event.kind in (2, 3)
        kinds += [event.kind for event in turn.events]
        assert abs(energy() - kept) < 1e-15 * abs(kept) + 1e-15
        assert geometry.smallest_gap(turn.position) > -1e-17 or system.walls
        if len(kinds) >= 40:
            break
    assert np.array_equal(engine.position[fixed], start[fixed])
    assert set(kinds) >= {0} | ({1} if system.walls else set()) | ({2, 3, 4} if system.wells[0] else set())


def test_cases_hold_what_they_promise():
    """A chain meets its own images, a bead meets the image of the bead it is bonded to, and walls are hit."""
    names = [*list(cases.CASES)[2:6], "a rod longer than its box"]
    seen = {name: event_list(simulate(cases.build(name), events=40)[1]) for name in names}
    assert any(e.kind == 0 and max(e.bead) < 7 and any(e.shift) for e in seen["a rod longer than its box"])
    assert any(e.kind == 1 for e in seen["chains between walls"])
    assert any(e.kind == 1 for e in seen["everything"])
    assert any(any(e.shift) for e in seen["longer than its box"])
    bonded = [(0, 1), (2, 3), (4, 5)]
    assert any(e.bead in bonded and any(e.shift) for e in seen["bonds past half the box"])


def test_grazing_monomers():
    """Every pair that touches by a hair is found at the exact time, and no pair that misses by a hair."""
    system, answer = special.grazing_monomers()
    events = event_list(simulate(system, end=5)[1])
    assert [(e.kind, *e.bead) for e in events] == [name for name, *_ in answer]
    for event, (_, time, impulse, slack) in zip(events, answer, strict=True):
        assert abs(event.time - time) < 1e-18 / slack**0.5 + 1e-17
        assert abs(event.impulse - impulse) < 1e-18 / slack**0.5 + 1e-17


def test_grazing_walls():
    """The same for turning dimers and a wall."""
    system, answer = special.grazing_walls()
    events = sorted(event_list(simulate(system, end=2)[1]), key=lambda e: e.bead)
    assert [(e.kind, *e.bead) for e in events] == [name for name, *_ in answer]
    assert all(abs(e.time - t) < 1e-17 / s**0.5 for e, (_, t, s) in zip(events, answer, strict=True))


def test_grazing_dimers():
    """The same for a monomer that passes a turning dimer."""
    system, slacks = special.grazing_dimers()
    events = event_list(simulate(system, end=6)[1])
    assert sorted({max(e.bead) // 3 for e in events}) == list(range(len(slacks)))


def test_at_once():
    """Known outcomes of simultaneous contacts, one impulse each."""
    _, turns = simulate(special.at_once(), end=1.25)
    after, events = turns[-1].after, event_list(turns)
    assert np.allclose([float(e.time) for e in events], 1.0, atol=1e-15)
    assert np.allclose(after[8].astype(float), [1, 1, 1], atol=1e-15)
    assert np.allclose(after[9:12, 0].astype(float), [-1, 0, 1], atol=1e-15)
    assert np.allclose(after[12].astype(float), [-0.2, 0, 0], atol=1e-14)
    assert np.allclose(after[15:19, 0].astype(float), [0, 1, 0, 1], atol=1e-15)
    hits = [float(e.impulse) for e in events if e.kind == 0 and e.bead in [(0, 2), (1, 4)]]
    assert len(hits) == 2 and hits[0] == pytest.approx(hits[1], abs=1e-15)


@pytest.mark.parametrize("name", ["everything", "losing energy"])
def test_comparison_notices(name):
    """A log with one event missing, moved, renamed or with another impulse is refused; the float64 engine passes."""
    system = cases.build(name)
    want = expected(system, 30)
    assert len(want) >= 20
    good = log_of(simulate(system, events=32, dtype=np.float64, order=18)[1])
    assert disagreement(want, good) is None
    assert disagreement(want, Log(*(np.delete(column, 7, axis=0) for column in vars(good).values())))
    for field in ("time", "kind", "bead", "impulse"):
        columns = {key: column.copy() for key, column in vars(good).items()}
        columns[field][5] += 1 if columns[field].dtype.kind == "i" else 1e-7
        assert disagreement(want, Log(**columns))
