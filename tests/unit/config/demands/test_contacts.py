"""[contact] and [[contact.pair]]: what they become, and the one message that each mistake gives."""

import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.model.molecules.bonds import type_names
from hpcchain.model.physics.constants import ExtendedPhysics
from hpcchain.model.starts.start import physics_with
from tests.support.constant_tables import table_of

TEXT = """
[box]
size = [20, 20, 20]
boundary = ["periodic", "periodic", "wall"]
[[molecule]]
name = "A"
kind = "chain"
beads = 3
types = ["H", "P", "H"]
moment = [0.1, 0.2, 0.1]
[[molecule]]
name = "B"
kind = "monomer"
[contact]
tangential_restitution = 0.5
[[contact.pair]]
types = ["H", "B"]
restitution = 0.8
[[contact.pair]]
types = ["P", "z+"]
contact_time = 0.01
tangential_restitution = -1.0
[run]
end_time = 1
"""


@pytest.fixture
def load(tmp_path):
    def put(old="", new="", settings=()):
        path = tmp_path / "in.toml"
        path.write_text(TEXT.replace(old, new) if old else TEXT)
        return load_config(path, list(settings))

    return put


def test_pairs_are_read_and_written_out_again(load, tmp_path):
    config = load()
    assert [one.types for one in config.contact.pairs] == [("H", "B"), ("P", "z+")]
    assert config.contact.is_rough
    assert type_names(config.molecules) == ["H", "P", "B"]
    again = tmp_path / "again.toml"
    again.write_text(config.to_toml())
    assert load_config(again) == config
    physics = physics_with(config, 1.0)
    assert physics.longest_contact_time == 0.01
    assert not physics.is_elastic
    assert physics.extended.rough.tangential_restitution == 0.5


def test_smooth_elastic_runs_need_nothing_more(load):
    plain = load("[contact]\ntangential_restitution = 0.5\n", "").contact
    assert plain.is_rough  # one pair still is
    text = TEXT[: TEXT.index("[contact]")].replace("moment = [0.1, 0.2, 0.1]\n", "") + "[run]\nend_time = 1\n"
    config = load(TEXT, text)
    assert physics_with(config, 1.0).extended == ExtendedPhysics()
    assert physics_with(config, 1.0).is_elastic


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"H", "B"', '"H", "X"', "contact.pair[0].types: 'X' is no type of beads; types are H, P, B"),
        ('"H", "B"', '"H"', "contact.pair[0].types: is a list of 1; needs 2"),
        ('"H", "B"', '"x-", "B"', "contact.pair[0].types: 'x-' is a wall; name it second"),
        ('"P", "z+"', '"P", "x+"', "contact.pair[1].types: there is no wall 'x+'; set box.boundary"),
        ('"P", "z+"', '"B", "H"', "contact.pair[1].types: B and H have contact.pair[0] already"),
        ("restitution = 0.8", "", "contact.pair[0]: gives no coefficient"),
        ("restitution = 0.8", "restitution = 1.8", "contact.pair[0].restitution: 1.8 is out of range"),
        ("restitution = 0.8", "resitution = 0.8", "contact.pair[0].resitution: unknown key"),
        ("contact_time = 0.01", "contact_time = -1", "contact.pair[1].contact_time: -1 is out of range"),
        ('name = "B"', 'name = "z+"', "molecule: 'z+' is a wall's name"),
        ("moment = [0.1, 0.2, 0.1]", "moment = [0.1]", "molecule[0].moment: is a list of 1; needs 3"),
        ("moment = [0.1, 0.2, 0.1]", "moment = 0", "molecule[0].moment: 0 is out of range"),
        ("moment = [0.1, 0.2, 0.1]", "angular_velocities = [[0, 0, 1]]", "angular_velocities: means nothing"),
        (
            'kind = "monomer"',
            'kind = "monomer"\ndirectors = true\n'
            'propagator = { name = "variational", step = 0.1, collision = "exact" }',
            "molecule[1].directors: rough spheres turn exactly",
        ),
        ('kind = "chain"', 'kind = "rod"', "contact.tangential_restitution: does not work for molecule[0], kind 'rod'"),
        (
            "[contact]",
            '[propagator]\nname = "variational"\nstep = 0.1\n[contact]',
            'only with propagator.collision = "exact"',
        ),
        ("[contact]", "[steps]\nstep = 0.1\n[contact]", "steps"),
    ],
)
def test_each_mistake_gives_one_message(load, old, new, message):
    with pytest.raises(ConfigError) as caught:
        load(old, new)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_moments_are_for_beads_that_spin(load):
    text = TEXT[: TEXT.index("[contact]")] + "[run]\nend_time = 1\n"
    with pytest.raises(ConfigError, match=r"molecule\[0\].moment: means nothing without directors"):
        load(TEXT, text)


