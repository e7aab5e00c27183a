"""What the three set-ups of Leyendecker et al. 2012's section 4.2 have in common: their run, its data, its figure."""

from typing import Any

import numpy as np

from hpcchain.papers import directors
from hpcchain.papers.result import Result, Table

END = 1.2
NOTES = [
    "Newton's method without damping, tolerance 1e-10, as in the paper; (16) starts from the reflected velocities and "
    "no rotation. Iterations depend on that start: with the present rotation as a guess they are fewer.",
    "The paper's 4.1 turns the directors of the new node; they are those of the old one here.",
]


def track(name: str, h: float) -> Any:
    """Return the Bodies and the Track of a set-up with steps of h until END."""
    bodies = directors.Bodies()
    return bodies, directors.run(bodies, *directors.setup(name), h, round(END / h))  # type: ignore[call-arg]


def columns(found: Any) -> Any:
    """Return the run as columns: one line per step, with the node at its end."""
    momentum = np.array(found.momentum)
    centre = np.array(found.centre)[1:]
    return {
        "time": found.time[1:],
        "step": found.step,
        "translational energy": found.translation,
        "rotational energy": found.rotation,
        "angular momentum error": np.abs(momentum - momentum[0]).max(axis=1),
        "gap": found.gap[1:],
        **{f"{axis}{b + 1}": centre[:, b, k] for b in range(2) for k, axis in enumerate("xyz")},
    }


def drift(found: Any) -> Any:
    """Return how far angular momentum goes from its start at most, and energy over the equal steps before contact."""
    momentum, energy = np.array(found.momentum), found.energy()
    hit = found.collisions[0]
    equal = hit["node"] - (1 if hit["contact"] else 0)
    return float(np.abs(momentum - momentum[0]).max()), float(np.ptp(energy[:equal]))


def jump(found: Any) -> Any:
    """Return how much the collision changes the energy at equal steps: that of translation."""
    return found.translation[-1] - found.translation[0]


def result(name: str, printed: Any) -> Any:
    """Return the Result of a set-up at h = 0.01 with the lines that all three share.

    Parameters
    ----------
    name : str
        One of `directors.SETUPS`.
    printed : dict of str -> str
        The paper's values: "energy" (its oscillation), "iterations", "momentum".
    """
    _, found = track(name, 0.01)
    momentum, energy = drift(found)
    hit = found.collisions[0]
    table = Table(f"{name}, h = 0.01")
    table.add("energy, swing between collisions", printed["energy"], energy, "both are below Newton's tolerance")
    table.add("angular momentum, largest change", printed["momentum"], momentum, "both are below Newton's tolerance")
    counts = f"{hit['contact']} and {hit['after']}" if hit["contact"] else f"{hit['after']}"
    table.add(
        "Newton iterations of the collision",
        printed["iterations"],
        counts,
        "they depend on where Newton starts, which the paper does not say; here the reflected velocities",
    )
    table.add("contact at time", None, f"{found.time[hit['node']]:.12g}", "not printed")
    return Result({"": columns(found)}, [table], list(NOTES)), found


def draw(found: Any, figure: Any) -> None:
    """Draw energies and gap of a result over time."""
    data = found.data[""]
    left, right = figure.subplots(1, 2)
    energy = np.array(data["translational energy"]) + np.array(data["rotational energy"])
    left.plot(data["time"], energy - energy[0])
    left.set(xlabel="time", ylabel="energy, change")
    right.plot(data["time"], data["gap"])
    right.axhline(0.0, color="grey", linewidth=0.5)
    right.set(xlabel="time", ylabel="gap function (18)")
