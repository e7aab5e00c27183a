"""Runs report an energy that is off, and end where nothing but a fault can have changed it."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from hpcchain import api
from hpcchain.config import load_config
from hpcchain.errors import EngineError, StepError
from hpcchain.model.molecules import independence
from hpcchain.model.physics.constants import SteppedPhysics
from hpcchain.model.starts.start import build_physics, build_system
from hpcchain.model.system import Physics, System
from hpcchain.model.topology import build_box, build_composition
from hpcchain.parallel.comm import Single
from hpcchain.propagators.catalogue import PROPAGATORS, VARIANTS
from hpcchain.run.guards.energy import BANDS, EnergyWatch
from tests.support.mixtures import to_toml

LEAN = 3e-6
SQUARE = [[5, 5, 5], [6, 5, 5 + LEAN], [6, 6, 5], [5, 6, 5 + LEAN]]
BONDS = [[0, 1], [1, 2], [2, 3], [0, 3], [0, 2], [1, 3]]


def failing(restitution=1.0, **output):
    """Return the input of a molecule whose bonds hold it only to second order, with one bead far from it."""
    lengths = [math.dist(SQUARE[i], SQUARE[j]) for i, j in BONDS]
    molecule = {
        "kind": "graph",
        "beads": 4,
        "bonds": BONDS,
        "bond_length": lengths,
        "positions": SQUARE,
        "self_contact": False,
        "diameter": 0.2,
    }
    return {
        "box": {"size": [20.0] * 3},
        "molecule": [molecule, {"kind": "monomer", "positions": [[15.0] * 3]}],
        "initial": {"method": "explicit"},
        "run": {"end_time": 3.0},
        "contact": {"restitution": restitution},
        "output": {"frame_every": 3.0, "report_every": 0.5, "checkpoint_every": 0.5} | output,
    }


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Return a function that writes an input and takes bonds that are not independent."""
    monkeypatch.setattr(independence, "LEAST_PIVOT", 0.0)

    def write(tables):
        path = tmp_path / "in.toml"
        path.write_text(to_toml(tables))
        return path

    return write


