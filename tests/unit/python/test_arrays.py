"""Arrays as other programs write them: wrapped, of single precision, with sections and keys of molecules."""

import logging

import numpy as np
import pytest

import hpcchain
from hpcchain.errors import ConfigError
from hpcchain.model.starts.start import build_system

BOX = (8.0, 8.0, 8.0)


def chain_lengths(system):
    """Return the distances of bonded beads, as positions have them."""
    start = build_system(system.config)
    first, second = start.topology.whole().bonds.T
    return np.linalg.norm(start.state.position[second] - start.state.position[first], axis=1)


def test_wrapped_molecules_are_made_whole(caplog):
    position = [[0.2, 4, 4], [7.7, 4, 4], [6.9, 4, 4.6], [3, 3, 1.0]]
    with caplog.at_level(logging.WARNING):
        system = hpcchain.System.from_arrays(position, bonds=[[0, 1], [1, 2]], box=BOX, diameter=0.4)
    np.testing.assert_allclose(system.config.molecules[0].bond_length, [0.5, 1.0], rtol=1e-9)
    np.testing.assert_allclose(system.position, [[0.2, 4, 4], [-0.3, 4, 4], [-1.1, 4, 4.6], [3, 3, 1.0]])
    assert "1 of the bonds reach across periodic sides" in caplog.text and "is 0.5 (beads 0 and 1)" in caplog.text


@pytest.mark.parametrize("bonds", [[[0, 3], [1, 3], [2, 3]], [[0, 1], [1, 2], [2, 3], [0, 3]]])
def test_stars_and_rings_are_made_whole_wherever_they_are_cut(bonds):
    whole = np.array([[0.0, 0.0, 0.0], [1.1, 0.2, 0.0], [1.0, 1.3, 0.4], [0.1, 1.0, 0.5]])
    generator = np.random.default_rng(3)
    given = hpcchain.System.from_arrays(whole, bonds=bonds, box=BOX, diameter=0.3)
    for shift in generator.uniform(-9.0, 9.0, (20, 3)):
        wrapped = np.mod(whole + shift, BOX)
        found = hpcchain.System.from_arrays(wrapped, bonds=bonds, box=BOX, diameter=0.3)
        np.testing.assert_allclose(chain_lengths(found), chain_lengths(given), rtol=1e-9)
        np.testing.assert_array_equal(found.position[0], wrapped[0])


def test_only_periodic_axes_have_images(caplog):
    position = [[0.5, 0.5, 0.5], [7.4, 0.5, 0.5]]
    for boundary in ("open", "wall"):
        system = hpcchain.System.from_arrays(
            position, bonds=[[0, 1]], box=BOX, diameter=0.4, boundary=(boundary, "periodic", "periodic")
        )
        assert system.config.molecules[0].bond_length == (6.9,)
    system = hpcchain.System.from_arrays(position, box=8, diameter=0.4, boundary="wall")
    assert (system.config.box.size, system.config.box.boundary) == ((8.0,) * 3, ("wall",) * 3)
    assert not caplog.records


def test_decimals_of_single_precision_stay_decimals():
    single = np.array([7.3, 0.9, 1.1], np.float32)
    system = hpcchain.System.from_arrays(
        [[1, 1, 1], [3, 3, 3]],
        box=single[0],
        diameter=single[1],
        mass=single[[2, 2]],
        contact={"restitution": single[1]},
    )
    (kind,) = system.config.molecules
    assert (kind.diameter, kind.mass, system.config.box.size) == ((0.9,), (1.1,), (7.3,) * 3)
    assert system.config.contact.restitution == 0.9


@pytest.mark.parametrize(
    ("position", "bonds", "message"),
    [
        ([[0, 4, 4], [4, 4, 4]], [[0, 1]], "beads 0 and 1 is 4 long along axis x, half the periodic side 8 or more"),
        ([[1, 4, 4], [1, 0, 4], [2, 4, 4]], [[0, 2], [1, 2]], "beads 1 and 2 is 4 long along axis y"),
        ([[1e30, 4, 4], [1, 4, 4]], [[0, 1]], "beads 0 and 1 are bonded and 1.25e[+]29 box lengths apart along axis x"),
        ([[0, 4, 4], [2.7, 4, 4], [5.4, 4, 4]], [[0, 1], [1, 2], [0, 2]], "close on themselves through a periodic"),
    ],
)
def test_bonds_of_half_a_side_are_refused(position, bonds, message):
    with pytest.raises(ConfigError, match=message):
        hpcchain.System.from_arrays(position, bonds=bonds, box=BOX, diameter=0.1)


