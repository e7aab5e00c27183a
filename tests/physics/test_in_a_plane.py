"""What starts in a plane stays in it to the bit, as docs/guide/cannot_do.md says of discs."""

import math

import numpy as np

from tests.support.identity import given, serial

HEXAGON = [[6.0 + math.cos(a), 2.0 + math.sin(a), 1.5] for a in (k * math.pi / 3.0 for k in range(6))]


def test_what_starts_in_a_plane_stays_in_it():
    rng = np.random.default_rng(3)
    places = [[x, y, 1.5] for x in (1.0, 3.0, 5.0, 7.0) for y in (5.0, 6.5)]
    speeds = np.column_stack([rng.normal(size=(8, 2)), np.zeros(8)]).tolist()
    chain = [[1.0 + k, 3.0, 1.5] for k in range(4)]
    bent = [[0.0, v, 0.0] for v in (1.0, -1.0, 0.5, 2.0)]
    turning = [[-(y - 2.0), x - 6.0, 0.0] for x, y, _ in HEXAGON]
    tables = {
        "box": {"size": [8.0, 8.0, 3.0], "boundary": ["periodic", "wall", "periodic"]},
        "molecule": [
            {"kind": "monomer", "count": 8, "positions": places, "velocities": speeds},
            {"kind": "chain", "beads": 4, "positions": chain, "velocities": bent},
            {"kind": "ring", "beads": 6, "positions": HEXAGON, "velocities": turning},
        ],
        "initial": {"method": "explicit"},
        "run": {"end_time": 10.0},
    }
    one = serial(given(tables), 10.0)
    position, velocity, _ = one.frame
    assert len(one.events) > 100
    assert np.all(position[:, 2] == 1.5) and np.all(velocity[:, 2] == 0.0)
