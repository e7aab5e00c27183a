"""Inputs that ask for a million outputs or steps are cautioned before they start; others are not."""

import pytest

from hpcchain.config import load_config
from hpcchain.config.demands.cautions import cautions, frame_bytes
from hpcchain.errors import ConfigError
from tests.support.launching import run_hpcchain

CHAINS = """
[box]
size = [8, 8, 8]
[[molecule]]
kind = "chain"
beads = 4
count = 10
{molecule}
[propagator]
{propagator}
[run]
end_time = {end}
[output]
{output}
"""


def said_of(tmp_path, end=10.0, output="", propagator="", molecule="", begin=0.0):
    """Return the lines for ten chains."""
    path = tmp_path / "in.toml"
    path.write_text(CHAINS.format(end=end, output=output, propagator=propagator, molecule=molecule))
    return cautions(load_config(path), begin)


def test_usual_inputs_have_no_cautions(tmp_path):
    assert said_of(tmp_path) == []
    assert said_of(tmp_path, end=999_999.0, propagator="step = 1.1") == []


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("frame_every", "makes 1e+06 frames, 2.88 GB on disk"),
        ("report_every", "makes 1e+06 reports up to time 10"),
        ("checkpoint_every", "makes 1e+06 checkpoints up to time 10"),
    ],
)
def test_a_million_of_one_output_is_reported_with_its_key(tmp_path, key, says):
    (line,) = said_of(tmp_path, output=f"{key} = 1e-5")
    assert line.startswith(f"output.{key} = 1e-05 ") and says in line


def test_a_million_steps_are_reported_whatever_takes_them(tmp_path):
    (line,) = said_of(tmp_path, propagator="step = 1e-6")
    assert line.startswith("propagator.step = 1e-06 makes at least 1e+07 steps")
    (line,) = said_of(tmp_path, molecule='propagator = { name = "rattle", step = 1e-6 }')
    assert line.startswith("molecule[0].propagator.step = 1e-06 ")
    assert said_of(tmp_path, propagator="step = 1e-6", molecule='propagator = { name = "rattle", step = 0.1 }') == []


def test_the_engine_of_steps_has_its_own_step(tmp_path):
    """What a propagator's step is while the start grows makes no steps of the run."""
    steps = '[steps]\nstep = {}\n[[molecule]]\nkind = "monomer"'
    (line,) = said_of(
        tmp_path, propagator="step = 1e-6", output="", molecule="", end='10.0\nengine = "steps"\n' + steps.format(1e-5)
    )
    assert line.startswith("steps.step = 1e-05 makes at least 1e+06 steps")
    assert said_of(tmp_path, propagator="step = 1e-6", end='10.0\nengine = "steps"\n' + steps.format(1e-3)) == []


def test_frames_have_the_spins_of_beads_that_spin(tmp_path):
    """Positions, velocities, images; of rough beads angular velocities; with directors orientations, too."""
    said_of(tmp_path)
    smooth = load_config(tmp_path / "in.toml")
    said_of(tmp_path, output="[contact]\ntangential_restitution = 0.5")
    assert (frame_bytes(smooth, 10), frame_bytes(load_config(tmp_path / "in.toml"), 10)) == (720, 960)


def test_only_what_is_left_of_a_run_counts(tmp_path):
    assert said_of(tmp_path, output="frame_every = 1e-5", begin=9.0) == []


def test_check_says_it_on_stderr_and_goes_on(tmp_path):
    said_of(tmp_path, output="frame_every = 1e-5")
    found = run_hpcchain(["check", "in.toml"], tmp_path)
    assert found.returncode == 0 and "trajectory: 1000001 frames" in found.stdout
    assert found.stderr.count("output.frame_every = 1e-05") == 1


@pytest.mark.parametrize(
    ("contact", "lines"),
    [("restitution = 0", 1), ("restitution = 0.05", 0), ("restitution = 0\ncontact_time = 0.01", 0)],
)
def test_beads_that_do_not_rebound_are_reported(tmp_path, contact, lines):
    found = said_of(tmp_path, output=f"[contact]\n{contact}")
    assert len(found) == lines and all(line.startswith("contact.restitution = 0 keeps") for line in found)


