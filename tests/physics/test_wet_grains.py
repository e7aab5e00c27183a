"""Wet grains: two beads by closed forms, a gas against brute force, and bridges across ranks, restarts and ties."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.model.physics import extended
from hpcchain.model.physics.external import loses_energy
from hpcchain.model.starts.levels import wrong_level
from hpcchain.sector import core
from hpcchain.sector.serial import Engine
from tests.physics.test_step_potentials import Brute
from tests.support.checkpoints import through_file
from tests.support.extended import with_extended
from tests.support.gases import gas, monomer
from tests.support.identity import in_stages, parallel, require_same, serial
from tests.support.kernel_tools import make_system
from tests.support.whole import frame_of

FAR = 1.5
"""Where bridges break."""
MASSES = 1.0, 3.0
REDUCED = 0.75


def wet(system, energy, distance=FAR):
    """Return a System whose beads all form bridges."""
    names = system.topology.type_names
    own = {"distances": [distance], "energies": [0.0], "bridge": energy}
    pairs = [[a, b] for k, a in enumerate(names) for b in names[k:]]
    return with_extended(system, potentials=[{"types": pair} | own for pair in pairs])


def two(energy, off=0.0, speed=1.0):
    """Return two beads of diameter 1 that come at each other from a distance of 4, `off` aside."""
    beads = [([-2.0, 0.0, 0.0], [speed, 0.0, 0.0]), ([2.0, off, 0.0], [-speed, 0.0, 0.0])]
    molecules = [monomer(x, v, mass) for (x, v), mass in zip(beads, MASSES, strict=True)]
    return wet(make_system(molecules, (30.0, 30.0, 30.0), diameter=1.0), energy)


def run(system, until):
    """Return an engine at a time, and its log."""
    engine = Engine(system, log_events=True)
    engine.advance(until)
    return engine, engine.drain_events()


def bridges(engine):
    """Return the pairs that have a bridge, as each bead's table says it."""
    rows = engine.state().extra[np.argsort(engine.ids), L.INSIDE :]
    codes = [(bead, int(code)) for bead, row in enumerate(rows) for code in row[row > 0.0]]
    assert all(code % extended.LEVELS == 1 for _, code in codes)
    return {(bead, code // extended.LEVELS - 1) for bead, code in codes}


@pytest.mark.parametrize("energy", [0.0, 0.5, 1.4999])
def test_two_beads_that_have_more_part_with_what_is_left(energy):
    """Head on, with m u^2 / 2 = 1.5: they touch at 1.5, come to the distance 1.5 at 1.75, and have 1.5 - E there."""
    engine, events = run(two(energy), 9.0)
    v = frame_of(engine, 9.0)[1][:, 0]
    assert 0.5 * REDUCED * (v[1] - v[0]) ** 2 == pytest.approx(1.5 - energy, abs=1e-14)
    assert v @ MASSES == pytest.approx(-2.0, abs=1e-14)
    assert events["kind"].tolist() == ([0, 3] if energy else [0])  # without energy there is no impulse to log
    assert events["time"].tolist() == pytest.approx([1.5, 1.75][: len(events)], abs=1e-14)
    assert not bridges(engine) and not engine.energies()[:, 0].any() and engine.counters["contacts"] == len(events)


def test_two_beads_that_have_less_stay_together():
    engine, events = run(two(1.5001), 9.9)
    assert events["kind"].tolist() == [0, *[4, 0] * 16, 4]  # one event in each quarter from 1.5 on, the last at 9.75
    np.testing.assert_allclose(events["time"], 1.5 + 0.25 * np.arange(34), rtol=0, atol=1e-12)
    assert bridges(engine) == {(0, 1), (1, 0)}
    v = frame_of(engine, 9.9)[1][:, 0]
    assert 0.5 * REDUCED * (v[1] - v[0]) ** 2 == pytest.approx(1.5, abs=1e-13)


@pytest.mark.parametrize("off", [1.2, 1.6])
def test_beads_that_pass_stay_dry(off):
    engine, events = run(two(0.5, off), 9.0)
    assert len(events) == 0 and engine.counters["grazes"] == 0 and not bridges(engine)
    np.testing.assert_array_equal(frame_of(engine, 9.0)[1][:, 0], [1.0, -1.0])


def test_the_energy_along_the_normal_decides():
    """Off the axis: of m u^2 / 2 = 1.5 a part is across where the bridge breaks, which keeps angular momentum."""
    off = 0.6
    engine, events = run(two(0.5, off), 9.0)
    assert events["kind"].tolist() == [0, 3]
    v = frame_of(engine, 9.0)[1]
    relative = v[1] - v[0]
    assert 0.5 * REDUCED * relative @ relative == pytest.approx(1.0, abs=1e-13)
    along = 1.5 * (1.0 - (off / FAR) ** 2)
    assert run(two(0.999 * along, off), 4.0)[1]["kind"].tolist()[1] == 3
    assert run(two(1.001 * along, off), 4.0)[1]["kind"].tolist()[1] == 4


class Wet(Brute):
    """Single wet beads, by looking at all pairs after every event."""

    def __init__(self, system, energy):
        super().__init__(system, [FAR], [0.0])
        self.level[:] = 0
        self.bridge = energy

    def step(self):
        """Carry out the next event; return its time, beads and kind."""
        r, u = self.apart()
        a, b, rr = np.sum(u * u, axis=1), np.sum(r * u, axis=1), np.sum(r * r, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            disc = b * b - a * (rr - 1.0)
            enter = np.where((b < 0) & (disc > 0), (rr - 1.0) / (-b + np.sqrt(disc)), np.inf)
            leave = (-b + np.sqrt(np.maximum(b * b - a * (rr - FAR**2), 0.0))) / a
        leave[self.level == 0] = np.inf
        k = int(np.argmin(np.minimum(enter, leave)))
        touches, dt = enter[k] < leave[k], min(enter[k], leave[k])
        self.x += self.v * dt
        self.time += dt
        return self.time, (int(self.i[k]), int(self.j[k])), self.meet(k, touches)

    def meet(self, k, touches):
        """Change the velocities of pair k; return the event's kind."""
        i, j = self.i[k], self.j[k]
        r, u = (array[k] for array in self.apart())
        n = r / np.sqrt(r @ r)
        un, inverse = n @ u, 1.0 / self.mass[i] + 1.0 / self.mass[j]
        left = un**2 - 2.0 * self.bridge * inverse
        breaks = not touches and left > 0.0
        self.level[k] = 0 if breaks else 1
        p = ((np.sqrt(left) if breaks else -un) - un) / inverse
        self.v[i] += p / self.mass[i] * n
        self.v[j] -= p / self.mass[j] * n
        return 0 if touches else 3 if breaks else 4


def grains(seed, energy=0.4, count=27):
    """Return a gas of wet beads of diameter 1."""
    return wet(gas(["monomer"] * count, seed, 1.83, diameter=1.0), energy)


def test_events_are_those_of_brute_force():
    system = grains(1)
    engine, found = run(system, 4.0)
    brute = Wet(system, 0.4)
    expected = [brute.step() for _ in range(len(found))]
    assert len(found) > 100 and {*found["kind"]} == {0, 3, 4}
    assert found["kind"].tolist() == [kind for *_, kind in expected]
    assert found["bead"].tolist() == [list(pair) for _, pair, _ in expected]
    np.testing.assert_allclose(found["time"], [time for time, *_ in expected], rtol=0, atol=1e-6)
    pairs = {(int(i), int(j)) for i, j, level in zip(brute.i, brute.j, brute.level, strict=True) if level}
    assert pairs and bridges(engine) == pairs | {(j, i) for i, j in pairs}


def test_a_gas_cools_by_what_its_bridges_take():
    """The energy falls by E a bridge that breaks, and by nothing else; momentum stays."""
    system = grains(2)
    mass, v = system.topology.whole().mass, system.state.velocity
    engine, events = run(system, 3.0)
    w = frame_of(engine, 3.0)[1]
    broken = np.count_nonzero(events["kind"] == 3)
    before, after = (0.5 * mass @ np.sum(each**2, axis=1) for each in (v, w))
    assert broken > 20 and after == pytest.approx(before - 0.4 * broken, rel=1e-12)
    np.testing.assert_allclose(mass @ w, mass @ v, rtol=0, atol=1e-12)
    assert engine.sums[L.SUM_WORK] == engine.sums[L.SUM_HEAT] == 0 and not engine.energies()[:, 0].any()


def test_without_energy_beads_meet_as_dry_ones():
    system = grains(3, 0.0)
    dry = with_extended(system, potentials=[])
    found, expected = (run(each, 1.5)[1] for each in (system, dry))
    assert len(expected) > 20 and found["bead"].tolist() == expected["bead"].tolist()
    np.testing.assert_allclose(found["time"], expected["time"], rtol=0, atol=1e-9)
    assert loses_energy(grains(3).physics) and not loses_energy(system.physics)


def test_ranks_and_restarts_leave_no_trace(tmp_path):
    system = wet(gas([*["monomer"] * 20, *["chain3"] * 3, "dimer"], 5, 2.5), 0.2, 1.2)
    one = serial(system, 3.0)
    assert np.count_nonzero(one.events["kind"] == 3) > 3 and np.count_nonzero(one.state.extra[:, L.INSIDE :]) > 3
    require_same(one, parallel(system, 3.0, 3, window=0.2), "3 ranks")
    half = serial(system, 2.0)
    assert half.state.extra[:, L.INSIDE :].any()
    went_on = serial(through_file(tmp_path / "c.h5", replace(system, state=half.state), 2.0), 3.0)
    np.testing.assert_array_equal(np.concatenate([half.events, went_on.events]), one.events)
    for found, expected in zip(went_on.frame, one.frame, strict=True):
        np.testing.assert_array_equal(found, expected)
    require_same(one, in_stages(system, [(1.1, 2, {}), (2.3, 0, {}), (3.0, 3, {})]), "in stages")


@pytest.mark.parametrize("energy", [0.01, 5.0])
def test_all_contacts_at_one_instant_form_bridges(monkeypatch, energy):
    """Four beads fly at the corners of a tetrahedron to one in its middle; tables begin with space for two bridges."""
    for module in (extended, core):
        monkeypatch.setattr(module, "INSIDE_COLUMNS", 2)
    drift = np.array([0.25, 0.125, 0.0])
    corners = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
    molecules = [monomer(np.zeros(3), drift), *(monomer(x, drift - x) for x in corners)]
    system = wet(make_system(molecules, (20.0, 20.0, 20.0), diameter=1.0), energy)
    touch = 1.0 - 3.0**-0.5
    engine, events = run(system, touch + 0.1)
    assert events["kind"].tolist() == [0] * 4 and engine.counters["ties"] == 1
    star = {(0, k) for k in range(1, 5)} | {(k, 0) for k in range(1, 5)}
    assert bridges(engine) == star
    engine, _ = run(system, 2.0)
    assert bridges(engine) == (set() if energy < 1.0 else star)
    require_same(serial(system, 2.0), parallel(system, 2.0, 2, window=0.3), "a tie on 2 ranks")


def test_pairs_may_be_near_without_a_bridge_but_not_far_with_one():
    system = grains(4)
    engine = Engine(system)
    engine.advance(2.0)
    x, inside = frame_of(engine, 2.0)[0], engine.state().extra[np.argsort(engine.ids), L.INSIDE :]
    ids, home = np.arange(len(x)), np.ones(len(x), dtype=bool)

    def wrong(table):
        return wrong_level(system.box, system.topology.whole(), system.physics, ids, x, table, home)

    assert inside.any() and wrong(inside) is None and wrong(0.0 * inside) is None
    far = np.zeros_like(inside)
    gap = x - x[0] - system.box.size * np.rint((x - x[0]) / system.box.size)
    other = int(np.argmax(np.sum(gap**2, axis=1)))
    far[0, 0], far[other, 0] = (other + 1) * extended.LEVELS + 1, extended.LEVELS + 1
    assert wrong(far)[:2] == (0, other)
