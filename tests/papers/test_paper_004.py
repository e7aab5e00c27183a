"""Marinkovic 2022: quick runs of its experiments, and the closed forms that they are compared with."""

import numpy as np
import pytest

from hpcchain.papers import experiments, granular
from hpcchain.papers.experiments import p004_zeno
from hpcchain.papers.result import check

QUICK = ("004-contact", "004-cooling", "004-rough", "004-zeno")


@pytest.mark.parametrize("name", QUICK)
def test_theirs_and_ours_agree_where_that_is_said(name):
    result = experiments.found()[name].run(True)
    check(name, result)
    rows = [row for table in result.tables for row in table.rows]
    assert len(rows) >= 4
    assert [(row.quantity, row.ours) for row in rows if "NOT AGREE" in row.why] == []


def test_cost_of_an_event_has_its_columns():
    result = experiments.found()["004-lubachevsky"].run(True)
    check("004-lubachevsky", result)
    assert {len(column) for column in result.data[""].values()} == {3}


def test_haffs_law_is_that_of_smooth_spheres_and_keeps_the_energy_of_rough_ones():
    contacts = np.linspace(0.0, 5.0, 6)
    smooth = granular.cooled(contacts, 0.9, 1.0)
    assert np.allclose(smooth[:, 0], np.exp(-2.0 * (1.0 - 0.81) * contacts / 3.0), rtol=1e-13)
    assert np.allclose(smooth[:, 1], 1.0)
    rough = granular.cooled(contacts, 1.0, -1.0)
    assert np.allclose(rough.sum(axis=1), 2.0, rtol=1e-13)
    assert np.allclose(granular.cooled([1e-6], 0.8, 0.3)[0], granular.cooled([0.0], 0.8, 0.3)[0], atol=1e-5)


def test_three_balls_collapse_below_the_threshold():
    least = p004_zeno.THRESHOLD
    assert p004_zeno.collisions(least - 1e-4) == p004_zeno.MOST
    assert p004_zeno.collisions(least + 1e-3) < p004_zeno.MOST


def test_a_bouncing_ball_takes_the_closed_forms_time():
    times, heights = p004_zeno.bounces(2.0, 9.8, 0.5, 100)
    assert abs(times[-1] - np.sqrt(4.0 / 9.8) * 3.0) < 1e-14
    assert heights[0] == pytest.approx(0.5)
