"""The input in a checkpoint, and the energy with which its run began."""

import pytest

from hpcchain.config import load_config
from hpcchain.errors import DataError
from hpcchain.io.checkpoint.checkpoint import read_checkpoint, write_checkpoint
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
        ("[propagator]\nstretches = true", 1.01, False),
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
