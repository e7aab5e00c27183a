"""Keys of potentials with steps, of bridges and of limits of distances: what is refused, what is written back."""

import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.model.starts.start import beyond_smooth_beads
from tests.support.constant_tables import table_of

STEPS = {"name": '"steps"', "types": '["A", "A"]', "distances": "[1.5, 2.0]", "energies": "[-1.0, 0.5]"}
BRIDGE = {"types": '["A", "A"]', "bridge_distance": "1.5", "bridge_energy": "0.5"}
LIMITS = "[{ separation = 2, least = 1.2, most = 1.9 }]"
CHAIN = 'kind = "chain"\nbeads = 5\ncount = 3'


def written(folder, molecule='kind = "monomer"\ncount = 5', rest="", **potential):
    """Write an input with a potential, its keys changed or (None) left out; return its path."""
    path = folder / "in.toml"
    table = {**STEPS, **potential}
    keys = "\n".join(f"{key} = {value}" for key, value in table.items() if value is not None)
    section = f"[[potential]]\n{keys}\n" if potential != {"name": None} else ""
    path.write_text(
        f'[box]\nsize = [9.0, 9.0, 9.0]\n[[molecule]]\nname = "A"\n{molecule}\n[run]\nend_time = 1.0\n{rest}\n{section}'
    )
    return path


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"distances": "[0.9, 2.0]"}, "potential[0].distances: 0.9 is not beyond the contact distance 1"),
        ({"distances": "[2.0, 1.5]"}, "potential[0].distances: [2.0, 1.5] do not ascend"),
        ({"distances": "[1.5]"}, "potential[0].energies: 2 of them for 1 distances"),
        ({"distances": "[]", "energies": "[]"}, "potential[0].distances: 0 of them"),
        ({"energies": "[1.0, 0.0]"}, "potential[0].energies: [1.0, 0.0] has a step of no height"),
        ({"energies": None}, 'potential[0].energies: is missing; "steps" needs it'),
        ({"types": '["A", "B"]'}, "potential[0].types: 'B' is no type of beads; types are A"),
        ({"distances": "[1.5, 4.0]"}, "potential[0].distances: 4 is more than a third of the periodic side 9"),
        ({"epsilon": "1.0"}, 'potential[0].epsilon: means nothing for "steps"'),
        (
            {"name": '"wca"', "distances": None, "energies": None, "epsilon": "1.0", "sigma": "1.0"},
            'potential: means nothing for run.engine "events"',
        ),
        (
            {"rest": '[propagator]\nname = "rattle"\nstep = 0.1', "molecule": CHAIN},
            'choose propagator.name = "taylor"',
        ),
    ],
)
def test_impossible_potentials_are_refused(tmp_path, changes, words):
    with pytest.raises(ConfigError) as caught:
        load_config(written(tmp_path, **changes))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "limits, words",
    [
        ("3", "is not a list of { separation, least, most }"),
        ("[{ separation = 2, least = 1.2 }]", "entry 0: most: is missing"),
        ("[{ separation = 2, least = 1.2, most = 1.9, best = 1 }]", "entry 0: best: unknown key"),
        ("[{ separation = 1, least = 1.2, most = 1.9 }]", "entry 0: separation: 1 is out of range"),
        ("[{ separation = 2, least = 1.9, most = 1.2 }]", "least = 1.9 is not below most = 1.2"),
        ("[{ separation = 5, least = 1.2, most = 1.9 }]", "no beads are 5 bonds apart"),
        ("[{ separation = 2, least = 2.0, most = 2.5 }]", "least = 2 is farther than 2 bonds reach"),
        ("[{ separation = 2, least = 0.5, most = 0.9 }]", "most = 0.9 is not beyond the contact distance 1"),
        ("[{ separation = 4, least = 0.5, most = 3.5 }]", "3.5 is more than a third of the periodic side 9"),
        (LIMITS[:-1] + ", { separation = 2, least = 1.0, most = 1.8 }]", "separation 2 stands there twice"),
        (
            "[{ separation = 2, least = 1.5, most = 1.5000000001 }]",
            "are nearer to each other than a part 0.001 of them",
        ),
        (  # bonds at more than 143 degrees: the ends of four beads are 2.61 apart at least
            "[{ separation = 2, least = 1.9, most = 2.0 }, { separation = 3, least = 0.5, most = 1.2 }]",
            "beads 3 bonds apart are to be 0.5 to 1.2 apart, but bonds and the other limits leave them 2.6",
        ),
        (
            "[{ separation = 2, least = 1.0, most = 1.2 }, { separation = 3, least = 2.1, most = 2.9 }]",
            "leave them 1 to 1.96977",
        ),
        (
            "[{ separation = 2, least = 1.0, most = 1.2 }, { separation = 4, least = 2.5, most = 2.9 }]",
            "beads 4 bonds apart are to be 2.5 to 2.9 apart, but bonds and the other limits leave them 1 to 2.4;",
        ),
    ],
)
def test_impossible_limits_are_refused(tmp_path, limits, words):
    with pytest.raises(ConfigError) as caught:
        load_config(written(tmp_path, f"{CHAIN}\ndistance_limits = {limits}", name=None))
    assert words in str(caught.value) and "molecule[0].distance_limits" in str(caught.value)


