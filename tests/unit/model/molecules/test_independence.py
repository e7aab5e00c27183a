"""Bonds that follow from others, or stop no motion to first order, are refused at every start."""

import itertools

import numpy as np
import pytest

from hpcchain import api
from hpcchain.cli.check import check_start
from hpcchain.config import load_config
from hpcchain.errors import ConfigError, DataError
from hpcchain.model.molecules import independence
from hpcchain.model.starts.start import build_system
from hpcchain.run.starts.growth import grown_system
from hpcchain.run.starts.starting import load_input
from tests.support.mixtures import to_toml

SQUARE = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
RING = [[0, 1], [1, 2], [2, 3], [0, 3]]
COMPLETE = [list(pair) for pair in itertools.combinations(range(4), 2)]
CUBE = [list(place) for place in itertools.product((0.0, 1.0), repeat=3)]
EDGES = [[i, j] for i, j in itertools.combinations(range(8), 2) if bin(i ^ j).count("1") == 1]
FACES = [[i, j] for i, j in itertools.combinations(range(8), 2) if bin(i ^ j).count("1") == 2]
PRISM = [[np.cos(a), np.sin(a), z] for z in (0.0, 1.5) for a in 2.0 * np.pi / 3.0 * np.arange(3)]
PRISM_BONDS = [[0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5], [0, 3], [1, 4], [2, 5]]
ONE_WAY = [[0, 4], [1, 5], [2, 3]]
OTHER_WAY = [[1, 3], [2, 4], [0, 5]]
TRIANGLE = [[0, 1], [1, 2], [0, 2]]


def graph(bonds, places, name="A", turned=True, **keys):
    """Return the [[molecule]] table of a graph whose beads are at these places, turned and moved into the box."""
    places = np.array(places, dtype=float)
    if turned:
        places = places @ np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0] + 10.0
    lengths = [float(np.linalg.norm(places[j] - places[i])) for i, j in bonds]
    return {
        "name": name,
        "kind": "graph",
        "beads": len(places),
        "bonds": bonds,
        "bond_length": lengths,
        "diameter": 0.2,
        "self_contact": False,
        "positions": places.tolist(),
        **keys,
    }


def tables(*molecules, method="explicit"):
    if method == "grow":
        molecules = [{key: value for key, value in kind.items() if key != "positions"} for kind in molecules]
    return {
        "box": {"size": [20.0, 20.0, 20.0]},
        "molecule": list(molecules),
        "initial": {"method": method},
        "run": {"end_time": 1.0},
    }


def load(tmp_path, tables):
    path = tmp_path / "in.toml"
    path.write_text(to_toml(tables))
    return load_config(path)


