"""The engine as a whole: exact event tables, and that nothing but the state decides the trajectory."""

import numpy as np
import pytest

from hpcchain.errors import EngineError
from hpcchain.layout import arrays as L
from hpcchain.layout.arrays import MOST_TIES
from hpcchain.model.system import OPEN, PERIODIC, WALL, State, System
from hpcchain.sector import core as core_module
from hpcchain.sector import serial as engine_module
from hpcchain.sector.queue.event_order import next_key_of
from hpcchain.sector.serial import Engine
from hpcchain.sector.setup import allocate
from hpcchain.sector.setup.shell import default_shell
from tests.support import twins
from tests.support.gases import MIXTURE, gas, monomer
from tests.support.kernel_tools import chain_bonds, make_system, reverse_lists
from tests.support.whole import frame_of, state_of

END = 3.0


def run(system, end=END, **settings):
    """Run a system and return (engine, events)."""
    engine = Engine(system, log_events=True, **settings)
    assert engine.advance(end)
    return engine, engine.drain_events()


def assert_same_state(one, other):
    """Compare two engines' states bit by bit."""
    first, second = state_of(one), state_of(other)
    for name in State.ARRAYS:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)


def mixture(boundary=(PERIODIC,) * 3, seed=0, **settings):
    """Return a gas of 24 molecules of all shapes."""
    return gas(MIXTURE * 3, seed, 4.0, boundary=boundary, **settings)


BOXES = {"periodic": (PERIODIC,) * 3, "walls": (WALL,) * 3, "mixed": (PERIODIC, WALL, OPEN)}


@pytest.fixture(scope="module", params=BOXES)
def original(request):
    """A system, and the engine and events of running it."""
    system = mixture(BOXES[request.param])
    return system, *run(system)


def test_there_is_something_to_compare(original):
    _, engine, events = original
    assert len(events) > 60
    assert engine.counters["relists"] > 10 and engine.counters["segment_ends"] > 10
    assert np.all(np.diff(events["time"]) >= 0)


@pytest.mark.parametrize("stop", [0.0, 0.777, 2.0])
def test_continuing_from_the_state_gives_the_same_bits(original, stop):
    system, engine, events = original
    first, before = run(system, stop)
    state = state_of(first)
    second, after = run(System(system.box, system.topology, state, system.physics))
    assert_same_state(second, engine)
    np.testing.assert_array_equal(np.concatenate([before, after]), events)


@pytest.mark.parametrize("settings", [{"shell": 0.05}, {"shell": 0.6}, {"cell": 3.0}, {"shell": 0.3, "cell": 4.0}])
def test_shells_and_cells_leave_no_trace(original, settings):
    system, engine, events = original
    other, got = run(system, **settings)
    assert other.counters["relists"] != engine.counters["relists"] or "cell" in settings
    np.testing.assert_array_equal(got, events)
    assert_same_state(other, engine)


def test_the_order_of_lists_leaves_no_trace(original):
    system, engine, events = original
    other = Engine(system, log_events=True)
    for time in np.linspace(0, END, 13):
        reverse_lists(other.sector)
        other.advance(time)
    np.testing.assert_array_equal(other.drain_events(), events)
    assert_same_state(other, engine)


def test_while_contact_distances_grow_nothing_leaves_a_trace():
    """Shells, list order and a restart, with contact distances that grow from 0.8 by 0.06 per unit time."""
    growth = (0.8, 0.06)
    system = mixture(seed=1)
    engine, events = run(system, growth=growth)
    assert len(events) > 40
    for shell in (0.1, 0.5):
        other, got = run(system, growth=growth, shell=shell)
        np.testing.assert_array_equal(got, events)
        assert_same_state(other, engine)
    other = Engine(system, log_events=True, growth=growth)
    for time in np.linspace(0, END, 13):
        other.advance(time)
        state = state_of(other)
        before = other.drain_events()
        other = Engine(System(system.box, system.topology, state, system.physics), log_events=True, growth=growth)
        assert len(before) == np.sum((events["time"] <= time) & (events["time"] > time - END / 12))
    assert_same_state(other, engine)


