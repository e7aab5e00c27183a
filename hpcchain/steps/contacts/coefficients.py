"""Coefficients of contacts in steps: those of types of beads, of types and walls, and of sides of the box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.contact.coefficients import row_of_type
from hpcchain.layout import arrays as L
from hpcchain.model.physics.walls import shapes_of

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
    from hpcchain.model.physics.constants import PairConstants
    from hpcchain.model.system import Physics


class Coefficients:
    """Restitution and friction of contacts.

    Parameters
    ----------
    composition : Composition
    physics : Physics

    Attributes
    ----------
    restitution, friction : (t, t + 6 + s) float64 arrays
        Of beads of two types; then of a type and each wall, in the order of their codes -1, -2, ...; s have shapes.
    same : bool
        Whether all contacts have one restitution.
    rubs, strikes : bool
        Whether any contact has friction; whether any has restitution.
    """

    def __init__(self, composition: Composition, physics: Physics) -> None:
        settings, names = physics.steps, composition.type_names
        self.composition, self.types = composition, composition.prototypes.bead_type
        pairs, shapes = settings.pairs, shapes_of(physics)
        self.restitution = table_of(names, physics.restitution, pairs, "restitution", len(shapes))
        for side, value in settings.walls.items():
            self.restitution[:, len(names) + L.SIDE_NAMES.index(side)] = value
        for number, wall in enumerate(shapes):
            self.restitution[:, len(names) + L.SIDES + number] = wall.restitution
        self.friction = table_of(names, settings.friction or 0.0, pairs, "friction", len(shapes))
        self.same = bool(np.all(self.restitution == physics.restitution))
        self.rubs, self.strikes = (bool(np.any(one > 0.0)) for one in (self.friction, self.restitution))

    def of(self, table: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Return a coefficient (n,) of contacts (n, 2) by global numbers, of `restitution` or `friction`."""
        one, other = (self.types[self.composition.prototype_of(np.maximum(pairs[:, k], 0))] for k in (0, 1))
        return table[one, np.where(pairs[:, 1] < 0, len(table) - 1 - pairs[:, 1], other)]


def table_of(names: tuple, default: float, pairs: tuple[PairConstants, ...], key: str, shapes: int = 0) -> np.ndarray:
    """Return the (t, t + 6 + shapes) table of a coefficient for types of these names, which pairs may have."""
    table = np.full((len(names), len(names) + L.SIDES + shapes), default)
    for number, one in enumerate(pairs):
        value = getattr(one, key)
        if value is None:
            continue
        i, j = (row_of_type(name, names, f"contact.pair[{number}]") for name in one.types)
        table[i, j] = value
        if j < len(names):
            table[j, i] = value
    return table
