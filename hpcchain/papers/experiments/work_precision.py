"""Work over precision of all propagators: chains of 3, 10 and 50 beads, flying freely and hitting themselves."""

import time
from typing import Any

import numpy as np

from hpcchain.errors import HpcchainError
from hpcchain.model.system import Options
from hpcchain.papers.engine import engine_of, on_bonds, self_avoiding, system_of
from hpcchain.papers.result import Result, Table, columns
from hpcchain.propagators.catalogue import PROPAGATORS, VARIANTS

NAME = "work-precision"
TITLE = "error at a fixed time and energy error against CPU time per bead, for every propagator"

SIZES = (3, 10, 50)
CASES = {"free": (False, 5.0), "colliding": (True, 1.0)}
"""Whether beads of the chain collide, and when its positions are compared [time]."""
ENERGY_TIME = 20.0
LEAST_CPU = 0.1
TARGETS = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
STAGED = [(2, 0.05), (2, 0.0125), (3, 0.05), (4, 0.2), (4, 0.1), (4, 0.05), (6, 0.2), (6, 0.1), (8, 0.2), (8, 0.1)]
STEPS = (0.1, 0.05, 0.025, 0.0125, 0.00625)


def settings() -> dict[str, list[dict]]:
    """Return {label: list of settings of Physics} of every propagator that this version has."""
    found: dict = {"taylor": [{"tolerance": 10.0**-k} for k in (4, 6, 8, 10, 12, 14)]}
    for variant in VARIANTS:
        one = {"propagator": "collocation", "options": Options(variant=variant)}
        found[f"collocation {variant}"] = [one | {"stages": s, "step": step} for s, step in STAGED]
    for name in PROPAGATORS:
        if name not in ("taylor", "collocation"):
            found[name] = [{"propagator": name, "step": step} for step in STEPS]
    return found


def run(quick: Any) -> Any:
    """Return cost, error and energy error of every setting, and the cheapest ones to a given error."""
    rows, lost = [], []
    for case, (collide, end) in CASES.items():
        for n in SIZES[: 2 if quick else None]:
            position, velocity = thermal_chain(n)
            reference, _, _ = measure(position, velocity, collide, end, {"tolerance": 1e-14}, quick)
            for label, tables in settings().items():
                for table in tables[:: 3 if quick else 1]:
                    found, energy, cost = measured(position, velocity, collide, end, table, quick)
                    error = np.sqrt(np.mean(np.sum((found - reference) ** 2, axis=1)))
                    lost += [] if np.isfinite(energy) else [f"{label} at {table['step']}"]
                    own = table.get("stages", 0), table.get("step", 0.0), table.get("tolerance", 1e-12)
                    rows.append((case, n, label, *own, cost, error, energy))
    data = columns("case beads propagator stages step tolerance cpu_us_per_bead_time error energy_error", rows)
    return Result(
        {"": data},
        [cheapest(data)],
        [
            "Error: root of the mean square distance of the beads from Taylor series to 1e-14, at t = 5 (free) and "
            "t = 1 (colliding). Energy error 20 later, relative. Cost: CPU time of the whole engine, contact search "
            "included, on one core, for one chain; bond length, diameter, mass and temperature are 1.",
            "Collisions multiply errors: a chain of 50 hits itself tens of times until t = 1. So small errors "
            "there need a small error of each segment, and the orders of the methods show less than in free flight.",
            f"{len(lost)} of {len(rows)} runs did not end, errors are inf ({', '.join(dict.fromkeys(lost)) or '-'}): "
            "where steps are too long for how fast bonds turn, energy grows until no next step is found (000-drift).",
        ],
    )


