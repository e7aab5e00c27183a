"""Inputs that ask for a million outputs or steps are told so before they start; others are not."""

import pytest

from hpcchain.config import load_config
from hpcchain.config.demands.cautions import cautions, frame_bytes
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


def told(tmp_path, end=10.0, output="", propagator="", molecule="", begin=0.0):
    """Return the lines for ten chains."""
    path = tmp_path / "in.toml"
    path.write_text(CHAINS.format(end=end, output=output, propagator=propagator, molecule=molecule))
    return cautions(load_config(path), begin)


def test_usual_inputs_are_not_told_of(tmp_path):
    assert told(tmp_path) == []
    assert told(tmp_path, end=999_999.0, propagator="step = 1.1") == []


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("frame_every", "makes 1e+06 frames, 2.88 GB on disk"),
        ("report_every", "makes 1e+06 reports up to time 10"),
        ("checkpoint_every", "makes 1e+06 checkpoints up to time 10"),
    ],
)
def test_a_million_of_one_output_is_told_with_its_key(tmp_path, key, says):
    (line,) = told(tmp_path, output=f"{key} = 1e-5")
    assert line.startswith(f"output.{key} = 1e-05 ") and says in line


def test_a_million_steps_are_told_of_whoever_takes_them(tmp_path):
    (line,) = told(tmp_path, propagator="step = 1e-6")
    assert line.startswith("propagator.step = 1e-06 makes at least 1e+07 steps")
    (line,) = told(tmp_path, molecule='propagator = { name = "rattle", step = 1e-6 }')
    assert line.startswith("molecule[0].propagator.step = 1e-06 ")
    assert told(tmp_path, propagator="step = 1e-6", molecule='propagator = { name = "rattle", step = 0.1 }') == []


def test_the_engine_of_steps_has_its_own_step(tmp_path):
    """What a propagator's step is while the start grows makes no steps of the run."""
    steps = '[steps]\nstep = {}\n[[molecule]]\nkind = "monomer"'
    (line,) = told(
        tmp_path, propagator="step = 1e-6", output="", molecule="", end='10.0\nengine = "steps"\n' + steps.format(1e-5)
    )
    assert line.startswith("steps.step = 1e-05 makes at least 1e+06 steps")
    assert told(tmp_path, propagator="step = 1e-6", end='10.0\nengine = "steps"\n' + steps.format(1e-3)) == []


def test_frames_have_the_spins_of_beads_that_spin(tmp_path):
    """Positions, velocities, images; of rough beads angular velocities; with directors orientations, too."""
    told(tmp_path)
    smooth = load_config(tmp_path / "in.toml")
    told(tmp_path, output="[contact]\ntangential_restitution = 0.5")
    assert (frame_bytes(smooth, 10), frame_bytes(load_config(tmp_path / "in.toml"), 10)) == (720, 960)


def test_only_what_is_left_of_a_run_counts(tmp_path):
    assert told(tmp_path, output="frame_every = 1e-5", begin=9.0) == []


def test_check_says_it_on_stderr_and_goes_on(tmp_path):
    told(tmp_path, output="frame_every = 1e-5")
    found = run_hpcchain(["check", "in.toml"], tmp_path)
    assert found.returncode == 0 and "trajectory: 1000001 frames" in found.stdout
    assert found.stderr.count("output.frame_every = 1e-05") == 1


@pytest.mark.parametrize(
    ("contact", "lines"),
    [("restitution = 0", 1), ("restitution = 0.05", 0), ("restitution = 0\ncontact_time = 0.01", 0)],
)
def test_beads_that_do_not_rebound_are_told_of(tmp_path, contact, lines):
    found = told(tmp_path, output=f"[contact]\n{contact}")
    assert len(found) == lines and all(line.startswith("contact.restitution = 0 keeps") for line in found)
