"""Contact dynamics in steps: implicit Euler with Signorini's contacts and Coulomb's friction (Moreau 1988, Jean 1999).

A step gives beads the velocity of a whole step of the forces at its beginning, finds the impulses of all contacts
that would be passed (`cluster_solver`), and moves beads with the velocities after them (Marinkovic 2022, eq. 36). It
is predicted again until no contact is met that was not known, and until the bonds, which turn during the step, agree
with the impulses.

Impulses of a step are those that the next one begins with. They are part of the state, so they stand in checkpoints.
Those of impacts are what the next round of a step begins with: new contacts change few of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.physics.extended import SLOTS, WARM
from hpcchain.steps.contacts.clusters import NONE, Geometry, Pool, dot
from hpcchain.steps.contacts.inclusions import ContactSolver
from hpcchain.steps.failures import raise_unsolved
from hpcchain.steps.friction.cluster_solver import ClusterSolver
from hpcchain.steps.friction.pool_contacts import PoolContacts
from hpcchain.steps.integrators import WithContacts
from hpcchain.steps.local_beads import timed

if TYPE_CHECKING:
    from hpcchain.model.system import Physics
    from hpcchain.steps.contacts.finding import ContactFinder
    from hpcchain.steps.local_beads import LocalBeads

MOST_ROUNDS, LATE = 50, 10
"""Rounds of a step at most, in which it is solved again as new contacts are met or bonds turn; rounds after which
impulses are taken to be near a solution. There may be several, and sweeps may go to one and to another in turn."""
ROUGH, ROUGHEST = 10.0, 1e-2
"""Residual of rounds that find new contacts, relative to the tolerance; and at most, unless that is more."""
TURNED = 1e-13
"""Change of velocities by bonds that turn, in contact distances a step, at which they are known."""


@dataclass
class Outcome:
    """What contacts do to the molecules of a pool in a step.

    Attributes
    ----------
    pool : Pool
    geometry : Geometry
    normal : (n, 3) float64 array
    impulse : (n, 3) float64 array
        [mass length / time].
    place, velocity, spin, bend : (m, 3) float64 arrays
        After the step; `bend` as in `ClusterSolver.step`.
    kept, struck : (m, SLOTS * WARM) float64 arrays
        Impulses for the next step; those of impacts, for the next round, without columns where nothing has restitution.
    turned : float
        Greatest change of `bend` [length / time].
    solved : bool
    """

    pool: Pool
    geometry: Geometry
    normal: np.ndarray
    impulse: np.ndarray
    place: np.ndarray
    velocity: np.ndarray
    spin: np.ndarray
    bend: np.ndarray
    kept: np.ndarray
    struck: np.ndarray
    turned: float
    solved: bool

    def table(self) -> np.ndarray:
        """Return rows (m, 12 + ...) of the beads: place, velocity, spin, bend, kept impulses, those of impacts."""
        return np.concatenate([self.place, self.velocity, self.spin, self.bend, self.kept, self.struck], axis=1)


class After:
    """What becomes of own beads in a step, besides their places and velocities.

    Parameters
    ----------
    extra : (m, e) float64 array
        Rows of `State.extra` at the step's beginning.
    columns : int
        SLOTS * WARM, or 0 where nothing has restitution.

    Attributes
    ----------
    extra : (m, e) float64 array
        Those of the beginning, with the impulses of the last round.
    bend, spin : (m, 3) float64 arrays
        See `Outcome`; of beads without contacts 0, and what spins are.
    struck : (m, columns) float64 array
        See `Outcome`; at first 0.
    met : (m,) bool array
        Which beads are of molecules with contacts.
    """

    def __init__(self, extra: np.ndarray, columns: int) -> None:
        self.extra = extra.copy()
        self.bend, self.spin = np.zeros((len(extra), 3)), extra[:, L.SPIN : L.SPIN + 3].copy()
        self.struck = np.zeros((len(extra), columns))
        self.met = np.zeros(len(extra), dtype=bool)

    def table(self) -> np.ndarray:
        """Return the rows of `State.extra` after the step; beads without contacts keep no impulses for the next one."""
        self.extra[:, L.SPIN : L.SPIN + 3] = self.spin
        self.extra[~self.met, L.INSIDE :] = 0.0
        return self.extra


class FrictionalContacts(ContactSolver):
    """Solves contacts under contact dynamics; see `ContactSolver`.

    Attributes
    ----------
    aim : float
        Residual to which contacts are solved now: `tolerance`, or more in rounds that find new contacts.
    near : bool
        Whether impulses to begin with are taken to be near the solution, which Newton's method then looks for first.
    columns : int
        Of a bead's impulses of impacts: SLOTS * WARM, or 0 where nothing has restitution.
    sweeps, changes : int
        Sweeps over clusters so far, and changes of contacts' impulses in them; for measurements.
    """

    def __init__(self, finder: ContactFinder, beads: LocalBeads, physics: Physics) -> None:
        super().__init__(finder, beads, physics)
        self.tolerance, self.largest = physics.tolerance, 2.0 * float(self.radius.max(initial=0.0))
        self.aim, self.near = physics.tolerance, False
        self.columns = SLOTS * WARM if self.coefficients.strikes else 0
        self.sweeps = self.changes = 0

    def outcome(self, pool: Pool, pairs: np.ndarray) -> Outcome:
        """Return what contacts do to a pool; its `extra` are rows of `State.extra`, `struck` and `bend` of `After`."""
        state, struck, bend = np.split(pool.extra, [-3 - self.columns, -3], axis=1)
        contacts = PoolContacts(pool, pairs, self)
        solver = ClusterSolver(contacts, self)
        begin = np.zeros((len(contacts.pairs), 3)) if not self.columns else kept_impulses(struck, contacts)
        kept = kept_impulses(state[:, L.INSIDE : L.INSIDE + SLOTS * WARM], contacts)
        velocity, spin, blows, solved = solver.step(kept, begin, bend)
        impulse = solver.contacts.impulse
        self.sweeps += int(solver.counts[:, 0].sum())
        self.changes += int(solver.counts[:, 1].sum())
        place, moved = self.flown(pool, velocity)
        bent = moved - velocity
        turned = float(np.abs(bent - bend).max(initial=0.0))
        return Outcome(
            pool=pool,
            geometry=contacts.geometry,
            normal=contacts.normal,
            impulse=blows + impulse,
            place=place,
            velocity=moved,
            spin=spin,
            bend=bent,
            kept=to_keep(contacts, impulse),
            struck=to_keep(contacts, blows)[:, : self.columns],
            turned=turned,
            solved=solved,
        )


def kept_impulses(kept: np.ndarray, contacts: PoolContacts) -> np.ndarray:
    """Return the impulses (n, 3) of contacts that have been kept, 0 of new ones.

    Parameters
    ----------
    kept : (m, SLOTS * WARM) float64 array
        As `to_keep` returns it.
    contacts : PoolContacts
    """
    table = kept.reshape(len(kept), SLOTS, WARM)[contacts.geometry.one]
    same = table[:, :, 0] == code_of(contacts.pairs)[:, None]
    slot = np.argmax(same, axis=1)
    found = table[np.arange(len(table)), slot, 1:]
    return np.where(same.any(axis=1)[:, None], found, 0.0)


def code_of(pairs: np.ndarray) -> np.ndarray:
    """Return what stands for the second of each pair in tables of impulses: no 0, which is an empty entry."""
    return np.where(pairs[:, 1] < 0, pairs[:, 1], pairs[:, 1] + 1).astype(np.float64)


def to_keep(contacts: PoolContacts, impulse: np.ndarray) -> np.ndarray:
    """Return the table (m, SLOTS * WARM) of impulses (n, 3) for the next step; beyond SLOTS of a bead none are kept."""
    beads, one, pairs = len(contacts.pool.ids), contacts.geometry.one, contacts.pairs
    table = np.zeros((beads, SLOTS, WARM))
    rows = np.flatnonzero(np.any(impulse != 0.0, axis=1))
    rows = rows[np.lexsort((pairs[rows, 1], one[rows]))]
    bead = one[rows]
    slot = np.arange(len(rows)) - np.searchsorted(bead, bead)
    rows, bead, slot = (each[slot < SLOTS] for each in (rows, bead, slot))
    table[bead, slot, 0], table[bead, slot, 1:] = code_of(pairs[rows]), impulse[rows]
    return table.reshape(beads, SLOTS * WARM)


class ContactDynamics(WithContacts):
    """The step of contact dynamics: one of forces, impulses of contacts, and one of motion; see `WithContacts`."""

    contacts: FrictionalContacts

    def predict(self) -> None:
        """Move own beads by a whole step of forces and of motion, without contacts."""
        self.beads.kick(self.clock.h)
        self.beads.project()
        self.beads.move()

    def _end(self, done: list) -> None:
        for one in done:
            along = dot(one.impulse, one.normal)
            across = one.impulse - along[:, None] * one.normal
            self.tally.count(one, along, self.clock.span[0], across)
        self.beads.wrap()
        self.beads.bring_up_to_date()

    def finish(self) -> None:
        """Put velocities onto the bonds."""
        self.beads.project()

    def _solved(self, before: np.ndarray, velocity: np.ndarray) -> list | None:
        self.predict()
        if self.beads.have_moved_far():
            return None
        pairs, done, settled = NONE, [], True
        contacts, wanted = self.contacts, self.contacts.tolerance
        after = After(self.beads.own.extra, contacts.columns)
        contacts.aim = max(wanted, min(ROUGH * wanted, ROUGHEST))
        for turn in range(MOST_ROUNDS):
            contacts.near = turn > LATE
            pairs, more, most, far = self.met(before, pairs)
            if self.beads.skin.is_left(far):
                return None
            if more == 0.0:
                if settled and (contacts.aim == wanted or most == 0.0):
                    self.beads.own.extra = after.table()
                    return done
                contacts.aim = wanted
            done = self._solve_contacts(before, velocity, pairs, after)
            settled = self._has_settled(done)
        raise_unsolved(self.clock.time, self.contacts.solver)

    @timed("contacts")
    def _solve_contacts(self, before: np.ndarray, velocity: np.ndarray, pairs: np.ndarray, after: After) -> list:
        """Solve contacts of a step, put beads where it takes them, return the Outcomes found here; collective.

        `before`, `velocity` and `pairs` are as `ContactFinder.curved` takes them. `after` is as the last round has left
        it, and brought up to date.
        """
        beads, extra = self.beads, np.column_stack([after.extra, after.struck, after.bend])
        pool = beads.pool(before[beads.local], velocity, extra)
        done, rows = self.contacts.sharing.solved(pool, pairs, self.contacts.outcome, Outcome.table)
        for ids, row in rows:
            place, speed, spin, bend, kept, struck = np.split(row, [3, 6, 9, 12, 12 + SLOTS * WARM], axis=1)
            beads.put(ids, place, speed)
            mine = np.isin(ids, beads.ids)
            at = np.searchsorted(beads.ids, ids[mine])
            after.bend[at], after.spin[at], after.met[at] = bend[mine], spin[mine], True
            after.extra[at, L.INSIDE :], after.struck[at] = kept[mine], struck[mine]
        return done

    def _has_settled(self, done: list) -> bool:
        """Return whether a round has changed nothing by bonds that turn any more; collective.

        Raises
        ------
        StepError
            On every rank, where contacts of some have no solution that was found.
        """
        turned = max((one.turned for one in done), default=0.0)
        fastest = max((float(np.abs(one.velocity).max(initial=0.0)) for one in done), default=0.0)
        wrong = float(not (all(one.solved for one in done) and np.isfinite(turned + fastest)))
        here = np.nan_to_num(np.array([turned, fastest, wrong]))
        turned, fastest, wrong = self.comm.maximum(here, asleep=True)
        if wrong > 0.0:
            raise_unsolved(self.clock.time, self.contacts.solver)
        return turned <= self.contacts.tolerance * fastest + TURNED * self.contacts.largest / self.clock.h
