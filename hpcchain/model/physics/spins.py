"""With which angular velocities beads start that contacts make spin (`contact.rough`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.directors import normals
from hpcchain.model.physics.extended import first_rows
from hpcchain.model.random import Stream

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
    rough = system.physics.extended.get("rough")
    if rough is None or system.state.extra.shape[1]:
        return system
    topology = system.topology
    ids = np.arange(topology.beads) if system.held is None else topology.beads_of(system.held)
    rows = first_rows(len(ids))
    if config.initial.method == "explicit":
        rows[:, L.SPIN : L.SPIN + 3] = explicit_spins(config.molecules)[ids]
    else:
        moment = topology.prototypes.moment[topology.prototype_of(ids)]
        width = np.sqrt(rough["temperature"] / moment)
        rows[:, L.SPIN : L.SPIN + 3] = normals(rough["seed"], Stream.SPIN, ids)[:, :3] * width[:, None]
        rows[~spinning(topology.prototypes)[topology.prototype_of(ids)], L.SPIN : L.SPIN + 3] = 0.0
    return replace(system, state=replace(system.state, extra=rows))


def spinning(examples: Topology) -> np.ndarray:
    """Return which beads of molecules have a spin of their own, (n,) bool: neither fixed ones nor those of bodies."""
    return ~(examples.fixed | np.repeat(examples.body, np.diff(examples.first_bead)))


def explicit_spins(kinds: tuple) -> np.ndarray:
    """Return the (N, 3) angular velocities of all beads of an explicit start [1 / time]."""
    none = [np.zeros((kind.count * kind.beads, 3)) for kind in kinds]
    given = [kind.angular_velocities for kind in kinds]
    return np.concatenate([zero if rows is None else rows for zero, rows in zip(none, given, strict=True)])
