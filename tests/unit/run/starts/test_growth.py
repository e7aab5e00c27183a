"""Starts that grow: how long the steps are that molecules take meanwhile."""

import logging
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hpcchain.api import build
from hpcchain.config import load_config
from hpcchain.config.keys.sections import WallSection
from hpcchain.errors import ConfigError
from hpcchain.io.growth_state import read_growth
from hpcchain.model.starts.overlap import bead_overlap
from hpcchain.model.system import KindPhysics, Options, Physics
from hpcchain.model.topology import build_composition
from hpcchain.parallel.comm import Single
from hpcchain.parallel.signals import Stopped
from hpcchain.run.starts import growth
from hpcchain.run.starts.growth import (
    LONGEST_STEP,
    Growth,
    Jammed,
    SliceWatch,
    crossing_size,
    grown_system,
    thermal_time,
    with_short_steps,
)
from hpcchain.run.starts.growth_file import GrowthFile

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
    longest = LONGEST_STEP * thermal_time(build_composition(config).whole(), 3.0)
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
    caplog.set_level(logging.INFO, "hpcchain.run")
    system = grown_system(load_config(path))
    (message,) = [record.getMessage() for record in caplog.records if "rods parallel" in record.getMessage()]
    assert "the beads jam at 0.9" in message
    assert bead_overlap(system.box, system.topology.whole(), system.state.position, 1e-12) is None
    ends = system.state.position.reshape(50, 8, 3)[:, 7] - system.state.position.reshape(50, 8, 3)[:, 0]
    np.testing.assert_allclose(np.linalg.norm(ends, axis=1), 7.0, rtol=1e-12)
    assert (np.abs(ends[:, 0]) > 5.0).all()


def test_heavy_beads_do_not_make_the_others_wait_for_ever():
    masses = SimpleNamespace(diameter=np.ones(2), mass=np.array([1.0, 1e12]))
    assert thermal_time(masses, 1.0) == pytest.approx(1000.0 * 2.0**0.5, rel=1e-9)
    alike = SimpleNamespace(diameter=np.ones(2), mass=np.array([1.0, 1e6]))
    assert thermal_time(alike, 1.0) == ((1.0 + 1e6) / 2.0) ** 0.5


def test_shorter_steps_and_those_of_the_propagators_choice_stay():
    kinds = tuple(KindPhysics("rattle", 4, step, 1e-12, Options()) for step in (0.02, 3.0, 0.0)) + (None,)
    physics = Physics(tick=0.5, propagator="rattle", step=0.1, kinds=kinds)
    limited = with_short_steps(physics, 0.2)
    assert [each.step for each in limited.every()] == [0.02, 0.2, 0.0, 0.1]
    assert with_short_steps(Physics(tick=0.5), 0.2).step == 0.0
    assert [each.step for each in physics.every()] == [0.02, 3.0, 0.0, 0.1]


class Stops:
    """Asks to stop at the nth look, and counts them."""

    def __init__(self, at):
        self.left = at

    def __call__(self):
        self.left -= 1
        return self.left < 0


MELT = """
[box]
packing_fraction = 0.3
[[molecule]]
kind = "chain"
beads = 10
count = 6
[run]
end_time = 1.0
"""


@pytest.fixture
def melt(tmp_path):
    path = tmp_path / "melt.toml"
    path.write_text(MELT, encoding="utf-8")
    return path


def test_growth_that_was_stopped_goes_on_to_the_same_bits(melt, tmp_path, caplog):
    caplog.set_level("INFO")
    config, path = load_config(melt), tmp_path / "growth.h5"
    whole = grown_system(config)
    stops = 0
    for _ in range(20):
        try:
            system = grown_system(config, pause=Stops(7), keep=GrowthFile(path, config, None))
            break
        except Stopped as error:
            stops += 1
            assert f"kept in {path}: run the same command again" in str(error) and path.exists()
    assert stops >= 2
    np.testing.assert_array_equal(system.state.position, whole.state.position)
    np.testing.assert_array_equal(system.state.velocity, whole.state.velocity)
    assert sum("goes on growing" in record.getMessage() for record in caplog.records) == stops


