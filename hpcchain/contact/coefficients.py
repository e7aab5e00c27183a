"""Coefficients of contacts by types of beads, of both engines: one table, read here alone; and contacts that last.

A wall's own go before those of a pair with it, and these before those of all contacts.

A contact takes energy only when neither of its beads has had another within the contact time before it; else e_n is 1:
the TC model of Luding and McNamara (Marinkovic 2022, (35), which needs "and" for "or"). Without this, beads that are
pressed together while they lose energy meet infinitely often in a finite time.

What is left of a bead's last contact is a whole number, of WHOLE_CONTACT when it begins, and shrinks with the segments.
It is counted in the longest contact time of any pair. A contact of a pair whose own time is shorter keeps its energy
while more is left than the difference of the two.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.errors import ConfigError
from hpcchain.jit.decorators import inlined, kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.arrays import WHOLE_CONTACT
from hpcchain.layout.clock import age
from hpcchain.layout.segment_bits import in_contact, set_in_contact
from hpcchain.model.physics.walls import NOT_GIVEN, number_of_wall, shapes_of

if TYPE_CHECKING:
    from hpcchain.model.system import Physics

OF_PAIRS = {
    "restitution": L.PAIR_NORMAL,
    "tangential_restitution": L.PAIR_TANGENTIAL,
    "friction": L.PAIR_FRICTION,
}
"""Which column a key of [[contact.pair]] is of."""


def coefficient_table(physics: Physics, names: tuple) -> np.ndarray:
    """Return the coefficients for types of these names, (types, types + 6 + walls with shapes, PAIR_COEFFICIENTS).

    They are of two types; then of a type and each wall, in the order of their codes -1, -2, ...

    Raises
    ------
    ConfigError
        Where a pair names a type that no bead has.
    """
    extended, steps = physics.extended, physics.steps
    table = np.zeros((len(names), len(names) + L.SIDES + len(shapes_of(physics)), L.PAIR_COEFFICIENTS))
    table[:, :, L.PAIR_NORMAL] = physics.restitution
    table[:, :, L.PAIR_TANGENTIAL] = 1.0 if extended.rough is None else extended.rough.tangential_restitution
    table[:, :, L.PAIR_LEFT] = most_left(physics, physics.contact_time)
    table[:, :, L.PAIR_FRICTION] = 0.0 if steps is None else steps.friction or 0.0
    for number, one in enumerate(physics.acting.pairs):
        i, j = (row_of_type(name, names, f"contact.pair[{number}]") for name in one.types)
        own = {column: getattr(one, key) for key, column in OF_PAIRS.items()}
        if one.contact_time is not None:
            own[L.PAIR_LEFT] = most_left(physics, one.contact_time)
        for column, value in own.items():
            if value is not None:
                table[i, j, column] = value
                if j < len(names):
                    table[j, i, column] = value
    for wall in extended.walls:
        column = len(names) + number_of_wall(physics, wall)
        if wall.restitution != NOT_GIVEN:
            table[:, column, L.PAIR_NORMAL] = wall.restitution
        if wall.tangential_restitution is not None:
            table[:, column, L.PAIR_TANGENTIAL] = wall.tangential_restitution
    return table


def most_left(physics: Physics, contact_time: float) -> float:
    """Return what may be left of a contact while one that takes this long takes energy again."""
    longest = physics.longest_contact_time
    return WHOLE_CONTACT if longest == 0.0 else math.floor(WHOLE_CONTACT * (1.0 - contact_time / longest))


def row_of_type(name: str, names: tuple, where: str) -> int:
    """Return the row of a type or wall."""
    if name in names:
        return names.index(name)
    if name in L.SIDE_NAMES:
        return len(names) + L.SIDE_NAMES.index(name)
    raise ConfigError(f"{where}.types: {name!r} is no type of beads; types are {', '.join(names)}")


@kernel
def trait(s, i, which):
    """Return a number of bead i's own: TRAIT_TYPE or TRAIT_INVERSE_MOMENT."""
    m = s.segment[i, L.MOLECULE]
    b = i - s.mol[m, L.MOL_FIRST]
    return s.table[s.mol[m, L.MOL_TABLE] - L.LIMITS - L.TRAITS * (b + 1) + which]


