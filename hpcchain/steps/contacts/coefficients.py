"""Coefficients of contacts in steps: those of types of beads, of types and walls, and of sides of the box."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hpcchain.contact.coefficients import coefficient_table
from hpcchain.layout import arrays as L
from hpcchain.model.physics.extended import types_of_contacts

if TYPE_CHECKING:
    from hpcchain.model.composition import Composition
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
        Of beads of two types, of those that pairs tell apart; then of a type and each wall, in the order of their codes
        -1, -2, ...; s have shapes.
    same : bool
        Whether all contacts have one restitution.
    rubs, strikes : bool
        Whether any contact has friction; whether any has restitution.
    """

    def __init__(self, composition: Composition, physics: Physics) -> None:
        names, like = types_of_contacts(composition.type_names, physics)
        self.composition, self.types = composition, like[composition.prototypes.bead_type]
        table = coefficient_table(physics, names)
        self.restitution, self.friction = (table[:, :, column].copy() for column in (L.PAIR_NORMAL, L.PAIR_FRICTION))
        self.same = bool(np.all(self.restitution == physics.restitution))
        self.rubs, self.strikes = (bool(np.any(one > 0.0)) for one in (self.friction, self.restitution))

    def of(self, table: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Return a coefficient (n,) of contacts (n, 2) by global numbers, of `restitution` or `friction`."""
        one, other = (self.types[self.composition.prototype_of(np.maximum(pairs[:, k], 0))] for k in (0, 1))
        return table[one, np.where(pairs[:, 1] < 0, len(table) - 1 - pairs[:, 1], other)]
