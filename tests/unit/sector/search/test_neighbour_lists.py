"""Neighbour lists against all pairs: symmetric and complete after any number of renewals, in boxes of few cells."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.model.system import OPEN, PERIODIC, WALL
from hpcchain.sector.search.cells import CELL_FULL, FULL, near_beads
from hpcchain.sector.search.neighbour_lists import clean_lists, list_radius
from hpcchain.sector.setup.allocate import cell_arrays, folded, window_arrays
from tests.support.compositions import composition_of
from tests.support.kernel_tools import (
    cell_counts,
    chain_bonds,
    enlist,
    listed,
    make_system,
    plain_sector,
    rebuild_one,
    set_list_origins,
)

NO_BONDS = np.empty((0, 2), dtype=np.int64)
SHELL = 0.2


def gas(count, size, boundary, seed, trimers=0):
    """Return a sector of monomers of diameters 0.6 to 1 and trimers at random places, and its system."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(-0.5, 0.5, (count + trimers, 3)) * size
    molecules = [(NO_BONDS, p[None], np.zeros((1, 3)), np.ones(1)) for p in place[:count]]
    step = np.array([[0.0, 0, 0], [0.6, 0, 0], [0.6, 0.6, 0]])
    molecules += [(chain_bonds(3), p + step, np.zeros((3, 3)), np.ones(3)) for p in place[count:]]
    beads = count + 3 * trimers
    diameter = rng.uniform(0.6, 1.0, beads)
    system = make_system(molecules, size, boundary, diameter=diameter)
    return plain_sector(system, SHELL), system


def expected(system, points, period=None, widest=False):
    """Return all pairs whose centres are near enough, without the pairs that are bonded to each other."""
    topology = system.topology.whole()
    apart = points[:, None] - points[None]
    period = np.where(system.box.boundary == PERIODIC, system.box.size, np.inf) if period is None else period
    apart -= np.where(np.isfinite(period), period, 0) * np.rint(apart / period)
    far = 0.5 * (topology.diameter[:, None] + topology.diameter) + 2 * SHELL
    if widest:
        far = np.full_like(far, topology.diameter.max() + 2 * SHELL + 1e-6)
    near = (apart**2).sum(-1) < far**2
    np.fill_diagonal(near, False)
    for i, j in topology.bonds:
        near[i, j] = near[j, i] = False
    return {(int(i), int(j)) for i, j in np.argwhere(near)}


def concerning(s, pairs):
    """Return those of which one bead is owned at least: contacts of two ghosts are another rank's."""
    owned = s.lists[:, L.OWNERSHIP] == L.OWNED
    return {(i, j) for i, j in pairs if owned[i] or owned[j]}


def assert_complete(s, system, points):
    """Check that all near pairs are listed from both sides, once, and none that would be far for the widest beads."""
    entries, doubled = listed(s)
    assert not doubled
    assert entries >= concerning(s, expected(system, points))
    assert entries == concerning(s, entries)
    assert entries == {(j, i) for i, j in entries}
    assert entries <= expected(system, points, system.box.size, widest=True)


@pytest.mark.parametrize("cells", list(itertools.product([1, 2, 3], repeat=3)))
def test_small_periodic_boxes(cells):
    size = np.array(cells) * 1.45
    s, system = gas(20, size, (PERIODIC,) * 3, sum(cells))
    assert cell_counts(s) == cells
    check_renewals(s, system, 60)


@pytest.mark.parametrize("boundary", [(PERIODIC, WALL, OPEN), (OPEN, OPEN, OPEN), (WALL, OPEN, PERIODIC), (WALL,) * 3])
@pytest.mark.parametrize("size", [(3.0, 4.5, 6.0), (9.0, 7.0, 1.5)])
def test_other_boundaries(boundary, size):
    s, system = gas(60, np.array(size), boundary, 3)
    check_renewals(s, system, 120)


def test_large_box_with_molecules():
    s, system = gas(100, np.array([8.0, 9.0, 10.0]), (PERIODIC,) * 3, 4, trimers=40)
    assert min(cell_counts(s)) >= 5
    check_renewals(s, system, 300)


def test_cells_that_stand_for_several():
    """Three by three by four cells for nine by three by eight: what is far is told apart by its place."""
    s, system = gas(100, np.array([14.0, 5.0, 14.0]), (PERIODIC,) * 3, 4, trimers=40)
    assert np.all(np.array(cell_counts(s)) >= (9, 3, 8))
    s = s._replace(**cell_arrays(np.array([3, 3, 4, 36, 9, 3, 8]), 220, 1.0))
    assert cell_counts(s) == (3, 3, 4)
    check_renewals(s, system, 200)


