"""Random starts and explicit starts: bonds, overlaps, walls, images, and the beads that messages name."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.model.starts.overlap import bead_overlap, near_pairs, wall_overlap
from hpcchain.model.starts.placement import place
from hpcchain.model.starts.start import build_system
from hpcchain.model.system import OPEN, PERIODIC, WALL, Box
from hpcchain.model.topology import build_box, build_composition

MIXED = """
[box]
size = [14.0, 15.0, 16.0]
origin = [-3.0, 100.0, 0.0]
boundary = ["periodic", "wall", "open"]
[[molecule]]
kind = "monomer"
count = 100
diameter = 1.5
[[molecule]]
kind = "chain"
beads = 40
count = 4
bond_length = 1.1
[[molecule]]
kind = "ring"
beads = 8
count = 10
[[molecule]]
kind = "star"
arms = 4
arm_beads = 3
count = 10
[[molecule]]
kind = "graph"
beads = 4
bonds = [[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]]
count = 6
[[molecule]]
kind = "graph"
beads = 5
bonds = [[4, 2], [2, 0], [0, 3], [1, 2]]
count = 6
[run]
end_time = 1
"""
CHAIN = "[box]\nsize = {size}\n[[molecule]]\nkind = 'chain'\nbeads = {beads}\ncount = {count}\n[run]\nend_time = 1\n"


def load(tmp_path, text):
    path = tmp_path / "in.toml"
    path.write_text(text)
    config = load_config(path)
    return config, build_box(config.box), build_composition(config).whole()


def brute_overlap(box, topology, position, tolerance=1e-9):
    """Return all pairs (i, j, distance) that overlap in any of 27 images of their nearest image."""
    found, n = [], topology.beads
    molecule = topology.molecule_of_bead
    bonded = {tuple(pair) for pair in topology.bonds.tolist()}
    for i in range(n):
        for j in range(i + 1, n):
            d = position[j] - position[i]
            turns = np.where(box.boundary == PERIODIC, np.rint(d / box.size), 0)
            distance = np.linalg.norm(d - turns * box.size)
            exempt = (i, j) in bonded or (molecule[i] == molecule[j] and not topology.self_contact[molecule[i]])
            if distance < 0.5 * (topology.diameter[i] + topology.diameter[j]) * (1 - tolerance):
                if turns.any() or not exempt:
                    found.append((i, j, distance))
    return found


@pytest.mark.parametrize("scale", [0.4, 0.7, 1.0])
def test_mixed_molecules_are_placed_without_overlap(tmp_path, scale):
    config, box, topology = load(tmp_path, MIXED)
    if scale == 1.0:
        topology = replace(topology, diameter=topology.diameter * 0.8)
    position = place(config, box, topology, scale)
    bond = position[topology.bonds[:, 1]] - position[topology.bonds[:, 0]]
    assert np.abs(np.linalg.norm(bond, axis=1) / topology.bond_length - 1.0).max() < 1e-13
    shrunk = replace(topology, diameter=scale * topology.diameter)
    assert brute_overlap(box, shrunk, position) == []
    x = position - box.origin
    assert (x[:, 1] >= 0.5 * topology.diameter).all() and (x[:, 1] <= 15.0 - 0.5 * topology.diameter).all()
    assert (x[:, 2] >= 0.0).all() and (x[:, 2] <= 16.0).all()
    assert np.ptp(x[topology.first_bead[:-1]], axis=0).min() > 0.8 * 14.0


def test_same_seed_same_place_and_other_seed_another(tmp_path):
    config, box, topology = load(tmp_path, MIXED)
    first = place(config, box, topology, 0.5)
    assert np.array_equal(place(config, box, topology, 0.5), first)
    other = replace(config, initial=replace(config.initial, seed=2))
    assert not np.array_equal(place(other, box, topology, 0.5), first)


def test_a_chain_longer_than_the_box_meets_its_own_images(tmp_path):
    config, box, topology = load(tmp_path, CHAIN.format(size=[3, 3, 3], beads=18, count=1))
    position = place(config, box, topology, 0.9)
    assert brute_overlap(box, replace(topology, diameter=0.9 * topology.diameter), position) == []


@pytest.mark.parametrize("kind", ["kind = 'chain'\nself_contact = false", "kind = 'ring'"])
def test_images_count_where_direct_neighbours_do_not(tmp_path, kind):
    text = CHAIN.format(size=[3.2, 3.2, 3.2], beads=12, count=1).replace("kind = 'chain'", kind)
    for seed in range(1, 6):
        config, box, topology = load(tmp_path, text.replace("[run]", f"[initial]\nseed = {seed}\n[run]"))
        position = place(config, box, topology, 0.8)
        assert brute_overlap(box, replace(topology, diameter=0.8 * topology.diameter), position) == []


def test_twenty_thousand_beads_for_growth_to_high_density(tmp_path):
    side = (20_000 * np.pi / 6 / 0.4) ** (1 / 3)
    config, box, topology = load(tmp_path, CHAIN.format(size=[side] * 3, beads=20, count=1000))
    position = place(config, box, topology, 0.5)
    assert bead_overlap(box, replace(topology, diameter=0.5 * topology.diameter), position) is None


def test_directions_of_bonds_are_uniform(tmp_path):
    config, box, topology = load(tmp_path, CHAIN.format(size=[400] * 3, beads=2, count=20_000))
    position = place(config, box, topology, 0.5)
    bond = position[1::2] - position[::2]
    assert np.abs(bond.mean(axis=0)).max() < 4 / np.sqrt(3 * len(bond))
    assert np.abs(bond.T @ bond / len(bond) - np.eye(3) / 3).max() < 4 * np.sqrt(4 / 45 / len(bond))
    assert np.abs((bond**4).mean(axis=0) - 1 / 5).max() < 4 * np.sqrt((1 / 9 - 1 / 25) / len(bond))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CHAIN.format(size=[10] * 3, beads=20, count=50), r"molecule\[0\].count: no room was found for molecule"),
        (
            "[box]\nsize = [9, 9, 9]\n[[molecule]]\nkind = 'graph'\nbeads = 4\nbonds = [[0, 1], [0, 2], [0, 3],"
            " [1, 2], [1, 3], [2, 3]]\nbond_length = [1.0, 1.0, 1.0, 3.0, 1.0, 1.0]\n[run]\nend_time = 1\n",
            r"molecule\[0\].bond_length: no arrangement of the beads was found",
        ),
    ],
)
def test_what_cannot_be_placed_is_said(tmp_path, text, message):
    config, box, topology = load(tmp_path, text)
    with pytest.raises(ConfigError, match=message):
        place(config, box, topology, 1.0)


def test_near_pairs_hold_every_near_pair():
    box = Box(np.array([7.0, 9.0, 8.0]), np.array([1.0, 2.0, 3.0]), np.array([PERIODIC, OPEN, WALL], dtype=np.int8))
    x = np.random.default_rng(1).uniform(-10, 20, (300, 3))
    x[:, 2] = 3.0 + 8.0 * np.random.default_rng(2).uniform(size=300)
    d = x[:, None] - x[None]
    d[..., 0] -= 7.0 * np.rint(d[..., 0] / 7.0)
    wanted = {(i, j) for i, j in np.argwhere(np.linalg.norm(d, axis=-1) < 2.0).tolist() if i < j}
    pairs = [pair for i, j in near_pairs(box, x, 2.0) for pair in zip(i.tolist(), j.tolist(), strict=True)]
    got = {(min(pair), max(pair)) for pair in pairs}
    assert len(wanted) > 100 and wanted <= got
    assert all(a != b for a, b in got)


@pytest.mark.parametrize("seed", range(20))
def test_overlaps_agree_with_all_pairs(tmp_path, seed):
    config, box, topology = load(tmp_path, CHAIN.format(size=[6, 7, 8], beads=4, count=8))
    rng = np.random.default_rng(seed)
    turns = rng.integers(-3, 3, (topology.beads, 3))
    position = np.cumsum(rng.normal(size=(topology.beads, 3)), axis=0) + turns * box.size
    diameter = rng.uniform(0.05, 0.6, topology.beads)
    topology = replace(topology, diameter=diameter, self_contact=rng.uniform(size=8) < 0.5)
    brute = brute_overlap(box, topology, position)
    found = bead_overlap(box, topology, position)
    assert (found is None) == (brute == [])
    assert found is None or any(found[:2] == pair[:2] for pair in brute)


def explicit(tmp_path, positions, velocities=None, boundary="periodic", extra="", beads=3):
    velocities = [[0, 0, 0]] * len(positions) if velocities is None else velocities
    given = f"velocities = {velocities}" if velocities else ""
    text = f"""
