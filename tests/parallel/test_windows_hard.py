"""Systems made to be hard for windows and ghosts: on threads as ranks they end with the bits of one rank.

Each test also checks that what it is about did happen.
"""

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.model.system import OPEN, PERIODIC, WALL
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.windows import WindowedEngine
from hpcchain.run.starts.growth import grown_system
from tests.support.identity import DRAWS, in_stages, parallel, require_same, serial
from tests.support.shapes import bead, boxed, rod, sticky

EIGHT = (2, 2, 2)


def everywhere(system, end, least, ranks=(2, 3, 5, 8), windows=(None,), **options):
    """Require the bits of one rank on other numbers of them and for several windows; return one rank's Outcome."""
    one = serial(system, end, **{name: options[name] for name in ("growth",) if name in options})
    assert len(one.events) >= least, f"only {len(one.events)} contacts"
    for window in windows:
        for size in ranks:
            other = parallel(system, end, size, window=window, **options)
            require_same(one, other, f"{size} ranks, window {window}, {options}")
    return one


def in_a_corner(spread):
    """Return monomers and dimers in one corner of a large box."""
    rng = np.random.default_rng(5)
    places = np.array(list(np.ndindex(4, 4, 4))) * 1.3 + 0.7
    molecules = []
    for k, place in enumerate(places):
        if k % 4 == 0:
            molecules.append(rod(place, 2, 2, rng.normal(size=3) * spread))
        elif k % 4 != 1:
            molecules.append(bead(place, rng.normal(size=3) * spread, rng.uniform(0.5, 2.0)))
    return [m for k, m in enumerate(molecules) if k % 16 != 15]


@pytest.mark.parametrize("boundary", [pytest.param(PERIODIC, marks=pytest.mark.long), WALL, OPEN])
def test_everything_in_one_corner(boundary):
    """Most sectors are empty, and stay so for a while."""
    molecules = in_a_corner(0.6)
    system = boxed(molecules, (24.0, 24.0, 24.0), boundary)
    everywhere(system, 4.0, 20, (2, 8), (0.4, None))
    everywhere(system, 4.0, 20, (8,), (0.4,), sectors=EIGHT)


def test_a_chain_as_long_as_the_box():
    """It lies across all sectors, and its ends are near one another through the boundary."""
    rng = np.random.default_rng(6)
    chain = rod((0.25, 2.0, 2.0), 0, 15, (0.0, 0.0, 0.0), pitch=1.05)
    chain[2][:, 1:] = rng.normal(size=(15, 2))
    places = [(1.3 * x + 0.6, y, z) for x in range(12) for y, z in ((0.5, 0.5), (3.6, 0.6), (3.5, 3.4), (0.6, 3.5))]
    gas = [bead(place, rng.normal(size=3)) for place in places]
    system = boxed([chain, *gas], (16.0, 4.8, 4.8))
    for sectors, ranks in (((8, 1, 1), 8), ((4, 1, 1), 4), ((1, 2, 1), 2)):
        one = everywhere(system, 2.0, 60, (ranks,), (0.05, 0.4), sectors=sectors)
    assert np.sum(one.events["bead"] < 15) > 20
    everywhere(system, 2.0, 60, (3, 7))


def test_many_contacts_of_two_molecules_across_a_boundary():
    """A light bead between two heavy ones that close in on it, where three sectors meet."""
    molecules = [
        bead((2.5, 4.0, 4.0), (0.5, 0.0, 0.0), 400.0),
        bead((4.0, 4.0, 4.0), (1.0, 0.0, 0.0), 0.1),
        bead((5.5, 4.0, 4.0), (-0.5, 0.0, 0.0), 400.0),
        rod((4.0, 1.0, 4.0), 1, 2, (0.0, 0.1, 0.0)),
    ]
    system = boxed(molecules, (8.0, 8.0, 8.0))
    one = everywhere(system, 4.0, 30, (2, 4, 8), (0.1, 1.0, 4.0))
    busiest = np.unique(one.events["bead"], axis=0, return_counts=True)[1].max()
    assert busiest > 10
    everywhere(system, 4.0, 30, (3,), (4.0,), sectors=(3, 1, 1))


