"""The input file: what loads, what it becomes, and the one message that each mistake gives."""

import csv
import json
import re
import time
import tomllib
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.config.keys.schema import KEYS
from hpcchain.config.keys.values import Wrong, counted
from hpcchain.config.load import config_from_table, read_table
from hpcchain.errors import ConfigError, DataError

MESSAGES = Path(__file__).parents[3] / "data" / "messages.csv"
"""What is said of a table, a text, a negative and a very large number as the value of each key."""

FULL = """
title = "all \\"kinds\\" – \\u007f"
[box]
size = [30, 30.0, 40.0]
origin = [-1.0, 0.0, 2.5]
boundary = ["periodic", "wall", "open"]
[[molecule]]
kind = "chain"
beads = 4
count = 10
bond_length = [1.0, 1.25, 1.1]
diameter = [1.0, 0.5, 1.0, 0.1]
mass = [1.0, 2.0, 3.0, 4.0]
[[molecule]]
name = "A"
kind = "monomer"
count = 3
[[molecule]]
kind = "ring"
beads = 5
self_contact = false
[[molecule]]
kind = "star"
arms = 3
arm_beads = 6
[[molecule]]
kind = "graph"
beads = 4
bonds = [[0, 1], [2, 1], [1, 3]]
[propagator]
name = "collocation"
step = 0.012345678901234567
stages = 3
[run]
end_time = 5
sectors = [1, 2, 3]
[output]
checkpoint_wall_minutes = 30
"""

EXPLICIT = """
[box]
size = [10.0, 10.0, 10.0]
[[molecule]]
kind = "chain"
beads = 2
positions = [[0.1, 0.2, 0.30000000000000004], [1, 0.2, 0.3]]
velocities = [[0, 0, 0], [0, 1e-3, 0]]
[initial]
method = "explicit"
[run]
end_time = 1.0
"""

