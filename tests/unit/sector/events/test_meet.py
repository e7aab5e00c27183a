"""What is counted and logged of a contact: one count, one row, ids in order, whole quanta."""

import numpy as np
import pytest

from hpcchain.contact.laws.contact import along_normal
from hpcchain.layout import arrays as L
from hpcchain.model.system import PERIODIC, WALL
from hpcchain.sector.events.meet import meet
from hpcchain.sector.events.note import record
from hpcchain.sector.events.simultaneous import MET, others_due
from hpcchain.sector.serial import Engine
from tests.support.extended import rough
from tests.support.kernel_tools import make_system, plain_sector, random_chain, set_now
from tests.support.whole import state_of

TIME, SIZE = 1.25, 3.0


@pytest.fixture
def sector():
    """Return a sector of a chain of three and a single bead between two walls."""
    system = make_system([random_chain(3, 1), random_chain(1, 2)], boundary=(WALL, PERIODIC, PERIODIC))
    s = plain_sector(system)
    set_now(s, 0.0, TIME)
    return s


@pytest.mark.parametrize(("i", "partner"), [(1, 3), (3, 1)])
def test_a_contact_is_one_count_and_one_row(sector, i, partner):
    moment = 1000.4 * sector.par[L.QUANTUM]
    record(sector, i, partner, along_normal(SIZE), moment, 0.0)
    assert sector.count[L.N_CONTACTS] == sector.count[L.N_LOGGED] == 1 and sector.count[L.N_WALL_CONTACTS] == 0
    assert sector.scalars[L.SCALAR_VIRIAL] == 1000
    row = sector.log[0]
    assert row[[L.LOG_TIME, L.LOG_KIND, L.LOG_LOWER, L.LOG_HIGHER]].tolist() == [TIME, 0.0, 1.0, 3.0]
    assert row[[L.LOG_IMPULSE, L.LOG_QUANTA, L.LOG_STATUS]].tolist() == [SIZE, 1000.0, L.VALID]
    assert row[L.LOG_MOLECULE] == 0  # that of the lower bead


@pytest.mark.parametrize(("code", "axis"), [(-1, 0), (-2, 1), (-3, 2), (-4, 0), (-5, 1), (-6, 2)])
def test_walls_count_their_impulse_along_their_axis(sector, code, axis):
    size = 7.0 * sector.par[L.IMPULSE_QUANTUM]
    record(sector, 3, code, along_normal(size), 0.0, 0.0)
    assert sector.count[L.N_WALL_CONTACTS] == 1 and sector.count[L.N_CONTACTS] == 0
    walls = sector.scalars[L.SCALAR_WALL_IMPULSE : L.SCALAR_WALL_IMPULSE + L.AXES]
    assert walls.tolist() == [7 * (k == axis) for k in range(3)]
    assert sector.log[0, [L.LOG_KIND, L.LOG_LOWER, L.LOG_HIGHER, L.LOG_MOLECULE]].tolist() == [1.0, 3.0, code, 1.0]


def test_in_a_window_a_contact_is_logged_and_not_yet_counted(sector):
    sector.scalars[L.SCALAR_WINDOWED] = 1
    record(sector, 1, 3, along_normal(SIZE), 5.0, 0.0)
    assert sector.count[L.N_LOGGED] == 1 and sector.count[L.N_CONTACTS] == 0 == sector.scalars[L.SCALAR_VIRIAL]


def test_without_a_log_contacts_are_counted_alone(sector):
    record(sector._replace(log=np.zeros((0, L.LOG_COLUMNS))), 1, 3, along_normal(SIZE), 5.0, 0.0)
    assert sector.count[L.N_CONTACTS] == 1 and sector.count[L.N_LOGGED] == 0 and not sector.log.any()


def parting(**physics):
    """Return two trimers of which the beads 2 and 3 fly apart from where they touch."""
    (bonds, x, v, mass), (_, y, w, other) = random_chain(3, 1), random_chain(3, 2)
    y = y - y[0] + x[2] + [1.0, 0.0, 0.0]
    w = w + [v[2, 0] - w[0, 0] + 1.0, 0.0, 0.0]
    return make_system([(bonds, x, v, mass), (bonds, y, w, other)], **physics)


@pytest.mark.parametrize("e_t", [1.0, pytest.param(-1.0, marks=pytest.mark.long)], ids=["smooth", "rough"])
def test_a_graze_keeps_the_energy_of_molecules_moved_by_collocation(e_t):
    """They are put on their bonds for it; what that takes is given back, and they part."""
    system = parting(propagator="collocation", step=0.4, stages=2)
    if e_t != 1.0:
        system = rough(system, np.full((6, 3), 0.2), e_t)
    engine = Engine(system)
    s, i, j = engine.sector, *np.argsort(engine.ids)[2:4]
    set_now(s, 0.0, 0.1)
    assert meet(s, i, j, False, False) == (MET, 2)
    state, top = state_of(engine), system.topology.whole()
    before, after = (0.5 * top.mass @ np.sum(one.velocity**2, axis=1) for one in (system.state, state))
    if e_t != 1.0:
        before, after = (
            energy + 0.5 * top.moment @ np.sum(one.extra[:, L.SPIN : L.SPIN + 3] ** 2, axis=1)
            for energy, one in ((before, system.state), (after, state))
        )
    assert after == pytest.approx(before, rel=1e-14)
    np.testing.assert_allclose(top.mass @ state.velocity, top.mass @ system.state.velocity, atol=1e-14)
    assert (state.position[3] - state.position[2]) @ (state.velocity[3] - state.velocity[2]) > 0.0


def test_events_of_other_beads_at_one_instant_are_seen(sector):
    """Those of the two beads in contact do not count, nor what comes later than simultaneous events may."""
    s, near = sector, 0.5 * sector.par[L.SIMULTANEOUS]
    set_now(s, 3.0, 0.0)
    s.event_time[:] = np.inf
    s.event_time[0], s.event_time[1] = (3.0, 0.0), (3.0, near)
    assert not others_due(s, 0, 4, 0, 1)
    assert others_due(s, 0, 4, 0, 2)
    assert not others_due(s, 2, 2, 0, 2)
    s.event_time[1, L.EVENT_REM] = 4.0 * near
    assert not others_due(s, 0, 4, 0, 2)
    s.event_time[1] = 4.0, near - s.par[L.TICK]  # the same instant, written with another tick
    assert others_due(s, 0, 4, 0, 2)
