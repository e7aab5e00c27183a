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


def track(name: str, h: float) -> directors.Pair:
    """Return the spheres of a set-up after steps of h until END."""
    return directors.run(name, h, round(END / h))


def columns(found: directors.Pair) -> dict:
    """Return the run as columns: one line per step, with the node at its end."""
    momentum, time = directors.angular_momentum(found), np.array(found.course.node_time)
    translation, rotation = directors.energies(found)
    nodes = np.array(found.course.node_position)[1:]
    return {
        "time": time[1:],
        "step": np.diff(time),
        "translational energy": translation,
        "rotational energy": rotation,
        "angular momentum error": np.abs(momentum - momentum[0]).max(axis=1),
        "gap": [found.chain.gap(q, *found.possible) for q in nodes],
        **{f"{axis}{b + 1}": nodes[:, 4 * b, k] for b in range(2) for k, axis in enumerate("xyz")},
    }


def jump(found: directors.Pair) -> float:
    """Return how much the collision changes the energy at equal steps: that of translation."""
    translation, _ = directors.energies(found)
    return float(translation[-1] - translation[0])


def result(name: str, printed: Any) -> Any:
    """Return the Result of a set-up at h = 0.01 with the lines that all three share.

    Parameters
    ----------
    name : str
        One of `directors.SETUPS`.
    printed : dict of str -> str
        The paper's values: "energy" (its oscillation), "iterations", "momentum".
    """
    found = track(name, 0.01)
    hit, data = found.hit, columns(found)
    momentum = float(data["angular momentum error"].max())
    equal = hit.node - (1 if hit.contact else 0)
    energy = float(np.ptp(found.course.energy[:equal]))
    table = Table(f"{name}, h = 0.01")
    table.add("energy, swing between collisions", printed["energy"], energy, "both are below Newton's tolerance")
    table.add("angular momentum, largest change", printed["momentum"], momentum, "both are below Newton's tolerance")
    counts = f"{hit.contact} and {hit.after}" if hit.contact else f"{hit.after}"
    table.add(
        "Newton iterations of the collision",
        printed["iterations"],
        counts,
        "they depend on where Newton starts, which the paper does not say; here the reflected velocities",
    )
    table.add("contact at time", None, f"{found.course.contact_time[0]:.12g}", "not printed")
    return Result({"": data}, [table], list(NOTES)), found


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
