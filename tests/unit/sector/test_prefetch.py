"""Whose memory is prefetched: of those that come next, each once, and their events' partners; none that has gone."""

import numpy as np
import pytest

from hpcchain.jit.decorators import kernel
from hpcchain.layout.arrays import MOLECULE, ROOT, SCALAR_MOLECULES, TICK, TOP
from hpcchain.sector import prefetch
from hpcchain.sector.prefetch import FIRST_ROW, PARTS, ROWS, STEPS, prefetch_next
from hpcchain.sector.queue.event_order import next_key_of
from hpcchain.sector.serial import Engine
from tests.support.gases import MIXTURE, gas
from tests.support.kernel_tools import partners_of


@kernel
def partner_bead(s, m):
    """Call `_partner`, which is inlined."""
    return prefetch._partner(s, m)


@pytest.fixture
def mixture():
    """Return a sector of some sixty molecules in motion, none of which has been chosen."""
    return fresh_sector(gas(MIXTURE * 9, 1, 6.5))


def fresh_sector(system):
    """Return a system's sector, a little later, with none chosen."""
    engine = Engine(system)
    engine.advance(0.2)
    engine.sector.prefetch_state[:] = -1
    return engine.sector


def chosen(s):
    """Return the molecules chosen in the last steps, the last first."""
    return s.prefetch_state[PARTS : PARTS + STEPS].tolist()


def test_the_earliest_are_chosen_first_and_once(mixture):
    s = mixture
    parts = [int(m) for m in s.winner[FIRST_ROW : FIRST_ROW + ROWS].ravel() if m >= 0]
    assert len(parts) > 4
    order = []
    for _ in range(len(parts)):
        prefetch_next(s)
        order.append(chosen(s)[0])
        assert chosen(s)[: len(order)] == order[: -STEPS - 1 : -1]
    keys = [next_key_of(s, m).ticks * s.par[TICK] + next_key_of(s, m).remainder for m in order]
    assert order[0] == s.winner[TOP, ROOT] and np.all(np.diff(keys) >= 0.0) and sorted(order) == sorted(parts)
    prefetch_next(s)
    assert chosen(s)[0] == -1


@pytest.mark.parametrize(("names", "spacing"), [(["monomer"] * 100, 1.1), (["dimer"] * 100, 1.7)])
def test_the_partner_is_that_of_the_next_event(names, spacing):
    engine = Engine(gas(names, 1, spacing))
    met = 0
    for k in range(1, 25):
        engine.advance(0.1 * k)
        s, partners = engine.sector, partners_of(engine.sector)
        found = [partner_bead(s, m) for m in range(s.scalars[SCALAR_MOLECULES])]
        assert found == [max(int(partners[i]), -1) if i >= 0 else -1 for i in s.holder]
        met += sum(p >= 0 and s.segment[p, MOLECULE] != m for m, p in enumerate(found))
    assert met > 3
    assert partner_bead(s, -1) == -1


def test_what_has_been_chosen_before_a_sector_was_rebuilt_is_left_out(mixture):
    s = mixture
    s.prefetch_state[PARTS : PARTS + STEPS] = s.scalars[SCALAR_MOLECULES]
    for _ in range(STEPS):
        prefetch_next(s)
    assert max(chosen(s)) < s.scalars[SCALAR_MOLECULES]
