"""Energy, momentum, bonds and overlaps of a mixture over thousands of contacts, read off the trajectory."""

import numpy as np
import pytest

from tests.reference.contacts import Geometry
from tests.reference.program import run
from tests.reference.systems import Molecule, System

SIZE = (6.8, 7.0, 7.1)
MOLECULES = [
    Molecule("chain", 10, 6),
    Molecule("ring", 6, 3, mass=1.5),
    Molecule("star", 7, 3, arms=3, diameter=0.9),
    Molecule("chain", 2, 15, mass=[1.0, 4.0], diameter=[1.0, 0.7], bond_length=1.1),
    Molecule("rod", 5, 4, mass=[1.0, 2.0, 0.5, 1.0, 3.0], diameter=0.9, bond_length=[0.9, 1.0, 1.2, 0.9]),
    Molecule("monomer", 1, 60, mass=0.5, diameter=0.8),
]


def mixture(restitution=1.0, boundary=("periodic",) * 3):
    """Return the system and the tables of a run that grows it and runs a few thousand contacts."""
    system = System(MOLECULES, SIZE, boundary, restitution=restitution)
    return system, {
        "box": {"size": list(SIZE), "boundary": list(boundary)},
        "molecule": [molecule.keys() for molecule in MOLECULES],
        "initial": {"method": "grow", "temperature": 1.0, "seed": 7},
        "contact": {"restitution": restitution},
        "run": {"end_time": 8.0},
        "output": {"events": True, "frame_every": 0.5, "report_every": 0.5},
    }


@pytest.fixture(scope="module", params=[("periodic",) * 3, ("periodic", "wall", "wall")], ids=["periodic", "walls"])
def elastic(request, tmp_path_factory):
    """An elastic run: (system, frames, log)."""
    system, tables = mixture(boundary=request.param)
    result = run(tables, tmp_path_factory.mktemp("elastic"))
    return system, result.frames(SIZE), result.events()


def energies(system, frames):
    """Return the kinetic energy of each frame [mass length^2 / time^2]."""
    return np.sum(system.mass[:, None] * frames.velocity**2, axis=(1, 2)) / 2


def test_enough_happened(elastic):
    """The figures below mean something only after many contacts, in time order, each pushing."""
    _, frames, log = elastic
    assert len(log) > 2000
    assert np.all(np.diff(log.time) >= 0)
    assert np.all(log.impulse > 0)
    assert frames.time[0] == 0.0 and frames.time[-1] == 8.0


def test_energy(elastic):
    """Elastic contacts and rigid bonds do no work."""
    system, frames, _ = elastic
    energy = energies(system, frames)
    assert np.max(np.abs(energy / energy[0] - 1)) < 1e-11


def test_momentum(elastic):
    """Total momentum changes only by the impulses of the walls, which the log has."""
    system, frames, log = elastic
    momentum = np.einsum("n,fni->fi", system.mass, frames.velocity)
    pushes = np.zeros_like(momentum)
    for f, time in enumerate(frames.time):
        walls = (log.kind == 1) & (log.time <= time)
        for target, impulse in zip(log.bead[walls, 1], log.impulse[walls], strict=True):
            pushes[f, -4 - target if target <= -4 else -1 - target] += -impulse if target <= -4 else impulse
    assert np.max(np.abs(momentum - momentum[0] - pushes)) < 1e-10
    if system.boundary == ("periodic",) * 3:
        assert np.max(np.abs(momentum)) < 1e-10


def test_bonds(elastic):
    """Bond lengths, and no velocity along a bond."""
    system, frames, _ = elastic
    first, second = system.bonds.T
    bond = frames.position[:, second] - frames.position[:, first]
    rate = np.sum(bond * (frames.velocity[:, second] - frames.velocity[:, first]), axis=2)
    assert np.max(np.abs(np.linalg.norm(bond, axis=2) / system.bond_length - 1)) < 1e-12
    assert np.max(np.abs(rate)) < 1e-12


def test_rods_are_straight(elastic):
    """Every inner bead of a rod divides the line between its ends in the ratio of its distances."""
    system, frames, _ = elastic
    for rod in system.rods:
        place = np.concatenate([[0.0], np.cumsum(system.bond_length[np.isin(system.bonds[:, 0], rod)])])
        share = (place / place[-1])[:, None]
        for rows in (frames.position, frames.velocity):
            line = (1 - share) * rows[:, rod[:1]] + share * rows[:, rod[-1:]]
            assert np.max(np.abs(rows[:, rod] - line)) < 1e-12


def test_no_overlap(elastic):
    """No two beads and no bead and wall overlap in any frame, whatever the image."""
    system, frames, _ = elastic
    geometry = Geometry(system, np.float64)
    assert min(geometry.smallest_gap(position) for position in frames.position) > -1e-10


def test_restitution(tmp_path):
    """With e = .9 energy falls from frame to frame, and momentum still holds."""
    system, tables = mixture(restitution=0.9)
    result = run(tables, tmp_path)
    frames, log = result.frames(SIZE), result.events()
    assert np.all(np.diff(energies(system, frames)) < 0)
    assert len(log) > 500
    momentum = np.einsum("n,fni->fi", system.mass, frames.velocity)
    assert np.max(np.abs(momentum)) < 1e-10


@pytest.mark.parametrize("masses", [(1.0, 1.0), (1.2, 0.7)])
def test_energy_of_single_beads_hardly_drifts(tmp_path, masses):
    """Beads in contact are always as far apart, so rounding adds up: to 4e-14 with unit vectors (`meet_alone`)."""
    molecules = [Molecule("monomer", 1, count, mass=mass) for count, mass in zip((138, 137), masses, strict=True)]
    size = (7.83,) * 3
    tables = {
        "box": {"size": list(size)},
        "molecule": [molecule.keys() for molecule in molecules],
        "run": {"end_time": 150.0},
        "output": {"frame_every": 15.0, "report_every": 15.0},
    }
    result = run(tables, tmp_path)
    energy = energies(System(molecules, size), result.frames(size))
    assert result.observable("contacts")[1].sum() > 40_000
    assert np.max(np.abs(energy / energy[0] - 1)) < 8e-15
