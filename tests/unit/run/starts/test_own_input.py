"""The input in a checkpoint, and the energy with which its run began."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.errors import DataError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint, write_checkpoint
from hpcchain.model.directors import Table
from hpcchain.model.molecules.long_chains import LONG
from hpcchain.model.starts import start
from hpcchain.model.starts.start import build_system
from hpcchain.model.starts.velocities import kinetic_energy
from hpcchain.run.starts.own_input import require_own_input

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


@pytest.mark.parametrize(
    ("more", "begin", "refused"),
    [
        ("", 1.0, False),
        ("", 1.01, True),
        ("", 0.99, True),
        ("[contact]\nrestitution = 0.5", 1.01, False),
        ("[contact]\nrestitution = 0.5", 0.99, True),
        ("[contact]\ntangential_restitution = 0.5", 1.01, False),
        ('[propagator]\nname = "rattle"\nstep = 0.1', 1.01, False),
        ("[propagator]\nstretches = 24", 1.01, True),
    ],
)
def test_smooth_runs_have_the_energy_that_they_began_with(tmp_path, more, begin, refused):
    (tmp_path / "in.toml").write_text(INPUT + more, encoding="utf-8")
    system = build_system(load_config(tmp_path / "in.toml"))
    energy = begin * kinetic_energy(system.topology, system.state.velocity)
    write_checkpoint(tmp_path / "c.h5", None, system, 0.0, {"energy": energy}, INPUT + more)
    found = read_checkpoint(tmp_path / "c.h5")
    if refused:
        with pytest.raises(DataError, match=r"the kinetic energy is \S+; counters: energy: it was"):
            require_own_input(found, tmp_path / "c.h5")
    else:
        require_own_input(found, tmp_path / "c.h5")


DIRECTORS = {
    "seed": lambda found: replace(found, seed=found.seed + 1),
    "temperature": lambda found: replace(found, temperature=2.0),
    "random": lambda found: replace(found, table=None),
    "orientation": lambda found: replace(found, table=Table(0, found.table.orientation[:, ::-1], np.zeros((2, 3)))),
    "angular_velocity": lambda found: replace(found, table=Table(0, found.table.orientation, np.ones((2, 3)))),
}


@pytest.mark.parametrize("field", DIRECTORS)
def test_directors_begin_as_the_input_says(tmp_path, field):
    """All that they do follows from that: nothing else would show that it is another."""
    text = INPUT.replace("count = 2", "count = 2\ndirectors = true")
    found, path = stored(tmp_path, text)
    require_own_input(found, path)
    system = replace(found.system, directors=DIRECTORS[field](found.system.directors))
    write_checkpoint(path, None, system, 0.0, found.counters, text)
    with pytest.raises(DataError, match=f"c.h5: directors.* {field}"):
        require_own_input(read_checkpoint(path), path)


@pytest.mark.parametrize("velocity", [0.0, 0.5])
def test_fixed_beads_have_the_velocity_of_the_input(tmp_path, velocity):
    held = f"count = 2\nfixed = [0]\nfixed_velocity = [{velocity}, 0.0, 0.0]"
    free = '[[molecule]]\nkind = "monomer"\npositions = [[7.0, 7.0, 7.0]]\n[initial]'
    text = INPUT.replace("count = 2", held).replace("[initial]", free)
    found, path = stored(tmp_path, text)
    require_own_input(found, path)
    state = replace(found.system.state, velocity=np.array([[velocity, 0.0, 0.0], [0.25, 0.0, 0.0], [0.0] * 3]))
    write_checkpoint(path, None, replace(found.system, state=state), 0.0, {}, text)
    with pytest.raises(DataError, match="state/velocity: of bead 1, which is fixed"):
        require_own_input(read_checkpoint(path), path)


def straight(beads, more=""):
    """Return the input of a straight chain that moves along its line as a whole."""
    places = [[1.0, 4.0 + 1.0 * k, 4.0] for k in range(beads)]
    return (
        INPUT.replace('"monomer"\ncount = 2', f'"chain"\nbeads = {beads}\ncount = 1')
        .replace("size = [9.0, 9.0, 9.0]", 'size = [9.0, 300.0, 9.0]\nboundary = ["periodic", "wall", "periodic"]')
        .replace("[[1.0, 1.0, 1.0], [4.0, 4.0, 4.0]]", f"{places}\nvelocities = {[[1.0, 0.0, 0.0]] * beads}")
        + more
    )


def stored(folder, text, energy=1.0, change=None):
    """Return the checkpoint of an input's start, with so many times its energy on record, and its path."""
    (folder / "in.toml").write_text(text, encoding="utf-8")
    system = build_system(load_config(folder / "in.toml"))
    energy *= kinetic_energy(system.topology, system.state.velocity)
    write_checkpoint(folder / "c.h5", None, system, 0.0, {"energy": energy}, change or text)
    return read_checkpoint(folder / "c.h5"), folder / "c.h5"


def test_parts_of_chains_are_not_all_at_one_time(tmp_path):
    """So their energies do not add up to what a run began with."""
    for more, refused in (("[propagator]\nstretches = 24", False), ("", True)):
        found = stored(tmp_path, straight(24, more), 1.01)
        if refused:
            with pytest.raises(DataError, match="counters: energy: it was"):
                require_own_input(*found)
        else:
            require_own_input(*found)


def test_what_the_program_chose_stays(tmp_path, monkeypatch):
    """A later version may divide chains of other lengths: a run goes on with what it began with."""
    found = stored(tmp_path, straight(LONG))
    for chosen in (LONG + 1, LONG - 1, LONG):
        monkeypatch.setattr(start, "LONG", chosen)
        require_own_input(*found)
        assert found[0].system.physics.options.stretches == LONG
    whole = stored(tmp_path, straight(LONG, "[propagator]\nstretches = 0"), change=straight(LONG))
    require_own_input(*whole)
    for asked in ("0", "64"):
        wrong = stored(tmp_path, straight(LONG), change=straight(LONG, f"[propagator]\nstretches = {asked}"))
        with pytest.raises(DataError, match="physics: options is"):
            require_own_input(*wrong)