@pytest.mark.parametrize(
    ("ranks", "window", "sectors"),
    [
        (2, 0.1, None),
        (2, 0.1, (1, 1, 2)),
        (3, 0.05, (1, 3, 1)),
        (3, 0.05, (1, 1, 3)),
        (4, 0.2, None),
    ],
)
def test_beads_that_stay_together_after_they_meet(ranks, window, sectors):
    """What rests on another bead approaches it by round-off alone: no rank is to see a further contact in that."""
    one = everywhere(sticky(), 0.5, 100, (ranks,), (window,), sectors=sectors)
    assert np.count_nonzero(one.events["impulse"] < 1e-9) > 10


@pytest.mark.parametrize(("seed", "window"), [(4, 0.05), (11, 0.1)])
def test_ranks_that_guess_what_becomes_of_each_others_molecules(seed, window, tmp_path):
    """In long windows contacts across boundaries follow one another.

    No rank may take what the other has guessed of its own molecules for true, or they repeat it to each other until the
    window is taken back (two and four times here).
    """
    path = tmp_path / "chains.toml"
    path.write_text(
        '[box]\nsize = [7.1, 7.1, 7.1]\n[[molecule]]\nkind = "chain"\nbeads = 6\ncount = 40\n'
        f"[initial]\nseed = {seed}\n[run]\nend_time = 1.0\n",
        encoding="utf-8",
    )
    system = grown_system(load_config(path))
    one, two = serial(system, 2.0), parallel(system, 2.0, 2, window=window)
    assert len(one.events) > 1000
    require_same(one, two, "2 ranks")
    assert two.reports[0]["windows_undone"] == 0


def test_a_fast_bead_through_many_sectors_in_one_window():
    rng = np.random.default_rng(8)
    slow = [
        bead((2.0 * x + 1.0, 2.0 * y + 1.0, 2.0 * z + 1.0), 0.2 * rng.normal(size=3), 3.0)
        for x in range(8)
        for y in range(2)
        for z in range(2)
    ]
    fast = bead((2.0, 2.0, 2.0), (60.0, 1.0, 0.3), 0.05)
    system = boxed([*slow, fast, rod((6.0, 2.0, 2.0), 2, 2, (0.0, 0.0, 0.0))], (16.0, 4.0, 4.0))
    for window in (0.02, 0.5, 1.0):
        everywhere(system, 1.0, 20, (8,), (window,), sectors=(8, 1, 1))
    everywhere(system, 1.0, 20, (2, 5))


@pytest.mark.parametrize("ranks", [3, 5, 8])
def test_more_ranks_than_molecules(ranks):
    molecules = [bead((1.0, 1.0, 1.0), (1.0, 0.0, 0.1)), rod((4.0, 0.6, 1.0), 1, 3, (-1.0, 0.2, 0.0))]
    system = boxed(molecules, (6.0, 4.0, 3.5), (WALL, PERIODIC, PERIODIC))
    everywhere(system, 20.0, 10, (ranks,), (0.3, None))


def test_a_single_molecule_alone():
    system = boxed([rod((1.0, 1.0, 1.0), 0, 4, (0.3, 2.0, 0.1))], (6.0, 6.0, 6.0), (WALL, PERIODIC, WALL))
    everywhere(system, 20.0, 3, (2, 4), (None, 5.0))


