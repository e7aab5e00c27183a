"""What a report holds: energies, momenta, temperature, pressures, contacts.

Read off the segments at the report's time; nothing here feeds back into the motion. Sums are taken over blocks of
beads, and those of all blocks exactly, so that they are the same on any number of ranks that have whole blocks.

Centres of mass carry the kinetic parts of the molecular pressure tensor and of the flux of heat: the sums over
molecules of M V V and of E V, of their masses, velocities and energies. Blocks may cut molecules, also into more than
two pieces. So a block says what its whole molecules carry, and momenta and energies of the pieces at its two ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hpcchain.model.physics.constants import ExtendedPhysics
from hpcchain.model.physics.external import gravity_of, not_one_volume
from hpcchain.model.physics.spins import spinning
from hpcchain.model.system import WALL

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import System

COLUMNS = 18
"""Numbers of a block: xx, yy, zz, xy, xz, yz and x, y, z of its whole molecules; momentum and energy of the beads of a
molecule that began before it; mass of that molecule, where it ends in it; and momentum and energy of one that begins in
it and ends behind it."""
WHOLE, BEFORE, MASS, BEHIND = slice(0, 9), slice(9, 13), 13, slice(14, 18)
FIRST, SECOND = np.array([0, 1, 2, 0, 0, 1]), np.array([0, 1, 2, 1, 2, 2])


class Interval(NamedTuple):
    """What contacts have done since the report before.

    Attributes
    ----------
    virial : float
        Sum over contacts of impulse times centre-of-mass vector [mass length^2 / time].
    contacts : int
    wall_impulse : (3,) sequence of float
        On both walls of each axis [mass length / time].
    tensor : (6,) sequence of float
        The virial's tensor, xx, yy, zz, xy, xz, yz [mass length^2 / time].
    flow : (3,) sequence of float
        Energy that contacts carried, times the way [mass length^3 / time^2].
    """

    virial: float = 0.0
    contacts: int = 0
    wall_impulse: Sequence[float] = (0.0,) * 3
    tensor: Sequence[float] = (0.0,) * 6
    flow: Sequence[float] = (0.0,) * 3


NOTHING = Interval()


class Observables:
    """Computes one report after another.

    Parameters
    ----------
    system : System
        Its topology, box and physics.
    freedom : int
        Degrees of freedom.
    """

    def __init__(self, system: System, freedom: int) -> None:
        self.composition = system.topology
        self.box = system.box
        self.gravity = gravity_of(system.physics)
        examples = self.composition.prototypes
        self._mass = np.where(examples.fixed, 0.0, examples.mass)
        copies = np.repeat(self.composition.copies, np.diff(examples.first_bead))
        self._spinning = int(np.sum(copies[spinning(examples)]))
        self._no_pressure = examples.fixed.any() or not_one_volume(system.physics)
        self.stepped = bool(system.physics.steps)
        smooth = replace(system.physics.extended, exclude=False, pairs=()) == ExtendedPhysics()  # all act along normals
        self._carries_energy = smooth and not (self.stepped or self._no_pressure)
        self.freedom = freedom

    def sums(
        self,
        low: int,
        position: np.ndarray,
        velocity: np.ndarray,
        image: np.ndarray,
        block: int,
        energies: np.ndarray | None = None,
        spins: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return (blocks, 7) float64: kinetic energy, momentum and angular momentum of each block of beads.

        With potential energies and virials of the beads, or gravity, there are two more columns, their sums; with
        angular velocities four more, kinetic energy and angular momentum of the spins; at the end always what centres
        of mass carry (`block_sums`).

        Parameters
        ----------
        low : int
            Global id of the first bead, a multiple of `block`.
        position, velocity, image : (n, 3) arrays
            Of beads low, low + 1, ... at the report's time [length], [length / time].
        block : int
            Beads in a block.
        energies : (n, 2) float64 array, optional
            Potential energy and virial of each bead [mass length^2 / time^2].
        spins : (n, 3) float64 array, optional
            Angular velocities [1 / time].
        """
        ids = np.arange(low, low + len(position))
        mass = self._mass[self.composition.prototype_of(ids)][:, None]
        unwrapped = position + image * self.box.size
        if self.gravity.any():
            field = -mass[:, 0] * (unwrapped @ self.gravity)
            energies = np.column_stack(
                [field, np.zeros_like(field)] if energies is None else [energies[:, 0] + field, energies[:, 1]]
            )
        found = np.empty((-(-len(ids) // block), 7 if energies is None else 9))
        turning = np.zeros((len(found), 0 if spins is None else 4))
        for row, start in zip(found, range(0, len(ids), block), strict=True):
            m, x, v = (array[start : start + block] for array in (mass, unwrapped, velocity))
            row[0] = 0.5 * float(np.sum(m * v**2))
            row[1:4], row[4:7] = np.sum(m * v, axis=0), np.sum(m * np.cross(x, v), axis=0)
            row[7:] = 0.0 if energies is None else np.sum(energies[start : start + block], axis=0)
        if spins is not None:
            moment = self.composition.prototypes.moment[self.composition.prototype_of(ids)][:, None]
            each = np.column_stack([0.5 * np.sum(moment * spins**2, axis=1), moment * spins])
            for row, start in zip(turning, range(0, len(ids), block), strict=True):
                row[:] = np.sum(each[start : start + block], axis=0)
        energy = 0.5 * mass[:, 0] * np.sum(velocity**2, axis=1)
        carried = block_sums(self.composition, low, mass * velocity, energy, block)
        return np.column_stack([found, turning, carried])

    def measure(self, sums: np.ndarray, interval: float, done: Interval = NOTHING) -> dict:
        """Return dict of name -> value.

        Parameters
        ----------
        sums : (blocks, 7 to 13 + COLUMNS) float64 array
            Of the blocks of all beads (`sums`).
        interval : float
            Time since the report before; 0: nothing is known of what contacts do in the mean [time].
        done : Interval
            What they have done in it.
        """
        turning, carried, sums = {}, sums[:, -COLUMNS:], sums[:, :-COLUMNS]
        if sums.shape[1] in (11, 13):
            turning, sums = self._turning(sums[:, -4:]), sums[:, :-4]
        kinetic, *momenta = (math.fsum(column) for column in sums[:, :7].T)
        potential, inner = (math.fsum(column) for column in sums[:, 7:].T) if sums.shape[1] > 7 else (None, 0.0)
        temperature = 2.0 * kinetic / self.freedom if self.freedom > 0 else 0.0
        pressure = np.nan
        if interval > 0.0:
            inner = inner / 3.0 + done.virial / (3.0 * interval)
            pressure = (self.composition.molecules * temperature + inner) / self.box.volume
        elif self.stepped and potential is not None:
            pressure = (self.composition.molecules * temperature + inner / 3.0) / self.box.volume
        pressure = np.nan if self._no_pressure else pressure
        return {
            "kinetic_energy": kinetic,
            **({} if potential is None else {"potential_energy": potential}),
            "momentum": np.array(momenta[:3]),
            "angular_momentum": np.array(momenta[3:]),
            "temperature": temperature,
            "pressure": pressure,
            "contacts": done.contacts,
            **({} if self.stepped else self._carried(all_carry(carried), done, interval)),
            **turning,
            **({"wall_pressure": self._wall_pressure(done, interval)} if np.any(self.box.boundary == WALL) else {}),
        }

    def _turning(self, sums: np.ndarray) -> dict:
        """Return what a report says of beads that spin, of their sums over blocks (`sums`)."""
        energy, *spin = (math.fsum(column) for column in sums.T)
        temperature = 2.0 * energy / (3.0 * self._spinning) if self._spinning else 0.0
        return {"rotational_energy": energy, "spin": np.array(spin), "rotational_temperature": temperature}

    def _carried(self, centres: tuple, done: Interval, interval: float) -> dict:
        """Return the parts of the molecular pressure tensor, (3, 3), and of the flux of heat, (3,), NaN unknown."""
        # [energy / length^3], [energy / (length^2 time)]. What contacts carry is the mean over the interval, what
        # centres of mass carry is of now.
        contacts = kinetic = np.full((3, 3), np.nan)
        if not self._no_pressure:
            kinetic = centres[0] / self.box.volume
            if interval > 0.0:
                xx, yy, zz, xy, xz, yz = done.tensor
                contacts = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) / (interval * self.box.volume)
        found = {"collisional_pressure": contacts, "kinetic_pressure": kinetic}
        if self._carries_energy:
            carried = np.array(done.flow) / (interval * self.box.volume) if interval > 0.0 else np.full(3, np.nan)
            moved = centres[1] / self.box.volume
            found |= {"collisional_heat_flux": carried, "kinetic_heat_flux": moved, "heat_flux": carried + moved}
        return found

    def _wall_pressure(self, done: Interval, interval: float) -> np.ndarray:
        """Return (3,) the mean pressure on the two walls of each axis, NaN where there are none."""
        known = (self.box.boundary == WALL) & (interval > 0.0)
        found = np.full(3, np.nan)
        if np.any(known):
            area = self.box.volume / self.box.size
            found[known] = np.array(done.wall_impulse)[known] / (2.0 * area[known] * interval)
        return found


def total_energy(row: Any) -> Any:
    """Return the energy of a report: kinetic and, where beads have any, potential and of spins that contacts change.

    [mass length^2 / time^2]
    """
    turning = row["rotational_energy"] if "rotational_temperature" in row else 0.0
    return row["kinetic_energy"] + row.get("potential_energy", 0.0) + turning


def kept_energy(row: Any) -> Any:
    """Return what elastic motion keeps of a report: its energy less the work and heat that have come in."""
    return total_energy(row) - row.get("work", 0.0) - row.get("heat", 0.0)


def carried_by(pieces: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return (m, 9) P P / M and E P / M of molecules with momenta and energies (m, 4) and masses (m,)."""
    momentum, energy = pieces[:, :3], pieces[:, 3:]
    return np.column_stack([momentum[:, FIRST] * momentum[:, SECOND], energy * momentum]) / mass[:, None]


def block_sums(composition: Composition, low: int, momentum: np.ndarray, energy: np.ndarray, block: int) -> np.ndarray:
    """Return (blocks, COLUMNS) float64 of the beads low, low + 1, ..., where `low` is a multiple of `block`.

    Parameters
    ----------
    momentum, energy : (n, 3), (n,) float64 arrays
        Of each bead [mass length / time], [mass length^2 / time^2].
    """
    prototypes, found = composition.prototypes, np.zeros((-(-len(momentum) // block), COLUMNS))
    moving = np.column_stack([momentum, energy])
    masses = np.add.reduceat(prototypes.mass, prototypes.first_bead[:-1])
    for row, start in zip(found, range(0, len(moving), block), strict=True):
        own = moving[start : start + block]
        begin, end = low + start, low + start + len(own)
        molecule = composition.molecule_of(np.arange(begin, end))
        rows = np.flatnonzero(np.diff(molecule, prepend=-1))
        molecule, carried = molecule[rows], np.add.reduceat(own, rows)
        first, mass = composition.first_bead_of(molecule), masses[composition.class_of(molecule)]
        before, behind = first < begin, first + composition.size_of(molecule) > end
        whole = ~(before | behind)
        row[WHOLE] = np.sum(carried_by(carried[whole], mass[whole]), axis=0)
        row[BEFORE], row[MASS] = np.sum(carried[before], axis=0), np.sum(mass[before & ~behind])
        row[BEHIND] = np.sum(carried[behind & ~before], axis=0)
    return found


def all_carry(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what all molecules carry, of the sums of all blocks in order.

    Returns
    -------
    tensor : (3, 3) float64 array
        [mass length^2 / time^2]
    flow : (3,) float64 array
        [mass length^3 / time^3]
    """
    rows, piece = [sums[:, WHOLE]], np.zeros(4)
    for row in sums:
        piece = piece + row[BEFORE]
        if row[MASS] > 0.0:
            rows.append(carried_by(piece[None], row[MASS : MASS + 1]))
            piece = np.zeros(4)
        piece = piece + row[BEHIND]
    xx, yy, zz, xy, xz, yz, *flow = (math.fsum(column) for column in np.concatenate(rows).T)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), np.array(flow)
