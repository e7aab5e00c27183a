"""Stiff molecules: those that have an arrangement get one, quickly, and those that have none are refused."""

from itertools import combinations

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.model.molecules.equal_shapes import groups_of
from hpcchain.model.starts import placement
from hpcchain.model.starts.conformation import Sought, classical, embed
from hpcchain.model.starts.placement import NoArrangement, place
from hpcchain.model.topology import build_box, build_composition

GOLDEN = (1.0 + 5.0**0.5) / 2.0
GRAPH = """
[box]
size = [12, 12, 12]
[[molecule]]
kind = "graph"
beads = {beads}
bonds = {bonds}
count = 2
[run]
end_time = 1
"""


def nearest(points):
    """Return the pairs of points that are nearest to one another: a solid's edges."""
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    least = apart[apart > 0.0].min()
    return [[i, j] for i, j in combinations(range(len(points)), 2) if apart[i, j] < least * (1.0 + 1e-9)]


def turned(a, b, c):
    return [(a, b, c), (c, a, b), (b, c, a)]


SIGNS = (-1.0, 1.0)
ICOSAHEDRON = np.array([p for s in SIGNS for t in SIGNS for p in turned(0.0, s, t * GOLDEN)])
DODECAHEDRON = np.array(
    [(a, b, c) for a in SIGNS for b in SIGNS for c in SIGNS]
    + [p for s in SIGNS for t in SIGNS for p in turned(0.0, s / GOLDEN, t * GOLDEN)]
)
SOLIDS = {
    "tetrahedron": (4, list(map(list, combinations(range(4), 2)))),
    "octahedron": (6, [[i, j] for i, j in combinations(range(6), 2) if j - i != 3]),
    "icosahedron": (12, nearest(ICOSAHEDRON)),
    "dodecahedron": (20, nearest(DODECAHEDRON)),
    "triangular bipyramid": (5, [[i, j] for i, j in combinations(range(5), 2) if (i, j) != (0, 4)]),
    "helix of tetrahedra": (12, [[i, i + k] for k in (1, 2, 3) for i in range(12 - k)]),
    "ladder": (8, [[i, i + 1] for i in range(7)] + [[i, i + 2] for i in range(6)]),
    "prism": (6, [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5], [0, 3], [1, 4], [2, 5]]),
}
UTILITIES = [[i, j] for i in range(3) for j in range(3, 6)]


def loaded(tmp_path, beads, bonds):
    path = tmp_path / "in.toml"
    path.write_text(GRAPH.format(beads=beads, bonds=bonds))
    config = load_config(path)
    return config, build_box(config.box), build_composition(config).whole()


@pytest.mark.parametrize("name", SOLIDS)
def test_solids_are_put_together(tmp_path, name):
    beads, bonds = SOLIDS[name]
    config, box, topology = loaded(tmp_path, beads, bonds)
    group = groups_of(topology)[0]
    found, _ = embed(Sought(group, topology.diameter[:beads], True, 1))
    apart = np.linalg.norm(found[:, None] - found[None], axis=2)
    np.testing.assert_allclose(apart[tuple(group.bonds.T)], 1.0, rtol=1e-9)
    assert apart[~np.eye(beads, dtype=bool)].min() > 1.0 - 1e-9


def test_a_solid_that_random_networks_do_not_find_is_placed(tmp_path):
    beads, bonds = SOLIDS["octahedron"]
    config, box, topology = loaded(tmp_path, beads, bonds)
    position = place(config, box, topology, 0.5)
    length = np.linalg.norm(position[topology.bonds[:, 1]] - position[topology.bonds[:, 0]], axis=1)
    np.testing.assert_allclose(length, 1.0, rtol=1e-14)


def test_what_has_no_arrangement_is_refused_once_and_for_all(tmp_path, monkeypatch):
    """Three points that three others are at distance 1 of coincide."""
    config, box, topology = loaded(tmp_path, 6, UTILITIES)
    tried = []
    monkeypatch.setattr(placement, "conformation", lambda *args: tried.append(args))  # these find none, slowly
    with pytest.raises(NoArrangement, match=r"in.toml: molecule\[0\].bond_length: no arrangement .*without overlaps"):
        place(config, box, topology, 0.5)
    assert len(tried) <= 2 and issubclass(NoArrangement, ConfigError)


def test_distances_along_straight_bonds_are_embedded_exactly(tmp_path):
    _, _, topology = loaded(tmp_path, 4, [[0, 1], [1, 2], [2, 3]])
    found = classical(groups_of(topology)[0])
    np.testing.assert_allclose(np.linalg.norm(found[3] - found[0]), 3.0, rtol=1e-12)


def test_many_beads_are_left_to_random_networks(tmp_path):
    _, _, topology = loaded(tmp_path, 101, [[i, (i + 1) % 101] for i in range(101)])
    found, error = embed(Sought(groups_of(topology)[0], topology.diameter[:101], True, 1))
    assert found is None and np.isnan(error)
