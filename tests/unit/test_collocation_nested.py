"""Contacts by nested intervals with falling stages (paper 001, IV A), in the engine.

What they must be: the times of the same search written for one clock (`papers.kernel_collocation`), before the contact
of the solution with all stages, and nearer to it the more stages there are to fall from.
"""

import numpy as np
import pytest
from reference import cases, tables
from reference.contacts import Geometry
from whole import frame_of

from hpcchain.papers.chains import Beads
from hpcchain.papers.engine import thermal_chain
from hpcchain.papers.kernel_collocation import NESTED
from hpcchain.sector.engine import Engine
from tests.unit.solved import invariants, start, stretched
from tests.unit.test_collocation_engine import propagator

SEARCH = {"contact_search": "nested"}
ALL = SEARCH | {"contact_stages": "all"}


def first_contact(n, seed, folder, stages, step, **keys):
    """Return the time of a thermal chain's first contact, inf when it is later than the first step."""
    from reference.systems import Molecule, System

    position, velocity, _ = thermal_chain(n, seed)
    system = System([Molecule("chain", n)], (60.0,) * 3, ("open",) * 3, (-30.0,) * 3, 1.0, position, velocity)
    engine = Engine(start(system, folder, **propagator(stages, step), **keys), log_events=True)
    engine.advance(step)
    times = engine.drain_events()["time"]
    return times[0] if len(times) else np.inf


def printed(n, seed, stages, step, variant):
    """Return the same by the stepper on one clock; nan where it sees the contact behind its last stage, or not."""
    position, velocity, _ = thermal_chain(n, seed)
    chain = Beads(position, velocity, [(k, k + 1) for k in range(n - 1)])
    track = chain.collocate(step, stages, step, variant, contacts=NESTED)
    times = track.time[track.contact]
    return times[0] if len(times) else np.nan
