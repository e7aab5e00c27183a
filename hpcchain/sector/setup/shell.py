"""How neighbour lists begin: how wide their shell is, how much capacity each has; and how many cells there are.

An input may leave shell and cells to the program. Where beads are near one another both go by their diameters. Where
they are far apart, lists that reach a diameter or two would be made anew many times between two contacts, and hold
none. There both go by the mean distance about the beads, not in the box as a whole, which may be empty for the most
part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.composition import composition_of
from hpcchain.model.physics.step_potentials import beyond_contact

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.system import Box, System
from hpcchain.layout import arrays as L

if TYPE_CHECKING:
    from hpcchain.model.system import Topology

LEAST_FRACTION = 0.03  # packing fraction, below which the shell grows with the mean distance
DILUTE = (np.pi / 6.0 / LEAST_FRACTION) ** (1.0 / 3.0)  # that distance there, in diameters
FEW = 10.0  # other beads of its own molecule that a bead may have on its list, however wide the shell is
OF_BOND = 0.3  # of the mean bond: the shell at most where they are more
COARSE = 1.5  # mean distances of an edge of the parts of the box in which beads are counted
CROWDED = 2.0  # times as near as in the whole box, from which on it is how near they are that counts
MOST_LOOKS = 8
UNEVEN = 1.5  # how many more neighbours than the mean a list can take
TWO_LINES = 32  # entries of a list on two cache lines


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
    composition = composition_of(system.topology)
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
    composition = composition_of(system.topology)
    copies = np.repeat(composition.copies, np.diff(composition.prototypes.first_bead))
    mean = float(np.sum(copies * composition.prototypes.diameter)) / max(composition.beads, 1)
    return filled(system.box.size, system.box.volume / max(composition.beads, 1)) > DILUTE * mean


def low_density(system: System) -> float:
    """Return beads by volume [length^-3], infinite where they are not far apart: lists may have as many as fit in."""
    return system.topology.beads / system.box.volume if is_dilute(system) else np.inf


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


def list_capacity(topology: Topology, shell: float, beyond: float = 0.0, density: float = np.inf) -> np.ndarray:
    """Return (N,) int64 first guesses of the neighbour lists' capacities; for equal beads they are equal.

    Parameters
    ----------
    topology : Topology
    shell, beyond : float
        Half width of the lists' shell, and how much farther than contact beads act on one another [length].
    density : float
        Beads by volume, where that may give fewer neighbours than close packing [length^-3].
    """
    contact = topology.diameter.max() + 2.0 * beyond
    far = 0.5 * (topology.diameter + contact) + 2.0 * shell
    packed = 3.0 * (far / max(float(topology.diameter.min()), 1e-300)) ** 3
    expected = UNEVEN * density * (4.0 * np.pi / 3.0) * far**3
    return np.clip(8 + np.ceil(np.minimum(packed, expected)), 16, 4096).astype(np.int64)


def list_arrays(capacity: np.ndarray) -> dict:
    """Return the arrays of neighbour lists with these capacities, empty."""
    lists = np.zeros((len(capacity), 4), dtype=np.int32)
    neighbour, free_lists = np.zeros(lay_out_lists(lists, capacity), dtype=np.int32), np.zeros(0, dtype=np.int64)
    return {"lists": lists, "neighbour": neighbour, "free_lists": free_lists}


def lay_out_lists(lists: np.ndarray, capacity: np.ndarray) -> int:
    """Write where lists of these capacities begin, one after the other, and how much space they have; return the end.

    None is an even number of cache lines long. If all were, as with chains at φ = 0.1, their first lines, which are
    those that are read, would share half of each cache's sets: windows took 1.25 times as long (Zen 5, November 2026).
    """
    space_of_list = capacity + (capacity % TWO_LINES == 0)
    first = np.concatenate([[0], np.cumsum(space_of_list)])
    lists[:, L.LIST_FIRST], lists[:, L.LIST_CAPACITY] = first[:-1], space_of_list
    return int(first[-1])
