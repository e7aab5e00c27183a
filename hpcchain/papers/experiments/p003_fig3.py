"""Kaufman and Pai 2012, Fig 3: a ball that falls under constraints that are put into one-step methods as forces."""

from typing import Any

import numpy as np

from hpcchain.papers import inclusion_baselines as baselines
from hpcchain.papers.result import Result, Table

NAME = "003-fig3"
TITLE = "Fig 3: a falling ball under direct substitution; effective restitution over where the ball meets the ground"
RULES = {"midpoint": "midpoint-constrained", "endpoint": "endpoint-constrained", "newmark": "IMEX Newmark"}


def run(quick: Any) -> Any:
    """Return heights over 10 s for each rule, the endpoint rule from three heights; it takes no longer unless quick."""
    h, steps = 0.01, 1000
    time = h * np.arange(steps + 1)
    data = {rule: {"t": time, "q": baselines.ball(rule, 1.0, steps, h)[0]} for rule in RULES}
    gains = []
    for height in (0.99, 1.0, 1.01):
        q, v = baselines.ball("midpoint", height, steps, h)
        gains.append((0.5 * v[-1] ** 2 + 9.8 * q[-1]) / (9.8 * height))
        data[f"endpoint from {height:g}"] = {"t": time, "q": baselines.ball("endpoint", height, steps, h)[0]}
    table = Table("A unit mass from height 1, g = 9.8, h = 0.01")
    table.add(
        "midpoint-constrained, energy after 10 s",
        "grows and falls",
        f"{min(gains):.3g} to {max(gains):.3g} times",
        "three starts, 0.99, 1 and 1.01; the paper states no step, and the factor hangs on it",
    )
    xi = np.linspace(0.0, 1.0, 11)
    found = np.array([abs(baselines.restitution(float(one))) for one in xi])
    off = float(np.abs(found - np.abs(1.0 - 2.0 * xi)).max())
    words = "exactly so, with xi the height before the contact over h |v|"
    table.compare("endpoint-constrained, restitution |1 - 2 xi|", "varies", off, 0.0, 1e-12, words, f"to {off:.1e}")
    q, v = baselines.ball("endpoint", 1.0, steps, h)
    rise = float(np.diff(0.5 * v**2 + 9.8 * q).max())
    table.compare("endpoint-constrained, greatest gain in a step", "only dissipates", rise, -1.0, 1e-12)
    same = float(np.abs(data["newmark"]["q"] - data["endpoint"]["q"]).max())
    words = "the same but for rounding, which contacts enlarge"
    table.compare("IMEX Newmark less endpoint-constrained", None, same, 0.0, 1e-6, words)
    data["restitution"] = {"t": xi, "q": found}
    return Result(data, [table], ["Quick changes nothing."] if quick else [])


def draw(result: Any, figure: Any) -> None:
    """Draw heights, and the restitution."""
    left, right = figure.subplots(1, 2)
    for name, data in result.data.items():
        if name == "restitution":
            right.plot(data["t"], data["q"], "o-")
        else:
            left.plot(data["t"][:300], data["q"][:300], linewidth=0.8, label=name)
    left.set(xlabel="t", ylabel="height")
    left.legend(fontsize="small")
    right.set(xlabel="xi", ylabel="restitution, endpoint-constrained")
