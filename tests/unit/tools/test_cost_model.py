"""The cost model gives back what it was fitted to, and what must hold in any case."""

import math
import runpy

import numpy as np
import pytest

from tests.support.launching import ROOT

TOOL = runpy.run_path(str(ROOT / "tools" / "cost_model"))
COUNTS = [
    {
        "ranks": 4.0,
        "beads": 8000.0,
        "events": 18.0,
        "passes_per_window": 3.0,
        "redone": 0.01,
        "ghosts_per_owned": 1.5,
        "messages_per_window": 9.0,
        "bytes_per_window": 7e4,
        "to_all_bytes": 500.0,
        "own_kB": 1.4e4,
        "other_kB": 1e3,
        "whole_kB": 1.3e3,
        "given_kB": 300.0,
        "settling_kB": 900.0,
    },
    {
        "ranks": 32.0,
        "beads": 64000.0,
        "events": 16.0,
        "passes_per_window": 4.0,
        "redone": 0.01,
        "ghosts_per_owned": 2.0,
        "messages_per_window": 64.0,
        "bytes_per_window": 8e4,
        "to_all_bytes": 500.0,
        "own_kB": 2.3e4,
        "other_kB": 1e3,
        "whole_kB": 1.0e4,
        "given_kB": 300.0,
        "settling_kB": 1000.0,
    },
]
RUNS = [
    {"ranks": 1.0, "beads": 1e4, "contacts": 1e5, "seconds": 2.0},
    {"ranks": 1.0, "beads": 1e4, "contacts": 1e5, "seconds": 2.5},
    {"ranks": 2.0, "beads": 1e4, "contacts": 1e5, "seconds": 1.8},
]
FREE = (0.0, math.inf)


def measured_window(ranks, beads, contact, held, ghosts, per_ghost=0.9, per_window=2e-3):
    """Return a row of `tools/scaling parts` that obeys the law of the model: `held` is a contact's time with ghosts."""
    engine = contact * 500.0
    work = held * 500.0 * (1.0 + per_ghost * ghosts) + per_window
    counts = {"ranks": ranks, "beads": beads, "contacts": 500.0, "ghosts_per_owned": ghosts}
    return counts | {"engine": engine, "work": work, "exchange": 1e-3}


WINDOWS = [
    measured_window(2.0, 2e4, 1e-5, 1e-5 * (1.0 + np.log10(1.6)), 0.6),
    measured_window(2.0, 2e5, 2e-5, 2e-5, 0.2),
    measured_window(4.0, 4e4, 1e-5, 1e-5 * (1.0 + np.log10(1.8)), 0.8),
    measured_window(4.0, 4e6, 1e-5, 1e-5, 0.1),
]


def model(network=(1e-6, 1e9)):
    return TOOL["Model"](COUNTS, WINDOWS, RUNS, network)


def test_it_predicts_the_run_and_the_windows_that_it_was_fitted_to():
    found = model()
    assert found.predicted(RUNS[0]) == pytest.approx(2.0, rel=1e-12)
    assert found.per_ghost == pytest.approx(0.9, rel=1e-9) and found.per_window == pytest.approx(2e-3, rel=1e-9)
    for row in WINDOWS:
        assert found.work(row) == pytest.approx(row["work"], rel=1e-9)


@pytest.mark.parametrize(("per_ghost", "per_window"), [(-0.5, 1e-3), (0.7, -1e-4), (0.0, 0.0)])
def test_nothing_costs_less_than_nothing(per_ghost, per_window):
    rows = [measured_window(2.0, 2e4, 1e-5, 1e-5, ghosts, per_ghost, per_window) for ghosts in (0.2, 0.5, 0.9)]
    ghost, fixed = TOOL["fitted_costs"]([row["engine"] for row in rows], rows)
    assert ghost >= 0.0 and fixed >= 0.0
    assert ghost == 0.0 or per_ghost > 0.0


