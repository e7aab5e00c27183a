"""Long chains whose segments are of stretches, against the same chains moved as wholes.

Runs of chains in parts are in tests/restart/test_long_chains.py; here what takes long is long.
"""

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import part_before, part_behind
from hpcchain.model.molecules.long_chains import LEAST, part_sizes
from hpcchain.model.system import PERIODIC, WALL, State
from hpcchain.sector.serial import Engine
from hpcchain.sector.setup.allocate import build_sector
from hpcchain.sector.setup.chain_parts import ChainParts
from tests.support.identity import in_stages, serial
from tests.support.kernel_tools import chain_bonds, make_system
from tests.support.long_chains import SIDE, crowd, in_parts, line


def figures(system, engine, time):
    """Return kinetic energy, momentum and the greatest error of a squared bond length, and unwrapped places by id."""
    x, v, image = engine.frame(time)
    place, velocity = np.empty_like(x), np.empty_like(v)
    place[engine.ids], velocity[engine.ids] = x + image * system.box.size, v
    topology = system.topology.whole()
    bonds = np.diff(place[topology.bonds], axis=1)[:, 0]
    off = np.abs((bonds**2).sum(1) / topology.bond_length**2 - 1.0).max()
    energy = 0.5 * (topology.mass[:, None] * velocity**2).sum()
    return energy, topology.mass @ velocity, off, place


ENOUGH = 100
CASES = {
    "periodic": {},
    "walls": {"boundary": (WALL, PERIODIC, WALL)},
    "losing": {"restitution": 0.9},
    "a single long chain": {"lengths": (150,), "singles": 0},
    "a ring's neighbours": {"lengths": (100, 115, 116), "singles": 20},
    "short ones": {"lengths": (LEAST, 25, 33, 40, 47, 63, 71), "singles": 20},
}


