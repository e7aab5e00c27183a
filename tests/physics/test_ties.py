"""Contacts at one instant: spheres push one another and never pull, through the program, on any ranks."""

import numpy as np
import pytest

from tests.reference.contacts import Geometry
from tests.reference.program import run
from tests.reference.systems import Molecule, System
from tests.support.identity import given, parallel, require_same, serial


def three_spheres(restitution):
    """Return the tables of one at rest, one that hits it at .5, and one that by then nears it slowly and touches it."""
    return {
        "box": {"size": [20.0, 20.0, 20.0]},
        "molecule": [
            {
                "kind": "monomer",
                "count": 3,
                "diameter": 1.25,
                "positions": [[10, 10, 10], [11.75, 10, 10], [10.35875, 11.23, 10]],
                "velocities": [[0, 0, 0], [-1, 0, 0], [-0.0175, -0.06, 0]],
            }
        ],
        "initial": {"method": "explicit"},
        "contact": {"restitution": restitution},
        "run": {"end_time": 1.0},
        "output": {"events": True, "frame_every": 0.25},
    }


@pytest.mark.parametrize("restitution", [1.0, 0.5, 0.0])
def test_what_is_left_behind_is_not_held(tmp_path, restitution):
    result = run(three_spheres(restitution), tmp_path)
    log = result.events()
    assert log.bead.tolist() == [[0, 1]]
    assert log.impulse == pytest.approx([0.5 * (1 + restitution)], rel=1e-14)
    velocity = result.frames((20.0,) * 3).velocity[-1]
    np.testing.assert_allclose(velocity[0], [-0.5 * (1 + restitution), 0, 0], atol=1e-15)
    np.testing.assert_array_equal(velocity[2], [-0.0175, -0.06, 0])


def test_ranks_agree_on_what_is_left_behind():
    system = given(three_spheres(1.0))
    require_same(serial(system, 1.0), parallel(system, 1.0, 3), "three ranks")


def test_beads_that_do_not_bounce_come_to_rest(tmp_path):
    """Rows of them that close up at one instant end with what rounding leaves of their rates, and go on together."""
    molecules, size = [Molecule("monomer", 1, 120)], (6.0,) * 3
    tables = {
        "box": {"size": list(size)},
        "molecule": [{"kind": "monomer", "count": 120}],
        "initial": {"seed": 4},
        "contact": {"restitution": 0.0},
        "run": {"end_time": 0.6},
        "output": {"events": True, "frame_every": 0.1},
    }
    result = run(tables, tmp_path)
    log, position = result.events(), result.frames(size).position
    assert len(log) > 1000 and np.all(log.impulse > 0.0)
    geometry = Geometry(System(molecules, size), np.float64)
    assert min(geometry.smallest_gap(each) for each in position) > -1e-10
