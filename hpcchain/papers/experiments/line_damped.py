"""Tapia-McClung and Grønbech-Jensen 2005: a damped run, its damping term as printed and as it must be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.model.molecules import rod_matrices
from hpcchain.papers import line_verlet
from hpcchain.papers.result import Result, Table

if TYPE_CHECKING:
    from hpcchain.model.molecules.rod_matrices import Line

NAME = "002-damped"
TITLE = "a damped line against its exact motion: order of the step"
END, RATE = 4.0, 0.5


def setting() -> Any:
    """Return a Line of six unequal particles damped in proportion to their masses, and a state of it."""
    rng = np.random.default_rng(3)
    place = np.concatenate([[0.0], np.cumsum(rng.uniform(0.5, 1.5, 5))])
    mass = rng.uniform(0.5, 4.0, 6)
    line = rod_matrices.Line(mass, place / place[-1], RATE * mass)
    return line, *line_verlet.state(line, np.zeros(3), [1.0, 0.5, 0.2], [0.3, -0.2, 0.1], [0.4, -1.5, 0.9])


def ended(line: Line, x: np.ndarray, v: np.ndarray, steps: Any) -> Any:
    """Return the state at END."""
    for _ in range(steps):
        x, v = line_verlet.step(line, x, v, END / steps, np.zeros_like)
    return x, v


def as_printed(line: Line, x: np.ndarray, v: np.ndarray, steps: Any) -> Any:
    """Return the state at END with the drag alpha dt / 2 of (9) and (10), without the mass."""
    dt = END / steps
    drag = (line.damping * dt / 2.0)[:, None]
    a, b = line_verlet.position_weights(line, dt), line_verlet.velocity_weights(line, dt)
    for _ in range(steps):
        free = x + (1.0 - drag) * dt * v
        after = line_verlet.closed_positions(line, a, free, x[-1] - x[0])
        push = dt / (2.0 * line.mass[:, None]) / (1.0 + drag) * (after - free) / a[:, None]
        v = line_verlet.closed_velocities(line, b, (1.0 - drag) / (1.0 + drag) * v + push, after[-1] - after[0])
        x = after
    return x, v


def run(quick: Any) -> Any:
    """Return errors at END for steps of .1 to .1 / 64, `quick`: to .1 / 8."""
    line, x, v = setting()
    exact = line_verlet.damped_exactly(line, x, v, RATE, END)
    steps = 40 * 2 ** np.arange(4 if quick else 7)
    right = np.array(
        [[np.abs(ours - wanted).max() for ours, wanted in zip(ended(line, x, v, n), exact, strict=True)] for n in steps]
    )
    printed = np.array([np.abs(as_printed(line, x, v, n)[0] - exact[0]).max() for n in steps])
    slope = [np.polyfit(np.log(END / steps), np.log(right[:, k]), 1)[0] for k in range(2)]
    table = Table(f"Six particles, damping {RATE} m_j, to t = {END:g}")
    table.compare("order of the positions", "2", slope[0], 1.9, 2.1)
    table.compare("order of the velocities", "2", slope[1], 1.9, 2.1)
    table.add(f"error of the positions, dt = {END / steps[-1]:g}", None, float(right[-1, 0]), "not printed")
    table.add(
        "the same with (9) and (10) as printed",
        None,
        float(printed[-1]),
        "their damping term alpha_j dt / 2 lacks 1 / m_j: the motion is another one, at every dt",
    )
    state = ended(line, x, v, int(steps[-1]))
    energy = [0.5 * float(np.sum(line.mass[:, None] * w**2)) for w in (v, state[1])]
    table.add(
        "energy at the end / at the start",
        f"exp(-2 rate t) = {np.exp(-2 * RATE * END):.6f}",
        f"{energy[1] / energy[0]:.6f}",
        "the exact value, not the paper's",
    )
    columns = {"dt": END / steps, "position": right[:, 0], "velocity": right[:, 1], "position, as printed": printed}
    return Result({"": columns}, [table], ["Four steps in place of seven."] if quick else [])


def draw(result: Any, figure: Any) -> None:
    """Draw the errors over the step."""
    axes = figure.subplots()
    data = result.data[""]
    for name in ("position", "velocity", "position, as printed"):
        axes.loglog(data["dt"], data[name], "o-", label=name)
    axes.set(xlabel="dt", ylabel="largest error at the end")
    axes.legend()
