"""Kaufman and Pai 2012, Fig 11, and which combination of base and energy is bounded."""

from typing import Any

from hpcchain.papers import inclusion_runs, inclusion_systems
from hpcchain.papers.inclusions import Method
from hpcchain.papers.result import Result, Table

NAME = "003-fig11"
TITLE = "Fig 11: six beads on rods with Lennard-Jones; and which base with which energy is bounded"


def run(quick: Any) -> Any:
    """Return energies of the chain over t = 500, and a table of bounded ones; `quick`: t = 10."""
    system, q, p = inclusion_systems.chain()
    steps = 1000 if quick else 50_000
    table, data = Table("Six beads, h = 0.01, with Verlet as the base"), {}
    for energy in ("H", "H2"):
        track = inclusion_runs.follow(system, Method(0.01, "verlet", energy), (q, p), steps, planar=False)
        least, most = track.rise
        table.add(
            f"reflections keep {energy}: E changes by",
            "bounded to t = 2000",
            f"{least:+.3f} to {most:+.3f}",
            f"{verdict(track)}; the start is not printed, ours is a zigzag with random velocities",
        )
        data[energy] = inclusion_runs.columns(track)
    bounded = Table("Which combination is bounded")
    systems = {"pogo stick, h = 0.1": inclusion_systems.pogo(), "discs, h = 0.1": inclusion_systems.oscillator()}
    for name, (one, place, momentum) in systems.items():
        for base in ("verlet", "midpoint"):
            for energy in ("H", "H2"):
                track = inclusion_runs.follow(
                    one, Method(0.1, base, energy), (place, momentum), steps if quick else 20_000, planar=False
                )
                bounded.add(f"{name}: {base}, {energy}", "bounded", f"E {inclusion_runs.span(track)}", verdict(track))
    notes = [
        "Bounded: the mean of the last tenth is off that of the first by less than the first tenth's band. "
        "This says nothing of longer runs or other starts.",
        "The paper's t is 2000; here 500.",
    ]
    return Result(data, [table, bounded], [*notes, "Quick: 1000 steps."] if quick else notes)


def verdict(track: Any) -> str:
    """Return whether the energy of a run is in a band, with the numbers."""
    moved, band = inclusion_runs.walk(track)
    end = f", no step beyond t = {track.end:.4g}" if track.failed else ""
    bounded = moved < band + 1e-10 * abs(track.energy[0])
    return f"{'bounded' if bounded else 'WALKS'}: mean off by {moved:.1e}, band {band:.1e}{end}"


draw = inclusion_runs.draw
