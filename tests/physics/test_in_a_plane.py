"""What starts in a plane stays in it to the bit, as docs/guide/cannot_do.md says of discs."""

import math

import numpy as np
import pytest

from hpcchain import Simulation, System
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


@pytest.mark.parametrize("fraction", [0.3, 0.5])
def test_temperature_and_pressure_of_discs_follow_as_the_manual_says(fraction):
    """The pressure is that of Henderson's equation of hard discs (1975), good to some thousandths here."""
    rng, n = np.random.default_rng(3), 12
    area = n * n * math.pi / 4.0 / fraction
    side = math.sqrt(area)
    row = (np.arange(n) + 0.5) * side / n
    places = [[x, y, 1.5] for x in row for y in row]
    speeds = np.column_stack([rng.normal(size=(n * n, 2)), np.zeros(n * n)])
    speeds -= speeds.mean(axis=0)
    speeds *= math.sqrt(2.0 * (n * n - 1) / (speeds**2).sum())  # temperature 1 of 2 (N - 1) freedoms
    discs = Simulation(System.from_arrays(position=places, velocity=speeds, box=[side, side, 3.0]))
    discs.run(10.0)
    assert abs(discs.temperature - 2.0 / 3.0) < 1e-12
    contacts = []
    for _ in range(10):
        discs.run(5.0)
        collisional = discs.pressure - n * n * discs.temperature / (3.0 * area)
        contacts.append(1.5 * 3.0 * collisional)  # of xx and yy alone, times the length along z
    found = 1.0 + np.mean(contacts) * area / (n * n - 1)
    error = np.std(contacts, ddof=1) / math.sqrt(10.0) * area / (n * n - 1)
    expected = (1.0 + fraction**2 / 8.0) / (1.0 - fraction) ** 2
    assert error < 0.01 * expected
    assert abs(found - expected) < 3.0 * np.hypot(error, 0.005 * expected)