@pytest.mark.parametrize("seed", range(10))
def test_no_more_cells_than_where_beads_are(seed):
    """Beads in a part of the box, through its boundary or not, have cells of their own and some more around them."""
    rng = np.random.default_rng(seed)
    box = make_system([(NO_BONDS, np.zeros((1, 3)), np.zeros((1, 3)), np.ones(1))], (50.0, 40.0, 30.0)).box
    cells = np.array([40, 31, 23])
    part = rng.uniform(0.02, 0.3, 3)
    position = box.origin + box.size * (rng.uniform(-1.0, 1.0, 3) + part * rng.random((200, 3)))
    few, _, edge = np.split(folded(cells, box, position), [3, 4])
    assert np.all(edge % few == 0) and np.all(edge <= cells) and np.all(edge > cells - cells // few - 1)
    place = np.floor((position - box.origin) / box.size % 1.0 * edge).astype(int)
    for c in range(3):
        assert len(np.unique(place[:, c] % few[c])) == len(np.unique(place[:, c]))
        assert few[c] == cells[c] or few[c] < 2 * (part[c] * cells[c] + 6)


def check_renewals(s, system, renewals):
    """Build, then renew lists of random beads at random places (also outside the box), and compare with all pairs."""
    rng = np.random.default_rng(1)
    assert enlist(s) == 0
    points = s.starts[:, 0:3].copy()
    assert_complete(s, system, points)
    for k in range(renewals):
        i = int(rng.integers(len(points)))
        points[i] = system.box.origin + system.box.size * rng.uniform(-0.6, 1.6, 3)
        assert rebuild_one(s, i, points[i]) == 0
        if k % 10 == 0 or k == renewals - 1:
            assert_complete(s, system, points)
    assert set_list_origins(s, points) == 0
    assert_complete(s, system, points)


def test_on_the_edges_of_cells():
    """Centres exactly on cell boundaries and box faces, where rounding decides the cell."""
    s, system = gas(40, np.array([5.6, 5.6, 5.6]), (PERIODIC,) * 3, 5)
    rng = np.random.default_rng(2)
    width = system.box.size / cell_counts(s)
    points = system.box.origin + width * rng.integers(-2, 7, (40, 3))
    points[::2] += rng.choice([-1e-16, 1e-16], (20, 3)) + rng.uniform(-0.5, 0.5, (20, 3)) * (rng.random((20, 3)) < 0.3)
    assert set_list_origins(s, points) == 0
    assert_complete(s, system, points)


def test_too_little_space_for_lists_is_reported():
    """Space one entry too small is FULL, by building, which says what was needed, and by renewing."""
    s, system = gas(40, np.array([3.0, 3.0, 3.0]), (PERIODIC,) * 3, 6)
    assert enlist(s) == 0
    needed, used = s.lists[:, L.LIST_LENGTH].copy(), int(s.scalars[L.SCALAR_LISTS_END])
    assert enlist(s._replace(neighbour=s.neighbour[: used - 1])) == FULL
    np.testing.assert_array_equal(s.lists[:, L.LIST_LENGTH], needed)
    full = s._replace(neighbour=s.neighbour[:used])
    assert enlist(full) == 0
    lonely, fullest = int(np.argmin(needed)), int(np.argmax(needed))
    assert needed[fullest] > s.lists[lonely, L.LIST_CAPACITY]
    assert rebuild_one(full, lonely, s.starts[fullest, 0:3]) == FULL


def test_a_full_cell_is_reported():
    """More centres in one cell than there are lines for, by building and by renewing."""
    s, system = gas(40, np.array([6.0, 6.0, 6.0]), (PERIODIC,) * 3, 9)
    s = s._replace(**cell_arrays(s.cells, 40, 0.0))
    assert len(s.next_line) == s.cells[3] + 1
    assert set_list_origins(s, system.box.origin + 0.1 * np.random.default_rng(0).random((40, 3))) == CELL_FULL
    assert set_list_origins(s, s.starts[:, 0:3].copy()) == 0
    status = [rebuild_one(s, i, system.box.origin + 0.01) for i in range(10)]
    assert status[0] == 0 and status[-1] == CELL_FULL
    assert set_list_origins(s, s.starts[:, 0:3].copy()) == 0
    assert_complete(s, system, s.starts[:, 0:3])


def lines_of(s, cell):
    """Return the occupants in each line of a cell."""
    lines = []
    while cell >= 0:
        lines.append([int(bead) for bead in s.cell_entries[4 * cell + L.OCCUPANT] if bead >= 0])
        cell = int(s.next_line[cell])
    return lines


def assert_sound_cells(s, beads):
    """Check that every bead has one entry, where `where` says, and that lines are full but the last, or free."""
    seen, held = [], 0
    for cell in range(int(s.cells[3])):
        lines = lines_of(s, cell)
        assert all(len(line) == 4 for line in lines[:-1]) and (len(lines) == 1 or lines[-1])
        seen += sum(lines, [])
        held += len(lines)
    assert sorted(seen) == list(range(beads))
    entries = s.cell_entries.reshape(-1, 4, 4).transpose(0, 2, 1).reshape(-1, 4)[s.where[:beads]]
    np.testing.assert_array_equal(entries[:, L.OCCUPANT], np.arange(beads))
    np.testing.assert_array_equal(entries[:, : L.AXES], s.origin_fractions[:beads, : L.AXES])
    free, at = 0, int(s.scalars[L.SCALAR_FREE_LINE])
    while at >= 0:
        free, at = free + 1, int(s.next_line[at])
    assert held + free == len(s.next_line)


def equal_gas(count, size, seed, boundary=(PERIODIC, OPEN, PERIODIC)):
    """Return a sector of equal monomers and trimers at random places, as their lists are renewed in part."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(-0.5, 0.5, (count, 3)) * size
    step = np.array([[0.0, 0, 0], [0.6, 0, 0], [0.6, 0.6, 0]])
    molecules = [(chain_bonds(3), p + step, np.zeros((3, 3)), np.ones(3)) for p in place[: count // 4]]
    molecules += [(NO_BONDS, p[None], np.zeros((1, 3)), np.ones(1)) for p in place[count // 4 :]]
    system = make_system(molecules, size, boundary)
    return plain_sector(system, SHELL), system


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("stride", [0.02, 0.2, 0.7, 3.0])
def test_lists_renewed_in_part_are_whole(stride, seed):
    """Short and long ways, along axes too, to and from crowded cells: lists and cells are those made anew."""
    s, system = equal_gas(160, np.array([4.9, 6.1, 9.0]) if seed else np.array([4.3, 4.3, 4.3]), seed)
    assert enlist(s) == 0
    rng = np.random.default_rng(10 + seed)
    points = s.starts[:, 0:3].copy()
    for k in range(600):
        i = int(rng.integers(len(points)))
        way = rng.normal(size=3) * (rng.random(3) < 0.6)
        points[i] += stride * way
        if k % 50 < 12:
            points[i] = system.box.origin + 0.3 + 0.01 * rng.random(3)
        assert rebuild_one(s, i, points[i]) == 0
    renewed, doubled = listed(s)
    assert not doubled
    assert_complete(s, system, points)
    assert_sound_cells(s, len(points))
    assert set_list_origins(s, points) == 0
    assert renewed == listed(s)[0]
    assert_sound_cells(s, len(points))


@kernel
def all_near(s, i):
    """Write to `found` all beads whose list origins are near bead i's, of all cells about it; return how many."""
    return near_beads(s, list_radius(s, i), i)


@pytest.mark.parametrize("boundary", [(PERIODIC,) * 3, (WALL,) * 3, (OPEN, PERIODIC, WALL)])
@pytest.mark.parametrize("size", [(2.9, 4.3, 4.4), (4.3, 4.4, 4.5), (5.9, 7.3, 8.8)])
def test_a_renewed_list_is_that_of_all_cells(size, boundary):
    """After each renewal the list has what is near in any cell, once: short and long ways, places on cells' borders."""
    s, system = equal_gas(90, np.array(size), 11, boundary)
    assert enlist(s) == 0
    rng = np.random.default_rng(12)
    points = s.starts[:, 0:3].copy()
    width = system.box.size / cell_counts(s)
    changed = 0
    for k in range(500):
        i = int(rng.integers(len(points)))
        points[i] += rng.choice([0.05, 0.3, 1.2]) * rng.normal(size=3)
        if k % 3 == 0:
            on = rng.random(3) < 0.7
            border = system.box.origin + width * np.rint((points[i] - system.box.origin) / width)
            points[i] = np.where(on, border + rng.choice([0.0, 1e-16, -1e-16], 3), points[i])
        before = set(neighbours_of(s, i))
        assert rebuild_one(s, i, points[i]) == 0
        after = neighbours_of(s, i)
        near = {int(j) for j in s.found[: all_near(s, i)]}
        bonded = {int(j) for pair in system.topology.whole().bonds if i in pair for j in pair} - {i}
        assert len(after) == len(set(after)) and set(after) == near - bonded
        changed += set(after) != before
    assert changed > 200


@kernel
def within(s, i, radius):
    """Write to `found` the beads whose list origins are within a radius of bead i's; return how many."""
    return near_beads(s, radius, i)


def test_a_list_origin_just_as_far_is_not_near():
    """Those of cells that are compared four at a time are those that are nearer one by one, to the bit."""
    s, system = equal_gas(120, np.array([4.9, 6.1, 9.0]), 3, (PERIODIC,) * 3)
    assert enlist(s) == 0
    place = s.origin_fractions[:, : L.AXES].astype(np.int64)
    period = s.par[L.PERIOD : L.PERIOD + L.AXES]
    for i in range(len(place)):
        way = ((place[i] - place + 2**31) % 2**32 - 2**31) * (period / 2.0**32)
        x, y, z = (way**2).T
        square = (x + y) + z
        j = np.argsort(square)[3]
        radius = np.sqrt(square[j])
        radius = np.nextafter(radius, 0.0) if radius * radius > square[j] else radius
        found = set(s.found[: within(s, i, radius)].tolist())
        assert found == set(np.flatnonzero(square < radius * radius).tolist()) - {i} and j not in found
        farther = np.nextafter(radius, np.inf)
        assert set(s.found[: within(s, i, farther)].tolist()) == found | {int(j)}


def neighbours_of(s, i):
    """Return bead i's list."""
    first, length = s.lists[i, :2]
    return s.neighbour[first : first + length].tolist()


def test_molecules_without_self_contact_are_not_listed_inside():
    rng = np.random.default_rng(8)
    step = np.array([[0.0, 0, 0], [0.6, 0, 0], [0.6, 0.6, 0], [0, 0.6, 0]])
    molecules = [(chain_bonds(4), p + step, np.zeros((4, 3)), np.ones(4)) for p in rng.uniform(-1, 1, (3, 3))]
    system = make_system(molecules, (5.0,) * 3, (PERIODIC,) * 3)
    topology = system.topology.whole()
    topology.kind[1], topology.self_contact[1] = 1, False
    system = replace(system, topology=composition_of(topology))
    s = plain_sector(system, SHELL)
    assert enlist(s) == 0
    inside = {(i // 4) for i, j in listed(s)[0] if i // 4 == j // 4}
    assert inside == {0, 2}


def near_at_any(system, origins):
    """Return the pairs of beads of which any two origins, of the lists (n, 3) of each, are near."""
    bead = np.repeat(np.arange(len(origins)), [len(places) for places in origins])
    points = np.concatenate(origins)
    apart = points[:, None] - points[None]
    period = np.where(system.box.boundary == PERIODIC, system.box.size, 0.0)
    apart -= period * np.rint(apart / np.where(period > 0.0, period, 1.0))
    far = system.topology.whole().diameter.max() + 2 * SHELL
    near = {(int(bead[k]), int(bead[m])) for k, m in np.argwhere((apart**2).sum(-1) < far**2)}
    bonded = {tuple(map(int, pair)) for pair in system.topology.whole().bonds}
    return {(i, j) for i, j in near if i != j and (min(i, j), max(i, j)) not in bonded}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("stride", [0.02, 0.2, 0.7, 3.0])
def test_lists_of_a_window_have_what_was_near_any_of_its_origins(stride, seed):
    """In a window lists only grow, by all that any two origins bring near; at its end they are those made anew."""
    s, system = equal_gas(160, np.array([4.9, 6.1, 9.0]) if seed else np.array([4.3, 4.3, 4.3]), seed)
    beads = len(s.lists)
    s = s._replace(**window_arrays(beads, len(s.mol)), **cell_arrays(s.cells, beads, 4.0))
    s.scalars[L.SCALAR_WINDOWED] = 1
    rng = np.random.default_rng(20 + seed)
    s.lists[:, L.OWNERSHIP] = rng.choice([L.OWNED, L.GHOST], beads, p=[0.3, 0.7])
    assert enlist(s) == 0
    points = s.starts[:, 0:3].copy()
    for _ in range(8):
        origins = [[place.copy()] for place in points]
        for k in range(40):
            i = int(rng.integers(beads))
            points[i] += stride * rng.normal(size=3) * (rng.random(3) < 0.6)
            if k % 10 < 2:
                points[i] = system.box.origin + 0.3 + 0.01 * rng.random(3)
            assert rebuild_one(s, i, points[i]) == 0
            origins[i].append(points[i].copy())
        entries, doubled = listed(s)
        assert not doubled and entries == {(j, i) for i, j in entries}
        assert entries >= concerning(s, near_at_any(system, origins))
        assert entries == concerning(s, entries)
        clean_lists(s)
        assert_complete(s, system, points)
        assert_sound_cells(s, beads)
