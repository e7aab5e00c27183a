"""Coefficients of contacts by types of beads: e_n, e_t and contact time of each pair, and of each type and wall.

Those of a wall's own go before those of a pair with it.

What is left of a bead's last contact (`contact.tc_model`) is counted in the longest contact time of any pair. A contact
of a pair whose own time is shorter keeps its energy while more is left than the difference of the two.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.contact.tc_model import left_after, restitution_at, restitution_now
from hpcchain.errors import ConfigError
from hpcchain.jit.decorators import kernel
from hpcchain.layout import arrays as L
from hpcchain.layout.arrays import WHOLE_CONTACT
from hpcchain.layout.clock import since_start
from hpcchain.layout.segment_bits import in_contact
from hpcchain.model.physics.walls import NOT_GIVEN, number_of_wall, shapes_of

if TYPE_CHECKING:
    from hpcchain.model.system import Physics


def pair_coefficients(physics: Physics, names: tuple) -> np.ndarray:
    """Return `coefficients` (`layout.arrays`) for types of these names.

    Raises
    ------
    ConfigError
        Where a pair names a type that no bead has.
    """
    columns = len(names) + L.SIDES + len(shapes_of(physics))
    rough = physics.extended.rough
    table = np.zeros((columns, columns, 4))
    table[:, :, L.PAIR_NORMAL] = physics.restitution
    table[:, :, L.PAIR_TANGENTIAL] = 1.0 if rough is None else rough.tangential_restitution
    table[:, :, L.PAIR_LEFT] = most_left(physics, physics.contact_time)
    for number, one in enumerate(physics.extended.pairs):
        i, j = (row_of_type(name, names, f"contact.pair[{number}]") for name in one.types)
        own = {L.PAIR_NORMAL: one.restitution, L.PAIR_TANGENTIAL: one.tangential_restitution}
        if one.contact_time is not None:
            own[L.PAIR_LEFT] = most_left(physics, one.contact_time)
        for column, value in own.items():
            if value is not None:
                table[i, j, column] = table[j, i, column] = value
    for wall in physics.extended.walls:
        column = len(names) + number_of_wall(physics, wall)
        if wall.restitution != NOT_GIVEN:
            table[:, column, L.PAIR_NORMAL] = wall.restitution
        if wall.tangential_restitution is not None:
            table[:, column, L.PAIR_TANGENTIAL] = wall.tangential_restitution
    return table.reshape(-1, 4)


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
def pair_row(s, i, other):
    """Return the row of `coefficients` of bead i and another, or a wall (below 0)."""
    columns = np.int64(s.par[L.PAIR_COLUMNS])
    first = np.int64(trait(s, i, L.TRAIT_TYPE))
    second = np.int64(trait(s, other, L.TRAIT_TYPE)) if other >= 0 else columns - len(s.walls) - 1 - other
    return first * columns + second


@kernel
def keeps_energy(s, row, i, other):
    """Whether bead i and another, or a wall (below 0), whose segments begin now, still are in a contact (`tc_model`).

    `row` is theirs of `coefficients`.
    """
    if s.par[L.CONTACT_RATE] == 0.0:
        return False
    most = s.coefficients[row, L.PAIR_LEFT]
    return in_contact(s.segment, i) > most or (other >= 0 and in_contact(s.segment, other) > most)


@kernel
def restitution_of(s, i, other, extended):
    """Return e_n for bead i and another, or a wall (below 0), whose segments begin now (`tc_model.pass_time`)."""
    if extended is not None:
        row = pair_row(s, i, other)
        return 1.0 if keeps_energy(s, row, i, other) else s.coefficients[row, L.PAIR_NORMAL]
    return restitution_now(s.par, s.segment, i, other)


@kernel
def tangential_of(s, i, other, extended):
    """Return e_t of the same, 1 where they keep their energy; in runs without spins 1."""
    if extended is not None:
        row = pair_row(s, i, other)
        return 1.0 if keeps_energy(s, row, i, other) else s.coefficients[row, L.PAIR_TANGENTIAL]
    return 1.0


@kernel
def any_rough(s, count, extended):
    """Whether one of the first `count` contacts of `tied` pushes and makes beads spin; their segments begin now.

    All are smooth where any is to keep its energy, as they have e_n = 1 then (`restitutions_of_tied`).
    """
    rough = False
    if extended is not None:
        for k in range(count):
            i, j = s.tied[k, L.FIRST_BEAD], s.tied[k, L.SECOND_BEAD]
            row = pair_row(s, i, j)
            if keeps_energy(s, row, i, j):
                return False
            rough = rough or (s.impulses[k] > 0.0 and s.coefficients[row, L.PAIR_TANGENTIAL] != 1.0)
    return rough


@kernel
def restitutions_of_tied(s, count, ticks, rest, extended):
    """Write e_n of the first `count` contacts of `tied`, which are resolved together, to RESTITUTION_ROW of `matrix`.

    Each has its own; all have 1 where any is to keep its energy (`restitution_at`).
    """
    e = s.matrix[L.RESTITUTION_ROW]
    keeps = False
    if extended is None:
        e[:count] = restitution_at(s, s.tied, count, ticks, rest)
    else:
        for k in range(count):
            row = pair_row(s, s.tied[k, L.FIRST_BEAD], s.tied[k, L.SECOND_BEAD])
            e[k] = s.coefficients[row, L.PAIR_NORMAL]
            for side in range(2):
                j = s.tied[k, side]
                if j >= 0 and s.par[L.CONTACT_RATE] != 0.0:
                    dt = since_start(s, j, ticks, rest)
                    keeps = keeps or left_after(s.par, s.segment, j, dt) > s.coefficients[row, L.PAIR_LEFT]
    if keeps:
        e[:count] = 1.0
