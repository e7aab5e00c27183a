"""Order: how far rods and chains point along one axis, and whether beads sit in a crystal, which freud finds."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.analysis.figures.bonds import unit
from hpcchain.analysis.figures.figure import Figure, Frame
from hpcchain.analysis.figures.pairs import enough
from hpcchain.analysis.tables import Curve, Value, numbers

if TYPE_CHECKING:
    from hpcchain.analysis.kinds import Kind
    from hpcchain.analysis.statistics import Sums
    from hpcchain.io.output.trajectory import Trajectory

NEAREST = 12
DEGREES = (4, 6)


class NematicOrder(Figure):
    """S, the greatest eigenvalue of Q = < (3 u u - 1) / 2 > over the end-to-end directions u of one frame.

    Of M molecules without order it is not 0, but about M^-1/2; -2 times the middle eigenvalue has less of that
    (Eppenga and Frenkel 1984).
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

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


class LocalOrder(Figure):
    """Means over beads of q4 and q6 (Steinhardt et al. 1983); 0.191 and 0.575 in a face-centred cubic crystal.

    freud computes in single precision.
    """

    def __init__(self, found: Trajectory) -> None:
        freud: Any = importlib.import_module("freud")
        self.most = enough(len(found.mass))
        self._box = freud.box.Box(*np.asarray(found.edges, dtype=np.float64).tolist())
        self._parameters = [freud.order.Steinhardt(degree) for degree in DEGREES]

    def add(self, frame: Frame) -> np.ndarray:
        """Return the frame's means."""
        system = self._box, self._box.wrap(frame.position)
        found = [parameter.compute(system, neighbors={"num_neighbors": NEAREST}) for parameter in self._parameters]
        return np.array([[float(np.mean(parameter.particle_order)) for parameter in found]])

    def result(self, sums: Sums) -> list[Value | Curve]:
        """Return the means over frames."""
        return [*numbers([f"steinhardt_q{degree}" for degree in DEGREES], "", sums.estimate(lambda x: x))]
