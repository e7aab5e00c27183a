"""Units: what was tried runs as in units of 1, what was not is refused and the range named."""

import pytest

from hpcchain import api
from hpcchain.config import load_config
from hpcchain.config.demands import check
from hpcchain.errors import ConfigError, DataError
from hpcchain.model.starts.start import build_system
from hpcchain.observe.observables import Observables
from hpcchain.parallel.comm import Single
from hpcchain.run.starts.growth import grown_system
from hpcchain.run.starts.start_from_file import system_from_file
from hpcchain.run.starts.starting import load_input
from hpcchain.sector.serial import Engine
from tests.support.mixtures import to_toml


def scaled(length=1.0, time=1.0, mass=1.0, **sections):
    """Return a small mixed input in units of these sizes."""
    size = {"bond_length": length, "diameter": length, "mass": mass}
    molecules = [
        {"kind": "chain", "beads": 5, "count": 6},
        {"kind": "ring", "beads": 5, "count": 3},
        {"kind": "monomer", "count": 15},
        {"kind": "rod", "beads": 3, "count": 3},
    ]
    return {
        "box": {"size": [7.0 * length] * 3, "boundary": ["periodic", "periodic", "wall"]},
        "molecule": [kind | size for kind in molecules],
        "initial": {"temperature": mass * (length / time) ** 2},
        "run": {"end_time": 2.0 * time},
        "output": {"frame_every": time, "report_every": time, "checkpoint_every": time},
    } | sections


@pytest.fixture
def write(tmp_path):
    def put(tables, name="in.toml"):
        path = tmp_path / name
        path.write_text(to_toml(tables))
        return path

    return put


@pytest.mark.parametrize("length", [1e-5, 1e5])
@pytest.mark.parametrize("time", [1e-5, 1e5])
@pytest.mark.parametrize("mass", [1e-14, 1e14])
@pytest.mark.parametrize("step", [None, 0.1])
def test_what_was_tried_keeps_the_energy(write, length, time, mass, step):
    section = {} if step is None else {"propagator": {"name": "collocation", "step": step * time}}
    system = grown_system(load_config(write(scaled(length, time, mass, **section))))
    engine, watch = Engine(system), Observables(system, freedom=3)

    def energy(at):
        order = engine.ids.argsort()
        frame = [part[order] for part in engine.frame(at)]
        return watch.measure(watch.sums(0, *frame, 4096), 0.0)["kinetic_energy"]

    before = energy(0.0)
    engine.advance(2.0 * time, lambda: False)
    assert energy(2.0 * time) == pytest.approx(before, rel=1e-13)
    assert engine.counters["contacts"] > 30


REFUSED = {
    "temperature": ({"initial.temperature": 1e-40}, "initial.temperature: 1e-40 .* 1e-06 to 1e\\+06 of thermal times"),
    "hot": ({"initial.temperature": 1e30}, "initial.temperature: 1e\\+30"),
    "box": ({"box.size": [1e30] * 3}, "box.size: entry 0: 1e\\+30 .* 1e-06 to 1e\\+12"),
    "long": ({"molecule.0.bond_length": 1e30}, "molecule\\[0\\].bond_length: 1e\\+30 .* 1e-06 to 1e\\+06"),
    "thin": ({"molecule.2.diameter": 1e-30}, "molecule\\[2\\].diameter: 1e-30"),
    "heavy": ({"molecule.1.mass": 1e20}, "molecule\\[1\\].mass: 1e\\+20 .* 1e-15 to 1e\\+15"),
    "step": ({"propagator.name": "rattle", "propagator.step": 1e-20}, "propagator.step: 1e-20"),
    "frames": ({"output.frame_every": 1e-30}, "output.frame_every: 1e-30"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_was_not_tried_is_refused_with_key_and_range(write, name):
    settings, message = REFUSED[name]
    with pytest.raises(ConfigError, match=message):
        load_config(write(scaled()), [f"{key} = {value!r}" for key, value in settings.items()])


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_all_lengths_or_all_times_scaled_are_refused_too(write, unit):
    for tables in (scaled(length=unit, time=unit), scaled(time=unit)):
        with pytest.raises(ConfigError, match="that has been tried; choose other units"):
            load_config(write(tables))


def explicit(speed, place=1.0):
    """Return the input of two beads with given places and velocities."""
    rows = {"positions": [[1.0, 1.0, place], [3.0, 1.0, 1.0]], "velocities": [[speed, 0.0, 0.0], [0.0, speed, 0.0]]}
    return scaled(molecule=[{"kind": "monomer", "count": 2, **rows}], initial={"method": "explicit"})


@pytest.mark.parametrize("speed", [1e-20, 1e-8, 1e8])
def test_velocities_that_are_given_are_looked_at(write, speed):
    with pytest.raises(ConfigError, match="molecule.velocities: .* thermal times"):
        build_system(load_config(write(explicit(speed))))


def test_rest_and_one_slow_bead_are_taken(write):
    build_system(load_config(write(explicit(0.0))))
    rows = [[1e-30, 0.0, 0.0], [0.0, 1.0, 0.0]]
    tables = explicit(1.0)
    tables["molecule"][0]["velocities"] = rows
    build_system(load_config(write(tables)))


@pytest.mark.parametrize(
    ("key", "value"),
    [("positions", [[1.0, 1.0, 1e20], [3.0, 1.0, 1.0]]), ("velocities", [[1e20, 0.0, 0.0], [0.0, 1.0, 0.0]])],
)
def test_single_numbers_far_out_are_refused(write, key, value):
    tables = explicit(1.0)
    tables["molecule"][0][key] = value
    with pytest.raises(ConfigError, match=rf"molecule\[0\].{key}: row 0: 1e\+20 is beyond the range 0 to 1e\+15"):
        load_config(write(tables))


def test_files_are_looked_at(write, tmp_path, monkeypatch):
    """A start that `build` does not make."""
    with monkeypatch.context() as earlier:
        earlier.setattr(check, "THERMAL_TIMES", check.THERMAL_TIMES.__class__("any", 0.0, 1e300))
        api.build(write(explicit(1e-20)), tmp_path / "start.h5")
    tables = scaled(initial={"method": "file", "file": "start.h5"})
    del tables["molecule"]
    with pytest.raises(DataError, match="start.h5: molecule.velocities: .* thermal times"):
        system_from_file(load_input(write(tables)), Single())


def test_copies_are_looked_at(write, tmp_path):
    api.build(write(explicit(1.0)), tmp_path / "start.h5")
    tables = scaled(initial={"method": "file", "file": "start.h5", "temperature": 1e-40})
    del tables["molecule"]
    with pytest.raises(ConfigError, match="initial.temperature: .* thermal times"):
        api.build(write(tables), tmp_path / "large.h5", copies=(2, 1, 1))
