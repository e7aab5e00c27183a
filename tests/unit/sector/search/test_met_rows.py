"""Four neighbours at a time against one at a time in NumPy: which may be met, over edges too."""

import numpy as np
import pytest

from hpcchain.jit.decorators import kernel
from hpcchain.layout.arrays import UNBOUNDED
from hpcchain.sector.search.broad_phase import met_rows

SCALE = 7.0 / 2**32, 9.0 / 2**32, 11.0 / 2**32
UNIT, BACK = 2.0**-18, 32768.0


@kernel
def met(rows, four, count, bead, scale, back):
    """Call `met_rows` for a bead's row of int64."""
    rows_of_four, place = (four[0], four[1], four[2], four[3]), (bead[0], bead[1], bead[2])
    return met_rows(rows, rows_of_four, count, place, (scale[0], scale[1], scale[2]), bead[3] + back)


def squares(bead, rows):
    """Return the squared distances of rows from a bead, to the nearest images."""
    apart = (np.int64(bead[:3]) - rows[:, :3] + 2**31) % 2**32 - 2**31
    x, y, z = (np.float64(apart) * SCALE).T ** 2
    return (x + y) + z


def some_rows(seed, count=200):
    """Return rows of places about one near the box's edge, and that one."""
    rng = np.random.default_rng(seed)
    bead = np.array([2**31 - 5, -(2**31) + 3, 17, 40000])
    spread = rng.integers(-(2**29), 2**29, (count, 3)) + bead[:3]
    rows = np.column_stack([(spread + 2**31) % 2**32 - 2**31, rng.integers(0, 500000, count)])
    return rows.astype(np.int32), bead


@pytest.mark.parametrize("count", [1, 2, 4, 6])
def test_met_rows(count):
    """All that are near enough are found, and none that is farther by more than single precision rounds."""
    rows, bead = some_rows(3)
    rows[::7, 3] = UNBOUNDED
    far = np.float64(bead[3] + np.int64(rows[:, 3])) + BACK
    scale = np.array(SCALE) / UNIT
    distance = np.sqrt(squares(bead, rows)) / UNIT
    endless = rows[:, 3] == UNBOUNDED
    reached, beyond = (distance <= far) | endless, (distance > 1.00001 * far) & ~endless
    rng, kinds = np.random.default_rng(4), set()
    for _ in range(600):
        four = rng.integers(0, len(rows), 4)
        bits = met(rows, four, count, bead, scale, BACK)
        assert bits & ~0x1111 == 0 and bits < 1 << 4 * count
        for k in range(min(count, 4)):
            assert bits >> 4 * k & 1 == reached[four[k]] or not beyond[four[k]]
            assert bits >> 4 * k & 1 or not reached[four[k]]
        kinds.add(bits)
    assert len(kinds) == 2 ** min(count, 4)


def test_a_row_just_near_enough_is_met():
    """Rows exactly as far as both radii, in all directions and at all distances: none is missed."""
    rng = np.random.default_rng(5)
    way = rng.normal(size=(4000, 3))
    way = (way / np.sqrt(np.sum(way**2, axis=1))[:, None] * 2.0 ** rng.uniform(6, 30, 4000)[:, None]).astype(np.int64)
    scale = np.array([0.125, 0.25, 0.5])
    swept_radius = np.sqrt(np.sum((way * scale) ** 2, axis=1))
    rows = np.column_stack([way, np.ceil(swept_radius)]).astype(np.int32)
    for k in range(0, 4000, 4):
        assert met(rows, np.arange(k, k + 4), 4, np.zeros(4, dtype=np.int64), scale, 0.0) == 0x1111
    rows[:, 3] = np.floor(swept_radius * (1.0 - 1e-5)) - 1
    for k in range(0, 4000, 4):
        assert met(rows, np.arange(k, k + 4), 4, np.zeros(4, dtype=np.int64), scale, 0.0) == 0
