"""Orientations of rough spheres: products of the exact rotations between contacts, to the same bits on any ranks."""

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.model.physics.spins import orientations_at
from hpcchain.sector.serial import Engine
from tests.support.extended import rough
from tests.support.gases import gas
from tests.support.identity import in_stages, parallel, require_same, serial

KINDS = ["monomer", "dimer", "monomer", "chain3", "monomer", "monomer", "monomer", "dimer"]


def system_of(seed, walls=()):
    """Return a gas of rough beads in a box of walls; single ones have orientations."""
    system = gas(KINDS, seed, 3.4, None, (1, 1, 1))
    rng = np.random.default_rng(seed)
    turns = [bool(size == 1) for size in np.diff(system.topology.whole().first_bead)]
    more = {"orientations": turns} | ({"seed": 3} if walls else {})
    system = rough(system, 3.0 * rng.normal(size=(system.topology.beads, 3)), -0.7, walls, **more)
    q = rng.normal(size=(system.topology.beads, 4))
    system.state.extra[:, L.ORIENTATION : L.ORIENTATION + 4] = q / np.linalg.norm(q, axis=1)[:, None]
    return system


def matrix(q):
    """Return the rotation matrix of a unit quaternion, scalar part first."""
    w, x, y, z = q
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + 2.0 * w * cross + 2.0 * cross @ cross


def turned(spin, time):
    """Return the rotation matrix of a constant angular velocity after a time, by Rodrigues' formula."""
    rate = np.linalg.norm(spin)
    if rate == 0.0:
        return np.eye(3)
    x, y, z = spin / rate
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(rate * time) * cross + (1.0 - np.cos(rate * time)) * cross @ cross


@pytest.mark.parametrize("hot", [False, True])
def test_between_contacts_each_turns_at_its_own_rate(hot):
    sides = {"shape": None, "center": None, "radius": None, "axis": None, "temperature": 1.3}
    walls = [sides | {"side": side} for side in ("x-", "y+")] if hot else []
    system = system_of(4, walls)
    end = 20.0
    log = Engine(system, log_events=True)
    log.advance(end)
    events = log.drain_events()
    engine = Engine(system)
    order = np.argsort(engine.ids)
    axes = [matrix(q) for q in system.state.extra[:, L.ORIENTATION : L.ORIENTATION + 4]]
    last, spins = 0.0, system.state.extra[:, L.SPIN : L.SPIN + 3]
    for time in [*np.unique(events["time"]), end]:
        axes = [turned(spin, time - last) @ own for spin, own in zip(spins, axes, strict=True)]
        engine.advance(float(time))
        last, spins = time, engine.state().extra[order, L.SPIN : L.SPIN + 3]
    assert len(events) > 40 and np.abs(events["tangential"]).max() > 0.5
    ids = np.arange(system.topology.beads)
    found = orientations_at(system, engine.state().extra[order], ids, end)
    single = np.repeat(np.diff(system.topology.whole().first_bead), np.diff(system.topology.whole().first_bead)) == 1
    assert np.all(found[~single] == [1.0, 0.0, 0.0, 0.0])
    for i in np.flatnonzero(single):
        np.testing.assert_allclose(matrix(found[i]), axes[i], atol=1e-11)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-15)


@pytest.mark.parametrize("seed", range(2))
def test_ranks_windows_and_stops_leave_no_trace(seed):
    system = system_of(seed)
    one = serial(system, 12.0)
    assert len(one.events) > 30 and np.any(one.state.extra[:, L.TURNED])
    for ranks, window in ((2, None), (3, 0.1)):
        require_same(one, parallel(system, 12.0, ranks, window=window), f"seed {seed} on {ranks} ranks")
    require_same(one, in_stages(system, [(0.7, 1, {}), (5.9, 3, {}), (12.0, 0, {})]), f"seed {seed} in stages")
