"""Tapia-McClung and Grønbech-Jensen 2005: a disturbed geometry is set right by one step, and errors do not add up."""

from typing import Any

import numpy as np

from hpcchain.model.molecules import rod_matrices
from hpcchain.papers import line_verlet
from hpcchain.papers.result import Result, Table

NAME = "002-self-correction"
TITLE = "errors of the geometry over many steps, and after a disturbance of 1e-3"
DT, EVERY = 0.02, 50
WORDS = {
    "positions / length": "agree: round-off, in the very step after a disturbance",
    "velocities": "agree: round-off",
}


def setting(n: int) -> Any:
    """Return a Line of unequal particles at unequal distances, with damping, and a state of it."""
    rng = np.random.default_rng([2, n])
    place = np.concatenate([[0.0], np.cumsum(rng.uniform(0.5, 1.5, n - 1))])
    line = rod_matrices.Line(rng.uniform(0.5, 4.0, n), place / place[-1], 0.1 * rng.uniform(0.0, 1.0, n))
    return line, *line_verlet.state(line, np.zeros(3), rng.normal(size=3), rng.normal(size=3), 2.0 * rng.normal(size=3))


def pull(position: np.ndarray) -> Any:
    """Return forces towards the origin, stronger on the later particles."""
    return -np.linspace(0.5, 2.0, len(position))[:, None] * position


def follow(n: int, steps: Any, closed: Any) -> Any:
    """Return the errors (steps, 2) of positions and velocities after every step; every EVERY steps a push of 1e-3."""
    line, x, v = setting(n)
    rng, errors = np.random.default_rng(7), []
    for k in range(steps):
        if k and k % EVERY == 0:
            x = x + 1e-3 * rng.normal(size=x.shape)
        x, v = line_verlet.step(line, x, v, DT, pull, closed)
        errors.append(line_verlet.errors(line, x, v))
    return np.array(errors)


def run(quick: Any) -> Any:
    """Return the largest errors of both forms for several N over 2000 steps, `quick`: 200."""
    steps = 200 if quick else 2000
    table = Table(f"Largest error of the constraints over {steps} steps, a disturbance of 1e-3 before every {EVERY}th")
    data = {}
    for n in (4, 10, 50):
        for closed, name in ((False, "multipliers"), (True, "closed form")):
            errors = follow(n, steps, closed)
            wanted = "exact within numerical accuracy"
            for k, (what, words) in enumerate(WORDS.items()):
                table.compare(f"N = {n}, {name}: {what}", wanted, errors[:, k].max(), 0.0, 1e-12, words)
            data[f"N = {n}, {name}"] = errors[:, 0]
    notes = [
        "Unequal masses, distances and damping, forces towards a point. Equations (8), (11) and (23) as printed have a "
        "wrong ratio in the last particle's sum, with which one step leaves errors of 1e-3; it is l_k1 / l_kN.",
    ]
    if quick:
        notes.append("200 steps in place of 2000.")
    return Result({"": {"step": np.arange(1, steps + 1), **data}}, [table], notes)


def draw(result: Any, figure: Any) -> None:
    """Draw the errors over the steps."""
    axes = figure.subplots()
    data = result.data[""]
    for name, errors in data.items():
        if name != "step":
            axes.semilogy(data["step"], np.maximum(errors, 1e-18), linewidth=0.6, label=name)
    axes.set(xlabel="step", ylabel="largest error of the geometry / length")
    axes.legend(fontsize=7)
