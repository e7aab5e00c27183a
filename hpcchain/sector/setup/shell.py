"""How wide the shell of neighbour lists is, and how many cells there are.

An input may leave shell and cells to the program. Where beads are near one another both go by their diameters. Where
they are far apart, lists that reach a diameter or two would be made anew many times between two contacts, and hold
none. There both go by the mean distance about the beads, not in the box as a whole, which may be empty for the most
part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.physics.step_potentials import beyond_contact

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import Box, System

LEAST_FRACTION = 0.03  # packing fraction, below which the shell grows with the mean distance
DILUTE = (np.pi / 6.0 / LEAST_FRACTION) ** (1.0 / 3.0)  # that distance there, in diameters
FEW = 10.0  # other beads of its own molecule that a bead may have on its list, however wide the shell is
OF_BOND = 0.3  # of the mean bond: the shell at most where they are more
COARSE = 1.5  # mean distances of an edge of the parts of the box in which beads are counted
CROWDED = 2.0  # times as near as in the whole box, from which on it is how near they are that counts
MOST_LOOKS = 8


def default_shell(system: System, places: np.ndarray) -> float:
    """Return a half width of the neighbour lists' shell that suits the density [length].

    Of single beads' work lists are a greater part, and their flights are longer: they get a wider one. Where beads act
    on one another beyond contact, events are more and neighbours, too: it is thinner.

    Parameters
    ----------
    system : System
        Its state is not looked at.
    places : (M, 3) float64 array
        Where the first beads of molecules are, of all of them or of those in a part of the box [length].
    """
    composition = system.topology
    diameter, size = composition.prototypes.diameter, np.diff(composition.prototypes.first_bead)
    copies = np.repeat(composition.copies, size)
    beads = max(composition.beads, 1)
    fraction = float(np.sum(copies * diameter**3)) * np.pi / 6.0 / system.box.volume
    mean = float(np.sum(copies * diameter)) / beads
    single = float(np.sum(composition.copies[size == 1])) / beads
    shell = mean * _in_diameters(fraction, single)
    if is_dilute(system):
        own = float(np.sum(composition.copies * size**2)) / beads - 1.0
        volume, most = system.box.volume / beads, np.inf
        if own > FEW:
            most = OF_BOND * _mean_bond(composition)
        else:
            crowding = _crowding(system.box, places, system.box.volume / composition.molecules)
            shell, volume = mean * _in_diameters(fraction * crowding, single), volume / crowding
        wider = shell * filled(system.box.size, volume) / (DILUTE * mean)
        shell = max(shell, min(wider, most))
    beyond = beyond_contact(composition.prototypes, system.physics)
    return shell * mean / (mean + beyond) if beyond > 0.0 else shell


def is_dilute(system: System) -> bool:
    """Whether beads are on the average so far apart that the default shell goes by the mean distance."""
    composition = system.topology
    copies = np.repeat(composition.copies, np.diff(composition.prototypes.first_bead))
    mean = float(np.sum(copies * composition.prototypes.diameter)) / max(composition.beads, 1)
    return filled(system.box.size, system.box.volume / max(composition.beads, 1)) > DILUTE * mean


def _in_diameters(fraction: float, single: float) -> float:
    """Return the shell, in mean diameters, at a packing fraction, with such a part of the beads single."""
    volume = 1.0 / max(fraction, LEAST_FRACTION)
    wider = 0.013 * single * max(volume - 2.2, 0.0)
    return float(np.clip(0.2 + 0.03 * volume + wider, 0.2, 0.6 + 0.6 * single))


def _mean_bond(composition: Composition) -> float:
    """Return the mean length of bonds, 0 without any [length]."""
    bonds = np.repeat(composition.copies, np.diff(composition.prototypes.first_bond))
    return float(np.sum(bonds * composition.prototypes.bond_length)) / max(int(bonds.sum()), 1)


def _crowding(box: Box, places: np.ndarray, volume: float) -> float:
    """Return how many times denser than in the whole box molecules are about a molecule, 1 where that is hardly so."""
    # `volume`: of the box, for each molecule [length^3].
    crowding, part = 1.0, np.nan_to_num((places - box.origin) / box.size) % 1.0
    for _ in range(MOST_LOOKS if len(places) > 1 else 0):
        counts = np.maximum(np.floor(box.size / (COARSE * filled(box.size, volume / crowding))), 1.0)
        others = max(_mean_others(part * counts, counts), _mean_others(part * counts + 0.5, counts))
        found = others * float(np.prod(counts)) * volume / box.volume
        if found < CROWDED * crowding:
            break
        crowding = found
    return crowding


def _mean_others(place: np.ndarray, counts: np.ndarray) -> float:
    """Return how many others are in the same cell as one, on the average, of so many cells along each periodic axis."""
    cell = np.floor(place) % counts
    _, number = np.unique((cell[:, 0] * counts[1] + cell[:, 1]) * counts[2] + cell[:, 2], return_counts=True)
    return float(np.sum(number.astype(np.float64) ** 2)) / len(place) - 1.0


def filled(sides: np.ndarray, volume: float) -> float:
    """Return the edge of a cube that has a volume after what is beyond these sides (3,) is cut off."""
    edge = 0.0
    for axis, side in enumerate(np.sort(np.asarray(sides, dtype=np.float64))):
        edge = volume ** (1.0 / (3 - axis))
        if edge <= side:
            return edge
        volume /= side
    return float(np.max(sides))