def test_stops_and_frames_leave_no_trace(original):
    system, engine, events = original
    other = Engine(system, log_events=True)
    for time in np.sort(np.random.default_rng(0).uniform(0, END, 40)):
        other.advance(time)
        frame_of(other, time)
        frame_of(other, time * 0.9999999)
    other.advance(END)
    np.testing.assert_array_equal(other.drain_events(), events)
    assert_same_state(other, engine)


def test_interruptions_leave_no_trace(original):
    system, engine, events = original
    other = Engine(system, log_events=True)
    while not other.advance(END, pause=lambda: True):
        pass
    np.testing.assert_array_equal(other.drain_events(), events)
    assert_same_state(other, engine)


def test_short_lists_leave_no_trace(original, monkeypatch):
    """Lists that do not fit at the start, and again on the way, are made anew with more, and nothing else changes."""
    system, engine, events = original
    monkeypatch.setattr(allocate, "LISTED", 1)
    for name, value in (("SPARE_BLOCKS", 0.0), ("LEAST_SPARE", 0.1)):
        monkeypatch.setattr(core_module, name, value)
    other = Engine(system, log_events=True)
    assert other.core.space == 1.0
    for time in np.linspace(0, END, 13):
        other.core.enlist()
        other.advance(time)
    assert other.core.space > 1.0
    np.testing.assert_array_equal(other.drain_events(), events)
    assert_same_state(other, engine)


def test_time_does_not_go_back_when_lists_are_made_anew(original, monkeypatch):
    """Their beads may have left them by then, so that they are renewed at times that are over."""
    system, engine, _ = original
    for name, value in (("SPARE_BLOCKS", 0.0), ("LEAST_SPARE", 0.1)):
        monkeypatch.setattr(core_module, name, value)
    other, mass, before, back = Engine(system), system.topology.whole().mass[:, None], 0.0, 0
    energy = np.sum(mass * system.state.velocity**2)
    other.core.batch.size = 50
    while not other.advance(END, pause=lambda: True):
        assert other.time >= before
        before = other.time
        assert np.sum(mass * frame_of(other, before)[1] ** 2) == pytest.approx(energy, rel=1e-11)
        ticks, remainder = next_key_of(other.sector, int(other.sector.winner[L.TOP, L.ROOT]))[:2]
        back += ticks * system.physics.tick + remainder < before
    assert other.core.space > 1.0 and back > 0
    assert_same_state(other, engine)


def test_a_short_log_leaves_no_trace(original, monkeypatch):
    system, engine, events = original
    monkeypatch.setattr(engine_module, "LOG_ROWS", MOST_TIES + 1)
    other, got = run(system)
    assert len(other.sector.log) < len(events)
    np.testing.assert_array_equal(got, events)
    assert_same_state(other, engine)


def test_without_a_log_the_same_happens(original):
    system, engine, _ = original
    other = Engine(system)
    other.advance(END)
    assert len(other.drain_events()) == 0
    assert_same_state(other, engine)


def test_what_the_motion_keeps(original):
    """Energy, bonds, and no overlap; momentum where there are no walls."""
    system, engine, events = original
    topology, mass = system.topology.whole(), system.topology.whole().mass
    start = system.state
    x, v, image = frame_of(engine, END)
    energy = 0.5 * np.sum(mass[:, None] * v**2)
    assert energy == pytest.approx(0.5 * np.sum(mass[:, None] * start.velocity**2), rel=1e-12)
    if np.all(system.box.boundary == PERIODIC):
        np.testing.assert_allclose(mass @ v, mass @ start.velocity, atol=1e-11)
    np.testing.assert_allclose(twins.lengths(topology.bonds, x), topology.bond_length, rtol=1e-12)
    np.testing.assert_allclose(twins.gradient(topology.bonds, x) @ v.ravel(), 0, atol=1e-10)
    bonded = {(int(i), int(j)) for i, j in topology.bonds}
    periodic = system.box.boundary == PERIODIC
    for time in (0.3, 1.1, 2.2):
        engine = Engine(system)
        engine.advance(time)
        x = frame_of(engine, time)[0]
        for i in range(len(x)):
            r = x[i + 1 :] - x[i]
            r -= np.where(periodic, system.box.size, 0) * np.rint(r / system.box.size)
            gap = np.linalg.norm(r, axis=1) - 0.8
            near = [i + 1 + k for k in np.flatnonzero(gap < -1e-11)]
            assert all((i, j) in bonded for j in near)
        for axis in np.flatnonzero(system.box.boundary == WALL):
            assert np.abs(x[:, axis]).max() <= 0.5 * system.box.size[axis] - 0.4 + 1e-11


