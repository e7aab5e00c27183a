"""What runs of the engine of events may have beyond smooth hard beads, and whether one has any of it.

`Physics.extended` says what a run has (`constants.ExtendedPhysics`). Kernels are compiled twice: for runs that use
nothing of it, without its branches, and for those that do (`layout.arrays`, option `extended`).

What a bead then has besides its place and velocity stands in `State.extra` and, in kernels, in the array `extra`: a row
for each row of `starts`, of the columns that `EXTRA` names. Where potentials have steps, a table of the beads that a
bead is within a step of follows: numbers (id + 1) LEVELS + level in ascending order, then zeros. A first entry of
UNKNOWN means that it has not been looked at yet; distances then say it, at the very start and never again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hpcchain.layout import arrays as L
from hpcchain.model.physics.constants import ExtendedPhysics
from hpcchain.model.system import WHOLE

if TYPE_CHECKING:
    from hpcchain.model.physics.constants import PairConstants, PotentialConstants, StepPotential
    from hpcchain.model.system import Physics

LEVELS = 64
"""One more than the steps that a potential may have at most."""
UNKNOWN = -1.0
"""First entry of the table of a bead of which it is not known yet which others it is within a step of."""
INSIDE_COLUMNS = 16
"""Entries of that table to begin with; it grows when it is full."""

SLOTS, WARM = 12, 4
"""Contacts of a bead whose impulses are kept from step to step, and numbers of each (`steps.friction`)."""


def has(name: str) -> Callable[[Physics], bool]:
    """Return a test whether `Physics.extended` has something of this name; a seed of 0 is one."""
    return lambda physics: getattr(physics.extended, name) != getattr(ExtendedPhysics, name)


class Bounds(NamedTuple):
    """Type of numbers in files, and between which they are; None: all numbers."""

    dtype: type
    least: float | None
    most: float | None


@dataclass(frozen=True)
class ExtraColumn:
    """One group of columns of `State.extra`, and the table that files have of it.

    Attributes
    ----------
    name : str
        Of the table, state/NAME.
    first, columns : int
        Where it is in a row; 0 columns: all from there on.
    bounds : Bounds
    present : callable
        Of a Physics: whether its runs have it.
    meaning : str
    """

    name: str
    first: int
    columns: int
    bounds: Bounds
    present: Callable[[Physics], bool]
    meaning: str


NUMBER, UNIT = Bounds(np.float64, None, None), Bounds(np.float64, -1.0, 1.0)
CLOCK, COUNT = Bounds(np.float64, 0.0, WHOLE), Bounds(np.int64, 0, WHOLE)

EXTRA = (
    ExtraColumn(
        "angular_velocity", L.SPIN, 3, NUMBER, has("rough"), "angular velocity, constant between contacts [1 / time]"
    ),
    ExtraColumn(
        "orientation",
        L.ORIENTATION,
        4,
        UNIT,
        has("orientations"),
        "unit quaternion of how the bead was turned when its angular velocity last changed",
    ),
    ExtraColumn("turned", L.TURNED, 2, CLOCK, has("orientations"), "ticks and remainder of when that was"),
    ExtraColumn(
        "contacts",
        L.CONTACTS,
        1,
        COUNT,
        lambda physics: is_extended(physics) and not physics.steps,
        "events that the bead has taken part in",
    ),
    ExtraColumn("draws", L.DRAWS, 1, COUNT, has("seed"), "random numbers that the bead has drawn"),
    ExtraColumn(
        "next_draw",
        L.NEXT_DRAW,
        2,
        CLOCK,
        has("thermostat"),
        "ticks and remainder of when its molecule's velocities are drawn next; 0 where they never were",
    ),
    ExtraColumn(
        "impulses",
        L.INSIDE,
        WARM * SLOTS,
        NUMBER,
        has("impulses"),
        "impulses of the bead's contacts in the last step, with which the next one begins",
    ),
    ExtraColumn(
        "inside", L.INSIDE, 0, COUNT, has("potentials"), "beads that the bead is within a step of, and of which one"
    ),
)
"""What `State.extra` has; a new capability adds its columns here (docs/developer/data_layout.md)."""


def type_pairs(types: tuple[str, ...] | None, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of types of beads that a potential is for: all of these names where it says none."""
    if types is not None:
        return [(min(types), max(types))]
    return [(min(a, b), max(a, b)) for i, a in enumerate(names) for b in names[i:]]


