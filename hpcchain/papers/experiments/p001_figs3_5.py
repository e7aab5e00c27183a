"""Hartmann et al. 2009, Figs 3 to 5: energy, angular momentum and bonds of two colliding trimers."""

from typing import Any

import numpy as np

from hpcchain.papers.result import Result, Table, within
from hpcchain.papers.trimers import at_nodes, collocation, two

NAME = "001-figs3-5"
TITLE = "Figs 3-5: two colliding trimers: energy, angular momentum and bonds at τ = 0.2, 0.4, 0.5"

STEPS = (0.2, 0.4, 0.5)
WAYS = {"printed": ("paper", True), "sound": ("index2", False)}


def run(quick: Any) -> Any:
    """Return the errors over time: as printed with nested intervals, and index2 with the contact's root."""
    duration = 50.0 if quick else 1000.0
    data, table = {}, Table("Largest errors, s = 10")
    printed = {"energy": "about 1e-7", "angular": "about 1e-8", "bond": "below 1e-12"}
    for tau in STEPS:
        for way, (variant, nested) in WAYS.items():
            track = at_nodes(two, collocation(tau, 10, variant, nested=nested), duration)
            columns = {
                "time": track.time,
                "contacts": np.searchsorted(track.contact, track.time, side="right"),
                "d2E": track.double_energy - track.double_energy[0],
                "dL3": track.angular[:, 2] - track.angular[0, 2],
                "bond": track.stretch[:, 1],
            }
            data[f"{way}-{tau}"] = columns
            found = {"energy": columns["d2E"], "angular": columns["dL3"], "bond": track.stretch}
            count, between = len(track.contact), np.count_nonzero(np.diff(track.pairs // 3))
            words = "as printed" if nested else "index2, root"
            for name, symbol in (("energy", "|Δ2E|"), ("angular", "|ΔL3|"), ("bond", "||b|² - 1|")):
                theirs = printed[name] if nested and (tau == 0.5 or name == "bond") else None
                ours = np.max(np.abs(found[name]))
                reason = why(name, nested, tau, quick, theirs, ours)
                table.add(f"τ = {tau}, {words}: {symbol}", theirs, ours, reason)
            table.add(
                f"τ = {tau}, {words}: contacts",
                "about 200" if nested else None,
                f"{count}, {between} between the two",
                "shorter run" if quick else "theirs is a round number",
            )
    return Result(
        data,
        [table],
        [
            f"T = {duration:g}. As printed: positions on the bonds at the stages, restart at the last Gauss node, "
            "contacts by nested intervals down to 1e-4 with one stage fewer each time. The sound way ends each step at "
            "t0 + τ and solves anew up to the root of the gap.",
            "The paper sees no drift of the energy but steps at contacts. Ours drifts evenly, as the scheme does in "
            "free flight (Table I), and the steps at contacts are smaller than that; the sound way does neither.",
        ],
    )


def why(name: str, nested: Any, tau: float, quick: Any, theirs: Any, ours: np.ndarray) -> Any:
    """Return the reason for a line."""
    if quick:
        return "shorter run"
    if not nested:
        return "the sound variant: round-off"
    if name == "bond":
        return "round-off of coordinates, which grow to hundreds: a step keeps the lengths of its start"
    if tau != 0.5:
        return "in the figure too small to read off"
    size = float(theirs.removeprefix("about "))
    return within(ours, size / 4, 4 * size, "agree in size; ours is a steady drift")


def draw(result: Any, figure: Any) -> None:
    """Draw the three errors over time, as printed and sound."""
    figure.set_size_inches(8.0, 7.0)
    panels = figure.subplots(3, 2, sharex=True)
    for column, way in enumerate(WAYS):
        for tau in reversed(STEPS):
            data = result.data[f"{way}-{tau}"]
            for panel, key in zip(panels[:, column], ("d2E", "dL3", "bond"), strict=True):
                panel.plot(data["time"], data[key], linewidth=0.7, label=f"τ = {tau}")
        panels[0, column].set_title({"printed": "as printed", "sound": "index2, contacts by root"}[way])
    for panel, words in zip(panels[:, 0], ("Δ 2E", "Δ L3", "|r3 - r2|² - 1"), strict=True):
        panel.set_ylabel(words)
    panels[0, 0].legend(fontsize="small")
    for panel in panels[2]:
        panel.set_xlabel("time")
