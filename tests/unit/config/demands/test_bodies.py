"""Inputs of rigid bodies: what they become, and what is refused with a message that says what to do."""

import tomllib

import numpy as np
import pytest

from hpcchain.config.demands.check import filled, is_fused
from hpcchain.config.load import config_from_table
from hpcchain.errors import ConfigError
from hpcchain.model.molecules.bodies import body_sites
from hpcchain.model.starts.constraints import degrees_of_freedom
from hpcchain.model.starts.start import build_system
from hpcchain.model.starts.velocities import kinetic_energy
from hpcchain.model.topology import build_composition
from tests.support.bodies import BENT, CROSS, TETRAHEDRON, rotation


def table(sites=BENT, count=2, **keys):
    """Return the table of an input with one kind of bodies; keys of sections are tables."""
    tables = {name: keys.pop(name) for name in ("propagator", "run", "contact", "box", "initial") if name in keys}
    sites = np.asarray(sites, float).tolist()
    return {
        "box": {"size": [12.0] * 3},
        "molecule": [{"kind": "rigid", "sites": sites, "count": count, **keys}],
        "run": {"end_time": 1.0},
        **tables,
    }


def read(*args, **keys):
    """Return the Config of `table`."""
    return config_from_table(table(*args, **keys), "in.toml")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (
            {"sites": [[0, 0, 0], [1, 0, 0]]},
            'sites: 2 beads make no body of kind "rigid", which has at least 3; use kind',
        ),
        ({"sites": []}, "sites: 0 beads make no body"),
        ({"sites": [[k, 2 * k, -k] for k in range(4)]}, 'all beads lie on a line: make it of kind = "rod"'),
        ({"sites": [[0, 0, 0], [1, 0, 0], [2, 1e-4, 0]]}, 'all beads lie on a line: make it of kind = "rod"'),
        ({"sites": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]]}, "beads 1 and 3 are at one place"),
        ({"beads": 4}, "beads: 4 is wrong: sites has 3 rows"),
        ({"bond_length": 1.1}, 'bond_length: means nothing for kind "rigid"'),
        ({"exclude": 2}, "molecule.exclude: does not work for molecule"),
        ({"bonds": [[0, 1]]}, 'bonds: means nothing for kind "rigid"'),
        ({"diameter": [1.0, 1.0]}, "diameter: is a list of 2; needs 3, one per bead"),
        ({"propagator": {"name": "rattle", "step": 0.1}}, 'propagator.name: rigid bodies have no steps of "rattle"'),
        ({"contact": {"tangential_restitution": 0.5}}, "contact.tangential_restitution: does not work for molecule"),
        ({"contact": {"simultaneous": "moreau"}}, "contact.simultaneous: does not work for molecule"),
        ({"fixed": [0]}, "molecule.fixed: does not work for molecule"),
        ({"directors": True}, "molecule.directors: does not work for molecule"),
        (
            {"box": {"size": [1.2] * 3, "boundary": ["wall"] * 3}, "diameter": 0.5, "count": 1},
            "fits nowhere between the walls",
        ),
    ],
)
def test_what_is_refused(keys, words):
    given = table(**{key: value for key, value in keys.items() if key != "steps"})
    if "steps" in keys:
        given["steps"] = {"step": 0.01, "integrator": "gvi"}
    with pytest.raises(ConfigError) as caught:
        config_from_table(given, "in.toml")
    assert words in str(caught.value) and "\n" not in str(caught.value) and caught.value.exit_code == 78


def test_other_kinds_have_no_sites():
    given = table()
    given["molecule"][0] |= {"kind": "chain", "beads": 3}
    with pytest.raises(ConfigError, match='sites: means nothing for kind "chain", only for rigid; remove it'):
        config_from_table(given, "in.toml")


def test_the_resolved_input_reads_back():
    config = read(CROSS, diameter=[1.0] * 6 + [0.5], mass=2.0)
    text = config.to_toml()
    assert config_from_table(tomllib.loads(text), "in.toml") == config
    assert "bond_length" not in text and "self_contact" not in text


def test_topology_and_freedom():
    config = read(BENT, 3, mass=[1.0, 2.0, 3.0])
    topology, composition = build_composition(config).whole(), build_composition(config)
    assert topology.body.all() and not topology.self_contact.any() and not topology.rod.any()
    sites = body_sites(BENT, np.array([1.0, 2.0, 3.0]))
    assert np.array_equal(topology.site, np.tile(sites, (3, 1)))
    assert np.array_equal(composition.whole().site, topology.site) and composition.whole().body.all()
    assert degrees_of_freedom(topology, np.tile(sites, (3, 1))) == 3 * 6 - 3


def test_what_bodies_fill():
    (kind,) = read(CROSS, diameter=1.0).molecules
    assert is_fused(kind) and filled(kind) == pytest.approx(6 * np.pi / 6)
    (kind,) = read(CROSS, diameter=0.7).molecules
    assert not is_fused(kind) and filled(kind) == pytest.approx(7 * np.pi / 6 * 0.343)


def explicit(x, **keys):
    """Return the input of one body at places x."""
    rows = {name: np.asarray(keys.pop(name)).tolist() for name in ("velocities",) if name in keys}
    return read(TETRAHEDRON, 1, positions=np.asarray(x).tolist(), initial={"method": "explicit"}, **rows, **keys)


def test_explicit_starts_are_the_body_and_not_mirrored():
    x = TETRAHEDRON @ rotation(np.random.default_rng(1)).T + 6.0
    system = build_system(explicit(x))
    np.testing.assert_allclose(system.state.position, x, atol=1e-14)
    energy = kinetic_energy(system.topology.whole(), system.state.velocity)
    assert energy == pytest.approx(0.5 * 3)  # three ways to turn, at rest as a whole
    with pytest.raises(ConfigError, match="off where its rigid body has it; beads must lie as sites say, not mirrored"):
        build_system(explicit(x * [1.0, 1.0, -1.0] + [0.0, 0.0, 12.0]))
    moved = x.copy()
    moved[2] += 1e-6
    with pytest.raises(ConfigError, match="bond_length|off where its rigid body has it"):
        build_system(explicit(moved))


def test_explicit_velocities_are_rigid():
    x = TETRAHEDRON + 6.0
    v = np.array([0.3, -0.1, 0.2]) + np.cross([0.5, 1.0, -0.7], x - 6.0)
    np.testing.assert_allclose(build_system(explicit(x, velocities=v)).state.velocity, v, atol=1e-15)
    v[3] += 1e-3 * np.cross(x[3] - x[0], [0.0, 0.0, 1.0])
    with pytest.raises(ConfigError, match="velocities"):
        build_system(explicit(x, velocities=v))
