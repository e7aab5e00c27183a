"""What a figure of single frames is: numbers of each frame that are summed, and what is made of their mean."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from hpcchain.analysis.statistics import Sums
    from hpcchain.analysis.tables import Curve, Value
    from hpcchain.io.output.run_output import Frames

LENGTH, AREA, TIME = "length", "length^2", "time"


class Frame:
    """One frame; its tables are read when they are first asked for.

    Parameters
    ----------
    frames : Frames
    number : int
    """

    def __init__(self, frames: Frames, number: int) -> None:
        self._frames, self._number = frames, number

    @cached_property
    def position(self) -> np.ndarray:
        """(N, 3) positions, each molecule whole [length]."""
        return self._frames.table("position", self._number)

    @cached_property
    def velocity(self) -> np.ndarray:
        """(N, 3) velocities [length / time]."""
        return self._frames.table("velocity", self._number)

    @cached_property
    def spin(self) -> np.ndarray:
        """(N, 3) angular velocities, of runs whose beads spin [1 / time]."""
        return self._frames.table("angular_velocity", self._number)


class Figure(Protocol):
    """A figure that is an average over frames, each for itself.

    Attributes
    ----------
    groups : (G,) float64 array
        Samples that each group has in one frame: its molecules, or [1] where molecules are not told apart.
    most : int
        Frames that are enough, evenly taken from those to be analysed; 0: all.
    """

    groups: np.ndarray
    most: int

    def add(self, frame: Frame) -> np.ndarray:
        """Return the sums (G, K) over each group's molecules in a frame."""
        ...

    def result(self, sums: Sums) -> list[Value | Curve]:
        """Return the numbers and curves that follow from the sums over all frames."""
        ...
