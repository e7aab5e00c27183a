"""Nematic order of rods and chains: how far the molecules point along one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.figures.bonds import unit
from hpcchain.analysis.figures.figure import Frame
from hpcchain.analysis.tables import Curve, Value, numbers

if TYPE_CHECKING:
    from hpcchain.analysis.kinds import Kind
    from hpcchain.analysis.statistics import Sums


class NematicOrder:
    """S, the greatest eigenvalue of Q = < (3 u u - 1) / 2 > over the end-to-end directions u of one frame.

    Of M molecules without order it is not 0, but about M^-1/2; -2 times the middle eigenvalue has less of that
    (Eppenga and Frenkel 1984).
    """

    most = 0

    def __init__(self, kind: Kind) -> None:
        self.kind, self.groups = kind, np.ones(1)

    def add(self, frame: Frame) -> np.ndarray:
        """Return the frame's order parameters."""
        whole = self.kind.positions(frame.position)
        direction = unit(whole[:, -1] - whole[:, 0])
        eigen = np.linalg.eigvalsh(1.5 * direction.T @ direction / len(direction) - 0.5 * np.eye(3))
        return np.array([[eigen[2], -2.0 * eigen[1]]])

    def result(self, sums: Sums) -> list[Value | Curve]:
        """Return the mean order parameters."""
        names = ("nematic_order", "nematic_order_middle")
        return [*numbers(names, self.kind.name, sums.estimate(lambda x: x))]
