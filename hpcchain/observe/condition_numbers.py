"""Condition numbers (2-norm) of the matrices by which molecules in a state are moved, from dense copies of them.

========== ================================== =================================================================
name       matrix                             solved for
========== ================================== =================================================================
tension    G M^-1 G^T at the state            tensions and impulses, under every propagator
newton     G(q1) M^-1 G^T(q0)                 multipliers of a step from q0 to q1 ("tridiagonal")
together   [M, -G^T(q0); G(q1), 0]            velocities and multipliers ("multipliers"; Leyendecker et al. 2012, (10))
null space P^T(q0) M P(q1)                    the reduced step ("null-space"; Leyendecker et al. 2012, (12)); no rings
across     that of (15), Tapia-McClung 2005   multipliers of a rod's step across its axis
along      that of (16), Tapia-McClung 2005   the same along it
========== ================================== =================================================================

G is the gradient of |b|^2 / 2 of all bonds. Those of a step are for rattle and variational, over the longest one; the
engine has no need of the last two, its rods' steps being in closed form. `together` and `null space` mix numbers of
different units, so that their condition depends on those of the input.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.model.molecules.bonds import gradient
from hpcchain.model.molecules.rod_matrices import Line, matrices
from hpcchain.propagators.steps.null_space import WALK, tree_walk

if TYPE_CHECKING:
    from hpcchain.model.system import System, Topology

STEPPED = ("rattle", "variational")
MOST_MOLECULES, MOST_WORK = 100, 4_000_000
MOST_NEWTON, MOST_HALVINGS = 30, 40
CONVERGED = 1e-13


def condition_numbers(system: System) -> list:
    """Return (kind's name, matrix's name, number of molecules looked at, mean, greatest) per kind and matrix.

    Of a kind with many or large molecules only some are looked at, evenly spread.

    Parameters
    ----------
    system : System
        Its state gives the positions and velocities [length], [length / time] that molecules go on from.
    """
    rows, topology = [], system.topology.whole()
    for kind, name in enumerate(topology.names):
        if name in topology.names[:kind]:
            continue  # more sizes of one kind
        found = [of_molecule(system, topology, m) for m in chosen(topology, kind)]
        for matrix in found[0] if found else ():
            values = np.array([each[matrix] for each in found])
            rows.append((name, matrix, len(found), float(values.mean()), float(values.max())))
    return rows


def chosen(topology: Topology, kind: int) -> np.ndarray:
    """Return the molecules of a kind that are looked at."""
    of_kind = np.flatnonzero(topology.kind == kind)
    if not len(of_kind):
        return of_kind
    beads = int(topology.first_bead[of_kind[0] + 1] - topology.first_bead[of_kind[0]])
    count = min(len(of_kind), max(1, min(MOST_MOLECULES, MOST_WORK // beads**3)))
    return of_kind[np.linspace(0, len(of_kind) - 1, count).astype(int)]


def of_molecule(system: System, topology: Topology, m: int) -> dict:
    """Return matrix's name -> condition number of molecule m; of a single bead or a rigid body there is none."""
    physics = system.physics.of(topology.kind[m])
    beads = slice(topology.first_bead[m], topology.first_bead[m + 1])
    of_bonds = slice(topology.first_bond[m], topology.first_bond[m + 1])
    x, v, mass = system.state.position[beads], system.state.velocity[beads], topology.mass[beads]
    if topology.rod[m]:
        place = np.concatenate([[0.0], np.cumsum(topology.bond_length[of_bonds])])
        line = Line(mass, place, np.zeros_like(mass))
        return dict(zip(("across", "along"), map(condition, matrices(line, 1.0 / mass)), strict=True))
    bonds = topology.bonds[of_bonds] - topology.first_bead[m]
    if not len(bonds) or topology.body[m]:
        return {}
    g = gradient(bonds, x)
    found = {"tension": condition(g / np.repeat(mass, 3) @ g.T)}
    if physics.propagator in STEPPED:
        found |= of_step(bonds, x, after_step(bonds, x, v, mass, physics.step), mass)
    return found


def condition(matrix: np.ndarray) -> float:
    """Return the condition number of a matrix, infinite where it is singular or not finite."""
    return float(np.linalg.cond(matrix)) if np.isfinite(matrix).all() else np.inf


def of_step(bonds: np.ndarray, x: np.ndarray, after: np.ndarray, mass: np.ndarray) -> dict:
    """Return the condition numbers of a step's matrices from its two ends."""
    weight, g, end = np.repeat(mass, 3), gradient(bonds, x), gradient(bonds, after)
    together = np.block([[np.diag(weight), -g.T], [end, np.zeros((len(bonds), len(bonds)))]])
    found = {"newton": condition(end / weight @ g.T), "together": condition(together)}
    if len(bonds) == len(x) - 1:
        walk = tree_walk(len(x), bonds).reshape(-1, WALK)
        reduced = null_space(walk, x).T @ (weight[:, None] * null_space(walk, after))
        found["null space"] = condition(reduced)
    return found


def null_space(walk: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return P (3 n, 2 n + 1) of a molecule without rings (`hpcchain.propagators.steps.null_space`)."""
    n = len(x)
    p = np.zeros((n, 3, 2 * n + 1))
    p[0, :, :3] = np.eye(3)
    for k, (bead, parent) in enumerate(walk[:, :2].astype(int)):
        d = x[bead] - x[parent]
        _, _, across = np.linalg.svd(d[None])  # the last two rows are at right angles to d
        p[bead] = p[parent]
        p[bead, :, 3 + 2 * k : 5 + 2 * k] = np.linalg.norm(d) * across[1:].T
    return p.reshape(3 * n, -1)


def after_step(bonds: np.ndarray, x: np.ndarray, v: np.ndarray, mass: np.ndarray, tau: float) -> np.ndarray:
    """Return where a step of length tau leads, or one of half as long, and so on, where that has no solution [length].

    By Newton for the multipliers of V = v + M^-1 G^T mu, |b + tau db| = |b|
    (`hpcchain.propagators.steps.rattle_and_variational`).
    """
    g = gradient(bonds, x)
    b = x[bonds[:, 1]] - x[bonds[:, 0]]
    scale = np.sqrt(np.sum(b**2, axis=1).max() * np.sum(v**2, axis=1).max()) or 1.0
    for _ in range(MOST_HALVINGS):
        mu = np.zeros(len(bonds))
        for _ in range(MOST_NEWTON):
            rate = v + (g.T @ mu).reshape(-1, 3) / mass[:, None]
            change = rate[bonds[:, 1]] - rate[bonds[:, 0]]
            off = np.sum(change * (b + 0.5 * tau * change), axis=1)
            if not np.isfinite(off).all():
                break
            if np.abs(off).max() <= CONVERGED * scale:
                return x + tau * rate
            matrix = gradient(bonds, x + tau * rate) / np.repeat(mass, 3) @ g.T
            mu = mu - np.linalg.lstsq(matrix, off, rcond=None)[0]
        tau *= 0.5
    return np.full_like(x, np.nan)
