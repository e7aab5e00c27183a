"""Contacts by nested intervals with falling stages (Hartmann et al. 2009, IV A), in the engine.

The times are those of the same search written for one clock (`printed_time`), and before the contact of the solution
with all stages.
"""

import numpy as np
import pytest

from hpcchain.papers.engine import thermal_chain
from hpcchain.propagators.collocation.collocation import stage_work
from hpcchain.propagators.collocation.gauss_coefficients import gauss_tables
from hpcchain.sector.serial import Engine
from tests.reference.systems import Molecule, System
from tests.support import molecules
from tests.support.solved import propagator, start
from tests.support.whole import frame_of

SEARCH = {"contact_search": "nested"}
WAYS = {"falling": SEARCH, "all": SEARCH | {"contact_stages": "all"}, "root": {}}
"""Further [propagator] keys per search."""


def in_space(*states):
    """Return the System of chains in open space, from their (position, velocity)."""
    position, velocity = (np.concatenate(rows) for rows in zip(*states, strict=True))
    molecules = [Molecule("chain", len(rows)) for rows, _ in states]
    return System(molecules, (60.0,) * 3, ("open",) * 3, (-30.0,) * 3, 1.0, position, velocity)


def folded(n, seed):
    """Return the System of a thermal chain that hits itself."""
    return in_space(thermal_chain(n, seed))


def meeting(n, seed):
    """Return the System of two thermal chains that fly at each other."""
    states = [list(thermal_chain(n, 10 * seed + k)) for k in range(2)]
    for side, (position, velocity) in zip((-1.0, 1.0), states, strict=True):
        position += [side * (n + 1.0) / 2.0, 0.0, 0.0] - position.mean(axis=0)
        velocity -= [4.0 * side, 0.0, 0.0]
    return in_space(*states)


def first_contact(system, folder, until, **keys):
    """Return the time and the beads of the first contact; the time is nan when there is none until then."""
    engine = Engine(start(system, folder, **keys), log_events=True)
    engine.advance(until)
    events = engine.drain_events()
    return (events["time"][0], events["bead"][0].tolist()) if len(events) else (np.nan, [])


def before_contact(system, folder, lead):
    """Return the System a time before its first contact, and the contact's beads."""
    time, beads = first_contact(system, folder, 3.0, name="taylor")
    engine = Engine(start(system, folder, name="taylor"))
    engine.advance(time - lead)
    position, velocity, _ = frame_of(engine, time - lead)
    ends = np.cumsum([0] + [molecule.beads for molecule in system.molecules])
    return in_space(*((position[i:j], velocity[i:j]) for i, j in zip(ends, ends[1:], strict=False))), beads


def printed_time(system, s, span, variant, width):
    """Return the time of the first contact as printed, all beads of diameter 1 stepped together.

    From the last collocation point without overlap the rest of the interval is solved with one stage fewer, until it
    is no longer than the width. Contacts behind the last point are between it and the interval's end.
    """
    bonded = {tuple(sorted(bond)) for bond in system.bonds.tolist()}
    pairs = np.array([pair for pair in zip(*np.triu_indices(len(system.position), 1), strict=True)])
    pairs = pairs[[(i, j) not in bonded for i, j in pairs.tolist()]]
    beads = molecules.Molecule(system.bonds, system.position, system.velocity, system.mass)
    position, velocity, elapsed = system.position, system.velocity, 0.0
    while span > width:
        beads.put(0, position)
        beads.put(1, velocity)
        node = np.append(gauss_tables(s).node, 1.0)
        status, *_, ws = beads.collocate(
            s, span * (node[-2] if variant == "paper" else 1.0), dense=False, variant=variant
        )
        assert status == 0
        work = molecules.views(stage_work, beads.g, beads.npad, s, ws)
        stages = [beads.get(one) for many in (work.positions, work.velocities) for one in many.reshape(s, -1)]
        apart = [np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1).min() for x in stages[:s]]
        j = next((k for k, least in enumerate(apart) if least < 1.0), s)
        low = node[j - 1] * span if j else 0.0
        if j:
            position, velocity = stages[j - 1], stages[s + j - 1]
        elapsed, span, s = elapsed + low, node[j] * span - low, max(s - 1, 2)
    return elapsed


@pytest.mark.parametrize("variant", ["index2", "paper"])
def test_the_search_is_that_written_for_one_clock(variant, tmp_path):
    """To round-off where that ends before the contact; where beads would overlap, all stages end before it."""
    step, width, late = 0.3, 1e-4, []
    for make, n, seed in ((folded, 4, 2), (folded, 6, 1), (meeting, 3, 1), (meeting, 4, 2)):
        system, beads = before_contact(make(n, seed), tmp_path, 0.6 * step)
        printed, keys = printed_time(system, 4, step, variant, width), propagator(4, step) | {"variant": variant}
        root = first_contact(system, tmp_path, step, **keys)[0]
        time, found = first_contact(system, tmp_path, step, **keys, **SEARCH)
        late.append(printed > root)
        assert found == beads and len(system.molecules) == (1 if make is folded else 2)
        if late[-1]:
            assert time == first_contact(system, tmp_path, step, **keys, **WAYS["all"])[0]
            assert -width < time - root <= 0.0
        else:
            assert abs(time - printed) < 1e-14
    assert not all(late)


@pytest.mark.parametrize(("make", "n", "seed", "stages"), [(folded, 4, 2, 3), (folded, 4, 2, 4)])
def test_falling_stages_end_before_the_contact_by_their_order_and_all_stages_by_the_width(
    make, n, seed, stages, tmp_path
):
    """Positions at k stages are of order k + 1: the search begins with s stages and ends with two."""
    steps, width, early = np.array([0.4, 0.2, 0.1]), 1e-9, []
    for step in steps:
        system, _ = before_contact(make(n, seed), tmp_path, 0.6 * step)
        keys = propagator(stages, step) | {"contact_interval": width}
        falling, every, root = (first_contact(system, tmp_path, step, **keys, **way)[0] for way in WAYS.values())
        assert -width < every - root < 1e-13
        early.append(root - falling)
    assert min(early) > width
    assert 2.7 < np.polyfit(np.log(steps), np.log(early), 1)[0] < stages + 1.3
