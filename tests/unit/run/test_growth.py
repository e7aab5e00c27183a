"""Starts that grow: how long the steps are that molecules take meanwhile."""

from types import SimpleNamespace

import numpy as np
import pytest

from hpcchain.config import load_config
from hpcchain.errors import ConfigError
from hpcchain.model.starts.overlap import bead_overlap
from hpcchain.model.system import Physics
from hpcchain.model.topology import build_topology
from hpcchain.run.growth import LONGEST_STEP, grown_system, thermal_time, with_short_steps

RINGS = """
[box]
size = [4.5, 4.5, 4.5]
[[molecule]]
name = "R"
kind = "ring"
beads = 6
count = 9
diameter = 0.8
mass = 2.0
[initial]
temperature = 3.0
[propagator]
name = "{name}"
step = {step}
[run]
end_time = 1.0
"""


def rings(tmp_path, name, step):
    """Return the config of nine rings that are moved in steps."""
    path = tmp_path / "rings.toml"
    path.write_text(RINGS.format(name=name, step=step), encoding="utf-8")
    return load_config(path)


@pytest.mark.parametrize("name", ["rattle", "variational"])
def test_a_step_too_long_for_growth_is_not_taken_there(tmp_path, name):
    """Of rings that turn by more than a radian in a step some would not be grown in an hour."""
    config = rings(tmp_path, name, 2.0)
    longest = LONGEST_STEP * thermal_time(build_topology(config), 3.0)
    long, short = grown_system(config), grown_system(rings(tmp_path, name, longest))
    np.testing.assert_array_equal(long.state.position, short.state.position)
    assert (long.physics.step, short.physics.step) == (2.0, longest)


def test_beads_that_cannot_grow_are_said_to_jam(tmp_path):
    """Thirteen equal spheres cannot touch one."""
    path = tmp_path / "star.toml"
    star = '[[molecule]]\nkind = "star"\narms = 13\narm_beads = 1\n'
    path.write_text(f"[box]\nsize = [9, 8, 10]\n{star}[run]\nend_time = 1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"star.toml: initial.method: the beads jam at 0.9\d\d of their diameters"):
        grown_system(load_config(path))


RODS = """
[box]
size = [8.06, 8.06, 8.06]
[[molecule]]
kind = "rod"
beads = 8
count = 50
[run]
end_time = 1
"""


def test_rods_that_jam_in_all_directions_begin_parallel(tmp_path, caplog):
    """At a packing fraction of .4 rods of 8 are nematic: random ones do not find their way into that."""
    path = tmp_path / "rods.toml"
    path.write_text(RODS, encoding="utf-8")
    system = grown_system(load_config(path))
    (told,) = [record.getMessage() for record in caplog.records if "rods parallel" in record.getMessage()]
    assert "the beads jam at 0.9" in told
    assert bead_overlap(system.box, system.topology, system.state.position, 1e-12) is None
    ends = system.state.position.reshape(50, 8, 3)[:, 7] - system.state.position.reshape(50, 8, 3)[:, 0]
    np.testing.assert_allclose(np.linalg.norm(ends, axis=1), 7.0, rtol=1e-12)
    assert (np.abs(ends[:, 0]) > 5.0).all()


def test_heavy_beads_do_not_make_the_others_wait_for_ever():
    masses = SimpleNamespace(diameter=np.ones(2), mass=np.array([1.0, 1e12]))
    assert thermal_time(masses, 1.0) == pytest.approx(1000.0 * 2.0**0.5, rel=1e-9)
    alike = SimpleNamespace(diameter=np.ones(2), mass=np.array([1.0, 1e6]))
    assert thermal_time(alike, 1.0) == ((1.0 + 1e6) / 2.0) ** 0.5


def test_shorter_steps_and_those_of_the_propagators_choice_stay():
    physics = Physics(0.5, "rattle", step=0.1, kinds=[{"step": 0.02}, {"step": 3.0}, {"step": 0.0}, {"stages": 3}])
    limited = with_short_steps(physics, 0.2)
    assert [each.step for each in limited.every()] == [0.02, 0.2, 0.0, 0.1]
    assert with_short_steps(Physics(0.5), 0.2).step == 0.0
    assert [each.step for each in physics.every()] == [0.02, 3.0, 0.0, 0.1]
