"""Single beads' flights: eight as one by one in NumPy; what is left out up to a horizon meets no distance within it."""

from collections import namedtuple

import numpy as np
import pytest

from hpcchain.contact.laws.step import step_time
from hpcchain.layout import arrays as L
from hpcchain.model.system import WALL
from hpcchain.sector.search.broad_phase import all_listed
from hpcchain.sector.search.earliest_event import meet_candidates
from hpcchain.sector.search.flights import candidates_straight, candidates_within
from hpcchain.sector.segments.searches import search_one
from hpcchain.sector.serial import Engine
from tests.support.extended import gravity, step_potentials, with_extended
from tests.support.gases import gas
from tests.support.kernel_tools import events_kept


def wells(system):
    """Return a System with one well of each pair of beads."""
    names = system.topology.type_names
    one = {"distances": [1.5], "energies": [-1.0]}
    return with_extended(system, potentials=[one | {"types": [a, b]} for k, a in enumerate(names) for b in names[k:]])


def system_of(number):
    """Return one well for all; several steps of several types of unequal beads; such beads that fall among chains."""
    rng = np.random.default_rng(2)
    if number == 0:
        return wells(gas(["monomer"] * 64, 1, 1.7, diameter=1.0, random_mass=False))
    if number == 1:
        diameter = rng.choice([0.7, 0.9], size=64)
        return step_potentials(rng, gas(["monomer"] * 64, 2, 1.6, diameter=diameter))
    return gravity(rng, step_potentials(rng, gas([*["monomer"] * 60, *["chain3"] * 4], 3, 2.4)))


def event(s, i):
    """Return bead i's stored event."""
    return *s.event_time[i].tolist(), *s.next_event[i].tolist()


@pytest.mark.parametrize("number", range(3))
def test_what_is_left_out_is_not_met_and_nothing_is_missed(number):
    engine = Engine(system_of(number), shell=0.4)
    met = left_out = near_ones = 0
    for time in (0.5, 1.0, 2.0):
        engine.advance(time)
        s = engine.sector
        for i in np.flatnonzero(s.mol[s.segment[:, L.MOLECULE], L.MOL_BEADS] == 1):
            first = s.lists[i, L.LIST_FIRST]
            listed = s.neighbour[first : first + s.lists[i, L.LIST_LENGTH]].tolist()
            for horizon in (0.03, 0.2):
                near = s.found[: candidates_within(s, i, horizon)].tolist()
                assert set(near) <= set(listed)
                for j in listed:
                    late, lag = step_time(s, i, j, j, -1, s.timing[s.segment[i, L.MOLECULE], L.LENGTH], -1, False)
                    meets = late - min(lag, 0.0) <= horizon
                    assert j in near or not meets
                    met, left_out, near_ones = met + meets, left_out + (j not in near), near_ones + (j in near)
            with events_kept(s):
                search_one(s, i)
                found = event(s, i)
                meet_candidates(s, i, 0, all_listed(s, i, 0))
                assert event(s, i) == found
    assert met > 15 and near_ones < 2 * left_out and left_out > 500, (met, near_ones, left_out)


def test_between_walls_and_of_one_step_nothing_is_missed():
    system = wells(gas(["monomer"] * 27, 3, 1.9, boundary=(WALL, 0, 0), diameter=1.0))
    engine = Engine(system, shell=0.5)
    engine.advance(0.3)
    s = engine.sector
    for i in range(27):
        search_one(s, i)
        found = event(s, i)
        meet_candidates(s, i, 0, all_listed(s, i, 0))
        assert event(s, i) == found


def test_the_horizon_follows_the_pace_of_events():
    """One bead in nine meets nothing within it: it comes to that from wherever it began."""
    horizons = []
    for start in (1e-4, 10.0):
        engine = Engine(system_of(0))
        engine.sector.par[L.HORIZON] = start
        engine.advance(6.0)
        horizons.append(engine.sector.par[L.HORIZON])
    pace = 64 * 6.0 / engine.counters["contacts"] / 2
    assert all(pace < horizon < 10.0 * pace for horizon in horizons), (pace, horizons)


