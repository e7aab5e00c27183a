"""The length of windows is found from their cost, whatever else disturbs some of them."""

import numpy as np
import pytest

from hpcchain.parallel.window_length import LEAST, MOST, WindowLength


def found(beads, cost, windows=8000, noise=0.0, seed=1):
    """Return the contacts that windows have after some thousand, which cost `cost` of their contacts for unit time."""
    rng, length, chosen = np.random.default_rng(seed), WindowLength(beads), []
    for _ in range(windows):
        passed = length.contacts
        length.ended(cost(passed) * passed * (1.0 + noise * rng.exponential()), passed)
        chosen.append(length.contacts)
    return chosen


def test_the_first_length_goes_by_what_is_saved():
    """Figures of one machine: 25,000 beads of a rank want .8 contacts or more, 100,000 some .4, 500,000 some .1."""
    firsts = [WindowLength(beads).contacts for beads in (1.0, 25_000, 100_000, 500_000, 1e8)]
    assert firsts[:2] == [MOST, MOST] and firsts[-1] == LEAST
    assert firsts[2] == pytest.approx(0.44, abs=0.05) and firsts[3] == pytest.approx(0.09, abs=0.02)


def test_the_first_length_goes_by_how_long_the_least_skins_last():
    """As contacts become more or fewer, until lengths are compared."""
    length = WindowLength(25_000)
    for contacts, given in ((0.3, 0.3), (0.5, 0.5), (3.0, MOST), (1e-9, LEAST), (0.2, 0.2)):
        length.begin_with(contacts)
        assert length.contacts == given
    for _ in range(200):
        length.ended(1.0, length.contacts)
    compared = length.contacts
    length.begin_with(0.7)
    assert length.contacts == compared


@pytest.mark.parametrize("best", [0.1, 0.4, 1.2])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_best_length_is_found(best, noise):
    chosen = found(100_000, lambda contacts: 1.0 + np.log(contacts / best) ** 2, noise=noise)
    assert abs(np.log(chosen[-1] / best)) < np.log(1.6)


def test_what_makes_no_difference_is_left_alone():
    chosen = found(100_000, lambda contacts: 1.0, noise=1.0, windows=20_000)
    ratio = np.array(chosen) / chosen[0]
    assert np.mean(np.abs(np.log(ratio)) < np.log(2.3)) > 0.9


def test_comparisons_are_seldom_where_nothing_is_gained():
    chosen = found(100_000, lambda contacts: 1.0, windows=20_000)
    assert np.mean(np.array(chosen) != chosen[0]) < 0.05
