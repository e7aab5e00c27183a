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
LEAST_WINDOW, MOST_WINDOW, FIRST_WINDOW = 2.0**-24, 2.0**40, 2.0**-4  # ticks


def first_window(requested: float | None, tick: float) -> float:
    """Return the length of the first window, the one requested if there is one [time]."""
    return FIRST_WINDOW * tick if requested is None else min(float(requested), MOST_WINDOW * tick)


class WindowLength:
    """Chooses how long the next window is; the same on all ranks.

    Parameters
    ----------
    beads : float
        Of the rank with most.
    window, tick : float
        Length of the first window, of a tick [time].
    requested : bool
        Whether all windows are to be as long, but where one has been shortened.

    Attributes
    ----------
    window : float
        Length of the next window [time].
    contacts, renewals : float
        That a window has at most: contacts a molecule, renewals of a bead's list.
    """

    def __init__(self, beads: float, window: float, tick: float, requested: bool) -> None:
        self.contacts = min(max(KEPT / (SAVED_PER_BEAD * max(beads, 1.0)), LEAST), MOST)
        self.renewals = min(max(RENEWED / max(beads, 1.0), RENEWALS[0]), RENEWALS[1])
        self.window, self._least = window, LEAST_WINDOW * tick
        self._requested = window if requested else None
        self._last: tuple[float, bool] | None = None  # length of the window before, and whether it was cut short
        self._contacts, self._passed, self._whole = 0.0, 0.0, False  # since a length has been chosen

    def taken_back(self, shorten: bool) -> bool:
        """Note that a window was taken back, and have the next be shorter; return whether it still is long enough."""
        self._last = None
        if shorten:
            self.window *= 0.25
        return not shorten or self.window >= self._least

    def observe(self, length: float, cut: bool, contacts: float, easy: float, renewed: float) -> None:
        """Choose the next window's length, by the contacts of windows that have been at least half as long together.

        It does not grow where all were cut short: without contacts it would for ever.

        Parameters
        ----------
        length : float
            Of the window that has ended [time].
        cut : bool
            Whether it was cut short.
        contacts : float
            A molecule's, in the window before it: ranks agree on them in the next one.
        easy : float
            How long windows are at most for which the least skins do [time].
        renewed : float
            How long a bead's list lasts [time].
        """
        if self._requested is not None:
            self.window = min(self._requested, GROW * self.window)  # it may have been shortened
            return
        last, self._last = self._last, (length, cut)
        if last is None:
            return
        self._contacts, self._passed = self._contacts + contacts, self._passed + last[0]
        self._whole = self._whole or not last[1]
        if self._passed < 0.5 * self.window:
            return
        rate, most = self._contacts / self._passed, GROW * self.window if self._whole else self.window
        self._contacts, self._passed, self._whole = 0.0, 0.0, False
        wanted = min(self.contacts, max(rate * easy, LEAST)) / rate if rate > 0.0 else math.inf
        self.window = min(max(wanted, 0.5 * self.window), most, self.renewals * renewed)
