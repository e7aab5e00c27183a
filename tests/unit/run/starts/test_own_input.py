"""The input in a checkpoint is compared with all that does not change."""

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


def stored(folder, text, change=None):
    """Return the checkpoint of an input's start, maybe with another input in it, and its path."""
    (folder / "in.toml").write_text(text, encoding="utf-8")
    system = build_system(load_config(folder / "in.toml"))
    write_checkpoint(folder / "c.h5", None, system, 0.0, {}, change or text)
    return read_checkpoint(folder / "c.h5"), folder / "c.h5"


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
        with pytest.raises(DataError, match="physics: options.stretches is"):
            require_own_input(*wrong)