@pytest.mark.parametrize("boundary", [PERIODIC, (PERIODIC, WALL, OPEN)])
def test_a_box_only_just_wide_enough(boundary):
    """Three contact distances: a ghost may touch from two sides."""
    rng = np.random.default_rng(9)
    places = [np.array(p) * 1.5 + 0.5 for p in np.ndindex(2, 2, 2)]
    molecules = [bead(place, rng.normal(size=3), rng.uniform(0.5, 2.0)) for place in places[:5]]
    system = boxed(molecules, (3.0, 3.0, 3.0), boundary)
    everywhere(system, 6.0, 10, (2, 3, 8), (0.05, None))
    mixed = [rod((0.5, 0.5, 0.5), 2, 2, (0.3, 0.1, 0.0)), *molecules[2:5]]
    everywhere(boxed(mixed, (3.2, 3.2, 3.2), boundary), 6.0, 10, (2, 5), (0.05, None))


LONG = [pytest.param(*case, marks=pytest.mark.long) for case in ((PERIODIC, 0.5), (WALL, 0.95))]


@pytest.mark.parametrize(("boundary", "restitution"), [(PERIODIC, 0.95), (WALL, 0.5), *LONG])
def test_contacts_that_take_energy(restitution, boundary):
    rng = np.random.default_rng(10)
    molecules = []
    for k, p in enumerate(np.ndindex(3, 3, 3)):
        place = np.array(p) * 2.2 + 0.6
        molecules.append(rod(place, k % 3, 2, rng.normal(size=3)) if k % 3 else bead(place, 2.0 * rng.normal(size=3)))
    system = boxed(molecules, (7.0, 7.0, 7.0), boundary, restitution=restitution)
    everywhere(system, 4.0, 40, (2, 8), (0.1, None))


@pytest.mark.parametrize("boundary", [PERIODIC, WALL])
def test_while_contact_distances_grow(boundary):
    rng = np.random.default_rng(11)
    molecules = []
    for k, p in enumerate(np.ndindex(3, 3, 3)):
        place = np.array(p) * 2.2 + 0.6
        molecules.append(
            rod(place, k % 3, 3, rng.normal(size=3), pitch=0.7) if k % 2 else bead(place, rng.normal(size=3))
        )
    system = boxed(molecules, (7.0, 7.0, 7.0), boundary)
    everywhere(system, 2.0, 15, (2, 3, 8), (0.05, None), growth=(0.4, 0.3))


def storm(seed):
    """Return beads and rods on a lattice with speeds 0 and 1 along the axes: many contacts at every instant.

    All numbers are short in binary, so that what is symmetric is so to the bit. None touch at the start: beads wedged
    between walls would go on colliding at that instant for ever.
    """
    rng = np.random.default_rng([20263, seed])
    pitch = float(rng.choice([1.125, 1.25, 1.5, 2.0]))
    cells = rng.integers(3, 5, 3)
    free = np.ones(cells, dtype=bool)
    molecules = []
    for p in np.ndindex(*cells):
        if not free[p] or rng.random() < 0.45:
            continue
        v = rng.integers(-1, 2, 3).astype(float)
        place = (np.array(p) + 0.5) * pitch
        axis = int(rng.integers(3))
        along = [tuple(np.array(p) + k * np.eye(3, dtype=int)[axis]) for k in range(int(rng.integers(1, 4)))]
        along = [q for q in along if q[axis] < cells[axis]]
        if len(along) > 1 and all(free[q] for q in along):
            molecules.append(rod(place, axis, len(along), v, pitch=pitch))
            for q in along:
                free[q] = False
        else:
            molecules.append(bead(place, v, float(rng.choice([1.0, 1.0, 2.0]))))
            free[p] = False
    boundary = [int(b) for b in rng.choice([PERIODIC, PERIODIC, WALL], 3)]
    restitution = 0.5 if rng.random() < 0.3 else 1.0
    return boxed(molecules, np.maximum(cells * pitch, 3.0), boundary, restitution=restitution)


