"""What `check` takes `run` must do: every key with a unit has a range of values, in the system's own units."""

import pytest

from hpcchain.config import load_config
from hpcchain.config.demands.cautions import cautions
from hpcchain.config.demands.units import LEFT, derived_keys, has_range, unit_of
from hpcchain.config.keys.schema import KEYS
from hpcchain.config.keys.values import Number, Rows
from hpcchain.errors import ConfigError
from hpcchain.model.physics.constants import DistanceLimit
from hpcchain.run.starts.starting import try_steps
from tests.support.mixtures import to_toml

PURE = (
    "box.packing_fraction",
    "contact.friction",
    "contact.pair.friction",
    "contact.pair.restitution",
    "contact.pair.tangential_restitution",
    "contact.restitution",
    "contact.tangential_restitution",
    "molecule.orientations",
    "output.checkpoint_wall_minutes",
    "propagator.tolerance",
    "run.window",  # a time with a range of its own, and no effect on results
    "wall.restitution",
    "wall.tangential_restitution",
)


def is_float(value):
    """Whether a key's value holds numbers that need not be whole."""
    value = getattr(value, "entry", value)
    is_limits = getattr(value, "into", None) is DistanceLimit
    return isinstance(value, Number) or is_limits or (isinstance(value, Rows) and not value.whole)


def test_every_number_has_a_unit_and_a_range_or_neither():
    for key in (key for key in KEYS if is_float(key.value)):
        assert (unit_of(key) is None) == (key.path in PURE), key.path
        assert key.path in (*PURE, *LEFT) or key in derived_keys() or has_range(key), key.path


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("external.gravity", (0, 1, -2)),
        ("thermostat.temperature", (1, 2, -2)),
        ("potential.stiffness", (1, 0, -2)),
        ("molecule.moment", (1, 2, 0)),
        ("thermostat.rate", (0, 0, -1)),
        ("contact.pair.restitution", None),
        ("molecule.distance_limits", (0, 1, 0)),
    ],
)
def test_units_are_read_off_meanings(path, unit):
    assert unit_of(next(key for key in KEYS if key.path == path)) == unit


CHAIN = {"kind": "chain", "beads": 3, "count": 2}
SOFT = CHAIN | {"hard": False, "rigid": False}
WALLS = {"size": [8.0] * 3, "boundary": ["periodic", "periodic", "wall"]}
STEPS = {"run": {"engine": "steps", "end_time": 0.01}, "steps": {"step": 0.005}}
PINNED = {"kind": "monomer", "fixed": [0]}


def tables(**sections):
    """Return a small input with these sections in place of the usual ones."""
    output = dict.fromkeys(("frame_every", "report_every", "checkpoint_every"), 0.01)
    usual = {"box": {"size": [8.0] * 3}, "molecule": [CHAIN], "run": {"end_time": 0.01}, "output": output}
    return usual | sections


def wall(**keys):
    """Return the sections of a wall with these keys."""
    return {"box": WALLS, "wall": [{"side": "z-"} | keys]}


def soft(**keys):
    """Return the sections of beads whose bonds have a potential with these keys."""
    return STEPS | {"molecule": [SOFT], "potential": [{"name": "harmonic", "stiffness": 1.0, "length": 1.0} | keys]}


def lennard_jones(**keys):
    """Return the sections of single beads with this potential."""
    one = {"name": "lennard-jones", "epsilon": 1.0, "sigma": 1.0, "cutoff": 2.5} | keys
    return STEPS | {"molecule": [{"kind": "monomer", "count": 4, "hard": False}], "potential": [one]}


def thermostat(name="andersen", temperature=1.0, **keys):
    """Return the sections of a thermostat; langevin is one of the engine of steps."""
    usual = {"rate": 1.0} if name == "andersen" else {"damping": 1.0}
    return (STEPS if name == "langevin" else {}) | {
        "thermostat": {"name": name, "temperature": temperature} | usual | keys
    }


