"""The event log against the all-pairs reference engine: no contact missed, none invented, each where it belongs."""

import numpy as np
import pytest

from tests.reference import cases, special, tables
from tests.reference.compare import disagreement, expected
from tests.reference.contacts import Geometry
from tests.reference.engine import event_list, simulate
from tests.reference.program import run
from tests.reference.systems import Molecule, System, place, thermal

LEAST = 20


@pytest.fixture
def most(request):
    """How many events are compared at most: later ones cost as much, and find less."""
    return 60 if request.config.getoption("--long") else 40


@pytest.mark.parametrize("name", cases.CASES)
def test_small_dense_systems(name, tmp_path, most):
    """The first events agree as long as two correct programs can."""
    system = cases.build(name)
    want = expected(system, most)
    assert len(want) >= LEAST
    log = run(system.input(want.end), tmp_path).events()
    assert disagreement(want, log) is None


@pytest.mark.parametrize("name", cases.OUTSIDE)
def test_small_systems_in_fields_walls_and_wells(name, tmp_path, most):
    """The same with gravity, walls that move, a sphere, a cylinder, wells and fixed beads: all events by all pairs."""
    system = cases.build(name)
    want = expected(system, most)
    assert len(want) >= LEAST
    log = run(system.input(want.end), tmp_path).events()
    assert disagreement(want, log) is None


def test_an_even_rod_meets_its_own_images(tmp_path):
    """Several of its pairs touch at one instant, each at the same rate: one impulse does for all; nothing overlaps."""
    random = np.random.default_rng(4)
    molecules = [Molecule("rod", 8, 1, 1.0, 0.7, 0.75), Molecule("monomer", 1, 6, 0.5, 0.8)]
    system = thermal(place(System(molecules, (3.6, 3.4, 3.5)), random), random)
    result = run(system.input(10.0, frame_every=0.5), tmp_path)
    log, frames = result.events(), result.frames(system.size)
    assert np.any((log.kind == 0) & (log.bead[:, 0] < 8) & (log.bead[:, 1] < 8))
    energy = np.sum(system.mass[:, None] * frames.velocity**2, axis=(1, 2))
    assert np.max(np.abs(energy / energy[0] - 1)) < 1e-13
    geometry = Geometry(system, np.float64)
    assert min(geometry.smallest_gap(position) for position in frames.position) > -1e-12


@pytest.mark.long  # ten seconds of extended precision; the small dense systems are as chaotic
def test_four_beads_in_space(tmp_path):
    """Section 4.5's chaotic motion between walls: round-off grows 1e9-fold within about 15 contacts."""
    system = tables.four_beads_chaotic()
    want = expected(system, 16)  # two programs agree on no more than these; those after them cost most
    assert len(want) >= 12
    assert {kind for kind, *_ in want.names} == {0, 1}
    log = run(system.input(want.end), tmp_path).events()
    assert disagreement(want, log) is None


def test_collocation(tmp_path):
    """A second propagator reaches the same events, to its own accuracy."""
    system = cases.build("everything")
    want = expected(system, 40)
    propagator = {"name": "collocation", "stages": 6, "step": 0.02}
    log = run(system.input(want.end) | {"propagator": propagator}, tmp_path).events()
    got = list(zip(log.kind.tolist(), *log.bead.T.tolist(), strict=True))
    assert got[:LEAST] == want.names[:LEAST]
    assert np.max(np.abs(log.time[:LEAST] - want.time[:LEAST])) < 1e-8


def test_grazing_monomers(tmp_path):
    """Pairs that touch by 1e-9 ... 1e-12 collide at the exact time; pairs that miss by as little do not."""
    system, answer = special.grazing_monomers()
    log = run(system.input(end_time=5.0), tmp_path).events()
    assert list(zip(log.kind.tolist(), *log.bead.T.tolist(), strict=True)) == [name for name, *_ in answer]
    for time, impulse, (_, exact, momentum, slack) in zip(log.time, log.impulse, answer, strict=True):
        blurred = 1e-12 + 3e-15 / np.sqrt(2 * slack)
        assert abs(time - float(exact)) < blurred
        assert abs(impulse - float(momentum)) < blurred


def test_grazing_walls(tmp_path):
    """The same for a turning dimer whose lowest point grazes a wall."""
    system, answer = special.grazing_walls()
    log = run(system.input(end_time=2.0), tmp_path).events()
    rows = sorted(zip(log.kind.tolist(), *log.bead.T.tolist(), log.time.tolist(), strict=True))
    assert [tuple(row[:3]) for row in rows] == [name for name, *_ in answer]
    for row, (_, exact, slack) in zip(rows, answer, strict=True):
        assert abs(row[3] - float(exact)) < 1e-12 + 5e-15 / np.sqrt(slack)


def test_grazing_dimers(tmp_path):
    """The same for a monomer that grazes a turning dimer; the reference engine has the times."""
    system, slacks = special.grazing_dimers()
    answer = event_list(simulate(system, end=6)[1])
    log = run(system.input(end_time=6.0), tmp_path).events()
    wanted = {(e.kind, *e.bead): e for e in answer}
    got = list(zip(log.kind.tolist(), *log.bead.T.tolist(), strict=True))
    assert sorted(got) == sorted(wanted)
    for name, time in zip(got, log.time, strict=True):
        blurred = 1e-12 + 2e-14 / np.sqrt(slacks[name[2] // 3])
        assert abs(time - float(wanted[name].time)) < blurred


def test_at_once(tmp_path):
    """Several contacts at one instant: one impulse each, none lost, and the state after them is right."""
    system = special.at_once()
    engine, turns = simulate(system, end=1.25)
    answer = sorted((e.kind, *e.bead, float(e.impulse)) for e in event_list(turns))
    result = run(system.input(end_time=1.25, frame_every=1.25), tmp_path)
    log, frames = result.events(), result.frames(system.size)
    rows = sorted(zip(log.kind.tolist(), *log.bead.T.tolist(), log.impulse.tolist(), strict=True))
    assert [row[:3] for row in rows] == [row[:3] for row in answer]
    assert np.max(np.abs(log.time - 1.0)) < 1e-12
    assert np.max(np.abs(np.array([row[3] for row in rows]) - [row[3] for row in answer])) < 1e-12
    assert np.max(np.abs(frames.velocity[-1] - engine.velocity)) < 1e-12
    assert np.max(np.abs(frames.position[-1] - engine.position)) < 1e-12


@pytest.mark.parametrize("name", ["dimers", "everything", "losing energy"])
def test_last_frame(name, tmp_path):
    """Positions and velocities, not only events: the last frame after about 20 contacts."""
    system = cases.build(name)
    want = expected(system, 20)
    end = want.time[-1] + 1e-6
    engine, _ = simulate(system, end=end)
    frames = run(system.input(end, frame_every=end), tmp_path).frames(system.size)
    assert frames.time[-1] == pytest.approx(end, abs=1e-14)
    assert np.max(np.abs(frames.position[-1] - engine.position)) < 100 * want.allowed[-1]
    assert np.max(np.abs(frames.velocity[-1] - engine.velocity)) < 100 * want.allowed[-1]
