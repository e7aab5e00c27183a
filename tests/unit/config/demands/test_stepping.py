"""Inputs of the engine of steps: what is wrong is said with its key; what is right comes back the same."""

import pytest

from hpcchain.api import with_end
from hpcchain.config import load_config
from hpcchain.errors import ConfigError, UsageError

GOOD = """
[box]
size = [12.0, 12.0, 12.0]
[[molecule]]
name = "A"
kind = "chain"
beads = 4
count = 3
hard = false
rigid = false
[[molecule]]
name = "B"
kind = "monomer"
count = 3
hard = [false]
[[potential]]
name = "lennard-jones"
types = ["A", "B"]
epsilon = 1.0
sigma = 1.0
cutoff = 2.5
[[potential]]
name = "fene"
types = ["A", "A"]
stiffness = 30.0
length = 1.5
epsilon = 1.0
sigma = 1.0
[external]
gravity = [0.0, 0.0, -1.0]
[run]
engine = "steps"
end_time = 2.0
[steps]
step = 0.005
"""
LJ = '{name = "lennard-jones", epsilon = 1.0, sigma = 1.0'
OF_CENTER = (
    "potential = [" + LJ.replace("{", "{{") + ", cutoff = 2.5}}, {{name = 'fene', stiffness = 30.0, length = 1.5, "
    "epsilon = 1.0, sigma = 1.0}}, {{name = 'center', stiffness = 1.0, center = [6.0, 6.0, {}]}}]"
)
MISTAKES = [
    ('run.engine = "events"', 'steps: means nothing for run.engine "events"'),
    ("steps.step = 0.0", "steps.step: 0 is out of range"),
    ("steps.stepp = 0.1", "steps.stepp: unknown key; the nearest valid key is steps.step"),
    ('steps.integrator = "contact"', 'steps.integrator: "contact" is for beads with a hard core'),
    ('wall = [{side = "z-"}]', 'wall[0].side: "z-" is of an axis whose box.boundary is "periodic"'),
    ('wall = [{shape = "sphere", center = [6, 6, 6], radius = 5}]', "wall[0].shape: a sphere needs box.boundary"),
    ("contact.friction = 0.5", "contact.friction: works only with steps.integrator"),
    ('steps = {step = 0.005, energy = "H2", integrator = "dsi"}', 'steps.energy: "H2" means nothing for'),
    ('contact.simultaneous = "all"', "contact.simultaneous: 'all' is unknown"),
    ('steps.energy = "H3"', "steps.energy: 'H3' is unknown"),
    ('steps.base = "euler"', "steps.base: 'euler' is unknown"),
    ("steps.predictions = 3", "steps.predictions: 3 is out of range"),
    ("contact.contact_time = 0.1", 'contact.contact_time: means nothing for run.engine "steps"'),
    ('box.boundary = ["wall", "periodic", "periodic"]', "molecule[0].hard: walls stop only beads with a hard core"),
    ("steps.step = 0.003", "output.frame_every: 1.0 is not a whole number of steps of steps.step = 0.003; use 0.999"),
    ("run.end_time = 0.0125", "run.end_time: 0.0125 is not a whole number of steps"),
    ("output.report_every = 0.001", "output.report_every: 0.001 is not a whole number of steps"),
    ("potential.0.name = 'lj'", "potential[0].name: 'lj' is unknown"),
    ("potential.0.cutoff = -1", "potential[0].cutoff: -1 is out of range"),
    ('potential.0.types = ["A"]', "potential[0].types: is a list of 1; needs 2"),
    ('potential.0.types = ["A", "X"]', "potential[0].types: 'X' is no type of beads; types are A, B"),
    ('potential.1.types = ["A", "B"]', "molecule[0].rigid: no [[potential]] holds the bonds of A and A"),
    ("potential.0.stiffness = 1.0", 'potential[0].stiffness: means nothing for "lennard-jones"'),
    ("potential = [" + LJ + "}]", 'potential[0].cutoff: is missing; "lennard-jones" needs it'),
    ('potential.0.cutoff = "none"', 'potential[0].cutoff: "none" is for boxes without periodic sides'),
    ('potential.0.cutoff = "all"', "potential[0].cutoff: 'all' is not a number; or give \"none\""),
    ('potential.0.file = "x.py"', 'potential[0].file: means nothing for "lennard-jones"'),
    ('potential = [{name = "module", file = "no.py", function = "f"}]', "potential[0].on: is missing"),
    ('potential = [{name = "module", file = "no.py", on = "bond"}]', "potential[0].function: is missing"),
    ('potential = [{name = "module", file = "no.py", function = "f", on = "pair"}]', "potential[0].cutoff: is missing"),
    (
        'potential = [{name = "module", file = "no.py", function = "f", on = "pair", cutoff = "none"}]',
        'potential[0].cutoff: "none" is only for "lennard-jones"',
    ),
    (
        'potential = [{name = "module", file = "no.py", function = "f", on = "bond", cutoff = 1.0}]',
        'potential[0].cutoff: means nothing on "bond"',
    ),
    ('potential = [{name = "module", file = "no.py", function = "f", on = "bond"}]', "no.py cannot be read: No such"),
    ("potential.1.length = 0.9", "potential[1].length: 0.9 leaves bonds no room"),
    ('potential.1.types = ["B", "B"]', "molecule[0].rigid: no [[potential]] holds the bonds"),
    ("potential = 3", "potential: 3 is not a list of tables"),
    (
        "potential = [" + LJ + ", cutoff = 2.0}, " + LJ + ', cutoff = 2.0, types = ["B", "A"]}]',
        "potential[1]: pairs of A and B have potential[0] already",
    ),
    ("external.gravity = [1.0]", "external.gravity: is a list of 1; needs 3"),
    ("molecule.1.hard = [false, false]", "molecule[1].hard: is a list of 2; needs 1"),
    ("molecule.0.rigid = 1", "molecule[0].rigid: 1 is not true or false"),
    ("molecule.1.directors = true", 'molecule[1].directors: the engine "steps" turns no spheres'),
    ('molecule.0.propagator = {name = "rattle", step = 0.1}', "molecule[0].propagator: means nothing"),
    ("thermostat.rate = 1.0", "thermostat.name: is missing"),
    ('thermostat = {name = "langevin", temperature = 1.0}', 'thermostat.damping: is missing; "langevin" needs it'),
    (
        'thermostat = {name = "andersen", temperature = 1.0, rate = 1.0, damping = 1.0}',
        'thermostat.damping: means nothing for "andersen"',
    ),
    ("molecule.0.damping = -1.0", "molecule[0].damping: -1 is out of range"),
    ('molecule.0.kind = "rod"', "molecule[0].rigid: a rod is rigid"),
    (OF_CENTER.format(1e9), "potential[2].center: is 1e+09 from the box, so that beads move 5e+06 in a step"),
]