BEYOND = {
    "thermostat.temperature": [
        thermostat(temperature=1e15),
        thermostat("langevin", 1e-40),
        thermostat("langevin", 1e20),
    ],
    "thermostat.rate": [thermostat(rate=1e30), thermostat(rate=1e-20)],
    "thermostat.damping": [thermostat("langevin", damping=1e9)],
    "wall[0].temperature": [wall(temperature=1e30), wall(temperature=1e-50)],
    "wall[0].velocity": [wall(velocity=-1e15), wall(velocity=1e-30)],
    "external.gravity": [{"external": {"gravity": [0.0, 0.0, g]}} for g in (-1e14, 1e14, 1e-40)],
    "molecule[0].fixed_velocity": [
        {"molecule": [PINNED | {"fixed_velocity": [v, 0.0, 0.0]}, CHAIN]} for v in (1e12, -1e12)
    ],
    "molecule[0].damping": [STEPS | {"molecule": [{"kind": "monomer", "count": 4, "damping": 1e12}]}],
    "molecule[0].moment": [
        {"molecule": [{"kind": "monomer", "count": 4, "moment": i}], "contact": {"tangential_restitution": 0.5}}
        for i in (1e-30, 1e30)
    ],
    "potential[0].stiffness": [soft(stiffness=1e30), soft(stiffness=1e-40)],
    "potential[0].epsilon": [lennard_jones(epsilon=1e30), lennard_jones(epsilon=1e-40)],
    "potential[0].cutoff": [lennard_jones(cutoff=1e20)],
    "potential[0].energies": [
        {"potential": [{"name": "steps", "distances": [1.5], "energies": [e]}]} for e in (1e20, -1e20, 1e-40)
    ],
    "initial.growth_rate": [{"initial": {"growth_rate": rate}} for rate in (1e9, 1e-20)],
    "run.cell_size": [{"run": {"end_time": 1.0, "cell_size": size}} for size in (1e-20, 1e40)],
    "run.list_shell": [{"run": {"end_time": 1.0, "list_shell": size}} for size in (1e-20, 1e40)],
}


@pytest.mark.parametrize(("key", "sections"), [(key, each) for key, every in BEYOND.items() for each in every])
def test_what_was_not_tried_is_refused_with_its_key(tmp_path, key, sections):
    (tmp_path / "in.toml").write_text(to_toml(tables(**sections)))
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "in.toml")
    text = str(caught.value)
    assert text.startswith(f"{tmp_path / 'in.toml'}: {key}: ") and "\n" not in text
    assert caught.value.exit_code == 78


@pytest.mark.parametrize("most", [1e40, 1e20, 1e-20])
def test_limits_that_were_not_tried_are_refused(tmp_path, most):
    (tmp_path / "in.toml").write_text(to_toml(tables()))
    limits = f"molecule.0.distance_limits=[{{separation=2, least=0.0, most={most!r}}}]"
    with pytest.raises(ConfigError, match=r"molecule\[0\].distance_limits: entry 0: most: .* has been tried"):
        load_config(tmp_path / "in.toml", [limits, "molecule.0.self_contact=false"])


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf"])
@pytest.mark.parametrize("key", [key.path for key in KEYS if key.path in ("thermostat.rate", "run.cell_size")])
def test_what_is_no_number_is_refused(tmp_path, key, bad):
    (tmp_path / "in.toml").write_text(to_toml(tables(**thermostat())))
    with pytest.raises(ConfigError, match=rf"{key}: .*finite"):
        load_config(tmp_path / "in.toml", [f"{key}={bad}"])


UNSTABLE = {
    "harmonic": soft(stiffness=1e8),
    "harmonic, light": soft(stiffness=1e3) | {"molecule": [SOFT | {"mass": [1.0, 1e-6, 1.0]}]},
    "fene": soft(name="fene", stiffness=1e8, length=1.5, epsilon=1.0, sigma=0.9),
    "fene's wca": soft(name="fene", stiffness=1.0, length=1.5, epsilon=1e8, sigma=0.9),
    "lennard-jones": lennard_jones(epsilon=1e8),
    "beads that overlap": lennard_jones(sigma=3.0),
    "center": soft() | {"potential": [{"name": "center", "stiffness": 1e8, "center": [4.0, 4.0, 4.0]}]},
}


@pytest.mark.parametrize("name", UNSTABLE)
def test_steps_that_no_potential_can_follow_are_refused(tmp_path, name):
    sections = UNSTABLE[name]
    if "center" in name:
        sections = sections | {"molecule": [{"kind": "monomer", "count": 4, "hard": False}]}
    (tmp_path / "in.toml").write_text(to_toml(tables(**sections)))
    with pytest.raises(
        ConfigError, match=r"steps.step: 0.005 is too long for potential\[0\].*or lower potential\[0\]."
    ):
        load_config(tmp_path / "in.toml")


MIDPOINT = {"base": "midpoint"}


