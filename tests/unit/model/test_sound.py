"""What is refused in files of runs of more than smooth hard beads."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.model.physics.extended import first_rows
from hpcchain.model.sound import extra_problem, tick_problem
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


@pytest.mark.parametrize("tick", [0.015, 0.0, -0.5, np.inf, np.nan, 2.0**-400])
def test_ticks_are_powers_of_two(tick):
    assert "is not a power of two" in tick_problem(tick) and tick_problem(2.0**-8) is None
