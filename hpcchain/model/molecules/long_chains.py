"""Long chains that `propagator.stretches` divides into parts, each with segments of its own: which, and where.

The engine's side of it is `sector.setup.chain_parts`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.layout import workspace as W
from hpcchain.model.clock import since
from hpcchain.model.composition import PER_BEAD, PER_BOND, PER_MOLECULE, Composition, running_sum
from hpcchain.model.system import Topology

if TYPE_CHECKING:
    from hpcchain.model.system import Physics, State, System

PART, LEAST = 16, 24  # beads of a part, where the last one has 8 to 23; of two parts at least

LONG = 130
"""Beads from which on chains move in stretches where `propagator.stretches` is "auto"."""


def part_sizes(beads: int) -> np.ndarray:
    """Return how many beads each part of a long chain has."""
    parts = (beads + PART // 2) // PART
    return np.array([PART] * (parts - 1) + [beads - PART * (parts - 1)])


def asks_for_stretches(physics: Physics) -> bool:
    """Whether any kind of molecules is to be divided where it is long enough."""
    return any(_may_be_divided(one) for one in physics.every())


def whole_chains(physics: Physics) -> Physics:
    """Return the same constants of a run that divides no chain."""
    own = tuple(one and replace(one, options=replace(one.options, stretches=0)) for one in physics.kinds)
    return replace(physics, options=replace(physics.options, stretches=0), kinds=own)


def divides_any(topology: Composition, physics: Physics) -> bool:
    """Whether a system has a long chain that is divided."""
    return asks_for_stretches(physics) and any(divided_classes(topology, physics))


def divided_classes(composition: Composition, physics: Physics) -> list[bool]:
    """Return of which classes of molecules long chains are divided."""
    prototypes = composition.prototypes
    if not asks_for_stretches(physics):
        return [False] * prototypes.molecules
    return [is_divided(prototypes, m, physics) for m in range(prototypes.molecules)]


def _may_be_divided(physics: Physics) -> bool:
    return physics.options.stretches > 0 and physics.propagator == "taylor"


def is_divided(topology: Topology, m: int, physics: Physics) -> bool:
    """Whether molecule m is divided: a long chain, all beads of which move and touch one another unless bonded.

    Limits of distances, which join beads as bonds do, are not known between parts.

    Parameters
    ----------
    topology : Topology
    m : int
    physics : Physics
        Of the whole run.
    """
    bead, bond = (slice(int(first[m]), int(first[m + 1])) for first in (topology.first_bead, topology.first_bond))
    n = bead.stop - bead.start
    if n < LEAST:
        return False
    own = physics.of(topology.kind[m])
    if n < own.options.stretches or not _may_be_divided(own):
        return False
    if not topology.self_contact[m] or topology.exclude[m] > 1 or topology.fixed[bead].any():
        return False
    limits, kind = physics.extended.distance_limits, int(topology.kind[m])
    if kind < len(limits) and limits[kind]:  # what a file has of them may not have been looked at yet
        return False
    if topology.rod[m] or topology.body[m] or topology.flexible[m]:
        return False
    line = bead.start + np.column_stack([np.arange(n - 1), np.arange(1, n)])
    return np.array_equal(topology.bonds[bond], line)


def sizes_of_parts(topology: Topology, physics: Physics) -> list[np.ndarray]:
    """Return, for each molecule, how many beads each of its parts has: one for those that are not divided."""
    sizes = np.diff(topology.first_bead)
    return [part_sizes(n) if is_divided(topology, m, physics) else np.array([n]) for m, n in enumerate(sizes.tolist())]


def divided(whole: Topology, sizes: list[np.ndarray]) -> Topology:
    """Return the Topology of the parts of each molecule, one after another; bonds between them are in neither."""
    beads = np.concatenate(sizes)
    classes = np.repeat(np.arange(len(sizes)), [len(each) for each in sizes])
    first_bead = running_sum(beads)
    part = np.repeat(np.arange(len(beads)), beads)
    inner = part[whole.bonds[:, 0]] == part[whole.bonds[:, 1]] if len(whole.bonds) else np.zeros(0, dtype=bool)
    bonds = whole.bonds[inner]
    counts = np.bincount(part[bonds[:, 0]], minlength=len(beads)) if len(bonds) else np.zeros(len(beads), dtype=int)
    return Topology(
        names=whole.names,
        kind=whole.kind[classes],
        first_bead=first_bead,
        first_bond=running_sum(counts),
        bonds=bonds,
        type_names=whole.type_names,
        **{name: getattr(whole, name) for name in PER_BEAD},
        **{name: getattr(whole, name)[inner] for name in PER_BOND},
        **{name: getattr(whole, name)[classes] for name in PER_MOLECULE},
    )


def with_columns(parts: np.ndarray, columns: int = W.PART_COLUMNS) -> np.ndarray:
    """Return rows of `State.parts` with so many columns: zeros behind the highest order that is there."""
    more = columns - parts.shape[1]
    return parts if more == 0 else np.hstack([parts, np.zeros((len(parts), more))])


def columns_in_use(parts: np.ndarray) -> int:
    """Return how many columns of `State.parts` say something, 0 where no part has a segment as yet."""
    order = int(parts[:, W.PART_ORDER].max(initial=0.0)) if parts.shape[1] else 0
    return W.PART_SERIES + 3 * (order + 1 - W.FIRST_TERM) if order else 0


def at_time(state: State, time: float, tick: float, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions, as their images are, and velocities of divided chains' beads at a time, (n, 3) each.

    Parameters
    ----------
    state : State
        With `parts`; of beads without a segment of a part straight flight is assumed.
    time, tick : float
        The time and the clock's unit [time].
    size : (3,) float64 array
        Of the box [length].
    """
    t = since(state.ticks, state.remainder, time, tick)[:, None]
    terms = with_columns(state.parts)[:, W.PART_SERIES :].reshape(len(t), -1, 3)
    position, velocity = np.zeros((len(t), 3)), np.zeros((len(t), 3))
    for k in range(terms.shape[1] - 1, -1, -1):
        order = k + W.FIRST_TERM
        position, velocity = (position + terms[:, k]) * t, (velocity + order * terms[:, k]) * t
    return state.position + state.image * size + (position + state.velocity) * t, state.velocity + velocity


def united(system: System, time: float) -> System:
    """Return a System with the beads of divided chains where they are at a time, all of a chain in its first's image.

    Parameters
    ----------
    system : System
        As a checkpoint of that time has it; its topology is of all molecules.
    time : float
        [time]
    """
    composition, state, box = system.topology, system.state, system.box
    if state.parts.shape[1] == 0:
        return system
    own = state.parts[:, W.PART_ORDER, None] > 0.0
    image = state.image[composition.first_bead_of(composition.molecule_of(np.arange(composition.beads)))]
    position, velocity = at_time(state, time, system.physics.tick, box.period)
    position = np.where(own, position - image * box.period, state.position)
    velocity = np.where(own, velocity, state.velocity)
    return replace(
        system, state=replace(state, position=position, velocity=velocity, image=np.where(own, image, state.image))
    )