@pytest.mark.parametrize(
    ("steps", "kind", "good", "bad", "says"),
    [
        ({}, {}, 1.41, 1.42, "longer than 2 over it, 1.41, are unstable"),
        ({"integrator": "dsi"}, {"hard": True, "rigid": False}, 1.41, 1.42, "are unstable"),
        (MIDPOINT, {}, 3.74, 3.75, r"longer than 5.29 over it, 3.74, are not found by the midpoint rule"),
    ],
)
def test_the_longest_step_is_that_at_which_a_method_fails(tmp_path, steps, kind, good, bad, says):
    """Two beads of mass 1 with k = 1: omega^2 = 2, Verlet is unstable beyond 2^1/2, the midpoint rule never."""
    for step in (good, bad):
        sections = soft() | {
            "molecule": [SOFT | {"beads": 2} | kind],
            "steps": {"step": step} | steps,
            "run": {"engine": "steps", "end_time": step},
            "initial": {"temperature": 0.01},
        }
        output = dict.fromkeys(("frame_every", "report_every", "checkpoint_every"), step)
        (tmp_path / "in.toml").write_text(to_toml(tables(**sections, output=output)))
        if step == good:
            load_config(tmp_path / "in.toml")
        else:
            with pytest.raises(ConfigError, match=says):
                load_config(tmp_path / "in.toml")


def test_a_potential_is_as_stiff_as_where_hard_cores_let_beads_come(tmp_path):
    """Beads of diameter 1 never come to the minimum of a potential with sigma = 0.8; those of .5 do."""
    for diameter, good in ((1.0, True), (0.5, False)):
        kind = {"kind": "monomer", "count": 4, "diameter": diameter}
        sections = lennard_jones(epsilon=1e4, sigma=0.8, cutoff=2.0) | {"molecule": [kind], "steps": {"step": 0.002}}
        (tmp_path / "in.toml").write_text(to_toml(tables(**sections)))
        if good:
            load_config(tmp_path / "in.toml")
        else:
            with pytest.raises(ConfigError, match="are unstable"):
                load_config(tmp_path / "in.toml")


@pytest.mark.parametrize(("length", "says"), [(0.75, None), (0.7, "start with bonds nearer"), (1.49, "are unstable")])
def test_bonds_of_a_grown_start_are_as_stiff_as_where_they_begin(tmp_path, length, says):
    """Of FENE bonds of length 1.5 with a step of 0.005; these runs ended with a torn bond."""
    fene = {"name": "fene", "stiffness": 30.0, "length": 1.5, "epsilon": 1.0, "sigma": 1.0}
    sections = STEPS | {"molecule": [SOFT | {"bond_length": length, "exclude": 2}], "potential": [fene]}
    (tmp_path / "in.toml").write_text(to_toml(tables(**sections)))
    if says is None:
        assert any("with what bonds of the start have" in line for line in cautions(load_config(tmp_path / "in.toml")))
    else:
        with pytest.raises(ConfigError, match=says):
            load_config(tmp_path / "in.toml")


def test_beads_of_a_rigid_molecule_are_as_slow_as_the_whole(tmp_path):
    for beads, good in ((4, True), (2, False)):
        kind = {"kind": "chain", "beads": beads, "count": 4, "hard": False}
        sections = lennard_jones(epsilon=500.0, cutoff=2.0) | {"molecule": [kind]}
        (tmp_path / "in.toml").write_text(to_toml(tables(**sections)))
        if good:
            load_config(tmp_path / "in.toml")
        else:
            with pytest.raises(ConfigError, match="are unstable"):
                load_config(tmp_path / "in.toml")


@pytest.mark.parametrize(
    "sections",
    [
        {"external": {"gravity": [0.0, 0.0, -1e6]}, "box": WALLS},
        wall(velocity=-1e3),
        {"molecule": [PINNED | {"fixed_velocity": [0.0, 1e3, 0.0]}, CHAIN]},
    ],
)
def test_what_moves_beads_past_one_another_in_a_step_is_refused(tmp_path, sections):
    (tmp_path / "in.toml").write_text(to_toml(tables(**STEPS, **sections)))
    with pytest.raises(ConfigError, match=r"moves beads by more than the diameter 1 in a step of steps.step = 0.005"):
        load_config(tmp_path / "in.toml")


RATTLE = {"name": "rattle", "step": 0.01}
COUNTED = [
    {"wall": [{"side": "z-", "temperature": 1.0}], "box": WALLS},
    {"wall": [{"side": "z-", "velocity": 0.1}], "box": WALLS},
    {"thermostat": {"name": "andersen", "temperature": 1.0, "rate": 1.0}},
    {"molecule": [PINNED | {"fixed_velocity": [0.1, 0.0, 0.0]}, CHAIN, {"kind": "monomer", "mass": 1e7}]},
]
TOO_FAR = {
    "hot": (STEPS | {"initial": {"temperature": 1e5}}, "steps.step: beads at the start move by more"),
    "light": (STEPS | {"molecule": [CHAIN | {"mass": 1e-6}]}, "steps.step: beads at the start move by more"),
    "brief": ({"propagator": RATTLE | {"step": 1e-9}}, "propagator.step: 1e-09 is so short"),
    "brief taylor": ({"propagator": {"step": 1e-9}}, "propagator.step: 1e-09 is so short"),
    "own": ({"molecule": [CHAIN | {"propagator": RATTLE | {"step": 1e9}}]}, r"molecule\[0\].propagator.step: 1e.09 is"),
    "steep": (lennard_jones(sigma=9.0, cutoff=2.2), r"steps.step: 0.005 is too long for potential\[0\]"),
    "long bond": (soft(length=4.1), r"potential\[0\].length: 4.1 is more than half of the periodic side 8"),
}


