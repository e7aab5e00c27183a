"""How long contacts last: what is left of one shrinks with time, is gone at the contact time, and decides e_n."""

from typing import NamedTuple

import numpy as np
import pytest

from hpcchain.contact import coefficients
from hpcchain.contact.coefficients import restitution, restitutions
from hpcchain.layout.arrays import CONTACT_RATE, PARAMETERS, RESTITUTION_ROW, TICK
from hpcchain.layout.arrays import WHOLE_CONTACT as CONTACT
from hpcchain.layout.segment_bits import in_contact, set_in_contact
from tests.support.kernel_tools import make_system, plain_sector, random_chain, set_now

TIME = 0.02


class Sector(NamedTuple):
    """The arrays of a sector that are read here."""

    par: np.ndarray
    segment: np.ndarray
    starts: np.ndarray


def sector(left, contact_time=TIME):
    """Return beads of whose last contacts that is left; segments begin at 5 ticks."""
    par, segment, starts = np.zeros(PARAMETERS), np.zeros((len(left), 4), dtype=np.int64), np.zeros((len(left), 8))
    par[CONTACT_RATE], par[TICK] = coefficients.contact_rate(contact_time), 2.0**-6
    starts[:, 6] = 5.0
    for i, value in enumerate(left):
        set_in_contact(segment, i, value)
    return Sector(par, segment, starts)


def run_of(left, contact_time=TIME, pairs=((0, 1),)):
    """Return the sector of a run of single beads with e_n = 0.3, of whose last contacts that is left at time 0."""
    beads = [random_chain(1, number) for number in range(len(left))]
    s = plain_sector(make_system(beads, restitution=0.3, contact_time=contact_time))
    for i, value in enumerate(left):
        set_in_contact(s.segment, i, value)
    s.tied[: len(pairs)] = pairs
    return s


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
    s = sector([CONTACT])
    assert coefficients.left_after(s, 0, dt) == left


def test_time_passes_for_all_beads_of_a_range_and_no_others():
    s = sector([CONTACT, CONTACT, CONTACT // 2, 0, CONTACT])
    coefficients.pass_time(s, 1, 3, 0.5 * TIME)
    assert [in_contact(s.segment, i) for i in range(5)] == [CONTACT, CONTACT // 2, 0, 0, CONTACT]


def test_halves_make_a_whole():
    """Cutting a flight in many segments shortens a contact by less than a millionth each."""
    s = sector([CONTACT])
    for _ in range(1000):
        coefficients.pass_time(s, 0, 1, 0.0005 * TIME)
    assert abs(in_contact(s.segment, 0) / CONTACT - 0.5) < 1000 * 2.0**-24


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
    s = run_of(left, pairs=[pair])
    for time, expected in ((0.0, e), (2 * TIME, 0.3)):
        set_now(s, 0.0, time)
        assert restitution(s, *pair) == (expected, 1.0)
        restitutions(s, 1)
        assert s.matrix[RESTITUTION_ROW, 0] == expected


def test_contacts_together_have_one_coefficient():
    s = run_of([0, 0, 0, 9], pairs=[[0, 1], [1, 2], [3, -2]])
    set_now(s, 0.0, 0.0)
    found = []
    for count in (1, 2, 3):
        restitutions(s, count)
        found.append(s.matrix[RESTITUTION_ROW, :count].tolist())
    assert found == [[0.3], [0.3, 0.3], [1.0, 1.0, 1.0]]


def test_without_a_contact_time_nothing_is_left_of_a_contact():
    s = run_of([0, 0], contact_time=0.0)
    coefficients.begin_contact(s, 0)
    coefficients.pass_time(s, 0, 2, 1.0)
    assert in_contact(s.segment, 0) == in_contact(s.segment, 1) == 0
    set_now(s, 0.0, 0.0)
    assert restitution(s, 0, 1) == (0.3, 1.0)
    s = sector([0, 0])
    coefficients.begin_contact(s, 1)
    assert [in_contact(s.segment, i) for i in range(2)] == [0, CONTACT]
