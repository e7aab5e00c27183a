"""Engines are what `sector.interface.Engine` says, and other floors ask for nothing else."""

import ast
from pathlib import Path

import numpy as np
import pytest

import hpcchain
from hpcchain.parallel.thread_ranks import on_ranks
from hpcchain.parallel.windows import WindowedEngine
from hpcchain.sector.ghosted import GhostedSector
from hpcchain.sector.interface import Engine as Interface
from hpcchain.sector.serial import Engine
from hpcchain.steps.engine import SteppedEngine
from tests.support.gases import gas
from tests.support.stepped import liquid, system_of

PACKAGE = Path(hpcchain.__file__).parent
WORDS = {name for name in dir(Interface) if not name.startswith("_")} | set(Interface.__annotations__)
OPTIONAL = {"energies"}  # of engines whose beads have potentials (`run.engines`)


def asked_of_engines(path):
    """Return the attributes that a file reads from something called engine."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute)]
    return {node.attr for node in nodes if ast.unparse(node.value) in ("engine", "self.engine", "self._engine")}


def test_the_serial_engine_is_one():
    engine = Engine(gas(["monomer", "monomer"], pitch=2.0, diameter=0.5, cells=(2, 1, 1)))
    assert isinstance(engine, Interface)
    position, velocity, image = engine.frame(0.0)
    assert position.shape == velocity.shape == image.shape == (2, 3) and image.dtype == np.int64


def test_the_engine_of_several_ranks_is_one():
    system = gas(["monomer", "monomer"], pitch=2.0, diameter=0.5, cells=(2, 1, 1))
    assert on_ranks(2, lambda comm: isinstance(WindowedEngine(system, comm), Interface)) == [True, True]


def test_the_engine_of_steps_is_one():
    assert isinstance(SteppedEngine(system_of(liquid(1, beads=20, chains=1))), Interface)


def test_a_sector_with_ghosts_is_none():
    """It is a part of one: it knows neither of the other ranks nor of time but in ticks."""
    assert not issubclass(GhostedSector, Engine)
    assert not {"advance", "drain_events", "window_report"} & set(dir(GhostedSector))


@pytest.mark.parametrize("folder", ["run", "observe", "io"])
def test_other_floors_ask_for_no_more(folder):
    asked = set().union(*(asked_of_engines(path) for path in (PACKAGE / folder).rglob("*.py")))
    assert asked <= WORDS | OPTIONAL
    assert folder != "run" or {"advance", "frame", "state"} <= asked


def test_ranks_read_no_array_of_a_sector():
    """`parallel` asks `GhostedSector` by name; where its columns are is the sector's own."""
    for path in (PACKAGE / "parallel").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            assert not (isinstance(node, ast.Attribute) and node.attr == "sector"), f"{path.name}:{node.lineno}"
