"""The molecular pressure tensor: what the centres of mass carry, from frames, and what contacts add, from reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.figures.figure import Figure, Frame
from hpcchain.analysis.figures.sizes import PAIRS
from hpcchain.analysis.statistics import mean_and_error
from hpcchain.analysis.tables import Curve, Value, numbers

if TYPE_CHECKING:
    from hpcchain.analysis.kinds import Kind
    from hpcchain.analysis.statistics import Sums


class KineticPressure(Figure):
    """Sum over molecules of M V V / volume: the pressure tensor of the same molecules without contacts.

    That of contacts cannot be found from frames: `PressureTensor` takes it from the reports.
    """

    def __init__(self, kinds: list[Kind], volume: float) -> None:
        self.kinds, self.volume = kinds, volume

    def add(self, frame: Frame) -> np.ndarray:
        """Return the tensor of a frame."""
        tensor = np.zeros((3, 3))
        for kind in self.kinds:
            centre = kind.centres(kind.positions(frame.velocity))
            tensor += kind.mass.sum() * centre.T @ centre
        return np.array([[tensor[i, j] for _, i, j in PAIRS]]) / self.volume

    def result(self, sums: Sums) -> list[Value | Curve]:
        """Return the six components."""
        names = [f"kinetic_pressure_{axes}" for axes, _, _ in PAIRS]
        return [*numbers(names, "", sums.estimate(lambda x: x), ["energy / length^3"] * len(names))]


class PressureTensor(KineticPressure):
    """The whole tensor: that of `KineticPressure`, and the mean of `collisional_pressure` in the reports.

    Parameters
    ----------
    kinds, volume :
        As of `KineticPressure`.
    collisional : (R, 3, 3) float64 array
        Of the reports that are analysed, one at least [energy / length^3].
    """

    def __init__(self, kinds: list[Kind], volume: float, collisional: np.ndarray) -> None:
        super().__init__(kinds, volume)
        self.collisional = collisional

    def result(self, sums: Sums) -> list[Value | Curve]:
        """Return the six components; errors of both parts add up as squares."""
        found: list[Value | Curve] = []
        for (axes, i, j), kinetic in zip(PAIRS, super().result(sums), strict=True):
            mean, error = mean_and_error(self.collisional[:, i, j])
            total, doubt = float(kinetic.value + mean), float(np.hypot(kinetic.error, error))
            found.append(Value(f"pressure_tensor_{axes}", "", total, doubt, kinetic.unit))
        return found
