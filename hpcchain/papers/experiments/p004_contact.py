"""Marinkovic 2022, figures 4 to 9: contact dynamics on a line, with friction, and next to soft spheres."""

from typing import Any

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.papers.contact_cases import (
    G,
    column,
    column_with_contact_time,
    engine_at,
    hard,
    hard_heights,
    soft_heights,
)
from hpcchain.papers.result import Result, Table, columns, within

NAME = "004-contact"
TITLE = (
    "Figs 4 to 9: contact dynamics: four cases on a line, a stack, friction, a cradle, soft spheres next to hard ones"
)
MU = 0.4
MOST = 4000
"""Contacts of a column that are taken for endless."""


def run(quick: Any) -> Any:
    """Return tables of the exact cases, and of columns of balls; `quick` takes fewer durations."""
    soft, curves = soft_and_hard((0.1, 0.03) if quick else (0.1, 0.03, 0.01, 0.003))
    collapse, counts = contact_times()
    tables = [cases(), stack(), friction(), cradle(), soft, collapse]
    notes = [
        "Fig 6, the woodpecker: left out. Its sleeve could be a rigid body with friction, but the pole would be a wall "
        "inside of it, and walls are about beads; a column of fixed beads is not smooth. Its spring resists turning, "
        "and potentials act along the distance of two beads.",
        "Fig 7 shows people. Fig 8, the graphs of Signorini's and of Coulomb's law, is what the first tables show.",
        "(42) lacks m_eff; a target of gap / dt alone, as in (36) to (43), is inelastic: restitution is Moreau's.",
    ]
    return Result({"columns": curves, "contact-times": counts}, tables, [*notes, "Quick: two durations."][: 3 + quick])


def after_step(x: Any, v: Any, push: float = 0.0) -> tuple[float, float, float]:
    """Return relative velocity, gap and impulse after a step of 0.1 of two balls on a line, drawn to 0 by a spring."""
    place, moving = np.array([[x[0], 0, 20.0], [x[1], 0, 20.0]]), np.array([[v[0], 0, 0], [v[1], 0, 0]], dtype=float)
    engine = engine_at(hard(place, moving, 0.1, gravity=(0, 0, 0), center=push), 0.1)
    position, velocity, _ = engine.frame(0.1)
    impulse = float(engine.drain_events()["impulse"].sum())
    return float(np.diff(velocity[:, 0])[0]), float(np.diff(position[:, 0])[0]) - 1.0, impulse


def cases() -> Table:
    """Return the table of the four cases of one contact."""
    table = Table(
        "Figs 8, 9: two balls of mass 1 on a line, a step of 0.1, without restitution: v_n, gap and R after it"
    )
    given = [
        ("not in contact", after_step([-1.0, 1.0], [1.0, -1.0]), (-2.0, 0.8, 0.0)),
        ("closing: the gap of 0.1 is closed", after_step([-0.55, 0.55], [1.0, -1.0]), (-1.0, 0.0, 0.5)),
        ("persisting: pushed together by 5 each", after_step([-0.5, 0.5], [0.0, 0.0], 10.0), (0.0, 0.0, 0.5)),
        ("opening against the same push", after_step([-0.5, 0.5], [-1.0, 1.0], 10.0), (1.0, 0.1, 0.0)),
    ]
    for name, found, wanted in given:
        off = max(abs(a - b) for a, b in zip(found, wanted, strict=True))
        ours = ", ".join(f"{value + 0.0:.3g}" for value in np.round(found, 12))
        table.add(name, ", ".join(f"{value:g}" for value in wanted), ours, within(off, 0.0, 1e-11, "the closed form"))
    return table


def stack() -> Table:
    """Return the table of a stack of six balls."""
    places = column(6, 0.0)
    engine = engine_at(hard(places, np.zeros_like(places), 0.01, 0.5, MU), 0.5)
    carried = engine.drain_events()["impulse"][-6:] / (0.01 * G)
    table = Table("A stack of six balls at rest, e = 0.5, mu = 0.4: weights that its contacts carry, from below")
    off = float(np.abs(carried - np.arange(6, 0, -1)).max())
    table.add("impulses / (m g dt)", "6, 5, 4, 3, 2, 1", f"the same, to {off:.0e}", within(off, 0.0, 1e-11))
    return table


def slid(angle: float, moment: float | None, speed: float) -> tuple[float, float]:
    """Return speed and spin, times radius, after 0.5 on an incline of an angle [degrees] of a ball with a speed."""
    tilted = (G * np.sin(np.deg2rad(angle)), 0.0, -G * np.cos(np.deg2rad(angle)))
    engine = engine_at(hard([[0.0, 0.0, 0.5]], [[speed, 0.0, 0.0]], 0.01, 0.0, MU, tilted, moment), 0.5)
    return float(engine.frame(0.5)[1][0, 0]), 0.5 * float(engine.state().extra[0, L.SPIN + 1])


