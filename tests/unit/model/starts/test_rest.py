"""A bead at rest on a wall under gravity: the engine of events has no rest, and says so before it starts."""

import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.model.starts.start import build_system

FLOOR = """
[box]
size = 6.0
boundary = ["periodic", "periodic", "wall"]
[[molecule]]
kind = "monomer"
positions = [[1.0, 1.0, 0.5]]
velocities = [[0.3, 0.0, 0.0]]
[initial]
method = "explicit"
[external]
gravity = [0.0, 0.0, -1.0]
[run]
end_time = 1.0
"""

CEILING = ["external.gravity=[0.0, 0.0, 2.0]", "molecule.positions=[[1.0, 1.0, 5.5]]"]
AT_REST = {
    "elastic": [],
    "with loss": ["contact.restitution=0.5", "contact.contact_time=0.5"],
    "on the ceiling": CEILING,
    "by a gap of rounding": ["molecule.positions=[[1.0, 1.0, 0.50000000000001]]"],
    "slowly up": ["molecule.velocities=[[0.3, 0.0, 1e-7]]"],
    "with a wall that moves": ["wall=[{side='z-', velocity=0.1}]", "molecule.velocities=[[0.3, 0.0, 0.1]]"],
}


@pytest.mark.parametrize("name", AT_REST)
def test_a_bead_that_rests_on_a_wall_is_refused_with_what_lets_it_rest(tmp_path, name):
    (tmp_path / "in.toml").write_text(FLOOR, encoding="utf-8")
    config = load_config(tmp_path / "in.toml", AT_REST[name])
    side = r"z\+" if name == "on the ceiling" else "z-"
    match = rf'in.toml: molecule.positions: bead 0 rests on the wall "{side}".*higher.*steps.integrator = "contact"'
    with pytest.raises(ConfigError, match=match):
        build_system(config)


MOVING = {
    "lifted": ["molecule.positions=[[1.0, 1.0, 0.51]]"],
    "thrown": ["molecule.velocities=[[0.3, 0.0, 1.0]]"],
    "falling": ["molecule.velocities=[[0.3, 0.0, -1.0]]"],
    "under the ceiling": ["molecule.positions=[[1.0, 1.0, 5.5]]"],
    "on a wall that draws velocities": ["wall=[{side='z-', temperature=1.0}]"],
    "on a wall that comes": ["wall=[{side='z-', velocity=0.1}]"],
    "along the wall": ["external.gravity=[1.0, 0.0, 0.0]"],
    "in steps": [
        "run.engine=steps",
        "steps={step=0.01, integrator='contact'}",
    ],
}


@pytest.mark.parametrize("name", MOVING)
def test_a_bead_that_moves_on_is_taken(tmp_path, name):
    (tmp_path / "in.toml").write_text(FLOOR, encoding="utf-8")
    build_system(load_config(tmp_path / "in.toml", MOVING[name]))
