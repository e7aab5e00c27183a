"""Times as ticks and remainders: later, between, since a segment began."""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import hpcchain
from hpcchain.layout import arrays as L
from hpcchain.layout import clock

TICK = 2.0**-6


class Sector(NamedTuple):
    """The arrays of a sector that are read here."""

    starts: np.ndarray
    par: np.ndarray


@pytest.fixture
def sector():
    """Return two segments, of which the second begins 2.5 ticks after the clock's zero."""
    s = Sector(np.zeros((2, L.START_COLUMNS)), np.zeros(L.PARAMETERS))
    s.par[L.TICK] = TICK
    s.starts[1, L.START_TICKS], s.starts[1, L.START_REM] = 2.0, 0.5 * TICK
    return s


def test_how_long_after_the_start_of_a_segment(sector):
    assert clock.since_start(sector, 0, 3.0, 0.25 * TICK) == 3.25 * TICK
    assert clock.since_start(sector, 1, 3.0, 0.25 * TICK) == 0.75 * TICK
    assert clock.since_start(sector, 1, 2.0, 0.0) == -0.5 * TICK
    assert (clock.start_time(sector, 0), clock.start_time(sector, 1)) == (0.0, 2.5 * TICK)


def test_late_in_a_run_short_times_are_exact(sector):
    late = 2.0**52
    sector.starts[:, L.START_TICKS] += late
    assert clock.since_start(sector, 1, late + 3.0, 2.0**-60) == 0.5 * TICK + 2.0**-60


@pytest.mark.parametrize(
    ("dt", "ticks", "remainder"), [(0.25, 5.0, 0.75), (0.5, 6.0, 0.0), (3.75, 9.0, 0.25), (-1.0, 4.0, 0.5)]
)
def test_later(dt, ticks, remainder):
    assert clock.after(5.0, 0.5 * TICK, dt * TICK, TICK) == (ticks, remainder * TICK)


def test_the_time_since_a_start_is_taken_in_one_way():
    """Nothing but `since_start` and `start_time` takes a segment's start from a time, or makes it one number."""
    package = Path(hpcchain.__file__).parent
    found = [
        (str(path.relative_to(package)), text)
        for folder in ("contact", "layout", "sector")
        for path in sorted((package / folder).rglob("*.py"))
        for text in re.findall(
            r"time_span\([^()]*starts\[\w+, L\.START_TICKS\][^()]*\)|starts\[\w+, L\.START_TICKS\]\)? \* .*",
            path.read_text(encoding="utf-8"),
        )
    ]
    assert [path for path, _ in found] == ["layout/clock.py"] * 2, found
