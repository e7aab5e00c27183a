"""Iterations that solving for steps took: counted by the engine as solvers made them, in run log and perf."""

import json

import numpy as np
import pytest

from hpcchain.cli.main import main
from hpcchain.propagators.steps.rattle_and_variational import ITERATIONS
from hpcchain.run.totals import MOST, SOLVED, solving
from hpcchain.sector.serial import Engine
from tests.reference import tables
from tests.reference.program import run
from tests.reference.systems import Molecule, System, place, thermal
from tests.support.identity import parallel
from tests.support.molecules import Molecule as Block
from tests.support.solved import start
from tests.support.stepping import step, still

STEP, END = 0.0625, 1.5


def free_chain():
    """Return a thermal chain that meets nothing."""
    system = System([Molecule("chain", 6, self_contact=False)], (60.0,) * 3, ("open",) * 3, (-30.0,) * 3)
    return thermal(place(system, np.random.default_rng(1)), np.random.default_rng(1))


@pytest.mark.parametrize("solver", ["tridiagonal", "sweeping", "analytic"])
def test_counts_are_those_of_the_solver(solver, tmp_path):
    """Step after step by the solver alone: the same number, sum and most."""
    system = free_chain()
    engine = Engine(start(system, tmp_path, name="rattle", step=STEP, solver=solver))
    engine.advance(END - 0.01)
    block = Block(system.bonds, system.position, system.velocity, system.mass)
    taken = []
    for _ in range(int(END / STEP)):
        _, v, x, _, work = step(block, STEP, solver)
        taken.append(int(work[ITERATIONS]))
        v = still(block, x, v)
        block.put(0, x)
        block.put(1, v)
    found = engine.counters
    assert (found["steps"], found["nodes"], found["halved"]) == (len(taken), 0, 0)
    assert abs(found["iterations"] - sum(taken)) <= 2 and abs(found["most_iterations"] - max(taken)) <= 1
    assert max(taken) > (5 if solver != "tridiagonal" else 1)


@pytest.mark.parametrize(
    ("propagator", "most"),
    [
        ({"name": "rattle"}, 5),
        ({"name": "variational"}, 5),
        ({"name": "variational", "solver": "null-space"}, 8),
        ({"name": "collocation", "stages": 4}, 30),
        ({"name": "collocation", "stages": 3, "stage_solver": "newton"}, 8),
    ],
    ids=["rattle", "variational", "null-space", "collocation", "newton"],
)
def test_steps_and_contact_nodes_are_counted(propagator, most, tmp_path):
    """A node of each contact's molecule, whose step is cut short and so needs no more iterations on the average."""
    engine = Engine(start(tables.thermal_chain(), tmp_path, step=0.05, **propagator), log_events=True)
    engine.advance(12.0)
    contacts = len(engine.drain_events())
    found = engine.counters
    assert contacts > 5 and contacts <= found["nodes"] <= contacts + found["grazes"] + found["ties"]
    assert found["steps"] >= found["segments"] - 1 > 200
    assert 1 <= found["node_iterations"] / found["nodes"] <= found["iterations"] / found["steps"] <= most
    assert found["iterations"] / found["steps"] <= found["most_iterations"] <= most


def test_where_nothing_is_solved_nothing_is_counted(tmp_path):
    engine = Engine(start(tables.thermal_chain(), tmp_path, name="taylor"))
    engine.advance(12.0)
    assert {engine.counters[name] for name in (*SOLVED, *MOST)} == {0}


def test_ranks_count_what_they_solve(tmp_path):
    """Each the steps of its ghosts and what was withdrawn, too; mean and most come out alike."""
    system = thermal(
        place(System([Molecule("chain", 4, count=8)], (6.0,) * 3), np.random.default_rng(2)), np.random.default_rng(2)
    )
    built = start(system, tmp_path, name="rattle", step=0.05)
    engine = Engine(built)
    engine.advance(2.0)
    one, many = engine.counters, parallel(built, 2.0, 2).reports
    steps, iterations = (sum(each[name] for each in many) for name in ("steps", "iterations"))
    assert steps >= one["steps"] > 200
    assert iterations / steps == pytest.approx(one["iterations"] / one["steps"], abs=0.3)
    assert abs(max(each["most_iterations"] for each in many) - one["most_iterations"]) <= 1


def test_log_and_perf_have_them(tmp_path, capsys):
    law = {"propagator": {"name": "variational", "step": 0.1}}
    done = run(tables.thermal_chain().input(4.0, report_every=2.0) | law, tmp_path)
    reports = [json.loads(line) for line in (done.directory / "run.jsonl").read_text().splitlines()]
    counts = [report["steps_solved"] for report in reports if "steps_solved" in report]
    assert counts == sorted(counts) and counts[-1] >= 40
    assert 1.0 < reports[-1]["iterations_per_step"] <= reports[-1]["most_iterations"] < 8
    assert main(["perf", str(done.directory)]) == 0
    printed = dict(
        line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line.startswith("steps ")
    )
    assert printed["steps solved"] == str(counts[-1]) and printed["steps halved"] == "0"


def test_a_checkpoint_of_an_earlier_version_has_none():
    assert solving({"contacts": 4}) == {}
    assert solving(dict.fromkeys((*SOLVED, *MOST), 0))["iterations_per_step"] is None
