"""Watches the energy of a run, which elastic contacts keep: what is too far off is said, and may end the run.

Molecules that fly exactly (single beads, rods, dimers, all under `taylor`) keep it to round-off, or to far less than a
tolerance that is set coarser. Those that move in steps have a band, relative to the whole energy. With h = step / tau,
where tau = a (m / T)^1/2 of the shortest bond a, the lightest bead m and the temperature T at the start:

==========================================  ============  ========================================================
propagator                                  band          measured
==========================================  ============  ========================================================
rattle; variational with collision "exact"  10 h^2        rms after 1000 contacts of chains of 10: 4 h^2 to 10 h^2
variational                                 40 h^2        the same: 35 h^2 to 40 h^2
collocation, index2                         round-off     4e-15
collocation, index1, s stages               2 h^(2 s)     0.1 h^2s to 2.3 h^2s in a time of 20 tau
collocation, paper, s stages                5 h^s         0.3 h^s to 4.7 h^s in a time of 20 tau
==========================================  ============  ========================================================

The first two walk at random from contact to contact, the last two drift with time, from there on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hpcchain.errors import EngineError, StepError
from hpcchain.model.physics.external import exchanges_energy, gravity_of, loses_energy
from hpcchain.propagators.catalogue import PROPAGATORS
from hpcchain.sector.collapse import not_a_number

if TYPE_CHECKING:
    from hpcchain.model.system import Physics, System, Topology

NOTED, REFUSED = 1e-6, 1e-3
"""Relative errors of exact flights that are reported, and that end a run."""
TIMES = 10.0
"""How many times its band a run in steps may be off."""
ALL, WILD = 1.0, 1e6
"""Relative errors that are reported whatever the steps, and that no run comes to."""
CONTACTS, TIME = 200.0, 20.0
"""Contacts of a bead, and time in tau, after which bands widen."""
BANDS = {"rattle": 10.0, "variational": 40.0, "index1": 2.0, "paper": 5.0}


class EnergyWatch:
    """Compares the energy with that of the run's first report.

    How far a run in steps may be off, potentials and step decide: that it is a number is all that is asked of it.

    Parameters
    ----------
    system : System
        For its molecules and physics; of its state nothing is used.
    freedom : int
        Degrees of freedom, for the temperature.
    reference : float, optional
        That energy, where the run goes on from a checkpoint.

    Attributes
    ----------
    reference : float or None
        What is to be kept, of the run's first report [mass length^2 / time^2].
    """

    def __init__(self, system: System, freedom: int, reference: float | None = None) -> None:
        self.reference = reference
        self._topology, self._physics, self._freedom = system.topology, system.physics, max(int(freedom), 1)
        self._kept, self._warmth = self._physics.is_elastic and not loses_energy(self._physics), 0.0
        if self._physics.steps:
            thermostat = self._physics.acting.thermostat
            self._warmth = self._freedom * float(thermostat.temperature if thermostat else 0.0)
            self._kept = self._kept and not (thermostat or any(self._physics.steps.damping))
        others = gravity_of(self._physics).any() or self._physics.extended.potentials
        self._has_others = bool(others) or exchanges_energy(self._physics)
        self._kinds = list(stepped_kinds(self._topology.prototypes, self._physics))
        self._silent = False

    def error(self, energy: float, kinetic: float) -> float:
        """Return how far an energy is off the reference, relative to it; 0 where it is not known.

        Where the zero of the energy means nothing, as in a field of gravity, it is relative to the kinetic energy if
        that is more.
        """
        reference, scale = self.reference, self._scale(kinetic)
        if scale > 0.0 and reference is not None:
            return (energy - reference) / max(abs(reference), scale)
        return energy / reference - 1.0 if reference else 0.0

    def _scale(self, kinetic: float) -> float:
        """Return what errors of the energy are relative to at least: the kinetic one, where others may cancel it."""
        return kinetic if self._has_others else 0.0

    def heed(self, time: float, energy: float, kinetic: float, contacts: int) -> str | None:
        """Return what to say to the user, None for nothing; said once.

        Parameters
        ----------
        time : float
            [time]
        energy, kinetic : float
            What is to be kept, and kinetic energy, now [mass length^2 / time^2].
        contacts : int
            Between beads in the whole run.

        Raises
        ------
        EngineError
            When it is not a number, or exact flights and elastic contacts have changed it by more than REFUSED.
        """
        if not math.isfinite(energy) and self._physics.steps:
            raise StepError(
                f"at t {time:.6g} the energy is not a number: make steps.step smaller, or start without overlaps"
            )
        if not math.isfinite(energy):
            raise not_a_number(self._physics, f"at t {time:.6g} the kinetic energy")
        error = self.error(energy, kinetic)
        if self.reference is None or self._physics.steps or not self._kept or error == 0.0:
            return None
        if not self._kinds and abs(error) > self._limit(REFUSED):
            raise EngineError(
                f"at t {time:.6g} the kinetic energy is {error:+.1e} of itself off what it was at the "
                f"start, which exact flights and elastic contacts keep: {advice()}"
            )
        limit = self._noted_from(time, max(self.reference, self._scale(kinetic)), contacts)
        if self._silent or abs(error) <= limit:
            return None
        self._silent = True
        hint = 'make propagator.step smaller, or choose propagator.name = "taylor"'
        if not self._kinds:
            hint = f"if it grows above {self._limit(REFUSED):g} the run ends; {advice()}"
        return (
            f"the kinetic energy is {error:+.1e} of itself off what it was at the start, more than the {limit:.1e} "
            f"to be expected: {hint}"
        )

    def impossible(self, energy: float, kinetic: float) -> bool:
        """Return whether no run comes to an energy, work and heat taken out, from that of its first report.

        Contacts that take energy bring none. What is above is relative to the lower one, or to the scale of errors
        where that is more; so is what is below.
        """
        reference = self.reference
        if reference is None:
            return False
        limit = WILD if self._physics.steps or self._kinds else self._limit(REFUSED)
        low, high = (energy, reference) if self._kept and energy < reference else (reference, energy)
        return not high - low <= limit * max(abs(low), self._scale(kinetic), self._warmth)

    def _limit(self, usual: float) -> float:
        """Return a relative error for exact flights: the usual one, or one that goes with a coarser tolerance."""
        coarsest = max(physics.tolerance for physics in self._physics.every())
        return max(usual, usual / NOTED * coarsest)

    def _noted_from(self, time: float, kinetic: float, contacts: int) -> float:
        """Return the relative error from which on it is reported."""
        if kinetic <= 0.0:  # nothing moves that has potential energy, or the reference is none
            return ALL
        temperature = 2.0 * kinetic / self._freedom
        each = 2.0 * contacts / self._topology.beads
        bands = [band(kind, temperature, time, each) for kind in self._kinds]
        return min(max([self._limit(NOTED)] + [TIMES * width for width in bands]), ALL)


def advice() -> str:
    """Return what to do about an energy that cannot be."""
    return (
        "look at the molecules' bonds (hpcchain info CHECKPOINT.h5 --conditions: a condition far above 1e6 means "
        "that they hardly follow from the motion any more), and at extreme masses, lengths and velocities; results "
        "up to here are not to be trusted"
    )


class Stepped(NamedTuple):
    """A kind whose flights are not exact: its Physics, shortest bond [length] and lightest bead [mass]."""

    physics: Physics
    bond: float
    mass: float


def stepped_kinds(topology: Topology, physics: Physics) -> Iterator[Stepped]:
    """Yield the Stepped of each kind whose flights are not exact.

    Parameters
    ----------
    topology : Topology
        A molecule of each kind.
    physics : Physics
        Of the run.
    """
    for m, kind in enumerate(topology.kind):
        bead = slice(*topology.first_bead[m : m + 2])
        bond = slice(*topology.first_bond[m : m + 2])
        own, beads = physics.of(kind), bead.stop - bead.start
        exact = beads == 1 or topology.rod[m] or (beads == 2 and own.propagator == "collocation")
        if PROPAGATORS[own.propagator].stepped and not exact:
            yield Stepped(own, float(np.min(topology.bond_length[bond])), float(np.min(topology.mass[bead])))


def band(kind: Stepped, temperature: float, time: float, contacts: float) -> float:
    """Return the relative energy error to be expected of molecules that move in steps; see the module's table.

    Parameters
    ----------
    kind : Stepped
        Theirs.
    temperature : float
        At the start [mass length^2 / time^2].
    time : float
        Of the run so far [time].
    contacts : float
        Of a bead so far, in the mean.
    """
    physics, tau = kind.physics, kind.bond * math.sqrt(kind.mass / temperature)
    h, name = physics.step / tau, physics.propagator
    if name == "collocation":
        variant = physics.options.variant
        order = {"index1": 2 * physics.stages, "paper": physics.stages}.get(variant)
        return 0.0 if order is None else BANDS[variant] * min(h, 1.0) ** order * max(1.0, time / (TIME * tau))
    law = "rattle" if physics.options.collision == "exact" else name
    return BANDS[law] * h * h * math.sqrt(max(1.0, contacts / CONTACTS))