MISTAKES = [
    ("box.siez = [1, 2, 3]", "box.siez: unknown key; the nearest valid key is box.size"),
    ("molecule.0.bead = 3", "molecule[0].bead: unknown key; the nearest valid key is molecule[0].beads"),
    ("endtime = 3", "endtime: unknown key; the nearest valid key is run.end_time"),
    ("outputs.events = true", "outputs: unknown key; the nearest valid key is output"),
    ("box.size = [[10, 10, 10]]", "box.size: entry 0: [10, 10, 10] is not a number"),
    ("run.end_time = 2026-11-29", "run.end_time: 2026-11-29 is not a number"),
    ("run.timestep = 0.1", "nearest valid keys are propagator.step (longest segment), steps.step (length of a step)"),
    ("box.dimensions = [3, 3, 3]", "box.dimensions: unknown key; the nearest valid key is box.size"),
    ("molecules.count = 3", "molecules: unknown key; the nearest valid key is molecule"),
    ("molecule.0.radius = 1.0", "molecule[0].radius: unknown key; the nearest valid key is molecule[0].diameter"),
    ("molecule.0.kind = 'linear'", "molecule[0].kind: 'linear' is unknown; did you mean \"chain\"?"),
    ("box.boundary = 'pbc'", "box.boundary: 'pbc' is unknown; did you mean \"periodic\"?"),
    ("box.boundary = 'ppf'", 'did you mean ["periodic", "periodic", "open"]?'),
    ("box.boundary = 'pp ff pp'", 'did you mean ["periodic", "open", "periodic"]?'),
    ("box.boundary = 'nonperiodic'", 'did you mean "open"?'),
    ("box.density = 0.8", "box.packing_fraction (in place of size: a cube that the spheres of all beads fill to this"),
    ("run.nsteps = 9", "the nearest valid key is run.end_time (simulated time at which the run ends [time])"),
    ("molecule.0.n_chains = 9", "the nearest valid key is molecule[0].count (number of molecules of this kind)"),
    ("molecule.0.sequence = 'AABB'", "the nearest valid key is molecule[0].types (type of the beads"),
    ("molecule.0.position = [[0, 0, 0]]", "the nearest valid key is molecule[0].positions ("),
    ("molecule.0.special_bonds = 1", "the nearest valid key is molecule[0].exclude ("),
    ("box.periodic = true", "box.periodic: unknown key; the nearest valid key is box.boundary ("),
    ("contact.cor = 0.9", "contact.cor: unknown key; the nearest valid key is contact.restitution ("),
    ("molecule.0.fixed = true", "molecule[0].fixed: true is not a list"),
    ("run = [{steps = true}]", "run: [{ steps = true }] is not a section"),
    ("propagator = {name = 'morse', D = true}", "propagator.name: 'morse' is unknown"),
    ("thermostat.tau = 1", "thermostat.damping (langevin: friction [1 / time]), thermostat.rate (andersen: how"),
    ("molecule.0.velocity = [0]", "the nearest valid key is molecule[0].velocities ("),
    ("output.restart = 3", "output.restart: unknown key; the nearest valid key is output.checkpoint_every ("),
    ("dimension = 2", 'nothing like it is in this program; see "What it cannot do" in the manual; the input'),
    ("propagator.name = 'Taylor '", "'Taylor ' is unknown; did you mean"),
    ("propagator.name = 'RATTLE'", 'did you mean "rattle"?'),
    ("box.viscosity = 3", "box.viscosity: unknown key; nothing like it is in this program; [box] has size, "),
    ("barostat.pressure = 1.0", "barostat: unknown key; nothing like it is in this program"),
    ("barostat.pressure = 1.0", 'in this program; see "What it cannot do" in the manual; the input has title'),
    ("box.pressure = 1.0", 'in this program; see "What it cannot do" in the manual; [box] has size'),
    ("run.dimension = 2", 'in this program; see "What it cannot do" in the manual; [run] has end_time'),
    ('run.engine = "gpu"', "run.engine: 'gpu' is unknown; see \"What it cannot do\" in the manual; use"),
    ("constraints.name = 'shake'", "constraints: unknown key; the nearest valid key is molecule.rigid"),
    ("fix = 'nvt'", "fix: unknown key; the nearest valid keys are external, wall, thermostat"),
    ("molecule.0.fix = [0]", "molecule[0].fix: unknown key; the nearest valid key is molecule[0].fixed"),
    ("molecule.0.kind = 'flexible'", 'did you mean "chain"?'),
    ("run.steps = 1000", "run.steps: unknown key; the nearest valid key is run.end_time"),
    ("quux.plugh = 3", "quux: unknown key; nothing like it is in this program; the input has title, box, molecule, "),
    ("box.packing_fraction = 1.2", "box.packing_fraction: 1.2 is out of range; needs a number > 0, <= 1"),
    ("box.packing_fraction = 0.9", "box.packing_fraction: makes a cube in which the beads do not fit: packing"),
    ("title = 3", "title: 3 is not a text"),
    ("box.size = [1]", "box.size: is a list of 1; needs 3"),
    ("box.size = [1, 2]", "box.size: is a list of 2; needs 3"),
    ("box.size = [30, 30, true]", "box.size: entry 2: true is not a number"),
    ("box.size = [30, -30, 30]", "box.size: entry 1: -30 is out of range"),
    ("box.size = [30, nan, 30]", "box.size: entry 1: nan is not a finite number"),
    ("box.size = [2.9, 30, 30]", "box.size: the periodic side 2.9 along axis 0 is shorter than three times"),
    ("molecule.1.diameter = 10.1", "largest contact distance 10.1; needs at least 30.3"),
    ("box.size = [30, 0.9, 30]", "box.size: the side 0.9 between the walls of axis 1"),
    ("box.size = [30, 1.0, 30]", "box.size: the side 1.0 between the walls of axis 1 leaves the largest bead"),
    ("box.size = [30, 1.0000000009, 30]", "no room to move; needs more than 1e-09 diameters beyond it"),
    ("box.size = [3, 3, 3]", "box.size: the beads do not fit: packing fraction"),
    ("box.size = [30, 1e11, 30]", "box.size: 100000000000.0 along axis 1 is more than 1e+09 times the smallest"),
    (
        "run.list_shell = 1e-20",
        "run.list_shell: 1e-20 is so thin that lists would be made anew all the time; needs at "
        "least 1e-05, a ten thousandth of the smallest diameter",
    ),
    ("molecule.0.diameter = 1e-20", "molecule[0].diameter: 1e-20 is beyond the range 1e-06 to 1e+06 of lengths"),
    ("box.origin = [1e12, 0, 0]", "box.origin: 1000000000000.0 along axis 0 is so far from 0"),
    ('box.boundary = ["periodic", "wal", "open"]', "box.boundary: entry 1: 'wal' is unknown; did you mean \"wall\"?"),
    ("molecule.0.beads = 3.0", "molecule[0].beads: 3.0 is not a whole number"),
    ("molecule.0.beads = true", "molecule[0].beads: true is not a whole number"),
    ("molecule.0.beads = 5", "molecule[0].diameter: is a list of 4; needs 5, one per bead"),
    ("molecule.0.bond_length = [1.0, 1.0]", "molecule[0].bond_length: is a list of 2; needs 3, one per bond"),
    ("molecule.0.count = 0", "molecule[0].count: 0 is out of range"),
    ("molecule.0.count = 2147483648", "more than 2147483648"),
    (
        "molecule.0.bond_length = 0.3",
        "molecule[0].bond_length: beads 0 and 2 can never be apart: bonds keep them within 0.6, their",
    ),
    ("molecule.0.exclude = 4", "molecule[0].exclude: 4 is out of range"),
    ("molecule.0.types = [1]", "molecule[0].types: entry 0: 1 is not a text"),
    ("molecule.0.diameter = []", "molecule[0].diameter: is a list of 0; needs 4, one per bead, or one for all"),
    (
        "molecule.0.types = ['H']",
        "molecule[0].types: is a list of 1; needs",
    ),
    ("molecule.0.diameter = 0.0", "molecule[0].diameter: 0 is out of range"),
    ("molecule.0.mass = inf", "molecule[0].mass: inf is not a finite number"),
    (
        "propagator = { name = 'taylor', contact_stages = 'all' }",
        'propagator.contact_stages: means nothing for "taylor", only for collocation',
    ),
    ("molecule.0.arms = 2", 'molecule[0].arms: means nothing for kind "chain", only for star'),
    ("molecule.0.positions = [[1, 2, 3]]", "molecule[0].positions: has 1 rows; needs"),
    ('molecule.0.name = "A"', "molecule[1].name: 'A' is the name of molecule[0] already"),
    ("molecule.1.beads = 2", 'molecule[1].beads: 2 is wrong: kind "monomer" has one bead'),
    ("molecule.2.beads = 2", "molecule[2].beads: 2 is too few"),
    ("molecule.2.bond_length = [1, 1, 1, 1, 4]", "molecule[2].bond_length: the ring cannot close"),
    ("molecule.3.beads = 18", "molecule[3].beads: 18 is wrong: one centre and 3 arms of 6 make 19"),
    ("molecule.4.bonds = [[0, 1], [1, 2], [2, 4]]", "molecule[4].bonds: bond 2 [2, 4] names a bead outside 0 … 3"),
    ("molecule.4.bonds = [[0, 1], [1, 2], [2, -1]]", "molecule[4].bonds: bond 2 [2, -1] names a bead outside"),
    ("molecule.4.bonds = [[0, 1], [1, 2], [2, 2]]", "molecule[4].bonds: bond 2 joins bead 2 to itself"),
    ("molecule.4.bonds = [[0, 1], [1, 2], [2, 3], [1, 0]]", "molecule[4].bonds: beads 0 and 1 are bonded twice"),
    ("molecule.4.bonds = [[0, 1], [1, 2]]", "molecule[4].bonds: 2 bonds cannot connect 4 beads"),
    ("molecule.4.bonds = [[0, 1], [1, 2], [2, 0]]", "molecule[4].bonds: bead 3 is not connected to bead 0"),
    ("molecule.4.bonds = [[0, 1.0], [1, 2], [2, 0]]", "molecule[4].bonds: row 0: 1.0 is not a whole number"),
    ("molecule.4.bonds = [[0, 1, 2]]", "molecule[4].bonds: row 0: [0, 1, 2] is not a list of 2 numbers"),
    ('initial.method = "explicit"', "molecule[0].positions: is missing"),
    ('initial.method = "file"', "initial.file: is missing"),
    ('initial = { file = "a.h5", method = "grow" }', 'initial.file: means nothing for method "grow"'),
    ("initial.seed = -1", "initial.seed: -1 is out of range"),
    ("initial.temperature = 0", "initial.temperature: 0 is out of range"),
    ('propagator.name = "leapfrog"', "propagator.name"),
    ('propagator.name = "rattle"', 'propagator.stages: means nothing for "rattle"'),
    ('propagator.name = "taylor"', 'propagator.stages: means nothing for "taylor", only for collocation'),
    ('propagator.variant = "index3"', "propagator.variant: 'index3' is unknown; did you mean"),
    ('propagator.stage_solver = "fixed-point"', 'propagator.stage_solver: "fixed-point" does not exist for variant'),
    ("propagator.contact_interval = 0.0", "propagator.contact_interval: 0 is out of range"),
    ("propagator.stages = 13", "propagator.stages: 13 is out of range"),
    ('propagator.solver = "null-space"', "propagator.solver: means nothing"),
    (
        'molecule.0.propagator = "rattle"',
        "molecule[0].propagator: 'rattle' is not a table; write { name = ... } with the",
    ),
    (
        'molecule.0.propagator = { nam = "rattle" }',
        "molecule[0].propagator.nam: unknown key; the nearest valid key is molecule[0].propagator.name",
    ),
    (
        'molecule.0.propagator = { name = "rattle" }',
        'molecule[0].propagator.step: is missing; "rattle" needs the longest',
    ),
    ('molecule.0.propagator = { name = "rattle", step = 0 }', "molecule[0].propagator.step: 0 is out of range"),
    (
        'molecule.0.propagator = { name = "rattle", step = 0.1, stages = 3 }',
        'molecule[0].propagator.stages: means nothing for "rattle", only for collocation; remove it',
    ),
    (
        'molecule.0.propagator = { solver = "sweeping" }',
        'molecule[0].propagator.solver: means nothing for "collocation"',
    ),
    (
        'molecule.0.propagator = { stage_solver = "fixed-point" }',
        'molecule[0].propagator.stage_solver: "fixed-point" does not exist for variant',
    ),
    (
        'molecule.1.propagator = { name = "taylor" }',
        "molecule[1].propagator: means nothing for single beads, which fly exactly; remove it",
    ),
    (
        'molecule.2.propagator = { name = "variational", step = 0.1, solver = "null-space" }',
        'molecule[2].propagator.solver: "null-space" moves molecules without rings only',
    ),
    ("contact.restitution = 1.5", "contact.restitution: 1.5 is out of range"),
    ("contact.tangential_restitution = 1.5", "contact.tangential_restitution: 1.5 is out of range"),
    ("contact.contact_time = -0.1", "contact.contact_time: -0.1 is out of range"),
    ('run.engine = "steps"', "steps.step: is missing"),
    ('run.window = "oto"', "run.window: 'oto' is not a number; or give \"auto\""),
    ("run.sectors = [1, 2]", "run.sectors: is a list of 2; needs 3"),
    ("run.end_time = 1e400", "run.end_time: inf is not a finite number; the largest is 1e+60"),
    ("output.events = 1", "output.events: 1 is not true or false"),
    ('output.directory = ""', "output.directory: is empty"),
    ("output.frame_every = 0", "output.frame_every: 0 is out of range"),
    ("output = 3", "output: 3 is not a section"),
    ("molecule.9.count = 1", "there is no entry 9"),
    ("run", "needs the form section.key=value"),
    ("run.end_time = 1 2", "is not a TOML value"),
    ("title.a = 1", "title is a value, not a section"),
]


