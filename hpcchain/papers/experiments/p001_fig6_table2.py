"""Hartmann et al. 2009, Fig 6 and Table II: collocation and Verlet for one colliding trimer, and at equal accuracy."""

import time
from typing import Any

import numpy as np

from hpcchain.papers.engine import engine_of, followed
from hpcchain.papers.result import Result, Table, columns
from hpcchain.papers.trimers import colliding, collocation, contact_times, verlet

NAME = "001-fig6-table2"
TITLE = "Fig 6 and Table II: collocation against Verlet, at the paper's steps and at equal accuracy"

PRINTED = {10: (1.94, 5.76, 9.38), 100: (16.55, 40.18, 78.99), 1000: (151.88, 537.98, 939.61)}
WAYS = ("collocation", "analytic", "sweeping")
EVERY = 0.05
"""Interval at which energies are looked at [time]."""


def run(quick: Any) -> Any:
    """Return the energies of Fig 6, the CPU times of Table II, and CPU time over accuracy."""
    methods = {way: verlet(0.01, way) for way in WAYS[1:]} | {WAYS[0]: collocation(0.5, 10, "paper", nested=True)}
    duration = 10.0 if quick else 60.0
    data, energy = {}, {}
    for way in WAYS[:2]:
        track = followed(colliding(**methods[way]), np.arange(0.0, duration, EVERY))
        data[f"fig6-{way}"] = {
            "time": track.time,
            "d2E": track.double_energy - track.double_energy[0],
            "distance13": np.linalg.norm(track.position[:, 0] - track.position[:, 2], axis=1),
        }
        energy[way] = np.max(np.abs(data[f"fig6-{way}"]["d2E"]))
    fig6 = Table("Fig 6: largest |Δ2E|")
    fig6.add("Verlet, h = 0.01", "about 1e-6", energy["analytic"], "read off the figure")
    fig6.add(
        "collocation, s = 10, τ = 0.5, as printed",
        "about 1e-9",
        energy["collocation"],
        "ours drifts with every step, as the printed scheme must; theirs is called random",
    )
    table2 = Table("Table II: CPU seconds, and the ratio to collocation")
    costs = []
    for T in (10,) if quick else PRINTED:
        seconds = [cpu(methods[way], T) for way in WAYS]
        for way, theirs, ours in zip(WAYS, PRINTED[T], seconds, strict=True):
            table2.add(
                f"T = {T}, {way}",
                f"{theirs} ({theirs / PRINTED[T][0]:.1f})",
                f"{ours:.4f} ({ours / seconds[0]:.2f})",
                "theirs: MATLAB, where calls dominate and a step of 10 stages is one call; ours is compiled",
            )
            costs.append((T, way, ours))
    data["table2"] = columns("T way cpu", costs)
    data["accuracy"], equal = accuracy(quick)
    return Result(
        data,
        [fig6, table2, equal],
        [
            "Table II compares steps of very different accuracy. At equal accuracy, measured by the contacts' times "
            "against their exact values (period 3.68939049...), the order decides: the table above.",
            "As printed, collocation's contacts are found by nested intervals down to 1e-4. The last table shows that "
            "this width limits it. The sound variant solves for the root, and Verlet bisects to the last digit.",
        ],
    )


def cpu(method: dict, duration: float) -> float:
    """Return the least CPU seconds of three runs of the engine, its making left out."""
    spent = []
    for _ in range(3):
        engine = engine_of(colliding(**method))
        engine.advance(0.1)  # compiled
        begin = time.process_time()
        engine.advance(duration)
        spent.append(time.process_time() - begin)
    return min(spent)


def accuracy(quick: Any) -> Any:
    """Return CPU seconds per unit time and the error of contact times, for a range of steps, and the table from it."""
    duration = 15.0 if quick else 100.0
    grid = [(tau, s) for s in (2, 4, 6, 10) for tau in (0.5, 0.25, 0.125)]
    kinds = {
        "Verlet, analytic": {(h, 0): verlet(h) for h in (0.04, 0.02, 0.01, 0.005, 0.0025, 0.00125)},
        "collocation as printed": {one: collocation(*one, "paper", nested=True) for one in grid[3:]},
        "collocation, index2, root": {one: collocation(*one) for one in grid},
    }
    found = []
    for way, methods in kinds.items():
        for (step, stages), method in list(methods.items())[: 2 if quick else None]:
            track = followed(colliding(**method), np.arange(0.0, duration, EVERY))
            error = np.max(np.abs(track.contact - contact_times(len(track.contact))))
            found.append((way, step, stages, cpu(method, duration) / duration, error, track.energy_error))
    table = Table(f"Equal accuracy: CPU µs per unit time for contact times to an error over T = {duration:g}")
    for wanted in (1e-2, 1e-3, 1e-4, 1e-6, 1e-9):
        for way in kinds:
            good = [cost for name, _, _, cost, error, _ in found if name == way and error <= wanted]
            table.add(
                f"error {wanted:g}: {way}",
                None,
                f"{1e6 * min(good):.3g}" if good else "not reached",
                "the paper gives CPU times without errors",
            )
    return columns("way step stages cpu_per_time contact_time_error d2E", found), table


def draw(result: Any, figure: Any) -> None:
    """Draw Fig 6, and work over precision."""
    figure.set_size_inches(10.0, 3.6)
    panels = figure.subplots(1, 3)
    for way in WAYS[:2]:
        data = result.data[f"fig6-{way}"]
        label = "Verlet" if way == "analytic" else way
        panels[0].plot(data["time"], data["d2E"], linewidth=0.8, label=label)
        panels[1].plot(data["time"], data["distance13"], linewidth=0.8)
    panels[0].set(xlabel="time", ylabel="Δ 2E")
    panels[0].legend(fontsize="small")
    panels[1].set(xlabel="time", ylabel="|r1 - r3|", xlim=(0, 20))
    data = result.data["accuracy"]
    for way in dict.fromkeys(data["way"]):
        rows = data["way"] == way
        panels[2].loglog(1e6 * data["cpu_per_time"][rows], data["contact_time_error"][rows], "o", label=way)
    panels[2].set(xlabel="CPU µs per unit time", ylabel="error of contact times")
    panels[2].legend(fontsize="x-small")
