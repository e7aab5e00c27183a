"""Rods: beads on a rigid line. Where they sit on it, and states put onto it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.molecules.bodies import unless_equal

if TYPE_CHECKING:
    from hpcchain.model.molecules.equal_shapes import Group
    from hpcchain.model.system import Topology


def sites(length: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return the (n,) coordinates of a rod's beads from its centre of mass, along the axis from the first to the last.

    They are rounded to the last bit of the rod's length, so that their differences are exact.

    Parameters
    ----------
    length : (n - 1,) float64 array
        Distances of neighbours [length].
    mass : (n,) float64 array
        [mass].
    """
    place = np.concatenate([[0.0], np.cumsum(length)])
    last_bit = np.spacing(place[-1])
    return np.rint((place - (mass @ place) / mass.sum()) / last_bit) * last_bit


def molecule_sites(topology: Topology, m: int) -> np.ndarray:
    """Return `sites` of molecule m of a topology."""
    bonds = slice(topology.first_bond[m], topology.first_bond[m + 1])
    return sites(topology.bond_length[bonds], topology.mass[topology.first_bead[m] : topology.first_bead[m + 1]])


def rod_length(topology: Topology, m: int) -> float:
    """Return the distance of a rod's first and last bead [length]."""
    return float(topology.bond_length[topology.first_bond[m] : topology.first_bond[m + 1]].sum())


def longest_rod(topology: Topology) -> float:
    """Return the largest `rod_length`, 0 without rods [length]."""
    return max((rod_length(topology, m) for m in np.flatnonzero(topology.rod).tolist()), default=0.0)


def fit(group: Group, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mass-weighted straight lines nearest to bead rows: row_j ~ centre + s_j slope.

    Parameters
    ----------
    group : Group
        Rods of n beads.
    rows : (C, n, 3) float64 array
        Positions or velocities.

    Returns
    -------
    centre, slope : (C, 3) float64 arrays
    """
    s, mass = sites(group.length, group.mass), group.mass
    base = rows[:, 0]
    apart = rows - base[:, None]
    mean = np.einsum("n,cnk->ck", mass, apart) / mass.sum()
    slope = (np.einsum("n,cnk->ck", mass * s, apart) - (mass @ s) * mean) / (mass @ s**2)
    return base + mean, slope


def rod_positions(group: Group, position: np.ndarray) -> np.ndarray:
    """Return (C, n, 3) positions on the rods; rods whose beads are on them to the last bits keep every bit.

    Momentum-like sums are kept: the centre of mass stays, and the axis is that of the mass-weighted fit. The axis is
    not a number where the beads have no direction.
    """
    centre, slope = fit(group, position)
    with np.errstate(invalid="ignore", divide="ignore"):
        axis = slope / np.sqrt(np.einsum("ck,ck->c", slope, slope))[:, None]
    return unless_equal(position, _on_line(group, centre, axis), group.last_bits(position))


def rod_velocities(group: Group, position: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Return (C, n, 3) rigid velocities with the momentum and angular momentum of those given; see `rod_positions`."""
    _, axis = fit(group, position)
    centre, turn = fit(group, velocity)
    turn -= (np.einsum("ck,ck->c", axis, turn) / np.einsum("ck,ck->c", axis, axis))[:, None] * axis
    speed = np.sqrt(np.einsum("cnk,cnk->cn", velocity, velocity)).max(axis=1)
    return unless_equal(velocity, _on_line(group, centre, turn), speed * group.last_bits(position) / group.extent)


def _on_line(group: Group, centre: np.ndarray, slope: np.ndarray) -> np.ndarray:
    return centre[:, None] + sites(group.length, group.mass)[:, None] * slope[:, None]
