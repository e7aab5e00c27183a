"""Rules for contacts at one instant on systems made to be hard for windows: on threads as ranks, one rank's bits."""

import pytest

from hpcchain.model.system import PERIODIC, WALL
from tests.parallel.test_windows_hard import everywhere, touching
from tests.support.extended import with_extended
from tests.support.identity import DRAWS, parallel, require_same, serial
from tests.support.shapes import bead, boxed


@pytest.mark.parametrize("rule", ["generalised", "moreau"])
@pytest.mark.parametrize("seed", range(DRAWS))
def test_rules_for_all_that_hang_together(seed, rule):
    """Rules that take the whole of what touches, of more molecules than are solved together, on any ranks."""
    system = with_extended(touching(seed), simultaneous=rule)
    one = serial(system, 2.0)
    for ranks, window in ((2, None), (2 + seed % 4, 0.05)):
        require_same(one, parallel(system, 2.0, ranks, window=window), f"{rule} {seed}, {ranks} ranks")


@pytest.mark.parametrize("gap", [0.0, 1e-11])
def test_a_cradle_that_is_hit_as_one_across_sectors(gap):
    """Ten beads, each on a rank of its own, that Moreau's rule takes together: all ranks need all of them."""
    row = [bead((4.0 + k * (1.0 + gap), 2.0, 2.0), (0.0, 0.0, 0.0)) for k in range(8)]
    beads = [bead((2.0, 2.0, 2.0), (1.0, 0.0, 0.0)), *row, bead((14.0, 2.0, 2.0), (-0.5, 0.0, 0.0))]
    system = boxed(beads, (16.0, 4.0, 4.0), (WALL, PERIODIC, PERIODIC))
    system = with_extended(system, simultaneous="moreau")
    everywhere(system, 6.0, 8, (8,), (0.25, 6.0), sectors=(8, 1, 1))
    everywhere(system, 6.0, 8, (2, 3))
