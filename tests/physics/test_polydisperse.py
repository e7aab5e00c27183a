"""Spheres of many sizes: the pressure that theory has, one row in tables, the same bits on ranks and after stops."""

import numpy as np
import pytest

from hpcchain import api
from hpcchain.analysis.kinds import kinds_in
from hpcchain.io.checkpoint.checkpoint import read_checkpoint
from hpcchain.io.output.trajectory import read_trajectory
from hpcchain.io.tools.inspect import info
from hpcchain.parallel.comm import Single
from tests.reference.program import run
from tests.reference.systems import toml
from tests.support.identity import in_stages, parallel, require_same, serial
from tests.support.run_folders import resume_here

GAS = {"kind": "monomer", "count": 400, "diameter": {"mean": 1.0, "deviation": 0.2}}
CHAINS = {"kind": "chain", "beads": 4, "count": 20, "diameter": {"sizes": [1.0, 0.7], "shares": [0.5, 0.5]}}
FRACTION, END = 0.3, 12.0


@pytest.fixture(scope="module")
def gas(tmp_path_factory):
    """Return the folder of a run of spheres, which stopped half way."""
    folder = tmp_path_factory.mktemp("gas")
    tables = {"box": {"packing_fraction": FRACTION}, "molecule": [GAS], "run": {"end_time": END / 2}}
    found = run(tables | {"output": {"report_every": 1.0, "frame_every": 1.0}}, folder)
    resume_here(found.directory, until=END)
    return found


def theory(diameter, fraction):
    """Return p V / N T of hard spheres of these diameters (Boublik 1970; Mansoori et al. 1971)."""
    one, two, three = (np.mean(diameter**k) for k in (1, 2, 3))
    y, z = one * two / three, two**3 / three**2
    free = 1.0 - fraction
    return 1.0 / free + 3.0 * fraction * y / free**2 + fraction**2 * (3.0 - fraction) * z / free**3


def test_the_pressure_is_that_of_the_mixture(gas):
    _, pressure = gas.observable("pressure")
    found = read_trajectory(gas.directory / "trajectory.h5")
    diameter, volume = found.diameter, float(np.prod(found.edges))
    assert diameter.std() == pytest.approx(0.2, abs=1e-6)
    assert np.pi / 6.0 * np.sum(diameter**3) / volume == pytest.approx(FRACTION, rel=1e-9)
    expected, equal = theory(diameter, FRACTION), theory(np.ones(1), FRACTION)
    assert np.mean(pressure[2:]) * volume / len(diameter) == pytest.approx(expected, rel=0.02)
    assert abs(equal / expected - 1.0) > 0.04


def test_sizes_of_a_kind_are_one_row(gas):
    found = read_trajectory(gas.directory / "trajectory.h5")
    assert [(kind.name, len(kind.beads)) for kind in kinds_in(found)] == [("A", 400)]
    newest = sorted((gas.directory / "checkpoints").iterdir())[-1]
    assert "400 (400 A)" in info(newest)


def test_ranks_and_stops_leave_no_trace(tmp_path):
    tables = {"box": {"packing_fraction": 0.2}, "molecule": [GAS | {"count": 60}, CHAINS], "run": {"end_time": 4.0}}
    source = tmp_path / "in.toml"
    source.write_text(toml(tables))
    api.build(source, tmp_path / "start.h5", comm=Single())
    system = read_checkpoint(tmp_path / "start.h5").system
    assert len(np.unique(system.topology.whole().diameter)) > 50
    one = serial(system, 4.0)
    assert len(one.events) > 100
    for ranks in (2, 3):
        require_same(one, parallel(system, 4.0, ranks), f"on {ranks} ranks")
    require_same(one, in_stages(system, [(1.3, 2, {}), (4.0, 0, {})]), "in stages")