def single_precision(count=40, beads=5):
    """Return positions, velocities, bonds and box of equal zigzag chains, wrapped, as a file of float32 has them."""
    step = np.array([[0.6, 0.0, 0.8], [0.6, 0.8, 0.0]])[np.arange(beads - 1) % 2]
    shape = np.concatenate([[[0.0, 0.0, 0.0]], np.cumsum(step, axis=0)])
    places = 2.5 * np.stack(np.unravel_index(np.arange(count), (4, 4, 4)), axis=1) + 1.1
    generator = np.random.default_rng(7)
    spin, centre = generator.normal(size=(2, count, 1, 3))
    position = (shape + places[:, None]).reshape(-1, 3)
    velocity = (centre + np.cross(spin, shape - shape.mean(axis=0))).reshape(-1, 3)
    bonds = [[beads * c + i, beads * c + i + 1] for c in range(count) for i in range(beads - 1)]
    box = np.array([10.0, 10.0, 10.0])
    return np.mod(position, box).astype(np.float32), velocity.astype(np.float32), bonds, box


def test_chains_of_single_precision_are_one_kind_on_its_bonds(caplog):
    position, velocity, bonds, box = single_precision()
    mass = np.where(np.arange(200) % 5 == 2, 1.0, np.float32(0.1))
    with caplog.at_level(logging.WARNING):
        system = hpcchain.System.from_arrays(position, velocity, bonds, box, mass, diameter=np.float32(0.7))
    (kind,) = system.config.molecules
    assert (kind.count, kind.beads) == (40, 5)
    for said in ("molecules that differ by less than 1e-05 relative", "velocity: is made", "across periodic sides"):
        assert said in caplog.text
    start = build_system(system.config)
    rounding = 2.0 * np.finfo(np.float64).eps * (1.0 + 12.5)  # of coordinates that reach so many bond lengths
    np.testing.assert_allclose(chain_lengths(system), np.tile(kind.bond_length, 40), rtol=rounding)
    assert np.abs(np.mod(start.state.position - position + 5.0, 10.0) - 5.0).max() < 4e-6
    np.testing.assert_allclose(start.state.velocity, velocity, atol=4e-6)


def test_numbers_that_differ_by_more_make_two_kinds():
    position = np.array([[1.0, 1, 1], [2, 1, 1], [1, 4, 4], [2.00002, 4, 4], [5, 5, 5], [6, 1, 1], [3, 5, 1]])
    diameter = [0.5, 0.5, 0.5, 0.5, 0.5, 0.500001, 0.50001]
    system = hpcchain.System.from_arrays(position, bonds=[[0, 1], [2, 3]], box=BOX, diameter=diameter)
    assert [(kind.kind, kind.count) for kind in system.config.molecules] == [("chain", 1)] * 2 + [("monomer", 2)] + [
        ("monomer", 1)
    ]


def test_exact_arrays_keep_their_bits_and_say_nothing(caplog):
    position = [[1.0, 1, 1], [2, 1, 1], [1, 4, 4], [2.0 + 1e-10, 4, 4]]
    system = hpcchain.System.from_arrays(position, bonds=[[0, 1], [2, 3]], box=BOX, diameter=0.5)
    np.testing.assert_array_equal(system.position, position)
    assert len(system.config.molecules) == 1 and not caplog.records


def test_velocities_that_stretch_bonds_are_refused():
    position, velocity = [[1.0, 1, 1], [2, 1, 1]], [[0.0, 1, 0], [2e-5, 1, 0]]
    with pytest.raises(ConfigError, match="beads 0 and 1 would lengthen at 2e-05.*to 1e-05 of their speed"):
        hpcchain.System.from_arrays(position, velocity, [[0, 1]], BOX)


FOLDED = {"position": np.array([5.0, 5.0, 5.0]) + np.arange(5)[:, None] * [0.45, 0.0, 0.0], "box": (20.0, 20.0, 20.0)}
FOLDED["bonds"] = [[i, i + 1] for i in range(4)]


def test_what_is_advised_can_be_given():
    with pytest.raises(ConfigError, match="set exclude = 2"):
        hpcchain.System.from_arrays(**FOLDED)
    assert hpcchain.System.from_arrays(**FOLDED, exclude=2).config.molecules[0].exclude == 2
    crowded = FOLDED | {"diameter": 1.9}
    with pytest.raises(ConfigError, match="bonds: beads 0 and 4 can never be apart: .* set self_contact = False"):
        hpcchain.System.from_arrays(**crowded, exclude=3)
    assert not hpcchain.System.from_arrays(**crowded, self_contact=False).config.molecules[0].self_contact


