"""Leyendecker et al. 2012, section 4.2, third simulation: spinning spheres that touch in passing at a node."""

from typing import Any

from hpcchain.papers import directors, spheres
from hpcchain.papers.result import Table, columns

NAME = "000-spheres-grazing"
TITLE = "section 4.2, third row of Fig 2: spinning spheres touch in passing"


def run(quick: Any) -> Any:
    """Return the run and how the iterations depend on Newton's tolerance; `quick` changes nothing."""
    printed = {"energy": "1e-11", "momentum": "1e-14", "iterations": "64"}
    result, found = spheres.result("grazing", printed)
    table, rows = Table("Iterations of (16) at the graze"), []
    for tolerance in (1e-6, 1e-8, 1e-10, 1e-11):
        other = directors.run("grazing", 0.01, 120, tolerance)
        count, sideways = other.hit.after, abs(float(other.w[0, 2]))
        rows.append((tolerance, count, sideways))
        table.add(
            f"tolerance {tolerance:g}",
            "64" if tolerance == 1e-10 else None,
            count,
            f"a double root: Newton comes nearer by halves; it leaves a velocity of {sideways:.1e} sideways, "
            "the exact one is 0",
        )
    table.add("jump of energy", "1e-11", abs(spheres.jump(found)), "what the tolerance leaves at a double root")
    result.tables.append(table)
    result.data["tolerances"] = columns("tolerance iterations sideways", rows)
    return result


draw = spheres.draw
