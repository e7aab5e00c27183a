"""The first look at neighbours leaves out only beads that cannot meet during their segments, and most of the others."""

import numpy as np
import pytest

from hpcchain.model.system import PERIODIC, WALL
from hpcchain.sector.engine import Engine
from hpcchain.sector.layout import UNBOUNDED
from tests.unit.gases import MIXTURE, gas
from tests.unit.kernel_tools import bead_curves, first_look

SAMPLES = 15


@pytest.mark.parametrize("boundary", [(PERIODIC,) * 3, (WALL, PERIODIC, PERIODIC)])
@pytest.mark.parametrize("growth", [(1.0, 0.0), (0.7, 0.05)])
def test_who_is_left_out_cannot_be_met(boundary, growth):
    system = gas(MIXTURE * 3, 1, 4.3, boundary=boundary)
    engine = Engine(system, growth=growth, shell=1.5)
    s, size = engine.sector, system.box.size * (system.box.boundary == PERIODIC)
    inverse = np.where(size > 0, 1 / system.box.size, 0.0)
    radius = 0.5 * system.topology.diameter[engine.ids]
    left_out = kept = 0
    for time in (0.3, 0.9, 2.0):
        engine.advance(time)
        curves, start, length = bead_curves(s)
        ends = start + length

        def path(i, curves=curves, length=length):
            return (np.linspace(0, length[i], SAMPLES)[:, None] ** np.arange(len(curves[i]))) @ curves[i]

        for i in np.flatnonzero(s.span[:, 0] != 0.0):
            near = first_look(s, i)
            kept += len(near)
            for j in set(s.neighbour[s.row[i, 0] : s.row[i, 0] + s.row[i, 1]].tolist()) - set(near):
                apart = path(i)[:, None] - path(j)[None]
                apart -= size * np.rint(apart * inverse)
                width = sum(radius[k] * (growth[0] + growth[1] * ends[k]) for k in (i, j))
                assert np.linalg.norm(apart, axis=-1).min() > width
                left_out += 1
    assert left_out > 300 and kept > 100, (left_out, kept)


def test_single_beads_may_be_anywhere():
    engine = Engine(gas(MIXTURE * 3, 1, 4.3))
    single = engine.sector.span[:, 0] == 0.0
    dimer = np.isin(engine.sector.mol[engine.sector.seg[:, 3], 1], 2)
    assert np.all(engine.sector.swept[single & ~dimer, 3] == UNBOUNDED) and np.any(single)
    assert np.all(engine.sector.swept[dimer, 3] < UNBOUNDED)