NO_TOML = [
    ("end_time = .5", "write a digit before the point, as 0.5"),
    ("sectors = [1, .5, 1]", "write a digit before the point, as 0.5"),
    ("end_time = 5.", "write a digit behind the point, as 5.0"),
    ("end_time = 10 ps", "nothing but a comment behind # may follow a value"),
    ("sectors = 1, 1, 1", "lists stand in brackets, as [10, 10, 10]"),
    ("sectors = 1 1 1", "lists stand in brackets with commas, as [10, 10, 10]"),
    ("sectors = (1, 1, 1)", "lists stand in square brackets, as [10, 10, 10]"),
    ("sectors = [1 1 1]", "put commas between the entries of a list"),
    ("engine = events", 'put texts in quotes, as "chain"'),
    ("engine = \u201cevents\u201d", "texts stand in straight quotes"),
    ("end_time: 5", "lines are key = value"),
    ("; a comment", "comments begin with #"),
    ("end_time = 5\nend_time = 6", "give each key and each [section] once"),
    ("[run]\nend_time = 6", "give each key and each [section] once"),
    ("directors = True", "write true or false"),
]


@pytest.fixture
def write(tmp_path):
    """Return a function that writes an input and returns its path."""

    def put(text, name="in.toml"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return put


def test_every_key_is_read_and_defaults_filled_in(write):
    config = load_config(write(FULL))
    assert config.box.size == (30.0, 30.0, 40.0) and config.box.boundary == ("periodic", "wall", "open")
    assert [kind.name for kind in config.molecules] == ["B", "A", "C", "D", "E"]
    assert [kind.beads for kind in config.molecules] == [4, 1, 5, 19, 4]
    assert [kind.bond_count for kind in config.molecules] == [3, 0, 5, 18, 3]
    assert config.beads == 40 + 3 + 5 + 19 + 4
    assert config.propagator.stages == 3 and config.propagator.tolerance == 1e-12
    assert config.run.end_time == 5.0 and type(config.run.end_time) is float
    assert config.run.window == "auto" and config.run.sectors == (1, 2, 3)
    assert config.output.checkpoint_wall_minutes == 30.0
    with pytest.raises(FrozenInstanceError):
        config.title = "b"


@pytest.mark.parametrize(("line", "cure"), NO_TOML)
def test_what_is_no_toml_names_the_cure(write, line, cure):
    with pytest.raises(ConfigError, match=f"is not valid TOML: .*; {re.escape(cure)}"):
        load_config(write(f"[run]\n{line}\n"))


@pytest.mark.parametrize("text", [FULL, EXPLICIT])
def test_the_resolved_input_loads_back_equal(write, text):
    config = load_config(write(text))
    again = load_config(write(config.to_toml(), "again.toml"))
    assert again == config
    assert again.to_toml() == config.to_toml()


def test_configs_differ_where_their_arrays_do(write):
    config = load_config(write(EXPLICIT))
    moved = EXPLICIT.replace("0.30000000000000004", "0.3")
    assert load_config(write(moved)) != config


def test_an_input_without_molecules_has_those_of_its_start_file(write, tmp_path):
    text = '[box]\nsize = [9, 9, 9]\n[initial]\nmethod = "file"\nfile = "start.h5"\n[run]\nend_time = 1\n'
    with pytest.raises(ConfigError, match="molecule: is missing"):
        load_config(write(text))
    more = "[contact]\ntangential_restitution = 0.5\n"
    given, asked = load_config(write(MELT.replace("[run]", "[run]\n") + more)), []
    kinds = tuple(replace(kind, propagator=given.propagator, moment=0.2, damping=0.5) for kind in given.molecules)

    def stored(file):
        asked.append(file)
        return replace(given, molecules=kinds)

    for added, moment in (("", None), (more, 0.2)):
        table = read_table(write(text + added))
        config = config_from_table(table, str(tmp_path / "in.toml"), stored)
        assert asked[-1] == config.initial.file == str(tmp_path / "start.h5")
        assert [replace(kind, moment=None) for kind in config.molecules] == list(given.molecules)
        assert {kind.moment for kind in config.molecules} == {moment}
        assert load_config(write(config.to_toml())) == config
    small = tomllib.loads(text) | {"box": {"size": 2.0}}
    with pytest.raises(ConfigError, match="in.toml: box.size: .*; molecules are those of the start file /.*start.h5"):
        config_from_table(small, str(tmp_path / "in.toml"), stored)


def test_the_seed_of_molecules_of_many_sizes_is_that_of_their_start(write, tmp_path):
    kind = '[[molecule]]\nkind = "chain"\nbeads = 3\ncount = 4\ndiameter = { mean = 1.0, deviation = 0.05 }\n'
    start = "[box]\nsize = [9, 9, 9]\n[run]\nend_time = 1\n[initial]\nseed = 7\n"
    given = load_config(write(start + kind))
    table = tomllib.loads(start + 'method = "file"\nfile = "start.h5"\n')
    found = config_from_table(table, str(tmp_path / "in.toml"), lambda file: given)
    assert found.molecules == given.molecules == load_config(write(found.to_toml())).molecules
    table["initial"]["seed"] = 8
    with pytest.raises(ConfigError, match="initial.seed: 8 is not 7, which says which bead has which size"):
        config_from_table(table, "in.toml", lambda file: given)


@pytest.mark.parametrize(("setting", "message"), MISTAKES, ids=[setting for setting, _ in MISTAKES])
def test_each_mistake_gives_one_message_with_its_key(write, setting, message):
    with pytest.raises(ConfigError) as caught:
        load_config(write(FULL), [setting])
    text = str(caught.value)
    assert message in text and "\n" not in text
    assert caught.value.exit_code == 78
    assert "in.toml: " in text or "--set" in text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[molecule]]", "[molecule]", "molecule: is written as [molecule]"),
        ("[run]\nend_time = 1.0", "", "run.end_time: is missing"),
        ('kind = "chain"', "", "molecule[0].kind: is missing"),
        ("beads = 2", "", "molecule[0].beads: is missing"),
        ("[[0, 0, 0], [0, 1e-3, 0]]", "[[0, 0, 0]]", "molecule[0].velocities: has 1 rows; needs count × beads = 2"),
        (
            "[initial]",
            '[[molecule]]\nkind = "monomer"\npositions = [[5, 5, 5]]\n[initial]',
            "molecule[1].velocities: is missing, and other kinds have theirs",
        ),
        ("1e-3", "nan", "molecule[0].velocities: row 1: nan is not a finite number"),
        ("1e-3", "1e61", "molecule[0].velocities: row 1: 1e+61 is beyond the range"),
        ("1e-3", "true", "molecule[0].velocities: row 1: true is not a number"),
        ("1e-3", '"1"', "molecule[0].velocities: row 1: '1' is not a number"),
        ("size = ", "size = = ", "is not valid TOML"),
    ],
)
def test_mistakes_in_an_explicit_input(write, old, new, message):
    assert old in EXPLICIT
    with pytest.raises(ConfigError) as caught:
        load_config(write(EXPLICIT.replace(old, new)))
    assert message in str(caught.value)


