"""Starts that are grown in spheres and cylinders: within, without overlaps, the same on one rank and on two."""

from dataclasses import replace

import numpy as np
import pytest

from hpcchain.config.load import config_from_table
from hpcchain.errors import ConfigError
from hpcchain.model.physics.walls import outside
from hpcchain.model.starts.overlap import bead_overlap
from hpcchain.run.starts.growth import grown_system
from hpcchain.sector.serial import Engine
from tests.support.run_folders import command, write_input

SPHERE = {"shape": "sphere", "center": [3.0, 3.0, 3.0], "radius": 3.0, "velocity": 0.1}
CYLINDER = {"shape": "cylinder", "axis": "x", "center": [0.0, 3.2, 3.0], "radius": 2.9, "temperature": 1.0}
MOLECULES = [
    {"name": "A", "kind": "chain", "beads": 6, "count": 4},
    {"name": "B", "kind": "rod", "beads": 3, "count": 4},
    {"name": "C", "kind": "monomer", "count": 20},
]


def tables(shape, **more):
    """Return the input of molecules that grow in a shape."""
    boundary = ["open" if axis != shape.get("axis") else "periodic" for axis in "xyz"]
    box = {"size": [6.0, 6.2, 6.4], "boundary": boundary}
    return {"box": box, "molecule": MOLECULES, "wall": [shape], "initial": {"seed": 3}, "run": {"end_time": 1.0}} | more


@pytest.mark.parametrize("shape", [SPHERE, CYLINDER], ids=lambda shape: shape["shape"])
def test_molecules_grow_within_a_shape(shape):
    """Packing fraction .26 and .18 of the shape; a run from there meets the shape and stays inside."""
    system = grown_system(config_from_table(tables(shape), "in.toml"))
    walls, radius = system.physics.extended.walls, 0.5 * system.topology.whole().diameter
    assert outside(walls, system.state.position, radius).max() < 0.0
    assert bead_overlap(system.box, system.topology.whole(), system.state.position) is None
    engine = Engine(system, log_events=True)
    engine.advance(1.0)
    assert -7 in engine.drain_events()["bead"]
    now = [replace(wall, radius=wall.radius - wall.velocity) for wall in walls]
    position = engine.frame(1.0)[0][np.argsort(engine.ids)]
    assert outside(now, position, radius).max() < 1e-12


@pytest.mark.long  # tests/parallel/test_run_mpi.py grows starts on ranks; shapes are no other there
def test_two_ranks_grow_the_same_start(tmp_path):
    path = write_input(tmp_path / "in.toml", tables(SPHERE))
    for ranks in (1, 2):
        command(["build", path, "-o", f"{ranks}.h5"], tmp_path, ranks=ranks)
    command(["compare", "1.h5", "2.h5"], tmp_path)


def test_a_shape_too_small_for_its_beads_is_refused():
    small = SPHERE | {"radius": 1.8, "velocity": 0.0}
    with pytest.raises(ConfigError, match="the beads do not fit: packing fraction"):
        config_from_table(tables(small), "in.toml")
