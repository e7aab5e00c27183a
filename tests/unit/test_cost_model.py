"""The cost model gives back what it was fitted to, and what must hold in any case."""

import math
import runpy

import pytest
from launching import ROOT

TOOL = runpy.run_path(str(ROOT / "tools" / "cost_model"))
COUNTS = [{"ranks": 4.0, "beads": 8000.0, "events": 18.0, "passes_per_window": 3.0, "redone": 0.01,
           "ghosts_per_owned": 1.5, "messages_per_window": 9.0, "bytes_per_window": 7e4, "to_all_bytes": 500.0,
           "own_kB": 1.4e4, "other_kB": 1e3, "whole_kB": 1.3e3},
          {"ranks": 32.0, "beads": 64000.0, "events": 16.0, "passes_per_window": 4.0, "redone": 0.01,
           "ghosts_per_owned": 2.0, "messages_per_window": 64.0, "bytes_per_window": 8e4, "to_all_bytes": 500.0,
           "own_kB": 2.3e4, "other_kB": 1e3, "whole_kB": 1.0e4}]  # fmt: skip
RUNS = [{"ranks": 1.0, "beads": 1e4, "contacts": 1e5, "seconds": 2.0},
        {"ranks": 1.0, "beads": 1e4, "contacts": 1e5, "seconds": 2.5},
        {"ranks": 2.0, "beads": 1e4, "contacts": 1e5, "seconds": 1.8}]  # fmt: skip
FREE = (0.0, math.inf)


def model(network=(1e-6, 1e9)):
    return TOOL["Model"](COUNTS, RUNS, network)


def test_it_predicts_what_it_was_fitted_to():
    found = model()
    parts = found.window(5e3, 2)
    sending = found.windows(RUNS[2]) * (parts["messages"] + parts["agreement"] + parts["to all"])
    assert found.predicted(RUNS[0]) == pytest.approx(2.0, rel=1e-12)
    assert found.predicted(RUNS[2]) - sending == pytest.approx(1.8, rel=1e-12) and sending > 0.0
    assert found.ghosts(2000.0) == pytest.approx(2.0, rel=1e-12)
    assert found.bytes_per_ghost * found.ghosts(2000.0) * 2000.0 == pytest.approx(8e4, rel=1e-12)
    assert found.neighbours == 16.0 and found.passes == 4.0


def test_one_rank_is_efficient_and_more_ranks_are_less():
    found = model()
    assert found.efficiency(2e4, 1) == pytest.approx(1.0, rel=1e-12)
    efficiencies = [found.efficiency(2e4, ranks) for ranks in (1, 2, 8, 64, 1000, 10000)]
    assert efficiencies == sorted(efficiencies, reverse=True) and efficiencies[-1] > 0.0
    assert found.efficiency(1e6, 1000) > found.efficiency(1e4, 1000)


def test_a_network_that_costs_nothing_leaves_the_work():
    parts = model(FREE).window(2e4, 1000)
    assert parts["messages"] == parts["agreement"] == parts["to all"] == 0.0 and parts["computing"] > 0.0


def test_ghosts_go_with_the_surface():
    found = model()
    assert found.ghosts(1e9) / found.ghosts(8e9) == pytest.approx(2.0, rel=0.02)
    assert found.ghosts(2000.0, 2) < found.ghosts(2000.0, 4) < found.ghosts(2000.0, 8) == found.ghosts(2000.0, 1000)


def test_arrays_over_the_whole_system_are_named():
    text = TOOL["verdict"](model(), 1e9, 10000)
    assert "it cannot start" in text and "156 bytes a bead" in text
    assert "it cannot start" not in TOOL["verdict"](model(), 1e6, 100)