def test_a_file_or_positions_say_the_method(write):
    """It may be left out where only one can be meant, and is in the resolved input."""
    for path in (write(EXPLICIT), write(EXPLICIT.replace('method = "explicit"', ""))):
        assert load_config(path).initial.method == "explicit"
    stated = EXPLICIT.replace('"explicit"', '"grow"')
    with pytest.raises(ConfigError, match=r'molecule\[0\].positions: means nothing for initial.method "grow"'):
        load_config(write(stated))
    named = load_config(write(FULL), ['initial.file = "a.h5"'])
    assert named.initial.method == "file" and 'method = "file"' in named.to_toml({})
    assert load_config(write(FULL)).initial.method == "grow"


def test_one_bead_alone_has_no_temperature(write):
    lone = '[box]\nsize = [9, 9, 9]\n[[molecule]]\nkind = "monomer"\n[run]\nend_time = 1\n'
    with pytest.raises(ConfigError, match=r"in.toml: initial.temperature: one bead .* molecule.velocities"):
        load_config(write(lone))


def test_unreadable_files(write, tmp_path):
    for path in (tmp_path / "none.toml", tmp_path, "a\0b"):
        with pytest.raises(DataError, match="cannot be read"):
            load_config(path)
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_config(write(b'title = "\xff"'))


