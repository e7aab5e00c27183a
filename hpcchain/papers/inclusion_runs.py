"""Runs of the small systems of Kaufman and Pai 2012 for their figures, and what pages say of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.papers import inclusions
from hpcchain.papers.result import NoStep

if TYPE_CHECKING:
    from hpcchain.papers.inclusions import Mechanics, Method
    from hpcchain.papers.result import Result


@dataclass(frozen=True)
class Track:
    """Energies and angular momenta (n,) of a run in a plane, its deepest overlap, and the time `end` it reached."""

    time: np.ndarray
    energy: np.ndarray
    momentum: np.ndarray
    deepest: float
    end: float
    failed: bool

    @property
    def rise(self) -> tuple[float, float]:
        """Least and greatest energy less that of the start."""
        return float(self.energy.min() - self.energy[0]), float(self.energy.max() - self.energy[0])


def follow(
    system: Mechanics, method: Method, start: tuple, steps: int, rule: Callable = inclusions.step, planar: bool = True
) -> Track:
    """Return the track of a run of so many steps, cut short where a step has no solution."""
    q, p = start
    energies, momenta, deepest, failed = [system.energy(q, p)], [turning(q, p) if planar else 0.0], 0.0, False
    for _ in range(steps):
        try:
            q, p = rule(system, method, q, p)
        except NoStep:
            failed = True
            break
        energies.append(system.energy(q, p))
        momenta.append(turning(q, p) if planar else 0.0)
        deepest = max(deepest, -float(system.gaps(q)[0].min()))
    time = method.h * np.arange(len(energies))
    return Track(time, np.array(energies), np.array(momenta), deepest, float(time[-1]), failed)


def turning(q: np.ndarray, p: np.ndarray) -> float:
    """Return the angular momentum of points in the plane, coordinates x, y of each in turn."""
    return float(q[0::2] @ p[1::2] - q[1::2] @ p[0::2])


def columns(track: Track, most: int = 4000) -> dict[str, Any]:
    """Return a track's columns, every so many rows."""
    every = -(-len(track.time) // most)
    return {"t": track.time[::every], "E": track.energy[::every], "L": track.momentum[::every]}


def span(track: Track, digits: int = 4) -> str:
    """Return the band of energies as a text."""
    return f"[{track.energy.min():.{digits}g}, {track.energy.max():.{digits}g}]"


def walk(track: Track) -> tuple[float, float]:
    """Return how far the mean energy of the last tenth is from that of the first, and the band of the first.

    An energy that stays in a band has a first number well below the second; one that walks does not.
    """
    part = max(1, len(track.energy) // 10)
    first, last = track.energy[:part], track.energy[-part:]
    return float(abs(last.mean() - first.mean())), float(np.ptp(first))


def draw(result: Result, figure: Any) -> None:
    """Draw energy, and angular momentum where there is one, of each run over the time."""
    axes = figure.subplots()
    for name, data in result.data.items():
        axes.plot(data["t"], data["E"], linewidth=0.8, label=f"E, {name}")
        if np.any(data["L"]):
            axes.plot(data["t"], data["L"], "--", linewidth=0.8, label=f"L, {name}")
    axes.set(xlabel="t", ylabel="energy, angular momentum")
    axes.legend(fontsize="small")
