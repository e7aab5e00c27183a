"""The engine of steps: all beads on one clock, on one rank or on all of a communicator."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import wraps
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.clock import split
from hpcchain.model.composition import composition_of
from hpcchain.model.system import PERIODIC, State
from hpcchain.sector.setup.allocate import energy_quantum, quanta
from hpcchain.steps import motion
from hpcchain.steps.contacts.clusters import NONE, Pool, dot, together
from hpcchain.steps.contacts.inclusions import Contacts, Solution
from hpcchain.steps.contacts.tally import Tally
from hpcchain.steps.contacts.walls import Walls
from hpcchain.steps.domain import Alone, Domain, Refresh, part_of
from hpcchain.steps.failures import raise_unsettled, raise_worst
from hpcchain.steps.potentials.constants import Constants
from hpcchain.steps.potentials.interactions import Interactions
from hpcchain.steps.potentials.laws import passes_of
from hpcchain.steps.rigid.molecules import RigidMolecules
from hpcchain.steps.skin import Skin
from hpcchain.steps.thermostat import Thermostat

if TYPE_CHECKING:
    from hpcchain.model.system import System

REBUILDS_BETWEEN_OWNERS = 8
"""How often lists are made anew until molecules go to the ranks whose sectors they are in: ghosts are chosen by where
own beads are, so what has moved on a little costs a few ghosts more."""
STEPS_BETWEEN_LOOKS = 16
"""Steps after which it is looked whether a run is to stop."""
SETTLED, NEARLY = 1e-14, 1e-9
"""Change of velocities, relative to the greatest, at which the midpoint rule is solved; at which it may stand still."""
MOST_MIDPOINTS, SLOW, LEAST_PART, DIVERGED = 200, 0.8, 0.25, 1e4
"""Iterations at most; ratio of changes from which on forces go less far towards new ones; how far they go at least;
the ratio to the first change at which they never will fit."""


PARTS = ("motion", "forces", "lists", "contacts", "messages")
"""Of a step, for `seconds`: motion is all that is in no other part."""


def timed(part: str) -> Callable:
    """Return a decorator of a method whose wall seconds count for a part in its object's `parts`.

    What other timed methods take that it calls is theirs alone.
    """

    def decorated(method: Callable) -> Callable:
        @wraps(method)
        def call(self: Any, *args: Any, **options: Any) -> Any:
            begin, others = perf_counter(), sum(self.parts.values())
            try:
                return method(self, *args, **options)
            finally:
                self.parts[part] += perf_counter() - begin - (sum(self.parts.values()) - others)

        return call

    return decorated


class SteppedEngine:
    """Carries a system forward step by step; `advance` and the making are collective.

    Parameters
    ----------
    system : System
        The same on every rank, or this rank's part of it; its state is that of a whole step.
    comm : Exchange, optional
        Default: one rank.
    skin : float, optional
        How much farther than forces neighbour lists look, at first; no effect on results [length].
    sectors : sequence of 3 int, optional
        Ranks along each axis; no effect on results.
    log_events : bool
        Keep a log of contacts for `drain_events`.

    Attributes
    ----------
    steps : int
        Whole steps since time 0.
    virial, wall_impulse, work, heat, quantum, impulse_quantum, energy_quantum :
        See `sector.interface.Engine`.
    """

    kind_of_contacts: type[Contacts] = Contacts

    def __init__(
        self,
        system: System,
        comm: Any = None,
        skin: Any = None,
        sectors: tuple | list | None = None,
        log_events: bool = False,
    ) -> None:
        self.comm = comm or Alone()
        self.box, self.physics = system.box, system.physics
        self.composition = composition_of(system.topology)
        settings = self.physics.steps
        self.step = Fraction(repr(settings.step))
        self.h, self.implicit = settings.step, settings.base == "midpoint"
        self.quantum, self.impulse_quantum = quanta(system)
        self.energy_quantum, self.heat = energy_quantum(system), 0
        units = self.quantum, self.impulse_quantum, self.energy_quantum
        self.tally = Tally(self.composition, units, bool(self.physics.extended.rough), log_events)
        self.rebuilds = 0
        self.stuck: tuple | None = None
        self.parts = dict.fromkeys(PARTS, 0.0)
        constants = Constants(self.composition, settings)
        self.rigid = RigidMolecules(self.composition)
        self.contacts = self._contacts_of(constants, system)
        self.skin = Skin(system, constants, self.comm, skin)
        self.interactions = Interactions(self.box, constants, passes_of(constants, self.comm))
        self.wrapped = np.where(self.box.boundary == PERIODIC, self.box.size, 0.0)
        self.steps = self._steps_of(system.state)
        self.own = part_of(system, self.composition, self.comm)
        self.thermostat = Thermostat(self.composition, settings)
        self.domain = Domain(self.box, self.composition, self.comm, sectors, self.own)
        self._rebuild()
        self._compute()
        self._require_sound()
        self.parts = dict.fromkeys(PARTS, 0.0)  # of `advance` alone

    def _contacts_of(self, constants: Constants, system: System) -> Contacts | None:
        """Return the Contacts of a system, None where no bead has a hard core."""
        if constants.composition.prototypes.soft.all():
            return None
        return self.kind_of_contacts(self.box, constants, self.comm, self.rigid, system.physics, Walls(system))

    def _steps_of(self, state: State) -> int:
        """Return how many steps have been made up to a state, the same on all ranks; collective."""
        time = state.ticks * self.physics.tick + state.remainder
        return int(self.comm.maximum(np.array([np.max(np.rint(time / self.h), initial=0.0)]))[0])

    @timed("lists")
    def _rebuild(self) -> None:
        """Choose ghosts and list neighbours anew, and hand molecules over now and then; collective."""
        if self.rebuilds % REBUILDS_BETWEEN_OWNERS == 0:
            self.own = self.domain.settled(self.own)
            size = self.composition.size_of(self.own.molecules)
            self.skin.fit(self.own.position[np.cumsum(size) - size])
        self.rebuilds += 1
        ghosts = self.domain.ghosts(self.own, self.skin.cells if self.skin.width > 0.0 else None)
        ids = np.concatenate([self.own.ids, ghosts.ids])
        sequence = np.argsort(ids, kind="stable")
        number = np.empty(len(ids), dtype=np.int64)
        number[sequence] = np.arange(len(ids))
        self.local, at = number[: len(self.own.ids)].copy(), number[len(self.own.ids) :].copy()
        self.position = np.concatenate([self.own.position, ghosts.position])[sequence]
        self.refresh, self.stale = Refresh(self.comm, ghosts, self.local, at), False
        self.skin.start(self.own.position, self.own.velocity, self.h)
        size = self.composition.size_of(self.own.molecules)
        self.first = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        self.free = self.rigid.set_molecules(self.own.molecules, self.first)
        fixed = self.composition.prototypes.fixed[self.composition.prototype_of(self.own.ids)]
        self.dragged = np.flatnonzero(fixed & np.any(self.own.velocity != 0.0, axis=1))
        self.interactions.set_beads(ids[sequence], self.local, self.position, self.skin.list_radius, self.skin.cells)
        if self.contacts:
            self.contacts.set_beads(ids[sequence], self.local, self.interactions)

    @timed("forces")
    def _compute(self, position: np.ndarray | None = None) -> None:
        """Compute the forces on own beads where they are, or where local ones would be at other places (n, 3)."""
        position = self.position if position is None else position
        self.force, (row, entry) = self.interactions.forces(position, self.own.image)
        self.torn = None
        if row >= 0:
            other = int(np.flatnonzero(self.local == self.interactions.partner[entry])[0])
            self.torn = tuple(sorted((int(self.own.ids[row]), int(self.own.ids[other]))))

    @timed("motion")
    def advance(self, time: float, pause: Callable | None = None) -> bool:
        """Run to a time, a whole number of steps; return whether it was reached, and not a true result of `pause`.

        Parameters
        ----------
        time : float
            [time]
        pause : callable, optional
            Called on every rank every few steps; a true result of any stops all.

        Raises
        ------
        StepError
            On every rank, when a bond is torn or a force or position is not a number.
        """
        target = round(Fraction(repr(float(time))) / self.step)
        while self.steps < target:
            self._step()
            if pause is not None and self.steps % STEPS_BETWEEN_LOOKS == 0 and self.steps < target:
                if self.comm.maximum(np.array([float(bool(pause()))]))[0] > 0.0:
                    self._require_sound()
                    return False
        self._require_sound()
        return True

    def _step(self) -> None:
        """Make one step of velocity Verlet, of which an earlier one has left the forces, or of the midpoint rule.

        1. Half a step of friction, half a step of forces, a whole one of motion, which keeps bonds.
        2. All ranks agree whether some bead has moved so far that lists are to be made anew; else ghosts come to where
           their owners have them.
        3. The new forces, half a step of them (of those of the first half under the midpoint rule), half a step of
           friction; then velocities that are drawn anew.
        """
        self._begin_step()
        if self.implicit:
            resting = self._move_by_midpoint()
        else:
            resting = self._move_with_contacts() if self.contacts else self._move()
        self.steps += 1
        self._compute()
        self._drag()
        velocity = self.own.velocity
        if not self.implicit:
            motion.kick(velocity, self.force, self.interactions.mass, 0.5 * self.h)
        self.rigid.project(self.position, self.local, velocity)
        if resting is not None:
            self._still(resting)
        self._end_step()

    def _end_step(self) -> None:
        """Let half a step of friction act, and draw velocities anew."""
        velocity = self.own.velocity
        self._half_step_of_friction(2 * self.steps - 1)
        if self.thermostat.draws:
            own = self.own
            drawn = self.thermostat.redraw(velocity, own.molecules, self.first, own.ids, self.steps)
            self.rigid.project(self.position, self.local, velocity, drawn)

    def _begin_step(self) -> None:
        """Let half a step of friction act, set when contacts' step begins and ends, and move lists on with all."""
        self._half_step_of_friction(2 * self.steps)
        if self.contacts:
            self.contacts.times = (self.time, float((self.steps + 1) * self.step))
        self.skin.carry_on()
        self._drag()

    def _drag(self) -> None:
        """Count the work that it takes to move fixed beads on against half a step of forces."""
        if len(self.dragged):
            power = dot(self.force[self.dragged], self.own.velocity[self.dragged])
            work = np.rint(0.5 * self.h * power / self.energy_quantum).sum()
            self.tally.work -= int(work) if np.isfinite(work) else 0  # such forces end the run (`_moved_far`)

    def _predict(self) -> None:
        """Move own beads by half a step of forces and a whole one of motion, without contacts."""
        velocity = self.own.velocity
        motion.kick(velocity, self.force, self.interactions.mass, 0.5 * self.h)
        motion.drift(self.position, self.local, velocity, self.h, self.free)
        self.stuck = self.rigid.move(self.position, self.local, velocity, self.h)

    def _wrap(self) -> None:
        """Bring molecules back that have left the box."""
        if motion.wrap(
            self.position, self.skin.reference, self.own.image, self.local, self.first, self.box.origin, self.wrapped
        ):
            self.stale = True

    @timed("messages")
    def _place_ghosts(self) -> None:
        """Bring the ghosts to where their owners have them; collective."""
        self.refresh(self.position)
        self.stale = False

    def _move(self) -> np.ndarray | None:
        """Move all beads, where none has a hard core, and bring lists or ghosts up to date; collective."""
        self._predict()
        self._wrap()
        if self._moved_far():
            self.own.position = self.position[self.local]
            self._rebuild()
        elif self.comm.size > 1:
            self._place_ghosts()
        return None

    def _move_with_contacts(self) -> np.ndarray:
        """Move all beads and solve their contacts; return those of own beads at rest; collective."""
        before, velocity = self._begun_in_lists()
        pairs, done, rounds = NONE, [], self.contacts.rounds
        while rounds > 0:
            pairs, more, _, far = self._met(before, pairs)
            if self._are_too_short(far, before, velocity):
                before, velocity = self._begun_in_lists()
                pairs, done, rounds = NONE, [], self.contacts.rounds
                continue
            if more == 0.0:
                break
            done = self._solve_contacts(before, velocity, pairs)
            rounds -= 1
        return self._ended(done)

    def _met(self, before: np.ndarray, pairs: np.ndarray) -> tuple[np.ndarray, float, float, float]:
        """Return known contacts with those that beads meet now; collective."""
        # With how many are new and how many there are, on the rank with most of them, and `_thrown` of the farthest.
        self._place_ghosts()
        found = together(pairs, self.contacts.find(before, self.position))
        counts = np.array([float(len(found) - len(pairs)), float(len(found)), self._thrown()])
        return found, *self.comm.maximum(counts)

    def _move_by_midpoint(self) -> np.ndarray:
        """Move all beads by the midpoint rule, contacts among them, and add the second half of forces; collective."""
        # Lists that do not reach where beads come to are made anew before the step, which begins again then.
        done, wider = None, False
        while done is None:
            done = self._midpoint(wider)
            wider = True
        motion.kick(self.own.velocity, self.force, self.interactions.mass, 0.5 * self.h)
        return self._ended(done)

    def _midpoint(self, wider: bool) -> list | None:
        """Solve a step of the midpoint rule; return what contacts have done, None when lists were too short for it."""
        # They are then made anew; wider ones, if these are new already.
        before, velocity = self.position.copy(), self.own.velocity.copy()
        pairs, rounds = NONE, self.contacts.rounds if self.contacts else 0
        done = self._settled(before, velocity, pairs)
        for _ in range(rounds):
            if done is None:
                break
            known = len(pairs)
            pairs = together(pairs, self.contacts.find(before, self.position))
            if self.comm.maximum(np.array([float(len(pairs) - known)]))[0] == 0.0:
                break
            done = self._settled(before, velocity, pairs)
        if done is None:
            self._list_anew(before, velocity, wider)
        return done

    def _settled(self, before: np.ndarray, velocity: np.ndarray, pairs: np.ndarray) -> list | None:
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
            self._place_ghosts()
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

    @timed("contacts")
    def _solve_contacts(self, before: np.ndarray, velocity: np.ndarray, pairs: np.ndarray, curved: Any = None) -> list:
        """Solve contacts of a step, put beads where it takes them, and return what was found; collective.

        Parameters
        ----------
        before, velocity : (n, 3), (m, 3) float64 arrays
            At the step's beginning: places of local beads, velocities of own ones.
        pairs : (k, 2) int64 array
            Contacts of own beads.
        curved : tuple, optional
            What `Contacts.curved` has found already.
        """
        own, contacts = self.own, self.contacts
        curved = curved or contacts.curved(before, velocity, pairs, self.refresh)
        pool = Pool(own.molecules, own.ids, self.first, before[self.local], velocity, self.force, *curved)
        done, rows = contacts.sharing.parts(pool, pairs).solved(contacts.solved, Solution.table)
        for ids, row in rows:
            self._take(ids, row[:, :3], row[:, 3:])
        return done

    def _ended(self, done: list) -> np.ndarray:
        """Count contacts, bring lists or ghosts up to date, return contacts at rest; collective."""
        # They are those of own beads, or those that were solved here: all are some rank's.
        resting = NONE
        for one in done:
            self.tally.count(one.pool, one.geometry, one.normal, one.impulse, self.contacts.times[0])
            resting = np.concatenate([resting, one.geometry.pairs[one.smooth]])
        self._wrap()
        return self._listed_after_contacts(resting)

    def _begun_in_lists(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what `_begun` does, with lists that reach where beads are predicted to be; collective."""
        # Lists that do not are made anew before the step, which begins again then, and look farther if need be.
        before, velocity = self._begun()
        wider = False
        while self._moved_far():
            self._list_anew(before, velocity, wider)
            before, velocity = self._begun()
            wider = True
        return before, velocity

    def _list_anew(self, before: np.ndarray, velocity: np.ndarray, wider: bool) -> None:
        """Make lists anew at a step's beginning, to which beads go back; collective."""
        # `wider`: so wide that beads may move as far as one has moved by now.
        if wider:
            self.skin.widen(self.time, self.h, self._farthest_moved)
        self.own.position, self.own.velocity = before[self.local], velocity
        self._rebuild()
        self.skin.carry_on()
        self._compute()

    def _farthest_moved(self) -> int:
        """Return the bead that has moved farthest since lists were made, of all ranks'; collective."""
        moved = np.sum((self.position[self.local] - self.skin.reference) ** 2, axis=1)
        bead = (float(moved.max()), -int(self.own.ids[np.argmax(moved)])) if len(moved) else (-1.0, 0)
        return -max(self.comm.allgather(bead))[1]

    def _thrown(self) -> float:
        """Return how far an own bead has moved since lists were made, squared [length^2]; 0 if that is no number."""
        moved = self.skin.way(self.position, self.local)
        return moved if np.isfinite(moved) else 0.0

    def _are_too_short(self, far: float, before: np.ndarray, velocity: np.ndarray) -> bool:
        """Return whether contacts have thrown a bead of any rank farther than lists look; collective."""
        # Contacts that it meets there might be missed, so lists are made wider then, for the step to begin again.
        if not self.skin.is_left(far):
            return False
        self._list_anew(before, velocity, wider=True)
        return True

    def _listed_after_contacts(self, resting: np.ndarray) -> np.ndarray:
        """Bring lists or ghosts up to date; return contacts at rest, dealt out anew with molecules; collective.

        A contact may throw a bead farther than the step without contacts would have taken it. Ghosts are placed anew
        only where, on some rank, beads have moved since they were.
        """
        if not self._moved_far():
            if self.stale:
                self._place_ghosts()
            return resting
        self.own.position = self.position[self.local]
        self._rebuild()
        every = together(*self.comm.allgather(resting))
        beads = np.where(every < 0, every[:, :1], every)
        return every[np.isin(self.composition.molecule_of(beads), self.own.molecules).any(axis=1)]

    def _begun(self) -> tuple[np.ndarray, np.ndarray]:
        """Return places of local beads and velocities of own ones, and move these as if there were no contacts."""
        before, velocity = self.position.copy(), self.own.velocity.copy()
        self._predict()
        return before, velocity

    def _take(self, ids: np.ndarray, place: np.ndarray | None, velocity: np.ndarray) -> None:
        """Set places, where they are given, and velocities of those of some beads that are own."""
        mine = np.isin(ids, self.own.ids)
        rows = np.searchsorted(self.own.ids, ids[mine])
        if place is not None:
            self.position[self.local[rows]], self.stale = place[mine], True
        self.own.velocity[rows] = velocity[mine]

    def _still(self, resting: np.ndarray) -> None:
        """Take the rates of smooth contacts out of velocities; collective."""
        if self.comm.maximum(np.array([float(len(resting))]))[0] == 0.0:
            return
        own = self.own
        place, speed = self.position[self.local], own.velocity.copy()
        pool = Pool(own.molecules, own.ids, self.first, place, speed, self.force, np.zeros((len(own.ids), 0)), NONE)
        done, rows = self.contacts.sharing.parts(pool, resting).solved(self.contacts.stilled, lambda one: one.velocity)
        for ids, velocity in rows:
            self._take(ids, None, velocity)
        for one in done:
            self.tally.add(one.pool, one.geometry, one.normal, one.impulse, one.impulse != 0.0, self.time)

    def _half_step_of_friction(self, draw: int) -> None:
        """Let half a step of the thermostat's friction act; `draw`: half steps so far."""
        if self.thermostat.damps:
            self.thermostat.half_step(self.own.velocity, self.own.ids, draw)
            self.rigid.project(self.position, self.local, self.own.velocity)

    def _moved_far(self) -> bool:
        """Return whether a bead of any rank may come near one that is not listed; collective."""
        # `stale` is then whether any rank has moved beads of which others do not know.
        moved = self.skin.way(self.position, self.local)
        wrong = float(self.torn is not None or self.stuck is not None or not np.isfinite(moved))
        greatest = self.comm.maximum(np.array([moved if np.isfinite(moved) else 0.0, wrong, float(self.stale)]))
        moved, wrong = greatest[:2]
        self.stale = bool(greatest[2] > 0.0)
        if wrong > 0.0:
            self._fail()
        return self.skin.is_left(moved)

    def _require_sound(self) -> None:
        """Raise on every rank when a bond is torn on one, or a force is not a number; collective."""
        wrong = self.torn is not None or not np.isfinite(self.force).all()
        if self.comm.maximum(np.array([float(wrong)]))[0] > 0.0:
            self._fail()

    def _fail(self) -> None:
        """Raise what has gone wrong on some rank, on every one; collective."""
        stuck = None if self.stuck is None else (int(self.own.ids[self.stuck[0]]), self.stuck[1])
        with np.errstate(over="ignore", invalid="ignore"):
            moved = (self.position[self.local] - self.skin.reference) ** 2
        bad = self.own.ids[~np.isfinite(self.force + moved).all(axis=1)]
        raise_worst(self.comm, self.time, self.torn, stuck, bad)

    @property
    def ids(self) -> np.ndarray:
        """(m,) int64 global ids of the beads that this rank owns, ascending."""
        return self.own.ids

    @property
    def time(self) -> float:
        """The time that is reached, a whole number of steps [time]."""
        return float(self.steps * self.step)

    @property
    def counters(self) -> dict:
        """Name -> number of events and operations so far (int), for reports."""
        return dict.fromkeys(L.COUNTERS, 0) | {"list_rebuilds": self.rebuilds} | self.tally.counts

    @property
    def virial(self) -> int:
        """Sum over contacts so far of impulse times centre-of-mass vector, in units of `quantum`."""
        return self.tally.virial

    @property
    def work(self) -> int:
        """Work of walls and fixed beads that move so far, in units of `energy_quantum`."""
        return self.tally.work

    @property
    def virial_tensor(self) -> list:
        """Zeros: the tensor of what acts between steps is not counted."""
        return [0] * L.TENSOR_PARTS

    @property
    def wall_impulse(self) -> list:
        """Sum over contacts so far with the walls of each axis of the impulse, in units of `impulse_quantum`."""
        return list(self.tally.wall_impulse)

    def frame(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, velocity and image counts, (m, 3) each, of the beads `ids`; the time is that reached."""
        return self.position[self.local], self.own.velocity.copy(), self.own.image.copy()

    def state(self) -> State:
        """Return the State of the beads `ids`, from which a run continues to the same bits."""
        state = State.at_time_zero(*self.frame(self.time)[:2])
        state.image[:] = self.own.image
        state.ticks[:], state.remainder[:] = split(self.time, self.physics.tick)
        state.depth[:] = 0 if self.steps else -1
        return state

    def energies(self) -> np.ndarray:
        """Return (m, 2) potential energies and molecular virials of the beads `ids`, whose sums are the system's.

        The virial is that of the forces between molecules at their centres of mass; forces within one, of bonds
        among them, have no part in it.
        """
        return self.interactions.molecular_energies(self.position, self.own.image, self.first)

    def drain_events(self) -> np.ndarray:
        """Return and forget the logged contacts: (n,) structured array of time, kind, bead (2,), impulse.

        Where contacts make beads spin, there is also tangential (3,), the rest of the impulse, on the first bead.
        """
        return self.tally.drained()

    @property
    def seconds(self) -> dict[str, float]:
        """Wall seconds of this rank in PARTS, which add up to what `advance` has taken."""
        return self.parts

    def window_report(self) -> Any:
        """Return what the run log says of the steps: how many there were, and how often lists were made."""
        return {"steps": self.steps, "list_rebuilds": self.rebuilds}