def test_overrides_replace_values_and_add_sections(write):
    path = write(EXPLICIT)
    config = load_config(path, ["run.end_time=7", 'output.directory="a b"', "propagator.step=0.5", "title=plain-word"])
    assert config.run.end_time == 7.0 and config.output.directory == "a b"
    assert config.propagator.step == 0.5 and config.title == "plain-word"
    assert load_config(path, ["output.directory=../runs/a"]).output.directory == "../runs/a"
    assert load_config(write(FULL), ["molecule.1.count=5"]).molecules[1].count == 5


def test_numbers_without_a_digit_at_the_point_may_be_set(write):
    path = write(EXPLICIT)
    assert load_config(path, ["initial.temperature=.9"]).initial.temperature == 0.9
    assert load_config(path, ["run.end_time=+2."]).run.end_time == 2.0
    assert load_config(path, ["initial.temperature=.5e1"]).initial.temperature == 5.0
    assert load_config(path, ["output.directory=.9a"]).output.directory == ".9a"


MELT = """
[box]
packing_fraction = 0.25
[[molecule]]
kind = "chain"
beads = 3
count = 40
diameter = [1.0, 0.5, 1.0]
[[molecule]]
kind = "monomer"
count = 10
diameter = 2.0
[run]
end_time = 1.0
"""


