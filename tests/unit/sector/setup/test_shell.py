"""Where beads are far apart, the work of lists goes with contacts and mean distances, not with diameters."""

import numpy as np
import pytest

from hpcchain.layout import arrays as L
from hpcchain.model.system import OPEN, PERIODIC
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.windows import WindowedEngine
from hpcchain.sector.serial import Engine
from hpcchain.sector.setup.allocate import most_cells
from hpcchain.sector.setup.shell import default_shell, filled, is_dilute
from tests.support.gases import monomer
from tests.support.identity import parallel, require_same, serial
from tests.support.kernel_tools import chain_bonds, make_system


def beads(places, size, velocity=None, boundary=(PERIODIC,) * 3, diameter=1.0):
    """Return single beads at places about the box's centre, of random velocities if none are given."""
    places = np.asarray(places, dtype=float)
    velocity = np.random.default_rng(3).normal(size=places.shape) if velocity is None else velocity
    molecules = [monomer(x, v) for x, v in zip(places, velocity, strict=True)]
    return make_system(molecules, np.array(size, dtype=float), boundary, diameter=diameter)


def lattice(number, pitch):
    """Return the places of a cube of so many beads along each edge."""
    return (np.array(list(np.ndindex(number, number, number))) - 0.5 * (number - 1)) * pitch


def gas(number, fraction, **settings):
    """Return single beads on a lattice that fills the box, at a packing fraction."""
    pitch = (np.pi / 6.0 / fraction) ** (1.0 / 3.0)
    return beads(lattice(number, pitch), (number * pitch,) * 3, **settings)


def shell_of(system):
    return default_shell(system, system.state.position[system.topology.whole().first_bead[:-1]])


@pytest.mark.parametrize(("sides", "volume", "edge"), [((4, 4, 4), 8, 2), ((9, 1, 1), 5, 5), ((8, 2, 8), 18, 3)])
def test_a_cube_that_is_cut_off_at_the_sides_of_a_box(sides, volume, edge):
    assert filled(np.array(sides), volume) == pytest.approx(edge)


def test_the_shell_goes_by_the_mean_distance_where_that_is_long():
    """By that about the beads: a droplet in a wide box has nearly the shell of a liquid."""
    for fraction, shell in ((0.3, 0.315), (0.1, 0.601), (0.031, 1.2)):
        assert shell_of(gas(6, fraction)) == pytest.approx(shell, abs=0.002)
        assert not is_dilute(gas(6, fraction))
    assert shell_of(gas(6, 3e-5)) == pytest.approx(12.0, abs=0.01)
    assert shell_of(gas(10, 0.4)) == pytest.approx(0.279, abs=0.002)
    for number in (5, 10, 15):
        assert 0.2 < shell_of(beads(lattice(number, 1.1), (400.0,) * 3)) < 0.45
    anywhere = np.random.default_rng(7).uniform(-200.0, 200.0, (500, 3))
    assert shell_of(beads(anywhere, (400.0,) * 3)) == shell_of(beads(lattice(8, 50.0)[:500], (400.0,) * 3))
    assert shell_of(beads(np.arange(200)[:, None] * [50.0, 0.0, 0.0], (1e4, 2.2, 2.2))) > 10.0


def test_the_shell_of_molecules_goes_by_their_bonds_where_they_are_long():
    """No list has all beads of a long chain; small beads on long bonds have wider shells than their diameter's."""

    def chain(number, diameter):
        places = np.arange(number)[:, None] * np.array([1.0, 0.0, 0.0])
        molecule = (chain_bonds(number), places, np.zeros((number, 3)), np.ones(number))
        return shell_of(make_system([molecule], np.full(3, 300.0), diameter=diameter))

    assert chain(100, 1.0) == pytest.approx(0.6)
    assert chain(100, 0.01) == pytest.approx(0.3)
    assert chain(4, 1.0) > 20.0


@pytest.mark.parametrize("boundary", [PERIODIC, OPEN])
def test_lists_are_renewed_as_often_however_small_beads_are(boundary):
    """They are some times for each mean distance that a bead flies, as long as hardly any meet."""
    renewals = []
    for diameter in (1e-2, 1e-4, 1e-6):
        engine = Engine(beads(lattice(4, 0.75), (3.0,) * 3, boundary=(boundary,) * 3, diameter=diameter))
        engine.advance(10.0)
        flown = float(np.linalg.norm(engine.frame(10.0)[1], axis=1).sum()) * 10.0
        renewals.append(engine.counters["relists"] * 0.75 / flown)
    assert max(renewals) < 5.0


