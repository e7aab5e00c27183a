"""How many contacts a molecule a window has."""

import math

import pytest

from hpcchain.parallel.tuning.window_length import GROW, LEAST, MOST, WindowLength


def test_the_length_goes_by_what_is_saved():
    """Figures of one machine: 25,000 beads of a rank want .8 contacts or more, 100,000 some .4, 500,000 some .1."""
    found = [WindowLength(beads).contacts for beads in (1.0, 25_000, 100_000, 500_000, 1e8)]
    assert found[:2] == [MOST, MOST] and found[-1] == LEAST
    assert found[2] == pytest.approx(0.44, abs=0.05) and found[3] == pytest.approx(0.09, abs=0.02)


def settled(rate, easy=math.inf, renewed=math.inf, window=1.0):
    """Return the length of windows of 25,000 beads that have so many contacts a molecule in unit time, after some."""
    length = WindowLength(25_000)
    for _ in range(40):
        window = length.observe(rate * window, window, False, window, easy, renewed)
    return window


def test_the_length_goes_by_how_long_the_least_skins_last():
    for easy, contacts in ((0.03, 0.3), (0.05, 0.5), (0.3, MOST), (1e-9, LEAST)):
        assert settled(10.0, easy) * 10.0 == pytest.approx(contacts)


def test_lists_are_renewed_so_many_times_at_most():
    assert settled(1e-6, renewed=0.1) == pytest.approx(0.4) == settled(0.0, renewed=0.1)


def test_it_grows_and_shrinks_by_steps():
    length = WindowLength(25_000)
    assert length.observe(1e-9, 1.0, False, 1.0, math.inf, math.inf) == GROW
    assert length.observe(1e9, 1.0, False, 1.0, math.inf, math.inf) == 0.5


def test_windows_that_were_cut_short_say_something_together():
    """Without contacts the length would grow for ever."""
    length = WindowLength(25_000)
    given = [length.observe(0.0, 0.2, True, 1.0, math.inf, math.inf) for _ in range(6)]
    assert given == [1.0] * 6
    given = [length.observe(0.4, 0.2, number == 1, 1.0, math.inf, math.inf) for number in range(3)]
    assert given == [1.0, 1.0, 0.5]