[box]
size = [10, 10, 10]
boundary = {[boundary] * 3}
[[molecule]]
kind = "chain"
beads = {beads}
count = {len(positions) // beads}
positions = {positions}
{given}
{extra}
{"" if "[initial]" in extra else "[initial]"}
method = "explicit"
[run]
end_time = 1
"""
    return build_system(load(tmp_path, text)[0])


def test_an_explicit_start_keeps_its_bits_outside_the_box_too(tmp_path):
    positions = [[25.3, -47.1, 3.0], [26.3, -47.1, 3.0], [26.3, -47.1, 4.0]]
    velocities = [[0.1, 0.2, 0.3], [0.1, 0.7, 0.3], [0.9, 0.7, 0.3]]
    system = explicit(tmp_path, positions, velocities)
    assert system.state.position.tolist() == positions and system.state.velocity.tolist() == velocities
    assert system.state.image.tolist() == [[0, 0, 0]] * 3
    assert system.physics.tick == 2.0 ** np.floor(np.log2(1.0 / np.sqrt(np.mean(np.square(velocities)) * 3) / 32))


def test_an_explicit_start_is_projected_to_round_off(tmp_path):
    system = explicit(tmp_path, [[1, 1, 1], [2 + 5e-10, 1, 1], [2, 2, 1]], [[0, 0, 0], [1e-10, 1, 0], [0, 1, 0]])
    bond = np.diff(system.state.position, axis=0)
    assert np.abs(np.linalg.norm(bond, axis=1) - 1.0).max() < 1e-15
    assert np.abs(np.einsum("bk,bk->b", bond, np.diff(system.state.velocity, axis=0))).max() < 1e-15


def test_velocities_that_are_not_given_are_drawn(tmp_path):
    """At the input's temperature, the centre of mass at rest, bonds kept, by the seed."""
    places = [[x + a, y + b, 5] for x in (1, 4) for y in (1, 4) for a, b in ((0, 0), (1, 0), (1, 1))]
    one, same, other = (
        explicit(tmp_path, places, [], extra=f"[initial]\ntemperature = 2.5\nseed = {seed}") for seed in (4, 4, 5)
    )
    velocity = one.state.velocity
    assert velocity.tolist() == same.state.velocity.tolist() != other.state.velocity.tolist()
    freedom = 3 * len(places) - 2 * 4 - 3
    assert np.sum(velocity**2) == pytest.approx(freedom * 2.5, rel=1e-14)
    assert np.abs(velocity.sum(axis=0)).max() < 1e-14
    i, j = one.topology.whole().bonds.T
    bond, rate = one.state.position[j] - one.state.position[i], velocity[j] - velocity[i]
    assert np.abs(np.einsum("bk,bk->b", bond, rate)).max() < 1e-14 and np.abs(velocity).min() > 0.0


def test_no_velocities_can_be_drawn_where_only_the_whole_can_move(tmp_path):
    with pytest.raises(ConfigError, match=r"in.toml: initial.temperature: one bead .* molecule.velocities"):
        explicit(tmp_path, [[1, 1, 1]], [], beads=1)


BENT = [[1, 1, 1], [2, 1, 1], [2, 2, 1]]
ALONG = [[0.5 + i, 5, 5] for i in range(10)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"positions": BENT + [[5, 5, 5], [6, 5, 5], [6, 6.001, 5]]},
            "beads 4 and 5 are 1.001 apart, their bond_length is 1;",
        ),
        ({"positions": BENT + [[1, 2.9, 1], [1, 2.9, 2], [2, 2.9, 2]]}, None),
        ({"positions": BENT + [[2, 2.9, 1], [2, 2.9, 2], [2, 3.9, 2]]}, "beads 2 and 3 overlap: their distance 0.9"),
        ({"positions": BENT + [[2, 32.9, 1], [2, 32.9, 2], [2, 33.9, 2]]}, "beads 2 and 3 overlap: their distance 0.9"),
        ({"positions": [[1, 1, 1], [2, 1, 1], [1.5, 1.5, 1.7071067811865475]]}, None),
        ({"positions": [[1, 1, 1], [2, 1, 1], [1.5, 1.5, 1.7071067811865475]], "extra": "diameter = [1, 1, 1]"}, None),
        ({"positions": [[1, 1, 1], [2, 1, 1], [1.4, 1.8, 1]]}, "beads 0 and 2 overlap"),
        ({"positions": [[1, 1, 1], [2, 1, 1], [1.4, 1.8, 1]], "extra": "self_contact = false"}, None),
        (
            {"positions": BENT, "velocities": [[0, 0, 0], [1, 0, 0], [1, 0, 0]]},
            "bond of beads 0 and 1 would lengthen at 1;",
        ),
        (
            {"positions": BENT, "velocities": [[0, 0, 0], [0, 1, 0], [0, 1 + 1e-8, 0]]},
            "bond of beads 1 and 2 would lengthen at 1e-08;",
        ),
        ({"positions": [[x, y, 0.5] for x, y, _ in BENT], "boundary": "wall"}, None),
        (
            {"positions": [[x, y, 9.6] for x, y, _ in BENT], "boundary": "wall"},
            "bead 0 reaches 0.1 into a wall of axis 2;",
        ),
        ({"positions": [[x, y, 9.6] for x, y, _ in BENT], "boundary": "open"}, None),
        ({"positions": ALONG, "beads": 10}, None),
        (
            {
                "positions": [[0.5 + 0.99 * i, 5, 5] for i in range(11)],
                "beads": 11,
                "extra": "bond_length = 0.99\ndiameter = 0.99",
            },
            "beads 0 and 10 overlap: their distance 0.1",
        ),
    ],
)
def test_explicit_starts_are_checked(tmp_path, change, message):
    if message is None:
        explicit(tmp_path, **change)
        return
    with pytest.raises(ConfigError, match="in.toml: molecule.(positions|velocities): ") as caught:
        explicit(tmp_path, **change)
    assert message in str(caught.value)


def test_walls_take_each_beads_own_radius():
    box = Box(np.full(3, 10.0), np.full(3, -5.0), np.array([WALL, OPEN, PERIODIC], dtype=np.int8))
    topology = type(
        "Beads",
        (),
        {"diameter": np.array([1.0, 3.0]), "soft": np.zeros(2, dtype=bool), "fixed": np.zeros(2, dtype=bool)},
    )
    assert wall_overlap(box, topology, np.array([[4.5, 9.0, 9.0], [-3.5, -9.0, 9.0]])) is None
    assert wall_overlap(box, topology, np.array([[4.5, 9.0, 9.0], [-3.6, -9.0, 9.0]]))[:2] == (1, 0)
