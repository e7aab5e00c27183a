"""Leyendecker et al. 2012, Figs 11 and 12: four beads in a box, chaotic motion with contacts in quick succession."""

from typing import Any

import numpy as np

from hpcchain.papers.collisions import Integrator
from hpcchain.papers.result import Result, Table
from hpcchain.papers.single_chain import chaotic

NAME = "000-four-chaotic"
TITLE = "four beads in a box, chaotic motion: contacts in quick succession and the energy (Figs 11, 12)"


def run(quick: Any) -> Any:
    """Return energies over 300 contact nodes at h = .1 and 1000 at h = .5."""
    data, table = {}, Table("Four beads, walls and each other")
    for step, nodes in ((0.1, 300), (0.5, 1000)):
        course = Integrator(chaotic(), step).run(contacts=(8 if quick else nodes))
        times, energy = np.array(course.contact_time), np.array(course.energy)
        walls = sum(contact[0] == "w" for contacts in course.contacts for contact in contacts)
        relative = energy / energy[0] - 1
        beads = sum(map(len, course.contacts)) - walls
        table.add(
            f"h = {step}: contacts with walls, with beads",
            "1000 in all",
            f"{walls}, {beads}",
            f"{sum(map(len, course.contacts))} here; which they are is chaotic",
        )
        quick_ones = str(int(np.sum(np.diff(times) < step)))
        table.add(
            f"h = {step}: contacts within one step of the last",
            "some",
            quick_ones,
            "each adds its own time and g_c = 0 to (16)",
        )
        table.add(
            f"h = {step}: energy fluctuation",
            "1e-4" if step == 0.1 else None,
            np.ptp(energy),
            f"of an energy of {energy[0]:.4f}, over all contacts",
        )
        table.add(
            f"h = {step}: mean energy of the last tenth over the first's, - 1",
            "0 (no drift)",
            relative[-len(relative) // 10 :].mean() - relative[: len(relative) // 10].mean(),
            "a random walk: nothing bounds the energy from contact to contact where motion is chaotic",
        )
        table.add(
            f"h = {step}: contacts without a root of (16)",
            None,
            str(course.no_root),
            "no real root, or nu < 0: the exact impulse is taken instead",
        )
        data[f"h{step}"] = {"time": np.array(course.energy_time), "energy": energy}
    return Result(data, [table])


def draw(result: Any, figure: Any) -> None:
    """Draw the energies."""
    for axes, (name, columns) in zip(figure.subplots(2, 1), result.data.items(), strict=True):
        axes.plot(columns["time"], columns["energy"], linewidth=0.5)
        axes.set_ylabel(f"energy, h = {name[1:]}")
    axes.set_xlabel("time")
