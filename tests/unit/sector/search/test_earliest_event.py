"""The earliest event of a bead against all beads and walls sampled over the whole segment."""

import numpy as np
import pytest

from hpcchain.model.system import OPEN, PERIODIC, WALL
from hpcchain.sector.search.neighbour_lists import joined
from hpcchain.sector.serial import Engine
from tests.support.gases import MIXTURE, gas, monomer
from tests.support.kernel_tools import (
    TICK,
    bead_curves,
    chain_bonds,
    depths_of,
    enlist,
    events_kept,
    list_ends,
    make_system,
    partners_of,
    plain_sector,
    reverse_lists,
    search_one,
    set_growth,
    set_start,
    start,
)

SAMPLES = 300


class Sampled:
    """All beads' present paths of an engine, and the gaps between them by brute force."""

    def __init__(self, engine, system):
        s = engine.sector
        self.system, self.ids = system, engine.ids
        self.paths, self.start, self.length = bead_curves(s)
        self.known = np.minimum(self.start + self.length, list_ends(s))
        self.scale, self.rate = engine.growth
        box = system.box
        self.period = np.where(box.boundary == PERIODIC, box.size, 0.0)
        self.inverse = np.where(box.boundary == PERIODIC, 1 / box.size, 0.0)
        self.radius = 0.5 * system.topology.whole().diameter[engine.ids]
        bonds = np.full(len(self.ids), 0)
        local = np.empty_like(bonds)
        local[self.ids] = np.arange(len(self.ids))
        self.bonded = {(local[i], local[j]) for i, j in system.topology.whole().bonds}
        self.bonded |= {(j, i) for i, j in self.bonded}

    def at(self, i, time):
        """Return positions and velocities of bead i at absolute times."""
        t, c = np.asarray(time) - self.start[i], self.paths[i]
        powers = t[..., None] ** np.arange(len(c))
        return powers @ c, powers[..., :-1] @ (c[1:] * np.arange(1, len(c))[:, None])

    def pair(self, i, j, time):
        """Return the gap of two beads (nearest image) and its rate."""
        (xi, vi), (xj, vj) = self.at(i, time), self.at(j, time)
        r = xi - xj
        r = r - self.period * np.rint(r * self.inverse)
        distance = np.linalg.norm(r, axis=-1)
        sigma = self.radius[i] + self.radius[j]
        rate = (r * (vi - vj)).sum(-1) / distance - sigma * self.rate
        return distance - sigma * (self.scale + self.rate * np.asarray(time)), rate

    def wall(self, i, code, time):
        """Return the gap between a bead and the wall of a code, and its rate."""
        axis, upper = (-1 - code) % 3, (-1 - code) >= 3
        x, v = self.at(i, time)
        sign = -1.0 if upper else 1.0
        place = self.system.box.origin[axis] + (self.system.box.size[axis] if upper else 0.0)
        gap = sign * (x[..., axis] - place) - self.radius[i] * (self.scale + self.rate * np.asarray(time))
        return gap, sign * v[..., axis] - self.radius[i] * self.rate

    def no_contact_before(self, i, time):
        """Check that no sampled gap is negative between the start of bead i's segment and a time.

        With a bead whose list ends before, only until then: it will ask again itself.
        """
        walls = [-1 - a - 3 * side for a in range(3) if self.system.box.boundary[a] == WALL for side in range(2)]
        for code in walls:
            gap = self.wall(i, code, np.linspace(self.start[i], time, SAMPLES))[0]
            assert gap.min() > -1e-11
        for j in range(len(self.ids)):
            if j == i or (i, j) in self.bonded:
                continue
            low = max(self.start[i], self.start[j])
            high = min(time, self.known[j])
            if high > low:
                gap = self.pair(i, j, np.linspace(low, high, SAMPLES))[0]
                assert gap.min() > -1e-11, (i, j)