def measured(position: np.ndarray, velocity: np.ndarray, collide: Any, end: Any, physics: dict, quick: Any) -> Any:
    """Return positions, energy error and cost of `measure`: inf, inf and nan where the motion blows up."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            return measure(position, velocity, collide, end, physics, quick)
    except HpcchainError:
        return np.full_like(position, np.inf), np.inf, np.nan


def measure(position: np.ndarray, velocity: np.ndarray, collide: Any, end: Any, physics: dict, quick: Any) -> Any:
    """Return positions at the end time, the relative energy error later, and CPU µs per bead and unit time."""
    engine = engine_of(system_of(position, velocity, len(position), collide=collide, **physics))
    engine.advance(end)
    found = engine.frame(end)[0].copy()
    late = end + (1.0 if quick else ENERGY_TIME)
    begin = time.process_time()
    engine.advance(late)
    spent, length = time.process_time() - begin, late - end
    _, moved, _ = engine.frame(late)
    energy = abs(np.sum(moved**2) / np.sum(velocity**2) - 1.0)
    while spent < LEAST_CPU and not quick:
        begin = time.process_time()
        try:
            engine.advance(late + length)
        except HpcchainError:  # of steps that are too long; the cost until then is known
            break
        spent += time.process_time() - begin
        late, length = late + length, 2.0 * length
    return found, max(energy, 2.0**-53), 1e6 * spent / (late - end) / len(position)


def thermal_chain(n: int, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and velocities of a self-avoiding chain of unit bonds at temperature 1, centred and at rest."""
    random = np.random.default_rng([seed, n])
    position = self_avoiding(random, n, 1.02, 0.02)
    velocity = random.normal(size=(n, 3))
    for _ in range(2):
        velocity = on_bonds(position, velocity - velocity.mean(axis=0))
    free = 3 * n - (n - 1) - 3
    return position - position.mean(axis=0), velocity * np.sqrt(free / np.sum(velocity**2))


def cheapest(data: Any) -> Any:
    """Return the table of what each propagator costs to an error."""
    table = Table("CPU µs per bead and unit time to an error, cheapest first")
    for case in CASES:
        for n in sorted(set(data["beads"].tolist())):
            for target in TARGETS:
                good = (data["case"] == case) & (data["beads"] == n) & (data["error"] <= target)
                costs = {}
                for label, cost in zip(data["propagator"][good], data["cpu_us_per_bead_time"][good], strict=True):
                    costs[str(label)] = min(cost, costs.get(str(label), np.inf))
                ours = ", ".join(f"{label} {cost:.3g}" for label, cost in sorted(costs.items(), key=lambda one: one[1]))
                table.add(f"{case}, {n} beads, {target:g}", None, ours or "none", "no paper compares them")
    return table


def draw(result: Any, figure: Any) -> None:
    """Draw error, then energy error, over cost: one column per chain, one row per case."""
    data = result.data[""]
    sizes = sorted(set(data["beads"].tolist()))
    figure.set_size_inches(3.0 * len(sizes) + 1.5, 10.0)
    panels = figure.subplots(4, len(sizes), sharex="col", squeeze=False)
    labels = list(dict.fromkeys(data["propagator"].tolist()))
    for row, (case, name) in enumerate((case, name) for name in ("error", "energy_error") for case in CASES):
        for column, n in enumerate(sizes):
            panel = panels[row, column]
            for label in labels:
                here = (data["case"] == case) & (data["beads"] == n) & (data["propagator"] == label)
                here &= data[name] > 0.0  # the reference itself has no error
                cost, error = frontier(data["cpu_us_per_bead_time"][here], data[name][here])
                panel.loglog(cost, error, "o-", markersize=3, linewidth=0.8, label=label)
            panel.set_title(f"{case}, {n} beads", fontsize="small")
            if column == 0:
                panel.set_ylabel("position error" if name == "error" else "energy error")
            if row == 3:
                panel.set_xlabel("CPU µs per bead and unit time")
    figure.legend(
        *panels[0, -1].get_legend_handles_labels(), loc="outside upper center", ncols=len(labels), fontsize="small"
    )


def frontier(cost: float, error: Any) -> Any:
    """Return those settings than which no cheaper one is better, by cost."""
    sequence = np.argsort(cost)
    cost, error = cost[sequence], error[sequence]  # type: ignore[index]
    best = error < np.concatenate([[np.inf], np.minimum.accumulate(error)[:-1]])
    return cost[best], error[best]