def test_a_packing_fraction_stands_in_place_of_the_size(write):
    config = load_config(write(MELT))
    volume = np.pi / 6.0 * (40 * (1.0 + 0.125 + 1.0) + 10 * 8.0)
    assert len(set(config.box.size)) == 1
    assert np.prod(config.box.size) == pytest.approx(volume / 0.25, rel=1e-14)
    assert "packing_fraction" not in config.to_toml()
    again = load_config(write(config.to_toml(), "again.toml"))
    assert again == config


def test_of_size_and_packing_fraction_one_is_given(write):
    with pytest.raises(ConfigError, match="box.packing_fraction: stands together with box.size; give one of the two"):
        load_config(write(MELT.replace("[box]", "[box]\nsize = [9, 9, 9]")))
    with pytest.raises(ConfigError, match="box.size: is missing; .*box.packing_fraction in its place"):
        load_config(write(MELT.replace("packing_fraction = 0.25", "")))
    start = '[box]\npacking_fraction = 0.2\n[initial]\nmethod = "file"\nfile = "a.h5"\n[run]\nend_time = 1\n'
    with pytest.raises(ConfigError, match=r"box.packing_fraction: needs the \[\[molecule\]\] tables"):
        load_config(write(start))


def test_a_setting_of_one_takes_the_place_of_the_other(write):
    assert load_config(write(MELT), ["box.size=[20, 20, 30]"]).box.size == (20.0, 20.0, 30.0)
    config = load_config(write(FULL), ["box.packing_fraction=.01"])
    assert len(set(config.box.size)) == 1


