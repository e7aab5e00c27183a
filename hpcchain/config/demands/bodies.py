"""What the keys of rigid bodies must satisfy: enough beads, not on a line, none on another, and who moves them."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from hpcchain.config.keys.values import Wrong
from hpcchain.model.molecules.bodies import body_sites, is_thin

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import Config, MoleculeSection

PROPAGATOR = "taylor"
"""That by whose name bodies fly."""
ROUNDING = 1e-12
LEAST_DISTANCE = 1e-9
"""Of beads of a body, relative to its greatest coordinate."""
MOST_FILLED = 2000
"""Beads of a body that are looked at one by one for what they fill."""


def check_body(config: Config, kind: MoleculeSection, where: str) -> None:
    """Raise Wrong, with key and reason, unless the beads of a kind make a rigid body that can move and has room."""
    name = (kind.propagator or config.propagator).name
    if config.steps is None and name != PROPAGATOR:
        key = f"{where}.propagator" if kind.propagator else "propagator.name"
        raise Wrong(
            f'{key}: rigid bodies have no steps of "{name}", they fly exactly; set {where}.propagator = '
            f'{{ name = "{PROPAGATOR}" }}'
        )
    if kind.bond_length != 1.0:
        raise Wrong(f'{where}.bond_length: means nothing for kind "rigid", whose shape is in sites; remove it')
    check_sites(kind, where)
    if set(config.box.boundary) == {"wall"}:
        check_fits(kind, where, config.box)


def check_sites(kind: Any, where: str) -> None:
    """Check that no two beads are at one place, and not all on a line."""
    sites, mass = kind.sites, np.broadcast_to(np.asarray(kind.mass, dtype=float), kind.beads)
    pair = nearest(sites)
    if pair[2] <= LEAST_DISTANCE * float(np.abs(sites - sites.mean(axis=0)).max()):
        raise Wrong(f"{where}.sites: beads {pair[0]} and {pair[1]} are at one place; leave one of them out")
    if is_thin(body_sites(sites, mass), mass):
        raise Wrong(f'{where}.sites: all beads lie on a line: make it of kind = "rod", with their distances')


def nearest(sites: np.ndarray) -> tuple[int, int, float]:
    """Return the two beads of a body that are nearest to each other, and how far apart they are [length]."""
    best = (0, 1, np.inf)
    for i in range(len(sites) - 1):
        away = np.sqrt(np.sum((sites[i + 1 :] - sites[i]) ** 2, axis=1))
        j = int(np.argmin(away))
        if away[j] < best[2]:
            best = (i, i + 1 + j, float(away[j]))
    return best


def check_fits(kind: MoleculeSection, where: str, box: Any) -> None:
    """Check that a body finds room between walls, as far as its two ends tell."""
    radius = 0.5 * np.broadcast_to(kind.diameter, kind.beads)
    sites = kind.sites
    for i, j in combinations(range(min(kind.beads, MOST_FILLED)), 2):
        length = float(np.sqrt(np.sum((sites[i] - sites[j]) ** 2)))
        diagonal = float(np.sqrt(np.sum(np.maximum(np.array(box.size) - radius[i] - radius[j], 0.0) ** 2)))
        if length > diagonal:
            raise Wrong(
                f"{where}.sites: a body with beads {i} and {j} at a distance of {length:.6g} fits nowhere between the "
                f"walls, not even diagonally ({diagonal:.6g}); enlarge the box"
            )


def overlap_in_body(kind: MoleculeSection) -> bool:
    """Return whether any two beads of a body overlap."""
    radius, sites = 0.5 * np.broadcast_to(kind.diameter, kind.beads), kind.sites
    for i in range(kind.beads - 1):
        away = np.sqrt(np.sum((sites[i + 1 :] - sites[i]) ** 2, axis=1))
        if np.any(away < (radius[i] + radius[i + 1 :]) * (1.0 - ROUNDING)):
            return True
    return False


def apart_in_body(kind: MoleculeSection) -> list:
    """Return diameters of beads of a body of which no two overlap, the largest first."""
    diameter, sites = np.broadcast_to(kind.diameter, kind.beads), kind.sites
    taken: list = []
    for i in np.argsort(-diameter, kind="stable")[:MOST_FILLED]:
        away = np.sqrt(np.sum((sites[taken] - sites[i]) ** 2, axis=1))
        if np.all(away >= 0.5 * (diameter[taken] + diameter[i]) * (1.0 - ROUNDING)):
            taken.append(int(i))
    return diameter[taken].tolist()
