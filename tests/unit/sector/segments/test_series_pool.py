"""Series take the space that their orders ask for: blocks never overlap, none is lost, and nothing else changes."""

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.segment_bits import series_begin, series_order
from hpcchain.run.starts.growth import grown_system
from hpcchain.sector import core
from hpcchain.sector.segments.series_pool import LONGER, PADDING, event_floats, units_for
from hpcchain.sector.serial import Engine
from tests.support.gases import gas
from tests.support.whole import frame_of

INPUT = """
[box]
size = [14, 14, 14]
[run]
end_time = 1.0
[[molecule]]
kind = "chain"
beads = 6
count = 200
[[molecule]]
name = "dimer"
kind = "chain"
beads = 2
count = 100
[[molecule]]
kind = "monomer"
count = 100
"""
LONGEST, END = 6, 0.3
pytestmark = pytest.mark.engine


def lengths_for(beads, order):
    """Return how many units a molecule may have for series of an order."""
    return [units_for(beads, k) for k in range(order, min(order + LONGER, W.KMAX) + 1)]


def blocks(s):
    """Return (begin, end) of all blocks of `series`, those of molecules and the free ones."""
    found = []
    for m in np.flatnonzero(s.mol[:, L.MOL_SOLVER] != L.BALLISTIC):
        assert int(s.series_units[m]) in lengths_for(int(s.mol[m, L.MOL_BEADS]), int(s.mol[m, L.MOL_ORDER]))
        found.append((W.UNIT * int(s.mol[m, L.MOL_SERIES]), W.UNIT * int(s.series_units[m])))
    for units, begin in enumerate(s.free_series):
        while begin >= 0:
            found.append((int(begin), W.UNIT * units))
            begin = int(s.series[begin])
    return sorted((begin, begin + size) for begin, size in found)


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    """Return a dense mixture, whose series have many orders."""
    path = tmp_path_factory.mktemp("pool") / "in.toml"
    path.write_text(INPUT, encoding="utf-8")
    return grown_system(load_config(path))


@pytest.fixture(scope="module")
def runs(system):
    """Return engines with packed series, and with space for the highest orders, after the same run."""
    wide = Engine(system)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "LEAST_PACKED", 0)
        packed = Engine(system)
    for engine in (packed, wide):
        engine.advance(END)
    return packed, wide


def test_blocks_are_hardly_longer_than_orders_ask_for_and_fill_the_space_without_overlap(runs):
    s = runs[0].sector
    assert_sound(s)
    assert np.any(s.free_series >= 0)
    assert s.scalars[L.SCALAR_SERIES_END] + event_floats(len(s.free_series)) + PADDING <= len(s.series)


def assert_sound(s):
    """Every float up to the pool's end is in one block, of a molecule or free; none is much longer than it need be."""
    assert len(s.free_series) == LONGEST * W.CURVE // W.UNIT + 1
    found = blocks(s)
    assert found[0][0] == 0 and found[-1][1] == s.scalars[L.SCALAR_SERIES_END] < len(s.series)
    assert all(end == begin for (_, end), (begin, _) in zip(found[:-1], found[1:], strict=True))
    m = np.flatnonzero(s.mol[:, L.MOL_SOLVER] != L.BALLISTIC)
    for k in m:
        for b in range(s.mol[k, L.MOL_BEADS]):
            i = int(s.mol[k, L.MOL_FIRST]) + b
            assert series_order(s.segment, i) == s.mol[k, L.MOL_ORDER]
            size = W.curve(int(s.mol[k, L.MOL_ORDER]))
            assert series_begin(s.mol, s.segment, i) == W.UNIT * s.mol[k, L.MOL_SERIES] + b * size


def test_bits_are_those_with_space_for_the_highest_orders(runs):
    packed, wide = runs
    assert len(wide.sector.free_series) == 0 and len(packed.sector.series) < 0.95 * len(wide.sector.series)
    assert packed.counters == wide.counters and packed.counters["contacts"] > 300
    assert [a.tobytes() for a in frame_of(packed, END)] == [a.tobytes() for a in frame_of(wide, END)]


@pytest.mark.parametrize("few", [0, 10**9], ids=["as of many", "as of few"])
@pytest.mark.parametrize(("spare", "least"), [(10**9, 1), (50, 10**9)], ids=["another array", "the same"])
def test_series_are_moved_where_the_space_ends_and_no_bit_changes(system, runs, few, spare, least):
    """With little to spare blocks are let go, split, and moved many times over, in another array or in the same."""
    moved = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "LEAST_PACKED", 0)
        patch.setattr(core, "FEW", few)
        patch.setattr(core, "SPARE_OF_FEW" if few else "SPARE_SERIES", spare)
        patch.setattr(core, "LEAST_OF_FEW" if few else "LEAST_SPARED", least)
        former = core.Core.pack_series
        patch.setattr(core.Core, "pack_series", lambda self: (moved.append(1), former(self)))
        engine = Engine(system)
        engine.advance(END)
    assert len(moved) > 3
    assert_sound(engine.sector)
    assert [a.tobytes() for a in frame_of(engine, END)] == [a.tobytes() for a in frame_of(runs[1], END)]


def test_high_orders_everywhere_have_space_for_the_highest():
    """Where packing saves nothing each molecule has a place of its own, as in windows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core, "LEAST_PACKED", 0)
        patch.setattr(core, "SPARED", 0)
        engine = Engine(gas(["chain5"] * 60, 5, 6.0))
        engine.advance(1.0)
    s = engine.sector
    assert engine.counters["contacts"] > 20 and len(s.free_series) == 0 and len(s.series) == 300 * W.CURVE
