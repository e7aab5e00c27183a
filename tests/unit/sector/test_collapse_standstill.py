"""Beads that touch: those with room to part run on, those without end with one message, on one rank and on several."""

import itertools

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.model.starts.start import build_system
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.windows import WindowedEngine
from hpcchain.sector.serial import Engine

CUBE = """
[box]
size = [{size}, {size}, {size}]
boundary = ["{side}", "{side}", "{side}"]
[initial]
method = "explicit"
[[molecule]]
kind = "monomer"
count = {count}
positions = {positions}
[run]
end_time = 1
"""


def cube(tmp_path, edge, room, side="periodic"):
    """Return the System of a cube of touching beads, `edge` a side, in a box that is longer by `room`."""
    path = tmp_path / "in.toml"
    positions = [[x + 0.5 for x in place] for place in itertools.product(range(edge), repeat=3)]
    path.write_text(CUBE.format(size=edge + room, side=side, count=len(positions), positions=positions))
    return build_system(load_config(path))


def carry(system, ranks, end):
    """Carry a system on on threads as ranks; return the contacts of all."""

    def body(exchange):
        engine = Engine(system) if ranks == 1 else WindowedEngine(system, exchange)
        engine.advance(end)
        return engine.counters["contacts"]

    return sum([body(None)] if ranks == 1 else on_ranks(ranks, body))


@pytest.mark.parametrize("ranks", [1, 2])
def test_touching_beads_with_room_part(tmp_path, ranks):
    assert carry(cube(tmp_path, 4, 0.5), ranks, 0.01) > 100


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("side", ["periodic", "wall"])
def test_touching_beads_without_room_end_with_one_message(tmp_path, ranks, side):
    """Every row of them runs into itself or into both walls: contacts at time 0 have no end."""
    with pytest.raises(ConfigError, match=r"bead \d+: t 0: contacts at one instant have no end: beads are wedged"):
        carry(cube(tmp_path, 4, 0.0, side), ranks, 1.0)


def test_a_gap_that_is_narrow_is_no_standstill(tmp_path):
    """Gaps of 1e-6 diameters: some 1e6 contacts a bead and unit time, which the clock can tell apart."""
    assert carry(cube(tmp_path, 2, 2e-6 - 0.0, "wall"), 1, 0.01) > 10000


def test_a_clock_that_moves_begins_the_count_anew(tmp_path):
    system = cube(tmp_path, 3, 0.5)
    engine = Engine(system)
    assert all(engine.advance(end) for end in np.linspace(0.1, 2.0, 20))
