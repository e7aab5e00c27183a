"""Progress: a bar on a terminal, elsewhere a line each ten seconds at most, and the time left smoothed."""

import io
import logging
import os

import pytest

from hpcchain.cli.console import ConsoleHandler
from hpcchain.run.progress import LINE_SECONDS, Progress, Speed


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, "hpcchain.run")
    return lambda: [record.getMessage() for record in caplog.records]


def test_lines_come_seldom_whatever_is_reported(lines):
    clock = Clock()
    progress = Progress("t", 0.0, 1000.0, stream=io.StringIO(), clock=clock)
    for _ in range(1000):
        clock.now += 0.1
        progress.look((clock.now - 100.0) * 2.0, "events 7")
    assert 8 <= len(lines()) <= 100.0 / LINE_SECONDS
    assert lines()[0].startswith("t 20") and "of 1000  events 7  490 s left" not in lines()[0]
    assert lines()[-1].endswith("min left") and "events 7" in lines()[-1]


def test_other_ranks_and_what_has_ended_say_nothing(lines):
    clock = Clock()
    other, over = Progress("t", 0.0, 1.0, rank=1, clock=clock), Progress("t", 0.0, 1.0, clock=clock)
    over.close()
    clock.now += 50.0
    other.look(0.5)
    over.look(0.5)
    assert lines() == []


def test_the_time_left_forgets_a_pause_slowly():
    clock = Clock()
    speed = Speed(0.0, clock)
    assert speed.seconds_to(1.0) is None
    at = 0.0
    for _ in range(600):
        clock.now += 0.1
        at += 0.1
        speed.look(at)
    assert speed.seconds_to(at + 10.0) == pytest.approx(10.0, rel=1e-9)
    clock.now += 5.0
    speed.look(at)
    after = speed.seconds_to(at + 10.0)
    assert 10.5 < after < 13.0
    for _ in range(1200):
        clock.now += 0.1
        at += 0.1
        speed.look(at)
    assert speed.seconds_to(at + 10.0) == pytest.approx(10.0, rel=0.02)


def test_one_look_that_came_late_is_not_all_that_counts():
    """A machine that does something else for ten minutes must not make hours of a minute."""
    clock = Clock()
    speed = Speed(0.0, clock)
    for step in range(600):
        clock.now += 0.1
        speed.look(0.1 * (step + 1))
    clock.now += 600.0
    speed.look(60.1)
    assert 600.0 < speed.seconds_to(60.1 + 10.0) < 1000.0


def test_a_terminal_gets_a_bar(lines, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    clock, stream = Clock(), Terminal()
    progress = Progress("running", 2.0, 10.0, stream=stream, clock=clock)
    for step in range(5):
        clock.now += 20.0
        progress._bar.last_print_t = 0.0  # as if time had passed for the bar, too
        progress.look(2.0 + step, "events 7")
    drawn = stream.getvalue()
    progress.close()
    assert "running:  50%|" in drawn and "| 6 of 10" in drawn and "events 7" in drawn and "left" in drawn
    assert lines() == []


def test_a_terminal_that_does_not_say_how_wide_it_is_gets_a_bar(lines, monkeypatch):
    """Terminals that programs make have 0 columns until somebody sets them; no bar shows on none."""
    monkeypatch.setenv("TERM", "xterm")
    ours, theirs = os.openpty()
    with open(theirs, "w", encoding="utf-8") as stream:
        Progress("running", 0.0, 10.0, stream=stream, clock=Clock()).close()
        drawn = os.read(ours, 4096).decode()
    os.close(ours)
    assert "running:   0%|" in drawn


def test_log_lines_do_not_tear_the_bar(lines, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    progress = Progress("running", 0.0, 10.0)
    progress.look(5.0)
    handler = ConsoleHandler()
    handler.emit(logging.LogRecord("hpcchain", logging.INFO, "", 0, "a line", None, None))
    progress.close()
    before, _, _ = stream.getvalue().partition("a line\n")
    assert before and before.endswith("\r"), repr(before[-50:])