STEPS = '[steps]\nstep = 0.1\n[run]\nengine = "steps"'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "",
            "",
            'contact.tangential_restitution: run.engine "steps" has no rough beads; .* "contact", which makes beads',
        ),
        ("tangential_restitution = 0.5\n", "", r"contact.pair\[1\].tangential_restitution: run.engine .steps. has no"),
        (
            "tangential_restitution = 0.5",
            "[[contact.pair]]\ntypes = ['H', 'H']\ncontact_time = 0.1",
            r"contact.pair\[0\].contact_time: means nothing",
        ),
        (
            "tangential_restitution = 0.5",
            "[[contact.pair]]\ntypes = ['H', 'H']\nfriction = 0.1",
            r"contact.pair\[0\].friction: works only with steps.integrator = .contact.",
        ),
    ],
)
def test_the_engine_of_steps_has_no_rough_beads(load, old, new, message):
    text = TEXT.replace("moment = [0.1, 0.2, 0.1]\n", "").replace("[run]", STEPS)
    with pytest.raises(ConfigError, match=message):
        load(TEXT, text.replace(old, new) if old else text)


def test_the_engine_of_events_has_no_friction_of_pairs(load):
    with pytest.raises(ConfigError, match=r"contact.pair\[0\].friction: works only with steps.integrator = .contact."):
        load("restitution = 0.8", "friction = 0.8")


def test_pairs_of_steps_are_written_out_again(load, tmp_path):
    text = TEXT[: TEXT.index("[contact]")].replace("moment = [0.1, 0.2, 0.1]\n", "")
    text += "[[contact.pair]]\ntypes = ['P', 'z+']\nfriction = 0.3\nrestitution = 0.2\n[[wall]]\nside = 'z-'\n"
    text += "restitution = 0.4\n" + STEPS.replace("0.1", "0.1\nintegrator = 'contact'") + "\nend_time = 1\n"
    config = load(TEXT, text)
    again = tmp_path / "again.toml"
    again.write_text(config.to_toml())
    assert load_config(again) == config
    assert config.spins and not config.contact.is_rough
    steps = table_of(physics_with(config, 1.0).steps)
    assert steps["pairs"] == [{"types": ["P", "z+"], "restitution": 0.2, "friction": 0.3}]
    assert [(wall.side, wall.restitution) for wall in physics_with(config, 1.0).extended.walls] == [("z-", 0.4)]
    assert not physics_with(config, 1.0).is_elastic


def test_pairs_are_tables(load):
    text = TEXT[: TEXT.index("tangential_restitution")] + "pair = 3\n[run]\nend_time = 1\n"
    with pytest.raises(ConfigError, match=r"contact.pair: .*use the header \[\[contact.pair\]\], once per pair"):
        load(TEXT, text)


RULED = """
[box]
size = [20, 20, 20]
boundary = ["open", "open", "wall"]
[[molecule]]
name = "A"
kind = "chain"
beads = 3
[contact]
simultaneous = "moreau"
[run]
end_time = 1
"""


@pytest.mark.parametrize("rule", ["generalised", "moreau"])
def test_rules_for_one_instant_are_part_of_the_run(load, rule):
    config = load(TEXT, RULED.replace("moreau", rule))
    assert physics_with(config, 1.0).extended == ExtendedPhysics(simultaneous=rule)
    assert physics_with(load(TEXT, RULED.replace("moreau", "joint")), 1.0).extended == ExtendedPhysics()


@pytest.mark.parametrize("rule", ["generalised", "moreau"])
@pytest.mark.parametrize(
    "more",
    [
        'potential = [{name = "steps", distances = [1.5], energies = [-1.0]}]',
        "molecule.0.distance_limits = [{separation = 2, least = 1.2, most = 1.9}]",
        'wall = [{side = "z-", temperature = 1.0}]',
    ],
)
def test_rules_for_one_instant_go_with_what_is_met_one_by_one(load, rule, more):
    config = load(TEXT, RULED.replace("moreau", rule), [more])
    assert physics_with(config, 1.0).extended.simultaneous == rule


def test_rules_for_one_instant_do_not_go_with_the_variational_law(load):
    more = 'propagator = {name = "variational", step = 0.1}'
    with pytest.raises(ConfigError) as caught:
        load(TEXT, RULED, [more])
    assert "contact.simultaneous: does not work for molecule[0], kind 'chain'" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert load(TEXT, RULED.replace("moreau", "joint"), [more])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("molecule.0.angular_velocities = [[0.0, 0.0, 1.0]]", "molecule[0].angular_velocities: has 1 rows; needs"),
        (
            "molecule.0.angular_velocities = [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]",
            "molecule[0].angular_velocities: fixed beads do not spin",
        ),
    ],
)
def test_what_rough_beads_do_not_meet(load, more, message):
    text = RULED.replace('simultaneous = "moreau"', "tangential_restitution = 0.5").replace(
        "beads = 3\n",
        "beads = 3\nfixed = [1]\npositions = [[1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [3.0, 1.0, 1.0]]\n"
        '[initial]\nmethod = "explicit"\n',
    )
    with pytest.raises(ConfigError) as caught:
        load(TEXT, text, [more])
    assert message in str(caught.value)