def test_sections_that_are_lists_can_be_given(tmp_path):
    more = {
        "potential": [{"name": "steps", "types": ("A", "A"), "distances": np.array([1.5]), "energies": [-1.0]}],
        "wall": ({"side": "z-", "temperature": np.float32(2.0)},),
        "contact": {"restitution": 0.9, "pair": [{"types": ["A", "A"], "restitution": 0.8}]},
        "boundary": ("periodic", "periodic", "wall"),
        "external": {"gravity": np.array([0, 0, -1])},
        "title": "folded",
    }
    config = hpcchain.System.from_arrays(**FOLDED, exclude=2, **more).config
    assert config.potentials[0].distances == (1.5,) and config.walls[0].temperature == 2.0
    assert config.contact.pairs[0].restitution == 0.8 and config.external.gravity == (0.0, 0.0, -1.0)
    springs = [{"name": "harmonic", "stiffness": 100.0, "length": 0.45}]
    steps = {"run": {"engine": "steps"}, "steps": {"step": 0.001}, "potential": springs}
    (kind,) = hpcchain.System.from_arrays(**FOLDED, exclude=2, rigid=False, **steps).config.molecules
    assert not kind.rigid and kind.bond_length == (0.45,) * 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"potential": {"name": "steps"}}, "potential: .*; it is a list of dicts, as .{'name': 'steps', …}"),
        ({"wall": 3}, "wall: is 3; it is a list of dicts, as .{'side': 'z-', …}"),
        ({"contact": {"pair": {"types": ["A", "A"]}}}, "contact.pair: .*; it is a list of dicts, as .{'types'"),
        ({"arms": 3}, "arms: cannot be given for all molecules of arrays; write the input .* to_toml"),
        ({"exclude": {"A": 2}}, "exclude: { A = 2 } is not a whole number"),
        ({"box": (1.0, 2.0)}, "box: is a list of 2; needs 3"),
        ({"box": (-8.0, 8.0, 8.0)}, "System.from_arrays: box: entry 0: -8 is out of range"),
        ({"wall": [{"side": "z-"}]}, 'an axis whose boundary is "periodic"; make it "wall"'),
    ],
)
def test_what_sections_are_is_said(change, message):
    with pytest.raises(ConfigError, match=message):
        hpcchain.System.from_arrays(**(FOLDED | change))


@pytest.mark.parametrize(
    "change",
    [
        {"boundary": None},
        {"boundary": "round"},
        {"boundary": [[], 2, 3]},
        {"initial": {3: 4}},
        {"position": None},
        {"position": np.full((5, 3), np.nan)},
        {"position": np.full((5, 3), 1e300)},
        {"box": (np.nan, 5.0, 5.0)},
        {"box": (np.inf, 5.0, 5.0)},
        {"exclude": None},
    ],
)
@pytest.mark.filterwarnings("error")
def test_wrong_types_and_numbers_are_errors_of_the_input(change):
    with pytest.raises(ConfigError, match="^System.from_arrays: "):
        hpcchain.System.from_arrays(**(FOLDED | change))


APART = {"position": [[1.0, 1, 1], [2, 1, 1], [1, 4, 4], [2, 4, 4], [5, 5, 5], [6.5, 6, 6]], "box": BOX}
APART["bonds"] = [[0, 1], [2, 3]]


def test_beads_have_types_and_places_of_their_own():
    system = hpcchain.System.from_arrays(
        **APART,
        types=["H", "P", "H", "P", "S", "S"],
        diameter=[0.9, 0.8, 0.9, 0.8, 1.0, 1.1],
        mass=[1.0, 2.0, 1.0, 2.0, 3.0, 3.0],
        fixed=np.array([4]),
        contact={"restitution": 0.9, "pair": [{"types": ["H", "S"], "restitution": 0.5}]},
    )
    dimer, held, free = system.config.molecules
    assert (dimer.types, dimer.count, dimer.diameter, dimer.mass) == (("H", "P"), 2, (0.9, 0.8), (1.0, 2.0))
    assert (held.types, held.fixed, free.fixed, free.diameter) == ("S", (0,), None, (1.1,))
    simulation = hpcchain.Simulation(system)
    simulation.run(0.5)
    np.testing.assert_array_equal(simulation.position[4], APART["position"][4])
    assert np.all(simulation.position[5] != APART["position"][5])