def test_limits_of_bonds_of_several_lengths_are_looked_at_too(tmp_path):
    limits = "[{ separation = 2, least = 1.0, most = 1.2 }, { separation = 3, least = 2.4, most = 2.9 }]"
    molecule = f"{CHAIN}\nbond_length = [1.0, 1.1, 1.0, 1.0]\ndistance_limits = {limits}"
    with pytest.raises(ConfigError, match="beads 3 bonds apart are to be 2.4 to 2.9 apart, .* leave them 1 to 2.3;"):
        load_config(written(tmp_path, molecule, name=None))


def test_limits_of_stiff_chains_are_taken(tmp_path):
    limits = "[{ separation = 2, least = 1.7, most = 2.0 }, { separation = 3, least = 1.5, most = 2.9 }]"
    load_config(written(tmp_path, f"{CHAIN}\ndistance_limits = {limits}", name=None))


def test_rods_and_other_propagators_have_no_limits(tmp_path):
    rod = CHAIN.replace("chain", "rod")
    for molecule, rest in ((rod, ""), (CHAIN, '[propagator]\nname = "rattle"\nstep = 0.1')):
        with pytest.raises(ConfigError, match="molecule.distance_limits: does not work"):
            load_config(written(tmp_path, f"{molecule}\ndistance_limits = {LIMITS}", rest, name=None))


def test_two_potentials_of_a_pair_are_refused(tmp_path):
    path = written(tmp_path, types=None)
    path.write_text(path.read_text() + '[[potential]]\nname = "steps"\ndistances = [1.5]\nenergies = [1.0]\n')
    with pytest.raises(ConfigError, match=r"potential\[1\]: pairs of A and A have potential\[0\] already"):
        load_config(path)


def in_steps(path):
    """Ask an input for the engine of steps; return its path."""
    path.write_text(path.read_text().replace("end_time = 1.0", 'end_time = 1.0\nengine = "steps"'))
    return path


def test_the_engine_of_steps_has_no_wells(tmp_path):
    with pytest.raises(ConfigError, match='"steps" is for run.engine "events"'):
        load_config(in_steps(written(tmp_path, CHAIN, "[steps]\nstep = 0.01\n")))


def wet(folder, rest="", **pair):
    """Write an input whose beads form bridges, keys of their pair changed or (None) left out; return its path."""
    keys = "".join(f"{key} = {value}\n" for key, value in (BRIDGE | pair).items() if value is not None)
    return written(folder, rest=f"{rest}[[contact.pair]]\n{keys}", name=None)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"bridge_distance": "0.9"}, "[0].bridge_distance: 0.9 is not beyond the contact distance 1 of A and A"),
        ({"bridge_distance": "4.0"}, "[0].bridge_distance: 4 is more than a third of the periodic side 9"),
        ({"bridge_distance": None}, "[0].bridge_distance: is missing; a bridge needs it"),
        ({"bridge_energy": None}, "[0].bridge_energy: is missing; a bridge needs it"),
        ({"bridge_energy": "-0.1"}, "[0].bridge_energy: -0.1 is out of range"),
        ({"bridge_energy": "1e60"}, "[0].bridge_energy: 1e+60"),
        ({"types": '["A", "B"]'}, "[0].types: 'B' is no type of beads; types are A"),
    ],
)
def test_impossible_bridges_are_refused(tmp_path, changes, words):
    with pytest.raises(ConfigError) as caught:
        load_config(wet(tmp_path, **changes))
    assert f"contact.pair{words}" in str(caught.value)


def test_walls_and_the_engine_of_steps_have_no_bridges(tmp_path):
    path = wet(tmp_path, types='["A", "z-"]')
    path.write_text(path.read_text().replace("[[molecule]]", 'boundary = ["wall", "wall", "wall"]\n[[molecule]]'))
    with pytest.raises(ConfigError, match="bridge_distance: walls have no bridges"):
        load_config(path)
    with pytest.raises(ConfigError, match='bridge_distance: means nothing for run.engine "steps"'):
        load_config(in_steps(wet(tmp_path, "[steps]\nstep = 0.01\n")))


def test_a_pair_has_wells_or_bridges(tmp_path):
    path = written(tmp_path)
    path.write_text(
        path.read_text() + '[[contact.pair]]\ntypes = ["A", "A"]\nbridge_distance = 1.5\nbridge_energy = 1.0\n'
    )
    with pytest.raises(ConfigError, match=r"contact.pair\[0\]: pairs of A and A have potential\[0\] already"):
        load_config(path)


def test_bridges_load_back(tmp_path):
    config = load_config(wet(tmp_path))
    path = tmp_path / "again.toml"
    path.write_text(config.to_toml())
    assert load_config(path) == config
    expected = {"types": ["A", "A"], "distances": [1.5], "energies": [0.0], "bridge": 0.5}
    assert table_of(beyond_smooth_beads(config)) == {"potentials": [expected]}


def test_the_resolved_input_loads_back(tmp_path):
    config = load_config(written(tmp_path, f"{CHAIN}\ndistance_limits = {LIMITS}", types=None))
    path = tmp_path / "again.toml"
    path.write_text(config.to_toml())
    assert load_config(path) == config
    assert table_of(beyond_smooth_beads(config)) == {
        "potentials": [{"types": ["A", "A"], "distances": [1.5, 2.0], "energies": [-1.0, 0.5]}],
        "distance_limits": [[[2, 1.2, 1.9]]],
    }