REFUSED = {
    "collinear triangle": (TRIANGLE, [[0, 0, 0], [1, 0, 0], [2, 0, 0]], "rod"),
    "collinear triangle .5 .5 1": (TRIANGLE, [[0, 0, 0], [0.5, 0, 0], [1, 0, 0]], "rod"),
    "nearly collinear": (TRIANGLE, [[0, 0, 0], [1, 1e-4, 0], [2, 0, 0]], "rod"),
    "flat square, both diagonals": (COMPLETE, SQUARE, "plane"),
    "nearly flat": (COMPLETE, [[0, 0, 0], [1, 0, 1e-4], [1, 1, 0], [0, 1, 1e-4]], "plane"),
    "two triangles on a line": (TRIANGLE + [[2, 3], [3, 4], [2, 4]], [[k, 0, 0] for k in range(5)], "rod"),
    "four on a line": (RING, [[k, 0, 0] for k in range(4)], "rod"),
    "flat wheel": (
        [[0, k] for k in range(1, 7)] + [[k, k % 6 + 1] for k in range(1, 7)],
        [[0, 0, 0], *[[np.cos(a), np.sin(a), 0] for a in np.pi / 3.0 * np.arange(6)]],
        "plane",
    ),
    "flat square with a tail": ([*COMPLETE, [3, 4]], [*SQUARE, [0, 2, 0.3]], "plane"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_dependent_bonds_are_refused_where_beads_are_given(tmp_path, name):
    bonds, places, word = REFUSED[name]
    good = graph(RING, SQUARE, "good", turned=False)
    config = load(tmp_path, tables(good, graph(bonds, places, "bad", mass=3.0)))
    with pytest.raises(ConfigError, match=rf"molecule\[1\]: .*'bad' of beads 4 to .*{word}"):
        build_system(config)


ALWAYS = {
    "five beads, all joined": [list(pair) for pair in itertools.combinations(range(5), 2)],
    "prism with all diagonals": PRISM_BONDS + ONE_WAY + OTHER_WAY,
    "cube with both diagonals of each face": EDGES + FACES,
    "rigid part with a bond too many, and a tail": [list(pair) for pair in itertools.combinations(range(5), 2)]
    + [[k, k + 1] for k in range(4, 20)],
}


@pytest.mark.parametrize("name", ALWAYS)
@pytest.mark.parametrize("method", ["explicit", "grow"])
def test_bonds_that_follow_wherever_beads_are_need_no_start_to_be_refused(tmp_path, name, method):
    bonds = ALWAYS[name]
    places = np.random.default_rng(1).normal(size=(1 + max(max(pair) for pair in bonds), 3))
    with pytest.raises(ConfigError, match=r"molecule\[0\].bonds: .*leave "):
        load(tmp_path, tables(graph(bonds, places), method=method))


@pytest.mark.parametrize("name", ["flat square, both diagonals", "collinear triangle", "two triangles on a line"])
def test_grown_starts_whose_bonds_close_only_so_are_refused_soon(tmp_path, name):
    bonds, places, word = REFUSED[name]
    config = load(tmp_path, tables(graph(bonds, places, count=3), method="grow"))
    with pytest.raises(ConfigError, match=rf"molecule\[0\]: .*{word}"):
        grown_system(config)


SOUND = {
    "triangle": (TRIANGLE, [[0, 0, 0], [1, 0, 0], [0.5, 0.8, 0]]),
    "flat square": (RING, SQUARE),
    "flat square, one diagonal": ([*RING, [0, 2]], SQUARE),
    "tetrahedron": (COMPLETE, [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    "flat tetrahedron": (COMPLETE, [[0, 0, 0], [1, 0, 0.02], [1, 1, 0], [0, 1, 0.02]]),
    "flat hexagon": (
        [[k, (k + 1) % 6] for k in range(6)],
        [[np.cos(a), np.sin(a), 0] for a in np.pi / 3.0 * np.arange(6)],
    ),
    "flat ring of 3000": (
        [[k, (k + 1) % 3000] for k in range(3000)],
        [[8.0 * np.cos(a), 8.0 * np.sin(a), 0] for a in np.pi / 1500.0 * np.arange(3000)],
    ),
    "straight chain": ([[k, k + 1] for k in range(30)], [[0.3 * k, 0, 0] for k in range(31)]),
    "prism": (PRISM_BONDS, PRISM),
    "cube": (EDGES, CUBE),
    "two triangles": (
        TRIANGLE + [[2, 3], [3, 4], [2, 4]],
        [[0, 0, 0], [1, 0, 0], [0.5, 0.8, 0], [1.5, 0.8, 0], [1.0, 1.6, 0]],
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_independent_bonds_are_taken(tmp_path, name):
    bonds, places = SOUND[name]
    diameter = {"diameter": 0.01} if len(places) > 1000 else {}
    build_system(load(tmp_path, tables(graph(bonds, places, mass=0.2, **diameter))))


def test_many_molecules_are_looked_at_each(tmp_path):
    """One of 500 rings has folded onto a line."""
    rings = 0.5 * np.array(SQUARE) + np.array(list(itertools.product(range(8), repeat=3)))[:500, None]
    rings[321] = rings[321, 0] + np.array([[0, 0, 0], [0.5, 0, 0], [0, 0, 0], [0.5, 0, 0]])
    kind = {
        "kind": "ring",
        "beads": 4,
        "count": 500,
        "bond_length": 0.5,
        "diameter": 0.1,
        "self_contact": False,
        "positions": rings.reshape(-1, 3).tolist(),
    }
    with pytest.raises(ConfigError, match="of beads 1284 to 1287 .* on a line"):
        build_system(load(tmp_path, tables(kind)))


@pytest.fixture
def file_start(tmp_path, monkeypatch):
    """Return an input that starts from a file with a flat square, which `build` does not make."""
    bonds, places, _ = REFUSED["flat square, both diagonals"]
    with monkeypatch.context() as earlier:
        earlier.setattr(independence, "LEAST_PIVOT", -1.0)
        load(tmp_path, tables(graph(RING, SQUARE, "good", turned=False), graph(bonds, places, "bad")))
        api.build(tmp_path / "in.toml", tmp_path / "start.h5")
    given = tables() | {"initial": {"method": "file", "file": "start.h5"}}
    del given["molecule"]
    (tmp_path / "file.toml").write_text(to_toml(given))
    return tmp_path / "file.toml"


@pytest.mark.parametrize("ranks", [1, 2])
def test_starts_in_files_are_looked_at_on_any_ranks(file_start, run_hpcchain, ranks):
    done = run_hpcchain(["run", file_start], ranks=ranks)
    assert done.returncode == 65
    assert done.stderr.count("start.h5: molecule[1]: the bonds of molecule 'bad' of beads 4 to 7") == 1


def test_check_looks_at_the_start_file(file_start):
    config = load_input(file_start)
    with pytest.raises(DataError, match=r"molecule\[1\]: .*'bad' of beads 4 to 7"):
        check_start(config)
