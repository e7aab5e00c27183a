"""Steps of the implicit midpoint rule, with contacts: a part of the engine of steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hpcchain.steps import motion
from hpcchain.steps.contacts.clusters import NONE
from hpcchain.steps.failures import raise_unsettled

SETTLED, NEARLY = 1e-14, 1e-9
"""Change of velocities, relative to the greatest, at which the midpoint rule is solved; at which it may stand still."""
MOST_MIDPOINTS, SLOW, LEAST_PART, DIVERGED = 200, 0.8, 0.25, 1e4
"""Iterations at most; ratio of changes from which on forces go less far towards new ones; how far they go at least;
the ratio to the first change at which they never will fit."""


class MidpointRule:
    """What `SteppedEngine` does where its base is the midpoint rule."""

    def _move_by_midpoint(self: Any) -> np.ndarray:
        """Move all beads by the midpoint rule, contacts among them, and add the second half of forces; collective.

        Lists that do not reach where beads come to are made anew before the step, which begins again then.
        """
        done, wider = None, False
        while done is None:
            done = self._midpoint(wider)
            wider = True
        motion.kick(self.own.velocity, self.force, self.interactions.mass, 0.5 * self.h)
        return self._ended(done)

    def _midpoint(self: Any, wider: bool) -> list | None:
        """Solve a step of the midpoint rule; return what contacts have done, None when lists were too short for it.

        They are then made anew; wider ones, if these are new already.
        """
        before, velocity = self.position.copy(), self.own.velocity.copy()
        pairs, rounds = NONE, self.contacts.rounds if self.contacts else 0
        done = self._settled(before, velocity, pairs)
        for _ in range(rounds):
            if done is None:
                break
            known = len(pairs)
            pairs = np.unique(np.concatenate([pairs, self.contacts.find(before, self.position)]), axis=0)
            if self.comm.maximum(np.array([float(len(pairs) - known)]))[0] == 0.0:
                break
            done = self._settled(before, velocity, pairs)
        if done is None:
            self._list_anew(before, velocity, wider)
        return done

    def _settled(self: Any, before: np.ndarray, velocity: np.ndarray, pairs: np.ndarray) -> list | None:
        """Iterate a step and the forces in its middle, until they fit each other; see `_midpoint`; collective.

        Forces go less far towards the new ones where these are not clearly nearer than before. When they fit, all
        ranks decide by the greatest change of any bead's velocity: nothing but the state has a part.
        """
        curved = self.contacts.curved(before, velocity, pairs, self.refresh) if self.contacts else None
        meets = self.contacts and self.comm.maximum(np.array([float(len(pairs))]))[0] > 0.0
        own, mass = self.own, self.interactions.mass[:, None]
        last, first, part = math.inf, 0.0, 1.0
        for _ in range(MOST_MIDPOINTS):
            self.position[:], own.velocity[:] = before, velocity
            self._predict()
            done = self._solve_contacts(before, velocity, pairs, curved) if meets else []
            if self._moved_far():
                return None
            self._tell_ghosts()
            force = self.force.copy()
            self._compute(0.5 * (before + self.position))
            change = self.h * np.abs((self.force - force) / mass).max(initial=0.0)
            fastest = np.abs(own.velocity).max(initial=0.0) + self.h * np.abs(force / mass).max(initial=0.0)
            change, fastest = self.comm.maximum(np.nan_to_num(np.array([change, fastest]), nan=math.inf))
            if change <= SETTLED * fastest or last <= change <= NEARLY * fastest:
                self.force[:] = force
                return done
            if change > SLOW * last:
                part = max(0.5 * part, LEAST_PART)
            if part < 1.0:
                self.force[:] = force + part * (self.force - force)
            last, first = change, first or change
            if change > DIVERGED * first:
                break
        raise_unsettled(self.time)