@pytest.mark.parametrize("name", TOO_FAR)
def test_steps_and_bonds_that_no_run_can_begin_with_are_refused(tmp_path, name):
    sections, says = TOO_FAR[name]
    (tmp_path / "in.toml").write_text(to_toml(tables(**sections)))
    with pytest.raises(ConfigError, match=says):
        load_config(tmp_path / "in.toml")


@pytest.mark.parametrize("sections", COUNTED)
def test_masses_differ_less_where_energy_from_outside_is_counted(tmp_path, sections):
    """It is counted in units of the heaviest bead's; the lightest would bring in next to nothing."""
    molecules = sections.get("molecule", [CHAIN, {"kind": "monomer", "mass": 1e7}])
    (tmp_path / "in.toml").write_text(to_toml(tables(**sections | {"molecule": molecules})))
    with pytest.raises(ConfigError, match=r"mass: 1e.07 is 1e.07 times .* brings energy in"):
        load_config(tmp_path / "in.toml")
    (tmp_path / "in.toml").write_text(to_toml(tables(molecule=[CHAIN, {"kind": "monomer", "mass": 1e7}])))
    load_config(tmp_path / "in.toml")


@pytest.mark.parametrize(("cutoff", "shell"), [(5.0, "auto"), (1e5, "auto"), (2.5, 4.0)])
def test_lists_that_do_not_fit_are_refused_before_anything_starts(tmp_path, cutoff, shell):
    """By the same function as the engine's."""
    sections = lennard_jones(cutoff=cutoff)
    (tmp_path / "in.toml").write_text(to_toml(tables(**sections)))
    config = load_config(tmp_path / "in.toml", [f"run.list_shell={shell}"])
    with pytest.raises(
        ConfigError, match=r"in.toml: box.size: the periodic side 8 .* potential.cutoff or run.list_shell"
    ):
        try_steps(config)


@pytest.mark.parametrize(
    "sections",
    [
        thermostat(temperature=1e6),
        thermostat(temperature=1e-12, rate=1e3),
        wall(temperature=1e-12),
        wall(velocity=-1e3),
        {"external": {"gravity": [0.0, 1e-9, 0.0]}},
        soft(stiffness=1e4),
        lennard_jones(epsilon=1e-9),
        lennard_jones(cutoff=3.0),
    ],
)
def test_what_lies_within_is_taken(tmp_path, sections):
    (tmp_path / "in.toml").write_text(to_toml(tables(**sections)))
    load_config(tmp_path / "in.toml")


def test_units_of_any_size_are_taken(tmp_path):
    """Beads of a micrometre and 1e-15 kg at room temperature in seconds: energies are near 1e-21."""
    bead = {"kind": "monomer", "count": 4, "diameter": 1e-6, "mass": 1e-15}
    sections = {
        "box": {"size": [1e-5] * 3, "boundary": ["periodic", "periodic", "wall"]},
        "molecule": [bead],
        "initial": {"temperature": 4e-21},
        "external": {"gravity": [0.0, 0.0, -9.81]},
        "wall": [{"side": "z-", "temperature": 4e-21}],
    }
    (tmp_path / "in.toml").write_text(to_toml(tables(**sections)))
    load_config(tmp_path / "in.toml")
    (tmp_path / "in.toml").write_text(
        to_toml(tables(**sections, thermostat={"name": "andersen", "temperature": 4.0, "rate": 1.0}))
    )
    with pytest.raises(
        ConfigError, match=r"thermostat.temperature: 4 does not fit beads of diameter 1e-06 and mass 1e-15"
    ):
        load_config(tmp_path / "in.toml")


def test_what_acts_much_faster_than_beads_start_is_refused(tmp_path):
    """The clock and the sums of the engine of events are made for how fast beads are at the start."""
    cold = tables(initial={"temperature": 1e-11}, **thermostat(temperature=1.0))
    (tmp_path / "in.toml").write_text(to_toml(cold))
    with pytest.raises(ConfigError, match=r"thermostat.temperature: 1 acts within a time of 1, and beads take"):
        load_config(tmp_path / "in.toml")
