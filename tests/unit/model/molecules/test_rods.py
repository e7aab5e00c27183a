"""Rods from the input to a start: their keys, their placing, their velocities, what is refused."""

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.model.molecules.equal_shapes import groups_of
from hpcchain.model.molecules.rods import longest_rod, rod_length, sites
from hpcchain.model.starts.constraints import degrees_of_freedom, project_positions, project_velocities
from hpcchain.model.starts.placement import place
from hpcchain.model.starts.start import build_system
from hpcchain.model.starts.velocities import kinetic_energy, maxwell
from hpcchain.model.topology import build_box, build_composition

LENGTH, MASS = np.array([1.0, 1.5, 0.8]), np.array([1.0, 4.0, 0.5, 2.0])
TEXT = """
[box]
size = [12, 11, 13]
boundary = ["periodic", "wall", "open"]
[[molecule]]
kind = "rod"
beads = 4
count = 20
bond_length = [1.0, 1.5, 0.8]
mass = [1.0, 4.0, 0.5, 2.0]
diameter = [1.0, 0.9, 0.8, 0.7]
[[molecule]]
kind = "rod"
beads = 2
count = 5
[[molecule]]
kind = "monomer"
count = 10
[run]
end_time = 1
"""


def load(tmp_path, text=TEXT):
    """Return config, box and topology of an input."""
    path = tmp_path / "in.toml"
    path.write_text(text)
    config = load_config(path)
    return config, build_box(config.box), build_composition(config).whole()


def off_line(rows, length):
    """Return how far inner beads are from dividing the line between the end beads as their distances say."""
    share = np.concatenate([[0.0], np.cumsum(length)])[:, None] / np.sum(length)
    return np.abs(rows - (1 - share) * rows[..., :1, :] - share * rows[..., -1:, :]).max()


def test_the_sites_are_about_the_centre_of_mass_and_differ_exactly():
    rng = np.random.default_rng(1)
    length, mass = rng.uniform(0.5, 1.5, 49), rng.uniform(0.2, 5.0, 50)
    s = sites(length, mass)
    np.testing.assert_allclose(np.diff(s), length, rtol=0, atol=2e-14)
    assert abs(mass @ s) < 1e-13 * mass.sum() * length.sum()
    assert float(s[-1]) - float(s[0]) == np.longdouble(s[-1]) - np.longdouble(s[0])


def test_topology(tmp_path):
    """A rod's bonds are those of a chain; one of two beads is an ordinary dimer."""
    _, _, topology = load(tmp_path)
    assert topology.rod.tolist() == [True] * 20 + [False] * 15
    assert topology.self_contact.tolist() == [False] * 20 + [True] * 15
    assert topology.bonds[:3].tolist() == [[0, 1], [1, 2], [2, 3]]
    assert rod_length(topology, 3) == longest_rod(topology) == 3.3
    assert [group.rod for group in groups_of(topology)] == [True, False, False]


def test_placed_rods_are_straight_and_point_everywhere(tmp_path):
    config, box, topology = load(tmp_path)
    position = place(config, box, topology, 0.6)
    rods = position[:80].reshape(20, 4, 3)
    np.testing.assert_allclose(np.linalg.norm(np.diff(rods, axis=1), axis=2), np.tile(LENGTH, (20, 1)), rtol=1e-14)
    assert off_line(rods, LENGTH) < 1e-14 * 12
    axes = (rods[:, -1] - rods[:, 0]) / 3.3
    assert np.abs(axes.mean(axis=0)).max() < 4 / np.sqrt(3 * 20)
    radius = 0.5 * topology.diameter[:80].reshape(20, 4)
    assert (rods[:, :, 1] - box.origin[1] >= radius).all() and (rods[:, :, 1] - box.origin[1] <= 11 - radius).all()


def test_velocities_have_five_degrees_of_freedom(tmp_path):
    """Two for the turning and three for the centre; both have the same temperature per degree."""
    config, box, topology = load(tmp_path)
    position = place(config, box, topology, 0.6)
    freedom = 20 * 5 + 5 * 5 + 10 * 3 - 3
    assert degrees_of_freedom(topology, position) == freedom
    turning, drifting = [], []
    for seed in range(60):
        velocity = maxwell(topology, position, 2.0, seed)
        assert kinetic_energy(topology, velocity) == pytest.approx(freedom, rel=1e-13)
        assert off_line(velocity[:80].reshape(20, 4, 3), LENGTH) < 1e-14 * 10
        rods = velocity[:80].reshape(20, 4, 3)
        centre = np.einsum("n,cnk->ck", MASS, rods) / MASS.sum()
        drifting.append(0.5 * MASS.sum() * np.sum(centre**2) / 20)
        turning.append(0.5 * np.sum(MASS[:, None] * (rods - centre[:, None]) ** 2) / 20)
    assert np.mean(turning) == pytest.approx(2.0, rel=4 / np.sqrt(1200))
    assert np.mean(drifting) == pytest.approx(3.0, rel=4 * np.sqrt(2 / 3 / 1200))


