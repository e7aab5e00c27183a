"""What is refused in files of runs of more than smooth hard beads."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.model.physics.extended import first_rows
from hpcchain.model.sound import extended_problem, extra_problem
from hpcchain.model.starts.start import build_system

INPUT = """
[box]
size = [9.0, 9.0, 9.0]
[[molecule]]
kind = "monomer"
count = 2
positions = [[1.0, 1.0, 1.0], [4.0, 4.0, 4.0]]
[initial]
method = "explicit"
[thermostat]
name = "andersen"
temperature = 1.0
rate = 2.0
[run]
end_time = 1.0
"""


@pytest.fixture
def system(tmp_path):
    """Return the System of a start with a thermostat."""
    (tmp_path / "in.toml").write_text(INPUT, encoding="utf-8")
    found = build_system(load_config(tmp_path / "in.toml"))
    return replace(found, state=replace(found.state, extra=first_rows(2)))


def with_constants(system, **changes):
    """Return the same System with other constants beyond smooth hard beads."""
    return replace(system, physics=replace(system.physics, extended=replace(system.physics.extended, **changes)))


def test_a_thermostat_needs_a_seed(system):
    assert extra_problem(system, 0.0, np.arange(2)) is None
    assert "seed: is missing" in extra_problem(with_constants(system, seed=None), 0.0, np.arange(2))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"exclude": 1}, "physics: exclude: is no flag"),
        ({"impulses": "yes"}, "physics: impulses: is no flag"),
        ({"simultaneous": "never"}, "physics: simultaneous: is unknown"),
        ({"orientations": (True, False)}, "physics: orientations: are not a flag for each kind"),
        ({"orientations": (1,)}, "physics: orientations: are not a flag for each kind"),
        ({"distance_limits": ((), ())}, "physics: distance_limits: are no list for each kind of molecules"),
        ({"fixed_speed": np.inf}, "physics: fixed_speed: is no speed"),
        ({"fixed_speed": "fast"}, "physics: fixed_speed: is no speed"),
    ],
)
def test_constants_that_are_none(system, changes, words):
    assert extended_problem(with_constants(system, **changes)) == words
