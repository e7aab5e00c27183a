"""Hard cores in steps: discrete Euler-Lagrange inclusions (Kaufman and Pai 2012).

A step without contacts predicts where beads will be. Contacts that touch before it or overlap after it are active.
Under `gvi` active contacts that approach are reflected before the step (`complementarity.reflected`); those that touch
and neither approach nor part are *smooth*. Their impulses are found such that no gap is negative after the step and
only touching beads push, and their rates are taken out of the velocities at its end. Under `dsi` all active contacts
are taken to be smooth.

Clusters of molecules that contacts join are solved by one of the ranks that own them (`shared`), from the same numbers
to the same bits whichever it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.contact.coefficients import coefficient_table
from hpcchain.layout import arrays as L
from hpcchain.model.molecules.equal_shapes import parted
from hpcchain.model.molecules.exclusion import component_of
from hpcchain.model.physics.extended import types_of_contacts
from hpcchain.steps.contacts.clusters import Geometry, Pool, Responses
from hpcchain.steps.contacts.complementarity import newton, reflected
from hpcchain.steps.contacts.finding import CLOSE
from hpcchain.steps.contacts.shared import Sharing

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import Physics
    from hpcchain.steps.contacts.finding import ContactFinder
    from hpcchain.steps.local_beads import LocalBeads

SOLVED = 1e-13
LEAST = 1e-14
"""What an impulse adds to its contact's rate, relative to free beads, from which on the contact gives way."""
MOST_ROUNDS = 20
"""Predictions at most, where they go on until nothing new is met."""


@dataclass
class Solution:
    """Contacts of the molecules of a pool, and what they have done to these so far.

    Attributes
    ----------
    pool : Pool
    geometry : Geometry
    gap, normal : (n,), (n, 3) float64 arrays
        When the contacts are looked at [length].
    mass : (m,) float64 array
        Of the beads, infinite of fixed ones.
    responses : Responses
    velocity : (m, 3) float64 array
        With all impulses so far.
    impulse : (n,) float64 array
        Along normals [mass length / time].
    place : (m, 3) float64 array, optional
        After the step, where beads are moved.
    smooth : (n,) bool array, optional
        Which contacts are smooth.
    """

    pool: Pool
    geometry: Geometry
    gap: np.ndarray
    normal: np.ndarray
    mass: np.ndarray
    responses: Responses
    velocity: np.ndarray
    impulse: np.ndarray
    place: np.ndarray = None
    smooth: np.ndarray = None

    def rates(self) -> np.ndarray:
        """Return (n,) at which gaps grow [length / time]."""
        return self.geometry.rates(self.velocity, self.normal)

    def push(self, which: np.ndarray, impulses: np.ndarray) -> None:
        """Let impulses act at some contacts."""
        self.impulse[which] += impulses
        self.responses.add(self.velocity, which, impulses)

    def table(self) -> np.ndarray:
        """Return rows (m, 6) of places and velocities."""
        return np.concatenate([self.place, self.velocity], axis=1)