def test_keys_of_all_molecules_are_given_to_those_for_which_they_mean_something():
    """A chain has limits and single beads none; one of two single beads is fixed and moves."""
    position, bonds = [*FOLDED["position"], [9.0, 9, 9], [12.0, 9, 9]], FOLDED["bonds"]
    limits = [{"separation": 2, "least": 0.5, "most": 0.9}]
    more = {"exclude": 2, "distance_limits": limits, "fixed": [6], "fixed_velocity": np.array([0.1, 0.0, 0.0])}
    system = hpcchain.System.from_arrays(position, bonds=bonds, box=FOLDED["box"], **more)
    chain, free, driven = system.config.molecules
    assert [one.separation for one in chain.distance_limits] == [2] and free.distance_limits == ()
    assert (chain.fixed_velocity, free.fixed_velocity, driven.fixed_velocity) == (None, None, (0.1, 0.0, 0.0))
    with pytest.raises(ConfigError, match="System.from_arrays: fixed_velocity: "):
        hpcchain.System.from_arrays(**APART, fixed_velocity=[0.1, 0.0, 0.0])


def test_single_beads_may_have_directors():
    places = [[1.0, 1, 1], [4, 4, 4]]
    (kind,) = hpcchain.System.from_arrays(places, box=BOX, directors=True, moment=0.1).config.molecules
    assert kind.directors and kind.count == 2


def test_beads_of_the_engine_of_steps_may_be_soft():
    steps = {"run": {"engine": "steps"}, "steps": {"step": 0.001}, "damping": 0.5}
    more = {"potential": [{"name": "wca", "types": ["B", "B"], "epsilon": 1.0, "sigma": 1.0}]}
    hard = [True, True, True, True, False, False]
    dimer, single = hpcchain.System.from_arrays(**APART, hard=hard, **steps, **more).config.molecules
    assert dimer.hard is True and single.hard is False and dimer.damping == 0.5
    limits = [{"separation": 2, "least": 1.0, "most": 1.8}]
    with pytest.raises(ConfigError, match="System.from_arrays: distance_limits: least = 1 is farther than 2 bonds"):
        hpcchain.System.from_arrays(**FOLDED, exclude=2, distance_limits=limits)


def test_bonds_get_a_length_that_is_asked_for(caplog):
    position = np.array(APART["position"])
    position[1, 0] = 2.04
    with caplog.at_level(logging.WARNING):
        system = hpcchain.System.from_arrays(position, bonds=APART["bonds"], box=BOX, diameter=0.5, bond_length=1.02)
    np.testing.assert_allclose(system.position[:4, 0], [1.01, 2.03, 0.99, 2.01], atol=1e-14)
    assert system.config.molecules[0].bond_length == (1.02,) and "they move by up to 0.01" in caplog.text
    joined = hpcchain.System.from_arrays(position, bonds=APART["bonds"], box=BOX, diameter=0.5, tolerance=0.05)
    assert [kind.count for kind in joined.config.molecules] == [2, 2]
    assert joined.config.molecules[0].bond_length == (1.02,)
    moving = [[0.0, 0, 0], [1, 1, 0], *[[0.0, 0, 0]] * 4]
    put = {"bonds": APART["bonds"], "box": BOX, "diameter": 0.5, "bond_length": 1.0}
    system = hpcchain.System.from_arrays(position, moving, **put)
    np.testing.assert_allclose(system.config.molecules[0].velocities[:2], [[0.5, 0, 0], [0.5, 1, 0]], atol=1e-14)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"types": ["A", "B"]}, r"types: has the shape \(2,\); needs one value, or 6"),
        ({"types": [""] * 6}, "types: "),
        ({"types": 3}, "types: 3 is not"),
        ({"hard": ["x"] * 6}, "hard: 'x' is not"),
        ({"fixed": [7]}, "fixed: is .7.; it is a list of beads' numbers, 0 … 5"),
        ({"fixed": [True] * 6}, "fixed: .* list of beads' numbers"),
        ({"fixed": [0.5]}, "fixed: .* list of beads' numbers"),
        ({"bond_length": "1"}, "bond_length: is '1'; needs a number above 0"),
        ({"bond_length": True}, "bond_length: is True; needs a number above 0"),
        ({"tolerance": -1.0}, "tolerance: is -1.0; needs a number above 0"),
        ({"bond_length": 1.5}, "2 of 2 are farther .* that of beads 0 and 1, 1 long in place of 1.5"),
        ({"hard": False}, 'hard: .*run={"engine": "steps"}'),
        ({"diameter": 2.5}, "^System.from_arrays: position: beads"),
        ({"moment": -1.0}, "moment: .* is out of range"),
    ],
)
def test_messages_name_what_python_can_give(change, message):
    with pytest.raises(ConfigError, match=message) as found:
        hpcchain.System.from_arrays(**(APART | change))
    assert "molecule." not in str(found.value) and "[[" not in str(found.value)


def test_positions_of_a_system_are_a_copy_that_cannot_be_written_to():
    system = hpcchain.System.from_arrays(**APART)
    with pytest.raises(ValueError, match="read-only"):
        system.position[0] = 0.0