@pytest.mark.parametrize("name", CASES)
def test_contacts_are_those_of_whole_chains(name):
    """The same beads meet, in the same order, at times that round-off alone tells apart; the virial is the same."""
    system = crowd(1, **CASES[name])
    whole, parts = (Engine(one, log_events=True) for one in (system, in_parts(system, LEAST)))
    end = 1.5
    for engine in (whole, parts):
        assert engine.advance(end)
    of_whole, found = whole.drain_events(), parts.drain_events()
    assert len(of_whole) > ENOUGH and len(found) == len(of_whole)
    np.testing.assert_array_equal(found["bead"], of_whole["bead"])
    np.testing.assert_allclose(found["time"], of_whole["time"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["impulse"], of_whole["impulse"], rtol=0, atol=1e-7)
    scale = np.abs(of_whole["impulse"]).sum() * SIDE
    assert abs(parts.sums[L.SUM_VIRIAL] - whole.sums[L.SUM_VIRIAL]) * whole.quantum < 1e-9 * scale
    tensors = np.array(parts.sums[L.SUM_TENSOR : L.SUM_WALL_IMPULSE]) - np.array(
        whole.sums[L.SUM_TENSOR : L.SUM_WALL_IMPULSE]
    )
    assert np.abs(tensors).max() * whole.quantum < 1e-9 * scale
    energy, momentum, off, place = figures(system, parts, end)
    exact, _, _, other = figures(system, whole, end)
    assert energy == pytest.approx(exact, rel=1e-8)
    assert off < 3e-14
    np.testing.assert_allclose(place, other, rtol=0, atol=1e-8)


def test_energy_and_momentum_stay():
    system = in_parts(crowd(2))
    engine = Engine(system)
    energy, momentum, _, _ = figures(system, engine, 0.0)
    assert engine.advance(20.0) and engine.counters["contacts"] > 2000
    later, total, off, _ = figures(system, engine, 20.0)
    assert later == pytest.approx(energy, rel=2e-14)
    np.testing.assert_allclose(total, momentum, rtol=0, atol=1e-12)
    assert off < 3e-14


def test_fewer_beads_get_new_segments():
    system = crowd(3, lengths=(400,), singles=0)
    counts = []
    for one in (system, in_parts(system)):
        engine = Engine(one)
        engine.advance(1.0)
        counts.append(engine.counters["bead_segments"] / engine.counters["contacts"])
    assert counts[1] < 0.5 * counts[0]


def test_growing_beads():
    system = crowd(4)
    pair = [Engine(one, log_events=True, growth=(0.8, 0.1)) for one in (system, in_parts(system))]
    of_whole, found = (engine.advance(1.2) and engine.drain_events() for engine in pair)
    assert len(of_whole) > ENOUGH
    np.testing.assert_array_equal(found["bead"], of_whole["bead"])
    np.testing.assert_allclose(found["time"], of_whole["time"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("stops", [(0.3,), (0.11, 0.62, 0.97)])
def test_runs_go_on_from_their_state_to_the_same_bits(stops):
    system = in_parts(crowd(6))
    expected = serial(system, 1.2)
    assert len(expected.events) > ENOUGH
    found = in_stages(system, [(until, 0, {}) for until in (*stops, 1.2)])
    np.testing.assert_array_equal(found.events, expected.events)
    for a, b in zip(found.frame, expected.frame, strict=True):
        np.testing.assert_array_equal(a, b)
    for name in State.ARRAYS:
        np.testing.assert_array_equal(getattr(found.state, name), getattr(expected.state, name))
    assert found.sums == expected.sums


def test_lists_and_cells_leave_no_trace():
    system = in_parts(crowd(7))
    expected = serial(system, 1.2)
    for shell, cell in ((0.2, 0.0), (0.7, 2.5)):
        found = serial(system, 1.2, shell=shell, cell=cell)
        np.testing.assert_array_equal(found.events, expected.events)
        for a, b in zip(found.frame, expected.frame, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("beads", [LEAST, 39, 40, 100, 103, 104, 111, 112, 1000])
def test_parts(beads):
    sizes = part_sizes(beads)
    assert sizes.sum() == beads and (sizes[:-1] == 16).all() and 8 <= sizes[-1] <= 23


def test_there_is_space_for_a_whole_chain_and_another():
    """Where all parts end at once, all are moved together; a contact of two of its beads has scratch for all."""
    n = 3200
    x = np.column_stack([np.arange(n), np.zeros((n, 2))])
    chain_parts = ChainParts(in_parts(make_system([(chain_bonds(n), x, np.zeros((n, 3)), np.ones(n))], (2.0 * n,) * 3)))
    classes = chain_parts.classes()
    sequence = chain_parts.sequence(np.array([0]))
    s, _ = build_sector(classes, chain_parts.system, 0.2, 0.0, sequence, 0)
    tiles = n // W.LANES + 2
    assert len(s.work) >= 2 * tiles * W.TILE and len(s.impulse_response) >= tiles * W.ROW


def test_rows_of_parts():
    system = in_parts(crowd(5, lengths=(130, 30, 101), singles=3))
    chain_parts = ChainParts(system)
    engine = Engine(system)
    s = engine.sector
    assert chain_parts.system.topology.beads == system.topology.beads
    assert sorted(engine.ids) == list(range(system.topology.beads))
    for m in range(len(s.mol)):
        ids = engine.ids[s.mol[m, L.MOL_FIRST] :][: s.mol[m, L.MOL_BEADS]]
        assert (np.diff(ids) == 1).all()
        behind = part_behind(s, m)
        if behind >= 0:
            assert part_before(s, behind) == m
            assert s.chain_part[behind, L.PART_REST] == s.chain_part[m, L.PART_REST] - 1
            assert engine.ids[s.mol[behind, L.MOL_FIRST]] == ids[-1] + 1
            assert s.chain_part[behind, L.PART_CHAIN] == s.chain_part[m, L.PART_CHAIN]
            assert s.chain_part[behind, L.PART_PLACE] == s.chain_part[m, L.PART_PLACE] + 1
    assert sorted(s.centre[:, L.CENTRE_MASS]) == pytest.approx(
        sorted([system.topology.whole().mass[:130].sum(), system.topology.whole().mass[160:261].sum()])
    )


@pytest.mark.parametrize(
    "hit",
    [
        ([69.3, 23.0, 20.1], [0.0, -1.0, 0.0]),
        ([70.0, 23.0, 20.0], [0.0, -1.0, 0.0]),
        ([7.0, 20.0, 20.0], [1.0, 0.0, 0.0]),
        ([7.1, 20.3, 20.0], [1.0, 0.0, 0.0]),
    ],
    ids=["across", "right across", "along", "aslant"],
)
def test_a_straight_chain_is_moved_as_a_whole(hit):
    """The impulse of a contact does not fall along it, and a part of it that is held at both ends could not move."""
    system = line(120, [hit])
    found = []
    for one in (system, in_parts(system)):
        engine = Engine(one, log_events=True)
        assert engine.advance(4.0)
        found.append((engine.drain_events(), *figures(one, engine, 4.0)))
    (of_whole, energy, momentum, _, place), (events, *others) = found
    assert len(of_whole) == len(events) == 1
    np.testing.assert_allclose(events["impulse"], of_whole["impulse"], rtol=1e-12)
    assert others[0] == pytest.approx(energy, rel=1e-13)
    np.testing.assert_allclose(others[1], momentum, rtol=0, atol=1e-13)
    np.testing.assert_allclose(others[3], place, rtol=0, atol=1e-9)


@pytest.mark.parametrize("bend", [0.0, 0.02, 0.1])
def test_chains_that_are_pulled_straight_keep_their_momentum(bend):
    """Two heavy ends fly apart, and beads of a gas hit the chain between them."""
    n, rng = 160, np.random.default_rng(3)
    mass, velocity = np.ones(n), 0.1 * rng.normal(size=(n, 3))
    mass[[0, -1]], velocity[0], velocity[-1] = 50.0, [-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]
    ways = [(17.0, 17.0), (17.0, 23.0), (23.0, 17.0), (23.0, 23.0), (20.0, 26.0), (26.0, 20.0)]
    gas = [([x, y, z], 2.0 * rng.normal(size=3)) for x in range(5, 175, 4) for y, z in ways]
    system = in_parts(line(n, gas, mass, velocity, bend))
    engine = Engine(system)
    energy, momentum, _, _ = figures(system, engine, 0.0)
    assert engine.advance(8.0) and engine.counters["contacts"] > 20
    later, total, off, _ = figures(system, engine, 8.0)
    assert later == pytest.approx(energy, rel=1e-14)
    np.testing.assert_allclose(total, momentum, rtol=0, atol=1e-12)
    assert off < 2e-13
