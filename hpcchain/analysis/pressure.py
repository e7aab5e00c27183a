"""The kinetic part of the molecular pressure tensor, from the velocities of the molecules' centres of mass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.figure import Frame
from hpcchain.analysis.sizes import PAIRS
from hpcchain.analysis.tables import Curve, Value

if TYPE_CHECKING:
    from hpcchain.analysis.kinds import Kind
    from hpcchain.analysis.statistics import Sums


class KineticPressure:
    """Sum over molecules of M V V / volume: the pressure tensor of the same molecules without contacts.

    That of contacts cannot be found from frames; the reports have their trace, in the `pressure`.
    """

    most = 0

    def __init__(self, kinds: list[Kind], volume: float) -> None:
        self.kinds, self.volume, self.groups = kinds, volume, np.ones(1)

    def add(self, frame: Frame) -> np.ndarray:
        """Return the tensor of a frame."""
        tensor = np.zeros((3, 3))
        for kind in self.kinds:
            centre = kind.centres(kind.positions(frame.velocity))
            tensor += kind.mass.sum() * centre.T @ centre
        return np.array([[tensor[i, j] for _, i, j in PAIRS]]) / self.volume

    def result(self, sums: Sums) -> list[Value | Curve]:
        """Return the six components."""
        value, error = sums.estimate(lambda x: x)
        return [
            Value(f"kinetic_pressure_{axes}", "", float(v), float(e), "energy / length^3")
            for (axes, _, _), v, e in zip(PAIRS, value, error, strict=True)
        ]