def test_growth_of_another_input_or_a_damaged_file_is_not_gone_on_with(melt, tmp_path, caplog):
    config, path = load_config(melt), tmp_path / "growth.h5"
    with pytest.raises(Stopped):
        grown_system(config, pause=Stops(7), keep=GrowthFile(path, config, None))
    walled = replace(config, walls=(WallSection(side="z-", restitution=0.5),))
    for other in (load_config(melt, ["initial.seed=2"]), walled):
        caplog.clear()
        assert GrowthFile(path, other, None).load() is None and "is of another input" in caplog.text
    longer = load_config(melt, ["run.end_time=9"])
    assert GrowthFile(path, longer, None).load() is not None
    path.write_bytes(path.read_bytes()[:-100])
    assert GrowthFile(path, config, None).load() is None and "grown anew" in caplog.records[-1].getMessage()


def test_growth_is_kept_now_and_then(melt, tmp_path):
    config, path = load_config(melt, ["output.checkpoint_wall_minutes=1e-9"]), tmp_path / "growth.h5"
    grown_system(config, keep=GrowthFile(path, config, None))
    assert read_growth(path)[0].slice == read_growth(path)[0].slices


def test_a_file_of_growth_next_to_a_start_is_removed(melt, tmp_path):
    stopped = load_config(melt)
    path = tmp_path / "start.h5.growth.h5"
    with pytest.raises(Stopped):
        grown_system(stopped, pause=Stops(7), keep=GrowthFile(path, stopped, None))
    assert path.exists()
    build(melt, tmp_path / "start.h5", comm=Single())
    assert not path.exists()


def test_three_bonds_that_cross_are_caught_and_noticed():
    """Six beads of three bonds through one place are an octahedron that closes at 1/√2 of the bonds' length."""

    class Engine:
        def __init__(self):
            self.time, self.counters = 0.0, {"contacts": 0, "wall_contacts": 0}

    engine, watch = Engine(), SliceWatch(0.7, 1e6, beads=1000, length=0.1)
    for _ in range(50):  # a dense slice: 300 contacts of a bead
        engine.counters["contacts"] += 6000
        engine.time += 0.002
        watch.look(engine)
        assert not watch.stalled
    for _ in range(100):
        engine.counters["contacts"] += 6000
        engine.time += 1e-7
        watch.look(engine)
    assert watch.stalled


@pytest.mark.parametrize("size", [0.7044, 0.914])
def test_beads_that_jam_with_room_are_at_last_placed_so_large_that_bonds_do_not_cross(melt, size, caplog, monkeypatch):
    """1000 chains of 50 beads at packing fraction 0.3 jam at 0.991 and 0.914 of their size: some are caught."""
    config = load_config(melt)
    assert crossing_size(build_composition(config).whole()) == pytest.approx(0.5**0.5)
    grown = Growth.grown

    def jammed(self, state):
        if state.placed < 0.7:
            raise Jammed("jammed", size)
        return grown(self, state)

    monkeypatch.setattr(Growth, "grown", jammed)
    caplog.set_level(logging.INFO, "hpcchain.run")
    system = grown_system(config)
    assert "so large that bonds do not cross" in caplog.text
    assert bead_overlap(system.box, system.topology.whole(), system.state.position, 1e-12) is None


def test_beads_that_jam_without_room_are_not_placed_once_more(melt, caplog, monkeypatch):
    def jammed(self, state):
        raise Jammed(f"jammed, placed at {state.placed}", 1.0)

    monkeypatch.setattr(Growth, "grown", jammed)
    monkeypatch.setattr(growth, "LOOSEST_JAM", 0.29)
    caplog.set_level(logging.INFO, "hpcchain.run")
    with pytest.raises(Jammed):
        grown_system(load_config(melt))
    assert "another placement" in caplog.text and "so large" not in caplog.text


@pytest.mark.long
def test_a_melt_of_long_chains_grows_within_minutes(tmp_path):
    path = tmp_path / "large.toml"
    text = MELT.replace("0.3", "0.5").replace("beads = 10", "beads = 50").replace("count = 6", "count = 500")
    path.write_text(text, encoding="utf-8")
    begin = time.process_time()
    system = grown_system(load_config(path))
    assert time.process_time() - begin < 300.0
    assert bead_overlap(system.box, system.topology.whole(), system.state.position, 1e-12) is None
