"""Leyendecker et al. 2012, Fig 5: energy, contact constraint, iterations and dampings over 10 collisions."""

from typing import Any

import numpy as np

from hpcchain.papers.collisions import Integrator
from hpcchain.papers.result import Result, Table
from hpcchain.papers.single_chain import trimer

NAME = "000-trimer-energy"
TITLE = "the trimer over 10 collisions: energy, gap, Newton iterations, dampings (Fig 5)"


def run(quick: Any) -> Any:
    """Return what Fig 5 shows."""
    chain = trimer()
    course = Integrator(chain, 0.5).run(contacts=10)
    kind, iterations = np.array(course.kind), np.array(course.iterations)
    free = iterations[(kind == "free") | (kind == "discarded")]
    contact, after = iterations[kind == "contact"], iterations[kind == "after"]
    gaps = [chain.gap(q, ("p", 0, 2)) for q in course.node_position]
    table = Table("Trimer, h = .5, 10 collisions")
    table.compare("energy, largest - least", "about 1e-2", np.ptp(course.energy), 0.5e-2, 2e-2)
    table.add(
        "Newton iterations, free step",
        "4–5",
        f"{free.min()}–{free.max()}",
        "a reparametrisation by the exponential map at every iterate, and its exact derivative there",
    )
    table.add(
        "Newton iterations, contact (15) and step after it (16)",
        "7–9",
        f"{(contact + after).min()}–{(contact + after).max()}",
        "both together; (16) starts from the reflected velocity, from which it is nearly linear",
    )
    table.add(
        "increments cut at |u| = h",
        "in some contacts",
        str(sum(course.damped)),
        "from the reflected velocity none is longer than h",
    )
    table.compare("least gap at a node", "0", min(gaps), -1e-9, 1e-9)
    data = {
        "": {"time": np.array(course.energy_time), "energy": np.array(course.energy)},
        "nodes": {"time": np.array(course.node_time), "gap": np.array(gaps)},
        "solves": {
            "solve": np.arange(len(kind)),
            "kind": course.kind,
            "iterations": iterations,
            "damped": np.array(course.damped),
        },
    }
    return Result(data, [table], ["The energy is that of the discrete velocity, (q1 - q0) / tau, of every step."])


def draw(result: Any, figure: Any) -> None:
    """Draw energy, gap and iterations."""
    upper, middle, lower = figure.subplots(3, 1)
    upper.step(result.data[""]["time"], result.data[""]["energy"], where="pre")
    upper.set_ylabel("discrete energy")
    middle.plot(result.data["nodes"]["time"], result.data["nodes"]["gap"], ".-")
    middle.set(xlabel="time", ylabel="g_c")
    lower.bar(result.data["solves"]["solve"], result.data["solves"]["iterations"])
    lower.set(xlabel="solve", ylabel="iterations")
