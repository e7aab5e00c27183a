"""Potentials and coefficients that can act on nothing, and bonds that FENE tears at once: said with their keys."""

import re

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.config.demands.cautions import cautions
from hpcchain.errors import ConfigError
from hpcchain.model.starts.start import build_system
from hpcchain.run.starts.start_from_file import read_start
from hpcchain.run.starts.starting import load_input, read_input
from tests.support.launching import call_hpcchain
from tests.support.stepped import FENE, LJ, config_of, liquid

RIGID = """
[box]
size = [12.0, 12.0, 12.0]
[[molecule]]
name = "A"
kind = "chain"
beads = 4
count = 3
[[molecule]]
name = "B"
kind = "monomer"
count = 3
[run]
engine = "steps"
end_time = 0.02
[steps]
step = 0.005
[output]
frame_every = 0.01
report_every = 0.01
checkpoint_every = 0.01
"""
FENE_OF = 'potential = [{name = "fene", stiffness = 30.0, length = 1.5, epsilon = 1.0, sigma = 1.0'
HARMONIC = 'potential = [{name = "harmonic", stiffness = 30.0, length = 1.0'
SOFT = ["molecule.0.hard = false", "molecule.1.hard = false"]
FLEXIBLE = ["molecule.0.rigid = false"]
WCA = 'potential = [{name = "wca", epsilon = 1.0'
MISTAKES = [
    ([FENE_OF + "}]"], "potential[0]: no bond is flexible, so it acts on nothing; set molecule[0].rigid = false"),
    ([HARMONIC + "}]"], "potential[0]: no bond is flexible, so it acts on nothing; set molecule[0].rigid = false"),
    ([HARMONIC + ', types = ["A", "B"]}]'], "potential[0]: no bond joins A and B, so it acts on nothing"),
    (
        [HARMONIC + ', types = ["A", "A"]}, ' + HARMONIC[13:] + ', types = ["B", "B"]}]', *FLEXIBLE],
        "potential[1]: no bond joins B and B",
    ),
    ([HARMONIC + "}]", "molecule.0.kind = 'rod'"], 'acts on nothing; choose kind = "chain" with rigid = false'),
    (
        [FENE_OF + "}]", *FLEXIBLE, "molecule.0.bond_length = 1.5"],
        "molecule[0].bond_length: 1.5 is not below potential",
    ),
    (
        [FENE_OF + "}]", *FLEXIBLE, "molecule.0.bond_length = [1.0, 1.6, 1.0]"],
        "molecule[0].bond_length: 1.6 is not below",
    ),
    (
        [WCA + ", sigma = 0.8}]"],
        "potential[0].sigma: it ends at 0.89797, not beyond the contact distance 1 of hard cores",
    ),
    (
        ['potential = [{name = "lennard-jones", epsilon = 1.0, sigma = 0.5, cutoff = 1.0}]'],
        "potential[0].cutoff: it ends at 1, not beyond the contact distance 1",
    ),
    ([*SOFT, "contact.restitution = 0.9"], "contact.restitution: no bead has a hard core, so it acts on nothing"),
    ([*SOFT, 'contact.simultaneous = "moreau"'], "contact.simultaneous: no bead has a hard core"),
    (
        ["molecule.1.hard = false", 'contact = {pair = [{types = ["A", "B"], restitution = 0.5}]}'],
        "contact.pair[0].types: beads of B have no hard core",
    ),
]
RIGHT = [
    [FENE_OF + "}]", *FLEXIBLE],
    [WCA + ", sigma = 0.8}]", *SOFT],
    [WCA + ", sigma = 0.8}]", "molecule.0.self_contact = false"],
    [WCA + ", sigma = 0.95}]"],
    [HARMONIC + "}]", *FLEXIBLE, "molecule.0.bond_length = 1.7"],
    [*SOFT],
]


@pytest.fixture
def path(tmp_path):
    """Return the path of an input without potentials."""
    found = tmp_path / "in.toml"
    found.write_text(RIGID, encoding="utf-8")
    return found


@pytest.mark.parametrize(("settings", "message"), MISTAKES, ids=[message[:40] for _, message in MISTAKES])
def test_what_acts_on_nothing_is_named(path, settings, message):
    with pytest.raises(ConfigError) as caught:
        load_config(path, settings)
    assert message in str(caught.value) and str(caught.value).startswith(str(path))


@pytest.mark.parametrize("settings", RIGHT)
def test_what_acts_on_something_is_right(path, settings):
    assert cautions(load_config(path, settings)) == []


def test_a_pair_of_which_there_is_none_is_a_caution(path):
    """A table of all pairs of types may be meant."""
    tracer = ["molecule.1.count = 1", WCA + ', sigma = 1.0, types = ["B", "B"]}]']
    assert cautions(load_config(path, tracer)) == ["potential[0] acts on nothing: there is but one bead of type B"]
    assert cautions(load_config(path, [*tracer, "molecule.1.count = 2"])) == []


def stretched(length):
    """Return the input of a liquid with a chain whose last bond has a length."""
    tables = liquid(5, beads=10, chains=1)
    chain = tables["molecule"][-1]["positions"]
    chain[-1] = (np.array(chain[-2]) + [length, 0.0, 0.0]).tolist()
    return tables


