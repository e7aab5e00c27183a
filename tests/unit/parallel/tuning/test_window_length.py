"""How long windows are."""

import math

import pytest

from hpcchain.parallel.tuning.window_length import GROW, LEAST, LEAST_WINDOW, MOST, WindowLength, first_window


def length_of(beads, window=1.0, requested=False):
    """Return a WindowLength that has seen a window already, so that the next one's contacts count."""
    length = WindowLength(beads, window, 1.0, requested)
    length.observe(window, False, 0.0, math.inf, math.inf)
    return length


def test_the_length_goes_by_what_is_saved():
    """Figures of one machine: 25,000 beads of a rank want .8 contacts or more, 100,000 some .4, 500,000 some .1."""
    found = [length_of(beads).contacts for beads in (1.0, 25_000, 100_000, 500_000, 1e8)]
    assert found[:2] == [MOST, MOST] and found[-1] == LEAST
    assert found[2] == pytest.approx(0.44, abs=0.05) and found[3] == pytest.approx(0.09, abs=0.02)


def settled(rate, easy=math.inf, renewed=math.inf):
    """Return the length of windows of 25,000 beads that have so many contacts a molecule in unit time, after some."""
    length = length_of(25_000)
    last = length.window
    for _ in range(40):
        last, passed = length.window, last
        length.observe(last, False, rate * passed, easy, renewed)
    return length.window


def test_the_length_goes_by_how_long_the_least_skins_last():
    for easy, contacts in ((0.03, 0.3), (0.05, 0.5), (0.3, MOST), (1e-9, LEAST)):
        assert settled(10.0, easy) * 10.0 == pytest.approx(contacts)


def test_lists_are_renewed_so_many_times_at_most():
    assert settled(1e-6, renewed=0.1) == pytest.approx(0.4) == settled(0.0, renewed=0.1)


def test_it_grows_and_shrinks_by_steps():
    length = length_of(25_000)
    length.observe(1.0, False, 1e-9, math.inf, math.inf)
    assert length.window == GROW
    length = length_of(25_000)
    length.observe(1.0, False, 1e9, math.inf, math.inf)
    assert length.window == 0.5


def given(length, contacts, cuts):
    """Return the lengths chosen after windows of .2, of which all but the first few were cut short or not."""
    found = []
    for cut in cuts:
        length.observe(0.2, cut, contacts, math.inf, math.inf)
        found.append(length.window)
    return found


def test_windows_that_were_cut_short_say_something_together():
    """Without contacts the length would grow for ever."""
    length = WindowLength(25_000, 1.0, 1.0, False)
    assert given(length, 0.0, [True] * 7) == [1.0] * 7
    assert given(WindowLength(25_000, 1.0, 1.0, False), 0.4, [True, False, True, True]) == [1.0, 1.0, 1.0, 0.5]


def test_a_window_that_was_taken_back_says_nothing_of_contacts():
    """What has been agreed on since is of windows before it."""
    length = length_of(25_000)
    assert length.taken_back(shorten=False) and length.window == 1.0
    length.observe(1.0, False, 1e9, math.inf, math.inf)
    assert length.window == 1.0
    length.observe(1.0, False, 1e9, math.inf, math.inf)
    assert length.window == 0.5


def test_windows_are_shortened_down_to_a_least_length():
    length = length_of(25_000)
    shortened = [length.taken_back(shorten=True) for _ in range(13)]
    assert shortened == [True] * 12 + [False] and length.window < LEAST_WINDOW


def test_a_length_that_was_requested_stays_but_where_windows_were_shortened():
    length = length_of(25_000, first_window(0.3, 1.0), requested=True)
    length.observe(0.3, False, 1e9, math.inf, math.inf)
    assert length.window == 0.3
    length.taken_back(shorten=True)
    for expected in (0.3 / 4.0 * GROW, 0.3 / 4.0 * GROW**2, 0.3 / 4.0 * GROW**3, 0.3):
        length.observe(length.window, False, 0.0, math.inf, math.inf)
        assert length.window == pytest.approx(expected)
    assert first_window(1e300, 1.0) == 2.0**40
