"""Leyendecker et al. 2012, Fig 8: the trimer's gap and first body, against an accurate solution."""

from typing import Any

import numpy as np

from hpcchain.papers.collisions import Integrator
from hpcchain.papers.engine import followed
from hpcchain.papers.result import Result, Table
from hpcchain.papers.single_chain import trimer
from hpcchain.papers.trimers import EXACT_FIRST, EXACT_PERIOD, colliding

NAME = "000-trimer-phase"
TITLE = "the trimer's gap and first body against the accurate motion: the phase shift (Fig 8)"
END = 12.0


def run(quick: Any) -> Any:
    """Return nodes at h = .5, the accurate motion, and the periods at three steps."""
    chain = trimer()
    course = Integrator(chain, 0.5).run(until=END)
    nodes = np.array(course.node_position)
    accurate = followed(colliding(), np.linspace(0.0, END, 481))
    exact = accurate.position
    table = Table("Period of the contacts")
    contacts = 20 if quick else 200
    errors = {}
    for step in (0.5, 0.25, 0.125):
        times = np.array(Integrator(chain, step).run(contacts=contacts).contact_time)
        period = np.diff(times).mean()
        errors[step] = EXACT_PERIOD - period
        table.add(f"h = {step}", None, f"{period:.5f}", f"exact {EXACT_PERIOD:.5f}")
    table.add(
        "order in h of the period's error",
        None,
        np.log2(errors[0.5] / errors[0.125]) / 2,
        "the shift of Fig 8 is the midpoint rule's error in the period, not the way contacts are found",
    )
    table.add("first contact, h = .5", None, f"{course.contact_time[0]:.4f}", f"exact {EXACT_FIRST:.4f}")
    data = {
        name: {
            "time": time,
            "gap": [chain.gap(q, ("p", 0, 2)) for q in places],
            "x": places[:, 0, 0],
            "y": places[:, 0, 1],
        }
        for name, time, places in (("", np.array(course.node_time), nodes), ("accurate", accurate.time, exact))
    }
    return Result(data, [table], ["Accurate: Taylor segments to round-off, contacts to the last digits."])


def draw(result: Any, figure: Any) -> None:
    """Draw the gap and the first body's coordinates."""
    upper, lower = figure.subplots(2, 1, sharex=True)
    ours, exact = result.data[""], result.data["accurate"]
    upper.plot(exact["time"], exact["gap"], label="accurate")
    upper.plot(ours["time"], ours["gap"], "o--", label="variational, h = .5")
    upper.set_ylabel("g_c")
    upper.legend()
    for name in ("x", "y"):
        line = lower.plot(exact["time"], exact[name], label=f"{name}, accurate")[0]
        lower.plot(ours["time"], ours[name], "o--", color=line.get_color())
    lower.set(xlabel="time", ylabel="first body")
    lower.legend()
