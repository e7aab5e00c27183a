"""Leyendecker et al. 2012, section 4.2, first simulation: two spinning spheres meet head-on at a node."""

from typing import Any

from hpcchain.papers import spheres

NAME = "000-spheres-head-on"
TITLE = "section 4.2, first row of Fig 2: spinning spheres meet head-on"


def run(quick: Any) -> Any:
    """Return energy, angular momentum, gap and iterations; the run is short, `quick` changes nothing."""
    printed = {"energy": "1e-13", "momentum": "1e-14", "iterations": "6"}
    return spheres.result("head-on", printed)[0]


draw = spheres.draw
