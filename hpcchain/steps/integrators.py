"""Integrators of the engine of steps: what moves all beads by one step, contacts among them.

A step has a beginning, at which forces are known, and an end, at which the engine computes them anew: `move` takes
beads there, `finish` then ends the step of their velocities.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.steps.contacts.clusters import NONE, together
from hpcchain.steps.contacts.inclusions import Inclusions, Solution
from hpcchain.steps.failures import raise_unsettled
from hpcchain.steps.local_beads import timed

if TYPE_CHECKING:
    from hpcchain.steps.contacts.finding import ContactFinder
    from hpcchain.steps.contacts.inclusions import ContactSolver
    from hpcchain.steps.contacts.tally import Tally
    from hpcchain.steps.local_beads import LocalBeads

SETTLED, NEARLY = 1e-14, 1e-9
"""Change of velocities, relative to the greatest, at which the midpoint rule is solved; at which it may stand still."""
HUGE = 1e307
"""In place of a change, velocity or force that is too large for a number; two of them are not."""
MOST_MIDPOINTS, SLOW, LEAST_SHARE, DIVERGED = 200, 0.8, 0.25, 1e4
"""Iterations at most; ratio of changes from which on forces go less far towards new ones; how far they go at least;
the ratio to the first change at which they never will fit."""


class Verlet:
    """Velocity Verlet, where no bead has a hard core.

    Parameters
    ----------
    beads : LocalBeads
    """

    def __init__(self, beads: LocalBeads) -> None:
        self.beads, self.comm, self.clock, self.seconds = beads, beads.comm, beads.clock, beads.seconds

    def predict(self) -> None:
        """Move own beads by half a step of forces and a whole one of motion, without contacts."""
        self.beads.kick(0.5 * self.clock.h)
        self.beads.move()

    def move(self) -> None:
        """Move all beads, and bring lists or ghosts up to date; collective."""
        self.predict()
        self.beads.wrap()
        self.beads.bring_up_to_date()

    def finish(self) -> None:
        """Add the second half of the step of forces, the new ones; collective."""
        self.beads.kick(0.5 * self.clock.h)
        self.beads.project()


class WithContacts(Verlet):
    """A step that is made, again and again, until it meets no contact that is not known.

    Parameters
    ----------
    beads : LocalBeads
    finder : ContactFinder
    contacts : ContactSolver
    tally : Tally
    """

    def __init__(self, beads: LocalBeads, finder: ContactFinder, contacts: ContactSolver, tally: Tally) -> None:
        super().__init__(beads)
        self.finder, self.contacts, self.tally = finder, contacts, tally

    def move(self) -> None:
        """Move all beads and solve their contacts, with lists that go to where beads come; collective.

        Lists that do not go so far are made anew before the step, which begins again then, and look farther if need be.
        """
        done, wider = None, False
        while done is None:
            before, velocity = self.beads.position.copy(), self.beads.own.velocity.copy()
            done = self._solved(before, velocity)
            if done is None:
                self.beads.list_anew(before, velocity, wider)
                wider = True
        self._end(done)

    def _solved(self, before: np.ndarray, velocity: np.ndarray) -> list | None:
        """Make a step from places of local beads and own velocities; return its contacts, None: lists are too short."""
        raise NotImplementedError

    def _end(self, done: list) -> None:
        """Count the contacts that were found, bring lists or ghosts up to date; collective."""
        raise NotImplementedError

    def met(self, before: np.ndarray, pairs: np.ndarray) -> tuple[np.ndarray, float, float, float]:
        """Return known contacts with those that beads meet now; collective.

        With how many are new and how many there are, on the rank with most of them, and `farthest_way` of any.
        """
        self.beads.place_ghosts()
        found = together(pairs, self.finder.find(before, self.beads.position))
        counts = np.array([float(len(found) - len(pairs)), float(len(found)), self.beads.farthest_way()])
        return found, *self.comm.maximum(counts)


class Variational(WithContacts):
    """Velocity Verlet whose contacts are solved by `Inclusions`.

    Attributes
    ----------
    resting : (n, 2) int64 array
        Smooth contacts of the step, of own beads.
    """

    contacts: Inclusions
    resting = NONE

    def _solved(self, before: np.ndarray, velocity: np.ndarray) -> list | None:
        self.predict()
        if self.beads.have_moved_far():
            return None
        pairs, done = NONE, []
        for _ in range(self.contacts.rounds):
            pairs, more, _, far = self.met(before, pairs)
            if self.beads.skin.is_left(far):  # contacts that a bead meets there might be missed
                return None
            if more == 0.0:
                break
            done = self._solve_contacts(before, velocity, pairs)
        return done

    def finish(self) -> None:
        """Add the second half of the step of forces, and take the rates of smooth contacts out; collective."""
        super().finish()
        self._still()

    @timed("contacts")
    def _solve_contacts(
        self, before: np.ndarray, velocity: np.ndarray, pairs: np.ndarray, curved: tuple | None = None
    ) -> list:
        """Solve contacts (`ContactFinder.curved`), put beads where it takes them; return what was found; collective."""
        beads, contacts = self.beads, self.contacts
        curved = curved or self.finder.curved(before, velocity, pairs, beads.refresh)
        pool = beads.pool(before[beads.local], velocity, *curved)
        done, rows = contacts.sharing.solved(pool, pairs, contacts.solved, Solution.table)
        for ids, row in rows:
            beads.put(ids, row[:, :3], row[:, 3:])
        return done

    def _end(self, done: list) -> None:
        # Contacts at rest are those of own beads, or those that were solved here: all are some rank's.
        resting = NONE
        for one in done:
            self.tally.count(one, one.impulse, self.clock.span[0])
            resting = np.concatenate([resting, one.geometry.pairs[one.smooth]])
        self.beads.wrap()
        self.resting = self.beads.bring_up_to_date(resting)

    def _still(self) -> None:
        """Take the rates of smooth contacts out of velocities; collective."""
        resting, beads, own = self.resting, self.beads, self.beads.own
        if self.comm.maximum(np.array([float(len(resting))]))[0] == 0.0:
            return
        pool = beads.pool(beads.position[beads.local], own.velocity.copy(), np.zeros((len(beads.ids), 0)))
        done, rows = self.contacts.sharing.solved(pool, resting, self.contacts.stilled, lambda one: one.velocity)
        for ids, velocity in rows:
            beads.put(ids, None, velocity)
        for one in done:
            self.tally.add(one, one.impulse, one.impulse != 0.0, self.clock.time)


class Midpoint(Variational):
    """The midpoint rule, whose forces are those in the middle of the step; without hard cores or with them."""

    def finish(self) -> None:
        """Take the rates of smooth contacts out; collective."""
        self.beads.project()
        self._still()

    def _solved(self, before: np.ndarray, velocity: np.ndarray) -> list | None:
        pairs, done = NONE, self._settled(before, velocity, NONE)
        for _ in range(self.contacts.rounds if self.contacts else 0):
            if done is None:
                break
            known = len(pairs)
            pairs = together(pairs, self.finder.find(before, self.beads.position))
            if self.comm.maximum(np.array([float(len(pairs) - known)]))[0] == 0.0:
                break
            done = self._settled(before, velocity, pairs)
        return done

    def _end(self, done: list) -> None:
        self.beads.kick(0.5 * self.clock.h)
        super()._end(done)

    def _settled(self, before: np.ndarray, velocity: np.ndarray, pairs: np.ndarray) -> list | None:
        """Iterate a step and the forces in its middle, until they fit each other; see `_solved`; collective.

        Forces go less far towards the new ones where these are not clearly nearer than before. When they fit, all
        ranks decide by the greatest change of any bead's velocity: nothing but the state has a part.
        """
        beads, own, h = self.beads, self.beads.own, self.clock.h
        curved = self.finder.curved(before, velocity, pairs, beads.refresh) if self.finder else None
        meets = self.finder and self.comm.maximum(np.array([float(len(pairs))]))[0] > 0.0
        mass = beads.interactions.mass[:, None]
        last, first, share = math.inf, 0.0, 1.0
        for _ in range(MOST_MIDPOINTS):
            beads.position[:], own.velocity[:] = before, velocity
            self.predict()
            done = self._solve_contacts(before, velocity, pairs, curved) if meets else []
            if beads.have_moved_far():
                return None
            beads.place_ghosts()
            force = beads.force.copy()
            beads.compute(0.5 * (before + beads.position))
            change, pushed = (h * np.abs(one / mass).max(initial=0.0) for one in (beads.force - force, force))
            here = np.array([change, np.abs(own.velocity).max(initial=0.0), pushed])
            change, fastest, pushed = self.comm.maximum(np.nan_to_num(here, nan=math.inf, posinf=HUGE))
            fastest += pushed  # each of them the greatest of all ranks'
            if change <= SETTLED * fastest or last <= change <= NEARLY * fastest:
                beads.force[:] = force
                return done
            if change > SLOW * last:
                share = max(0.5 * share, LEAST_SHARE)
            if share < 1.0:
                beads.force[:] = force + share * (beads.force - force)
            last, first = change, first or change
            if change > DIVERGED * first:
                break
        raise_unsettled(self.clock.time)
