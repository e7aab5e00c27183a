"""When sectors are moved: differences that chance explains, or that pass by, are not followed."""

import numpy as np
import pytest

from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.tuning.balance import ENOUGH, FIRST_LOOK, LAST_LOOK, SETTLING, Balance, imbalance

RANKS = 8


def looks(rates, windows, seed=1, slow=None):
    """Return (window, costs) of the moves that come of ranks that make so many segments per window on average.

    `slow` takes a rank and a window, and returns what each segment costs there.
    """
    ranks = len(rates)

    def body(exchange):
        rng = np.random.default_rng([seed, exchange.rank])
        balance, cost, segments, moves = Balance(exchange), 0.0, 0, []
        for window in range(1, windows + 1):
            made = 2 * rng.poisson(0.5 * rates[exchange.rank])
            segments += made
            cost += made if slow is None else made * slow(exchange.rank, window)
            costs = balance.observe(window, cost, segments)
            if costs is not None:
                moves.append((window, costs))
        return moves

    every = on_ranks(ranks, body)
    for other in every[1:]:
        assert [w for w, _ in other] == [w for w, _ in every[0]], "ranks decide differently"
    return every[0]


@pytest.mark.parametrize("ranks", [2, 8, 32])
def test_equal_ranks_are_not_moved(ranks):
    """In twelve runs; in a first look of few segments one of many ranks is by chance a tenth above the mean."""
    rates = (3.0, 30.0, 300.0)
    assert sum(len(looks(np.full(ranks, rate), 400, seed)) for rate in rates for seed in range(4)) == 0


def test_one_dear_rank_is_seen_as_soon_as_there_is_evidence():
    rates = np.full(RANKS, 100.0)
    rates[3] = 200.0
    window, costs = looks(rates, 4 * FIRST_LOOK)[0]
    assert window == SETTLING + 2 * FIRST_LOOK
    assert abs(imbalance(costs) - 200.0 / rates.mean()) < 0.2


def test_little_work_is_waited_for():
    rates = np.ones(RANKS)
    rates[3] = 1.3  # an imbalance of 1.25
    window, _ = looks(rates, 8000)[0]
    assert 0.3 * ENOUGH < rates.mean() * window < 2.0 * ENOUGH + LAST_LOOK


def test_no_costs_are_even():
    assert imbalance(np.zeros(4)) == 1.0 and imbalance(np.array([1.0, 3.0])) == 1.5
    assert looks(np.zeros(RANKS), 100) == []


def test_what_passes_by_is_not_followed():
    """A rank that is slow for a while, and then another: each in one look alone."""
    rates = np.full(RANKS, 300.0)

    def slow(rank, window):
        return 1.5 if window <= 8 and rank == 2 or 22 < window <= 28 and rank == 5 else 1.0

    assert not looks(rates, 80, slow=slow)


def test_what_stays_is_followed():
    rates = np.full(RANKS, 300.0)
    window, costs = looks(rates, 60, slow=lambda rank, window: 1.5 if rank == 2 else 1.0)[0]
    assert window == SETTLING + 2 * FIRST_LOOK
    assert int(np.argmax(costs)) == 2 and abs(imbalance(costs) - 1.5 / (8.5 / 8)) < 0.05


def test_moves_that_do_not_help_are_ever_farther_apart():
    """A rank stays the dearest, wherever the sectors' sides are: its molecules are too few."""
    rates = np.full(RANKS, 400.0)
    rates[3] = 600.0
    moves = [window for window, _ in looks(rates, 6000)]
    assert len(moves) < 25 and moves[-1] - moves[-2] == 2 * LAST_LOOK