def rows(folder):
    return [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("report", [0.5, 3.0])
def test_a_run_that_loses_energy_ends_before_it_saves_that(tmp_path, start, report):
    """Also where checkpoints come more often than reports, and where there is no report but the last."""
    with pytest.raises(EngineError, match=r"at t \S+ the kinetic energy is \S+ of itself off .* --conditions"):
        api.run(start(failing(report_every=report)), output=tmp_path / "out", comm=Single())
    errors = [abs(row["energy_error"]) for row in rows(tmp_path / "out")]
    assert all(error <= 1e-3 for error in errors[:-1])
    names = sorted(path.name for path in (tmp_path / "out/checkpoints").glob("*.h5"))
    assert names
    wanted = squares(build_system(load_config(tmp_path / "in.toml")))
    for name in names:
        saved = api.read_checkpoint(tmp_path / "out/checkpoints" / name).system
        assert squares(saved) == pytest.approx(wanted, rel=2e-3)


def squares(system):
    """Return twice the energy of beads of mass 1."""
    return float(np.sum(system.state.velocity**2))


def test_the_last_moment_is_looked_at_too(tmp_path, start):
    with pytest.raises(EngineError, match="at t 3 "):
        api.run(start(failing(report_every=2.9e9, checkpoint_every=1e9)), output=tmp_path / "out", comm=Single())
    assert [path.name for path in (tmp_path / "out/checkpoints").glob("*.h5")] == ["ckpt-000000000.000000000000.h5"]


@pytest.mark.parametrize("ranks", [1, 2])
def test_it_is_one_message_and_exit_code_on_any_ranks(tmp_path, start, run_hpcchain, ranks):
    api.build(start(failing()), tmp_path / "start.h5")
    done = run_hpcchain(["resume", "start.h5", "--output", "out"], ranks=ranks)
    assert done.returncode == 70
    assert done.stderr.count("of itself off what it was") == 1
    assert "Traceback" not in done.stderr


def watch(tmp_path, text, steps=None, gravity=None):
    """Return the EnergyWatch of an input, and the energy that it refers to."""
    path = tmp_path / "in.toml"
    path.write_text("[box]\nsize = [20, 20, 20]\n[run]\nend_time = 1\n" + text)
    config = load_config(path)
    composition = build_composition(config)
    topology = composition.whole()
    system = System(build_box(config.box), composition, None, build_physics(config, topology, np.ones((1, 3))))
    system.physics = system.physics if steps is None else Physics(tick=1.0, steps=steps)
    system.physics = replace(system.physics, extended=replace(system.physics.extended, gravity=gravity))
    freedom = 3 * topology.beads - len(topology.bonds) - 3
    return EnergyWatch(system, freedom, 0.5 * freedom), 0.5 * freedom


def impossible(one, energy, reference):
    one.reference = reference
    return one.impossible(energy, energy)


CHAINS = "[[molecule]]\nkind = 'chain'\nbeads = 10\ncount = 12\n"
RODS = "[[molecule]]\nkind = 'rod'\nbeads = 4\ncount = 12\n"
EXACT = {
    "taylor": CHAINS,
    "monomers": "[[molecule]]\nkind = 'monomer'\ncount = 9\n[propagator]\nname='rattle'\nstep=0.1\n",
    "rods": RODS + "[propagator]\nname='variational'\nstep=0.1\n",
    "dimers": "[[molecule]]\nkind='chain'\nbeads=2\ncount=5\n[propagator]\nname='collocation'\nstep=0.1\n",
}


@pytest.mark.parametrize("name", EXACT)
def test_exact_flights_are_held_to_what_they_keep(tmp_path, name):
    one, energy = watch(tmp_path, EXACT[name])
    assert impossible(one, energy, 1.01 * energy) and impossible(one, energy, 0.99 * energy)
    assert not impossible(one, energy, 1.0009 * energy) and not impossible(one, energy, None)
    one.reference = energy
    assert one.heed(1.0, energy * (1.0 + 9e-7), energy, 10) is None
    assert "1.0e-06 to be expected" in one.heed(1.0, energy * (1.0 - 2e-6), energy, 10)
    assert one.heed(1.0, energy * (1.0 - 2e-5), energy, 10) is None, "said once"
    with pytest.raises(EngineError, match="at t 2 .* -2.0e-03 of itself"):
        one.heed(2.0, energy * (1.0 - 2e-3), energy, 10)


@pytest.mark.parametrize("energy", [np.nan, np.inf])
def test_no_number_ends_any_run(tmp_path, energy):
    for more in ("", "[contact]\nrestitution = 0.5\n", "[propagator]\nname = 'rattle'\nstep = 0.1\n"):
        with pytest.raises(EngineError, match="at t 2 the kinetic energy is not a number") as found:
            watch(tmp_path, CHAINS + more)[0].heed(2.0, energy, 1.0, 10)
        assert found.value.exit_code == (78 if "rattle" in more else 70)


STEPS = SteppedPhysics(step=0.1)


def test_steps_that_come_to_no_number_are_the_inputs_fault(tmp_path):
    watch_of_steps, _ = watch(tmp_path, CHAINS, STEPS)
    assert watch_of_steps.heed(1.0, 1e300, 1.0, 0) is None
    with pytest.raises(StepError, match="at t 2 the energy is not a number: make steps.step smaller"):
        watch_of_steps.heed(2.0, np.nan, 1.0, 10)


@pytest.mark.parametrize(("more", "refused"), [("", True), ("[contact]\nrestitution = 0.5\n", False)])
def test_no_run_comes_from_far_more_energy_unless_it_loses_some(tmp_path, more, refused):
    """A reference of a checkpoint may be wrong: what is far below it is as impossible as what is far above."""
    for propagator in ("", "[propagator]\nname = 'rattle'\nstep = 0.1\n"):
        one, energy = watch(tmp_path, CHAINS + more + propagator)
        assert impossible(one, energy, 1e30) == impossible(one, 0.0, energy) == refused
        assert impossible(one, 1e9 * energy, energy) and not impossible(one, energy, energy)
    steps = replace(STEPS, damping=() if refused else (1.0,))
    assert impossible(watch(tmp_path, CHAINS, steps)[0], 1.0, 1e30) == refused


def test_bands_follow_the_kinetic_energy_where_the_reference_is_negative(tmp_path):
    """As in a field of gravity, or where a checkpoint has it wrong."""
    for step, said in ((0.1, False), (0.01, True)):
        one, energy = watch(tmp_path, CHAINS + f"[propagator]\nname = 'rattle'\nstep = {step}\n", gravity=(0, 0, -1))
        one.reference = -energy
        assert bool(one.heed(1.0, -1.1 * energy, energy, 10)) == said
    one, energy = watch(tmp_path, CHAINS + "[propagator]\nname = 'rattle'\nstep = 0.1\n")
    one.reference = -0.1 * energy
    assert "off what it was at the start, more than" in one.heed(1.0, energy, energy, 10)


def test_errors_are_relative_to_the_reference_or_to_more_where_its_zero_means_nothing(tmp_path):
    one, energy = watch(tmp_path, CHAINS)
    assert (one.error(1.25 * energy, 1e9), one.error(energy, 0.0)) == (0.25, 0.0)
    for one.reference in (None, 0.0):
        assert one.error(energy, energy) == 0.0
    one, energy = watch(tmp_path, CHAINS, gravity=(0, 0, -1))
    assert (one.error(1.5 * energy, 2.0 * energy), one.error(1.5 * energy, 0.5 * energy)) == (0.25, 0.5)
    one.reference = 0.0
    assert (one.error(energy, 4.0 * energy), one.error(energy, 0.0)) == (0.25, 0.0)


def test_what_may_lose_energy_and_what_has_none_is_let_be(tmp_path):
    lossy, energy = watch(tmp_path, CHAINS + "[contact]\nrestitution = 0.9\n")
    assert lossy.heed(1.0, 0.2 * energy, energy, 10) is None
    exact, energy = watch(tmp_path, CHAINS)
    for exact.reference in (0.0, None):
        assert exact.heed(0.0, exact.reference or energy, 0.0, 0) is None
    coarse, energy = watch(tmp_path, CHAINS + "[propagator]\ntolerance = 1e-4\n")
    assert coarse.heed(9.0, energy * (1.0 + 5e-5), energy, 0) is None


STEPPED = {  # ten times the bands: what is reported, and what the papers' measurements at that step are
    "name = 'rattle'\nstep = 0.05": (0.25, 1.8e-2),
    "name = 'variational'\nstep = 0.025": (0.25, 2.2e-2),
    "name = 'variational'\ncollision = 'exact'\nstep = 0.025": (0.0625, 2.5e-3),
    "name = 'variational'\nstep = 0.2": (1.0, 0.5),
    "name = 'collocation'\nstep = 0.1": (1e-6, 7e-15),
    "name = 'collocation'\nvariant = 'index1'\nstages = 2\nstep = 0.1": (2e-3, 1.3e-4),
    "name = 'collocation'\nvariant = 'paper'\nstages = 4\nstep = 0.1": (5e-3, 1e-4),
}


@pytest.mark.parametrize("propagator", STEPPED)
def test_steps_are_reported_at_ten_times_their_band(tmp_path, propagator):
    one, energy = watch(tmp_path, CHAINS + f"[propagator]\n{propagator}\n")
    limit, measured = STEPPED[propagator]
    assert one.heed(1.0, energy * (1.0 + measured), energy, 1000) is None
    assert one.heed(1.0, energy * (1.0 + 0.99 * limit), energy, 1000) is None
    assert "smaller" in one.heed(1.0, energy * (1.0 + 1.01 * limit), energy, 1000)
    assert one.heed(1.0, 9.0 * energy, energy, 1000) is None, "said once, and no end of the run"


def test_bands_go_with_bonds_masses_and_temperature(tmp_path):
    """Here tau = .5 (4 / 4)^1/2."""
    text = CHAINS + "bond_length = 0.5\ndiameter = 0.5\nmass = 4.0\n[propagator]\nname = 'rattle'\nstep = 0.025\n"
    one, energy = watch(tmp_path, text)
    one.reference = 4.0 * energy
    assert one.heed(1.0, 4.0 * energy * 1.24, energy, 0) is None
    assert one.heed(1.0, 4.0 * energy * 1.26, energy, 0) is not None


def test_bands_are_those_of_propagators_and_variants_that_there_are():
    """Every propagator in steps has one, collocation by its variants; index2 is exact."""
    stepped = {name for name, what in PROPAGATORS.items() if what.stepped}
    assert set(BANDS) == (stepped - {"collocation"}) | (set(VARIANTS) - {"index2"})
