"""Contacts by nested intervals with falling stages (paper 001, IV A), in the engine.

The times are those of the same search written for one clock (`papers.kernel_collocation`), and before the contact of
the solution with all stages.
"""

import numpy as np
import pytest
from reference.systems import Molecule, System
from whole import frame_of

from hpcchain.papers.chains import Beads
from hpcchain.papers.engine import thermal_chain
from hpcchain.papers.kernel_collocation import NESTED
from hpcchain.sector.engine import Engine
from tests.unit.solved import start
from tests.unit.test_collocation_engine import propagator

SEARCH = {"contact_search": "nested"}
WAYS = {"falling": SEARCH, "all": SEARCH | {"contact_stages": "all"}, "root": {}}


def alone(position, velocity):
    """Return the System of one chain in open space."""
    n = len(position)
    return System([Molecule("chain", n)], (60.0,) * 3, ("open",) * 3, (-30.0,) * 3, 1.0, position, velocity)


def first_contact(system, folder, until, **keys):
    """Return the time of the first contact, nan when there is none until then."""
    engine = Engine(start(system, folder, **keys), log_events=True)
    engine.advance(until)
    times = engine.drain_events()["time"]
    return times[0] if len(times) else np.nan


def before_contact(n, seed, folder, lead):
    """Return the System of a thermal chain a time before its first contact."""
    system = alone(*thermal_chain(n, seed)[:2])
    begin = first_contact(system, folder, 3.0, name="taylor") - lead
    engine = Engine(start(system, folder, name="taylor"))
    engine.advance(begin)
    return alone(*frame_of(engine, begin)[:2])


@pytest.mark.parametrize("variant", ["index2", "paper"])
@pytest.mark.parametrize(("n", "seed"), [(4, 2), (4, 4), (6, 1)])
def test_the_search_is_that_written_for_one_clock(n, seed, variant, tmp_path):
    step = 0.3
    system = before_contact(n, seed, tmp_path, 0.6 * step)
    chain = Beads(system.position, system.velocity, [(k, k + 1) for k in range(n - 1)])
    track = chain.collocate(step, 4, step, variant, contacts=NESTED)
    found = first_contact(system, tmp_path, step, **propagator(4, step), variant=variant, **SEARCH)
    assert abs(found - track.time[track.contact][0]) < 1e-14
