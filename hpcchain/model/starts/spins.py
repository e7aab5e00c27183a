"""With which orientations and angular velocities beads of an input start: directors, and beads that contacts turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.config.keys.key import required
from hpcchain.layout import arrays as L
from hpcchain.model.directors import Directors, Table, at_rest, normals
from hpcchain.model.physics.extended import first_rows
from hpcchain.model.physics.spins import draw_orientations, spinning
from hpcchain.model.random import Stream
from hpcchain.model.rotation import unit

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config, MoleculeSection, PropagatorSection
    from hpcchain.model.system import System


def build_directors(config: Config) -> Directors | None:
    """Return the Directors of an input's molecules, or None where no kind has any.

    An explicit start has its table; any other is random. Where contacts turn beads, too, orientations are part of the
    beads' state (`contact.turning`), and there are no Directors.

    Parameters
    ----------
    config : Config
        A checked input.
    """
    kinds = config.molecules
    if config.is_rough or not any(kind.directors for kind in kinds):
        return None
    return Directors(
        moment=np.array([moment_of(kind) if kind.directors else 0.0 for kind in kinds]),
        step=np.array([step_of(kind.propagator or config.propagator) if kind.directors else 0.0 for kind in kinds]),
        seed=config.initial.seed,
        temperature=config.initial.temperature,
        table=explicit_table(kinds) if config.initial.method == "explicit" else None,
    )


def moment_of(kind: MoleculeSection) -> float:
    """Return the moment of inertia of a kind's spheres; of uniform density when none is given [mass length^2]."""
    mass, diameter = (float(np.max(value)) for value in (kind.mass, kind.diameter))
    return mass * diameter**2 / 10.0 if kind.moment is None else float(np.max(kind.moment))


def step_of(propagator: PropagatorSection) -> float:
    """Return the null-space step that spheres turn by, 0 for exact rotation [time]."""
    return required(propagator.step) if propagator.name == "variational" else 0.0


def explicit_table(kinds: Sequence[MoleculeSection]) -> Table:
    """Return the Table of all beads of an explicit start."""
    parts = [at_rest(kind.count * kind.beads) for kind in kinds]
    for (orientation, velocity), kind in zip(parts, kinds, strict=True):
        if kind.orientations is not None:
            orientation[:] = unit(kind.orientations)
        if kind.angular_velocities is not None:
            velocity[:] = kind.angular_velocities
    return Table(0, *(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def with_spins(system: System, config: Config) -> System:
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
        table = explicit_table(config.molecules)
        rows[:, L.SPIN : L.SPIN + 3] = table.angular_velocity[ids]
        if system.physics.extended.orientations:
            rows[:, L.ORIENTATION : L.ORIENTATION + 4] = table.orientation[ids]
    else:
        moment = topology.prototypes.moment[topology.prototype_of(ids)]
        width = np.sqrt(rough.temperature / moment)
        rows[:, L.SPIN : L.SPIN + 3] = normals(rough.seed, Stream.SPIN, ids)[:, :3] * width[:, None]
        rows[~spinning(topology.prototypes)[topology.prototype_of(ids)], L.SPIN : L.SPIN + 3] = 0.0
        draw_orientations(system, rough.seed, rows, ids)
    return replace(system, state=replace(system.state, extra=rows))
