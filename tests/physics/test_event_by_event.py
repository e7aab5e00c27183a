"""What contacts keep and what they change, event by event over many random ones: `--long` looks at a hundred thousand.

Between two events the engine is asked for its beads just before and just after: from both, and from what the log says
of the impulses, follow momentum, angular momentum with spins, energy, bonds, and the laws of the contact.
"""

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.sector.serial import Engine
from tests.support.extended import crowd, rough, with_extended
from tests.support.gases import gas

KINDS = ["monomer", "chain3", "dimer", "monomer", "ring", "chain5", "monomer", "dimer"]
LAWS = {
    "smooth": (1.0, 1.0, "joint"),
    "losing": (0.8, 1.0, "joint"),
    "perfectly rough": (1.0, -1.0, "joint"),
    "rough and losing": (0.9, 0.3, "joint"),
    "generalised": (1.0, 1.0, "generalised"),
    "moreau": (0.9, 1.0, "moreau"),
}
PART = 400
"""Events of one system; then comes the next, since those that lose energy come to rest."""


def system_of(law, seed):
    """Return a system in a box of walls, with beads of random masses, for a law of contacts."""
    e_n, e_t, rule = LAWS[law]
    rng = np.random.default_rng([22, seed])
    if rule != "joint":
        return with_extended(crowd(seed, (1, 1, 1), e_n), simultaneous=rule)
    system = gas([str(kind) for kind in rng.permutation(KINDS)], seed, 4.2, None, (1, 1, 1), restitution=e_n)
    return system if e_t == 1.0 else rough(system, rng.normal(size=(system.topology.beads, 3)), e_t)


class Look:
    """What an engine's beads are at a time: places, velocities, spins, and the sums that contacts change."""

    def __init__(self, engine, time):
        top, order = engine.system.topology.whole(), np.argsort(engine.ids)
        x, v, _ = engine.frame(time)
        self.x, self.v, extra = x[order], v[order], engine.state().extra[order]
        self.w = extra[:, L.SPIN : L.SPIN + 3] if engine.system.physics.extended.rough else 0.0 * self.v
        m, moment = top.mass[:, None], top.moment[:, None]
        self.momentum = np.sum(m * self.v, axis=0)
        self.angular = np.sum(m * np.cross(self.x, self.v) + moment * self.w, axis=0)
        self.energy = 0.5 * np.sum(m * self.v**2) + 0.5 * np.sum(moment * self.w**2)
        apart, rate = (a[top.bonds[:, 1]] - a[top.bonds[:, 0]] for a in (self.x, self.v))
        self.bonds = np.sqrt(np.sum(apart**2, axis=1)) - top.bond_length
        self.stretching = np.sum(apart * rate, axis=1)

    def slip(self, i, j, n, radius):
        """Return the velocity of the surfaces of beads i and j, or of i and a wall, at their contact."""
        turn = radius[i] * self.w[i] + (radius[j] * self.w[j] if j >= 0 else 0.0)
        return self.v[i] - (self.v[j] if j >= 0 else 0.0) - np.cross(turn, n)


def normal(row, x, radius):
    """Return the unit normal of a row of the log, towards its first bead, and where the surfaces touch."""
    i, j = row["bead"]
    if j < 0:
        n = np.zeros(3)
        n[(-1 - j) % 3] = 1.0 if j > -4 else -1.0
    else:
        n = (x[i] - x[j]) / np.linalg.norm(x[i] - x[j])
    return n, x[i] - radius[i] * n


def check(rows, before, after, system, e_n, e_t):
    """Check all that one instant changes; `rows` are its contacts in the log."""
    radius, push, twist, gained = 0.5 * system.topology.whole().diameter, np.zeros(3), np.zeros(3), 0.0
    speed = np.sqrt(2.0 * before.energy / system.topology.whole().mass.min())
    for row in rows:
        i, j = row["bead"]
        n, place = normal(row, before.x, radius)
        impulse = row["impulse"] * n + (row["tangential"] if e_t != 1.0 else 0.0)
        u, changed = before.slip(i, j, n, radius), after.slip(i, j, n, radius)
        gained += 0.5 * impulse @ (u + changed)
        if j < 0:
            push, twist = push + impulse, twist + np.cross(place, impulse)
        assert row["impulse"] > 0.0
        if len(rows) == 1:
            assert changed @ n == pytest.approx(-e_n * (u @ n), abs=1e-9 * speed)
            if alone(system, i, j):
                across, left = u - (u @ n) * n, changed - (changed @ n) * n
                np.testing.assert_allclose(left, e_t * across if e_t != 1.0 else across, atol=1e-9 * speed)
    top = system.topology.whole()
    scale = speed * top.mass.sum()
    np.testing.assert_allclose(after.momentum - before.momentum, push, atol=1e-10 * scale)
    np.testing.assert_allclose(after.angular - before.angular, twist, atol=1e-9 * scale * system.box.size.max())
    lossless = e_n == 1.0 and abs(e_t) == 1.0
    change = after.energy - before.energy
    assert change <= 1e-11 * before.energy
    assert not lossless or abs(change) <= 1e-11 * before.energy
    if len(rows) == 1:
        assert change == pytest.approx(gained, abs=1e-9 * before.energy)
    assert np.abs(after.bonds).max(initial=0.0) < 1e-10
    assert np.abs(after.stretching).max(initial=0.0) < 1e-9 * speed


def alone(system, i, j):
    """Whether the beads of a contact have no bonds."""
    beads = np.diff(system.topology.whole().first_bead)[
        np.searchsorted(system.topology.whole().first_bead, [i, max(j, i)], "right") - 1
    ]
    return bool(np.all(beads == 1))


def look_at(law, seed, most):
    """Look at up to so many events of a system; return how many there were."""
    e_n, e_t, _ = LAWS[law]
    system = system_of(law, seed)
    engine, end = Engine(system, log_events=True), 0.5
    log = []
    while sum(map(len, log)) < most and end < 200.0:
        engine.advance(end)
        log.append(engine.drain_events())
        end *= 1.5
    log = np.sort(np.concatenate(log), order="time")[:most]
    times, first = np.unique(log["time"], return_index=True)
    engine, seen = Engine(system), 0
    for time, rows in zip(times[:-1], np.split(log, first[1:])[:-1], strict=True):
        engine.advance(float(np.nextafter(time, 0.0)))
        before = Look(engine, float(time))
        engine.advance(float(time))
        check(rows, before, Look(engine, float(time)), system, e_n, e_t)
        seen += len(rows)
    return seen


@pytest.mark.parametrize("law", LAWS)
def test_contacts_keep_what_they_should(law):
    assert look_at(law, 1, 120) > 60


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
def test_so_do_a_hundred_thousand(law):
    seen, seed = 0, 1
    while seen < 100000 // len(LAWS):
        seed += 1
        seen += look_at(law, seed, PART)
