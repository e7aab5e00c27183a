"""Kaufman and Pai 2012, Fig 10: Newton's cradle of five balls with two lifted, with the midpoint rule as the base."""

from typing import Any

import numpy as np

from hpcchain.papers import inclusion_runs, inclusion_systems
from hpcchain.papers.inclusions import Method
from hpcchain.papers.result import Result, Table

NAME = "003-fig10"
TITLE = "Fig 10: Newton's cradle at four steps; how far the energy dips"
DIPS = {0.03: 9.0e-3, 0.02: 4.0e-3, 0.01: 1.0e-3, 0.005: 2.5e-4}


def run(quick: Any) -> Any:
    """Return energies over t = 20 at four steps; `quick`: over 5."""
    system, q, p = inclusion_systems.cradle()
    table, data, found = Table("g = 9.8, radius 0.25, pendulums of 1, two balls lifted by 36 degrees"), {}, []
    for h, dip in DIPS.items():
        track = inclusion_runs.follow(system, Method(h), (q, p), round((5.0 if quick else 20.0) / h), planar=False)
        least, most = track.rise
        found.append(-least)
        words = "a band that goes with h^2; no instability at any of the four steps"
        name, printed = f"h = {h:g}: E falls, rises by", "unstable" if h == 0.03 else "stable"
        table.compare(name, printed, -least, 0.97 * dip, 1.03 * dip, words, f"{-least:.2e}, {most:.1e}")
        data[f"h{h:g}"] = inclusion_runs.columns(track)
    slope = float(np.polyfit(np.log(list(DIPS)), np.log(found), 1)[0])
    table.compare("exponent of h", None, slope, 1.95, 2.05, "order two")
    return Result(data, [table], ["To t = 5 only."] if quick else [])


draw = inclusion_runs.draw
