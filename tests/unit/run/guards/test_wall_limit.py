"""The wall limit: where it comes from, what margin is kept before it, and a system clock that jumps."""

import argparse
import time

import pytest

from hpcchain import api
from hpcchain.cli.options import wall_seconds
from hpcchain.errors import EXIT_RESUBMIT
from hpcchain.parallel.comm import Single
from hpcchain.run.guards.wall_limit import LEAST_MARGIN, SAFETY, VARIABLE, WallLimit
from tests.support.run_folders import checkpoint_times, difference, log_rows, run_here

INPUT = """
[box]
size = [6.0, 6.0, 6.0]
[[molecule]]
kind = "monomer"
count = 60
[run]
end_time = 1e5
[output]
frame_every = 0.5
report_every = 0.5
checkpoint_every = 1e5
events = true
"""


class Clock:
    """Stands for the time module: clocks that a test sets."""

    def __init__(self, monkeypatch):
        self.now, self.date = 1000.0, 5.0e8
        monkeypatch.setattr("hpcchain.run.guards.wall_limit.time", self)

    def monotonic(self):
        """The clock that never jumps."""
        return self.now

    def time(self):
        """The system's clock."""
        return self.date


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("1.5", 1.5),
        ("2:30", 150.0),
        ("01:00:05", 3605.0),
        ("1-00:00:00", 86400.0),
        ("2-3:4:5", 183845.0),
    ],
)
def test_wall_times_are_read(text, seconds):
    assert wall_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "-5", "1:2:3:4", "1-30", "ten", "1e3", "nan", "1:", "00:00"])
def test_other_texts_are_no_wall_times(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a wall time"):
        wall_seconds(text)


def test_without_a_limit_it_is_never_near(clock):
    limit = WallLimit(environment={})
    clock.now += 1e9
    assert limit.left == float("inf") and not limit.near()


def test_the_earlier_of_both_ends_counts(clock):
    job = {VARIABLE: str(int(clock.date) + 500)}
    assert (WallLimit(300.0, {}).left, WallLimit(300.0, job).left, WallLimit(800.0, job).left) == (300.0, 300.0, 500.0)
    assert WallLimit(environment=job).left == 500.0


@pytest.mark.parametrize("text", ["", "0", "soon", "499999000"])
def test_a_jobs_end_that_is_none_or_past_is_not_heeded(clock, text):
    assert WallLimit(environment={VARIABLE: text}).left == float("inf")


def test_the_margin_is_learnt(clock):
    """From the longest checkpoint and the longest time between two looks, which does not count the checkpoints."""
    limit = WallLimit(1000.0, {})
    assert limit.margin == LEAST_MARGIN
    clock.now += 3.0
    assert not limit.near()
    clock.now += 40.0
    limit.saved(40.0)
    clock.now += 1.0
    limit.saved(20.0)
    clock.now += 2.0
    assert not limit.near()
    assert limit.margin == LEAST_MARGIN + SAFETY * (40.0 + 3.0)
    near = 2000.0 - limit.margin
    clock.now = near - 2.0
    limit.resume()
    assert not limit.near()
    clock.now = near
    assert limit.near()


def test_a_clock_that_jumps_changes_nothing(clock):
    limit = WallLimit(environment={VARIABLE: str(int(clock.date) + 500)})
    clock.date += 1e6
    assert limit.left == 500.0 and not limit.near()
    clock.date -= 1e8
    clock.now += 496.0
    assert limit.near()


def test_a_run_stops_before_its_limit_and_goes_on(tmp_path, monkeypatch):
    """The system's clock jumps by a year back and forth all the while."""
    monkeypatch.setattr("hpcchain.run.guards.wall_limit.LEAST_MARGIN", 6.0)
    real, jumps = time.time, iter(range(10**9))
    monkeypatch.setattr(time, "time", lambda: real() + (3e7 if next(jumps) % 2 else -3e7))
    (tmp_path / "in.toml").write_text(INPUT)
    run_here(tmp_path / "in.toml", tmp_path / "first", until=0.01)  # loads the kernels, which takes seconds
    begin = time.monotonic()
    code = api.run(tmp_path / "in.toml", output=tmp_path / "a", comm=Single(), wall_limit=10.0)
    assert code == EXIT_RESUBMIT and time.monotonic() - begin < 10.0
    end = checkpoint_times(tmp_path / "a")[0] + 0.75
    assert end > 1.0 and len(log_rows(tmp_path / "a")) > 2
    assert api.run(tmp_path / "in.toml", output=tmp_path / "a", resume="auto", until=end, comm=Single()) == 0
    run_here(tmp_path / "in.toml", tmp_path / "b", until=end)
    assert difference(tmp_path / "a", tmp_path / "b") is None