def check(engine, system, beads):
    """Search all beads; compare contacts and `beads` with sampled paths; return how many met a bead, and a wall."""
    s = engine.sector
    sampled = Sampled(engine, system)
    pairs = walls = 0
    for i in range(len(sampled.ids)):
        time, partner = search_one(s, i)
        end = sampled.start[i] + sampled.length[i]
        if partner >= 0:
            pairs += 1
            assert max(sampled.start[i], sampled.start[partner]) <= time
            assert time <= min(end, sampled.start[partner] + sampled.length[partner]) + 1e-8
            gap, rate = sampled.pair(i, partner, time)
            assert abs(gap) < 1e-12 and rate < 1e-6
            time_back, partner_back = search_one(s, partner)
            assert time_back <= time * (1 + 1e-14)
            if partner_back == i:
                assert time_back == pytest.approx(time, rel=1e-14)
        elif -7 < partner < 0:
            walls += 1
            gap, rate = sampled.wall(i, partner, time)
            assert abs(gap) < 1e-12 and rate < 1e-6
        if i in beads or (partner >= 0 and partner % 2):
            sampled.no_contact_before(i, min(time, end) - 1e-9)
    return pairs, walls


CASES = {
    "mixture": (MIXTURE * 3, (PERIODIC,) * 3, 2.6, (1.0, 0.0)),
    "walls": (MIXTURE * 3, (WALL, PERIODIC, WALL), 2.6, (1.0, 0.0)),
    "monomers": (["monomer"] * 60, (PERIODIC, OPEN, WALL), 1.3, (1.0, 0.0)),
    "growing monomers": (["monomer"] * 60, (PERIODIC, PERIODIC, WALL), 1.2, (0.8, 0.05)),
    "growing mixture": (MIXTURE * 3, (PERIODIC,) * 3, 2.8, (0.7, 0.05)),
}


@pytest.mark.parametrize("case", CASES)
def test_every_bead_of_running_gases(case):
    """After some time the segments start at different times; then every bead's event is that of brute force."""
    kinds, boundary, pitch, growth = CASES[case]
    pitch = pitch if "monomers" in case else 4.3
    system = gas(kinds, 1, pitch, boundary=boundary, diameter=1.0 if "monomers" in case else 0.8)
    engine = Engine(system, growth=growth)
    pairs = walls = 0
    for time in np.linspace(0.05, 3.0, 20):
        engine.advance(time)
        with events_kept(engine.sector):
            found = check(engine, system, np.random.default_rng(2).permutation(len(engine.ids))[:2])
        pairs, walls = pairs + found[0], walls + found[1]
    assert pairs > 3
    if WALL in boundary and "monomers" in case:
        assert walls > 0


def two_beads(growth=(1.0, 0.0)):
    """Return the sector of two monomers, to be placed at will."""
    s = plain_sector(make_system([monomer([0, 0, 0], [0, 0, 0]), monomer([3, 0, 0], [0, 0, 0])]), shell=5.0)
    set_growth(s, *growth)
    start(s)
    return s


@pytest.mark.parametrize("growth", [(1.0, 0.0), (0.9, 0.013)])
def test_which_bead_searches_does_not_matter(growth):
    """Both beads of a pair find the same contact to the last bit, whichever segment began first."""
    s = two_beads(growth)
    rng = np.random.default_rng(0)
    met = 0
    for _ in range(2000):
        x = rng.normal(size=3)
        x *= 1.5 / np.linalg.norm(x)
        set_start(s, 0, np.zeros(3), 0.5 * x + 0.1 * rng.normal(size=3), (rng.integers(64), rng.uniform(0, TICK)))
        set_start(s, 1, x, -0.5 * x + 0.1 * rng.normal(size=3), (rng.integers(64), rng.uniform(0, TICK)))
        assert enlist(s) == 0
        search_one(s, 0)
        search_one(s, 1)
        if partners_of(s)[0] == 1:
            met += 1
            np.testing.assert_array_equal(s.event_time[0], s.event_time[1])
            np.testing.assert_array_equal(depths_of(s), depths_of(s)[0])
    assert met > 500