def friction() -> Table:
    """Return the table of what slides and rolls."""
    table = Table("Coulomb's graph (Fig 8): one ball on a plane, mu = 0.4, after 0.5")
    speed, spin = slid(0.0, None, 1.0)
    table.add("slides, then rolls: v / v0", 5.0 / 7.0, f"{speed:.6f}", within(abs(speed - 5.0 / 7.0), 0.0, 1e-11))
    table.add("its omega R / v", 1.0, f"{spin / speed:.6f}", within(abs(spin / speed - 1.0), 0.0, 1e-11))
    for angle, moment, name in ((20.0, 1e9, "block"), (25.0, 1e9, "block"), (50.0, None, "ball"), (60.0, None, "ball")):
        sine, cosine = np.sin(np.deg2rad(angle)), np.cos(np.deg2rad(angle))
        limit = MU if moment else 3.5 * MU
        rest = 0.0 if moment else 5.0 / 7.0 * G * sine
        wanted = 0.5 * (rest if sine / cosine <= limit else G * (sine - MU * cosine))
        found = slid(angle, moment, 0.0)[0]
        what = "slides" if sine / cosine > limit else "rolls" if moment is None else "stays"
        why = f"tan {angle:g} = {sine / cosine:.3f}, at {'mu' if moment else '7 mu / 2'} = {limit:g} it begins to slide"
        table.add(f"{name}, {angle:g} degrees: {what}, v", wanted, found, within(abs(found - wanted), 0.0, 1e-6, why))
    return table


def cradle() -> Table:
    """Return the table of three balls in a row."""
    table = Table("A cradle: a ball with v = 1 meets two at rest, e = 1: velocities after it")
    wanted = {0.0: ("-1/3, 2/3, 2/3", [-1 / 3, 2 / 3, 2 / 3]), 0.05: ("0, 0, 1", [0.0, 0.0, 1.0])}
    for space, (text, values) in wanted.items():
        x = (1.0 + space) * np.arange(3)
        place = np.column_stack([x, np.zeros(3), np.full(3, 20.0)])
        moving = [[1.0, 0, 0], [0, 0, 0], [0, 0, 0]]
        velocity = engine_at(hard(place, moving, 0.01, 1.0, gravity=(0, 0, 0)), 0.3).frame(0.3)[1][:, 0]
        off = float(np.abs(velocity - values).max())
        why = "all touch: Moreau's law shares out" if space == 0.0 else "gaps: one contact after another"
        ours = ", ".join(f"{value:.3f}" for value in velocity + 0.0)
        table.add("touching" if space == 0.0 else f"gaps of {space:g}", text, ours, within(off, 0.0, 1e-11, why))
    return table


def soft_and_hard(durations: tuple) -> tuple[Table, dict]:
    """Return how far soft balls of a falling column are from hard ones over the duration of contacts, and heights."""
    places, times = column(3, 0.2), np.linspace(0.05, 1.5, 30)
    rigid = hard_heights(places, 0.001, 0.4, times)
    table = Table(
        "Fig 4: a column of three balls falls on a floor, e = 0.4: soft (springs, dashpots) next to hard (dt = 0.001)"
    )
    curves: dict = {"t": times, "hard": rigid[:, 2]}
    rest = np.arange(3) + 0.5
    table.add("hard: heights at rest", "0.5, 1.5, 2.5", ", ".join(f"{z:.4f}" for z in rigid[-1]), "nothing sinks in")
    for duration in durations:
        soft = soft_heights(places[:, 2].copy(), duration, 0.4, times)
        curves[f"soft {duration:g}"] = soft[:, 2]
        off = float(np.abs(soft - rigid).max())
        sunk = float((rest - soft[-1]).max())
        table.add(
            f"contacts last {duration:g}: furthest from hard", None, off, f"at rest its top sinks in by {sunk:.2g}"
        )
    return table, curves


def contact_times() -> tuple[Table, dict]:
    """Return contacts of a column that is met event by event, over the contact time of the TC model (Fig 5)."""
    table = Table(
        f"Fig 5: three points above a floor, gaps of 0.2, e = 0.4, event by event until t = 1.5 (at most {MOST})"
    )
    found = []
    for contact_time in (0.0, 1e-5, 1e-4, 1e-3, 1e-2):
        count, energy, reached = column_with_contact_time(0.2 * np.arange(1, 4), 0.4, contact_time, 1.5, MOST)
        found.append((contact_time, count, reached))
        more = "collapse" if contact_time == 0.0 else "contacts within t_contact keep their energy"
        why = f"only at t = {reached:.3f} then: {more}" if count == MOST else f"m v^2 / 2 = {energy:.1e} in the end"
        table.add(f"t_contact = {contact_time:g}: contacts", None, str(count), why)
    table.add("contact dynamics, any dt", None, "at rest", "a step takes all contacts at once: there is no collapse")
    return table, columns("contact_time contacts reached", found)


def draw(result: Any, figure: Any) -> None:
    """Draw the height of the top ball, soft and hard, and contacts over the contact time."""
    left, right = figure.subplots(1, 2)
    curves = result.data["columns"]
    for name in (name for name in curves if name != "t"):
        left.plot(curves["t"], curves[name], label=name)
    left.set(xlabel="t", ylabel="height of the top ball")
    left.legend()
    counts = result.data["contact-times"]
    right.loglog(np.maximum(counts["contact_time"], 1e-6), counts["contacts"], "o-")
    right.set(xlabel="t_contact", ylabel="contacts")
