"""Maxwellian velocities on the bonds."""

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.model.starts.constraints import degrees_of_freedom
from hpcchain.model.starts.placement import place
from hpcchain.model.starts.velocities import kinetic_energy, maxwell
from hpcchain.model.topology import build_box, build_composition

TEXT = """
[box]
size = [30, 30, 30]
[[molecule]]
kind = "chain"
beads = 10
count = 40
mass = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
[[molecule]]
kind = "ring"
beads = 5
count = 20
[[molecule]]
kind = "monomer"
count = 300
mass = 4.0
[run]
end_time = 1
"""


def load(tmp_path, text=TEXT):
    path = tmp_path / "in.toml"
    path.write_text(text)
    config = load_config(path)
    topology = build_composition(config).whole()
    return topology, place(config, build_box(config.box), topology, 0.5)


def test_bonds_momentum_and_temperature_are_exact(tmp_path):
    topology, position = load(tmp_path)
    velocity = maxwell(topology, position, 2.5, seed=3)
    bond = position[topology.bonds[:, 1]] - position[topology.bonds[:, 0]]
    rate = np.einsum("bk,bk->b", bond, velocity[topology.bonds[:, 1]] - velocity[topology.bonds[:, 0]])
    assert np.abs(rate).max() < 1e-13
    assert np.abs(topology.mass @ velocity).max() < 1e-11
    freedom = 40 * (30 - 9) + 20 * (15 - 5) + 300 * 3 - 3
    assert degrees_of_freedom(topology, position) == freedom
    assert kinetic_energy(topology, velocity) == pytest.approx(0.5 * freedom * 2.5, rel=1e-14)


def test_the_distribution_is_maxwells(tmp_path):
    topology, position = load(tmp_path)
    samples = np.array([maxwell(topology, position, 1.0, seed)[-300:] for seed in range(40)])
    scaled = (samples * 2.0).ravel()  # mass 4
    n = scaled.size
    assert abs(scaled.mean()) < 4 / np.sqrt(n)
    assert abs(scaled.var() - 1.0) < 5 * np.sqrt(2 / n)
    assert abs((scaled**4).mean() - 3.0) < 5 * np.sqrt(96 / n)
    # equipartition over the modes of a chain, not over its beads
    chains = [kinetic_energy_of(topology, maxwell(topology, position, 1.0, seed)) for seed in range(40)]
    assert np.mean(chains) == pytest.approx(0.5 * 21, rel=4 * np.sqrt(2 / 21 / 1600))


def kinetic_energy_of(topology, velocity):
    """Return the mean kinetic energy of a chain."""
    return 0.5 * (topology.mass[:400, None] * velocity[:400] ** 2).sum() / 40


def test_same_seed_same_velocities(tmp_path):
    topology, position = load(tmp_path)
    assert np.array_equal(maxwell(topology, position, 1.0, 5), maxwell(topology, position, 1.0, 5))
    assert not np.array_equal(maxwell(topology, position, 1.0, 5), maxwell(topology, position, 1.0, 6))


def test_one_bead_has_no_temperature(tmp_path):
    one = "kind = 'monomer'\npositions = [[1, 1, 1]]\nvelocities = [[0, 0, 0]]\n[initial]\nmethod = 'explicit'\n"
    topology, position = load(tmp_path, f"[box]\nsize = [9, 9, 9]\n[[molecule]]\n{one}[run]\nend_time = 1\n")
    with pytest.raises(ConfigError, match="temperature"):
        maxwell(topology, position, 1.0, 1)
