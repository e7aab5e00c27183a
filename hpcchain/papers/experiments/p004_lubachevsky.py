"""Marinkovic 2022, (5), (6): what an event costs as the number of spheres grows: all pairs, cells, and the queue."""

import time
from typing import Any

import numpy as np

from hpcchain.papers import granular
from hpcchain.papers.engine import engine_of
from hpcchain.papers.result import Result, Table, columns

NAME = "004-lubachevsky"
TITLE = "Lubachevsky's method: cost of an event over the number of spheres"


def run(quick: Any) -> Any:
    """Return CPU time and work of an event at growing numbers of spheres; smaller ones when quick."""
    sizes = (4, 6, 8) if quick else (5, 8, 12, 18, 27)
    rows = [measured(cells, 2000 if quick else 20000) for cells in sizes]
    data = columns("spheres pairs_us one_with_all_us engine_us searches levels", rows)
    table = Table("CPU time of an event over N spheres at packing fraction 0.3: power of N by least squares")
    printed = {"pairs_us": "O(N^2)", "one_with_all_us": "O(N)", "engine_us": "O(log N)"}
    says = {
        "pairs_us": "times of all pairs anew, by NumPy: all of its cost at small N is the calls'",
        "one_with_all_us": "one sphere with all others, by NumPy: the same",
        "engine_us": "cells, lists and the queue; what grows is the share of memory that is in no cache",
    }
    for name, what in printed.items():
        power = float(np.polyfit(np.log(data["spheres"]), np.log(data[name]), 1)[0])
        bounds = {"pairs_us": (0.8, 2.3), "one_with_all_us": (0.0, 1.3), "engine_us": (-0.4, 0.5)}[name]
        table.compare(name.removesuffix("_us").replace("_", " "), what, power, *bounds, says[name], f"N^{power:.2f}")
    least, most = min(data["searches"]), max(data["searches"])
    name, shown = "searches of a sphere's earliest contact in an event", f"{least:.2f} to {most:.2f}"
    why = "those that collide, and those whose next contact was with one of them"
    table.compare(name, "O(1)", most / least, 1.0, 1.5, why, shown)
    table.add(
        "comparisons to find the next event",
        "O(log N)",
        f"{data['levels'][0]} to {data['levels'][-1]}",
        "levels of a complete binary tree over molecules",
    )
    return Result({"": data}, [table], ["Fewer spheres, as quick."] if quick else [])


def measured(cells: int, events: int) -> list:
    """Return N, microseconds of all pairs, of one with all, of an event of the engine, its searches, and levels."""
    system = granular.gas(cells, 0.3, 2)
    n, x, v = cells**3, system.state.position, system.state.velocity
    engine = engine_of(system)
    engine.advance(0.1)  # compiled, and in the caches
    before, target = dict(engine.counters), 0.1
    begin = time.thread_time()
    while engine.counters["contacts"] - before["contacts"] < events:
        target += max(0.02, 0.1 * events / n)
        engine.advance(target)
    spent = time.thread_time() - begin
    done = engine.counters["contacts"] - before["contacts"]
    searches = (engine.counters["searches"] - before["searches"]) / done
    one = timed(lambda: pair_times(x[1:] - x[0], v[1:] - v[0]), 20)
    rows = min(n, 200)
    every = timed(lambda: [pair_times(x[k + 1 :] - x[k], v[k + 1 :] - v[k]) for k in range(rows)], 1) * n / rows
    return [n, every, one, 1e6 * spent / done, searches, int(np.ceil(np.log2(n)))]


def pair_times(r: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return the times of contact of pairs by (2), inf where they do not meet; diameters 1."""
    b, uu = np.einsum("ik,ik->i", r, u), np.einsum("ik,ik->i", u, u)
    disc = b * b - uu * (np.einsum("ik,ik->i", r, r) - 1.0)
    return np.where((b < 0.0) & (disc > 0.0), (-b - np.sqrt(np.maximum(disc, 0.0))) / uu, np.inf)


def timed(work: Any, count: int) -> float:
    """Return the CPU microseconds that a call takes."""
    begin = time.thread_time()
    for _ in range(count):
        work()
    return 1e6 * (time.thread_time() - begin) / count


def draw(result: Any, figure: Any) -> None:
    """Draw the cost of an event over N."""
    axes, data = figure.subplots(), result.data[""]
    for name, label in (("pairs_us", "all pairs"), ("one_with_all_us", "one with all"), ("engine_us", "engine")):
        axes.loglog(data["spheres"], data[name], "o-", label=label)
    axes.set(xlabel="N", ylabel="CPU time of an event [µs]")
    axes.legend()
