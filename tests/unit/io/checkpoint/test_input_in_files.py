"""Box, molecules and constants of a file follow from the input in it; what no motion changes must be as that says."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.errors import DataError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint, write_checkpoint
from hpcchain.model.molecules.long_chains import LONG
from hpcchain.model.starts import start
from hpcchain.model.starts.start import build_system

INPUT = """
[box]
size = [9.0, 9.0, 9.0]
[[molecule]]
kind = "monomer"
count = 2
positions = [[1.0, 1.0, 1.0], [4.0, 4.0, 4.0]]
[initial]
method = "explicit"
[run]
end_time = 1.0
"""
TURNED = "[[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]"
SPINS = "[[0.0, 0.5, 0.0], [0.25, 0.0, 0.0]]"


def stored(folder, text, change=None):
    """Write the checkpoint of an input's start, maybe with another input in it; return its System and its path."""
    (folder / "in.toml").write_text(text, encoding="utf-8")
    config = load_config(folder / "in.toml")
    system = build_system(config)
    if change is not None:
        (folder / "other.toml").write_text(change, encoding="utf-8")
        config = load_config(folder / "other.toml")
    write_checkpoint(folder / "c.h5", None, system, 0.0, {}, config)
    return system, folder / "c.h5"


@pytest.mark.parametrize("rows", ["", f"orientations = {TURNED}\nangular_velocities = {SPINS}\n"])
def test_directors_begin_as_the_input_says(tmp_path, rows):
    text = INPUT.replace("count = 2\n", f"count = 2\ndirectors = true\nmoment = 0.25\n{rows}")
    system, path = stored(tmp_path, text)
    found = read_checkpoint(path).system.directors
    assert found.moment.tolist() == [0.25] and (found.seed, found.temperature) == (1, 1.0)
    for name in ("orientation", "angular_velocity"):
        assert getattr(found.table, name).tobytes() == getattr(system.directors.table, name).tobytes()


@pytest.mark.parametrize("velocity", [0.0, 0.5])
def test_fixed_beads_have_the_velocity_of_the_input(tmp_path, velocity):
    held = f"count = 2\nfixed = [0]\nfixed_velocity = [{velocity}, 0.0, 0.0]"
    free = '[[molecule]]\nkind = "monomer"\npositions = [[7.0, 7.0, 7.0]]\n[initial]'
    system, path = stored(tmp_path, INPUT.replace("count = 2", held).replace("[initial]", free))
    found = read_checkpoint(path)
    state = replace(system.state, velocity=np.array([[velocity, 0.0, 0.0], [0.25, 0.0, 0.0], [0.0] * 3]))
    write_checkpoint(path, None, replace(system, state=state), 0.0, {}, found.config)
    with pytest.raises(DataError, match="c.h5: state/velocity: of bead 1, which is fixed"):
        read_checkpoint(path)


def straight(beads, more=""):
    """Return the input of a straight chain that moves along its line as a whole."""
    places = [[1.0, 4.0 + 1.0 * k, 4.0] for k in range(beads)]
    return (
        INPUT.replace('"monomer"\ncount = 2', f'"chain"\nbeads = {beads}\ncount = 1')
        .replace("size = [9.0, 9.0, 9.0]", 'size = [9.0, 300.0, 9.0]\nboundary = ["periodic", "wall", "periodic"]')
        .replace("[[1.0, 1.0, 1.0], [4.0, 4.0, 4.0]]", f"{places}\nvelocities = {[[1.0, 0.0, 0.0]] * beads}")
        + more
    )


def test_what_the_program_chose_stays(tmp_path, monkeypatch):
    """A later version may divide chains of other lengths: a run goes on with what it began with."""
    _, path = stored(tmp_path, straight(LONG))
    for chosen in (LONG + 1, LONG - 1, LONG):
        monkeypatch.setattr(start, "LONG", chosen)
        assert read_checkpoint(path).system.physics.options.stretches == LONG
    _, path = stored(tmp_path, straight(LONG, "[propagator]\nstretches = 0"), change=straight(LONG))
    assert read_checkpoint(path).system.physics.options.stretches == 0
    for asked in (0, 64):  # the input goes before
        _, path = stored(tmp_path, straight(LONG), change=straight(LONG, f"[propagator]\nstretches = {asked}"))
        assert read_checkpoint(path).system.physics.options.stretches == asked
