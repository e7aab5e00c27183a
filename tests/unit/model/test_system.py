"""Settings of a propagator: by the input's names, and as earlier checkpoints have them."""

from dataclasses import FrozenInstanceError, asdict, fields

import pytest

from hpcchain.config.keys.schema import keys_of
from hpcchain.model.system import Options, Physics


def test_names_and_defaults_are_those_of_the_input():
    keys = keys_of("propagator")
    own = {each.name: each.default for each in fields(Options) if each.name != "rods"}
    assert own == {name: keys[name].default for name in own}


def test_constants_of_a_run_are_frozen():
    with pytest.raises(FrozenInstanceError):
        Physics(0.5).options.solver = "analytic"


@pytest.mark.parametrize(
    ("earlier", "options"),
    [
        ({}, Options()),
        ({"stages": {"variant": "paper", "solver": "newton"}}, Options(variant="paper", stage_solver="newton")),
        (
            {"solver": "analytic", "contact_search": "bisection", "rods": "steps", "stages": {"width": 0.0}},
            Options(solver="analytic", contact_search="bisection", rods="steps"),
        ),
        (
            {"contact_search": "nested", "stages": {"width": 1e-3, "falling": False}},
            Options(contact_search="nested", contact_interval=1e-3, contact_stages="all"),
        ),
        ({"stages": {"width": 1e-5, "falling": True}}, Options(contact_search="nested", contact_interval=1e-5)),
    ],
)
def test_tables_of_earlier_checkpoints_are_read(earlier, options):
    own = {"propagator": "taylor", "stages": 4, "step": 0.0, "tolerance": 1e-12, "options": earlier}
    found = Physics.read(Physics(0.5).table() | {"options": earlier, "kinds": [{}, own]})
    assert found.options == options == Options.read(asdict(options)) == found.of(1).options


def test_what_is_no_option_is_refused():
    with pytest.raises(TypeError):
        Options.read({"speed": 3.0})
