"""Collocation's variants, solvers and nested intervals in the engine: tables at their own order, energy, restarts."""

import numpy as np
import pytest

from hpcchain.sector.serial import Engine
from tests.reference import cases, tables
from tests.reference.contacts import Geometry
from tests.support.solved import instants, invariants, propagator, start, stretched
from tests.support.whole import frame_of

NESTED = {"contact_search": "nested"}
ALL = NESTED | {"contact_stages": "all"}
PAPER = {"variant": "paper"}


def first_contacts(name, folder, stages, step, count=4, **keys):
    """Return the times of the first contacts of a published system, and its exact ones."""
    exact = tables.load(name).time[:count].astype(float)
    engine = Engine(start(tables.SYSTEMS[name](), folder, **propagator(stages, step), **keys), log_events=True)
    engine.advance(exact[-1] + 0.01)
    return instants(engine.drain_events())[:count], exact


@pytest.mark.parametrize("name", ["trimer_44", "thermal_n5_seed7"])
@pytest.mark.parametrize(
    ("keys", "stages", "step", "allowed"),
    [
        ({"variant": "index1"}, 6, 0.05, 1e-11),
        ({"variant": "index1", "stage_solver": "newton"}, 12, 0.1, 1e-11),
        ({"variant": "index2", "stage_solver": "newton"}, 12, 0.1, 1e-11),
        (PAPER, 12, 0.1, 1e-9),
        (PAPER, 6, 0.025, 1e-7),
    ],
)
def test_event_table(name, keys, stages, step, allowed, tmp_path):
    found, exact = first_contacts(name, tmp_path, stages, step, **keys)
    assert np.max(np.abs(found - exact)) < allowed


@pytest.mark.parametrize(
    ("variant", "stages", "steps", "order"),
    [
        ("index1", 2, [0.1, 0.05, 0.025], 4),
        ("index1", 3, [0.2, 0.1, 0.05], 6),
        ("paper", 3, [0.05, 0.025, 0.0125], 3),
        ("paper", 4, [0.1, 0.05, 0.025], 4),
    ],
)
def test_times_of_contacts_are_of_the_variants_order(variant, stages, steps, order, tmp_path):
    errors = []
    for step in steps:
        found, exact = first_contacts("thermal_n5_seed7", tmp_path, stages, step, variant=variant)
        errors.append(np.max(np.abs(found - exact)))
    assert min(errors) > 2e-13, "at round-off there is no slope to fit"
    assert abs(np.polyfit(np.log(steps), np.log(errors), 1)[0] - order) < 0.7, errors


@pytest.mark.parametrize("width", [1e-3, 1e-5, 1e-7])
def test_nested_intervals_end_before_the_contact_by_less_than_their_width(width, tmp_path):
    found, exact = first_contacts("trimer_44", tmp_path, 6, 0.2, 1, contact_interval=width, **ALL)
    assert -width < found[0] - exact[0] < 1e-11
    assert found[0] != first_contacts("trimer_44", tmp_path, 6, 0.2, 1)[0][0]


@pytest.mark.parametrize(
    ("keys", "lost"),
    [
        (NESTED, 1e-13),
        (ALL, 1e-13),
        ({"variant": "index1"}, 1e-6),
        (PAPER, 1e-3),
        (PAPER | NESTED, 1e-3),
    ],
    ids=["nested", "nested, all stages", "index1", "paper", "paper nested"],
)
def test_mixed_molecules(keys, lost, tmp_path):
    """No overlap, bonds and momenta to round-off, energy as the variant holds it."""
    system = cases.build("everything")
    engine = Engine(start(system, tmp_path, **propagator(5, 0.05), **keys), log_events=True)
    energy = invariants(system, system.position, system.velocity)[0]
    for time in np.arange(0.2, 4.0, 0.2):
        engine.advance(time)
        position, velocity, image = frame_of(engine, time)
        assert stretched(system, position) < 1e-13
        assert abs(invariants(system, position, velocity)[0] / energy - 1) < lost
        assert Geometry(system, np.float64).smallest_gap(position) > -1e-9
    assert len(engine.drain_events()) > 80
