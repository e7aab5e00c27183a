"""When a guess is given up because a molecule has had more contacts than any sound window has."""

from types import SimpleNamespace

import numpy as np
import pytest

from hpcchain.layout.arrays import (
    EVENT_COLUMNS,
    EVENT_MEMBERS,
    MOL_BEADS,
    MOL_FIRST,
    PART_CHAIN,
    PART_PLACE,
    SCALAR_EVENT,
)
from hpcchain.sector.window import EVENTS_PER_BEAD, MOST_EVENTS, Window

MOLECULES, BEADS = 50, 5
MOST = MOST_EVENTS + EVENTS_PER_BEAD * BEADS


def after(events):
    """Return a window in which events of (members) have been signed, those of an earlier window behind them."""
    table = np.zeros((len(events) + 1000, EVENT_COLUMNS), dtype=np.int64)
    table[len(events) + 1 :, :3] = 2, 7, 8
    for row, members in zip(table[1:], events, strict=False):
        row[0] = len(members)
        row[EVENT_MEMBERS : EVENT_MEMBERS + len(members)] = members
    scalars, mol = np.zeros(64, dtype=np.int64), np.zeros((MOLECULES, 32), dtype=np.int64)
    scalars[SCALAR_EVENT], mol[:, MOL_BEADS] = len(events), BEADS
    mol[:, MOL_FIRST] = BEADS * np.arange(MOLECULES)
    return SimpleNamespace(
        core=SimpleNamespace(
            sector=SimpleNamespace(window_event=table, scalars=scalars, mol=mol), ids=np.arange(MOLECULES * BEADS)
        ),
        classes=SimpleNamespace(chain_parts=None),
    )


@pytest.mark.parametrize("others", [[], [11, 3]])
def test_one_molecule_that_goes_on_and_on_is_noticed(others):
    assert Window._rattling(after([[4, *others[:1]]] * MOST)) == -1
    assert Window._rattling(after([[4, *others]] * (MOST + 1))) == min([4, *others]) * BEADS


def test_many_contacts_of_many_molecules_are_no_rattling():
    pairs = [[k % MOLECULES, (k + 1) % MOLECULES] for k in range(MOST * MOLECULES // 2)]
    assert Window._rattling(after(pairs)) == -1


def test_places_in_the_table_that_no_member_fills_count_for_nothing():
    assert Window._rattling(after([[1 + k % 40] for k in range(30 * MOST)])) == -1


def test_longer_molecules_may_have_more_contacts():
    window = after([[4, 5]] * (MOST + 1))
    window.core.sector.mol[4:6, MOL_BEADS] = BEADS + 1
    assert Window._rattling(window) == -1


def test_the_first_part_of_a_long_chain_stands_for_all_of_it():
    """Molecules 4 to 9 are the parts of one chain, and 10 is a molecule by itself."""
    window = after([[4, 10]] * (MOST + 1))
    window.classes.chain_parts = SimpleNamespace(longest=6 * BEADS)
    window.core.sector.chain_part = np.tile([-1, 0, 0], (MOLECULES, 1))
    window.core.sector.chain_part[4:10, PART_CHAIN], window.core.sector.chain_part[4:10, PART_PLACE] = (
        0,
        np.arange(6),
    )
    assert Window._rattling(window) == 10 * BEADS
    window.core.sector.window_event[:, EVENT_MEMBERS + 1] = 4
    window.core.sector.window_event[:, 0] = 1
    assert Window._rattling(window) == -1
