"""Marinkovic 2022, (26)-(35): a bouncing ball, three balls that collapse, and the TC model that ends it."""

from typing import Any

import numpy as np

from hpcchain.papers.engine import engine_of, system_of
from hpcchain.papers.result import Result, Table, columns

NAME = "004-zeno"
TITLE = "(34), Fig 2, (35): a bouncing ball's total time, collapse of three balls, the TC model"
THRESHOLD = 7.0 - 4.0 * np.sqrt(3.0)


def run(quick: Any) -> Any:
    """Return bounces, contacts of three balls over e_n, and those with contact times; `quick` changes nothing."""
    table = Table("A ball falls from height 1, g = 9.8, r = 0.81 (e_n = 0.9); three equal balls meet")
    e = 0.9
    times, heights = bounces(1.0, 9.8, e, 400)
    fall = np.sqrt(2.0 / 9.8)
    printed = 2.0 * fall * (1.0 / (1.0 - e) - 1.0)
    whole = fall * (1.0 + e) / (1.0 - e)
    off, why = abs(times[-1] / whole - 1.0), "(34) leaves out the first fall, (2 h / g)^1/2"
    table.compare("time until the ball rests", printed, off, 0.0, 1e-12, why, times[-1])
    off = float(np.abs(heights[:30] / (e ** (2 * np.arange(1, 31))) - 1.0).max())
    table.compare("height of bounce i over r^i h", 1.0, off, 0.0, 1e-12, shown=f"1, to {off:.0e}")
    span = np.linspace(0.04, 0.12, 33)
    contacts = np.array([collisions(one) for one in span])
    least = float(span[contacts < MOST].min())
    name, far = "least e_n with a last contact of three balls", THRESHOLD + 0.0026
    why = f"7 - 4 sqrt 3 = {THRESHOLD:.4f}, above it to the next of 33 values"
    table.compare(name, None, least, THRESHOLD, far, why, f"{least:.4f}")
    data: dict = {
        "ball": {"bounce": np.arange(30), "t": times[:30], "height": heights[:30]},
        "three": {"e_n": span, "contacts": contacts},
    }
    rows = [(contact_time, *with_contact_time(contact_time)) for contact_time in (1e-1, 1e-2, 1e-3, 1e-4)]
    for contact_time, number, _ in rows:
        table.compare(
            f"e_n = 0.05, t_contact = {contact_time:g}: contacts until they part",
            "finite",
            number,
            2,
            60,
            '(35) needs "and": a contact takes energy where neither ball has just had another',
        )
    data["tc"] = columns("contact_time contacts energy", rows)
    return Result(data, [table], ["Quick changes nothing."] if quick else [])


def bounces(height: float, g: float, e: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times of contacts with the ground and heights after them, event by event."""
    times, heights = [np.sqrt(2.0 * height / g)], []
    speed = g * times[0]
    for _ in range(count):
        speed *= e
        heights.append(0.5 * speed**2 / g)
        times.append(times[-1] + 2.0 * speed / g)
    return np.array(times), np.array(heights)


MOST = 100
"""Contacts that are taken for endless."""


def collisions(e: float) -> int:
    """Return how often three equal points on a line collide, the outer ones approaching that at rest; MOST: endless.

    Closing rates alone are followed: velocities would lose their differences to rounding, which ends the collapse.
    """
    rates, gaps = [1.0, 0.999], [1.0, 1.0]
    for count in range(MOST):
        due = [gap / rate if rate > 0.0 else np.inf for gap, rate in zip(gaps, rates, strict=True)]
        k = int(due[1] < due[0])
        if due[k] == np.inf:
            return count
        gaps = [gap - rate * due[k] for gap, rate in zip(gaps, rates, strict=True)]
        gaps[k] = 0.0
        rates[1 - k] += 0.5 * (1.0 + e) * rates[k]
        rates[k] *= -e
    return MOST


def with_contact_time(contact_time: float) -> tuple[int, float]:
    """Return contacts and energy of three spheres that collapse at e_n = 0.05, in the engine with this contact time."""
    x = np.array([[-2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    v = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [-0.999, 0.0, 0.0]])
    engine = engine_of(system_of(x, v, restitution=0.05, contact_time=contact_time))
    engine.advance(50.0)
    return engine.counters["contacts"], 0.5 * float(np.sum(engine.frame(50.0)[1] ** 2))


def draw(result: Any, figure: Any) -> None:
    """Draw the bounces and the number of contacts of three balls."""
    left, right = figure.subplots(1, 2)
    left.semilogy(result.data["ball"]["t"], result.data["ball"]["height"], "o-", markersize=3)
    left.set(xlabel="t", ylabel="height after a bounce")
    right.semilogy(result.data["three"]["e_n"], result.data["three"]["contacts"], "o", markersize=3)
    right.axvline(THRESHOLD, linewidth=0.8)
    right.set(xlabel="e_n", ylabel="contacts of three balls")
