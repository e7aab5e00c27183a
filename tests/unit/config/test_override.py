"""--set where only one thing can be meant: one table of a list, three equal sides, one word for three axes."""

import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError

TEXT = """
[box]
size = 8
boundary = "wall"
[[molecule]]
kind = "monomer"
count = 4
[[wall]]
side = "z-"
[run]
end_time = 1.0
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "in.toml").write_text(TEXT, encoding="utf-8")
    return tmp_path / "in.toml"


def test_one_number_and_one_word_stand_for_all_axes(path):
    config = load_config(path)
    assert config.box.size == (8.0, 8.0, 8.0) and config.box.boundary == ("wall",) * 3
    config = load_config(path, ["box.size=12.5", "box.boundary=open", "wall.temperature=2", "box.boundary=wall"])
    assert config.box.size == (12.5,) * 3 and config.box.boundary == ("wall",) * 3
    assert load_config(path, ["box.size=[9, 8, 7]"]).box.size == (9.0, 8.0, 7.0)


def test_the_only_table_of_a_list_needs_no_number(path):
    config = load_config(path, ["molecule.count=50", "wall.temperature=2.0", "molecule[0].diameter=.5"])
    assert config.molecules[0].count == 50 and config.walls[0].temperature == 2.0
    assert config.molecules[0].diameter == 0.5


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("molecule.count=50", r"the input has 2 tables \[\[molecule\]\]; say which, from 0: molecule.0.count"),
        ("molecule.propagator.name=rattle", r"the input has 2 tables \[\[molecule\]\]"),
        ("contact.pair.0.friction=.1", r"the input has no \[\[contact.pair\]\] to change"),
        ("potential.epsilon=1", r"the input has no \[\[potential\]\] to change"),
        ("molecule[1].count=0.5", r"molecule\[1\].count: 0.5 is not a whole number"),
        ("output.events=[True]", "is not a TOML value; write true or false"),
        ("box.size=true", "box.size: true is not a number"),
        ("box.size=big", "box.size: 'big' is not a number, or a list of 3"),
        ("external.gravity=-9.81", r"external.gravity: -9.81 is not a list of 3 × \(number\)"),
        ("run.temperature=1", "nearest valid keys are initial.temp.*, wall.temp.*, thermo.*; .run. has end_time"),
        ("box.size=10,10,10", r"is not a TOML value; lists stand in brackets, as \[10, 10, 10\]"),
        ("run.end_time=10ps", "is not a TOML value; nothing but a comment behind # may follow a value"),
        ("run.engine=my engine", "is not a TOML value; put texts in quotes"),
        ("wall.0.side=bottom", "'bottom' is unknown; did you mean \"z-\""),
        ("box.size=-1", "box.size: -1 is out of range"),
        ("box.boundary=wal", "box.boundary: 'wal' is unknown; did you mean"),
        ("box.boundary=3", "box.boundary: 3 is not one of"),
        (
            "box.tilt=0",
            r'nothing like it is in this program; see "What it cannot do" in the manual; \[box\] has size, packing_',
        ),
        ('title="gr\udcf6\udcdfe"', "--set .*: is not in UTF-8"),
        ("run.siez=1", r"run.siez: unknown key; nothing like it .* \[run\] has end_time"),
    ],
)
def test_what_could_mean_several_things_is_refused(path, setting, message):
    path.write_text(TEXT.replace("[run]", '[[molecule]]\nkind = "monomer"\n[run]'), encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        load_config(path, [setting])


def test_an_entry_of_a_list_of_values_may_be_set_alone(path):
    path.write_text(TEXT + "[external]\ngravity = [0, 0, -1]\n", encoding="utf-8")
    config = load_config(path, ["external.gravity[2]=-2.5", "external.gravity.0=1"])
    assert config.external.gravity == (1.0, 0.0, -2.5)
    for setting, message in (("external.gravity[3]=1", "there is no entry 3; the input has 3"), ("wall[0]=1", "a key")):
        with pytest.raises(ConfigError, match=message):
            load_config(path, [setting])


@pytest.mark.parametrize("number", ["1", "0000000001", "00", "9" * 5000, "²", "٠"])
def test_only_numbers_of_entries_that_are_there_name_one(path, number):
    with pytest.raises(ConfigError, match="there is no entry"):
        load_config(path, [f"molecule.{number}.count=3"])