def types_apart(
    names: tuple[str, ...], given: Iterable[PairConstants | StepPotential | PotentialConstants]
) -> tuple[tuple[str, ...], np.ndarray]:
    """Return those of the names of types that some things tell apart, and which of them each name is like.

    Types that nothing names are alike. The first stands for all, so that tables of pairs do not grow with their number.

    Parameters
    ----------
    names : tuple of str
    given : iterable of PairConstants, StepPotential or PotentialConstants
        Their `types` are looked at.
    """
    named = {name for one in given for name in one.types or ()}
    other = next((name for name in names if name not in named), "")
    apart = tuple(name for name in names if name in named or name == other)
    number = {name: k for k, name in enumerate(apart)}
    return apart, np.array([number[name if name in named else other] for name in names], dtype=np.int64)


def types_of_contacts(names: tuple[str, ...], physics: Physics) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the types of beads that coefficients of contacts tell apart, as `types_apart` does."""
    return types_apart(names, physics.acting.pairs)


def is_extended(physics: Physics) -> bool:
    """Return whether a run with these constants has more than smooth hard beads."""
    return physics.extended != ExtendedPhysics()


def inside_columns(physics: Physics) -> int:
    """Return how many entries the table of the beads inside has to begin with, or that of impulses; 0 without both."""
    if has("impulses")(physics):
        return WARM * SLOTS
    return INSIDE_COLUMNS if has("potentials")(physics) else 0


def first_rows(beads: int) -> np.ndarray:
    """Return `State.extra` of beads at time 0, but for the table of beads inside: (beads, INSIDE) float64."""
    rows = np.zeros((beads, L.INSIDE))
    rows[:, L.ORIENTATION] = 1.0
    return rows


def widened(rows: np.ndarray, columns: int) -> np.ndarray:
    """Return rows of `State.extra` with at least so many columns."""
    more = max(columns - rows.shape[1], 0)
    return np.column_stack([rows, np.zeros((len(rows), more))]) if more else rows


def complete(rows: np.ndarray, physics: Physics, inside: int) -> np.ndarray:
    """Return rows of `State.extra` as sectors have them: those of time 0 where there are none, else wide enough.

    Parameters
    ----------
    rows : (n, columns) float64 array
    physics : Physics
        Of the run.
    inside : int
        Entries at least of the table of beads inside; no fewer than a run begins with.
    """
    if not is_extended(physics):
        return rows
    known = rows.shape[1] > L.INSIDE or not has("potentials")(physics)
    rows = rows if rows.shape[1] else first_rows(len(rows))
    rows = widened(rows, L.INSIDE + max(inside, inside_columns(physics)))
    if not known:
        rows[:, L.INSIDE] = UNKNOWN
    return rows


def tables_of(physics: Physics) -> list[ExtraColumn]:
    """Return the groups of columns that runs with these constants have, in the table's order."""
    return [one for one in EXTRA if is_extended(physics) and one.present(physics)]


def column(rows: np.ndarray, one: ExtraColumn, columns: int = 0) -> np.ndarray:
    """Return the table that files have of a group of columns of `State.extra`; `columns`: how many of a last one."""
    count = one.columns or columns
    part = rows[:, one.first : one.first + count].astype(one.bounds.dtype)
    return part[:, 0] if one.columns == 1 else part


def joined(tables: Mapping[str, np.ndarray], beads: int) -> np.ndarray:
    """Return `State.extra` of the tables that a file has, name -> (beads, ...) array; no columns if it has none."""
    rows = first_rows(beads) if tables else np.zeros((beads, 0))
    for one in EXTRA:
        if one.name in tables:
            part = np.asarray(tables[one.name], dtype=np.float64)
            part = part[:, None] if part.ndim == 1 else part  # a rank may have no beads
            rows = widened(rows, one.first + part.shape[1])
            rows[:, one.first : one.first + part.shape[1]] = part
    return rows