def test_a_contact_takes_longer_where_more_is_in_use():
    """On a line of log(beads) between the measured shares of 1e4 and 1e5 beads, beyond them as at the ends.

    A share for which less was measured than for a smaller one counts as much as that.
    """
    found = model()
    assert found.per_contact(1e4) == pytest.approx(2e-5, rel=1e-12)
    assert found.per_contact(1e3) == found.per_contact(1e4) and found.per_contact(1e6) == found.per_contact(1e5)
    assert found.per_contact(10**4.5) == pytest.approx(3e-5, rel=1e-12)
    assert found.per_contact(1e5) == pytest.approx(4e-5, rel=1e-12)


def test_measured_windows_of_more_ranks_are_predicted_by_those_of_few():
    """The table in tools/measured: fitted to 2 and 4 ranks, a tenth off at most on 8 and 16 with 20,000 beads each."""
    rows = TOOL["read"](ROOT / "tools" / "measured" / "windows.csv")
    found = TOOL["Model"](COUNTS, [row for row in rows if row["ranks"] <= 4], RUNS, FREE)
    others = [row for row in rows if row["ranks"] > 4 and row["beads"] / row["ranks"] >= 2e4]
    assert len(others) >= 3
    for row in others:
        assert found.work(row) == pytest.approx(row["work"], rel=0.1), row


def test_counts_that_obey_the_model_are_given_back_and_extended():
    """Rows made from known laws for 2, 4 and 8 ranks: those of 16 and 32 follow."""
    law = model()
    rows = [
        COUNTS[0] | {"ranks": float(n), "beads": 2000.0 * n, "redone": 0.01} | law.predicted_counts(2000.0, n)
        for n in (2, 4, 8)
    ]
    found = TOOL["Model"](rows, WINDOWS, RUNS, FREE)
    for n in (2, 8, 16, 32, 1000):
        one, other = found.predicted_counts(2000.0, n), law.predicted_counts(2000.0, n)
        for name in ("events", "ghosts_per_owned", "bytes_per_window"):
            assert one[name] == pytest.approx(other[name], rel=1e-6), (n, name)


def test_measured_counts_of_more_ranks_are_predicted_by_those_of_few():
    """The table in tools/measured: fitted to 2, 4 and 8 ranks, within a sixth (messages: a quarter) on all others."""
    rows = TOOL["read"](ROOT / "tools" / "measured" / "counts.csv")
    found = TOOL["Model"]([row for row in rows if row["ranks"] <= 8], WINDOWS, RUNS, FREE)
    others = [row for row in rows if row["ranks"] > 8]
    assert len(others) >= 2
    for row in others:
        for name, value in found.predicted_counts(row["beads"] / row["ranks"], row["ranks"]).items():
            most = 0.25 if name == "messages_per_window" else 1.0 / 6.0
            assert value == pytest.approx(row[name], rel=most), (row["ranks"], name)


def test_passes_grow_like_a_logarithm():
    """On the line through the two counts between which a number of ranks lies, or which are nearest to it."""
    found = model()
    assert found.passes_of == {4.0: 3.0, 32.0: 4.0}
    assert [found.passes(n) for n in (1, 2, 4, 32)] == [3.0, 3.0, 3.0, 4.0]
    assert [found.passes(n) for n in (8, 256)] == pytest.approx([3.0 + 1.0 / 3.0, 5.0])


def test_boxes_are_those_of_a_bisection():
    found = model()
    assert [sorted(TOOL["sides_of"](n)) for n in (1, 2, 8, 16)] == [
        [1.0] * 3,
        [0.5, 1.0, 1.0],
        [0.5] * 3,
        [0.25, 0.5, 0.5],
    ]
    assert [found.neighbours(n) for n in (1, 2, 4, 8, 64, 4096)] == [0, 1, 3, 7, 26, 26]
    assert found.neighbours(8) < found.neighbours(12) < found.neighbours(16) == 11


