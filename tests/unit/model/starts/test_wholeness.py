"""Explicit starts whose molecules periodic sides cut."""

import numpy as np
import pytest

from hpcchain.config.load import config_from_table
from hpcchain.errors import ConfigError
from hpcchain.model.starts.start import build_system

SIDE = 8.0


def started(positions, **keys):
    """Return the System of one molecule in a cube, half of whose sides are periodic."""
    table = {
        "box": {"size": [SIDE] * 3, "boundary": ["periodic", "periodic", "open"]},
        "initial": {"method": "explicit"},
        "molecule": [{"diameter": 0.3, "positions": np.asarray(positions).tolist()} | keys],
        "run": {"end_time": 0.0} | ({"engine": "steps"} if keys.get("rigid") is False else {}),
    }
    if "steps" in table["run"].values():
        table |= {"steps": {"step": 0.01}, "potential": [{"name": "harmonic", "stiffness": 1.0, "length": 1.0}]}
    return build_system(config_from_table(table, "in.toml"))


HOUSE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0]])


@pytest.mark.parametrize(
    "keys",
    [
        {"kind": "chain", "beads": 4, "bond_length": [1.0, 1.0, 2.0**0.5]},
        {"kind": "graph", "beads": 4, "bonds": [[1, 0], [3, 1], [1, 2]], "bond_length": [1.0, 3.0**0.5, 1.0]},
        {"kind": "rigid", "sites": HOUSE.tolist()},
        {"kind": "chain", "beads": 4, "rigid": False},
    ],
    ids=["chain", "graph", "rigid", "flexible"],
)
def test_molecules_are_made_whole(keys):
    for shift in ([7.5, 0.0, 0.0], [7.1, 7.2, 0.0], [3.0, -0.5, 7.5]):
        wrapped = HOUSE + shift
        wrapped[:, :2] %= SIDE
        position = started(wrapped, **keys).state.position
        np.testing.assert_allclose(position - position[0], HOUSE - HOUSE[0], atol=1e-14)
        np.testing.assert_allclose(position[0], wrapped[0], atol=1e-14)


def test_a_rod_is_made_whole():
    rod = np.array([6.5, 4.0, 4.0]) + np.arange(4)[:, None] * [0.6, 0.8, 0.0]
    position = started(rod % SIDE, kind="rod", beads=4).state.position
    np.testing.assert_allclose(position, rod, atol=1e-14)


def test_whole_molecules_keep_every_bit_however_long_their_bonds_are():
    for length in (3.0, 5.0, 7.5, 9.0):
        given = [[1.0, 1.0, 1.0], [1.0 + length, 1.0, 1.0]]
        position = started(given, kind="chain", beads=2, bond_length=length).state.position
        np.testing.assert_array_equal(position, given)


def test_what_no_image_makes_fit_is_refused():
    with pytest.raises(ConfigError, match="molecule.positions: beads 0 and 1 are 1.5 apart, their bond_length is 1"):
        started([[0.5, 1.0, 1.0], [7.0, 1.0, 1.0]], kind="chain", beads=2)
    with pytest.raises(ConfigError, match="molecule.positions: beads 0 and 1 are 6.5 apart, their bond_length is 1"):
        started([[1.0, 1.0, 0.5], [1.0, 1.0, 7.0]], kind="chain", beads=2)
    with pytest.raises(ConfigError, match="molecule.positions: .* of beads . and . close on themselves"):
        given = [[1.0, 1.0, 1.0], [3.7, 1.0, 1.0], [6.4, 1.0, 1.0]]
        started(given, kind="ring", beads=3, bond_length=[2.7, 2.7, 2.6])
    with pytest.raises(ConfigError, match="molecule.positions: the bond of beads 0 and 1 is 4 long along axis x"):
        started([[1.0, 1.0, 1.0], [5.0, 1.0, 1.0]], kind="chain", beads=2, rigid=False)
