"""Marinkovic 2022, (26)-(33): the energy of a gas that cools, smooth and rough, next to Haff's law."""

from typing import Any

import numpy as np

from hpcchain.model.physics.constants import ExtendedPhysics
from hpcchain.papers import granular
from hpcchain.papers.result import Result, Table

NAME = "004-cooling"
TITLE = "inelastic collisions: the energy of a cooling gas by Haff's law, smooth and rough spheres"
CASES = {
    "smooth, e_n = 0.9": (0.9, 1.0),
    "rough, e_n = 0.9, e_t = 0.5": (0.9, 0.5),
    "rough, e_n = 1, e_t = -1": (1, -1),
}
WIDTH = 0.1
"""How far temperatures may be off, relative: by the number of spheres, and by correlations that the law leaves out."""


def run(quick: Any) -> Any:
    """Return temperatures over contacts of each case: of 10^3 spheres at packing fraction 0.05, of 6^3 when quick."""
    cells, contacts = (6, 4.0) if quick else (10, 8.0)
    data, table = {}, Table(f"{cells**3} spheres, packing fraction 0.05, after {contacts:g} contacts a sphere")
    for name, (e_n, e_t) in CASES.items():
        extended = granular.rough(e_t) if e_t != 1.0 else ExtendedPhysics()
        system = granular.gas(cells, 0.05, 1, e_t != 1.0, restitution=float(e_n), extended=extended)
        time, had, found = granular.run_cooling(system, contacts, 20)
        start = found[0]
        law = granular.cooled(had, e_n, e_t)
        data[name] = {
            "t": time,
            "contacts": had,
            "T": found[:, 0],
            "T_rot": found[:, 1],
            "law_T": law[:, 0],
            "law_T_rot": law[:, 1],
        }
        for column, what in enumerate(("translation", "spins")[: 1 if e_t == 1.0 else 2]):
            ratio = found[-1, column] / start[column]
            off = ratio / law[-1, column] - 1.0
            shown = f"{ratio:.3f}; law {law[-1, column]:.3f}"
            why = f"the law is {off:+.1%} off: Gaussian, uncorrelated spheres"
            table.compare(f"{name}: temperature of {what}", "falls", abs(off), 0.0, WIDTH, why, shown)
    notes = [
        "The paper prints no figures of a gas; the law is Haff's, of smooth spheres, and Huthmann and Zippelius's, "
        "over contacts instead of time."
    ]
    return Result(data, [table], notes + (["Fewer spheres and contacts, as quick."] if quick else []))


def draw(result: Any, figure: Any) -> None:
    """Draw temperatures over contacts."""
    axes = figure.subplots()
    for name, data in result.data.items():
        (line,) = axes.semilogy(data["contacts"], data["T"], "o", markersize=3, label=name)
        axes.semilogy(data["contacts"], data["law_T"], color=line.get_color())
        if np.any(data["T_rot"]):
            axes.semilogy(data["contacts"], data["T_rot"], "s", markersize=3, color=line.get_color())
            axes.semilogy(data["contacts"], data["law_T_rot"], "--", color=line.get_color())
    axes.set(xlabel="contacts of a sphere / 2", ylabel="temperature (squares, dashed: of spins)")
    axes.legend(fontsize="small")
