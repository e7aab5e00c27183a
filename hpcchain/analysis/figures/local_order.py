"""Local crystalline order by freud: Steinhardt's q4 and q6, of each bead with its 12 nearest."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.analysis.figures.figure import Frame
from hpcchain.analysis.figures.pairs import enough
from hpcchain.analysis.tables import Curve, Value, numbers

if TYPE_CHECKING:
    from hpcchain.analysis.statistics import Sums
    from hpcchain.io.output.trajectory import Trajectory

NEAREST = 12
DEGREES = (4, 6)


def is_installed() -> bool:
    """Return whether freud is there."""
    return importlib.util.find_spec("freud") is not None


class LocalOrder:
    """Means over beads of q4 and q6 (Steinhardt et al. 1983); 0.191 and 0.575 in a face-centred cubic crystal.

    freud computes in single precision.
    """

    def __init__(self, found: Trajectory) -> None:
        freud: Any = importlib.import_module("freud")
        self.groups, self.most = np.ones(1), enough(len(found.mass))
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
