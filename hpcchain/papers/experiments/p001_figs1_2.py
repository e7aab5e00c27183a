"""Hartmann et al. 2009, Figs 1 and 2: a trimer's path and its energy at ten stages and a step of a half."""

from typing import Any

import numpy as np

from hpcchain.papers.engine import followed
from hpcchain.papers.result import Result, Table, columns
from hpcchain.papers.trimers import at_nodes, collocation, crossing, interpolate, lengths, verlet

NAME = "001-figs1-2"
TITLE = "Figs 1-2: a self-intersecting trimer at s = 10, τ = 0.5, its path and its energy"


def run(quick: Any) -> Any:
    """Return path and energy error by the printed variant and by the sound one, with the Verlet path."""
    duration = 20.0 if quick else 500.0
    times = np.arange(0.0, duration + 1.0, 0.02)
    reference, true = followed(crossing(**verlet(5e-4)), times), followed(crossing(), times)
    data, largest, paths = {}, {}, {}
    for variant in ("paper", "index2"):
        track = at_nodes(crossing, collocation(0.5, 10, variant), duration)
        off = track.position - interpolate(reference, track.time)
        energy = track.double_energy - 1.0
        ends = track.position[:, [0, 2]].reshape(-1, 6)
        rows = np.column_stack([track.time, ends, lengths(off), energy])
        data[variant] = columns("time x1 y1 z1 x3 y3 z3 off_verlet d2E", rows)
        largest[variant] = np.max(np.abs(energy))
        paths[variant] = lengths(track.position - interpolate(true, track.time)).max()
    data["verlet"] = {"time": times[::5]} | {f"{c}3": reference.position[::5, 2, k] for k, c in enumerate("xyz")}
    table = Table("Energy and path")
    table.add(
        "Fig 2: |Δ2E|, as printed", "within 1e-8", largest["paper"], "their own Table I has 4.8e-7 for the same s and τ"
    )
    table.add("|Δ2E|, index2", None, largest["index2"], "the sound variant keeps it to round-off")
    table.add(
        "Fig 1: farthest from the exact path, as printed", "on the lines", paths["paper"], "not visible in a figure"
    )
    table.add("farthest from the exact path, index2", None, paths["index2"], "of order 20 instead of 10")
    path = lengths(reference.position - true.position).max()
    table.add("farthest from the exact path, Verlet h = 5e-4", None, path, "their reference")
    return Result(data, [table], [f"T = {duration:g}."])


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