def test_projecting_keeps_momenta_and_what_fits_keeps_its_bits(tmp_path):
    config, box, topology = load(tmp_path)
    position = place(config, box, topology, 0.6)
    assert np.array_equal(project_positions(topology, position), position)
    velocity = maxwell(topology, position, 1.0, 1)
    assert np.array_equal(project_velocities(topology, position, velocity), velocity)
    rng = np.random.default_rng(3)
    rough = velocity + 0.1 * rng.normal(size=velocity.shape)
    smooth = project_velocities(topology, position, rough)
    assert off_line(smooth[:80].reshape(20, 4, 3), LENGTH) < 1e-14 * 10
    for m in range(20):
        x, u, v = (rows[4 * m : 4 * m + 4] for rows in (position, rough, smooth))
        np.testing.assert_allclose(MASS @ v, MASS @ u, atol=1e-14)
        spin = [np.cross(x - MASS @ x / 7.5, MASS[:, None] * w).sum(axis=0) for w in (u, v)]
        np.testing.assert_allclose(spin[1], spin[0], atol=1e-13)


def explicit(tmp_path, positions, velocities=None, extra="", beads=3, box="[10, 10, 10]", boundary="periodic"):
    """Return the System of explicit rods."""
    velocities = [[0.0, 0.0, 0.0]] * len(positions) if velocities is None else velocities
    path = tmp_path / "rod.toml"
    path.write_text(
        f"[box]\nsize = {box}\nboundary = {[boundary] * 3}\n[[molecule]]\nkind = 'rod'\nbeads = {beads}\n"
        f"count = {len(positions) // beads}\npositions = {positions}\nvelocities = {velocities}\n{extra}\n"
        "[initial]\nmethod = 'explicit'\n[run]\nend_time = 1\n"
    )
    return build_system(load_config(path))


ROD = [[1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [3.0, 1.0, 1.0]]


def test_explicit_starts_are_put_on_the_rod(tmp_path):
    near = [[1.0, 1.0, 1.0], [2.0, 1.0, 1.0 + 1e-9], [3.0, 1.0, 1.0]]
    system = explicit(tmp_path, near, [[0.0, -1.0, 0.0], [3e-10, 2e-10, 0.0], [0.0, 1.0, 0.0]])
    assert off_line(system.state.position, [1.0, 1.0]) < 1e-15
    assert off_line(system.state.velocity, [1.0, 1.0]) < 1e-15
    assert explicit(tmp_path, ROD, [[0.5, 0.0, 1.0]] * 3).state.position.tolist() == ROD


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"positions": [[1, 1, 1], [2, 1.00001, 1], [3, 1, 1]]}, "molecule.positions: bead 1 is 6.6"),
        ({"positions": [*ROD, [1, 5, 1], [2, 5, 1], [2, 6, 1]]}, "molecule.positions: bead 4 is"),
        ({"positions": [[1, 1, 1], [2, 1, 1], [1, 1, 1]]}, "molecule.positions: bead"),
        ({"positions": [[1, 1, 1], [2, 1, 1], [3.1, 1, 1]]}, "beads 1 and 2 are 1.1 apart"),
        ({"positions": ROD, "velocities": [[0, 0, 0], [0, 1, 0], [0, 0, 0]]}, "molecule.velocities: bead 1 is 0.66"),
        ({"positions": ROD, "velocities": [[0, 0, 0], [0, 0, 0], [1, 0, 0]]}, "would lengthen at 1;"),
        ({"positions": [*ROD, [1, 1.9, 1], [2, 1.9, 1], [3, 1.9, 1]]}, "beads 0 and 3 overlap: their distance 0.9"),
        ({"positions": [[i, 1, 1] for i in range(10)], "beads": 10, "box": "[9.5, 9, 9]"}, "beads 0 and 9 overlap"),
        (
            {"positions": [[i + 0.6, 1, 1] for i in range(10)], "beads": 10, "boundary": "wall", "box": "[9, 9, 9]"},
            "bead 9 reaches",
        ),
        (
            {"positions": [[i + 0.6, 1, 1] for i in range(10)], "beads": 10, "boundary": "wall", "box": "[5, 5, 5]"},
            "molecule[0].bond_length: a rod of 9.0 between its end beads fits nowhere between the walls",
        ),
        ({"positions": ROD[:1], "beads": 1}, 'molecule[0].beads: 1 is too few; kind "rod" needs at least 2'),
    ],
)
def test_impossible_rods_are_refused(tmp_path, change, message):
    with pytest.raises(ConfigError) as caught:
        explicit(tmp_path, **change)
    assert message in str(caught.value)


def test_beads_that_are_not_neighbours_may_overlap(tmp_path):
    """Large beads to either side of a small one: they are fixed to each other, so nothing comes of it."""
    system = explicit(
        tmp_path, [[1, 1, 1], [2.1, 1, 1], [3.2, 1, 1]], extra="diameter = [2.0, 0.2, 2.0]\nbond_length = 1.1\n"
    )
    assert np.all(system.topology.whole().rod)


def test_a_rod_longer_than_its_box_is_possible(tmp_path):
    """Aslant, so that it misses its own images."""
    axis = np.array([0.8, 0.6, 0.0])
    explicit(tmp_path, (np.arange(12)[:, None] * axis).tolist(), beads=12, box="[8, 9, 9]")
