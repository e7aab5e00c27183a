"""Settings of a propagator: by the input's names, and in the tables of checkpoints."""

import json
from dataclasses import FrozenInstanceError, fields

import pytest

from hpcchain.config.keys.schema import keys_of
from hpcchain.model.physics.constants import made
from hpcchain.model.system import KindPhysics, Options, Physics


def test_names_and_defaults_are_those_of_the_input():
    keys = keys_of("propagator")
    own = {each.name: each.default for each in fields(Options)}
    assert own == {name: keys[name].default for name in own} | {"stretches": 0}  # "auto" is a number by then


def test_constants_of_a_run_are_frozen():
    with pytest.raises(FrozenInstanceError):
        Physics(0.5).options.solver = "analytic"


def test_options_come_back_from_their_tables():
    options = Options(solver="newton", contact_search="nested", contact_interval=1e-3, contact_stages="all")
    own = KindPhysics("rattle", 4, 0.1, 1e-12, options)
    physics = Physics(0.5, options=options, kinds=(None, own))
    found = made(Physics, json.loads(json.dumps(physics.table())), "physics")
    assert found == physics and found.of(1).options == options


def test_what_is_no_option_is_refused():
    with pytest.raises(ValueError, match="options: speed is missing, or unknown"):
        made(Physics, Physics(0.5).table() | {"options": {"speed": 3.0}}, "physics")
