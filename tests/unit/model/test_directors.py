"""Spheres with directors: the input's keys, their start, its statistics, and that a start depends on nothing else."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hpcchain.cli.main import main
from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.model.directors import Directors, Table, drawn
from hpcchain.model.starts.spins import build_directors
from hpcchain.model.starts.start import build_system
from hpcchain.model.topology import build_composition
from hpcchain.run.orientations import rotation_of, turning_of
from hpcchain.run.starts.growth import grown_system

RANDOM = """
[box]
size = [30.0, 30.0, 30.0]
[[molecule]]
kind = "chain"
beads = 3
count = 7
[[molecule]]
kind = "monomer"
count = 20
directors = true
mass = 2.0
diameter = 1.5
[[molecule]]
kind = "monomer"
count = 5
[[molecule]]
kind = "monomer"
count = 3
directors = true
moment = 0.25
[initial]
seed = 7
temperature = 1.7
[run]
end_time = 1.0
"""
EXPLICIT = """
[box]
size = [10.0, 10.0, 10.0]
boundary = ["open", "open", "open"]
[[molecule]]
kind = "monomer"
positions = [[8, 8, 8]]
velocities = [[0, 0, 0]]
[[molecule]]
kind = "monomer"
count = 2
directors = true
positions = [[1, 1, 1], [4, 1, 1]]
velocities = [[0, 0, 0], [0, 0, 0]]
orientations = [[1, 0, 0, 0], [0.6, 0, 0.8000000001, 0]]
angular_velocities = [[1, 2, -1], [2, 3, -3]]
[initial]
method = "explicit"
[run]
end_time = 1.0
"""
MISTAKES = [
    ("molecule.0.directors = true", "molecule.directors: does not work for molecule[0], kind 'chain'"),
    ("molecule.1.directors = 1", "molecule[1].directors: 1 is not true or false"),
    ("molecule.1.moment = 0.0", "molecule[1].moment: 0 is out of range"),
    ("molecule.1.moment = nan", "molecule[1].moment: nan is not a finite number"),
    ("molecule.2.moment = 0.1", "molecule[2].moment: means nothing without directors"),
    ("molecule.0.moment = 0.1", "molecule[0].moment: means nothing without directors"),
    ("molecule.2.orientations = [[1, 0, 0, 0]]", "molecule[2].orientations: means nothing without directors"),
    ("molecule.1.orientations = [[1, 0, 0, 0]]", 'molecule[1].orientations: means nothing for initial.method "grow"'),
    (
        "molecule.1.angular_velocities = [[1, 0, 0]]",
        'molecule[1].angular_velocities: means nothing for initial.method "grow"',
    ),
    ('molecule.1.propagator = { name = "rattle", step = 0.1 }', 'no steps of "rattle"; choose taylor, variational'),
    ('molecule.1.propagator = { name = "variational" }', "molecule[1].propagator.step: is missing"),
    ('molecule.2.propagator = { name = "taylor" }', "molecule[2].propagator: means nothing for single beads"),
]
EXPLICIT_MISTAKES = [
    ("[0.6, 0, 0.8000000001, 0]", "[0.6, 0, 0.81, 0]", "molecule[1].orientations: row 1: [0.6, 0.0, 0.81, 0.0] is of "),
    ("[0.6, 0, 0.8000000001, 0]", "[0, 0, 0, 0]", "orientations: row 1: [0.0, 0.0, 0.0, 0.0] is of length 0; needs"),
    ("[0.6, 0, 0.8000000001, 0]", "[nan, 0, 1, 0]", "molecule[1].orientations: row 1: nan is not a finite number"),
    ("[0.6, 0, 0.8000000001, 0]", "[1, 0, 0]", "molecule[1].orientations: row 1: [1, 0, 0] is not a list of 4 numbers"),
    (
        "[[1, 0, 0, 0], [0.6, 0, 0.8000000001, 0]]",
        "[[1, 0, 0, 0]]",
        "molecule[1].orientations: has 1 rows; needs count = 2 rows [w, x, y, z]",
    ),
    ("[[1, 0, 0, 0], [0.6, 0, 0.8000000001, 0]]", "3", "molecule[1].orientations: 3 is not a list of [w, x, y, z]"),
    ("[2, 3, -3]", "[2, 3]", "molecule[1].angular_velocities: row 1: [2, 3] is not a list of 3 numbers"),
    ("[2, 3, -3]", "[2, inf, -3]", "molecule[1].angular_velocities: row 1: inf is not a finite number"),
    (", [2, 3, -3]", "", "molecule[1].angular_velocities: has 1 rows; needs count = 2 rows [x, y, z]"),
    (
        "[run]",
        '[propagator]\nname = "variational"\nstep = 0.25\n[run]',
        "angular_velocities: row 1: [2.0, 3.0, -3.0] is too fast for steps of 0.25: step × angular speed = 1.17",
    ),
]


def config_of(folder, text, *settings):
    """Return the checked input of a text."""
    path = folder / "in.toml"
    path.write_text(text, encoding="utf-8")
    return load_config(path, settings)


@pytest.mark.parametrize(("setting", "message"), MISTAKES, ids=[setting for setting, _ in MISTAKES])
def test_each_mistake_gives_one_message_with_its_key(tmp_path, setting, message):
    with pytest.raises(ConfigError) as caught:
        config_of(tmp_path, RANDOM, setting)
    assert message in str(caught.value) and "\n" not in str(caught.value) and caught.value.exit_code == 78


@pytest.mark.parametrize(("old", "new", "message"), EXPLICIT_MISTAKES)
def test_mistakes_in_an_explicit_start(tmp_path, old, new, message):
    assert EXPLICIT.count(old) == 1
    with pytest.raises(ConfigError) as caught:
        config_of(tmp_path, EXPLICIT.replace(old, new))
    assert message in str(caught.value) and "\n" not in str(caught.value) and caught.value.exit_code == 78


@pytest.mark.parametrize("text", [RANDOM, EXPLICIT])
def test_the_resolved_input_loads_back_equal(tmp_path, text):
    config = config_of(tmp_path, text)
    again = config_of(tmp_path, config.to_toml())
    assert again == config and again.to_toml() == config.to_toml()


def test_an_input_without_directors_resolves_as_before(tmp_path):
    text = config_of(tmp_path, RANDOM.replace("directors = true\n", "").replace("moment = 0.25\n", "")).to_toml()
    assert "directors" not in text and "moment" not in text and "orientations" not in text


def test_moments_and_steps_of_kinds(tmp_path):
    found = build_directors(config_of(tmp_path, RANDOM))
    assert found.moment.tolist() == [0.0, 2.0 * 1.5**2 / 10.0, 0.0, 0.25]
    assert found.step.tolist() == [0.0] * 4 and found.table is None
    stepped = build_directors(
        config_of(
            tmp_path,
            RANDOM,
            "propagator.name=variational",
            "propagator.step=0.01",
            'molecule.3.propagator={ name = "taylor" }',
        )
    )
    assert stepped.step.tolist() == [0.0, 0.01, 0.0, 0.0]
    own = build_directors(config_of(tmp_path, RANDOM, 'molecule.3.propagator={ name = "variational", step = 0.02 }'))
    assert own.step.tolist() == [0.0, 0.0, 0.0, 0.02]
    rattle = build_directors(config_of(tmp_path, RANDOM, "propagator.name=rattle", "propagator.step=0.01"))
    assert rattle.step.tolist() == [0.0] * 4
    none = RANDOM.replace("directors = true\n", "").replace("moment = 0.25\n", "")
    assert build_directors(config_of(tmp_path, none)) is None


def test_an_explicit_start(tmp_path):
    system = build_system(config_of(tmp_path, EXPLICIT))
    orientation, velocity = system.directors.start(system.topology, 0, 3)
    assert orientation[:2].tolist() == [[1.0, 0.0, 0.0, 0.0]] * 2
    assert np.abs(orientation[2] - [0.6, 0.0, 0.8, 0.0]).max() < 1e-9
    assert abs(np.linalg.norm(orientation[2]) - 1.0) < 3e-16
    assert velocity.tolist() == [[0, 0, 0], [1, 2, -1], [2, 3, -3]]
    assert system.physics.kinds == ()
    bare = EXPLICIT.replace("orientations =", "#").replace("angular_velocities =", "#")
    still = build_system(config_of(tmp_path, bare))
    orientation, velocity = still.directors.start(still.topology, 0, 3)
    assert orientation.tolist() == [[1.0, 0.0, 0.0, 0.0]] * 3 and not velocity.any()


def test_a_propagator_of_their_own_is_not_the_engines(tmp_path):
    setting = 'molecule.1.propagator={ name = "variational", step = 0.02 }'
    system = build_system(config_of(tmp_path, EXPLICIT, setting))
    assert system.physics.kinds == () and system.physics.propagator == "taylor"
    assert system.directors.step.tolist() == [0.0, 0.02]


def test_a_random_start_depends_on_seed_and_number_alone(tmp_path):
    config = config_of(tmp_path, RANDOM)
    directors, composition = build_directors(config), build_composition(config)
    whole = directors.start(composition, 0, composition.beads)
    for low, high in ((0, 25), (25, 40), (40, composition.beads), (21, 22)):
        part = directors.start(composition, low, high)
        assert [a.tobytes() for a in part] == [a[low:high].tobytes() for a in whole]
    bead, number = 21 + 4, 7 + 4
    assert whole[0][bead].tobytes() == drawn(np.array([0.45]), 1.7, 7, np.array([number]))[0][0].tobytes()
    other = replace(directors, seed=8).start(composition, 0, composition.beads)
    assert not np.any(np.all(other[0][21:41] == whole[0][21:41], axis=1))
    assert whole[0][:21].tolist() == [[1.0, 0.0, 0.0, 0.0]] * 21 and not whole[1][:21].any()


def test_random_spins_are_maxwellian_and_orientations_uniform():
    n, moment, temperature = 100_000, 0.3, 1.7
    q, w = drawn(np.full(n, moment), temperature, 3, np.arange(n))
    z = w * math.sqrt(moment / temperature)
    assert np.abs(z.mean(axis=0)).max() < 4.0 / math.sqrt(n)
    assert np.abs(np.cov(z.T) - np.eye(3)).max() < 6.0 / math.sqrt(n)
    assert abs(np.mean(z**4) - 3.0) < 4.0 * math.sqrt(96.0 / (3 * n))
    energy = 0.5 * moment * np.sum(w**2, axis=1)
    assert abs(energy.mean() / (1.5 * temperature) - 1.0) < 4.0 * math.sqrt(2.0 / (3.0 * n))
    assert np.abs(np.linalg.norm(q, axis=1) - 1.0).max() < 5e-16
    assert np.abs(q.mean(axis=0)).max() < 4.0 / math.sqrt(4 * n)
    assert np.abs(q.T @ q / n - np.eye(4) / 4).max() < 4.0 / math.sqrt(8 * n)
    assert abs(np.mean(q**4) - 1.0 / 8.0) < 4.0 * 0.2 / math.sqrt(n)
    assert np.abs(np.corrcoef(np.column_stack([q, z]).T) - np.eye(7)).max() < 5.0 / math.sqrt(n)


def test_beads_without_directors_are_never_turned(tmp_path):
    config = config_of(tmp_path, RANDOM)
    composition = build_composition(config)
    turning = build_directors(config).turning(composition, 0, composition.beads)
    found = turning.orientation(12.3)
    still = turning.moment == 0.0
    assert still.sum() == 26 and np.all(found[still] == [1.0, 0.0, 0.0, 0.0])
    assert np.all(np.abs(found[~still] - turning.orientation(0.0)[~still]).max(axis=1) > 1e-3)


def test_energy_and_spin_are_those_of_the_spheres(tmp_path):
    config = config_of(tmp_path, EXPLICIT)
    found = rotation_of(turning_of(build_directors(config), build_composition(config), None), None)
    assert found["rotational_energy"] == pytest.approx(0.5 * 0.1 * (6.0 + 22.0), rel=1e-15)
    assert found["spin"].tolist() == pytest.approx([0.3, 0.5, -0.4], rel=1e-15)


def test_a_run_can_be_restarted_from_orientations_at_a_time(tmp_path):
    config = config_of(tmp_path, RANDOM)
    composition, directors = build_composition(config), build_directors(config)
    there = directors.turning(composition, 0, composition.beads).orientation(3.0)
    again = directors.restarted(composition, 0, composition.beads, 2.0).turning(composition, 0, composition.beads)
    assert np.abs(again.orientation(1.0) - there).max() < 1e-15


def test_a_table_gives_any_part_of_its_rows():
    rng = np.random.default_rng(0)
    table = Table(10, rng.normal(size=(6, 4)), rng.normal(size=(6, 3)))
    part = Directors(np.ones(1), np.zeros(1), 1, 1.0, table).part(12, 14).table
    assert part.low == 12 and np.array_equal(part.orientation, table.orientation[2:4])
    assert np.array_equal(part.rows(13, 14).angular_velocity, table.angular_velocity[3:4])


def test_spheres_too_fast_for_their_steps_are_refused_before_anything_is_grown(tmp_path, capsys):
    settings = ["propagator.name=variational", "propagator.step=0.5"]
    config = config_of(tmp_path, RANDOM, *settings)
    with pytest.raises(ConfigError, match=r"in\.toml: propagator\.step: 0\.5 is too long for how fast bead \d+ spins"):
        grown_system(config, lambda part: pytest.fail("has begun to grow"))
    path = str(tmp_path / "in.toml")
    assert main(["check", path, "--set", settings[0], "--set", settings[1]]) == 78
    assert "must be below 1" in capsys.readouterr().err
    assert main(["check", path, "--set", settings[0], "--set", "propagator.step=0.01"]) == 0


def test_check_prints_the_keys_and_counts_the_orientations(tmp_path, capsys):
    config_of(tmp_path, EXPLICIT)
    assert main(["check", str(tmp_path / "in.toml")]) == 0
    said = capsys.readouterr().out
    assert "directors = true" in said and "angular_velocities = [" in said
    assert f"trajectory: 2 frames, {2 * 3 * (72 + 32)} B" in said
