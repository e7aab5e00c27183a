"""From how many beads on chains move in stretches: what the input says, or what the program chooses where it may."""

import pytest

from hpcchain.config.load import config_from_table
from hpcchain.model.molecules.long_chains import LEAST, LONG, divided_classes
from hpcchain.model.starts.start import choices_in, in_stretches, physics_as_chosen, physics_with
from hpcchain.model.topology import build_composition

CHAIN = {"kind": "chain", "beads": LONG, "count": 2}
TABLES = {"box": {"size": [30.0, 30.0, 30.0]}, "molecule": [CHAIN], "run": {"end_time": 1.0}}
SHORT = {"kind": "chain", "beads": 3, "count": 1}


def with_kinds(*more):
    return {"molecule": [CHAIN, *more]}


CASES = {
    "by itself": ({}, [True]),
    "too short by itself": ({"molecule": [CHAIN | {"beads": LONG - 1}]}, [False]),
    "none": ({"propagator": {"stretches": 0}}, [False]),
    "off": ({"propagator": {"stretches": False}}, [False]),
    "on": (
        {"propagator": {"stretches": True}, "molecule": [CHAIN | {"beads": n} for n in (LEAST - 1, LEAST)]},
        [False, True],
    ),
    "from a length": (
        {"propagator": {"stretches": 40}, "molecule": [CHAIN | {"beads": n} for n in (39, 40)]},
        [False, True],
    ),
    "one part": (
        {"propagator": {"stretches": 1}, "molecule": [CHAIN | {"beads": n} for n in (LEAST - 1, LEAST)]},
        [False, True],
    ),
    "a kind by itself": (with_kinds(CHAIN | {"propagator": {"stretches": 0}}), [True, False]),
    "a kind alone": (
        {"propagator": {"stretches": 0}} | with_kinds(SHORT | {"beads": 50, "propagator": {"stretches": 50}}),
        [False, True],
    ),
    "another propagator": ({"propagator": {"name": "rattle", "step": 0.01}}, [False]),
    "next to steps": (with_kinds(SHORT | {"propagator": {"name": "collocation", "step": 0.1}}), [True, False]),
    "next to another law": (with_kinds(SHORT | {"propagator": {"name": "variational", "step": 0.1}}), [True, False]),
    "the engine of steps": ({"run": {"end_time": 1.0, "engine": "steps"}, "steps": {"step": 0.01}}, [False]),
    "what stretches do not know": (
        {"molecule": [CHAIN | {"self_contact": False}, CHAIN | {"exclude": 2}]},
        [False] * 2,
    ),
    "rings": ({"molecule": [CHAIN | {"kind": "ring"}]}, [False]),
    "fixed beads": ({"molecule": [CHAIN | {"fixed": [0]}]}, [False]),
}


@pytest.mark.parametrize("name", CASES)
def test_which_chains_are_divided(name):
    more, expected = CASES[name]
    config = config_from_table(TABLES | more, "in.toml")
    assert divided_classes(build_composition(config), physics_with(config, 1.0)) == expected
    assert [in_stretches(kind, config) for kind in config.molecules] == expected


@pytest.mark.parametrize("value", ["auto", True, 1.0, None, -1])
def test_a_file_has_the_number_that_was_chosen(value):
    config = config_from_table(TABLES, "in.toml")
    choices = choices_in(physics_with(config, 2.0**-8))
    assert choices["options"] == {"stretches": LONG}
    assert physics_as_chosen(config, choices).options.stretches == LONG
    with pytest.raises(ValueError, match="stretches: is "):
        physics_as_chosen(config, choices | {"options": {"stretches": value}})
    with pytest.raises(LookupError):
        physics_as_chosen(config, choices | {"options": {}})


def test_kinds_keep_what_was_chosen_for_them():
    kinds = [CHAIN | {"propagator": {"name": "taylor", "tolerance": 1e-10}}, CHAIN]
    config = config_from_table(TABLES | {"molecule": kinds}, "in.toml")
    choices = choices_in(physics_with(config, 2.0**-8))
    choices["kinds"][0] = {"options": {"stretches": 0}}
    found = physics_as_chosen(config, choices)
    assert [found.of(kind).options.stretches for kind in (0, 1)] == [0, LONG]
