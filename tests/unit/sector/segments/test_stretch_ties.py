"""Contacts of long chains at one instant, moved in stretches, against the same chains moved as wholes."""

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.model.system import PERIODIC
from hpcchain.sector.serial import Engine
from hpcchain.sector.setup.chain_parts import ChainParts
from tests.support.extended import with_extended
from tests.support.kernel_tools import chain_bonds, make_system
from tests.support.long_chains import in_parts, line
from tests.support.long_ties import across_a_narrow_box, cradle, flat, mirrored, packed, stack

CASES = {
    "flat": (flat(), 6.0, 150),
    "flat, with losses": (flat(restitution=0.9), 4.0, 140),
    "mirrored": (mirrored(), 4.0, 30),
    "mirrored, with losses": (mirrored(5, restitution=0.95), 5.0, 30),
    "a cradle": (cradle(), 3.0, 100),
    "a stack": (stack(4), 1.6, 400),
}

ROUNDING = 1e-12


def outcome(system, end):
    """Return a system's events to a time, in order of time but for rounding, velocities at the end, and the engine.

    What rests on a wall may have an impulse that is rounding alone, or none: such are left out.
    """
    engine = Engine(system, log_events=True)
    assert engine.advance(end)
    events = engine.drain_events()
    events = events[events["impulse"] > ROUNDING]
    order = np.lexsort((*events["bead"].T[::-1], np.round(events["time"], 7)))
    velocity = np.empty((system.topology.beads, 3))
    velocity[engine.ids] = engine.frame(end)[1]
    return events[order], velocity, engine


def require_the_same(system, end, least):
    """Require the same events of chains in parts as of whole ones; return both engines."""
    (expected, speed, whole), (found, velocity, parts) = (outcome(one, end) for one in (system, in_parts(system)))
    assert len(expected) >= least and whole.counters["ties"] > 0 and parts.counters["ties"] > 0
    np.testing.assert_array_equal(found["bead"], expected["bead"])
    np.testing.assert_allclose(found["time"], expected["time"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["impulse"], expected["impulse"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(velocity, speed, rtol=0, atol=1e-8)
    scale = np.abs(expected["impulse"]).sum() * system.box.size.max()
    assert abs(parts.sums[L.SUM_VIRIAL] - whole.sums[L.SUM_VIRIAL]) * whole.quantum < 1e-9 * scale
    tensors = np.array(parts.sums[L.SUM_TENSOR : L.SUM_WALL_IMPULSE]) - np.array(
        whole.sums[L.SUM_TENSOR : L.SUM_WALL_IMPULSE]
    )
    assert np.abs(tensors).max() * whole.quantum < 1e-9 * scale
    return whole, parts


@pytest.mark.parametrize("name", CASES)
def test_what_touches_at_one_instant_is_parted_together(name):
    system, end, least = CASES[name]
    require_the_same(system, end, least)


def test_all_beads_of_a_chain_that_lands_flat_turn_round_at_once():
    system = flat()
    first = system.topology.whole().first_bead[1]
    alone = in_parts(system)
    alone.state.position[first:, 1] = 3.0  # out of the chain's way
    events, velocity, engine = outcome(alone, 3.6)
    walls = events[events["bead"][:, 0] < first]
    assert len(walls) == first and engine.counters["ties"] == 2  # of sixty each, the most that are solved together
    np.testing.assert_allclose(walls["time"], 3.55, rtol=0, atol=1e-12)
    np.testing.assert_allclose(velocity[:first], np.broadcast_to([0.0, 0.0, 1.0], (first, 3)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_neighbours_on_a_lattice_part_as_of_whole_chains(seed):
    """All touch at the start: what happens then is the same, on which everything later depends."""
    system = packed(seed)
    (expected, _, _), (found, _, _) = (outcome(one, 0.2) for one in (system, in_parts(system)))
    begin = expected["time"] < 1e-9
    assert np.sum(begin) > 100
    np.testing.assert_array_equal(found["bead"][: np.sum(begin)], expected["bead"][begin])
    np.testing.assert_allclose(found["impulse"][: np.sum(begin)], expected["impulse"][begin], rtol=0, atol=1e-12)


def test_an_image_of_a_bonded_bead_that_is_hit_at_once_takes_part():
    """All touch at the start: a bead of the chain another bead, and an image of the next bead along the chain."""
    system, bead = across_a_narrow_box()
    (expected, _, whole), (found, _, parts) = (outcome(one, 0.02) for one in (system, in_parts(system)))
    assert whole.counters["ties"] == parts.counters["ties"] == 1
    np.testing.assert_array_equal(expected["bead"][:2], [[0, bead], [bead, bead + 1]])
    np.testing.assert_array_equal(found["bead"], expected["bead"])
    np.testing.assert_allclose(found["impulse"], expected["impulse"], rtol=0, atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("rule", ["generalised", "moreau"])
def test_rules_for_all_that_hang_together(rule):
    """Kernels take minutes to compile."""
    for name, least in (("a cradle", 5), ("flat", 70)):
        system, end, _ = CASES[name]
        require_the_same(with_extended(system, simultaneous=rule), end, least)


@pytest.mark.parametrize("chains, most", [(1, 8), (3, 8 + 3 * 6), (40, 8 + 11 * 6)])
def test_there_is_space_for_the_parts_of_as_many_chains_as_one_event_may_take(chains, most):
    """Twelve, the longest that there are."""
    lengths = (130,) + (101,) * chains if chains > 1 else (130,)
    x = np.arange(130)[:, None] * [1.0, 0.0, 0.0] + [5.0, 5.0, 5.0]
    molecules = [
        (chain_bonds(n), x[:n] + [0.0, 2.0 * k, 0.0], np.zeros((n, 3)), np.ones(n)) for k, n in enumerate(lengths)
    ]
    system = make_system(molecules, (200.0, 120.0, 20.0), (PERIODIC,) * 3, diameter=0.9)
    assert ChainParts(in_parts(system)).most_parts() == most


@pytest.mark.parametrize("bead", [3, 20, 60, 117])
def test_what_hits_a_straight_chain_right_across_pulls_at_all_of_it(bead):
    """The impulse moves one bead alone; then each bond pulls at the next, and the chain's momentum stays."""
    system = line(120, [([10.0 + bead, 20.0, 23.0], [0.0, 0.0, -1.0])])
    found = []
    for one in (system, in_parts(system)):
        engine = Engine(one)
        assert engine.advance(2.6) and engine.counters["contacts"] == 1
        velocity = np.empty((system.topology.beads, 3))
        velocity[engine.ids] = engine.frame(2.6)[1]
        found.append(velocity)
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-11)
    np.testing.assert_allclose(found[1][:120].sum(axis=0), [0.0, 0.0, -1.0], rtol=0, atol=1e-13)
