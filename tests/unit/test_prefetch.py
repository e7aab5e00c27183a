"""Whose memory is asked for: those whose events come next, each once, and nobody who is no longer there."""

import numpy as np

from hpcchain.kernel import kernel
from hpcchain.sector.engine import Engine
from hpcchain.sector.layout import BOOK_MOLECULES
from hpcchain.sector.prefetch import BEAD, NEXT, PARTS, ask_for_next, choose_next
from tests.unit.gases import MIXTURE, gas


@kernel
def ask_once(s):
    """Call `ask_for_next`, which is inlined."""
    ask_for_next(s)


def fresh_sector():
    """Return a sector of some sixty molecules in motion, of which nobody was asked for."""
    engine = Engine(gas(MIXTURE * 9, 1, 6.5))
    engine.advance(0.2)
    engine.sector.ahead[:] = -1
    return engine.sector


def test_the_earliest_are_chosen_first_and_once():
    s = fresh_sector()
    parts = [int(m) for m in s.winner[PARTS : 2 * PARTS] if m >= 0]
    assert len(parts) > 4
    chosen = []
    for _ in range(len(parts)):
        choose_next(s)
        assert s.ahead[BEAD] == 0
        chosen.append(int(s.ahead[NEXT]))
    keys = s.key[len(s.key) // 2 + np.array(chosen)]
    assert chosen[0] == s.winner[1] and np.all(np.diff(keys) >= 0.0) and sorted(chosen) == sorted(parts)
    choose_next(s)
    assert s.ahead[BEAD] == -1


def test_a_molecule_is_asked_for_bead_by_bead_and_then_the_next_one():
    s = fresh_sector()
    choose_next(s)
    first, beads = int(s.ahead[NEXT]), int(s.mol[s.ahead[NEXT], 1])
    for _ in range((beads + 1) // 2):
        assert s.ahead[NEXT] == first
        ask_once(s)
    assert s.ahead[NEXT] != first and s.ahead[BEAD] == 0


def test_who_is_no_longer_there_is_not_asked_for():
    s = fresh_sector()
    choose_next(s)
    s.ahead[NEXT] = s.book[BOOK_MOLECULES]
    ask_once(s)
    assert s.ahead[BEAD] == -1
