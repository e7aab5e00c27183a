"""The search up to a horizon: what is left out meets no distance within it, and the earliest event is that of all."""

import numpy as np
import pytest

from hpcchain.contact.laws.step import step_time
from hpcchain.layout import arrays as L
from hpcchain.model.system import WALL
from hpcchain.sector.search.broad_phase import all_listed
from hpcchain.sector.search.earliest_event import candidates_within, meet_candidates, search_bead
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
                    late, lag = step_time(s, i, j, j, -1, s.timing[s.segment[i, L.MOLECULE], L.LENGTH], -1)
                    meets = late - min(lag, 0.0) <= horizon
                    assert j in near or not meets
                    met, left_out, near_ones = met + meets, left_out + (j not in near), near_ones + (j in near)
            with events_kept(s):
                search_bead(s, i, s.stepper, s.extended)
                found = event(s, i)
                meet_candidates(s, i, 0, all_listed(s, i, 0), s.stepper, s.extended)
                assert event(s, i) == found
    assert met > 15 and near_ones < 2 * left_out and left_out > 500, (met, near_ones, left_out)


def test_between_walls_and_of_one_step_nothing_is_missed():
    system = wells(gas(["monomer"] * 27, 3, 1.9, boundary=(WALL, 0, 0), diameter=1.0))
    engine = Engine(system, shell=0.5)
    engine.advance(0.3)
    s = engine.sector
    for i in range(27):
        search_bead(s, i, s.stepper, s.extended)
        found = event(s, i)
        meet_candidates(s, i, 0, all_listed(s, i, 0), s.stepper, s.extended)
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