def test_contact_with_a_segment_that_began_earlier():
    """Beads 2.5 apart closing at 1 from ticks 4 on, the other under way since tick 0."""
    s = two_beads()
    set_start(s, 0, (0, 0, 0), (0.5, 0, 0), (0.0, 0.0))
    set_start(s, 1, (0.5 * 4 * TICK + 2.5, 0, 0), (-0.5, 0, 0), (4.0, 0.0))
    assert enlist(s) == 0
    for i in range(2):
        time, partner = search_one(s, i)
        assert partner == 1 - i
        assert time == pytest.approx(4 * TICK + 1.5, rel=1e-15)


def test_a_contact_that_only_the_bent_path_has():
    """A bead circles at radius 1; a bead at rest inside is reached by the arc, not by its tangent."""
    place = np.array([0.5, 0.35, 0.0])
    x, v = np.array([[1.0, 0, 0], [-1.0, 0, 0]]), np.array([[0, 1.0, 0], [0, -1.0, 0]])
    system = make_system([(chain_bonds(2), x, v, np.ones(2)), monomer(place, [0, 0, 0])], diameter=0.4)
    system.state.step[:] = 0.65
    s = plain_sector(system, shell=2.0)
    start(s)
    assert enlist(s) == 0
    away = np.linalg.norm(place)
    angle = np.arctan2(place[1], place[0]) - np.arccos((1 + away**2 - 0.4**2) / (2 * away))
    assert 0.3 < angle < 0.65
    for i, j in ((0, 2), (2, 0)):
        time, partner = search_one(s, i)
        assert partner == j
        assert time == pytest.approx(angle, abs=1e-12)


@pytest.mark.parametrize("middle", [0, 1, 2])
@pytest.mark.parametrize("flip", [False, True])
def test_equal_times_are_settled_by_ids(middle, flip):
    """A bead that would meet two others at the same instant takes the pair of lower ids, in any order of its list."""
    left, right = (i for i in range(3) if i != middle)
    x, v = np.zeros((2, 3, 3))
    x[[left, right], 0] = -2.0, 2.0
    v[[left, right], 0] = 1.0, -1.0
    s = plain_sector(make_system([monomer(p, q) for p, q in zip(x, v, strict=True)]), shell=2.0)
    start(s)
    assert enlist(s) == 0
    if flip:
        reverse_lists(s)
    assert search_one(s, middle) == (1.0, left)


@pytest.mark.parametrize("propagator", ["taylor", "collocation", "rattle"])
def test_which_are_joined_is_what_the_bonds_say(propagator):
    """Linear chains, known by their numbers, as others, known by the table of bonds; rods' beads never meet."""
    ring = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
    star = np.array([[0, 2], [1, 2], [2, 3]])
    crossed = np.array([[0, 2], [1, 2], [1, 3]])  # a line whose beads are not numbered along it
    bonds = [chain_bonds(5), ring, chain_bonds(2), star, crossed, chain_bonds(1), chain_bonds(3)]
    rng = np.random.default_rng(5)
    molecules = [
        (b, rng.normal(size=(n, 3)), np.zeros((n, 3)), np.ones(n))
        for b, n in zip(bonds, (5, 4, 2, 4, 4, 1, 3), strict=True)
    ]
    topology = (system := make_system(molecules, rods=(6,), propagator=propagator)).topology.whole()
    s = plain_sector(system)
    found = {(i, j) for i in range(topology.beads) for j in range(topology.beads) if i != j and joined(s, i, j)}
    rod = range(topology.first_bead[6], topology.beads)
    expected = {(int(i), int(j)) for i, j in topology.bonds} | {(i, j) for i in rod for j in rod if i < j}
    assert found == expected | {(j, i) for i, j in expected}