Listed = namedtuple("Listed", "flight lists neighbour found par scalars extended")
SMALL, ASTRAY, SIZE = 0.9, 1e-3 / 4.0, np.array([5.0, 6.0, 0.0])


def listed(rng, gravity, windowed):
    """Return what `candidates_straight` reads of 300 flights that began at a few times; some are not numbers."""
    par = np.zeros(L.PARAMETERS)
    par[L.SIZE : L.SIZE + 3], par[L.INVERSE : L.INVERSE + 2] = SIZE, 1.0 / SIZE[:2]
    par[L.WIDEST], par[L.GROWTH], par[L.ASTRAY], par[L.BEYOND] = SMALL, 1.0, ASTRAY, 0.2
    par[L.GRAVITY : L.GRAVITY + 3] = 9.0 if gravity is None else gravity
    flight = np.zeros((300, 8), dtype=np.float32)
    flight[:, :3], flight[:, 3:6] = rng.uniform(0.0, 5.0, (300, 3)), rng.normal(size=(300, 3))
    flight[:, 6], flight[:, 7] = rng.integers(0, 3, 300) / 4, rng.integers(0, 3, 300) * 1e-6
    flight[::17, :3] = np.nan
    lists = np.zeros((300, 1 + max(L.LIST_FIRST, L.LIST_LENGTH)), dtype=np.int32)
    lists[:, L.LIST_FIRST], lists[:, L.LIST_LENGTH] = rng.integers(0, 580, 300), rng.integers(0, 20, 300)
    scalars = np.zeros(L.SCALARS, dtype=np.int64)
    scalars[L.SCALAR_WINDOWED] = windowed
    neighbour = rng.integers(0, 300, 600).astype(np.int32)
    return Listed(flight, lists, neighbour, np.zeros(64, np.int64), par, scalars, None if gravity is None else (1,))


def may_meet(one, other, gravity, wide, windowed):
    """Return whether flights may bring two beads together; gravity is None in runs without extensions."""
    rough = 4.0 * ASTRAY
    lag = (one[6] - other[6]) + (one[7] - other[7])
    own, far = min(lag, 0.0), max(lag, 0.0)
    r = (one[:3] - one[3:6] * own) - (other[:3] + other[3:6] * far)
    u = one[3:6] - other[3:6]
    if gravity is not None:
        r, u = r + gravity * (0.5 * (own * own - far * far)), u - gravity * (own + far)
    r -= SIZE * np.rint(r * np.divide(1.0, SIZE, out=np.zeros(3), where=SIZE > 0.0))
    rr, uu, ru = ((a[0] * b[0] + a[1] * b[1]) + a[2] * b[2] for a, b in ((r, r), (u, u), (r, u)))
    parts = ru > 0.0 and ru * ru > rough * rough * uu and (gravity is None or rr > (wide + rough) ** 2)
    passes = rr * uu - ru * ru > (wide * wide + L.ROUGHNESS * rr) * uu
    return not ((parts or passes) and not (windowed and lag == 0.0))


@pytest.mark.parametrize("windowed", [False, True])
@pytest.mark.parametrize("gravity", [None, np.zeros(3), np.array([0.5, 0.0, -3.0])])
def test_eight_flights_as_one_by_one(windowed, gravity):
    s = listed(np.random.default_rng(6), gravity, windowed)
    wide, numbers = SMALL + 4.0 * ASTRAY + (0.0 if gravity is None else 0.2), set()
    for i in range(300):
        first, length = int(s.lists[i, L.LIST_FIRST]), int(s.lists[i, L.LIST_LENGTH])
        met = s.found[3 : 3 + candidates_straight(s, i, 3)].tolist()
        near, flight = s.neighbour[first : first + length].tolist(), s.flight.astype(float)
        assert met == [j for j in near if may_meet(flight[i], flight[j], gravity, wide, windowed)]
        numbers.add(len(met))
    assert len(numbers) > 5