@pytest.mark.parametrize("seed", sorted({*range(DRAWS), 52}))
def test_a_storm_of_ties(seed):
    """Windows that end at the very instants of the ties too; in storm 52 rounding parts what is one instant."""
    system = storm(seed)
    rng = np.random.default_rng(seed)
    one = serial(system, 2.0)
    for window in (0.125, None, float(rng.uniform(0.02, 1.0))):
        ranks = int(rng.integers(2, 9))
        require_same(one, parallel(system, 2.0, ranks, window=window), f"storm {seed}, {ranks} ranks, window {window}")
    stops = [(0.25, 3, {}), (0.5, 0, {}), (1.0, 2, {"window": 0.25}), (2.0, 4, {})]
    require_same(one, in_stages(system, stops), f"storm {seed} in stages")


def ties(one):
    """Return how many contacts of a run share their instant with another."""
    return len(one.events) - len(np.unique(one.events["time"]))


def test_the_storms_have_ties():
    assert sum(ties(serial(storm(seed), 2.0)) for seed in range(8)) > 25


def test_a_lattice_that_collides_all_at_once():
    """Every bead meets three others at one instant, again and again, across all boundaries."""
    molecules = [bead(np.array(p) * 2.0 + 1.0, (np.array(p) % 2 - 0.5) * -2.0) for p in np.ndindex(4, 4, 4)]
    one = everywhere(boxed(molecules, (8.0, 8.0, 8.0)), 3.0, 200, (2, 8), (0.25, 0.3, None))
    assert ties(one) > 150
    everywhere(boxed(molecules, (8.0, 8.0, 8.0)), 3.0, 200, (8,), (0.5,), sectors=(8, 1, 1))


@pytest.mark.parametrize("gap", [0.0, pytest.param(2.0**-30, marks=pytest.mark.long), 1e-11])
def test_a_cradle_across_sectors(gap):
    """A row of beads that touch, or nearly, struck from one end and from both."""
    for speeds in ((1.0, 0.0), (1.0, -1.0), (1.0, -0.5)):
        row = [bead((4.0 + k * (1.0 + gap), 2.0, 2.0), (0.0, 0.0, 0.0)) for k in range(8)]
        left = bead((2.0, 2.0, 2.0), (speeds[0], 0.0, 0.0))
        right = bead((14.0, 2.0, 2.0), (speeds[1], 0.0, 0.0))
        system = boxed([left, *row, right], (16.0, 4.0, 4.0), (WALL, PERIODIC, PERIODIC))
        everywhere(system, 6.0, 8, (8,), (0.25, 6.0), sectors=(8, 1, 1))
        everywhere(system, 6.0, 8, (2, 3))


def touching(seed):
    """Return beads and rods on a lattice that all touch at the start, and fly apart and together in random directions.

    Some touch and part: whether they meet after all is decided by what others of that instant do to one of them.
    """
    rng = np.random.default_rng([20264, seed])
    cells = [(4, 1, 1), (8, 1, 1), (3, 3, 1), (5, 2, 1), (3, 2, 2), (4, 4, 1)][seed % 6]
    molecules, taken = [], set()
    for p in np.ndindex(*cells):
        place, v = np.array(p) + 2.0, rng.integers(-4, 5, 3) / 2.0
        axis = int(rng.integers(3))
        after = tuple(np.array(p) + np.eye(3, dtype=int)[axis])
        if p in taken:
            continue
        if rng.random() < 0.3 and after[axis] < cells[axis] and after not in taken:
            molecules.append(rod(place, axis, 2, v))
            taken.add(after)
        else:
            molecules.append(bead(place, v, float(rng.choice([1.0, 1.0, 2.0]))))
    return boxed(molecules, (12.0, 12.0, 8.0))


@pytest.mark.parametrize("seed", sorted({*range(2 * DRAWS), 50, 65, 75, 115}))
def test_all_touch_at_the_start(seed):
    system = touching(seed)
    one = serial(system, 2.0)
    for ranks, window in ((2, None), (2 + seed % 4, 0.05), (2 + seed % 7, 1.0)):
        require_same(one, parallel(system, 2.0, ranks, window=window), f"{seed}, {ranks} ranks, window {window}")


