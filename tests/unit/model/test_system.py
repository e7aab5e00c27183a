"""Settings of a propagator: by the input's names, and in the tables of checkpoints."""

from dataclasses import FrozenInstanceError, fields

import pytest

from hpcchain.config.keys.schema import keys_of
from hpcchain.model.system import Options, Physics


def test_names_and_defaults_are_those_of_the_input():
    keys = keys_of("propagator")
    own = {each.name: each.default for each in fields(Options)}
    assert own == {name: keys[name].default for name in own} | {"stretches": 0}  # "auto" is a number by then


def test_constants_of_a_run_are_frozen():
    with pytest.raises(FrozenInstanceError):
        Physics(tick=0.5).options.solver = "analytic"
