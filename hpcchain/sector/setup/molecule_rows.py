"""The rows of a sector's molecules (`mol`), whose own columns are 32-bit integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.errors import EngineError
from hpcchain.jit.shared_rows import OWN_COLUMNS, SharedRows
from hpcchain.layout import arrays as L
from hpcchain.layout import workspace as W
from hpcchain.layout.memory import aligned_zeros

if TYPE_CHECKING:
    from hpcchain.sector.setup.molecule_classes import MoleculeClasses

MOST_COUNTED = 1 << 30  # half of what a column can hold, so that counts may grow between two looks at them


def molecule_rows(classes: MoleculeClasses, sequence: np.ndarray, head: int = 0) -> tuple[SharedRows, int]:
    """Return the `mol` table of these molecules, and the length of `series`, which begins with `head` floats."""
    own = aligned_zeros((len(sequence), OWN_COLUMNS), np.int32)
    mol = SharedRows(own, np.ascontiguousarray(np.vstack([classes.rows, classes.whole_rows])[:, OWN_COLUMNS:]))
    mol[:, L.MOL_CLASS] = classes.composition.class_of(sequence)
    beads = mol[:, L.MOL_BEADS]
    mol[:, L.MOL_FIRST] = np.cumsum(beads) - beads
    block = np.where(beads > 1, beads * W.CURVE, 0)
    begin = (np.cumsum(block) - block + head) // W.UNIT
    if begin.max(initial=0) >= MOST_COUNTED:
        raise EngineError(f"{len(sequence)} molecules have more series than one rank can address: take more ranks")
    mol[:, L.MOL_SERIES] = begin
    return mol, int(block.sum()) + head or W.UNIT


def countable_images(image: np.ndarray) -> np.ndarray:
    """Return image counts, which a molecule's row can hold.

    Raises
    ------
    EngineError
        Where one is MOST_COUNTED or more.
    """
    if np.abs(image).max(initial=0) >= MOST_COUNTED:
        raise EngineError(f"a molecule is {MOST_COUNTED} box lengths or more from image 0: shift its image counts")
    return image