class Coefficients:
    """Restitution and friction of contacts.

    Parameters
    ----------
    composition : Composition
    physics : Physics

    Attributes
    ----------
    restitution, friction : (t, t + 6 + s) float64 arrays
        Of beads of two types, of those that pairs tell apart; then of a type and each wall, in the order of their codes
        -1, -2, ...; s have shapes.
    same : bool
        Whether all contacts have one restitution.
    rubs, strikes : bool
        Whether any contact has friction; whether any has restitution.
    """

    def __init__(self, composition: Composition, physics: Physics) -> None:
        names, like = types_of_contacts(composition.type_names, physics)
        self.composition, self.types = composition, like[composition.prototypes.bead_type]
        table = coefficient_table(physics, names)
        self.restitution, self.friction = (table[:, :, column].copy() for column in (L.PAIR_NORMAL, L.PAIR_FRICTION))
        self.same = bool(np.all(self.restitution == physics.restitution))
        self.rubs, self.strikes = (bool(np.any(one > 0.0)) for one in (self.friction, self.restitution))

    def of(self, table: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Return a coefficient (n,) of contacts (n, 2) by global numbers, of `restitution` or `friction`."""
        one, other = (self.types[self.composition.prototype_of(np.maximum(pairs[:, k], 0))] for k in (0, 1))
        return table[one, np.where(pairs[:, 1] < 0, len(table) - 1 - pairs[:, 1], other)]


class ContactSolver:
    """What solvers of contacts have in common.

    Parameters
    ----------
    finder : ContactFinder
    beads : LocalBeads
        Its images, ranks, clock and rigid molecules are used.
    physics : Physics

    Attributes
    ----------
    sharing : Sharing
        Deals contacts out to ranks.
    """

    def __init__(self, finder: ContactFinder, beads: LocalBeads, physics: Physics) -> None:
        self.composition, self.rigid, self.clock = beads.composition, beads.rigid, beads.clock
        self.images = beads.interactions.images
        self.sharing = Sharing(beads.composition, beads.comm)
        self.walls, self.mass, self.radius = finder.walls, finder.constants.mass, finder.constants.core_radius
        self.h, self.solver = physics.steps.step, physics.steps.solver
        self.coefficients = Coefficients(self.composition, physics)

    def geometry(self, pool: Pool, pairs: np.ndarray) -> Geometry:
        """Return the Geometry of contacts (n, 2) of a pool."""
        return Geometry(pool, pairs, self.images, self.walls, self.radius[self.composition.prototype_of(pool.ids)])

    def clusters(self, pool: Pool, geometry: Geometry, yields: np.ndarray | None = None, linked: bool = False) -> list:
        """Return lists of contacts that hang together, by potentials too where they are `linked`, in order.

        Those that do not give way, where `yields` (n,) says which do, are in none.
        """
        one, other = pool.molecule_of(geometry.one), pool.molecule_of(geometry.other)
        first, second = one, other
        if linked:
            rows = np.searchsorted(pool.molecules, self.composition.molecule_of(pool.links))
            first, second = np.concatenate([one, rows[:, 0]]), np.concatenate([other, rows[:, 1]])
        label = component_of(len(pool.molecules), np.column_stack([first, second]))[one]
        found = parted(np.arange(len(label)), label)
        if yields is None or yields.all():
            return found
        return [some for some in (cluster[yields[cluster]] for cluster in found) if len(some)]

    def flown(self, pool: Pool, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return places and velocities after a step of motion with velocities (m, 3), which keeps bonds."""
        velocity, place = velocity.copy(), pool.position.copy()
        classes = self.composition.class_of(pool.molecules)
        free = np.repeat(self.rigid.free(classes), np.diff(pool.first))
        place[free] += self.h * velocity[free]
        for group, rows in self.rigid.among(classes, pool.first):
            group.move(place, np.arange(len(place)), velocity, self.h, rows)
        return place, velocity


class Inclusions(ContactSolver):
    """Solves the contacts of a step under `gvi` and `dsi`; see `ContactSolver`.

    Attributes
    ----------
    rounds : int
        Predictions at most.
    """

    def __init__(self, finder: ContactFinder, beads: LocalBeads, physics: Physics) -> None:
        super().__init__(finder, beads, physics)
        settings = physics.steps
        self.integrator, self.metric = settings.integrator, finder.metric
        self.rounds = 1 if settings.predictions == 1 else MOST_ROUNDS
        self.restitution, self.moreau = physics.restitution, settings.simultaneous == "moreau"

    def solved(self, pool: Pool, pairs: np.ndarray) -> Solution:
        """Return what contacts do to a pool in a step.

        Beads of molecules without contacts are where the step without contacts takes them.
        """
        one = self._contacts(pool, pairs, self.clock.span[0])
        geometry, mass = one.geometry, one.mass
        one.smooth = np.ones(len(pairs), dtype=bool)
        yields = self._yields(one)
        clusters = self.clusters(pool, geometry, yields)
        if self.integrator == "gvi":
            if self.metric:
                self._reflect_in_metric(one, self.clusters(pool, geometry, yields, linked=True))
            else:
                self._reflect(one, clusters)
            speed = np.abs(one.velocity).max(axis=1, initial=0.0)
            speed = speed + self.h * np.abs(pool.force / mass[:, None]).max(axis=1)
            still = np.abs(one.rates()) <= CLOSE * (speed[geometry.one] + speed[geometry.other])
            one.smooth = still & (np.abs(one.gap) <= CLOSE * geometry.contact)
        for cluster in clusters:
            pushing = cluster[one.smooth[cluster]]
            if len(pushing):
                self._press(one, pushing)
        one.place, one.velocity = self._moved(pool, one.velocity, mass)
        return one

    def _contacts(self, pool: Pool, pairs: np.ndarray, time: float) -> Solution:
        """Return contacts of a pool as they are at a time, without impulses so far."""
        mass = self.mass[self.composition.prototype_of(pool.ids)]
        geometry = self.geometry(pool, pairs)
        gap, normal = geometry.at(pool.position, time)
        responses = Responses(pool, geometry, normal, mass, self.rigid)
        return Solution(pool, geometry, gap, normal, mass, responses, pool.velocity.copy(), np.zeros(len(pairs)))

    def _yields(self, one: Solution) -> np.ndarray | None:
        """Return which contacts (n,) bool give way to an impulse at all; None: all."""
        # A bead whose bond to a fixed one is along the normal does not.
        mass, geometry = one.mass, one.geometry
        if not np.isinf(mass).any():
            return None
        light = 1.0 / mass[geometry.one] + np.where(geometry.wall, 0.0, 1.0 / mass[geometry.other])
        return one.responses.own_rates() > LEAST * light

    def _reflect(self, one: Solution, clusters: list) -> None:
        """Reflect all contacts that approach, cluster by cluster."""
        # Those that stand alone, as most do in a gas, are done all at once.
        rates, responses = one.rates(), one.responses
        single = np.zeros(len(rates), dtype=bool)
        single[[cluster[0] for cluster in clusters if len(cluster) == 1]] = True
        hit = single & (rates < 0.0)
        own = responses.own_rates()
        restitution = self._restitutions(one.geometry, np.arange(len(rates)))
        one.impulse[hit] = (1.0 + np.broadcast_to(restitution, len(rates))[hit]) * (-rates[hit] / own[hit])
        rows = np.flatnonzero(hit[responses.contact])
        one.velocity[responses.bead[rows]] += one.impulse[responses.contact[rows], None] * responses.change[rows]
        for cluster in clusters:
            if len(cluster) > 1 and np.any(rates[cluster] < 0.0):
                self._blow(one, cluster, responses.matrix(cluster), rates[cluster])

    def _reflect_in_metric(self, one: Solution, clusters: list) -> None:
        """Do what `_reflect` does with rates and energy in the metric of H2."""
        for cluster in clusters:
            matrix, rates = self.metric.weighted(one.pool, one.responses, cluster)
            if np.any(rates < 0.0):
                self._blow(one, cluster, matrix, rates)

    def _blow(self, one: Solution, cluster: np.ndarray, matrix: np.ndarray, rates: np.ndarray) -> None:
        """Reflect the contacts of a cluster, whose matrix (k, k) and rates (k,) are given."""
        restitution = self._restitutions(one.geometry, cluster)
        one.push(cluster, reflected(matrix, rates, restitution, self.solver, self.moreau)[0])

    def _restitutions(self, geometry: Geometry, which: np.ndarray) -> float | np.ndarray:
        """Return the coefficient of restitution of some contacts: one for all where all have the same."""
        if self.coefficients.same:
            return self.restitution
        return self.coefficients.of(self.coefficients.restitution, geometry.pairs[which])

    def _press(self, one: Solution, pushing: np.ndarray) -> None:
        """Push smooth contacts of a cluster such that no gap is negative after the step."""
        geometry = one.geometry
        matrix = one.responses.matrix(pushing)
        scale = 1.0 / np.sqrt(np.diag(matrix))
        struck = np.concatenate([geometry.one[pushing], geometry.other[pushing]])  # others are of no other rank's pool
        unit = SOLVED * (np.abs(one.velocity[struck]).max() + float(geometry.contact[pushing].max()) / self.h)

        def gaps(x: np.ndarray) -> np.ndarray:
            changed = one.velocity.copy()
            one.responses.add(changed, pushing, x * scale)
            place = self._moved(one.pool, changed, one.mass)[0]
            return scale * geometry.at(place, self.clock.span[1])[0][pushing] / self.h

        x = newton(gaps, lambda _: scale[:, None] * matrix * scale, np.zeros(len(pushing)), unit * scale.max())
        one.push(pushing, x * scale)

    def _moved(self, pool: Pool, velocity: np.ndarray, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return places and velocities after a step of half a kick and motion, as the engine makes it."""
        return self.flown(pool, velocity + 0.5 * self.h * (pool.force / mass[:, None]))

    def stilled(self, pool: Pool, pairs: np.ndarray) -> Solution:
        """Return a pool's velocities without the rates of smooth contacts that touch after a step."""
        one = self._contacts(pool, pairs, self.clock.span[1])
        touching = one.gap <= 2.0 * CLOSE * one.geometry.contact
        for cluster in self.clusters(pool, one.geometry):
            cluster = cluster[touching[cluster]]
            if len(cluster):
                matrix = one.responses.matrix(cluster)
                one.push(cluster, np.linalg.lstsq(matrix, -one.rates()[cluster], rcond=1e-12)[0])
        return one