def test_the_greatest_of_normal_numbers():
    """Blom's formula is 5 % too much for two, better for more."""
    draws = np.random.default_rng(1).normal(size=(40000, 32))
    for n in (2, 8, 32):
        assert TOOL["greatest"](n) == pytest.approx(draws[:, :n].max(axis=1).mean(), rel=0.06)


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
    assert found.ghosts(1e12, 8) / found.ghosts(8e12, 8) == pytest.approx(2.0, rel=0.01)
    assert 0.0 == found.ghosts(2000.0, 1) < found.ghosts(2000.0, 2) < found.ghosts(2000.0, 4) < found.ghosts(2000.0, 8)
    assert found.ghosts(2000.0, 8) == pytest.approx(found.ghosts(2000.0, 512), rel=1e-12)


def test_the_fastest_split_of_a_node_is_named():
    """By ranks, one or several, with two threads each where there are cores for them and that gains more."""
    measured = ((1e6, 1.1, 1.0), (1e4, 9.0, 1.3))
    rows = [
        {"length": 10.0, "fraction": 0.3, "beads": beads, "thread": alone, "both": both}
        for beads, alone, both in measured
    ]
    gains = TOOL["gains_of"]([*rows, rows[0] | {"length": 50.0}])
    assert gains == [[(1e4, 9.0), (1e6, 1.1)], [(5e3, 1.3), (5e5, 1.0)]]
    found, one = model(), {"ranks": 1, "beads": 1000000, "contacts": 1.0}
    *_, few, many = TOOL["splits"](found, gains, (10000, 1000000), (2, 16)).splitlines()
    few, many = ([cell.strip() for cell in line.strip("|").split("|")] for line in (few, many))
    assert few[:2] == ["10,000", "9.00"] and few[-2] == "1 x 2, 1 x 2"
    speeds = [found.predicted(one) / found.predicted(one | {"ranks": ranks}) for ranks in (2, 4, 8, 16)]
    assert [float(cell) for cell in many[1:-2]] == pytest.approx([1.1, *speeds], abs=0.01)
    assert max(speeds) == speeds[-1] and speeds[0] > 1.1 and many[-2:] == ["2, 16", "2, 16"]
    gains[1] = [(5e3, 3.0)]
    *_, many = TOOL["splits"](found, gains, (10000, 1000000), (2, 16)).splitlines()
    assert many.split("|")[-3].strip() == "2, 8 x 2"


def test_a_start_too_large_to_be_grown_is_copied():
    text = TOOL["verdict"](model(), 1e9, 10000)
    assert "156 GB on every rank (156 bytes a bead), and 4 GB would do for 2.56e+07 beads" in text
    assert "--replicate" in text and "--replicate" not in TOOL["verdict"](model(), 1e6, 100)


def test_a_start_from_a_file_is_flat():
    found = model()
    assert found.memory(1e5, 10)[1] == found.memory(1e5, 10000)[1] == pytest.approx(1e5 * 650.0)
    assert found.memory(1e5, 10000)[2] == pytest.approx(1e9 * 156.25)
    assert "a rank is given 65 MB" in TOOL["verdict"](found, 1e9, 10000)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("2,,5", "line 3: beads has no number"),
        ("2,4", "line 3: events has no number"),
        ("2,4,5,6", "line 3: a column without a name"),
    ],
)
def test_a_table_with_holes_is_no_measurement(tmp_path, row, says):
    """What is not known is not 0."""
    path = tmp_path / "counts.csv"
    path.write_text(f"ranks,beads,events\n1,2,3\n{row}\n")
    with pytest.raises(SystemExit, match=says):
        TOOL["read"](path)
    path.write_text("ranks,beads,events\n1,2,0\n")
    assert TOOL["read"](path) == [{"ranks": 1.0, "beads": 2.0, "events": 0.0}]
