"""Hartmann et al. 2009, Figs 1 and 2: a trimer's path and its energy at ten stages and a step of a half."""

from typing import Any

import numpy as np

from hpcchain.papers.result import Result, Table

NAME = "001-figs1-2"
TITLE = "Figs 1-2: a self-intersecting trimer at s = 10, τ = 0.5, its path and its energy"


def run(quick: Any) -> Any:
    """Return path and energy error by the printed variant and by the sound one, with the Verlet path."""
    from hpcchain.papers.trimers import crossing, exact, interpolate

    duration = 20.0 if quick else 500.0
    verlet = crossing().rattle(5e-4, duration + 1.0)
    true = exact(crossing, duration + 1.0, 0.02)
    data, largest, paths = {}, {}, {}
    for variant in ("paper", "index2"):
        track = crossing().collocate(0.5, 10, duration, variant)
        early = track.time <= duration
        here = track.time[early]
        off = track.position[early] - interpolate(verlet, here)
        energy = track.double_energy[early] - 1.0
        ends = track.position[early][:, [0, 2]].reshape(-1, 6)
        data[variant] = dict(
            zip(
                ("time", "x1", "y1", "z1", "x3", "y3", "z3", "off_verlet", "d2E"),
                (here, *ends.T, distance(off), energy),
                strict=True,
            )
        )
        largest[variant] = np.max(np.abs(energy))
        paths[variant] = farthest(track.position[early] - interpolate(true, here))
    reference = farthest(verlet.position - interpolate(true, verlet.time))
    thin = slice(None, None, 200)
    data["verlet"] = {"time": verlet.time[thin]} | {f"{c}3": verlet.position[thin, 2, k] for k, c in enumerate("xyz")}
    table = Table("Energy and path")
    table.add(
        "Fig 2: |Δ2E|, as printed", "within 1e-8", largest["paper"], "their own Table I has 4.8e-7 for the same s and τ"
    )
    table.add("|Δ2E|, index2", None, largest["index2"], "the sound variant keeps it to round-off")
    table.add(
        "Fig 1: farthest from the exact path, as printed", "on the lines", paths["paper"], "not visible in a figure"
    )
    table.add("farthest from the exact path, index2", None, paths["index2"], "of order 20 instead of 10")
    table.add("farthest from the exact path, Verlet h = 5e-4", None, reference, "their reference")
    return Result(data, [table], [f"T = {duration:g}."])


def distance(off: Any) -> Any:
    """Return the lengths of differences in the space of all coordinates."""
    return np.linalg.norm(off.reshape(len(off), -1), axis=1)


def farthest(off: Any) -> Any:
    """Return the largest of them."""
    return float(np.max(distance(off)))


def draw(result: Any, figure: Any) -> None:
    """Draw the path of bead 3 and the energy error."""
    left, right = figure.subplots(1, 2)
    early = result.data["verlet"]["time"] < 20.0
    left.plot(result.data["verlet"]["x3"][early], result.data["verlet"]["y3"][early], linewidth=0.7)
    paper = result.data["paper"]
    early = paper["time"] < 20.0
    left.plot(paper["x3"][early], paper["y3"][early], "*")
    left.set(xlabel="x", ylabel="y", title="bead 3, t < 20: stars collocation, line Verlet")
    for variant in ("paper", "index2"):
        right.plot(result.data[variant]["time"], result.data[variant]["d2E"], label=variant)
    right.set(xlabel="time", ylabel="Δ 2E")
    right.legend()
