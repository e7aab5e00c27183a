"""Leyendecker et al. 2012, Fig 6: envelope of the energy over 10,000 collisions, and how it shrinks with the step."""

from typing import Any

import numpy as np

from hpcchain.papers.collisions import Integrator
from hpcchain.papers.result import Result, Table
from hpcchain.papers.single_chain import trimer

NAME = "000-trimer-envelope"
TITLE = "the trimer's energy over 10,000 collisions at three steps (Fig 6)"
BLOCK = 100
COLLISIONS = {0.5: 10_000, 0.25: 2000, 0.125: 1000}
PRINTED = {0.5: ("about 1e-2", 1e-2), 0.25: ("a quarter", 1 / 4), 0.125: ("a sixteenth", 1 / 16)}
"""What the figure shows: a size, then sizes relative to the first."""


def run(quick: Any) -> Any:
    """Return upper and lower envelope per 100 collisions, at h = .5, .25, .125."""
    data, table, amplitude = {}, Table("Energy, largest - least"), {}
    for step, contacts in COLLISIONS.items():
        time, low, high = envelope(step, BLOCK if quick else contacts)
        data[f"h{step}"] = {"time": time, "lower": low, "upper": high}
        amplitude[step] = high.max() - low.min()
        printed, size = PRINTED[step]
        size *= amplitude[0.5] if step < 0.5 else 1.0
        table.compare(f"h = {step}", printed, amplitude[step], 0.7 * size, 1.5 * size)
        half = len(time) // 2
        drift = (high[half:].max() - low[half:].min()) / (high[:half].max() - low[:half].min()) if half else 1.0
        table.compare(
            f"h = {step}: second half's over first half's", "1 (no drift)", drift, 0.95, 1.05, "agrees: no drift"
        )
    order = np.log2(amplitude[0.5] / amplitude[0.125]) / 2
    table.compare("order in h", 2, order, 1.8, 2.2)
    done = "100 collisions each" if quick else ", ".join(f"{n} collisions at h = {h}" for h, n in COLLISIONS.items())
    notes = [
        f"{done}; in print 10,000 each. The trimer's motion is integrable: with chaotic motion energy does drift "
        "(000-drift)."
    ]
    return Result(data, [table], notes)


def envelope(step: Any, contacts: int) -> Any:
    """Return per block of BLOCK collisions its time and the least and largest energy."""
    integrator = Integrator(trimer(), step)
    rows, done = [], 0
    for count in range(BLOCK, contacts + 1, BLOCK):
        course = integrator.run(contacts=count)
        part = course.energy[done:]
        rows.append((course.contact_time[-1], min(part), max(part)))
        done = len(course.energy)
    return np.array(rows).T


def draw(result: Any, figure: Any) -> None:
    """Draw the envelopes."""
    axes = figure.subplots()
    for name, columns in result.data.items():
        axes.fill_between(columns["time"], columns["lower"], columns["upper"], alpha=0.5, label=f"h = {name[1:]}")
    axes.set(xlabel="time", ylabel="discrete energy")
    axes.legend()
