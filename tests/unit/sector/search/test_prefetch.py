"""Whose memory is asked for: who comes next, each once, then its event's partner; nobody who is no longer there."""

import numpy as np

from hpcchain.jit.decorators import kernel
from hpcchain.layout.arrays import MOL_BEADS, MOLECULE, ROOT, SCALAR_BEADS, SCALAR_MOLECULES, TICK, TOP
from hpcchain.sector.queue.event_order import next_time_of
from hpcchain.sector.search.prefetch import (
    AT_ONCE,
    BEAD,
    FIRST_ROW,
    LAST,
    MET,
    MET_BEFORE,
    NEXT,
    ROWS,
    THEN,
    ask_for_next,
    choose_next,
)
from hpcchain.sector.serial import Engine
from tests.support.gases import MIXTURE, gas
from tests.support.kernel_tools import partners_of


@kernel
def ask_once(s):
    """Call `ask_for_next`, which is inlined."""
    ask_for_next(s)


def fresh_sector():
    """Return a sector of some sixty molecules in motion, of which nobody was asked for."""
    engine = Engine(gas(MIXTURE * 9, 1, 6.5))
    engine.advance(0.2)
    engine.sector.prefetch_state[:] = -1
    return engine.sector


def test_the_earliest_are_chosen_first_and_once():
    s = fresh_sector()
    parts = [int(m) for m in s.winner[FIRST_ROW : FIRST_ROW + ROWS].ravel() if m >= 0]
    assert len(parts) > 4
    chosen = []
    for _ in range(len(parts)):
        choose_next(s)
        assert s.prefetch_state[BEAD] == 0
        chosen.append(int(s.prefetch_state[NEXT]))
    keys = [next_time_of(s, m)[0] * s.par[TICK] + next_time_of(s, m)[1] for m in chosen]
    assert chosen[0] == s.winner[TOP, ROOT] and np.all(np.diff(keys) >= 0.0) and sorted(chosen) == sorted(parts)
    choose_next(s)
    assert s.prefetch_state[BEAD] == -1


def beads_of(s, m):
    """Return how many beads molecule m has."""
    return int(s.mol[m, MOL_BEADS])


def ask_for_beads(s):
    """Ask for all beads of the molecule that was chosen, which is all that happens; return it."""
    m = int(s.prefetch_state[NEXT])
    for _ in range(1 + -(-beads_of(s, m) // AT_ONCE)):
        assert s.prefetch_state[NEXT] == m and 0 <= s.prefetch_state[BEAD] <= beads_of(s, m)
        ask_once(s)
    assert s.prefetch_state[NEXT] == m and s.prefetch_state[BEAD] > beads_of(s, m)
    return m


def partner_of(s, m):
    """Return the other molecule of molecule m's next event, None where there is none."""
    partner = partners_of(s)[s.holder[m]] if s.holder[m] >= 0 else -1
    other = int(s.segment[partner, MOLECULE]) if partner >= 0 else m
    return other if other != m else None


def earliest_unasked(s):
    """Return the earliest of those first in a part of the queue not asked for last there, None if all were.

    Of two with one key, as a contact's are, it is that of the part which comes first.
    """
    rows = slice(FIRST_ROW, FIRST_ROW + ROWS)
    parts = zip(s.key[rows].ravel(), s.winner[rows].ravel(), s.prefetch_state, strict=False)
    parts = [(key, int(m)) for key, m, asked in parts if m != asked]
    return min(parts, key=lambda part: part[0])[1] if parts else None


def test_after_a_molecule_comes_its_partner_and_then_another():
    engine = Engine(gas(["dimer"] * 100, 1, 1.7))
    met = []
    for k in range(1, 25):
        engine.advance(0.1 * k)
        s = engine.sector
        s.prefetch_state[:] = -1
        choose_next(s)
        awaited = True
        while s.prefetch_state[BEAD] == 0:
            m = ask_for_beads(s)
            partner = partner_of(s, m) if awaited else None
            follows = partner if partner is not None else earliest_unasked(s)
            while s.prefetch_state[NEXT] == m and s.prefetch_state[BEAD] > 0:
                ask_once(s)
            assert (
                (s.prefetch_state[NEXT], s.prefetch_state[BEAD]) == (follows, 0)
                if follows is not None
                else s.prefetch_state[BEAD] < 0
            )
            awaited = partner is None
            met.append(partner)
    assert None in met and len(set(met)) > 3


def test_who_is_no_longer_there_is_not_asked_for():
    s = fresh_sector()
    choose_next(s)
    s.prefetch_state[NEXT] = s.scalars[SCALAR_MOLECULES]
    ask_once(s)
    assert s.prefetch_state[BEAD] == -1


def test_a_partner_that_is_no_longer_there_is_not_asked_for():
    s = fresh_sector()
    choose_next(s)
    m = int(s.prefetch_state[NEXT])
    s.prefetch_state[BEAD] = beads_of(s, m) + 1
    s.prefetch_state[THEN] = s.scalars[SCALAR_BEADS]
    ask_once(s)
    assert s.prefetch_state[NEXT] != m and s.winner[TOP, ROOT] != s.prefetch_state[NEXT]


def gas_in_motion():
    """Return a sector of a hundred single beads, the first of whom has been chosen."""
    engine = Engine(gas(["monomer"] * 100, 1, 1.1))
    engine.advance(0.5)
    engine.sector.prefetch_state[:] = -1
    choose_next(engine.sector)
    return engine.sector


def test_single_beads_are_asked_for_one_in_each_step():
    s = gas_in_motion()
    for _ in range(4):
        m, follows = int(s.prefetch_state[NEXT]), earliest_unasked(s)
        ask_once(s)
        assert (s.prefetch_state[NEXT], s.prefetch_state[BEAD]) == (follows, 0) and follows != m


def test_of_single_beads_the_partner_follows_a_step_later():
    s = gas_in_motion()
    partners = []
    for _ in range(6):
        m, last, met = (int(s.prefetch_state[k]) for k in (NEXT, LAST, MET))
        ask_once(s)
        partners.append(int(partners_of(s)[last]) if last >= 0 else -1)
        assert (s.prefetch_state[LAST], s.prefetch_state[MET], s.prefetch_state[MET_BEFORE]) == (m, partners[-1], met)
    assert max(partners) >= 0


def test_single_beads_that_are_no_longer_there_have_no_partners():
    s = gas_in_motion()
    s.prefetch_state[LAST] = s.prefetch_state[MET] = s.prefetch_state[MET_BEFORE] = s.scalars[SCALAR_BEADS]
    ask_once(s)
    assert s.prefetch_state[MET] == s.prefetch_state[MET_BEFORE] == -1
