"""A user's own potentials: forces, bits, files that change, functions that are none; Lennard-Jones without a cutoff."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.papers import inclusion_systems, inclusions
from hpcchain.papers.inclusions import Method
from hpcchain.run.starts.starting import try_steps
from hpcchain.steps.engine import SteppedEngine
from tests.support.stepped import FENE, LJ, liquid, require_equal, run_on, system_of, toml

LAWS = """
import math

DEPTH = 1.0

def pair(r):
    s6 = 1.0 / r**6
    return 4.0 * DEPTH * (s6 * s6 - s6), -24.0 * DEPTH * (2.0 * s6 * s6 - s6) / r

def bond(r):
    return 20.0 * (r - 1.0) ** 2, 40.0 * (r - 1.0)

def center(r):
    return 0.15 * r * r, 0.3 * r

def morse(r):
    e = math.exp(-3.0 * (r - 1.1))
    return 0.8 * (e * e - 2.0 * e), 0.8 * (6.0 * e - 6.0 * e * e)

def torus(r):
    s = r * r
    return s * (s - 1.0) ** 2, 2.0 * r * ((s - 1.0) ** 2 + 2.0 * s * (s - 1.0))

def wrong_slope(r):
    return r * r, r

def one_number(r):
    return r

def endless(r):
    return 1.0 / (r - r), 0.0

def unknown(r):
    return open("x"), r
