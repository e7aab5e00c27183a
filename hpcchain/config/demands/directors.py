"""What the keys of spheres with directors must satisfy: orientations, spins, and the step that turns them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.config.keys.schema import DIRECTOR_KEYS
from hpcchain.config.keys.values import Wrong
from hpcchain.propagators.catalogue import SPHERE_PROPAGATORS

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import MoleculeSection, PropagatorSection

UNIT = 1e-9
"""How far the norm of an orientation that is given may be from 1."""

ROWS = {"orientations": "[w, x, y, z]", "angular_velocities": "[x, y, z]"}
"""What a kind with directors may have of its own: exact turning, Leyendecker et al. 2012's step."""


def check_directors(
    kind: MoleculeSection, where: str, method: str, propagator: PropagatorSection, spins: bool = False
) -> None:
    """Raise Wrong, with key and reason, when a kind's orientation and spin are impossible.

    Parameters
    ----------
    kind : MoleculeSection
    where : str
        How messages call it, for example "molecule[0]".
    method : str
        initial.method.
    propagator : PropagatorSection
        The one that moves this kind.
    spins : bool
        Whether contacts make its beads spin.
    """
    if kind.directors and kind.kind != "monomer":
        raise Wrong(f'{where}.directors: means nothing for kind "{kind.kind}", only for monomer; remove it')
    for name in DIRECTOR_KEYS:
        if not kind.directors and getattr(kind, name) is not None and not (spins and name != "orientations"):
            spinning = ", contact.tangential_restitution below 1 or contact.friction for beads that spin,"
            more = "" if name == "orientations" else spinning
            raise Wrong(f"{where}.{name}: means nothing without directors; set directors = true{more} or remove it")
    for name, columns in ROWS.items():
        check_rows_of(kind, where, method, name, columns)
    if kind.fixed and kind.angular_velocities is not None:
        if np.any(np.reshape(kind.angular_velocities, (-1, kind.beads, 3))[:, kind.pinned] != 0.0):
            raise Wrong(f"{where}.angular_velocities: fixed beads do not spin; give them [0.0, 0.0, 0.0]")
    if kind.orientations is not None:
        check_unit(kind.orientations, f"{where}.orientations")
    if kind.angular_velocities is not None and propagator.name == "variational":
        check_step(kind.angular_velocities, propagator.step, f"{where}.angular_velocities")


def check_rows_of(kind: MoleculeSection, where: str, method: str, name: str, columns: str) -> None:
    """Check that there is a row for each sphere, and only where the start is explicit."""
    rows = getattr(kind, name)
    if rows is None:
        return
    if method != "explicit":
        raise Wrong(f'{where}.{name}: means nothing for initial.method "{method}"; set initial.method = "explicit"')
    wanted = kind.count * kind.beads
    if len(rows) != wanted:
        count = "count" if kind.beads == 1 else "count × beads"
        raise Wrong(f"{where}.{name}: has {len(rows)} rows; needs {count} = {wanted} rows {columns}")


def check_unit(rows: np.ndarray, where: str) -> None:
    """Check that quaternions are of length 1."""
    norm = np.sqrt(np.sum(rows**2, axis=1))
    bad = np.flatnonzero(~(np.abs(norm - 1.0) <= UNIT))
    if len(bad):
        raise Wrong(
            f"{where}: row {bad[0]}: {rows[bad[0]].tolist()} is of length {norm[bad[0]]:.12g}; needs a unit "
            f"quaternion [w, x, y, z], to {UNIT:g}"
        )


def check_step(rows: np.ndarray, step: float, where: str) -> None:
    """Check that spheres turn slowly enough for a step of the null-space method."""
    speed = np.sqrt(np.sum(rows**2, axis=1))
    bad = np.flatnonzero(~(step * speed < 1.0)) if step is not None else []
    if len(bad):
        raise Wrong(
            f"{where}: row {bad[0]}: {rows[bad[0]].tolist()} is too fast for steps of {step:g}: step × angular "
            f"speed = {step * speed[bad[0]]:.6g} must be below 1; shorten propagator.step"
        )


def check_own_of_sphere(kind: MoleculeSection, where: str) -> None:
    """Check the propagator that a kind with directors has of its own."""
    if kind.propagator.name not in SPHERE_PROPAGATORS:
        raise Wrong(
            f'{where}.propagator: spheres with directors have no steps of "{kind.propagator.name}"; choose '
            f"{', '.join(SPHERE_PROPAGATORS)}, or remove it"
        )
