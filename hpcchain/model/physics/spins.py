"""With which angular velocities beads start that contacts make spin (`contact.rough`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.clock import split
from hpcchain.model.directors import STILL, explicit_table, normals
from hpcchain.model.physics.extended import first_rows
from hpcchain.model.random import Stream
from hpcchain.model.rotation import Rotation, unit

if TYPE_CHECKING:
    from hpcchain.model.system import System, Topology


def with_spins(system: System, config: Any) -> System:
    """Return a system at time 0 whose beads spin, where contacts are rough and it does not say how they do yet.

    Angular velocities of an explicit start are those of the input, 0 where it has none. Others are drawn at
    initial.temperature, and are a function of the seed and a bead's global number alone; fixed beads do not spin, and
    those of rigid bodies turn with these.

    Parameters
    ----------
    system : System
        Each rank may have a part of the molecules.
    config : Config
    """
    rough = system.physics.extended.rough
    if rough is None or system.state.extra.shape[1]:
        return system
    topology = system.topology
    ids = np.arange(topology.beads) if system.held is None else topology.beads_of(system.held)
    rows = first_rows(len(ids))
    if config.initial.method == "explicit":
        rows[:, L.SPIN : L.SPIN + 3] = explicit_spins(config.molecules)[ids]
        if system.physics.extended.orientations:
            rows[:, L.ORIENTATION : L.ORIENTATION + 4] = explicit_table(config.molecules).orientation[ids]
    else:
        moment = topology.prototypes.moment[topology.prototype_of(ids)]
        width = np.sqrt(rough.temperature / moment)
        rows[:, L.SPIN : L.SPIN + 3] = normals(rough.seed, Stream.SPIN, ids)[:, :3] * width[:, None]
        rows[~spinning(topology.prototypes)[topology.prototype_of(ids)], L.SPIN : L.SPIN + 3] = 0.0
        draw_orientations(system, rows, ids)
    return replace(system, state=replace(system.state, extra=rows))


def spinning(examples: Topology) -> np.ndarray:
    """Return which beads of molecules have a spin of their own, (n,) bool: neither fixed ones nor those of bodies."""
    return ~(examples.fixed | np.repeat(examples.body, np.diff(examples.first_bead)))


def draw_orientations(system: System, rows: np.ndarray, ids: np.ndarray) -> None:
    """Write random orientations of beads of kinds that have any, of these global ids, into their rows of `State.extra`.

    They are functions of the seed and a bead's global number alone.
    """
    own = with_orientation(system, ids)
    rough = system.physics.extended.rough
    rows[own, L.ORIENTATION : L.ORIENTATION + 4] = unit(normals(rough.seed, Stream.ORIENTATION, ids[own]))


def with_orientation(system: System, ids: np.ndarray) -> np.ndarray:
    """Return (n,) bool, whether beads of these global ids have orientations that contacts change."""
    topology = system.topology
    flags = np.array(system.physics.extended.orientations or [False] * len(topology.prototypes.names))
    return flags[kind_of_beads(topology, ids)]


def kind_of_beads(topology: Any, ids: np.ndarray) -> np.ndarray:
    """Return the number of the kind that each of some beads belongs to."""
    prototypes = topology.prototypes
    return prototypes.kind[prototypes.molecule_of(topology.prototype_of(ids))]


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
    tick = system.physics.tick
    ticks, remainder = split(time, tick)
    since = (ticks - extra[:, L.TURNED]) * tick + (remainder - extra[:, L.TURNED_REM])
    start, spin = extra[:, L.ORIENTATION : L.ORIENTATION + 4], extra[:, L.SPIN : L.SPIN + 3]
    found = Rotation(start, spin, np.zeros(len(ids))).at(since)
    return np.where(with_orientation(system, ids)[:, None], found, STILL)


def explicit_spins(kinds: tuple) -> np.ndarray:
    """Return the (N, 3) angular velocities of all beads of an explicit start [1 / time]."""
    none = [np.zeros((kind.count * kind.beads, 3)) for kind in kinds]
    given = [kind.angular_velocities for kind in kinds]
    return np.concatenate([zero if rows is None else rows for zero, rows in zip(none, given, strict=True)])
