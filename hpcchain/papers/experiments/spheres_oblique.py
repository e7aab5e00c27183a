"""Leyendecker et al. 2012, section 4.2, second simulation: contact between nodes; energy jumps."""

from typing import Any

from hpcchain.papers import directors, spheres
from hpcchain.papers.result import Table, columns

NAME = "000-spheres-oblique"
TITLE = "section 4.2, second row of Fig 2: spinning spheres meet between nodes; the jump of energy"
PRINTED = {0.01: "9e-5", 0.001: "1e-7", 0.05: "4e-3"}


def run(quick: Any) -> Any:
    """Return the run at h = 0.01 and the jumps of energy at three steps; `quick` leaves out the shortest."""
    printed = {"energy": "1e-13", "momentum": "1e-14", "iterations": "5 and 13"}
    result, _ = spheres.result("oblique", printed)
    steps = [h for h in PRINTED if not (quick and h < 0.01)]
    table = Table("Jump of energy at the collision")
    rows = []
    for h in steps:
        found = spheres.track("oblique", h)
        hit, jump = found.hit, spheres.jump(found)
        before, after = (directors.rotation_energy(directors.SPIN, length) for length in (hit.alpha, hit.tau))
        rows.append((h, hit.alpha, hit.tau, jump, before - after))
        table.add(
            f"|jump|, h = {h:g}",
            PRINTED[h],
            abs(jump),
            f"exactly E_rot(alpha) - E_rot(tau) = {before - after:.4g}, which no solver can change; the "
            "printed figures are of its size",
        )
    result.tables.append(table)
    result.data["jumps"] = columns("h alpha tau jump exact", rows)
    if quick:
        result.notes.append("Without h = 0.001.")
    return result


draw = spheres.draw