@pytest.fixture
def path(tmp_path):
    """Return the path of a right input."""
    found = tmp_path / "in.toml"
    found.write_text(GOOD, encoding="utf-8")
    return found


def test_a_right_input_comes_back_the_same(path, tmp_path):
    config = load_config(path)
    again = tmp_path / "again.toml"
    again.write_text(config.to_toml(), encoding="utf-8")
    assert load_config(again) == config
    assert config.steps.step == 0.005 and config.potentials[0].shift and not config.molecules[0].rigid


def test_inputs_of_events_do_not_speak_of_steps(path):
    text = GOOD[: GOOD.index("[[potential]]")].replace("hard = false", "").replace("rigid = false", "")
    path.write_text(text.replace("hard = [false]", "") + "[run]\nend_time = 1.0\n", encoding="utf-8")
    written = load_config(path).to_toml()
    assert not any(word in written for word in ("steps]", "potential", "external", "hard", "rigid"))


@pytest.mark.parametrize(("setting", "message"), MISTAKES, ids=[setting for setting, _ in MISTAKES])
def test_each_mistake_gives_one_message_with_its_key(path, setting, message):
    with pytest.raises(ConfigError) as caught:
        load_config(path, [setting])
    text = str(caught.value)
    assert message in text and "\n" not in text and text.startswith(str(path))


def test_a_centre_may_be_outside_the_box(path):
    assert load_config(path, [OF_CENTER.format(100.0)]).potentials[2].center == (6.0, 6.0, 100.0)


def test_until_is_a_whole_number_of_steps(path):
    config = load_config(path)
    assert with_end(config, 0.45).run.end_time == 0.45
    with pytest.raises(UsageError, match="--until: 0.4521 is not a whole number of steps.*use 0.45"):
        with_end(config, 0.4521)
    with pytest.raises(UsageError, match="--until: 0.41000000000000003 is not .* of steps.step = 0.005; use 0.41$"):
        with_end(config, 82 * 0.005)
