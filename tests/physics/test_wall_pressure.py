"""The pressure on walls: of one bead exactly, of a mixed box that of its event log, of a gas the ideal one's."""

import numpy as np
import pytest

from hpcchain.analysis.figures.profile import Along
from hpcchain.analysis.study import Wanted, study
from tests.reference.program import run
from tests.reference.systems import Molecule, System

SIDE = 8.0


def test_one_bead_to_and_fro(tmp_path):
    """It gives 2 m v to a wall each (L - d) / v; in 4 time units it comes there ten times."""
    system = System(
        [Molecule("monomer", mass=1.5, diameter=0.5)],
        (4.5, 6.0, 5.0),
        ("wall", "periodic", "open"),
        position=np.array([[2.25, 1.0, 1.0]]),
        velocity=np.array([[10.0, 0.3, 0.0]]),
    )
    time, value = run(system.input(4.0, report_every=4.0), tmp_path).observable("wall_pressure")
    assert time.tolist() == [0.0, 4.0] and np.isnan(value[0]).all() and np.isnan(value[1, 1:]).all()
    assert value[1, 0] == pytest.approx(10 * 2 * 1.5 * 10.0 / (2 * 6.0 * 5.0 * 4.0), rel=1e-10)


def between_walls(molecules, end, folder):
    """Return the run of molecules between walls along x and z, with eight reports."""
    return run(
        {
            "box": {"size": [SIDE, 6.0, SIDE], "boundary": ["wall", "periodic", "wall"]},
            "molecule": molecules,
            "initial": {"seed": 5},
            "run": {"end_time": end},
            "output": {"report_every": end / 8, "events": True},
        },
        folder,
    )


def test_it_is_the_impulses_of_the_log(tmp_path):
    chains = {"kind": "chain", "beads": 4, "count": 10}
    result = between_walls([{"kind": "monomer", "count": 200, "diameter": 0.1}, chains], 4.0, tmp_path)
    log, (time, value) = result.events(), result.observable("wall_pressure")
    area = {0: 6.0 * SIDE, 2: 6.0 * SIDE}
    assert np.isnan(value[:, 1]).all() and len(time) == 9
    for axis in area:
        there = (log.kind == 1) & ((-1 - log.bead[:, 1]) % 3 == axis)
        for k in range(1, len(time)):
            within = there & (log.time > time[k - 1]) & (log.time <= time[k])
            assert np.count_nonzero(within) >= 5
            expected = np.sum(log.impulse[within]) / (2 * area[axis] * (time[k] - time[k - 1]))
            assert value[k, axis] == pytest.approx(expected, rel=1e-9)


def test_it_is_that_of_an_ideal_gas(tmp_path):
    """400 small spheres at temperature 1, whose centres have the box less a radius at each wall."""
    result = between_walls([{"kind": "monomer", "count": 400, "diameter": 0.1}], 40.0, tmp_path)
    hits, (_, value) = np.count_nonzero(result.events().kind == 1), result.observable("wall_pressure")
    ideal = 400 / (6.0 * (SIDE - 0.1) ** 2)
    assert hits > 3000 and np.mean(value[1:, [0, 2]]) == pytest.approx(ideal, rel=3.0 / np.sqrt(hits))


@pytest.fixture(scope="module")
def slit(tmp_path_factory):
    """The folder of a run of 60 rough chains of 4 between walls along z, with a log and frames near to one another."""
    folder = tmp_path_factory.mktemp("slit")
    run(
        {
            "box": {"size": [6.0, 6.0, SIDE], "boundary": ["periodic", "periodic", "wall"]},
            "molecule": [{"kind": "chain", "beads": 4, "count": 60}],
            "contact": {"tangential_restitution": -1.0},
            "initial": {"seed": 5},
            "run": {"end_time": 40.0},
            "output": {"frame_every": 0.05, "report_every": 1.0, "events": True},
        },
        folder,
    )
    return folder / "out"


def test_the_profile_of_the_pressure_is_that_on_the_walls(slit):
    """Momentum does not pile up: centres and contacts carry the same through each plane, up to the walls."""
    report = study(slit, Wanted(2.0, ("observables", "profile"), Along("z", bins=16)))
    walls, own = report.value("wall_pressure[2]"), report.curve("profile_pressure_zz")
    carried = report.curve("profile_kinetic_pressure_zz")
    assert carried.value.max() < 0.4 * walls.value
    deviation = (own.value - walls.value) / np.hypot(own.error, walls.error)
    assert np.max(own.error) < 0.1 * walls.value and np.abs(deviation).max() < 4.0 and np.mean(deviation**2) < 2.0
    sheared = report.curve("profile_pressure_xz")
    assert np.abs(sheared.value / sheared.error).max() < 4.5


def test_spins_have_the_temperature_that_reports_say(slit):
    report = study(slit, Wanted(2.0, ("observables", "profile"), Along("z", bins=8)))
    spins, beads = report.curve("profile_spin_temperature"), report.curve("profile_beads")
    mean = np.sum(spins.value * beads.value) / np.sum(beads.value)
    known = report.value("rotational_temperature")
    assert mean == pytest.approx(known.value, abs=4.0 * known.error) and known.value == pytest.approx(1.0, abs=0.1)
    assert np.abs((spins.value - 1.0) / spins.error).max() < 4.5
