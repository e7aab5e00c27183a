"""A sector's arrays begin as the system is; cells may be folded without bringing beads together that are apart."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from hpcchain.errors import EngineError
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import unpacked_starts
from hpcchain.model.system import PERIODIC, Box
from hpcchain.sector.setup.allocate import build_sector, energy_quantum, folded, quanta
from hpcchain.sector.setup.molecule_classes import MoleculeClasses, space_sequence
from tests.support.extended import wall_table, with_extended
from tests.support.kernel_tools import make_system, partners_of, random_chain


def test_every_array_of_beads_has_the_states_row():
    system = make_system([random_chain(3, 1), random_chain(1, 2), random_chain(5, 3)], diameter=0.5)
    state, beads = system.state, len(system.state.position)
    rng = np.random.default_rng(4)
    state.velocity[:] = rng.normal(size=(beads, 3))
    state.ticks[:], state.remainder[:] = rng.integers(9, size=beads), rng.uniform(size=beads) * 1e-3
    state.depth[:], state.struck[:] = rng.integers(-1, 5, size=beads), rng.integers(2, size=beads)
    order = np.array([2, 0, 1])
    s, ids = build_sector(MoleculeClasses(system), system, 0.2, 0.0, order, 0)
    assert ids.tolist() == [4, 5, 6, 7, 8, 0, 1, 2, 3]
    assert np.array_equal(s.starts[:, L.X : L.VX], state.position[ids])
    assert np.array_equal(s.starts[:, L.VX : L.START_TICKS], state.velocity[ids])
    assert np.array_equal(s.starts[:, L.START_TICKS], state.ticks[ids])
    assert np.array_equal(s.starts[:, L.START_REM], state.remainder[ids])
    depth, struck, _ = unpacked_starts(s.segment[:, L.START_MARKS])
    assert np.array_equal(depth, state.depth[ids]) and np.array_equal(struck, state.struck[ids].astype(bool))
    assert s.segment[:, L.MOLECULE].tolist() == [0] * 5 + [1] * 3 + [2]
    assert s.radius.tolist() == [0.25] and np.array_equal(s.bead_id, ids)
    assert np.all(partners_of(s) == L.NO_EVENT) and np.all(np.isinf(s.event_time))
    assert s.mol[:, L.MOL_FIRST].tolist() == [0, 5, 8] and s.mol[:, L.MOL_BEADS].tolist() == [5, 3, 1]
    assert (W.UNIT * s.mol[:, L.MOL_SERIES]).tolist() == np.cumsum([0, *W.series_floats(np.array([5, 3]))]).tolist()


@pytest.mark.parametrize("seed", range(20))
def test_beads_in_folded_cells_are_neighbours_where_they_were(seed):
    """Along each axis two layers that are next to each other stay so, and no others become so unless both are empty."""
    rng = np.random.default_rng(seed)
    cells, size = rng.integers(6, 40, size=3), np.array([20.0, 31.0, 17.0])
    box = Box(size, np.full(3, PERIODIC), np.zeros(3))
    low, width = rng.uniform(0.0, 1.0, size=3), rng.uniform(0.02, 1.0, size=3)
    position = (low + width * rng.uniform(size=(200, 3))) * size
    found = folded(cells, box, position)
    few, edge = found[:3], found[4:]
    assert np.all(few <= cells) and np.all(edge % few == 0) and np.all(edge <= cells)
    layer = np.floor(position / size % 1.0 * edge).astype(np.int64)
    for axis in range(3):
        a, b = layer[:, None, axis], layer[None, :, axis]
        apart = np.minimum((a - b) % edge[axis], (b - a) % edge[axis])
        near = np.minimum((a - b) % few[axis], (b - a) % few[axis])
        assert np.array_equal(apart <= 1, near <= 1) or few[axis] < 4, (axis, cells, found)


def test_a_corner_of_a_large_box_takes_few_cells():
    box = Box(np.full(3, 100.0), np.full(3, PERIODIC), np.zeros(3))
    corner = np.random.default_rng(1).uniform(0.0, 10.0, size=(50, 3))
    assert np.prod(folded(np.full(3, 100), box, corner)[:3]) < 100**3 / 200
    assert folded(np.full(3, 100), box, 10.0 * corner)[:3].tolist() == [100, 100, 100]


def test_the_local_order_is_that_of_the_curve():
    """Eight beads in the octants of a box: their numbers in the order of the octants' bits, x the lowest."""
    octant = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)])
    shuffled = np.random.default_rng(7).permutation(8)
    none = np.empty((0, 2), dtype=np.int64)
    molecules = [(none, 2.5 + 5.0 * octant[k][None], np.zeros((1, 3)), np.ones(1)) for k in shuffled]
    system = make_system(molecules, size=(10.0,) * 3, boundary=(PERIODIC,) * 3, origin=(0.0,) * 3)
    order = space_sequence(system, np.arange(8), np.arange(8))
    assert shuffled[order].tolist() == list(range(8))


@pytest.mark.parametrize("image", [2**30, -(2**53)])
def test_image_counts_that_no_row_can_hold_are_refused(image):
    """Rows hold 32 bits; half of that is kept for what a run adds before it is looked at."""
    system = make_system([random_chain(2, 0), random_chain(1, 1)], (9.0, 9.0, 9.0))
    for count, refused in ((2**30 - 1, False), (image, True)):
        system.state.image[2] = 0, count, 0
        build = partial(build_sector, MoleculeClasses(system), system, 0.2, 0.0, np.arange(2), 0)
        if refused:
            with pytest.raises(EngineError, match="1073741824 box lengths or more from image 0"):
                build()
        else:
            assert build()[0].mol[1, L.MOL_IMAGE + L.Y] == count


@pytest.mark.parametrize(
    "extended",
    [
        {"fixed_speed": 1e4},
        {"walls": [wall_table(side="x-", velocity=-1e4)]},
        {"walls": [wall_table(side="x-", temperature=1e8)]},
        {"thermostat": {"temperature": 1e8, "rate": 1.0}},
    ],
)
def test_a_hundred_thousand_contacts_with_what_is_fast_do_not_overflow_sums(extended):
    """That many come between two returns to Python, which adds sums to numbers without bounds."""
    system = make_system([random_chain(1, 1)], diameter=0.5)
    system = with_extended(replace(system, physics=replace(system.physics, tick=2.0**-4)), **extended)
    many, most, impulse = 1e5, 2.0**63, 2.0 * 1e4
    assert many * impulse * 1e4 < most * energy_quantum(system)
    virial, push = quanta(system)
    assert many * impulse * 0.5 < most * virial and many * impulse < most * push
