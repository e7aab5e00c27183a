"""Kaufman and Pai 2012, Figs 4 and 7: two masses on a spring bounce on the ground, with Verlet as the base."""

from typing import Any

from hpcchain.papers import inclusion_baselines, inclusion_runs, inclusion_systems
from hpcchain.papers.inclusion_baselines import finer
from hpcchain.papers.inclusions import Method
from hpcchain.papers.result import Result, Table

NAME = "003-figs4-7"
TITLE = "Figs 4, 7: pogo stick; generalised integrator and collision integrators, reflections that keep H or H2"
BANDS = {"H": (0.0, 0.025), "H2": (-0.0115, 0.0145)}


def run(quick: Any) -> Any:
    """Return energies of 1e5 steps, of collision integrators 2e4; `quick`: a tenth."""
    system, q, p = inclusion_systems.pogo()
    steps = 10_000 if quick else 100_000
    table = Table("Two masses on a spring, h = 0.1, from q1 = 6, q2 = 1 at rest")
    data = {}
    for energy, (low, high) in BANDS.items():
        method = Method(0.1, "verlet", energy)
        track = inclusion_runs.follow(system, method, (q, p), steps, planar=False)
        least, most = (part / track.energy[0] for part in track.rise)
        inside, shown = min(least - low, high - most), f"{least:+.2%} to {most:+.2%}"
        name, words = f"generalised, keeps {energy}: band of E", "bounded; no start is printed"
        table.compare(name, "bounded for 1e5", inside, -0.002, 1.0, words, shown)
        data[f"generalised-{energy}"] = inclusion_runs.columns(track)
        for name, rule in (
            ("exact", inclusion_baselines.collision),
            ("interpolated", inclusion_baselines.interpolated),
        ):
            other = inclusion_runs.follow(system, method, (q, p), steps // 5, rule, planar=False)
            printed = {"H": "blows up after t = 546", "H2": "blows up after t = 713"}[energy]
            table.add(
                f"collision, {name} contact, keeps {energy}",
                printed,
                said(other),
                "when it blows up hangs on the start, not printed, and on how contact is found",
            )
            data[f"collision-{name}-{energy}"] = inclusion_runs.columns(other)
    other = inclusion_runs.follow(system, Method(0.1, "verlet", "H2"), (q, p), steps // 20, finer, planar=False)
    table.add(
        "the same, keeps H2, steps of order 4 to contacts and from them",
        "not printed",
        said(other),
        "both parts of Bond and Leimkuhler 2007; a step of order 4 follows H, not the H2 of whole steps",
    )
    data["collision-finer-H2"] = inclusion_runs.columns(other)
    notes = [
        "Verlet's numerical Hamiltonian H2 has the reflection metric M^-1 + h^2/6 M^-1 V'' M^-1.",
        "Reflections that keep H2 of a whole step, used in a cut one, can leave a contact approaching: such a run "
        "ends there.",
    ]
    return Result(data, [table], [*notes, "A tenth of the steps."] if quick else notes)


def said(track: Any) -> str:
    """Return the band of a collision integrator's energy relative to the start, and where its run ended."""
    least, most = (part / track.energy[0] for part in track.rise)
    return f"{least:+.2%} to {most:+.2%}" + (f", no step beyond t = {track.end:.4g}" if track.failed else "")


draw = inclusion_runs.draw