FUSED = """
[box]
size = [20, 20, 20]
[[molecule]]
kind = "{}"
{}
[run]
end_time = 1
"""


@pytest.mark.parametrize(
    ("kind", "keys", "pair", "remedy"),
    [
        ("chain", "beads = 9\nbond_length = 0.6", None, None),
        ("chain", "beads = 9\nbond_length = 0.5", "0 and 2", "exclude = 2"),
        ("chain", "beads = 9\nbond_length = 0.4\nexclude = 2", None, None),
        ("chain", "beads = 9\nbond_length = 0.3\nexclude = 2", "0 and 3", "exclude = 3"),
        ("chain", "beads = 9\nbond_length = 0.2\nexclude = 3", "0 and 4", "self_contact = false"),
        ("chain", "beads = 9\nbond_length = 0.2\nself_contact = false", None, None),
        ("chain", "beads = 2\nbond_length = 0.01", None, None),
        ("ring", "beads = 5\nbond_length = 0.45", "0 and 2", "exclude = 2"),
        ("star", "arms = 3\narm_beads = 1\nbond_length = 0.45", "1 and 2", "exclude = 2"),
        ("star", "arms = 3\narm_beads = 1\nbond_length = 0.45\nexclude = 2", None, None),
        ("rod", "beads = 5\nbond_length = 0.3", None, None),
        ("chain", "beads = 4\nbond_length = [1.0, 0.3, 0.3]", "1 and 3", "exclude = 2"),
        (
            "graph",
            "beads = 4\nbonds = [[0, 1], [1, 2], [2, 3], [0, 2]]\nbond_length = [2, 2, 0.4, 0.4]",
            "0 and 3",
            "2",
        ),
    ],
)
def test_bonds_may_be_short_where_beads_that_collide_can_part(write, kind, keys, pair, remedy):
    if pair is None:
        load_config(write(FUSED.format(kind, keys)))
        return
    with pytest.raises(ConfigError, match=f"beads {pair} can never be apart.*{remedy}"):
        load_config(write(FUSED.format(kind, keys)))