def test_positions_that_tear_a_bond_are_refused_before_a_run():
    build_system(config_of(stretched(1.45)))
    last = len(build_system(config_of(stretched(1.4))).state.position) - 1
    message = (
        rf"potential\[1\].length: 1.5 is not above the distance 1.[56]\d* of the bonded beads {last - 1} and {last}"
    )
    for length in (1.5001, 1.6):
        with pytest.raises(ConfigError, match=message):
            build_system(config_of(stretched(length)))


def test_a_potential_for_other_types_tears_nothing():
    other = [
        LJ,
        FENE | {"types": ["A", "A"]},
        {"name": "harmonic", "types": ["C", "C"], "stiffness": 9.0, "length": 1.0},
    ]
    tables = stretched(1.6) | {"potential": other}
    tables["molecule"][0] |= {"kind": "chain", "beads": 2, "count": 1}
    tables["molecule"][0]["positions"] = tables["molecule"][0]["positions"][:2]
    with pytest.raises(ConfigError, match=r"potential\[1\].length: 1.5 is not above .* beads 0 and 1 at the start"):
        build_system(config_of(tables))
    tables["molecule"][0]["positions"][1] = (np.array(tables["molecule"][0]["positions"][0]) + [1.0, 0, 0]).tolist()
    build_system(config_of(tables))


@pytest.mark.parametrize("ranks", [1, 2])
def test_start_files_whose_bonds_are_torn_or_that_nothing_holds(path, ranks):
    """The file is sound: the potentials of the new input are not for it."""
    settings = [word for one in (HARMONIC + "}]", *FLEXIBLE, "molecule.0.bond_length = 1.7") for word in ("--set", one)]
    assert call_hpcchain(["build", path, "-o", "start.h5", *settings], path.parent).returncode == 0
    text = RIGID[: RIGID.index("[[molecule]]")] + RIGID[RIGID.index("[run]") :]
    path.write_text(text + '[initial]\nmethod = "file"\nfile = "start.h5"\n', encoding="utf-8")
    cases = {
        FENE_OF + "}]": "potential[0].length: 1.5 is not above the distance 1.7",
        FENE_OF + ', types = ["B", "B"]}]': ".rigid: no [[potential]] holds the bonds of A and A",
        "potential = []": ".rigid: no [[potential]] holds the bonds of A and A",
    }
    for setting, message in cases.items():
        for words in (["check", path], ["run", path, "--output", "out"]) if ranks == 1 else (["run", path],):
            done = call_hpcchain([*words, "--set", setting], path.parent, ranks)
            assert done.returncode == 78 and message in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ((HARMONIC + "}]", *FLEXIBLE), "flexible bonds .* as rigid ones"),
        ((*SOFT, WCA + ", sigma = 1.0}]"), "soft beads .* as hard"),
    ],
)
def test_start_files_of_what_the_engine_of_events_does_not_know(path, settings, what):
    """The new input names no molecules, so that nothing else would show it."""
    words = [word for one in settings for word in ("--set", one)]
    assert call_hpcchain(["build", path, "-o", "start.h5", *words], path.parent).returncode == 0
    box = RIGID[: RIGID.index("[[molecule]]")]
    path.write_text(box + '[initial]\nmethod = "file"\nfile = "start.h5"\n[run]\nend_time = 1.0\n', encoding="utf-8")
    for words in (["check", path], ["run", path, "--output", "out"]):
        done = call_hpcchain(words, path.parent)
        assert done.returncode == 78, done.stderr
        assert re.search(f'run.engine: "events" would take the {what}', done.stderr), done.stderr


MISFITS = {
    "steps.step = 0.5": "steps.step: 0.5 is too long for potential[0]",
    "run.list_shell = 1e-9": "run.list_shell: 1e-09 is so thin",
    'contact.pair = [{types = ["A", "C"], restitution = 0.5}]': "contact.pair[0].types: 'C' is no type of beads",
    'potential = [{name = "wca", epsilon = 1.0, sigma = 0.5}]': "potential[0].sigma: it ends at 0.561",
    'potential = [{name = "lennard-jones", epsilon = 1.0, sigma = 1.0, cutoff = 9.0}]': "shorter than twice the range",
}


def test_an_input_without_molecules_is_checked_with_those_of_its_start_file(path):
    """What an input with these molecules may not ask for, one that leaves them out may not, either."""
    assert call_hpcchain(["build", path, "-o", "start.h5"], path.parent).returncode == 0
    text = RIGID[: RIGID.index("[[molecule]]")] + RIGID[RIGID.index("[run]") :]
    text += '[initial]\nmethod = "file"\nfile = "start.h5"\n'
    path.write_text(text + '[[potential]]\nname = "wca"\nepsilon = 1.0\nsigma = 1.0\n', encoding="utf-8")
    read_start(load_input(path))
    times = [f"output.{key}_every = 0.5" for key in ("frame", "report", "checkpoint")] + ["run.end_time = 0.5"]
    for setting, message in MISFITS.items():
        with pytest.raises(ConfigError) as caught:
            read_input(path, [setting, *(times if "step =" in setting else ())], None)
        assert message in str(caught.value) and str(caught.value).startswith(str(path))
