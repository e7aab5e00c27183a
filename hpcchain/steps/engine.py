"""The engine of steps: all beads on one clock, on one rank or on all of a communicator."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.errors import ConfigError, EngineError
from hpcchain.layout import arrays as L
from hpcchain.model.clock import split
from hpcchain.model.composition import composition_of
from hpcchain.model.system import PERIODIC, State
from hpcchain.sector.setup.allocate import quanta
from hpcchain.steps import lists, motion
from hpcchain.steps.clusters import Pool
from hpcchain.steps.constants import Constants
from hpcchain.steps.contacts import Contacts
from hpcchain.steps.domain import Alone, Domain, Refresh, part_of
from hpcchain.steps.interactions import Interactions, skin_for
from hpcchain.steps.rigid import RigidMolecules
from hpcchain.steps.thermostat import Thermostat

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import Box, System

EVENT_ROW = np.dtype([("time", "f8"), ("kind", "u1"), ("bead", "i8", (2,)), ("impulse", "f8")])
ROUNDING = 1e-9
"""By how much rounding may make two beads nearer than their paths say, relative to the skin."""
STEPS_BETWEEN_LOOKS = 16
"""Steps after which a run is asked whether it is to stop."""


class SteppedEngine:
    """Carries a system forward step by step; `advance` and the making are collective.

    Parameters
    ----------
    system : System
        The same on every rank, or this rank's part of it; its state is that of a whole step.
    comm : Exchange, optional
        Default: one rank.
    skin : float, optional
        How much farther than forces neighbour lists look; no effect on results [length].
    sectors : sequence of 3 int, optional
        Ranks along each axis; no effect on results.
    log_events : bool
        Keep a log of contacts for `drain_events`.

    Attributes
    ----------
    steps : int
        Whole steps since time 0.
    virial, pushes, quantum, impulse_quantum :
        See `sector.interface.Engine`.
    """

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
        self.step = Fraction(repr(settings["step"]))
        self.h = settings["step"]
        self.quantum, self.impulse_quantum = quanta(system)
        self.rebuilds = 0
        self.stuck: tuple | None = None
        constants = Constants(self.composition, settings)
        diameter = float(np.mean(self.composition.examples.diameter))
        self.rigid = RigidMolecules(self.composition)
        self.contacts = contacts_of(self.box, self.composition, self.comm, self.rigid, system)
        if self.contacts:
            self.contacts.logs = log_events
        farthest = max(constants.reach, self.contacts.reach if self.contacts else 0.0)
        self.skin = 0.0 if farthest == 0.0 else (skin or skin_for(farthest, diameter))
        reach = farthest + self.skin
        require_wide(self.box, reach)
        self.cells = lists.shape_for(self.box, reach, self.composition.beads)
        self.interactions = Interactions(self.box, constants, reach, self.cells)
        self.wrapped = np.where(self.box.boundary == PERIODIC, self.box.size, 0.0)
        self.steps = self._steps_of(system.state)
        self.own = part_of(system, self.composition, self.comm)
        self.thermostat = Thermostat(self.composition, settings)
        self.domain = Domain(self.box, self.composition, self.comm, sectors, self.own)
        self._rebuild()
        self._compute()
        self._require_sound()

    def _steps_of(self, state: State) -> int:
        """Return how many steps have been made up to a state, the same on all ranks; collective."""
        time = state.ticks * self.physics.tick + state.remainder
        return int(self.comm.maximum(np.array([np.max(np.rint(time / self.h), initial=0.0)]))[0])

    def _rebuild(self) -> None:
        """Hand molecules over, choose ghosts and list neighbours anew; collective."""
        self.rebuilds += 1
        self.own = self.domain.settled(self.own)
        ghosts = self.domain.ghosts(self.own, self.cells if self.skin > 0.0 else None)
        ids = np.concatenate([self.own.ids, ghosts.ids])
        order = np.argsort(ids, kind="stable")
        place = np.empty(len(ids), dtype=np.int64)
        place[order] = np.arange(len(ids))
        self.local, at = place[: len(self.own.ids)].copy(), place[len(self.own.ids) :].copy()
        self.position = np.concatenate([self.own.position, ghosts.position])[order]
        self.refresh = Refresh(self.comm, ghosts, self.local, at)
        self.reference = self.own.position.copy()
        size = self.composition.size_of(self.own.molecules)
        self.first = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
        self.free = self.rigid.set_molecules(self.own.molecules, self.first)
        self.interactions.set_beads(ids[order], self.local, self.position)
        if self.contacts:
            self.contacts.set_beads(ids[order], self.local, self.interactions)

    def _compute(self) -> None:
        """Compute the forces on own beads."""
        self.force, (row, place) = self.interactions.forces(self.position, self.own.image)
        self.torn = None
        if row >= 0:
            other = int(np.flatnonzero(self.local == self.interactions.partner[place])[0])
            self.torn = tuple(sorted((int(self.own.ids[row]), int(self.own.ids[other]))))

    def advance(self, time: float, pause: Callable | None = None) -> bool:
        """Run to a time, a whole number of steps; return whether it was reached, and not a true result of `pause`.

        Parameters
        ----------
        time : float
            [time]
        pause : callable, optional
            Asked on every rank every few steps; a true result of any stops all.

        Raises
        ------
        EngineError
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
        """Make one step of velocity Verlet, of which an earlier one has left the forces.

        1. Half a step of friction, half a step of forces, a whole one of motion, which keeps bonds.
        2. All ranks agree whether some bead has moved so far that lists are to be made anew; else ghosts come to where
           their owners have them.
        3. The new forces, half a step of them, half a step of friction; then velocities that are drawn anew.
        """
        self._half_step_of_friction(2 * self.steps)
        resting = self._move_with_contacts() if self.contacts else self._move()
        self.steps += 1
        self._compute()
        velocity = self.own.velocity
        motion.kick(velocity, self.force, self.interactions.mass, 0.5 * self.h)
        self.rigid.project(self.position, self.local, velocity)
        if resting is not None:
            self._still(resting)
        self._half_step_of_friction(2 * self.steps - 1)
        if self.thermostat.draws:
            own = self.own
            drawn = self.thermostat.redraw(velocity, own.molecules, self.first, own.ids, self.steps)
            self.rigid.project(self.position, self.local, velocity, drawn)

    def _predict(self) -> None:
        """Move own beads by half a step of forces and a whole one of motion, without contacts."""
        velocity = self.own.velocity
        motion.kick(velocity, self.force, self.interactions.mass, 0.5 * self.h)
        motion.drift(self.position, self.local, velocity, self.h, self.free)
        self.stuck = self.rigid.move(self.position, self.local, velocity, self.h)

    def _wrap(self) -> None:
        """Bring molecules back that have left the box."""
        motion.wrap(
            self.position, self.reference, self.own.image, self.local, self.first, self.box.origin, self.wrapped
        )

    def _move(self) -> np.ndarray | None:
        """Move all beads, where none has a hard core, and bring lists or ghosts up to date; collective."""
        self._predict()
        self._wrap()
        if self._moved_far():
            self.own.position = self.position[self.local]
            self._rebuild()
        elif self.comm.size > 1:
            self.refresh(self.position)
        return None

    def _move_with_contacts(self) -> np.ndarray:
        """Move all beads and solve their contacts; return those of own beads at rest; collective.

        Lists that do not reach where beads are predicted to be are made anew before the step, which begins again then.
        """
        before, velocity = self._begun()
        if self._moved_far():
            self.own.position, self.own.velocity = before[self.local], velocity
            self._rebuild()
            self._compute()
            before, velocity = self._begun()
            if self._moved_far():
                raise EngineError(
                    f"at t {self.time:.6g} a bead moves farther in a step than neighbour lists look: make steps.step "
                    "smaller, or run.list_shell larger"
                )
        own = self.own
        pool = Pool(own.molecules, own.ids, self.first, before[self.local], velocity, self.force)
        contacts, pairs, done = self.contacts, np.zeros((0, 2), dtype=np.int64), []
        for _ in range(contacts.rounds):
            self.refresh(self.position)
            known = len(pairs)
            pairs = np.unique(np.concatenate([pairs, contacts.find(before, self.position)]), axis=0)
            if self.comm.maximum(np.array([float(len(pairs) - known)]))[0] == 0.0:
                break
            done = [(one, *contacts.solved(one, found)) for one, found in contacts.together(pool, pairs)]
            for one, _, _, place, speed, _, _ in done:
                self._take(one.ids, place, speed)
        resting = np.zeros((0, 2), dtype=np.int64)
        for one, geometry, normal, _, _, impulse, smooth in done:
            contacts.count(one, geometry, normal, impulse, own.ids, self.time)
            resting = np.concatenate([resting, geometry.pairs[smooth]])
        self._wrap()
        return self._listed_after_contacts(resting)

    def _listed_after_contacts(self, resting: np.ndarray) -> np.ndarray:
        """Bring lists or ghosts up to date; return the contacts at rest of own molecules; collective.

        A contact may throw a bead farther than the step without contacts would have taken it.
        """
        if not self._moved_far():
            self.refresh(self.position)
            return resting
        self.own.position = self.position[self.local]
        self._rebuild()
        every = np.unique(np.concatenate(self.comm.allgather(resting)), axis=0)
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
            self.position[self.local[rows]] = place[mine]
        self.own.velocity[rows] = velocity[mine]

    def _still(self, resting: np.ndarray) -> None:
        """Take the rates of smooth contacts out of velocities; collective."""
        if self.comm.maximum(np.array([float(len(resting))]))[0] == 0.0:
            return
        own = self.own
        pool = Pool(own.molecules, own.ids, self.first, self.position[self.local], own.velocity.copy(), self.force)
        for one, pairs in self.contacts.together(pool, resting):
            self._take(one.ids, None, self.contacts.stilled(one, pairs))

    def _half_step_of_friction(self, draw: int) -> None:
        """Let half a step of the thermostat's friction act; `draw`: half steps so far."""
        if self.thermostat.damps:
            self.thermostat.half_step(self.own.velocity, self.own.ids, draw)
            self.rigid.project(self.position, self.local, self.own.velocity)

    def _moved_far(self) -> bool:
        """Return whether a bead of any rank may come into reach of one that is not listed; collective."""
        moved = lists.farthest(self.position, self.local, self.reference)
        wrong = float(self.torn is not None or self.stuck is not None or not np.isfinite(moved))
        moved, wrong = self.comm.maximum(np.array([moved if np.isfinite(moved) else 0.0, wrong]))
        if wrong > 0.0:
            self._fail()
        return self.skin > 0.0 and moved > (0.5 * self.skin * (1.0 - ROUNDING)) ** 2

    def _require_sound(self) -> None:
        """Raise on every rank when a bond is torn on one, or a force is not a number; collective."""
        wrong = self.torn is not None or not np.isfinite(self.force).all()
        if self.comm.maximum(np.array([float(wrong)]))[0] > 0.0:
            self._fail()

    def _fail(self) -> None:
        """Raise what has gone wrong on some rank, on every one; collective."""
        torn = [pair for pair in self.comm.allgather(self.torn) if pair is not None]
        own = None if self.stuck is None else (int(self.own.ids[self.stuck[0]]), self.stuck[1])
        stuck = [one for one in self.comm.allgather(own) if one is not None]
        bad = np.flatnonzero(~np.isfinite(self.force).all(axis=1))
        worst = [
            bead for bead in self.comm.allgather(int(self.own.ids[bad].min()) if len(bad) else None) if bead is not None
        ]
        if torn:
            raise EngineError(
                f"at t {self.time:.6g} the bond of beads {min(torn)[0]} and {min(torn)[1]} is torn: it is as long as "
                "its potential allows, or longer; make steps.step smaller, or start from relaxed bonds"
            )
        if stuck and not worst:
            raise EngineError(
                f"at t {self.time:.6g} the molecule of bead {min(stuck)[0]} has no next step, as {min(stuck)[1]}; make "
                "steps.step smaller"
            )
        bead = f"bead {min(worst)}: its force" if worst else "a position"
        raise EngineError(
            f"at t {self.time:.6g} {bead} is not a number: make steps.step smaller, or start without overlaps"
        )

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
        contacts = self.contacts.counts if self.contacts else {}
        return dict.fromkeys(L.COUNTERS, 0) | {"list_rebuilds": self.rebuilds} | contacts

    @property
    def virial(self) -> int:
        """Sum over contacts so far of impulse times centre-of-mass vector, in units of `quantum`."""
        return self.contacts.virial if self.contacts else 0

    @property
    def pushes(self) -> list:
        """Sum over contacts so far with the walls of each axis of the impulse, in units of `impulse_quantum`."""
        return list(self.contacts.pushes) if self.contacts else [0, 0, 0]

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
        energy, virial = self.interactions.energies(self.position, self.own.image)
        position, mass = self.position[self.local], self.interactions.mass
        molecule = np.repeat(np.arange(len(self.own.molecules)), np.diff(self.first))
        total = np.bincount(molecule, mass)
        centre = np.column_stack([np.bincount(molecule, mass * position[:, c]) for c in range(3)]) / total[:, None]
        force = self.interactions.inner_forces(self.position, self.own.image)
        return np.column_stack([energy, virial - np.sum(force * (position - centre[molecule]), axis=1)])

    def drain_events(self) -> np.ndarray:
        """Return and forget the logged contacts: (n,) structured array of time, kind, bead (2,), impulse."""
        parts = self.contacts.log if self.contacts else []
        rows = np.empty(sum(len(pairs) for _, pairs, _ in parts), dtype=EVENT_ROW)
        at = 0
        for time, pairs, impulse in parts:
            part = rows[at : at + len(pairs)]
            part["time"], part["kind"], part["bead"], part["impulse"] = time, pairs[:, 1] < 0, pairs, impulse
            at += len(pairs)
        if self.contacts:
            self.contacts.log.clear()
        return rows

    def window_report(self) -> Any:
        """Return what the run log says of the steps: how many there were, and how often lists were made."""
        return {"steps": self.steps, "list_rebuilds": self.rebuilds}


def contacts_of(
    box: Box, composition: Composition, comm: Any, rigid: RigidMolecules, system: System
) -> Contacts | None:
    """Return the Contacts of a system, None where no bead has a hard core."""
    if composition.examples.soft.all():
        return None
    return Contacts(box, composition, comm, rigid, system.physics, quanta(system))


def require_wide(box: Box, reach: float) -> None:
    """Raise ConfigError when a periodic side is so short that a bead would interact with two images of another."""
    periodic = box.boundary == PERIODIC
    short = np.flatnonzero(periodic & (box.size < 2.0 * reach))
    if len(short):
        axis = int(short[0])
        raise ConfigError(
            f"box.size: the periodic side {box.size[axis]:g} along axis {axis} is shorter than twice the reach of the "
            f"potentials with the neighbour lists' skin, {reach:.6g}; enlarge the box or lower potential.cutoff"
        )
