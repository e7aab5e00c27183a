"""The static structure factor S(k) at the wave vectors of a periodic box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.figures.figure import Figure, Frame
from hpcchain.analysis.figures.over_beads import add_amplitudes
from hpcchain.analysis.figures.pairs import enough
from hpcchain.analysis.tables import Curve, Value

if TYPE_CHECKING:
    from hpcchain.analysis.statistics import Sums
    from hpcchain.io.output.trajectory import Trajectory

SHELLS = 60
VECTORS = 24
"""Of each shell, evenly taken; all where there are no more."""
FARTHEST = 15.0
"""Greatest wave number times the diameter of the largest bead: beyond the second peak of a dense fluid."""
DENSE = 10.0
"""Shells of this many spacings are full of wave vectors: they are found from points on the sphere, not by looking."""
AT_ONCE = 1024
"""Beads whose waves are kept at once."""


class StructureFactor(Figure):
    """S(k) = < | sum over beads of exp(i k r) |^2 > / N, in the mean over wave vectors of about the same length."""

    def __init__(self, found: Trajectory) -> None:
        self.most = enough(len(found.mass))
        self.beads, self.box = len(found.mass), np.asarray(found.edges, dtype=np.float64)
        self.whole = wave_vectors(self.box, FARTHEST / found.diameter.max(), VECTORS)
        length = np.sqrt(np.sum((2.0 * np.pi * self.whole / self.box) ** 2, axis=1))
        self.shell = np.unique(np.rint(length / (2.0 * np.pi / self.box.max())), return_inverse=True)[1]
        self.counts = np.bincount(self.shell)
        self.k = np.bincount(self.shell, length) / self.counts

    def add(self, frame: Frame) -> np.ndarray:
        """Return S of each shell in a frame."""
        value = np.abs(amplitudes(frame.position, self.box, self.whole)) ** 2 / self.beads
        return (np.bincount(self.shell, value) / self.counts)[None]

    def result(self, sums: Sums) -> list[Value | Curve]:
        """Return S(k)."""
        return [Curve("structure_factor", "", "", "k", "1 / length", self.k, *sums.estimate(lambda x: x))]


def wave_vectors(box: np.ndarray, farthest: float, vectors: int) -> np.ndarray:
    """Return whole numbers (n, 3) whose wave vectors 2 pi n / L are no longer than `farthest`, one of each +-k.

    Where a shell has more than `vectors`, so many of it are taken evenly; of a large box shells are thinned, too.
    """
    spacing = 2.0 * np.pi / box
    width = spacing.min()
    most = max(int(farthest / width), 1)
    radii = np.arange(1.0, most + 1) if most <= SHELLS else np.unique(np.rint(np.geomspace(1, most, SHELLS)))
    found = [
        _in_shell(spacing, radius, width, vectors)
        if radius < DENSE * width
        else _on_sphere(spacing, radius, width, vectors)
        for radius in radii * width
    ]
    return np.concatenate(found)


def _on_sphere(spacing: np.ndarray, radius: float, width: float, vectors: int) -> np.ndarray:
    """Return whole vectors nearest to points that are evenly strewn over half a sphere, within half a width of it."""
    number = np.arange(2 * vectors)
    z, angle = (number + 0.5) / len(number), np.pi * (3.0 - np.sqrt(5.0)) * number
    flat = np.sqrt(1.0 - z * z)
    points = np.column_stack([flat * np.cos(angle), flat * np.sin(angle), z])
    whole = np.rint(radius * points / spacing).astype(np.int64)
    near = np.abs(np.sqrt(np.sum((whole * spacing) ** 2, axis=1)) - radius) < 0.5 * width
    return np.unique(whole[near & (whole[:, 2] > 0)], axis=0)[:vectors]


def _in_shell(spacing: np.ndarray, radius: float, width: float, vectors: int) -> np.ndarray:
    """Return up to so many whole vectors whose wave number is within half a width of a radius."""
    most = (np.ceil((radius + width) / spacing)).astype(np.int64)
    nx, ny = (np.arange(-m, m + 1) for m in most[:2])
    plane = (nx[:, None] * spacing[0]) ** 2 + (ny[None, :] * spacing[1]) ** 2
    found = []
    for nz in range(most[2] + 1):
        length = np.sqrt(plane + (nz * spacing[2]) ** 2)
        at = np.argwhere(np.abs(length - radius) < 0.5 * width)
        rows = np.column_stack([nx[at[:, 0]], ny[at[:, 1]], np.full(len(at), nz)])
        if nz == 0:
            rows = rows[(rows[:, 1] > 0) | ((rows[:, 1] == 0) & (rows[:, 0] > 0))]
        found.append(rows)
    whole = np.concatenate(found)
    if len(whole) > vectors:
        whole = whole[(np.arange(vectors) * len(whole)) // vectors]
    return whole


def amplitudes(position: np.ndarray, box: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return the sums of exp(i k r) over beads, (n,) complex, for the wave vectors 2 pi n / L.

    Parameters
    ----------
    position : (N, 3) float64 array
    box : (3,) float64 array
    whole : (n, 3) int64 array
    """
    found = np.zeros(len(whole), dtype=np.complex128)
    kinds = [np.unique(whole[:, axis], return_inverse=True) for axis in range(3)]
    row = np.column_stack([own.reshape(-1) for _, own in kinds])
    for low in range(0, len(position), AT_ONCE):
        phase = position[low : low + AT_ONCE] * (2.0 * np.pi / box)
        x, y, z = (waves_along(phase[:, axis], number) for axis, (number, _) in enumerate(kinds))
        add_amplitudes(row, x, y, z, found)
    return found


def waves_along(phase: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Return exp(i n phase) of each of some whole numbers (n,) and of phases (N,): (n, N) complex."""
    size, row = np.unique(np.abs(number), return_inverse=True)
    waves = powers(np.exp(1j * phase), size)[row.reshape(-1)]
    waves[number < 0] = waves[number < 0].conj()
    return waves


def powers(one: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """Return the powers of numbers (N,), (n, N), by squares: a tenth of the time of exponential functions."""
    if exponent[-1] <= 1:
        return np.where(exponent[:, None] == 1, one, 1.0)
    half, row = np.unique(exponent // 2, return_inverse=True)
    found = powers(one, half)[row.reshape(-1)]
    found *= found
    found[exponent % 2 == 1] *= one
    return found