def test_frames_are_continuous_and_count_images():
    """A frame is the polynomial motion: x(t + h) = x(t) + h v to second order, unwrapped by the images."""
    system = mixture()
    engine = Engine(system)
    size, h = system.box.size, 1e-6
    for time in (0.5, 1.0, 4.0):
        engine.advance(time)
        (x, v, image), (later, _, _) = frame_of(engine, time), frame_of(engine, time + h)
        np.testing.assert_allclose(later, x + h * v, atol=1e-9)
        assert np.all(np.abs(x) < size)
    centre = system.topology.whole().mass @ (x + image * size)
    drift = system.topology.whole().mass @ (system.state.position + 4.0 * system.state.velocity)
    np.testing.assert_allclose(centre, drift, atol=1e-10)


def test_exact_trimer():
    """Three tangent beads folding and unfolding in a plane: contacts are elliptic integrals E.

    With E(phi, m = 2/3): t_k = sqrt(6) (E(150) - E(45) + (k - 1) (E(150) - E(30))).
    """
    x = np.array([[1.0, 0, 0], [0, 0, 0], [0, -1.0, 0]])
    v = np.array([[0, 0.5, 0], [0, 0, 0], [-0.5, 0, 0]])
    _, events = run(make_system([(chain_bonds(3), x, v, np.ones(3))]), 300.0)
    expected = 3.13359423732462494 + 3.68939049002904533 * np.arange(len(events))
    assert len(events) == 81
    np.testing.assert_allclose(events["time"], expected, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(events["bead"], np.tile([0, 2], (81, 1)))


def test_a_free_dimer_keeps_its_energy_for_a_hundred_thousand_radians():
    x = np.array([[0.0, 0, 0], [1.0, 0, 0]])
    v = np.array([[0, 1.0, 0], [0, -1.0, 0]])
    engine = Engine(make_system([(chain_bonds(2), x, v, np.ones(2))]))
    engine.advance(5e4)
    assert 0.5 * np.sum(frame_of(engine, 5e4)[1] ** 2) == pytest.approx(1.0, abs=1e-10)


def test_monomers_exchange_their_velocities():
    x, v = [[0.0, 0, 0], [3.0, 0, 0], [6.5, 0, 0]], [[1.0, 0, 0], [0, 0, 0], [0, 0, 0]]
    engine, events = run(make_system([monomer(p, q) for p, q in zip(x, v, strict=True)]), 10.0)
    np.testing.assert_array_equal(events["time"], [2.0, 4.5])
    np.testing.assert_array_equal(events["bead"], [[0, 1], [1, 2]])
    np.testing.assert_array_equal(events["impulse"], [1.0, 1.0])
    np.testing.assert_allclose(frame_of(engine, 10.0)[0][:, 0], [2.0, 5.5, 12.0], rtol=1e-15)


def test_single_beads_learn_no_length_of_segments():
    """By themselves, from a molecule that hits them and where several meet at once: nothing asks for it."""
    places = {-2.0: 1.0, 0.0: 0.0, 2.0: -1.0, 15.0: 0.0}  # and velocities
    single = [monomer([x, 0.0, 0.0], [v, 0.0, 0.0]) for x, v in places.items()]
    x, v = np.array([[20.0, 0.0, 0.0], [20.0, 1.0, 0.0]]), np.array([[-1.0, 0.0, 0.0]] * 2)
    engine, events = run(make_system([*single, (chain_bonds(2), x, v, np.ones(2))]), 4.5)
    assert engine.counters["ties"] == 1 and events["bead"].tolist() == [[0, 1], [1, 2], [3, 4]]
    step = state_of(engine).step
    assert not step[:4].any() and np.all(step[4:] > 0.0)


def test_all_segments_are_counted():
    """Those of single beads that nothing hits, too."""
    system = make_system([monomer([1.0, 5.0, 5.0], [1.0, 0.0, 0.0])], (10.0,) * 3, (PERIODIC,) * 3, (0.0,) * 3)
    engine, _ = run(system, 20.0)
    assert engine.counters["segments"] == engine.counters["bead_segments"] == engine.counters["segment_ends"] + 1 > 5


def test_bouncing_between_walls():
    system = make_system([monomer([0, 0, 0], [1.0, 0, 0])], (5.0, 5.0, 5.0), (WALL, OPEN, PERIODIC))
    engine, events = run(system, 11.0)
    np.testing.assert_array_equal(events["time"], [2.0, 6.0, 10.0])
    np.testing.assert_array_equal(events["kind"], 1)
    np.testing.assert_array_equal(events["bead"], [[0, -4], [0, -1], [0, -4]])
    np.testing.assert_array_equal(events["impulse"], 2.0)


def test_restitution():
    system = make_system([monomer([0, 0, 0], [1.0, 0, 0]), monomer([3, 0, 0], [0, 0, 0], 3.0)], restitution=0.5)
    engine, events = run(system, 5.0)
    np.testing.assert_allclose(frame_of(engine, 5.0)[1][:, 0], [1 - 1.125, 0.375], rtol=1e-14)


def test_newtons_cradle_of_touching_beads():
    """The impulse runs through a row of touching beads at one instant."""
    x = [-3.0, 0.0, 1.0, 2.0]
    beads = [monomer([p, 0, 0], [1.0 if p < 0 else 0.0, 0, 0]) for p in x]
    engine, events = run(make_system(beads), 5.0)
    np.testing.assert_array_equal(events["time"], [2.0, 2.0, 2.0])
    np.testing.assert_allclose(frame_of(engine, 5.0)[0][:, 0], [-1.0, 0.0, 1.0, 5.0], rtol=1e-15)


def test_cradle_struck_from_both_sides():
    """Two resting beads in touch, each struck at the same instant: they hit each other, and never pass through."""
    beads = [monomer([p, 0, 0], [q, 0, 0]) for p, q in ((-2.0, 1.0), (-0.5, 0.0), (0.5, 0.0), (2.0, -1.0))]
    engine, events = run(make_system(beads), 2.0)
    assert np.all(np.diff(frame_of(engine, 2.0)[0][:, 0]) >= 1 - 1e-12)
    np.testing.assert_allclose(frame_of(engine, 2.0)[1][:, 0], [-1.0, 0.0, 0.0, 1.0], atol=1e-14)
    np.testing.assert_array_equal(events["time"][:3], 0.5)


def test_a_bead_that_rests_at_a_wall_and_is_struck_into_it():
    beads = monomer([-4.5, 0, 0], [0, 0, 0]), monomer([-2.0, 0, 0], [-1.0, 0, 0])
    engine, events = run(make_system(beads, (10.0,) * 3, (WALL,) * 3), 3.0)
    assert frame_of(engine, 3.0)[0][0, 0] >= -4.5 - 1e-12
    np.testing.assert_allclose(frame_of(engine, 3.0)[1][:, 0], [0.0, 1.0], atol=1e-14)


def test_beads_pressed_together_at_the_start_bounce_at_once():
    beads = monomer([0, 0, 0], [1.0, 0, 0]), monomer([1.0 - 1e-3, 0, 0], [-1.0, 0, 0])
    engine, events = run(make_system(beads), 1.0)
    np.testing.assert_array_equal(events["time"], [0.0])
    np.testing.assert_allclose(frame_of(engine, 1.0)[1][:, 0], [-1.0, 1.0])


def test_a_rod_that_lands_flat_does_not_turn():
    x = np.array([[-1.0, 0, -3.0], [0, 0, -3.0], [1.0, 0, -3.0]])
    v = np.tile([0.25, 0, -1.0], (3, 1))
    system = make_system([(chain_bonds(3), x, v, np.array([1.0, 2.0, 1.0]))], (20.0, 20.0, 10.0), (OPEN, OPEN, WALL))
    engine, events = run(system, 3.0)
    np.testing.assert_allclose(events["time"], 1.5, rtol=1e-15)
    assert len(events) == 3
    np.testing.assert_allclose(frame_of(engine, 3.0)[1], np.tile([0.25, 0, 1.0], (3, 1)), atol=1e-14)


def test_a_bead_that_lands_between_two_beads():
    """Two contacts at one instant, by unequal masses: energy, momentum, and the same bits for any list order."""
    x, mass = np.array([[-0.6, 0, 0], [0.6, 0, 0], [0.6, 1.2, 0]]), np.array([1.0, 2, 3])
    rod = chain_bonds(3), x, np.zeros((3, 3)), mass
    system = make_system([rod, monomer([0, 0, 3.0], [0, 0, -1.0], 1.5)])
    results = []
    for flip in (False, True):
        engine = Engine(system, log_events=True, shell=4.0)
        if flip:
            reverse_lists(engine.sector)
        engine.advance(5.0)
        results.append(engine)
    assert results[0].counters["ties"] == 1 and results[0].counters["contacts"] >= 2
    v, mass = frame_of(results[0], 5.0)[1], system.topology.whole().mass
    assert 0.5 * np.sum(mass[:, None] * v**2) == pytest.approx(0.75, rel=1e-13)
    np.testing.assert_allclose(mass @ v, [0, 0, -1.5], atol=1e-13)
    assert_same_state(*results)


@pytest.mark.parametrize("boundary", [PERIODIC, OPEN])
@pytest.mark.parametrize("length", [2.6, 3.0, 3.9])
@pytest.mark.parametrize("bond", [0.8, 1.55])
def test_a_dimer_in_a_short_box(length, boundary, bond):
    """Bonded beads never collide, also where the bond is longer than a quarter or half of the box."""
    x = np.array([[0.0, 0, 0], [bond, 0, 0]])
    v = np.array([[0, 0.3, 0], [0.0, -0.3, 0.1]])
    system = make_system([(chain_bonds(2), x, v, np.ones(2))], (length, 6.0, 6.0), (boundary, PERIODIC, PERIODIC))
    engine, events = run(system, 5.0)
    assert len(events) == 0


@pytest.mark.parametrize("bead", [0, 1, 2])
@pytest.mark.parametrize("next_event", ["position", "velocity"])
def test_not_a_number_is_an_error(bead, next_event):
    beads = [monomer([p, 0, 0], [q, 0, 0]) for p, q in ((-2.0, 1.0), (0.0, 0.0), (2.0, -1.0))]
    system = make_system(beads)
    getattr(system.state, next_event)[bead, 1] = np.nan
    calls = iter(range(5))
    with pytest.raises(EngineError):
        Engine(system).advance(2.0, pause=lambda: next(calls) >= 3)


@pytest.mark.parametrize(
    ("fraction", "single", "joined"), [(0.45, 0.267, 0.267), (0.1, 0.601, 0.5), (0.01, 1.731, 0.865)]
)
def test_the_shell_suits_density_and_molecules(fraction, single, joined):
    """In diameters, for single beads and for dimers, and for as many of one as of the other between them."""

    def shell(kinds, beads):
        pitch = 0.5 * (beads / len(kinds) * np.pi / 6.0 / fraction) ** (1.0 / 3.0)
        return 2.0 * default_shell(gas(kinds, pitch=pitch, diameter=0.5, cells=(len(kinds), 1, 1)), np.zeros((0, 3)))

    assert shell(["monomer"] * 6, 6) == pytest.approx(single, abs=0.001)
    assert shell(["dimer"] * 3, 6) == pytest.approx(joined, abs=0.001)
    assert joined - 0.001 <= shell(["monomer"] * 4 + ["dimer"] * 2, 8) <= single + 0.001