"""


@pytest.fixture
def own(tmp_path):
    """Return a function (name, on, keys) that makes the table of a potential of LAWS."""
    (tmp_path / "laws.py").write_text(LAWS, encoding="utf-8")

    def table(function, on, **keys):
        return {"name": "module", "file": str(tmp_path / "laws.py"), "function": function, "on": on} | keys

    return table


def test_forces_and_energies_are_those_of_built_in_potentials(own):
    at = {"center": [1.0, 2.0, 3.0]}
    harmonic = {"name": "harmonic", "stiffness": 40.0, "length": 1.0}
    built = liquid(1, beads=120, potential=[LJ, harmonic, {"name": "center", "stiffness": 0.3} | at])
    mine = liquid(
        1, beads=120, potential=[own("pair", "pair", cutoff=2.0), own("bond", "bond"), own("center", "center", **at)]
    )
    one, other = (SteppedEngine(system_of(tables)) for tables in (built, mine))
    assert np.abs(one.beads.force - other.beads.force).max() < 1e-13 * np.abs(one.beads.force).max()
    a, b = one.energies(), other.energies()
    assert np.abs(a - b).max() < 1e-12 * np.abs(a).max()


def test_types_decide_which_beads_a_potential_is_for(own):
    built = [LJ | {"types": ["A", "B"]}, LJ | {"types": ["A", "A"]}, FENE]
    mine = [own("pair", "pair", cutoff=2.0, types=["B", "A"]), LJ | {"types": ["A", "A"]}, FENE]
    one, other = (SteppedEngine(system_of(liquid(2, potential=both))) for both in (built, mine))
    assert np.abs(one.beads.force - other.beads.force).max() < 1e-13 * np.abs(one.beads.force).max()


def test_forces_are_the_energys_slope(own):
    system = system_of(liquid(2, beads=60, chains=2, potential=[own("morse", "pair", cutoff=2.4), FENE]))
    engine, step = SteppedEngine(system), 1e-5
    for bead in (0, 7, 61, 70):
        sides = []
        for sign in (-1.0, 1.0):
            position = system.state.position.copy()
            position[bead, 1] += sign * step
            moved = replace(system, state=replace(system.state, position=position))
            sides.append(SteppedEngine(moved).energies()[:, 0].sum())
        assert engine.beads.force[bead, 1] == pytest.approx((sides[0] - sides[1]) / (2.0 * step), rel=1e-6, abs=1e-5)


def test_ranks_and_restarts_leave_no_trace(own):
    potentials = [own("morse", "pair", cutoff=2.4), own("bond", "bond"), own("center", "center", center=[6.0] * 3)]
    system = system_of(liquid(5, potential=potentials))
    once = run_on(system, 0.2, 1)
    middle = replace(system, state=run_on(system, 0.1, 2, skin=0.9)[4])
    require_equal(once, run_on(middle, 0.2, 3))


def test_discs_in_a_potential_of_their_own_move_as_in_the_dense_integrator(own):
    """Fig 8 of Kaufman and Pai 2012: its potential is that of a user."""
    mechanics, q, p = inclusion_systems.oscillator()
    tables = {
        "box": {"size": [20.0] * 3, "boundary": ["open"] * 3},
        "molecule": [
            {
                "name": "A",
                "kind": "monomer",
                "count": 2,
                "diameter": 2.0,
                "positions": [[10.0, 8.6, 10.0], [10.0, 11.4, 10.0]],
                "velocities": [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]],
            }
        ],
        "potential": [own("torus", "center", center=[10.0] * 3)],
        "initial": {"method": "explicit", "seed": 1},
        "run": {"engine": "steps", "end_time": 1.0},
        "steps": {"step": 0.1, "base": "midpoint"},
    }
    engine = SteppedEngine(system_of(tables), skin=4.0)
    for k in range(1, 31):
        q, p = inclusions.step(mechanics, Method(0.1, "midpoint", "H"), q, p)
        engine.advance(round(0.1 * k, 1))
    position, velocity, _ = engine.frame(engine.time)
    assert np.abs(position[:, :2] - 10.0 - q.reshape(2, 2)).max() < 1e-8 and engine.counters["contacts"] > 2
    assert np.abs(velocity[:, :2] - p.reshape(2, 2)).max() < 1e-8


def test_a_file_that_has_changed_is_refused(own, tmp_path):
    system = system_of(liquid(5, potential=[own("morse", "pair", cutoff=2.4), FENE]))
    SteppedEngine(system)
    (tmp_path / "laws.py").write_text(LAWS.replace("0.8", "0.9"), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"laws.py is not what the run began with \(its SHA-256 was"):
        SteppedEngine(system)
    (tmp_path / "laws.py").unlink()
    for ranks in (1, 2):
        with pytest.raises(ConfigError, match="laws.py cannot be read: No such file"):
            run_on(system, 0.1, ranks)


def test_a_file_is_found_next_to_its_input(tmp_path):
    (tmp_path / "laws.py").write_text(LAWS, encoding="utf-8")
    table = {"name": "module", "file": "laws.py", "function": "morse", "on": "pair", "cutoff": 2.0}
    (tmp_path / "input.toml").write_text(toml(liquid(1, potential=[table, FENE])), encoding="utf-8")
    config = load_config(tmp_path / "input.toml")
    assert config.potentials[0].file == str(tmp_path / "laws.py") and len(config.potentials[0].digest) == 64
    try_steps(config)
    table["digest"] = config.potentials[0].digest[::-1]
    (tmp_path / "input.toml").write_text(toml(liquid(1, potential=[table, FENE])), encoding="utf-8")
    with pytest.raises(ConfigError, match="is not what the run began with"):
        try_steps(load_config(tmp_path / "input.toml"))


@pytest.mark.parametrize(
    "function, message",
    [
        ("wrong_slope", "as the derivative at the distance .*, where the energy's differences say"),
        ("one_number", "returns float64; it must return two floats"),
        ("endless", "it must return finite numbers"),
        ("unknown", "does not compile: .*it must be a function of one number that numba compiles"),
        ("absent", "'absent' of .*laws.py is not there; name a function of the file"),
    ],
)
def test_functions_that_are_no_potentials_are_refused(own, tmp_path, function, message):
    (tmp_path / "input.toml").write_text(toml(liquid(1, potential=[own(function, "pair", cutoff=2.0), FENE])))
    with pytest.raises(ConfigError, match=message):
        try_steps(load_config(tmp_path / "input.toml"))


def test_a_file_that_does_not_run_is_refused(own, tmp_path):
    (tmp_path / "laws.py").write_text("def pair(r:\n", encoding="utf-8")
    (tmp_path / "input.toml").write_text(toml(liquid(1, potential=[own("pair", "pair", cutoff=2.0), FENE])))
    with pytest.raises(ConfigError, match="laws.py does not run: SyntaxError"):
        try_steps(load_config(tmp_path / "input.toml"))


def test_lennard_jones_without_a_cutoff():
    """Forces between all beads of a box without periodic sides, as a plain sum has them; the same bits on ranks."""
    tables = liquid(3, beads=60, chains=0, potential=[LJ | {"cutoff": "none"}])
    tables["box"] |= {"boundary": ["open"] * 3}
    system = system_of(tables)
    engine, x = SteppedEngine(system), system.state.position
    apart = x[:, None] - x[None]
    r2 = np.sum(apart**2, axis=2) + np.eye(len(x))
    part = np.where(np.eye(len(x)) > 0.0, 0.0, 24.0 * (2.0 / r2**6 - 1.0 / r2**3) / r2)
    force = np.sum(part[:, :, None] * apart, axis=1)
    assert np.abs(engine.beads.force - force).max() < 1e-12 * np.abs(force).max()
    pairs = r2[np.triu_indices(len(x), 1)]
    assert engine.energies()[:, 0].sum() == pytest.approx(np.sum(4.0 * (1.0 / pairs**6 - 1.0 / pairs**3)), rel=1e-12)
    require_equal(run_on(system, 0.3, 1), run_on(system, 0.3, 3))
