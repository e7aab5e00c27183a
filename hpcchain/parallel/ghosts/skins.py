"""How far each molecule may go from its reference position before ghosts are chosen anew (`manager`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition

LEAST = 0.4  # least skin [contact distances]
LASTING = 12.0  # windows that a skin is to last at the present speed, where it need not be wider than WIDE for that
WIDE = 1.0  # [contact distances]
WINDOWS = 4.0  # windows that it is to last at the present speed however wide it gets
EASY = 8.0  # windows at the typical speed that the least skins last for, where windows are easy


class Skins:
    """Chooses the skin of each molecule.

    Parameters
    ----------
    composition : Composition
    contact : float
        Largest contact distance [length].
    window : float
        Length of the windows to come [time].
    """

    def __init__(self, composition: Composition, contact: float, window: float) -> None:
        self.composition, self.contact, self.window = composition, contact, window
        self.typical = self.usual = 0.0
        self.wide = {}

    def look_at(self, velocity: np.ndarray) -> None:
        """Take the typical speed, and that which half of the beads exceed, from velocities, (n, 3) float64."""
        square = np.sum(velocity**2, axis=1)
        self.typical = float(np.sqrt(np.mean(square))) if len(velocity) else 0.0
        self.usual = float(np.sqrt(np.median(square))) if len(velocity) else 0.0

    def of(self, molecules: np.ndarray, velocity: np.ndarray) -> np.ndarray:
        """Return the skins of molecules: more for fast ones, and for long windows.

        Parameters
        ----------
        molecules : (k,) int64 array
            Global numbers.
        velocity : (n, 3) float64 array
            Of their beads, one molecule's after the other's.
        """
        size = self.composition.size_of(molecules)
        fastest = np.sqrt(np.maximum.reduceat(np.sum(velocity**2, axis=1), np.cumsum(size) - size))
        return self.for_speeds(molecules, fastest)

    def for_speeds(self, molecules: np.ndarray, fastest: np.ndarray) -> np.ndarray:
        """Return the skins of molecules, (k,) int64 global numbers, by the speeds of their fastest beads, (k,) float64.

        Speeds are in length / time, skins in lengths. A slow molecule is taken to get the typical speed soon.
        """
        way = self.window * np.maximum(fastest, self.typical)  # in a window
        lasting = np.maximum(np.minimum(LASTING * way, WIDE * self.contact), WINDOWS * way)
        return np.maximum(self._least(molecules), lasting)

    def easy_window(self, typical: float) -> float:
        """Return how long windows are at most for which the least skins do, at a typical speed of beads."""
        return LEAST * self.contact / (EASY * typical) if typical > 0.0 else np.inf

    def give_more(self, molecules: np.ndarray, least: np.ndarray) -> None:
        """Give molecules, (k,) int64 global numbers, at least so wide a skin from now on, (k,) float64 [length]."""
        self.wide.update(zip(molecules.tolist(), least.tolist(), strict=True))

    def forget_others(self, molecules: np.ndarray) -> None:
        """Keep what `give_more` was given of these molecules alone."""
        self.wide = {m: self.wide[m] for m in np.intersect1d(molecules, list(self.wide)).astype(np.int64).tolist()}

    def _least(self, molecules: np.ndarray) -> np.ndarray:
        least = np.full(len(molecules), LEAST * self.contact)
        if self.wide:
            molecule_ids, skins = np.array(sorted(self.wide.items())).T
            at = np.minimum(np.searchsorted(molecule_ids, molecules), len(molecule_ids) - 1)
            least = np.where(molecule_ids[at] == molecules, skins[at], least)
        return least
