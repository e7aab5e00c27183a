"""Molecules and bonds as arrays."""

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.model.molecules.equal_shapes import groups_of
from hpcchain.model.system import OPEN, PERIODIC, WALL
from hpcchain.model.topology import build_box, build_composition

TEXT = """
[box]
size = [30, 31, 32]
origin = [1, 2, 3]
boundary = ["periodic", "wall", "open"]
[[molecule]]
kind = "chain"
beads = 3
count = 2
bond_length = [1.0, 1.5]
mass = [1, 2, 3]
[[molecule]]
kind = "monomer"
count = 2
diameter = 0.5
[[molecule]]
kind = "ring"
beads = 4
self_contact = false
[[molecule]]
kind = "star"
arms = 2
arm_beads = 2
[[molecule]]
name = "G"
kind = "graph"
beads = 3
bonds = [[2, 1], [0, 2]]
bond_length = [1.25, 1.75]
[run]
end_time = 1
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "in.toml"
    path.write_text(TEXT)
    return load_config(path)


def test_arrays_follow_the_file(config):
    topology = build_composition(config).whole()
    assert topology.names == ("A", "B", "C", "D", "G")
    assert topology.kind.tolist() == [0, 0, 1, 1, 2, 3, 4]
    assert topology.first_bead.tolist() == [0, 3, 6, 7, 8, 12, 17, 20]
    assert topology.first_bond.tolist() == [0, 2, 4, 4, 4, 8, 12, 14]
    assert topology.bonds.tolist() == [
        *([0, 1], [1, 2], [3, 4], [4, 5]),
        *([8, 9], [9, 10], [10, 11], [8, 11]),
        *([12, 13], [13, 14], [12, 15], [15, 16]),
        *([18, 19], [17, 19]),
    ]
    assert topology.bond_length.tolist() == [1, 1.5, 1, 1.5] + [1] * 8 + [1.25, 1.75]
    assert topology.mass[:6].tolist() == [1, 2, 3, 1, 2, 3] and (topology.mass[6:] == 1).all()
    assert topology.diameter.tolist() == [1] * 6 + [0.5] * 2 + [1] * 12
    assert topology.self_contact.tolist() == [True] * 4 + [False] + [True] * 2
    assert topology.bonds.dtype == np.int64 and topology.kind.dtype == np.int32 and topology.self_contact.dtype == bool


def test_the_box(config):
    box = build_box(config.box)
    assert box.size.tolist() == [30, 31, 32] and box.origin.tolist() == [1, 2, 3]
    assert box.boundary.tolist() == [PERIODIC, WALL, OPEN] and box.boundary.dtype == np.int8


def test_groups_hold_equal_molecules(config):
    groups = groups_of(build_composition(config).whole())
    assert [group.beads.tolist() for group in groups[:2]] == [[[0, 1, 2], [3, 4, 5]], [[6], [7]]]
    assert [group.is_chain for group in groups] == [True, True, False, False, False]
    assert [group.has_cycles for group in groups] == [False, False, True, False, False]
    assert groups[4].bonds.tolist() == [[1, 2], [0, 2]] and groups[4].length.tolist() == [1.25, 1.75]


MORE = """
[[molecule]]
kind = "rod"
beads = 3
bond_length = [1.0, 1.25]
mass = [1.0, 2.0, 3.0]
[[molecule]]
kind = "rigid"
count = 2
sites = [[0, 0, 0], [1, 0, 0], [0, 1, 0.5]]
[[molecule]]
kind = "chain"
beads = 3
types = ["P", "Q", "P"]
exclude = 2
fixed = [0]
[run]
"""