@pytest.mark.parametrize(
    ("types", "meant"),
    [
        ("AABB", '["A", "A", "B", "B"]'),
        ("A A B B", '["A", "A", "B", "B"]'),
        ("Na,Cl,Na,Cl", '["Na", "Cl", "Na", "Cl"]'),
        ("ABA", None),
        ("AAAA", None),
        ("Aabb", None),
        ("1122", None),
    ],
)
def test_a_text_with_a_letter_for_each_bead_is_said_to_be_one_type(tmp_path, types, meant):
    found = said_of(tmp_path, molecule=f'types = "{types}"')
    assert [line.endswith(f"if one for each is meant, write {meant}") for line in found] == [True] * (meant is not None)


SOFT = """
[box]
size = 12
[[molecule]]
kind = "chain"
beads = 10
count = 20
hard = false
rigid = false
bond_length = 0.97
[[potential]]
name = "wca"
epsilon = 1.0
sigma = 1.0
[[potential]]
name = "fene"
stiffness = 30.0
length = 1.5
epsilon = 1.0
sigma = 1.0
[initial]
temperature = {temperature}
{more}
[run]
end_time = 5.0
engine = "steps"
[steps]
step = {step}
"""
THERMOSTAT = '[thermostat]\nname = "langevin"\ndamping = 1.0\ntemperature = 1000.0'


@pytest.mark.parametrize(
    ("temperature", "step", "more", "potentials"),
    [
        (1.0, 0.005, "", []),
        (10.0, 0.005, "", []),
        (20.0, 0.005, "", [1]),  # bonds of such a run are torn at t 3.7
        (100.0, 0.005, "", [0, 1]),  # at t 0.015; without bonds a force is not a number at t 0.8
        (100.0, 0.0025, "", [1]),
        (1.0, 0.005, THERMOSTAT, [0, 1]),
    ],
)
def test_beads_too_hot_for_their_steps_are_reported(tmp_path, temperature, step, more, potentials):
    (tmp_path / "in.toml").write_text(SOFT.format(temperature=temperature, step=step, more=more))
    lines = cautions(load_config(tmp_path / "in.toml"))
    hottest = 1000 if more else temperature
    assert [f"potential[{k}] makes steps longer than" in line for k, line in zip(potentials, lines, strict=True)] == (
        [True] * len(potentials)
    )
    assert all(line.startswith(f"steps.step = {step:g} is long for temperature {hottest:g}: ") for line in lines)


@pytest.mark.parametrize(("apart", "says"), [(0.97, 0), (1.3, 0), (1.45, 1), (1.6, 0)])
@pytest.mark.parametrize("velocity", [None, [0.0, 0.0, 0.0]])
def test_strained_bonds_of_a_start_are_reported(tmp_path, apart, says, velocity):
    """Those of length 1.45 tore at t 0.23; what is torn from the start is refused when it is made."""
    places = [[1.0 + apart * i, 2.0, 11.5] for i in range(10)]  # the last ones are in the next box
    text = SOFT.replace("count = 20", f"positions = {[[x % 12, y, z] for x, y, z in places]}")
    text = text.replace("hard = false", f"hard = false\nvelocities = {[velocity] * 10}" if velocity else "hard = false")
    (tmp_path / "in.toml").write_text(text.format(temperature=1.0, step=0.005, more='method = "explicit"'))
    lines = cautions(load_config(tmp_path / "in.toml"))
    assert len(lines) == says and all("or with what bonds of the start have, potential[1]" in line for line in lines)


@pytest.mark.parametrize(("tolerance", "refused"), [(1e-30, True), (1e-16, True), (1e-15, False)])
def test_contacts_are_not_solved_beyond_round_off(tmp_path, tolerance, refused):
    text = CHAINS.format(end='1.0\nengine = "steps"', output="", propagator=f"tolerance = {tolerance}", molecule="")
    (tmp_path / "in.toml").write_text(text + '[steps]\nstep = 0.01\nintegrator = "contact"\n')
    if refused:
        with pytest.raises(ConfigError, match="propagator.tolerance: .* is below the round-off of speeds"):
            load_config(tmp_path / "in.toml")
    else:
        load_config(tmp_path / "in.toml")
