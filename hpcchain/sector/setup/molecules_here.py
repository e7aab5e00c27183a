"""The order of a rank's molecules in space, and which rows its sector keeps free for ghosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hpcchain.model.system import System
    from hpcchain.sector.setup.molecule_classes import MoleculeClasses


def space_sequence(system: System, molecules: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return these molecules' numbers along a space-filling (Morton) curve of their first beads.

    Parameters
    ----------
    system : System
    molecules : (n,) int64 array
    first : (n,) int64 array
        The state's row of each one's first bead.
    """
    place = (system.state.position[first] - system.box.origin) / system.box.size
    grid = np.floor(np.nan_to_num(place % 1.0) * 1024.0).astype(np.uint64) & np.uint64(1023)
    code = np.zeros(len(first), dtype=np.uint64)
    for bit in range(10):
        for axis in range(3):
            code |= ((grid[:, axis] >> np.uint64(bit)) & np.uint64(1)) << np.uint64(3 * bit + axis)
    return molecules[np.argsort(code, kind="stable")].astype(np.int64)


VACANCY = 8  # one free row for so many molecules of a class that are there
LEAST_VACANT = 8


class Vacancies:
    """Free rows for molecules of each class; those of a long chain in parts lie in a row.

    Parameters
    ----------
    classes : MoleculeClasses
    """

    def __init__(self, classes: MoleculeClasses) -> None:
        self._chain_parts = classes.chain_parts
        self._whole = classes.composition if classes.chain_parts is None else classes.chain_parts.whole
        self._free: dict[int, list[int]] = {}

    def _parts_of(self, molecules: np.ndarray) -> np.ndarray:
        """Return the parts of molecules of the whole system, themselves where none are divided."""
        return molecules if self._chain_parts is None else self._chain_parts.sequence(molecules)

    def _leads(self, molecules: np.ndarray) -> np.ndarray:
        """Return where, among molecules and parts of chains with all of each in a row, each begins."""
        if self._chain_parts is None:
            return np.arange(len(molecules))
        return np.flatnonzero(self._chain_parts.first_part[self._chain_parts.molecules_of(molecules)] == molecules)

    def _kinds(self, leads: np.ndarray) -> np.ndarray:
        """Return the classes of the whole system that molecules are of, given by their first parts."""
        return self._whole.class_of(leads if self._chain_parts is None else self._chain_parts.molecules_of(leads))

    def lay_out(self, molecules: np.ndarray) -> np.ndarray:
        """Choose free rows behind those of the molecules here, by row; return a molecule like what each is for."""
        kinds = np.bincount(self._kinds(molecules[self._leads(molecules)]), minlength=self._whole.prototypes.molecules)
        like = np.repeat(self._whole.firsts, kinds // VACANCY + LEAST_VACANT)
        parts = self._parts_of(like)
        at = self._leads(parts)
        for row, kind in zip((len(molecules) + at).tolist(), self._kinds(parts[at]).tolist(), strict=True):
            self._free.setdefault(kind, []).append(row)
        return parts

    def take(self, molecules: np.ndarray) -> np.ndarray:
        """Return rows for molecules, all parts of each chain in order; fewer where there are no more."""
        at = self._leads(molecules)
        rows = []
        for kind, size in zip(self._kinds(molecules[at]).tolist(), np.diff(np.append(at, len(molecules))), strict=True):
            free = self._free.get(kind)
            if not free:
                break
            rows.append(free.pop() + np.arange(size))
        return np.concatenate([np.zeros(0, dtype=np.int64), *rows])