def test_most_that_touch_meet_at_once():
    assert sum(np.count_nonzero(serial(touching(seed), 0.25).events["time"] == 0.0) for seed in range(12)) > 40


def test_contacts_of_one_instant_that_follow_from_one_another():
    """The first and the last two beads meet at once; those in the middle part before, and meet once that has happened.

    The rank of the last two knows of the first contact only afterwards, and has to go back within the instant.
    """
    row = [bead((1.0 + k, 1.0, 2.0), (v, 0.0, 0.0)) for k, v in enumerate((2.0, -1.0, 1.5, -0.5))]
    everywhere(boxed(row, (12.0, 12.0, 6.0)), 1.0, 3, (2, 4), (0.25, None))


def test_rods_that_touch_across_sectors():
    """A row of dimers end to end, side by side with another, struck at one end: third molecules touch."""
    rows = [rod((3.0 + 2.0 * k, 2.0 + y, 2.0), 0, 2, (0.0, 0.0, 0.0)) for k in range(4) for y in (0.0, 1.0)]
    strikers = [bead((1.0, 2.0, 2.0), (1.0, 0.0, 0.0)), bead((5.5, 5.0, 2.0), (0.0, -1.0, 0.0), 2.0)]
    system = boxed([*rows, *strikers], (12.0, 7.0, 4.0))
    for sectors, ranks in (((6, 1, 1), 6), ((2, 2, 2), 8), ((3, 1, 1), 3)):
        everywhere(system, 6.0, 8, (ranks,), (0.1, 1.0, 3.0), sectors=sectors)


def test_a_bead_that_lands_between_others_of_other_ranks():
    """Three at rest that touch one another; a fourth lands on all three at once, where eight sectors meet."""
    three = [
        bead((4.0, 4.0 - 0.5, 4.0), (0, 0, 0)),
        bead((4.0, 4.0 + 0.5, 4.0), (0, 0, 0)),
        bead((4.0 + np.sqrt(0.75), 4.0, 4.0), (0, 0, 0)),
    ]
    falling = bead((4.0 + np.sqrt(1.0 / 12.0), 4.0, 7.0), (0.0, 0.0, -1.0))
    system = boxed([*three, falling], (8.0, 8.0, 8.0), (PERIODIC, WALL, PERIODIC))
    one = everywhere(system, 9.0, 3, (2, 3, 8), (0.3, 4.0, None))
    assert ties(one) > 0


def test_rods_that_land_flat_together():
    """On walls at both ends of a sector's boundary, mirror images of one another."""
    rods = [rod((2.0 + 4.0 * k, 2.0, 4.0), 0, 3, (0.0, 0.0, 1.0)) for k in range(3)]
    mirror = [rod((2.0 + 4.0 * k, 2.0, 2.0), 0, 3, (0.0, 0.0, -1.0)) for k in range(3)]
    system = boxed([*rods, *mirror], (13.0, 4.0, 6.0), (PERIODIC, PERIODIC, WALL))
    one = everywhere(system, 7.0, 12, (2, 6), (0.25, 2.0, None))
    assert ties(one) > 8


@pytest.mark.parametrize("window", [None, 1e308])
def test_windows_without_contacts_stay_finite(window):
    """Each ends where a report is due; growing by a half each time, they would be beyond all numbers in the end."""
    system = boxed([bead((1.0, 1.0, 1.0), (1.0, 0.0, 0.0)), bead((1.0, 3.0, 3.0), (1.0, 0.0, 0.0))], (6.0, 6.0, 6.0))

    def body(exchange):
        engine = WindowedEngine(system, exchange, window=window)
        for k in range(1, 2001):
            engine.advance(0.01 * k)
        return engine.window, engine.statistics.counts["windows"]

    for length, windows in on_ranks(2, body):
        assert windows >= 2000 and np.isfinite(length)
        assert window is not None or 0.01 <= length < 0.03