def test_two_beads_in_a_wide_box_fly_across_it_between_two_lists():
    """With the lists of their diameters a list were renewed every 0.7 of time; no bit depends on that."""
    places, velocity = np.array([[-2e5, -3.5e5, -3e5], [0.0, 0.0, 0.0]]), np.array([[1.0, 0.3, 0.0], [-1.0, 0.2, 0.1]])
    system = beads(places, (1e6,) * 3, velocity)
    engine = Engine(system)
    engine.advance(1e7)
    assert engine.counters["relists"] < 100
    require_same(serial(system, 1e5), serial(system, 1e5, shell=1.2, cell=1e3), "lists of diameters")


@pytest.mark.parametrize(
    ("size", "places"),
    [
        ((1e4, 2.2, 2.2), lattice(10, 1.0) * 0.01 + np.arange(1000)[:, None] * [4.0, 0.0, 0.0] - [1998.0, 0.0, 0.0]),
        ((1e3, 1e3, 1e3), lattice(10, 1.15)),
        ((1e3, 1e3, 1e3), lattice(10, 99.0)),
    ],
)
def test_cells_are_few_and_nearly_empty(size, places):
    """In a long box, of a droplet in a wide one, and of a gas: their number goes with that of beads."""
    engine = Engine(beads(places, size))
    cells = engine.sector.cells
    assert cells[L.CELL_COUNT] <= most_cells(1000)
    held = np.bincount(engine.sector.origin_fractions[:1000, L.CELL], minlength=cells[L.CELL_COUNT])
    assert np.sum(held**2) / 1000 < 12.0
    assert engine.sector.lists[:1000, L.LIST_LENGTH].mean() < 30.0


def test_no_list_has_an_entry_when_they_are_made():
    """Lists of a dilute lattice get as much capacity as those of the gas that it becomes."""
    places, calls = lattice(9, 3.5), iter(range(10**9))
    engine = Engine(beads(places, (31.5,) * 3), shell=1.2)
    assert engine.sector.lists[:, L.LIST_LENGTH].sum() == 0
    assert engine.advance(5.0, pause=lambda: next(calls) > 1000)
    assert engine.sector.lists[:, L.LIST_LENGTH].sum() > 1100


def test_the_shell_follows_beads_that_spread_or_gather():
    """It leaves no trace, on one rank or several."""
    places = lattice(6, 1.2)
    spreading = beads(places, (60.0,) * 3)
    inwards = np.random.default_rng(4).normal(size=(216, 3)) * 0.2 - lattice(6, 9.0) * 0.1
    gathering = beads(lattice(6, 9.0), (60.0,) * 3, inwards)
    for system, end, grows in ((spreading, 40.0, True), (gathering, 9.5, False)):
        engine = Engine(system)
        first = engine.sector.par[L.SHELL]
        engine.advance(end, pause=lambda: False)
        shells = sorted([first, engine.sector.par[L.SHELL]])
        assert shells[1] > 1.5 * shells[0]
        assert (engine.sector.par[L.SHELL] > first) == grows
        one = serial(system, end)
        require_same(one, serial(system, end, shell=0.8), "another shell")
        require_same(one, parallel(system, end, 2), "two ranks")


def test_windows_of_beads_that_fly_fast_together_are_short():
    """A window has some ends of segments and renewals of each bead's list: each step looks at all."""
    rng = np.random.default_rng(8)
    velocity = rng.normal(size=(64, 3)) + [900.0, -300.0, 400.0]
    system = beads(lattice(4, 2.0), (8.0,) * 3, velocity)

    def body(exchange):
        engine = WindowedEngine(system, exchange)
        engine.advance(0.5)
        capacities = engine.ghosted.core.sector.lists[:, L.LIST_CAPACITY]
        return engine.counters, engine.statistics.counts["windows"], capacities.mean()

    for counters, windows, _ in on_ranks(2, body):
        assert counters["relists"] + counters["segment_ends"] < 64 * 60 * windows
    require_same(serial(system, 0.1), parallel(system, 0.1, 2), "two ranks")


def test_a_part_of_the_box_is_no_droplet():
    """On several ranks, each of which has the molecules of its sector, the shell of a gas is that of one rank."""
    system = gas(8, 1e-3)
    ghosts = on_ranks(4, lambda exchange: WindowedEngine(system, exchange).ghosts)
    assert [each.builder.options.shell for each in ghosts] == [shell_of(system)] * 4


def test_lists_of_wide_shells_take_no_more_capacity_on_several_ranks():
    def body(exchange):
        return WindowedEngine(gas(6, 1e-4), exchange).ghosted.core.sector.lists[:, L.LIST_CAPACITY].mean()

    assert max(on_ranks(2, body)) < 40.0
