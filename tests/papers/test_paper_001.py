"""The experiments of Hartmann et al. 2009: its methods in the engine against exact contacts, and printed numbers."""

import numpy as np
import pytest

from hpcchain.papers import experiments
from hpcchain.papers.engine import followed
from hpcchain.papers.trimers import at_nodes, colliding, collocation, contact_times, crossing, lengths, two, verlet

PAPER = experiments.found()


def distance(track):
    """Return the largest distance from the exact path of `crossing` in the space of all coordinates."""
    return np.max(lengths(track.position - followed(crossing(), track.time).position))


def late_by(track):
    """Return the largest error of contact times."""
    assert len(track.contact) > 4
    return np.max(np.abs(track.contact - contact_times(len(track.contact))))


def test_roots_give_the_exact_contacts_and_keep_the_energy():
    track = at_nodes(colliding, collocation(0.25, 10), 40.0)
    assert late_by(track) < 1e-11
    assert np.max(np.abs(track.double_energy - 0.5)) < 1e-13
    assert np.max(np.abs(track.stretch)) < 1e-13


def test_nested_intervals_miss_contacts_by_their_width():
    assert 1e-6 < late_by(at_nodes(colliding, collocation(0.25, 10, "paper", nested=True), 40.0)) < 1e-2


def test_order_of_contact_times():
    errors = [late_by(at_nodes(colliding, collocation(step, 3), 20.0)) for step in (0.25, 0.125)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(6, abs=0.7)


def test_verlet_is_of_second_order_and_its_solvers_agree():
    errors = [distance(at_nodes(crossing, verlet(h), 10.0)) for h in (0.02, 0.01)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.05)
    analytic, sweeping = (at_nodes(two, verlet(0.01, solver), 20.0) for solver in ("analytic", "sweeping"))
    assert len(analytic.contact) == len(sweeping.contact) > 0
    assert np.max(np.abs(analytic.position - sweeping.position)) < 1e-7
    assert np.max(np.abs(analytic.stretch)) < 1e-11


@pytest.mark.parametrize(
    ("tau", "s", "dx", "dE"),
    [(0.1, 4, 1.7e-4, 6.7e-6), (0.4, 7, 1.2e-4, 8.9e-6), (0.7, 10, 2.4e-4, 2.2e-5), (1.0, 10, 0.255, 1.4e-2)],
)
def test_entries_of_table1(tau, s, dx, dE):
    """Against the exact motion: |dx| is far above the error of the paper's reference."""
    track = at_nodes(crossing, collocation(tau, s, "paper", "newton"), 100.0)
    assert distance(track) == pytest.approx(dx, rel=0.15)
    assert np.max(np.abs(track.double_energy - 1.0)) == pytest.approx(dE, rel=0.6)


def test_two_trimers_have_the_known_contacts_and_the_printed_error():
    track = at_nodes(two, collocation(0.5, 10, "paper", nested=True), 1000.0)
    assert len(track.contact) == 255
    assert np.max(np.abs(track.double_energy - track.double_energy[0])) == pytest.approx(1.1e-7, rel=0.1)
    assert np.max(np.abs(track.angular[:, 2] - track.angular[0, 2])) == pytest.approx(3e-8, rel=0.15)
    sound = at_nodes(two, collocation(0.5, 10), 1000.0)
    assert len(sound.contact) == 255
    assert np.max(np.abs(sound.double_energy - sound.double_energy[0])) < 1e-11


@pytest.mark.parametrize("name", [name for name in PAPER if name.startswith("001-")])
def test_quick_runs_give_rows_and_a_figure(name):
    figures = pytest.importorskip("matplotlib.figure")
    result = PAPER[name].run(True)
    assert result.data and all(table.rows for table in result.tables)
    assert all(
        np.all(np.isfinite(column))
        for columns in result.data.values()
        for head, column in columns.items()
        if head in ("time", "d2E", "dL3", "cpu", "dx")
    )
    figure = figures.Figure()
    PAPER[name].draw(result, figure)
    assert figure.axes
