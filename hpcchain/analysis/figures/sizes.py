"""Sizes and shapes of molecules: radius of gyration with its tensor, end-to-end distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.analysis.figures.figure import AREA, LENGTH, Frame, OfMolecules
from hpcchain.analysis.tables import Curve, Value, numbers

if TYPE_CHECKING:
    from hpcchain.analysis.statistics import Sums

PAIRS = (("xx", 0, 0), ("yy", 1, 1), ("zz", 2, 2), ("xy", 0, 1), ("xz", 0, 2), ("yz", 1, 2))
SQUARE, ENDS, EIGEN, INVARIANT, FOURTH, TENSOR = 0, 1, slice(2, 5), 5, 6, slice(7, 13)
"""Columns of a molecule's row: Rg^2, Re^2, eigenvalues descending, their second invariant, Rg^4, the tensor."""


class Sizes(OfMolecules):
    """Radius of gyration, gyration tensor and shape of one kind of several beads; of chains the end-to-end distance.

    The gyration tensor is the mean of (r - R)(r - R) over a molecule's mass (Theodorou and Suter 1985).
    """

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
        found = {"radius_of_gyration": LENGTH} | ({"end_to_end": LENGTH} if self.kind.linear else {})
        found |= dict.fromkeys((f"gyration_eigenvalue_{k + 1}" for k in range(3)), AREA)
        found |= dict.fromkeys((f"gyration_tensor_{axes}" for axes, _, _ in PAIRS), AREA)
        found |= {"asphericity": AREA, "acylindricity": AREA, "shape_anisotropy": ""}
        linear = slice(SQUARE, ENDS + 1 if self.kind.linear else SQUARE + 1)

        def figures(x: np.ndarray) -> np.ndarray:
            large, middle, small = eigen = x[EIGEN]
            shape = large - 0.5 * (middle + small), middle - small, 1.0 - 3.0 * x[INVARIANT] / x[FOURTH]
            return np.concatenate([np.sqrt(x[linear]), eigen, x[TENSOR], shape])

        return [*numbers(found, self.kind.name, sums.estimate(figures), found.values())]
