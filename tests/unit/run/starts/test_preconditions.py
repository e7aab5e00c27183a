"""A run goes on with the physics it began with; output, title and end may be others."""

import pytest

from hpcchain.config.load import config_from_table
from hpcchain.errors import ConfigError
from hpcchain.run.starts.preconditions import require_same_physics

TABLE = {
    "box": {"size": [8.0, 8.0, 8.0], "boundary": "wall"},
    "molecule": [{"kind": "monomer", "count": 2}],
    "wall": [{"side": "z-", "restitution": 0.5}],
    "run": {"end_time": 1.0},
}


def config_with(**changes):
    return config_from_table(TABLE | changes, "in.toml")


@pytest.mark.parametrize(
    ("section", "change"),
    [
        ("box", {"size": [8.0, 8.0, 9.0], "boundary": "wall"}),
        ("molecule", [{"kind": "monomer", "count": 3}]),
        ("wall", [{"side": "z-", "restitution": 0.6}]),
        ("initial", {"seed": 2}),
        ("contact", {"restitution": 0.9}),
        ("external", {"gravity": [0.0, 0.0, -1.0]}),
        ("thermostat", {"name": "andersen", "temperature": 1.0, "rate": 0.1}),
        ("potential", [{"name": "steps", "distances": [1.5], "energies": [-1.0]}]),
    ],
)
def test_another_physics_is_refused(section, change):
    with pytest.raises(ConfigError, match=rf"\[{section}\] is not that of the run in out"):
        require_same_physics(config_with(**{section: change}), config_with(), "out")


def test_output_title_and_end_may_change():
    other = config_with(title="again", run={"end_time": 2.0}, output={"frame_every": 0.5})
    require_same_physics(other, config_with(), "out")
