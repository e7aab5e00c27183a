"""Types of beads and which beads never collide: pairs by brute force, starts, files."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.io.checkpoint.checkpoint import read_checkpoint, write_checkpoint
from hpcchain.io.output.trajectory import bead_types
from hpcchain.model.molecules.exclusion import BondWalker, excluded_pairs, pairs_within
from hpcchain.model.starts.overlap import bead_overlap
from hpcchain.model.starts.start import build_system
from hpcchain.model.topology import build_composition
from tests.support.compositions import composition_of

TYPED = """
[box]
size = [20, 20, 20]
[[molecule]]
kind = "chain"
beads = 3
count = 2
types = ["H", "P", "H"]
exclude = 2
bond_length = 0.45
positions = [[1, 1, 1], [1.45, 1, 1], [1.9, 1, 1], [5, 5, 5], [5.45, 5, 5], [5.45, 5.45, 5]]
[[molecule]]
kind = "monomer"
types = "P"
positions = [[9, 9, 9]]
[[molecule]]
kind = "monomer"
name = "C"
positions = [[12, 9, 9]]
[initial]
method = "explicit"
[run]
end_time = 1
"""


def loaded(tmp_path, text=TYPED):
    path = tmp_path / "in.toml"
    path.write_text(text)
    return load_config(path)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_pairs_within_are_those_of_a_search_of_the_graph(most):
    rng = np.random.default_rng(most)
    for _ in range(20):
        n = int(rng.integers(2, 12))
        bonds = np.array([[int(rng.integers(0, i)), i] for i in range(1, n)])
        extra = rng.integers(0, n, (3, 2))
        bonds = np.unique(np.sort(np.concatenate([bonds, extra[extra[:, 0] != extra[:, 1]]]), axis=1), axis=0)
        distance = np.full((n, n), np.inf)
        distance[bonds[:, 0], bonds[:, 1]] = distance[bonds[:, 1], bonds[:, 0]] = 1
        for k in range(n):
            distance = np.minimum(distance, distance[:, k, None] + distance[None, k])
        wanted = {(i, j) for i in range(n) for j in range(i + 1, n) if distance[i, j] <= most}
        assert {tuple(pair) for pair in pairs_within(bonds, n, most).tolist()} == wanted


def test_a_walk_along_bonds_takes_them_in_their_order():
    """A ring 0 3 1 4 with a bead 2 at 3, and a bead 5 alone: places drawn along a walk depend on its order."""
    walker = BondWalker(6, np.array([[3, 2], [0, 4], [3, 1], [0, 3], [1, 4]]))
    assert walker.partners(3) == [2, 1, 0] and walker.partners(5) == []
    assert walker.walk(0) == [(0, 0, -1), (4, 0, 1), (3, 0, 3), (1, 4, 4), (2, 3, 0)]
    assert walker.walk(5) == [(5, 5, -1)]


def test_types_follow_the_file_and_default_to_names(tmp_path):
    topology = build_composition(loaded(tmp_path)).whole()
    assert topology.type_names == ("H", "P", "C")
    assert topology.bead_type.tolist() == [0, 1, 0, 0, 1, 0, 1, 2]
    assert topology.exclude.tolist() == [2, 2, 1, 1]
    assert excluded_pairs(topology).tolist() == [[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5]]
    composition = build_composition(loaded(tmp_path))
    for name in ("bead_type", "exclude", "bonds"):
        assert np.array_equal(composition.rows(name, 0, composition.count(name)), getattr(topology, name))
    whole = composition_of(topology).whole()
    assert whole.type_names == topology.type_names
    assert np.array_equal(whole.bead_type, topology.bead_type)
    species, names = bead_types(topology)
    assert names == ["H", "P", "C"]
    assert species.tolist() == [0, 1, 0, 0, 1, 0, 1, 2]


def test_the_input_that_is_written_out_has_types(tmp_path):
    config = loaded(tmp_path)
    assert loaded(tmp_path, config.to_toml()) == config
    assert 'types = ["H", "P", "H"]' in config.to_toml()
    assert config.to_toml().count("exclude") == 1


def test_beads_few_bonds_apart_may_overlap_at_the_start(tmp_path):
    system = build_system(loaded(tmp_path))
    assert bead_overlap(system.box, system.topology.whole(), system.state.position) is None
    one = replace(system.topology.whole(), exclude=np.ones(4, dtype=np.int8))
    assert bead_overlap(system.box, one, system.state.position)[:2] in ((0, 2), (3, 5))


def test_files_have_potentials_of_types_that_no_kind_is_named_for(tmp_path):
    step = '[[potential]]\nname = "steps"\ntypes = ["H", "P"]\ndistances = [2.0]\nenergies = [-0.5]\n'
    config = loaded(tmp_path, TYPED + step)
    system = build_system(config)
    assert "H" not in system.topology.names
    path = tmp_path / "typed.h5"
    write_checkpoint(path, None, system, 0.0, {}, config)
    assert read_checkpoint(path).system.physics.extended.potentials[0].types == ("H", "P")
