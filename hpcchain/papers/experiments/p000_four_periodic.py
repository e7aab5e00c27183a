"""Leyendecker et al. 2012, Figs 9 and 10: four beads in a box, planar periodic motion with two contacts at once."""

from typing import Any

import numpy as np

from hpcchain.papers.collisions import Integrator
from hpcchain.papers.result import Result, Table
from hpcchain.papers.single_chain import periodic

NAME = "000-four-periodic"
TITLE = "four beads in a box, two contacts at once (Figs 9, 10)"
EXACT = (1.27539738, 7.15095682)  # first contact and period of the exact motion, unit diameter


def run(quick: Any) -> Any:
    """Return energies and contact nodes, as long as the orbit holds."""
    chain = periodic()
    integrator = Integrator(chain, 0.5)
    nodes = 20 if quick else 1000
    while len(integrator.course.contact_time) < nodes and symmetric(integrator):
        integrator._advance()
    course = integrator.course
    held = len(course.contact_time) - (0 if symmetric(integrator) else 1)
    times = np.array(course.contact_time[:held])
    last = np.searchsorted(course.energy_time, times[-1])
    energy = np.array(course.energy[: last + 1])
    table = Table("h = .5")
    table.add(
        "contact nodes until the two beads' contacts come apart",
        "5000",
        str(held),
        "the orbit is unstable: round-off grows at every contact, and in print it can only have held by exact "
        "symmetry of the arithmetic. Long runs of it test nothing",
    )
    table.add(
        "contacts at a node",
        2,
        str(max(len(c) for c in course.contacts[:held])),
        "agrees; the two act with one impulse each, in the ratio of the exact ones",
    )
    table.compare(
        "energy, largest - least", "about 1e-2", np.ptp(energy), 0.5e-2, 2e-2, "agrees, while the orbit holds"
    )
    table.add("first contact", None, f"{times[0]:.4f}", f"exact {EXACT[0]:.4f}")
    table.add("period", None, f"{np.diff(times).mean():.4f}", f"exact {EXACT[1]:.4f}; error of order h^2")
    data = {"": {"time": np.array(course.energy_time[: last + 1]), "energy": energy}, "contacts": {"time": times}}
    notes = [
        "Bead diameter 1 (printed: radius .1, for which the printed configurations are not contacts), box "
        "8 × 10 × 14 centred at 0."
    ]
    return Result(data, [table], notes)


def symmetric(integrator: Any) -> Any:
    """Whether the last node still had the contacts of both pairs."""
    return all(len(contacts) == 2 for contacts in integrator.course.contacts[-1:])


def draw(result: Any, figure: Any) -> None:
    """Draw the energy."""
    axes = figure.subplots()
    axes.step(result.data[""]["time"], result.data[""]["energy"], where="pre", linewidth=0.7)
    axes.set(xlabel="time", ylabel="discrete energy")
