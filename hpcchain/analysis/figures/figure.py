"""What a figure is: numbers that are summed, of single frames or correlated over time, and what is made of the sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.io.output.run_output import Frame as Frame  # what figures are made of

if TYPE_CHECKING:
    from hpcchain.analysis.kinds import Kind
    from hpcchain.analysis.statistics import Sums
    from hpcchain.analysis.tables import Curve, Value

LENGTH, AREA, TIME = "length", "length^2", "time"


class Figure:
    """A figure that is an average over frames, each for itself.

    Attributes
    ----------
    groups : (G,) float64 array
        Samples that each group has in one frame: its molecules, or [1] where molecules are not told apart.
    most : int
        Frames that are enough, evenly taken from those to be analysed; 0: all.
    """

    groups = np.ones(1)
    most = 0

    def add(self, frame: Frame) -> np.ndarray:
        """Return the sums (G, K) over each group's molecules in a frame."""
        raise NotImplementedError

    def result(self, sums: Sums) -> list[Value | Curve]:
        """Return the numbers and curves that follow from the sums over all frames."""
        raise NotImplementedError


class OfMolecules(Figure):
    """A figure of one kind of molecules that is an average over all frames."""

    def __init__(self, kind: Kind) -> None:
        self.kind, self.groups = kind, kind.molecules


@dataclass(frozen=True)
class Slab:
    """Some molecules of one kind in all frames, or in a stretch of them.

    Attributes
    ----------
    kind : Kind
    position : (T, m, b, 3) float64 array
        Unwrapped [length].
    velocity : (T, m, b, 3) float64 array or None
        Where a figure needs it [length / time].
    """

    kind: Kind
    position: np.ndarray
    velocity: np.ndarray | None

    def during(self, low: int, high: int) -> Slab:
        """Return it in the frames low:high."""
        return Slab(self.kind, self.position[low:high], None if self.velocity is None else self.velocity[low:high])


class Motion:
    """A figure of the motion of one kind of molecules.

    Attributes
    ----------
    kind : Kind
    columns : int
        Functions of the lag that are summed.
    of_velocity : bool
        Whether it needs velocities.
    """

    columns, of_velocity = 1, False

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def curves(self, slab: Slab) -> np.ndarray:
        """Return (columns, T): sums over the slab's molecules, by lag in frames."""
        raise NotImplementedError

    def result(self, sums: Sums, lag: np.ndarray) -> list[Value | Curve]:
        """Return what follows from the sums (columns, lags), flattened; lags in time from 0 on."""
        raise NotImplementedError


def rows(x: np.ndarray, columns: int) -> np.ndarray:
    """Return flattened sums as (columns, lags)."""
    return x.reshape(columns, -1)
