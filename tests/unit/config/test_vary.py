"""What --vary asks for: combinations of values, the names of their folders, and what is refused."""

import pytest

from hpcchain.config.vary import MOST_RUNS, combinations
from hpcchain.errors import ConfigError


def test_ranges_and_lists_are_combined():
    found = combinations(["initial.seed=1:16", "box.packing_fraction=.25,.3,.35"])
    assert len(found) == 48
    assert found[0].name == "seed-01_packing_fraction-0.25" and found[-1].name == "seed-16_packing_fraction-0.35"
    assert found[1].settings == {"initial.seed": "1", "box.packing_fraction": ".3"}
    assert found[1].overrides == ["initial.seed=1", "box.packing_fraction=.3"]


def test_values_with_commas_in_quotes_and_brackets_stay_whole():
    found = combinations(["box.size=[1, 2, 3],[[2], 2]", 'title="a,b",c', "x.y={a = 1, b = 2},3"])
    assert [one.settings["box.size"] for one in found[::4]] == ["[1, 2, 3]", "[[2], 2]"]
    assert found[0].name == "size-1-2-3_title-a-b_y-a-1-b-2"


def test_keys_that_end_alike_have_their_whole_names():
    (found,) = combinations(["molecule.0.count=10", "molecule.1.count=5"])
    assert found.name == "molecule.0.count-10_molecule.1.count-5"


def test_truth_is_written_as_in_the_input():
    found = combinations(["output.events=true,false", "x.y=[true, 1.0]"])
    assert [one.name for one in found] == ["events-true_y-true-1.0", "events-false_y-true-1.0"]


def test_numbers_below_zero_are_told_apart():
    assert [one.name for one in combinations(["external.gravity=-1,1"])] == ["gravity--1", "gravity-1"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["initial.seed"], "needs the form section.key=value,value or section.key=first:last"),
        (["initial.=1"], "needs the form"),
        (["initial.seed="], "needs the form"),
        (["initial.seed=3:1"], "counts from 3 to 1; give a range that rises"),
        (["initial.seed=1:999999999999999999999999"], "of at most 10000 whole numbers"),
        (["initial.seed=0000000000000000000001:3"], "counts from 00000000000000000000 to 3"),
        (["initial.seed=1" + "0" * 24 + ":1" + "0" * 23 + "1"], "of at most 10000 whole numbers"),
        (["box.packing_fraction=.1:.3"], "ranges first:last are of whole numbers"),
        (["initial.seed=1,,2"], "a value is missing between two commas"),
        (["initial.seed=1,1"], "has the value 1 twice"),
        (["box.packing_fraction=.5,0.5"], "has the value 0.5 twice"),
        (["propagator.name=a/b,a-b"], "that folders cannot tell apart"),
        (["initial.seed=1,two words"], "'two words' is not a TOML value"),
        (["output.directory=a,b"], "give it with --output"),
        (["initial.seed=1", "initial.seed=2"], "is given twice"),
        (["initial.seed=1:200", "contact.restitution=" + ",".join(map(str, range(51)))], f"more than {MOST_RUNS} runs"),
        (["title=" + "x" * 250], "too long a name"),
    ],
)
def test_what_is_refused(words, message):
    with pytest.raises(ConfigError, match="--vary ") as found:
        combinations(words)
    assert message in str(found.value)


def test_a_key_of_set_cannot_vary():
    with pytest.raises(ConfigError, match="--vary initial.seed: is given by --set, too"):
        combinations(["initial.seed=1:2"], ["initial.seed=3"])
