"""Kaufman and Pai 2012, Figs 6 and 9: two points on a spring, held within a circle and pulled outward."""

from typing import Any

import numpy as np

from hpcchain.papers import inclusion_runs, inclusion_systems, inclusions
from hpcchain.papers.inclusions import Method
from hpcchain.papers.result import Result, Table

NAME = "003-figs6-9"
TITLE = "Figs 6, 9: spring in a circle; smooth and bouncing motion, direct and discrete-smooth and generalised"
STARTS = {"6": np.array([4.0, -3.0, 3.0, -4.0]), "9": np.array([4.0, -1.0, 3.0, -4.0])}
SLIP = "g = r - |q|: as printed, with the other sign, both would leave at once"


def run(quick: Any) -> Any:
    """Return energies and angular momenta over t = 1000, direct over 100; `quick`: a fifth of 1000."""
    table = Table("h = 0.5, radius 5")
    data, steps = {}, 400 if quick else 2000
    for figure, q in STARTS.items():
        system = inclusion_systems.spring_in_sphere(25.0)
        start = q, inclusion_systems.tangent(q)
        direct = inclusion_runs.follow(system, Method(0.5), start, 200, inclusions.direct)
        ends = {"6": (2.10, 0.863), "9": (2.018, 1.02)}[figure]
        off = max(abs(direct.energy[-1] - ends[0]), abs(direct.momentum[-1] - ends[1]))
        e, momentum = direct.energy[[0, -1]], direct.momentum[[0, -1]]
        shown = f"E {e[0]:.4g} to {e[1]:.4g}, L {momentum[0]:.4g} to {momentum[1]:.3g}"
        name = f"{figure} b, direct: E, L at t = 100"
        table.compare(name, "both decay", off, 0.0, 0.01, f"decay as drawn; {SLIP}", shown)
        method = Method(0.5, smooth_only=figure == "6")
        track = inclusion_runs.follow(system, method, start, steps)
        least, most = track.rise
        name, off, shown = f"{figure} c, ours: band of E", max(-least, most), inclusion_runs.span(track)
        table.compare(name, "bounded to t = 1000", off, 0.0, 0.15, "bounded", shown)
        name, off = f"{figure} c, ours: change of L", float(np.ptp(track.momentum))
        table.compare(name, "exact", off, 0.0, 1e-10, "kept to round-off and solver")
        data |= {f"fig{figure}-direct": inclusion_runs.columns(direct), f"fig{figure}": inclusion_runs.columns(track)}
    data["fig6-50"] = stays(table, steps)
    return Result(data, [table], ["To t = 200 only."] if quick else [])


def stays(table: Table, steps: int) -> dict:
    """Add what becomes of Fig 6 with an outward pull that holds the points on the circle; return the run's columns."""
    system, q = inclusion_systems.spring_in_sphere(50.0), STARTS["6"]
    track = inclusion_runs.follow(system, Method(0.5, smooth_only=True), (q, inclusion_systems.tangent(q)), steps)
    least, most = track.rise
    name, off = "6 c, coefficient 50 in place of 25: band of E", max(-least, most)
    on = "on the circle throughout"
    words = f"{on}; with 25 the exact motion leaves it at t = 1.794, it takes more than 29.13 to stay"
    table.compare(name, on, off, 0.0, 0.02, words, f"{least:+.3f} to {most:+.3f}")
    return inclusion_runs.columns(track)


draw = inclusion_runs.draw