@kernel
def row_of(s, i, other):
    """Return the row of `coefficients` of bead i and another, or a wall (below 0)."""
    if s.extended is not None:
        columns = np.int64(s.par[L.PAIR_COLUMNS])
        first = np.int64(trait(s, i, L.TRAIT_TYPE))
        second = np.int64(trait(s, other, L.TRAIT_TYPE)) if other >= 0 else columns - len(s.walls) - 1 - other
        return first * columns + second
    return np.int64(0)  # runs with nothing beyond smooth hard beads have one for all


@kernel
def lasts(s, row, i, other):
    """Whether bead i and another, or a wall (below 0), still are in a contact at the event at hand.

    `row` is theirs of `coefficients`. A contact that lasts keeps the energy.
    """
    if s.par[L.CONTACT_RATE] == 0.0:
        return False
    most = s.coefficients[row, L.PAIR_LEFT]
    if left_after(s, i, age(s, i)) > most:
        return True
    return other >= 0 and left_after(s, other, age(s, other)) > most


@kernel
def restitution(s, i, other):
    """Return e_n and e_t of bead i and another, or a wall (below 0), at the time of a contact; 1, 1 of one that lasts.

    Read before their segments are closed. In runs without spins e_t is 1.
    """
    row = row_of(s, i, other)
    if lasts(s, row, i, other):
        return 1.0, 1.0
    if s.extended is not None:
        return s.coefficients[row, L.PAIR_NORMAL], s.coefficients[row, L.PAIR_TANGENTIAL]
    return s.coefficients[row, L.PAIR_NORMAL], 1.0


@kernel
def tied_tangential(s, k):
    """Return e_t of contact k of `tied`, which does not last (`any_rough`)."""
    return s.coefficients[row_of(s, s.tied[k, L.FIRST_BEAD], s.tied[k, L.SECOND_BEAD]), L.PAIR_TANGENTIAL]


@kernel
def restitutions(s, count):
    """Write e_n of the first `count` contacts of `tied`, which are resolved together, to RESTITUTION_ROW of `matrix`.

    Each has its own; all have 1 where any lasts: what presses on one another at one instant is one contact.
    """
    e = s.matrix[L.RESTITUTION_ROW]
    keeps = False
    for k in range(count):
        i, j = s.tied[k, L.FIRST_BEAD], s.tied[k, L.SECOND_BEAD]
        row = row_of(s, i, j)
        e[k] = s.coefficients[row, L.PAIR_NORMAL]
        keeps = keeps or lasts(s, row, i, j)
    if keeps:
        e[:count] = 1.0


@kernel
def any_rough(s, count):
    """Whether one of the first `count` contacts of `tied` pushes and makes beads spin.

    Read before segments are closed. All are smooth where any lasts, as they have e_n = 1 then (`restitutions`).
    """
    rough = False
    if s.extended is not None:
        for k in range(count):
            i, j = s.tied[k, L.FIRST_BEAD], s.tied[k, L.SECOND_BEAD]
            row = row_of(s, i, j)
            if lasts(s, row, i, j):
                return False
            rough = rough or (s.impulses[k] > 0.0 and s.coefficients[row, L.PAIR_TANGENTIAL] != 1.0)
    return rough


def contact_rate(contact_time: float) -> float:
    """Return how fast what is left of a contact shrinks [1 / time]; 0 where contacts take no time."""
    return WHOLE_CONTACT / contact_time if contact_time > 0.0 else 0.0


@kernel
def left_after(s, i, dt):
    """Return what is left of bead i's last contact a time dt after its segment began."""
    left = in_contact(s.segment, i)
    if left == 0 or dt <= 0.0:
        return left
    gone = dt * s.par[L.CONTACT_RATE]
    return left - np.int64(math.ceil(gone)) if gone < left else np.int64(0)


@inlined
def pass_time(s, first, beads, dt):
    """Take a time dt, the length of their segment, off what is left of the contacts of beads first, first + 1, ..."""
    if s.par[L.CONTACT_RATE] != 0.0:
        for i in range(first, first + beads):
            set_in_contact(s.segment, i, left_after(s, i, dt))


@inlined
def begin_contact(s, i):
    """Note that a contact of bead i begins with its segment."""
    if s.par[L.CONTACT_RATE] != 0.0:
        set_in_contact(s.segment, i, WHOLE_CONTACT)
