"""Leyendecker et al. 2012, Table 1: the intracolliding trimer, 1000 collisions."""

import time
from typing import Any

import numpy as np

from hpcchain.papers.collisions import Integrator
from hpcchain.papers.engine import followed
from hpcchain.papers.result import Result, Table
from hpcchain.papers.single_chain import trimer
from hpcchain.papers.trimers import EXACT_FIRST, EXACT_PERIOD, colliding, contact_times

NAME = "000-trimer-table1"
TITLE = "the intracolliding trimer: unknowns, condition, energy, contact times (Table 1)"
STEP = 0.5


def run(quick: Any) -> Any:
    """Return Table 1 for the variational integrator, and what the engine's other propagators do on the same trimer."""
    contacts = 40 if quick else 1000
    begin = time.process_time()
    integrator = Integrator(trimer(), STEP, conditions=True)
    course = integrator.run(until=3.625 * contacts - 1e-6)
    seconds = time.process_time() - begin
    times = np.array(course.contact_time)
    energy = np.array(course.energy)
    kinds = {kind: course.kind.count(kind) for kind in ("free", "after", "discarded", "contact")}
    table = Table("Variational integrator, null space")
    table.add("collisions", 1000, len(times), "the same" if len(times) == 1000 else "fewer, for speed")
    table.add(
        "number of unknowns",
        "65 750",
        f"{course.unknowns:,}".replace(",", " "),
        f"7 ({kinds['free'] + kinds['after']} + {kinds['discarded']}) + 8 · {kinds['contact']}: grid nodes, "
        "trial steps discarded at contacts, and (15) with the time among its unknowns",
    )
    table.add("CPU time", "< 1 min", f"{seconds:.1f} s", "other machines; both interpreted")
    table.add(
        "largest condition number",
        "10^2",
        max(course.condition),
        "as printed but for contacts right after a node, where (15)'s column for the time grows as 1/τ",
    )
    table.add(
        "accuracy of t_i",
        "1e-12",
        f"{abs(times[0] - EXACT_FIRST):.1e}",
        f"(15) is solved to 1e-12, but the discrete motion reaches the contact at {times[0]:.4f} instead of "
        f"{EXACT_FIRST:.4f}: the printed accuracy is the equation's, not the time's",
    )
    table.compare(
        "energy fluctuation", "10^-2", np.ptp(energy), 0.5e-2, 2e-2, "agrees, in absolute terms: the energy is 0.25"
    )
    table.add("period of the contacts", None, np.diff(times).mean(), f"exact {EXACT_PERIOD:.5f}: an error of order h^2")
    return Result(
        {"": {"contact": np.arange(1, len(times) + 1), "time": times}},
        [table, engines(20 if quick else 200)],
        ["q0 = (1,0,0, 0,0,0, 0,-1,0), v0 = (0,.5,0, 0,0,0, -.5,0,0): three numbers are missing in print."],
    )


def engines(contacts: int) -> Any:
    """Return the table of the engine's propagators, which find contacts by a root and take the exact impulse."""
    table = Table(f"The engine's propagators, {contacts} contacts")
    for title, propagator, step, printed, energy, why in ENGINES:
        system = colliding(propagator=propagator, stages=10, step=step)
        track = followed(system, np.linspace(0.0, EXACT_FIRST + EXACT_PERIOD * contacts, 2048))
        off = abs(track.contact[contacts - 1] - contact_times(contacts)[-1])
        table.add(f"{title}: last contact's error", printed, off, why)
        swing = 0.5 * np.ptp(track.double_energy)
        table.add(f"{title}: energy, largest - least", energy, swing, "of the velocities on the bonds")
    return table


ROOT = "contacts found by a root and re-solved, instead of nested intervals"
BISECTION = "the printed accuracy is that of the bisection; the rest is the period's error of order h^2"
EQUAL = "with Newton for the constraints the step is as long as the variational one's, whose equal it is"
ENGINES = (
    ("collocation, s = 10, h = .5", "collocation", 0.5, "1e-4", "1e-7", ROOT),
    ("RATTLE, h = .1", "rattle", 0.1, "1e-4", "1e-3, drifting", BISECTION),
    ("RATTLE, h = .5", "rattle", 0.5, "not possible", None, EQUAL),
    ("variational, h = .5", "variational", 0.5, None, "1e-2", "the period's error of order h^2"),
)
"""Propagator and step, what is printed of the last contact's error and of the energy, and why ours differ."""
