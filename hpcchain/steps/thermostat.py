"""Friction and random forces (Langevin), velocities drawn anew (Andersen 1980), and plain damping.

Random numbers are functions of the run's seed, the purpose, the global number of a bead or molecule, and the step:
neither ranks nor restarts have a part in them. Logarithms and circular functions are polynomials
(`model.numerics.portable_math`), so that they do not depend on the processor.

Langevin's part and damping are solved exactly for half a step before and half a step after each step of the forces
(the splitting O B A B O of Bussi and Parrinello 2007).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.numerics.portable_math import circle, logarithm
from hpcchain.model.random import Stream, uniform

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.physics.constants import SteppedPhysics
    from hpcchain.steps.local_beads import LocalBeads


def normals(seed: int, purpose: Stream, ids: np.ndarray, draw: int) -> np.ndarray:
    """Return three standard normal numbers per id, (n, 3) float64, the same on any processor."""
    u = uniform(seed, purpose, ids, draw)
    radius = np.sqrt(-2.0 * logarithm(1.0 - u[:, :2]))
    cosine, sine = circle(u[:, 2:] - 0.5)
    return np.column_stack([radius[:, 0] * cosine[:, 0], radius[:, 0] * sine[:, 0], radius[:, 1] * cosine[:, 1]])


class Thermostat:
    """What changes velocities besides forces.

    Parameters
    ----------
    composition : Composition
    settings : SteppedPhysics
        `Physics.steps`.
    """

    def __init__(self, composition: Composition, settings: SteppedPhysics) -> None:
        table = settings.thermostat
        self.composition, self.seed, self.h = composition, settings.seed, settings.step
        self.name, self.temperature = (table.name, table.temperature) if table else (None, 0.0)
        prototypes = composition.prototypes
        known = settings.damping or [0.0] * len(prototypes.names)  # an input may leave its molecules to a start file
        own = np.array(known)[prototypes.kind]
        friction = table.damping if table else 0.0
        rate = np.repeat(own + friction, np.diff(prototypes.first_bead))
        rate[prototypes.fixed] = 0.0
        self.keeps = np.exp(-0.5 * self.h * rate)
        random = np.divide(friction, rate, out=np.zeros_like(rate), where=rate > 0.0)
        self.spread = np.sqrt(random * -np.expm1(-self.h * rate) * self.temperature / prototypes.inertia)
        self.width = np.sqrt(self.temperature / prototypes.inertia)
        self.fixed = prototypes.fixed
        self.damps = bool(np.any(rate > 0.0))
        self.chance = -math.expm1(-table.rate * self.h) if table else 0.0

    def half_step(self, beads: LocalBeads, draw: int) -> None:
        """Let half a step of friction and random forces act on own beads; `draw`: half steps so far."""
        if not self.damps:
            return
        rows, velocity = self.composition.prototype_of(beads.ids), beads.own.velocity
        velocity *= self.keeps[rows, None]
        if self.name == "langevin":
            velocity += self.spread[rows, None] * normals(self.seed, Stream.LANGEVIN, beads.ids, draw)
        beads.project()

    def redraw(self, beads: LocalBeads, step: int) -> None:
        """Draw velocities of own molecules anew whose turn it is in a step, given by its number; fixed beads' stay."""
        if self.name != "andersen":
            return
        ids, first = beads.ids, beads.first
        chosen = uniform(self.seed, Stream.ANDERSEN, beads.molecules, step)[:, 0] < self.chance
        at = np.flatnonzero(np.repeat(chosen, np.diff(first)) & ~self.fixed[self.composition.prototype_of(ids)])
        width = self.width[self.composition.prototype_of(ids[at]), None]
        beads.own.velocity[at] = width * normals(self.seed, Stream.REDRAWN, ids[at], step)
        beads.project(first[:-1][chosen])
