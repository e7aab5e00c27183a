"""Random systems with rigid bodies: ranks, windows, stops, lists and restarts from files leave no trace."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.sector.serial import Engine
from tests.support.bodies import SHAPES, gas
from tests.support.checkpoints import through_file
from tests.support.identity import DRAWS, in_stages, parallel, require_same, serial
from tests.support.whole import frame_of, state_of

END = 8.0
KINDS = (*SHAPES, *SHAPES, "monomer", "dimer", "chain5", "ring")


def system_of(seed):
    """Return a random system of bodies and other molecules, with walls or without."""
    rng = np.random.default_rng([31, seed])
    kinds = [*rng.choice(KINDS, size=int(rng.integers(12, 25))), "bent", "cross"]
    restitution = float(rng.choice([1.0, 0.9]))
    boundary = rng.choice([0, 0, 1], size=3)
    return rng, gas(kinds, seed, pitch=4.0, boundary=boundary, restitution=restitution)


@pytest.mark.parametrize("seed", range(max(4, DRAWS // 2)))
def test_ranks_windows_and_stops_leave_no_trace(seed):
    rng, system = system_of(seed)
    one = serial(system, END)
    body = system.topology.whole().body[
        np.searchsorted(system.topology.whole().first_bead, one.events["bead"], side="right") - 1
    ]
    assert len(one.events) > 10 and np.count_nonzero(body) > 5
    for ranks in (2, 3):
        window = None if rng.random() < 0.4 else float(10.0 ** rng.uniform(-2.0, 0.3))
        require_same(one, parallel(system, END, ranks, window=window), f"seed {seed} on {ranks} ranks, window {window}")
    stops = [*sorted(rng.uniform(0.0, END, 3)), END]
    stages = [(float(until), int(rng.integers(0, 5)), {}) for until in stops]
    require_same(one, in_stages(system, stages), f"seed {seed} in stages {stages}")


@pytest.mark.parametrize("seed", range(3))
def test_checkpoints_and_lists_leave_no_trace(tmp_path, seed):
    _, system = system_of(100 + seed)
    one = serial(system, END)
    half = Engine(system, shell=0.1, cell=1.1)
    half.advance(0.4 * END)
    frame_of(half, 0.5 * END)
    found = through_file(tmp_path / "c.h5", replace(system, state=state_of(half)), 0.4 * END)
    rest = serial(found, END, shell=0.6)
    late = one.events[one.events["time"] > 0.4 * END]
    assert np.array_equal(late, rest.events)
    for ours, theirs in zip(one.frame, rest.frame, strict=True):
        assert np.array_equal(ours, theirs)
