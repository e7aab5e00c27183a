"""Which beads contacts make spin (`contact.laws.rough`), and how those of kinds with orientations are turned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.clock import since
from hpcchain.model.directors import STILL, kind_of_beads, normals
from hpcchain.model.random import Stream
from hpcchain.model.rotation import Rotation, unit

if TYPE_CHECKING:
    from hpcchain.model.system import System, Topology


def spinning(examples: Topology) -> np.ndarray:
    """Return which beads of molecules have a spin of their own, (n,) bool: neither fixed ones nor those of bodies."""
    return ~(examples.fixed | np.repeat(examples.body, np.diff(examples.first_bead)))


def draw_orientations(system: System, seed: int, rows: np.ndarray, ids: np.ndarray) -> None:
    """Write random orientations of beads of kinds that have any, of these global ids, into their rows of `State.extra`.

    They are functions of the seed and a bead's global number alone.
    """
    own = with_orientation(system, ids)
    rows[own, L.ORIENTATION : L.ORIENTATION + 4] = unit(normals(seed, Stream.ORIENTATION, ids[own]))


def with_orientation(system: System, ids: np.ndarray) -> np.ndarray:
    """Return (n,) bool, whether beads of these global ids have orientations that contacts change."""
    topology = system.topology
    flags = np.array(system.physics.extended.orientations or [False] * len(topology.names))
    return flags[kind_of_beads(topology, ids)]


def orientations_at(system: System, extra: np.ndarray, ids: np.ndarray, time: float) -> np.ndarray:
    """Return the (n, 4) unit quaternions of beads at a time; those of kinds without directors are not turned.

    Parameters
    ----------
    system : System
        Its physics and topology are used.
    extra : (n, columns) float64 array
        Their rows of `State.extra`.
    ids : (n,) int64 array
        Their global ids.
    time : float
        Not before the last change of any of their spins [time].
    """
    turned = since(extra[:, L.TURNED], extra[:, L.TURNED_REM], time, system.physics.tick)
    start, spin = extra[:, L.ORIENTATION : L.ORIENTATION + 4], extra[:, L.SPIN : L.SPIN + 3]
    found = Rotation(start, spin, np.zeros(len(ids))).at(turned)
    return np.where(with_orientation(system, ids)[:, None], found, STILL)
