"""Leyendecker et al. 2012, Fig 7: condition numbers of the iteration matrices against the step."""

from typing import Any

import numpy as np

from hpcchain.papers.collisions import Integrator
from hpcchain.papers.engine import bond_gradient
from hpcchain.papers.result import Result, Table
from hpcchain.papers.single_chain import null_space, trimer

NAME = "000-trimer-condition"
TITLE = "condition numbers with multipliers and in the null space (Fig 7)"
STEPS = (0.5, 0.25, 0.1, 0.05, 0.025, 0.01, 0.005, 0.0025, 0.001)


def run(quick: Any) -> Any:
    """Return the largest condition numbers of free steps until t = 1 (quick: over 20 steps)."""
    steps = STEPS[:5] if quick else STEPS
    rows = np.array([largest(step, quick) for step in steps]).T
    reduced, printed, scaled = rows
    table = Table("Free steps of the trimer")
    table.compare("null space: h = .5", "10^2 at most", reduced[0], 1.0, 100.0)
    table.compare(f"null space: order in h down to {steps[-1]}", "0", order(steps, reduced), -0.1, 0.1)
    table.add(
        "multipliers: h = .5",
        "larger",
        printed[0],
        "the system as (10) has it: unknowns q and λ, force h G^T λ; no worse than the null space here",
    )
    table.compare(
        "multipliers: order in h",
        "-3",
        order(steps, printed),
        -3.3,
        -2.6,
        "agrees towards small h; but see the next line",
    )
    table.add(
        f"multipliers, unknown h^2 λ: h = {steps[-1]}",
        None,
        scaled[-1],
        "the first line of (10) times h: the same solution, by a matrix whose condition does not depend on h. "
        "What Fig 7 shows is a matter of scaling",
    )
    data = {"": {"step": np.array(steps), "null_space": reduced, "multipliers": printed, "multipliers_scaled": scaled}}
    return Result(data, [table])


def order(steps: Any, values: np.ndarray) -> Any:
    """Return the slope of log value over log step, of the smaller half of the steps."""
    half = len(steps) // 2
    return np.polyfit(np.log(steps[half:]), np.log(values[half:]), 1)[0]


def largest(step: Any, quick: Any) -> Any:
    """Return the largest condition number of the three matrices over free steps."""
    integrator = Integrator(trimer(), step)
    course = integrator.run(until=(20 if quick else max(20, round(0.2 / step))) * step - 1e-9)
    nodes = course.node_position[:: max(1, len(course.node_position) // 40)]
    following = course.node_position[1 :: max(1, len(course.node_position) // 40)]
    found = [conditions(q, after, step) for q, after in zip(nodes, following, strict=False)]
    return np.max(found, axis=0)


def conditions(q: np.ndarray, after: np.ndarray, step: float) -> list:
    """Return cond of P^T M P' / h, of [[M / h, h G^T], [G', 0]], and of that with h^2 λ and its first line times h."""
    g, end = bond_gradient(q), bond_gradient(after)
    n, m = g.shape[1], g.shape[0]
    zero = np.zeros((m, m))
    printed = np.block([[np.eye(n) / step, step * g.T], [end, zero]])
    scaled = np.block([[np.eye(n), g.T], [end, zero]])
    return [np.linalg.cond(matrix) for matrix in (null_space(q).T @ null_space(after), printed, scaled)]


def draw(result: Any, figure: Any) -> None:
    """Draw the three against the step."""
    axes = figure.subplots()
    columns = result.data[""]
    for name in ("multipliers", "multipliers_scaled", "null_space"):
        axes.loglog(columns["step"], columns[name], "o-", label=name.replace("_", " "))
    axes.set(xlabel="h", ylabel="condition number")
    axes.legend()
