"""Pressure, collision rate and speeds of hard spheres and rigid dimers, quickly: a few 1e4 contacts.

Twelve runs of the spheres' state (216 spheres, 16,300 contacts after settling) by a separate plain program spread by
.7 % in Z and in the contact rate and by 1.2 % in the ratio of moments, without bias; the tolerances are three such
standard deviations plus .4 % for the small number of molecules. For the dimers the spread is estimated from the number
of contacts, .9 / sqrt(n). `tools/validate_physics` is the long version.
"""

import numpy as np
import pytest

from tests.reference import theory
from tests.reference.program import run
from tests.reference.systems import Molecule, System

SETTLED = 3.0
END = 18.0
SIDE = 6
FRACTION = 0.3


def lattice_of_equal_speeds():
    """Return spheres on a cubic lattice, all with speed sqrt(3) in random directions: far from any equilibrium."""
    random = np.random.default_rng(11)
    beads = SIDE**3
    length = theory.side_for(beads, FRACTION)
    position = (np.array(list(np.ndindex(SIDE, SIDE, SIDE))) + 0.5) * length / SIDE
    half = random.normal(size=(beads // 2, 3))
    velocity = np.concatenate([half, -half]) * np.sqrt(3) / np.tile(np.linalg.norm(half, axis=1), 2)[:, None]
    random.shuffle(velocity)
    return System([Molecule("monomer", 1, beads)], (length,) * 3, position=position, velocity=velocity)


@pytest.fixture(scope="module")
def spheres(tmp_path_factory):
    """A run of hard spheres at packing fraction .3: (system, run)."""
    system = lattice_of_equal_speeds()
    tables = system.input(END, report_every=0.5, frame_every=0.5)
    return system, run(tables, tmp_path_factory.mktemp("spheres"))


def temperature(system):
    """Return k T of the start, centre-of-mass motion not counted [mass length^2 / time^2]."""
    return np.sum(system.mass[:, None] * system.velocity**2) / (3 * (len(system.mass) - 1))


def settled(result, name):
    """Return the mean of an observable's intervals after the settling time."""
    time, value = result.observable(name)
    return np.mean(value[time > SETTLED + 1e-9])


def test_pressure_is_the_virial_of_the_log(spheres):
    """For unit spheres P V t = N k T t + sum of impulses / 3; k T may count 3 N or 3 N - 3 freedoms."""
    system, result = spheres
    log, (time, value) = result.events(), result.observable("pressure")
    volume, beads = np.prod(system.size), len(system.mass)
    for k in range(1, len(time)):
        within = (log.time > time[k - 1]) & (log.time <= time[k])
        collisional = np.sum(log.impulse[within]) / (3 * volume * (time[k] - time[k - 1]))
        kinetic = value[k] - collisional
        assert kinetic == pytest.approx(beads * temperature(system) / volume, rel=1.1 / beads)


def test_hard_sphere_pressure(spheres):
    """Z at .3 is 3.984."""
    system, result = spheres
    z = settled(result, "pressure") * np.prod(system.size) / (len(system.mass) * temperature(system))
    assert len(result.events()) > 10_000
    assert z == pytest.approx(theory.HARD_SPHERES[FRACTION], rel=0.025)


def test_collision_rate(spheres):
    """Contacts per bead and time are Enskog's."""
    system, result = spheres
    count = np.count_nonzero(result.events().time > SETTLED)
    rate = count / (END - SETTLED) / len(system.mass)
    assert rate == pytest.approx(theory.enskog_rate(FRACTION, temperature(system)), rel=0.025)


def test_speeds_become_maxwellian(spheres):
    """Equal speeds (ratio 1) relax to <v^4> / <v^2>^2 = 5/3."""
    system, result = spheres
    frames = result.frames(system.size)
    square = np.sum(frames.velocity**2, axis=2)
    ratio = np.mean(square**2, axis=1) / np.mean(square, axis=1) ** 2
    assert ratio[0] == pytest.approx(1.0, abs=1e-12)
    assert np.mean(ratio[frames.time > SETTLED]) == pytest.approx(theory.speed_ratio(len(system.mass)), rel=0.04)


def test_tangent_dimers(tmp_path):
    """Rigid tangent dimers at .2, grown from small beads: Z is 3.168, and k T is what the input asked for."""
    count, fraction, end = 125, 0.2, 30.0
    length = theory.side_for(2 * count, fraction)
    result = run(
        {
            "box": {"size": [length] * 3},
            "molecule": [{"kind": "chain", "beads": 2, "count": count}],
            "initial": {"method": "grow", "temperature": 1.0, "seed": 3},
            "run": {"end_time": end},
            "output": {"events": True, "report_every": 0.5},
        },
        tmp_path,
    )
    assert len(result.events()) > 4000
    assert result.observable("temperature")[1] == pytest.approx(1.0, abs=1e-9)
    z = settled(result, "pressure") * length**3 / count
    assert z == pytest.approx(theory.TANGENT_DIMERS[fraction], rel=0.05)
