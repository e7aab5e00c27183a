"""How long windows are: so many contacts a molecule, found from what windows of two lengths cost in turns.

Longer windows have ranks meet less often, and redo more. What decides besides is the cache: closed segments are kept to
the window's end, and where they are more than the cache holds, saving them takes longer than the meetings that are
spared. The first length goes by their bytes, and by how long the least skins last: longer windows need wider ones, and
more ghosts. Nor does a window last for more than so many renewals of a bead's list, or ends of its segments, since what
a window has closed is kept, and looked at, until it ends: where beads fly fast together, or far, these are many more
than contacts. From then on two lengths take turns, now and then, and the better one stays: when all of some pairs say
so, since other programs disturb single ones. The length has no effect on results.
"""

from __future__ import annotations

MOST, LEAST = 0.8, 0.05  # contacts a molecule in a window
SAVED_PER_BEAD = 180.0  # bytes saved for each bead of a molecule and each of its contacts
KEPT = 8e6  # bytes that are best kept in a window of a rank
RENEWED, RENEWALS = 4000.0, (4.0, 24.0)  # lists that a rank renews in a window at least; how often each one, at most
RATIO = 1.5  # between two lengths that are compared
WINDOWS, PAIRS = 12, 3  # of a length at a time, and how many times both have their turn
SETTLING = 4  # windows after a change that say nothing
GAIN = 0.02  # least part of the cost that a better length saves
REST, MOST_REST = 100, 3200  # windows without a comparison after one that has changed nothing: ever more


class WindowLength:
    """Chooses how many contacts a molecule a window is to have; the same on all ranks.

    Parameters
    ----------
    beads : float
        Of the rank with most.

    Attributes
    ----------
    contacts : float
        That the next window is to have.
    renewals : float
        Of a bead's list that it has at most.
    """

    def __init__(self, beads: float) -> None:
        self._best = min(max(KEPT / (SAVED_PER_BEAD * max(beads, 1.0)), LEAST), MOST)
        self.contacts = self._best
        self.renewals = min(max(RENEWED / max(beads, 1.0), RENEWALS[0]), RENEWALS[1])
        self._first, self._compared = self._best, False
        self._longer, self._rest, self._windows = True, REST, -REST
        self._costs: list[float] = []
        self._spent = self._passed = 0.0

    def begin_with(self, contacts: float) -> None:
        """Have windows of no more contacts a molecule, until lengths are compared for the first time."""
        if not self._compared:
            self.contacts = self._best = min(self._first, max(contacts, LEAST))

    def ended(self, seconds: float, passed: float) -> None:
        """Note what a window of full length has cost: wall seconds of the slowest rank, for simulated time passed."""
        self._windows += 1
        if self._windows <= 0:
            return
        self._compared = True
        turn = self._windows % (SETTLING + WINDOWS)
        if turn > SETTLING or turn == 0:
            self._spent, self._passed = self._spent + seconds, self._passed + passed
        if turn == 0:
            self._costs.append(self._spent / self._passed)
            self._spent = self._passed = 0.0
            self.contacts = self._other() if len(self._costs) % 2 else self._best
            if len(self._costs) == 2 * PAIRS:
                self._decide()

    def _other(self) -> float:
        """Return what is compared with the best so far."""
        return min(max(self._best * (RATIO if self._longer else 1.0 / RATIO), 0.5 * LEAST), 2.0 * MOST)

    def _decide(self) -> None:
        """Keep the better of the two; go on in that direction, else rest and then turn round."""
        pairs = zip(self._costs[::2], self._costs[1::2], strict=True)
        self._costs = []
        if all(other < (1.0 - GAIN) * best for best, other in pairs):
            self._best, self._rest = self._other(), REST
            self._windows = 0
        else:
            self._longer = not self._longer
            self._windows, self._rest = -self._rest, min(2 * self._rest, MOST_REST)
        self.contacts = self._best
