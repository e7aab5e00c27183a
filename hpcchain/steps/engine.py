"""The engine of steps: all beads on one clock, on one rank or on all of a communicator."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.clock import split
from hpcchain.model.system import State
from hpcchain.parallel.agreement import Ranks
from hpcchain.sector.setup.allocate import energy_quantum, quanta
from hpcchain.steps.contacts.clusters import dot
from hpcchain.steps.contacts.finding import ContactFinder
from hpcchain.steps.contacts.inclusions import Inclusions
from hpcchain.steps.contacts.tally import Tally
from hpcchain.steps.contacts.walls import Walls
from hpcchain.steps.integrators import Midpoint, Variational, Verlet
from hpcchain.steps.local_beads import Clock, LocalBeads, timed
from hpcchain.steps.potentials.constants import Constants
from hpcchain.steps.thermostat import Thermostat

if TYPE_CHECKING:
    from hpcchain.model.system import System
    from hpcchain.steps.contacts.inclusions import ContactSolver

STEPS_BETWEEN_LOOKS = 16
"""Steps after which it is looked whether a run is to stop."""


class SteppedEngine:
    """Carries a system forward step by step; `advance` and the making are collective.

    Parameters
    ----------
    system : System
        The same on every rank, or this rank's part of it; its state is that of a whole step.
    comm : Ranks, optional
        Default: one rank.
    skin : float, optional
        How much farther than forces neighbour lists look, at first; no effect on results [length].
    sectors : sequence of 3 int, optional
        Ranks along each axis; no effect on results.
    log_events : bool
        Keep a log of contacts for `drain_events`.

    Attributes
    ----------
    beads : LocalBeads
    contacts : ContactSolver or None
        None where no bead has a hard core.
    seconds : dict of str -> float
        Wall seconds of this rank in `local_beads.PHASES`, which add up to what `advance` has taken.
    sums, quantum, impulse_quantum, energy_quantum :
        See `sector.interface.Engine`.
    """

    def __init__(
        self,
        system: System,
        comm: Ranks | None = None,
        skin: float | None = None,
        sectors: tuple | list | None = None,
        log_events: bool = False,
    ) -> None:
        self.comm, self.physics = comm or Ranks(), system.physics
        composition, settings = system.topology, system.physics.steps
        self.quantum, self.impulse_quantum = quanta(system)
        self.energy_quantum = energy_quantum(system)
        units = self.quantum, self.impulse_quantum, self.energy_quantum
        self.tally = Tally(composition, units, bool(self.physics.extended.rough), log_events)
        self.thermostat = Thermostat(composition, settings)
        self.clock = Clock(settings.step)
        constants = Constants(composition, settings)
        hard = not composition.prototypes.soft.all()
        finder = ContactFinder(constants, settings, self.comm, Walls(system), self.clock) if hard else None
        self.beads = LocalBeads(system, constants, self.comm, skin, sectors, self.clock, finder)
        self.contacts: ContactSolver | None = None
        self.integrator = self._integrator_of(finder)
        self.clock.steps = self._steps_of(system.state)
        self.beads.rebuild()
        self.beads.compute()
        self.beads.require_sound()
        if self.clock.steps == 0:
            self.beads.require_gentle()
        self.seconds = self.beads.seconds
        self.seconds.update(dict.fromkeys(self.seconds, 0.0))  # of `advance` alone

    def _integrator_of(self, finder: ContactFinder | None) -> Verlet:
        """Return what makes a step; runs without friction need not load the kernels that solve it."""
        settings = self.physics.steps
        if finder is None:
            return Midpoint(self.beads, None, None, self.tally) if settings.base == "midpoint" else Verlet(self.beads)
        if settings.integrator == "contact":
            from hpcchain.steps.friction.contact_dynamics import ContactDynamics, FrictionalContacts

            self.contacts = FrictionalContacts(finder, self.beads, self.physics)
            return ContactDynamics(self.beads, finder, self.contacts, self.tally)
        self.contacts = Inclusions(finder, self.beads, self.physics)
        kind = Midpoint if settings.base == "midpoint" else Variational
        return kind(self.beads, finder, self.contacts, self.tally)

    def _steps_of(self, state: State) -> int:
        """Return how many steps have been made up to a state, the same on all ranks; collective."""
        time = state.ticks * self.physics.tick + state.remainder
        return int(self.comm.maximum(np.array([np.max(np.rint(time / self.clock.h), initial=0.0)]))[0])

    @timed("motion")
    def advance(self, time: float, pause: Callable | None = None) -> bool:
        """See `sector.interface.Engine`."""
        target, clock = round(Fraction(repr(float(time))) / self.clock.step), self.clock
        while clock.steps < target:
            self._step()
            if pause is not None and clock.steps % STEPS_BETWEEN_LOOKS == 0 and clock.steps < target:
                if self.comm.maximum(np.array([float(bool(pause()))]))[0] > 0.0:
                    self.beads.require_sound()
                    return False
        self.beads.require_sound()
        return True

    def _step(self) -> None:
        """Make one step; an earlier one has left the forces.

        1. Half a step of friction of the thermostat.
        2. The integrator's step: forces, motion that keeps bonds, contacts. All ranks agree whether some bead has moved
           so far that lists are to be made anew; else ghosts come to where their owners have them.
        3. The forces where beads are then, with which the integrator ends the step of velocities; half a step of
           friction; velocities that are drawn anew.
        """
        self.thermostat.half_step(self.beads, 2 * self.clock.steps)
        self.clock.begin()
        self.beads.skin.carry_on()
        self._drag()
        self.integrator.move()
        self.clock.steps += 1
        self.beads.compute()
        self._drag()
        self.integrator.finish()
        self.thermostat.half_step(self.beads, 2 * self.clock.steps - 1)
        self.thermostat.redraw(self.beads, self.clock.steps)

    def _drag(self) -> None:
        """Count the work that it takes to move fixed beads on against half a step of forces."""
        dragged = self.beads.dragged
        if len(dragged):
            power = dot(self.beads.force[dragged], self.beads.own.velocity[dragged])
            work = np.rint(0.5 * self.clock.h * power / self.energy_quantum).sum()
            if np.isfinite(work):  # else the forces end the run (`have_moved_far`)
                self.tally.sums[L.SUM_WORK] -= int(work)

    @property
    def ids(self) -> np.ndarray:
        """(m,) int64 global ids of the beads that this rank owns, ascending."""
        return self.beads.ids

    @property
    def time(self) -> float:
        """The time that is reached, a whole number of steps [time]."""
        return self.clock.time

    @property
    def counters(self) -> dict:
        """Name -> number of events and operations so far (int), for reports."""
        return dict.fromkeys(L.COUNTERS, 0) | {"list_rebuilds": self.beads.rebuilds} | self.tally.counts

    @property
    def sums(self) -> list[int]:
        """Sums over contacts so far; there is no tensor of what acts between steps, and no heat."""
        return self.tally.sums

    def frame(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return position, velocity and image counts, (m, 3) each, of the beads `ids`; the time is that reached."""
        own = self.beads.own
        return self.beads.position[self.beads.local], own.velocity.copy(), own.image.copy()

    def state(self) -> State:
        """Return the State of the beads `ids`, from which a run continues to the same bits."""
        position, velocity, image = self.frame(self.time)
        state = State.at_time_zero(position, velocity)
        state.image[:] = image
        state.ticks[:], state.remainder[:] = split(self.time, self.physics.tick)
        state.depth[:] = 0 if self.clock.steps else -1
        if self.physics.steps.integrator == "contact":  # nothing else changes such rows
            state.extra = self.beads.own.extra.copy()
        return state

    def energies(self) -> np.ndarray:
        """Return (m, 2) potential energies and molecular virials of the beads `ids`, whose sums are the system's.

        The virial is that of the forces between molecules at their centres of mass; forces within one, of bonds
        among them, have no part in it.
        """
        return self.beads.interactions.molecular_energies(self.beads.position, self.beads.own.image, self.beads.first)

    def drain_events(self) -> np.ndarray:
        """Return and forget the logged contacts: (n,) structured array of time, kind, bead (2,), impulse.

        Where contacts make beads spin, there is also tangential (3,), the rest of the impulse, on the first bead.
        """
        return self.tally.drained()

    def window_report(self) -> dict:
        """Return what the run log says of the steps: how many there were, and how often lists were made."""
        return {"steps": self.clock.steps, "list_rebuilds": self.beads.rebuilds}