def test_packing_bounds_depend_on_the_method_and_overlap(write):
    text = "[box]\nsize = [10, 10, 10]\n[[molecule]]\nkind = 'chain'\nbeads = 10\ncount = {}\n{}\n[run]\nend_time = 1\n"
    load_config(write(text.format(105, "")))  # 0.5498
    with pytest.raises(ConfigError, match="packing fraction"):
        load_config(write(text.format(106, "")))
    load_config(write(text.format(106, "self_contact = false")))
    with pytest.raises(ConfigError, match="packing fraction"):
        load_config(write(text.format(1060, "self_contact = false")))


def test_a_million_beads_load_at_once(write):
    kind = "[[molecule]]\nkind = 'chain'\nbeads = 20\ncount = 50000\n"
    text = f"[box]\nsize = [200, 200, 200]\n{kind}[run]\nend_time = 1\n"
    start = time.perf_counter()
    config = load_config(write(text))
    assert time.perf_counter() - start < 5.0
    assert config.beads == 1_000_000


def test_messages_of_each_key_are_word_for_word_what_they_were():
    keys = {key.path: key for key in KEYS}
    with MESSAGES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["key"] for row in rows} >= {"box.size", "molecule.bonds", "contact.pair.types", "run.sectors"}
    for row in rows:
        with pytest.raises(Wrong) as wrong:
            keys[row["key"]].value.read(json.loads(row["value"]))
        assert str(wrong.value) == row["message"], row["key"]


def test_masses_may_differ_as_far_as_has_been_tried(write):
    kinds = "[box]\nsize = [9, 9, 9]\n[run]\nend_time = 1\n" + '[[molecule]]\nkind = "{}"\nbeads = 3\nmass = {}\n' * 2
    load_config(write(kinds.format("chain", 1.0, "chain", 1e12)))
    load_config(write(kinds.format("chain", "[1.0, 1e12, 1.0]", "ring", "[1.0, 1.0, 1e10]")))
    with pytest.raises(ConfigError, match=r"molecule\[1\].mass: 1.1e\+12 is 1.1e\+12 times the least mass 1 \(molec"):
        load_config(write(kinds.format("chain", 1.0, "chain", 1.1e12)))
    with pytest.raises(ConfigError, match=r"molecule\[1\].mass: the greatest is 1e\+11 times the least; .* closed"):
        load_config(write(kinds.format("chain", 1.0, "ring", "[1.0, 1.0, 1e11]")))


def test_one_thing_has_no_plural():
    assert [counted(number, "frame") for number in (0, 1, 2)] == ["0 frames", "1 frame", "2 frames"]
