"""How long contacts last: what is left of one shrinks with time, is gone at the contact time, and decides e_n."""

from typing import NamedTuple

import numpy as np
import pytest

from hpcchain.contact import tc_model
from hpcchain.contact.coefficients import restitution, restitutions
from hpcchain.layout.arrays import CONTACT_RATE, PAIR_COEFFICIENTS, PARAMETERS, PUSH_ROWS, RESTITUTION_ROW, TICK
from hpcchain.layout.arrays import WHOLE_CONTACT as CONTACT
from hpcchain.layout.segment_bits import in_contact, set_in_contact

TIME = 0.02


class Sector(NamedTuple):
    """The arrays of a sector that are read here."""

    par: np.ndarray
    segment: np.ndarray
    starts: np.ndarray
    coefficients: np.ndarray
    matrix: np.ndarray
    tied: np.ndarray
    extended: None = None


def sector(left, contact_time=TIME, pairs=((0, 1),)):
    """Return beads of whose last contacts that is left; segments begin at 5 ticks."""
    par, segment, starts = np.zeros(PARAMETERS), np.zeros((len(left), 4), dtype=np.int64), np.zeros((len(left), 8))
    par[CONTACT_RATE], par[TICK] = tc_model.contact_rate(contact_time), 2.0**-6
    starts[:, 6] = 5.0
    for i, value in enumerate(left):
        set_in_contact(segment, i, value)
    table = np.full((1, PAIR_COEFFICIENTS), 0.3)
    table[0, 2] = 0.0
    return Sector(par, segment, starts, table, np.zeros((PUSH_ROWS, 4)), np.array(pairs))


@pytest.mark.parametrize(
    ("dt", "left"),
    [
        (0.0, CONTACT),
        (-1e-18, CONTACT),
        (0.25 * TIME, 3 * CONTACT // 4),
        (1e-300, CONTACT - 1),
        (TIME * (1 - 1e-9), 0),
        (TIME * (1 - 1e-7), 1),
        (TIME, 0),
        (1.0, 0),
        (1e60, 0),
    ],
)
def test_a_contact_is_over_after_the_contact_time(dt, left):
    par, segment, *_ = sector([CONTACT])
    assert tc_model.left_after(par, segment, 0, dt) == left


def test_time_passes_for_all_beads_of_a_range_and_no_others():
    par, segment, *_ = sector([CONTACT, CONTACT, CONTACT // 2, 0, CONTACT])
    tc_model.pass_time(par, segment, 1, 3, 0.5 * TIME)
    assert [in_contact(segment, i) for i in range(5)] == [CONTACT, CONTACT // 2, 0, 0, CONTACT]


def test_halves_make_a_whole():
    """Cutting a flight in many segments shortens a contact by less than a millionth each."""
    par, segment, *_ = sector([CONTACT])
    for _ in range(1000):
        tc_model.pass_time(par, segment, 0, 1, 0.0005 * TIME)
    assert abs(in_contact(segment, 0) / CONTACT - 0.5) < 1000 * 2.0**-24


@pytest.mark.parametrize(
    ("left", "pair", "e"),
    [
        ([0, 0], (0, 1), 0.3),
        ([1, 0], (0, 1), 1.0),
        ([0, 1], (0, 1), 1.0),
        ([0, 0], (0, -1), 0.3),
        ([7, 0], (0, -3), 1.0),
        ([0, 7], (0, -1), 0.3),
    ],
)
def test_energy_is_kept_where_either_bead_has_a_contact(left, pair, e):
    s = sector(left, pairs=[pair])
    for time, expected in ((5.0, e), (5.0 + 2 * TIME * 2.0**6, 0.3)):
        assert restitution(s, *pair, time, 0.0) == (expected, 1.0)
        restitutions(s, 1, time, 0.0)
        assert s.matrix[RESTITUTION_ROW, 0] == expected


def test_contacts_together_have_one_coefficient():
    s = sector([0, 0, 0, 9], pairs=[[0, 1], [1, 2], [3, -2]])
    found = []
    for count in (1, 2, 3):
        restitutions(s, count, 5.0, 0.0)
        found.append(s.matrix[RESTITUTION_ROW, :count].tolist())
    assert found == [[0.3], [0.3, 0.3], [1.0, 1.0, 1.0]]


def test_without_a_contact_time_nothing_is_left_of_a_contact():
    s = sector([0, 0], contact_time=0.0)
    tc_model.begin_contact(s.par, s.segment, 0)
    tc_model.pass_time(s.par, s.segment, 0, 2, 1.0)
    assert not s.segment.any() and restitution(s, 0, 1, 5.0, 0.0) == (0.3, 1.0)
    par, segment, *_ = sector([0, 0])
    tc_model.begin_contact(par, segment, 1)
    assert [in_contact(segment, i) for i in range(2)] == [0, CONTACT]
