"""Kaufman and Pai 2012, Fig 8: two discs in a nonlinear central potential, with the midpoint rule as the base."""

from typing import Any

from hpcchain.papers import inclusion_baselines, inclusion_runs, inclusion_systems, inclusions
from hpcchain.papers.inclusions import Method
from hpcchain.papers.result import Result, Table

NAME = "003-fig8"
TITLE = (
    "Fig 8: nonlinear oscillator; direct, collision integrator, generalised, and generalised with linear constraints"
)


def run(quick: Any) -> Any:
    """Return energies and angular momenta over t = 1000; `quick`: 100 (200 steps for L of d all the same)."""
    system, q, p = inclusion_systems.oscillator()
    steps = 1000 if quick else 10_000
    rules = {
        "a": (Method(0.1), inclusions.direct),
        "b": (Method(0.1), inclusion_baselines.collision),
        "c": (Method(0.1), inclusions.step),
        "d": (Method(0.1, linearized=True), inclusions.step),
    }
    tracks = {name: inclusion_runs.follow(system, one, (q, p), steps, rule) for name, (one, rule) in rules.items()}
    table = Table("h = 0.1, from (0, -1.4), (0, 1.4) at velocity 1 across")
    a, b, c, d = (tracks[name] for name in "abcd")
    least, words = a.energy.min(), "as drawn: all bouncing is lost, then slow growth"
    shown = f"{least:.3f}, {a.energy[-1]:.3f}"
    table.compare("a, direct: least E, E at the end", "falls, then creeps up", least, 2.77, 2.79, words, shown)
    table.add(
        "b, collision integrator: band of E",
        "drifts down",
        inclusion_runs.span(b),
        "L is kept; how far E walks hangs on how exactly contact is found: here to 60 halvings",
    )
    least, shown = c.energy.min(), inclusion_runs.span(c, 5)
    table.compare("c, generalised: band of E", "bounded", least, 4.50, 4.62, "bounded", shown)
    off = float(abs(c.momentum - 2.8).max())
    table.compare("c, generalised: change of L", "exact", off, 0.0, 1e-11, "kept to round-off and solver")
    words = "not kept, when gradients are those where the step is predicted to end; with those of its start L is kept"
    most, shown = d.momentum.max(), f"[{d.momentum.min():.3f}, {d.momentum.max():.3f}]"
    table.compare("d, linear constraints: band of L", "not kept", most, 4.0, 4.5, words, shown)
    data = {name: inclusion_runs.columns(track) for name, track in tracks.items()}
    return Result(data, [table], ["A tenth of the steps."] if quick else [])


draw = inclusion_runs.draw
