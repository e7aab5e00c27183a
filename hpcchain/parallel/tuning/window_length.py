"""How long windows are: so many contacts a molecule.

Longer windows have ranks meet less often, and redo more. What decides besides is the cache: closed segments are kept to
the window's end, and where they are more than the cache holds, saving them takes longer than the meetings that are
spared. So a window's contacts go by their bytes, and by how long the least skins last: longer windows need wider ones,
and more ghosts. Nor does a window last for more than so many renewals of a bead's list, or ends of its segments. What a
window has closed is kept, and looked at, until it ends. Where beads fly fast together, or far, these are many more than
contacts.
"""

from __future__ import annotations

import math

MOST, LEAST = 0.8, 0.05  # contacts a molecule in a window
SAVED_PER_BEAD = 180.0  # bytes saved for each bead of a molecule and each of its contacts
KEPT = 8e6  # bytes that are best kept in a window of a rank
RENEWED, RENEWALS = 4000.0, (4.0, 24.0)  # lists that a rank renews in a window at least; how often each one, at most
GROW = 1.5  # most that a window is longer than the one before


class WindowLength:
    """Chooses how long the next window is; the same on all ranks.

    Parameters
    ----------
    beads : float
        Of the rank with most.

    Attributes
    ----------
    contacts, renewals : float
        That a window has at most: contacts a molecule, renewals of a bead's list.
    """

    def __init__(self, beads: float) -> None:
        self.contacts = min(max(KEPT / (SAVED_PER_BEAD * max(beads, 1.0)), LEAST), MOST)
        self.renewals = min(max(RENEWED / max(beads, 1.0), RENEWALS[0]), RENEWALS[1])
        self._contacts, self._passed, self._whole = 0.0, 0.0, False  # since a length has been chosen

    def observe(self, contacts: float, passed: float, cut: bool, window: float, easy: float, renewed: float) -> float:
        """Return the next window's length, by the contacts of windows that have been at least half as long together.

        It does not grow where all were cut short: without contacts it would for ever.

        Parameters
        ----------
        contacts : float
            A molecule's, in the window that has ended.
        passed : float
            Its length [time].
        cut : bool
            Whether it was cut short.
        window : float
            The present length [time].
        easy : float
            How long windows are at most for which the least skins do [time].
        renewed : float
            How long a bead's list lasts [time].
        """
        self._contacts, self._passed = self._contacts + contacts, self._passed + passed
        self._whole = self._whole or not cut
        if self._passed < 0.5 * window:
            return window
        rate, most = self._contacts / self._passed, GROW * window if self._whole else window
        self._contacts, self._passed, self._whole = 0.0, 0.0, False
        wanted = min(self.contacts, max(rate * easy, LEAST)) / rate if rate > 0.0 else math.inf
        return min(max(wanted, 0.5 * window), most, self.renewals * renewed)
