"""Sizes and shapes of molecules: radius of gyration with its tensor, end-to-end distance."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.figures.figure import AREA, LENGTH, Frame
from hpcchain.analysis.tables import Curve, Value

if TYPE_CHECKING:
    from hpcchain.analysis.kinds import Kind
    from hpcchain.analysis.statistics import Sums

PAIRS = (("xx", 0, 0), ("yy", 1, 1), ("zz", 2, 2), ("xy", 0, 1), ("xz", 0, 2), ("yz", 1, 2))
SQUARE, ENDS, EIGEN, INVARIANT, FOURTH, TENSOR = 0, 1, slice(2, 5), 5, 6, slice(7, 13)
"""Columns of a molecule's row: Rg^2, Re^2, eigenvalues descending, their second invariant, Rg^4, the tensor."""


class Sizes:
    """Radius of gyration, gyration tensor and shape of one kind; of chains the end-to-end distance.

    The gyration tensor is the mean of (r - R)(r - R) over a molecule's mass (Theodorou and Suter 1985).
    """

    most = 0

    def __init__(self, kind: Kind) -> None:
        self.kind, self.groups = kind, kind.molecules

    def add(self, frame: Frame) -> np.ndarray:
        """Return the sums over groups of the columns SQUARE ... TENSOR."""
        whole = self.kind.positions(frame.position)
        away = whole - self.kind.centres(whole)[:, None]
        share = self.kind.mass / self.kind.mass.sum()
        tensor = np.einsum("mbi,mbj,b->mij", away, away, share)
        eigen = np.linalg.eigvalsh(tensor)[:, ::-1]
        square = eigen.sum(axis=1)
        span = whole[:, -1] - whole[:, 0]
        row = np.empty((len(whole), 13))
        row[:, SQUARE], row[:, ENDS], row[:, EIGEN] = square, np.sum(span * span, axis=1), eigen
        row[:, INVARIANT] = eigen[:, 0] * eigen[:, 1] + eigen[:, 1] * eigen[:, 2] + eigen[:, 2] * eigen[:, 0]
        row[:, FOURTH] = square * square
        row[:, TENSOR] = np.stack([tensor[:, i, j] for _, i, j in PAIRS], axis=1)
        return self.kind.grouped(row)

    def result(self, sums: Sums) -> list[Value | Curve]:
        """Return root mean squares, eigenvalues and shape, and the tensor in the box's axes."""
        name = self.kind.name
        found: dict[str, tuple[Callable, str]] = {"radius_of_gyration": (lambda x: np.sqrt(x[SQUARE]), LENGTH)}
        if self.kind.linear:
            found["end_to_end"] = (lambda x: np.sqrt(x[ENDS]), LENGTH)
        if self.kind.size > 1:
            eigen = {f"gyration_eigenvalue_{k + 1}": EIGEN.start + k for k in range(3)}
            tensor = {f"gyration_tensor_{axes}": TENSOR.start + k for k, (axes, _, _) in enumerate(PAIRS)}
            found |= {figure: (itemgetter(column), AREA) for figure, column in (eigen | tensor).items()}
            found["asphericity"] = (lambda x: x[EIGEN][0] - 0.5 * (x[EIGEN][1] + x[EIGEN][2]), AREA)
            found["acylindricity"] = (lambda x: x[EIGEN][1] - x[EIGEN][2], AREA)
            found["shape_anisotropy"] = (lambda x: 1.0 - 3.0 * x[INVARIANT] / x[FOURTH], "")
        values: list[Value | Curve] = []
        for figure, (function, unit) in found.items():
            value, error = sums.estimate(function)
            values.append(Value(figure, name, float(value[0]), float(error[0]), unit))
        return values
