"""Capabilities of extended runs, drawn at random for a System."""

from dataclasses import replace

import numpy as np

from hpcchain.model.step_potentials import pairs_apart


def with_extended(system, **more):
    """Return the System with further things in what its run has."""
    return replace(system, physics=replace(system.physics, extended=system.physics.extended | more))


def step_potentials(rng, system):
    """Add wells and shoulders, of one to three steps, between some of the types of beads."""
    names, tables = system.topology.type_names, []
    for k, a in enumerate(names):
        for b in names[k:]:
            if rng.random() < 0.6:
                count = int(rng.integers(1, 4))
                distances = np.sort(rng.uniform(0.85, 1.7, count)).tolist()
                tables.append(
                    {"types": [a, b], "distances": distances, "energies": rng.normal(0.0, 0.7, count).tolist()}
                )
    return with_extended(system, potentials=tables)


def distance_limits(rng, system):
    """Add limits of distances over two and three bonds, in some molecules, that their starts satisfy."""
    topology, limits = system.topology, []
    for m in range(topology.molecules):
        first, end = topology.first_bead[m : m + 2]
        bonds = topology.bonds[topology.first_bond[m] : topology.first_bond[m + 1]] - first
        own = []
        for separation in (2, 3):
            pairs = np.array(pairs_apart(end - first, bonds, separation), dtype=int).reshape(-1, 2) + first
            if len(pairs) and rng.random() < 0.7:
                r = np.linalg.norm(system.state.position[pairs[:, 0]] - system.state.position[pairs[:, 1]], axis=1)
                own.append(
                    [separation, float(rng.uniform(0.6, 0.95) * r.min()), float(rng.uniform(1.05, 1.4) * r.max())]
                )
        limits.append(own)
    return with_extended(system, distance_limits=limits)
