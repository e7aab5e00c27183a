"""Marinkovic 2022, figures 4 to 9: contact dynamics on a line, with friction, and next to soft spheres."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.physics.constants import ExtendedPhysics, PotentialConstants, Roughness, SteppedPhysics
from hpcchain.model.system import OPEN, WALL, Box, System
from hpcchain.papers.engine import system_of
from hpcchain.papers.result import Result, Table, columns

if TYPE_CHECKING:
    from hpcchain.steps.engine import SteppedEngine

NAME = "004-contact"
TITLE = (
    "Figs 4 to 9: contact dynamics: four cases on a line, a stack, friction, a cradle, soft spheres next to hard ones"
)
G = 9.8
EDGE, MIDDLE = 400.0, 200.0
"""Of the box, whose lower corner is the origin, so that the floor is at z = 0; its middle along x and y."""
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


def hard(
    position: Any,
    velocity: Any,
    h: float,
    e: float = 0.0,
    friction: float = 0.0,
    gravity: Any = (0.0, 0.0, -G),
    moment: float | None = None,
    center: float = 0.0,
) -> System:
    """Return a System of contact dynamics: equal spheres of diameter and mass 1 above a floor.

    Parameters
    ----------
    position, velocity : (n, 3) arrays
        x and y from the middle of the box [length], [length / time].
    h : float
        Step [time].
    e, friction : float
    gravity : 3 floats
    moment : float, optional
        Of inertia; that of uniform spheres when left out.
    center : float
        Stiffness of a spring that draws all to (0, 0, 20).
    """
    spring = PotentialConstants("center", stiffness=center, center=(MIDDLE, MIDDLE, 20.0))
    potentials = (spring,) if center else ()
    steps = SteppedPhysics(
        step=h, integrator="contact", friction=friction, potentials=potentials, gravity=tuple(gravity), seed=1
    )
    extended = ExtendedPhysics(impulses=True, rough=Roughness(1.0, 1, 1.0) if friction > 0.0 else None)
    place = np.asarray(position, dtype=float) + [MIDDLE, MIDDLE, 0.0]
    system = system_of(place, velocity, restitution=e, steps=steps, extended=extended)
    kinds = np.array([OPEN, OPEN, WALL], dtype=np.int8)
    topology = system.topology
    if moment is not None:
        topology = replace(topology, prototypes=replace(topology.prototypes, moment=np.full(1, moment)))
    return replace(system, box=Box(np.full(3, EDGE), np.zeros(3), kinds), topology=topology)


def engine_at(system: System, time: float) -> SteppedEngine:
    """Return the engine of a system that it has carried to a time, with the log of its contacts."""
    from hpcchain.steps.engine import SteppedEngine

    engine = SteppedEngine(system, log_events=True)
    engine.advance(time)
    return engine


def column(count: int, space: float) -> np.ndarray:
    """Return places (count, 3) of balls above one another, with so much space below each."""
    z = 0.5 + space + (1.0 + space) * np.arange(count)
    return np.column_stack([np.zeros(count), np.zeros(count), z])


def hard_heights(places: np.ndarray, h: float, e: float, times: np.ndarray) -> np.ndarray:
    """Return the heights (times, balls) of a column that falls, by contact dynamics."""
    engine, found = engine_at(hard(places, np.zeros_like(places), h, e), 0.0), []
    for time in times:
        engine.advance(float(time))
        found.append(engine.frame(float(time))[0][:, 2])
    return np.array(found)


def soft_heights(z: np.ndarray, duration: float, e: float, times: np.ndarray) -> np.ndarray:
    """Return the heights of soft balls of a column that falls: springs with dashpots, contacts of this duration.

    A contact of two unit masses has stiffness k and damping c such that it lasts pi / w, w^2 = 2 k - c^2, and leaves
    exp(-c pi / w) = e of the rate. The floor has the same stiffness and damping for each mass twice as large.
    """
    rate = np.pi / duration
    c = -np.log(e) * rate / np.pi
    k, h = 0.5 * (rate**2 + c**2), duration / 200.0
    z, v, found = z.copy(), np.zeros(len(z)), []

    def force() -> np.ndarray:
        total = np.full(len(z), -G)
        gaps = np.diff(z, prepend=-0.5) - 1.0
        rates = np.diff(v, prepend=0.0)
        push = np.where(gaps < 0.0, np.maximum(-k * gaps - c * rates, 0.0), 0.0)
        push[0] *= 2.0
        total += push
        total[:-1] -= push[1:]
        return total

    now = 0.0
    for time in times:
        while now < time - 0.5 * h:
            v += h * force()
            z += h * v
            now += h
        found.append(z.copy())
    return np.array(found)


def column_with_contact_time(
    places: np.ndarray, e: float, contact_time: float, end: float, most: int
) -> tuple[int, float, float]:
    """Return contacts (at most `most`), kinetic energy and time reached of a column of points, event by event.

    A contact keeps its energy where one of the two has had another within `contact_time` (Luding and McNamara 1998).
    """
    z, v = places.copy(), np.zeros(len(places))
    last, now = np.full(len(z), -np.inf), 0.0
    for count in range(most):
        pairs = [(z[k + 1] - z[k]) / (v[k] - v[k + 1]) if v[k] > v[k + 1] else np.inf for k in range(len(z) - 1)]
        fall = (v[0] + np.sqrt(v[0] ** 2 + 2.0 * G * max(z[0], 0.0))) / G
        waits = [fall, *(max(wait, 0.0) for wait in pairs)]
        k = int(np.argmin(waits))
        if now + waits[k] > end:
            v = v - G * (end - now)
            return count, 0.5 * float(v @ v), end
        now += waits[k]
        z, v = z + v * waits[k] - 0.5 * G * waits[k] ** 2, v - G * waits[k]
        beads = [0] if k == 0 else [k - 1, k]
        kept = 1.0 if now - last[beads].max() < contact_time else e
        last[beads] = now
        if k == 0:
            z[0], v[0] = 0.0, -kept * v[0]
        else:
            change = 0.5 * (1.0 + kept) * (v[k - 1] - v[k])
            v[k - 1] -= change
            v[k] += change
    return most, 0.5 * float(v @ v), now


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
        table.compare(name, ", ".join(f"{value:g}" for value in wanted), off, 0.0, 1e-11, "the closed form", ours)
    return table


def stack() -> Table:
    """Return the table of a stack of six balls."""
    places = column(6, 0.0)
    engine = engine_at(hard(places, np.zeros_like(places), 0.01, 0.5, MU), 0.5)
    carried = engine.drain_events()["impulse"][-6:] / (0.01 * G)
    table = Table("A stack of six balls at rest, e = 0.5, mu = 0.4: weights that its contacts carry, from below")
    off = float(np.abs(carried - np.arange(6, 0, -1)).max())
    table.compare("impulses / (m g dt)", "6, 5, 4, 3, 2, 1", off, 0.0, 1e-11, shown=f"the same, to {off:.0e}")
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
    table.compare("slides, then rolls: v / v0", 5.0 / 7.0, abs(speed - 5.0 / 7.0), 0.0, 1e-11, shown=f"{speed:.6f}")
    table.compare("its omega R / v", 1.0, abs(spin / speed - 1.0), 0.0, 1e-11, shown=f"{spin / speed:.6f}")
    for angle, moment, name in ((20.0, 1e9, "block"), (25.0, 1e9, "block"), (50.0, None, "ball"), (60.0, None, "ball")):
        sine, cosine = np.sin(np.deg2rad(angle)), np.cos(np.deg2rad(angle))
        limit = MU if moment else 3.5 * MU
        rest = 0.0 if moment else 5.0 / 7.0 * G * sine
        wanted = 0.5 * (rest if sine / cosine <= limit else G * (sine - MU * cosine))
        found = slid(angle, moment, 0.0)[0]
        what = "slides" if sine / cosine > limit else "rolls" if moment is None else "stays"
        why = f"tan {angle:g} = {sine / cosine:.3f}, at {'mu' if moment else '7 mu / 2'} = {limit:g} it begins to slide"
        table.compare(f"{name}, {angle:g} degrees: {what}, v", wanted, abs(found - wanted), 0.0, 1e-6, why, found)
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
        table.compare("touching" if space == 0.0 else f"gaps of {space:g}", text, off, 0.0, 1e-11, why, ours)
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
