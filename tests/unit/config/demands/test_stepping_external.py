"""Keys of gravity, walls, fixed beads and the thermostat of the engine of events: read, written, each mistake once."""

import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError, UsageError
from hpcchain.run.starts.starting import with_end

GOOD = """
[box]
size = [20.0, 20.0, 20.0]
boundary = ["open", "open", "wall"]

[[molecule]]
kind = "chain"
beads = 3
fixed = [0]
positions = [[5.0, 5.0, 0.5], [5.0, 5.0, 1.5], [5.0, 5.0, 2.5]]

[[molecule]]
kind = "monomer"
count = 2
fixed = [0]
fixed_velocity = [0.0, 0.1, 0.0]
positions = [[9.0, 9.0, 9.0], [9.0, 9.0, 6.0]]

[initial]
method = "explicit"

[[wall]]
side = "z-"
velocity = 0.1

[[wall]]
side = "z+"
temperature = 2.0

[[wall]]
shape = "cylinder"
center = [10.0, 10.0, 0.0]
radius = 12.0
axis = "z"
restitution = 0.9

[thermostat]
name = "andersen"
temperature = 1.0
rate = 0.1

[run]
end_time = 10.0
"""

MISTAKES = [
    ("wall = 3", "wall: 3 is not a list of tables"),
    ('wall.0.side = "a"', "wall[0].side: "),
    ('wall.0.shape = "sphere"', "wall[0]: give it a side of the box, or a shape, and not both"),
    ("wall.0.radius = 3.0", "wall[0].radius: means nothing for a side of the box"),
    ('wall.2.shape = "sphere"', 'wall[2].axis: means nothing for shape "sphere"'),
    ('wall = [{shape = "cylinder", center = [0.0, 0.0, 0.0], radius = 3.0}]', "wall[0].axis: is missing"),
    ('wall.2.axis = "x"', 'wall[2].shape: a cylinder needs box.boundary "open" across it'),
    ("wall.2.radius = 0.5", "wall[2].radius: 0.5 leaves the largest bead"),
    ('wall.0.side = "z+"', 'wall[1].side: "z+" is wall[0] already'),
    ('wall.0.side = "x+"', 'wall[0].side: "x+" is of an axis whose box.boundary is "open"'),
    ("wall.0.velocity = 2.0", "wall[0].velocity: the walls of axis z leave the largest bead no room from time 9.5 on"),
    ("wall.2.velocity = 2.0", "wall[2].velocity: the cylinder leaves the largest bead no room from time 5.75 on"),
    ("wall.0.velocity = [0.2, 0.0, 0.1]", "wall[0].velocity: the wall moves along itself, but is smooth"),
    ("wall.0.velocity = [0.2, 0.0]", "wall[0].velocity: is a list of 2; needs 3"),
    ("wall.0.velocity = [0.0, 0.0, 2.0]", "wall[0].velocity: the walls of axis z leave the largest bead no room"),
    ("wall.2.velocity = [0.2, 0.0, 0.0]", "wall[2].velocity: a cylinder moves along its axis z"),
    ("wall.0.oscillation = 0.1", "wall[0].oscillation: 0.1 is not a table { amplitude, period }"),
    ("wall.0.oscillation = {amplitude = 0.1}", "wall[0].oscillation: period: is missing; needs amplitude and period"),
    ("wall.0.oscillation = {amplitude = 0.1, period = 0.0}", "wall[0].oscillation: period: 0 is out of range"),
    (
        "wall.0.oscillation = {amplitude = [0.1, 0.0, 0.0], period = 2.0}",
        "wall[0].oscillation: amplitude: the wall moves along itself, but is smooth",
    ),
    (
        "wall.0.oscillation = {amplitude = -30.0, period = 2.0}",
        "wall[0].oscillation: the walls of axis z leave the largest bead no room",
    ),
    ("wall.0.oscillation = {amplitude = 1e-5, period = 1e-14}", "wall[0].oscillation: "),
    ("wall.1.restitution = 0.5", "wall[1].restitution: means nothing for a wall with a temperature"),
    ("wall.1.temperature = -1.0", "wall[1].temperature: -1 is out of range"),
    ("wall.0.restitution = 1.5", "wall[0].restitution: 1.5 is out of range"),
    ("molecule.0.fixed = [3]", "molecule[0].fixed: bead 3 does not exist; the molecule has beads 0 to 2"),
    ("molecule.0.fixed = [0, 0]", "molecule[0].fixed: names a bead twice"),
    ("molecule.0.fixed = [0, 1]", "molecule[0].fixed: beads 0 and 1 are bonded and both fixed"),
    ("molecule.0.fixed = [-1]", "molecule[0].fixed: entry 0: -1 is out of range"),
    ('molecule.0.kind = "rod"', "molecule.fixed: does not work for molecule[0], kind 'rod'"),
    ('molecule.0.kind = "rod"', 'stands still of single beads: kind = "monomer", fixed = [0]'),
    ("molecule.0.fixed_velocity = [1.0, 0.0, 0.0]", "leave one of the two out (it works for monomer)"),
    ("molecule.1.fixed = []", "molecule[1].fixed_velocity: means nothing without molecule[1].fixed"),
    ('molecule.0.propagator = {name = "rattle", step = 0.1}', "wall.velocity: does not work for molecule[0]"),
    (
        'thermostat = {name = "langevin", temperature = 1.0, damping = 1.0}',
        'thermostat.name: "langevin" is for run.engine "steps"; set that, or choose "andersen"',
    ),
    ("thermostat.rate = 0.0", "thermostat.rate: 0 is out of range"),
    ('initial.method = "grow"', ": "),
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
    assert config.walls[0].velocity == 0.1 and config.walls[2].radius == 12.0 and config.molecules[0].fixed == (0,)


@pytest.mark.parametrize(("setting", "message"), MISTAKES, ids=str)
def test_each_mistake_gives_one_message_with_its_key(path, setting, message):
    with pytest.raises(ConfigError) as caught:
        load_config(path, [setting])
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_gravity_needs_flights_that_are_exact(tmp_path):
    text = '[box]\nsize = [9.0, 9.0, 9.0]\n[[molecule]]\nkind = "chain"\nbeads = 3\n[run]\nend_time = 1.0\n'
    path = tmp_path / "in.toml"
    path.write_text(text + "[external]\ngravity = [0.0, 0.0, -1.0]\n", encoding="utf-8")
    assert load_config(path).external.gravity == (0.0, 0.0, -1.0)
    with pytest.raises(ConfigError, match=r"external.gravity: does not work for molecule\[0\], .* 'rattle'"):
        load_config(path, ['propagator = {name = "rattle", step = 0.1}'])
    with pytest.raises(ConfigError, match=r"thermostat: does not work for molecule\[0\], .* 'collocation'"):
        load_config(
            path,
            [
                "external.gravity = [0.0, 0.0, 0.0]",
                'propagator = {name = "collocation", step = 0.1}',
                'thermostat = {name = "andersen", temperature = 1.0, rate = 1.0}',
            ],
        )


def test_a_later_end_is_refused_where_walls_would_meet(path):
    assert with_end(load_config(path), 20.0).run.end_time == 20.0
    with pytest.raises(UsageError, match=r"until 500: wall\[0\].velocity: the walls of axis z"):
        with_end(load_config(path), 500.0)


def grown(shapes, size=8.0, boundary="open", diameter=1.0):
    """Return the input of a start that is grown within shapes."""
    walls = "".join(f"[[wall]]\n{one}\n" for one in shapes)
    return (
        f"[box]\nsize = {size}\nboundary = '{boundary}'\n[[molecule]]\nkind = 'monomer'\ncount = 4\n"
        f"diameter = {diameter}\n{walls}[run]\nend_time = 1.0\n"
    )


def sphere(center, radius):
    """Return the keys of a sphere."""
    return f"shape = 'sphere'\ncenter = {center}\nradius = {radius}"


def cylinder(center, radius, axis):
    """Return the keys of a cylinder."""
    return f"shape = 'cylinder'\ncenter = {center}\nradius = {radius}\naxis = '{axis}'"


DISJOINT = {
    "far": ([sphere([400.0, 4.0, 4.0], 3.0)], r"wall\[0\]: its shape"),
    "just outside": ([sphere([10.6, 4.0, 4.0], 3.0)], r"wall\[0\]: its shape"),
    "two spheres": ([sphere([2.0, 4.0, 4.0], 2.0), sphere([7.0, 4.0, 4.0], 2.0)], r"wall\[0\] and wall\[1\]: their"),
    "the second": ([sphere([4.0, 4.0, 4.0], 3.0), cylinder([4.0, 40.0, 4.0], 3.0, "x")], r"wall\[1\]: its shape"),
    "crossed cylinders": (
        [cylinder([4.0, 4.0, 1.0], 1.5, "x"), cylinder([4.0, 4.0, 7.0], 1.5, "y")],
        r"wall\[0\] and wall\[1\]",
    ),
    "three": (
        [sphere([2.0, 2.0, 4.0], 2.6), sphere([6.0, 2.0, 4.0], 2.6), sphere([4.0, 5.5, 4.0], 2.6)],
        r"wall\[0\] and wall\[1\] and wall\[2\]",
    ),
}


@pytest.mark.parametrize("name", DISJOINT)
def test_shapes_without_room_in_common_are_refused_at_once(tmp_path, name):
    shapes, message = DISJOINT[name]
    (tmp_path / "in.toml").write_text(grown(shapes), encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"in.toml: {message}.* no room in common for a bead of diameter 1"):
        load_config(tmp_path / "in.toml")


@pytest.mark.parametrize(
    "shapes",
    [
        [sphere([10.4, 4.0, 4.0], 3.0)],
        [sphere([2.0, 4.0, 4.0], 2.0), sphere([4.9, 4.0, 4.0], 2.0)],
        [sphere([1.0, 1.0, 1.0], 2.0), cylinder([1.0, 3.5, 1.0], 2.0, "x")],
        [sphere([4.0, 4.0, 4.0], 1e6)],
    ],
)
def test_shapes_with_room_in_common_are_taken(tmp_path, shapes):
    (tmp_path / "in.toml").write_text(grown(shapes), encoding="utf-8")
    load_config(tmp_path / "in.toml")
