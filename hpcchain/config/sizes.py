"""Beads of one kind that have many sizes: a distribution, or a list with shares, made molecules of equal ones.

A kind with sizes becomes kinds of its name that follow one another, each of molecules that are alike: so all else knows
fixed diameters alone. No number depends on ranks. Diameters are rounded, so that every machine finds the same.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from hpcchain.config.keys.values import CUT, MOST_SIZES, Shares, Spread, Wrong

if TYPE_CHECKING:
    from hpcchain.config.keys.sections import MoleculeSection

DIGITS = 9
HALVINGS = 60
OF_START = ("positions", "velocities", "orientations", "angular_velocities")
"""Rows of an explicit start."""


def expanded(kinds: Sequence[MoleculeSection], seed: int) -> tuple[MoleculeSection, ...]:
    """Return kinds with fixed diameters.

    Parameters
    ----------
    kinds : sequence of MoleculeSection
        As they are read; the rows of their starts are as many as they should be.
    seed : int
        Of which bead of a molecule has which size. Single beads have them in the list's order, or ascending.
    """
    found: list[MoleculeSection] = []
    for index, kind in enumerate(kinds):
        found += [kind] if kind.sizes is None else _variants(kind, kind.sizes, seed, index)
    return tuple(found)


def gathered(kinds: Iterable[MoleculeSection]) -> list[MoleculeSection]:
    """Return kinds as they were before they were `expanded`."""
    found = []
    for _, same in itertools.groupby(kinds, key=lambda kind: kind.name):
        parts = list(same)
        rows = {name: [getattr(one, name) for one in parts] for name in OF_START}
        start = {name: None if own[0] is None else np.concatenate(own) for name, own in rows.items()}
        whole = replace(parts[0], count=sum(one.count for one in parts), **start)  # type: ignore[arg-type]
        found.append(parts[0] if len(parts) == 1 else whole)
    return found


def table_number(kinds: Sequence[MoleculeSection], index: int) -> int:
    """Return which [[molecule]] table of the input a kind is of."""
    return len({kind.name for kind in kinds[: index + 1]}) - 1


def in_tables(text: str, kinds: Sequence[MoleculeSection]) -> str:
    """Return a message with the numbers of kinds as those of the tables that they are of."""
    return re.sub(r"\bmolecule\[(\d+)\]", lambda found: f"molecule[{table_number(kinds, int(found[1]))}]", text)


def with_counts(kinds: Sequence[MoleculeSection], times: int) -> tuple[MoleculeSection, ...]:
    """Return kinds with so many times as many molecules, and sizes that are a list of what there is.

    Raises Wrong for sizes of molecules of more beads than one, whose order along them a list does not say.
    """
    found = []
    for index, kind in enumerate(kinds):
        sizes = kind.sizes
        if sizes is not None:
            if kind.beads > 1:
                where = f"molecule[{table_number(kinds, index)}].diameter"
                raise Wrong(f"{where}: molecules with beads of many sizes cannot be copied; make the large box at once")
            like = [one for one in kinds if one.name == kind.name]
            shares = tuple(float(one.count) for one in like)
            sizes = Shares(tuple(float(np.max(one.diameter)) for one in like), shares)
        found.append(replace(kind, count=kind.count * times, sizes=sizes, **dict.fromkeys(OF_START)))  # type: ignore[arg-type]
    return tuple(found)


def _variants(kind: MoleculeSection, sizes: Spread | Shares, seed: int, index: int) -> list[MoleculeSection]:
    """Return the kinds of equal molecules that a kind with sizes is made of."""
    variants = kind.count if kind.beads == 1 else min(kind.count, MOST_SIZES)
    shares = _shared_out(sizes, variants * kind.beads)
    each: list[tuple[float | tuple[float, ...], int]] = list(shares)
    if kind.beads > 1:
        from hpcchain.model.random import Stream, raw  # here: commands without sizes need no kernel

        order = np.argsort(raw(seed, Stream.SIZES, np.arange(variants * kind.beads), index)[:, 0], kind="stable")
        diameters = np.repeat([one for one, _ in shares], [number for _, number in shares])[order]
        rows_of_beads = diameters.reshape(variants, kind.beads).tolist()
        ends = [k * kind.count // variants for k in range(variants + 1)]
        numbers = [last - first for first, last in itertools.pairwise(ends)]
        each = [(tuple(own), number) for own, number in zip(rows_of_beads, numbers, strict=True)]
    found: list[MoleculeSection] = []
    end = 0
    for diameter, same in itertools.groupby(each, key=lambda one: one[0]):
        begin, end = end, end + sum(number for _, number in same)
        rows = {name: getattr(kind, name) for name in OF_START}
        part = {
            name: None if own is None else own[begin * len(own) // kind.count : end * len(own) // kind.count]
            for name, own in rows.items()
        }
        found.append(replace(kind, count=end - begin, diameter=diameter, **part))  # type: ignore[arg-type]
    return found


def _shared_out(sizes: Spread | Shares, count: int) -> list[tuple[float, int]]:
    """Return diameters of so many beads [length], and how many have each: as its share says, to one."""
    if isinstance(sizes, Shares):
        values, shares = list(sizes.sizes), [Fraction(share) for share in sizes.shares]
        quota = [share * count / sum(shares) for share in shares]
        numbers = [math.floor(one) for one in quota]
        short = sorted(range(len(quota)), key=lambda k: (numbers[k] - quota[k], k))[: count - sum(numbers)]
        numbers = [number + (k in short) for k, number in enumerate(numbers)]
    else:
        most = min(count, MOST_SIZES)
        numbers = [(k + 1) * count // most - k * count // most for k in range(most)]
        values = _levels(sizes, numbers)
    return [(value, number) for value, number in zip(values, numbers, strict=True) if number]


def _levels(sizes: Spread, numbers: list[int]) -> list[float]:
    """Return diameters [length], ascending, so many beads of each; together they have the mean and deviation."""
    mean, deviation = sizes.mean, sizes.deviation
    ends = list(itertools.accumulate(numbers, initial=0))
    normal, low = NormalDist(), NormalDist().cdf(-CUT)
    middles = [0.5 * (begin + end) / ends[-1] for begin, end in itertools.pairwise(ends)]
    z = [normal.inv_cdf(low + (1.0 - 2.0 * low) * u) for u in middles]
    if sizes.distribution == "normal":
        centre, spread = _moments(z, numbers)
        found = [mean + deviation * (one - centre) / (spread or 1.0) for one in z]
    else:
        least, most = 0.0, 10.0
        for _ in range(HALVINGS):
            width = 0.5 * (least + most)
            centre, spread = _moments([math.exp(width * one) for one in z], numbers)
            least, most = (width, most) if spread < deviation / mean * centre else (least, width)
        scaled = [math.exp(least * one) for one in z]
        found = [mean * one / _moments(scaled, numbers)[0] for one in scaled]
    return [float(f"{one:.{DIGITS}g}") for one in found]


def _moments(values: list[float], numbers: list[int]) -> tuple[float, float]:
    """Return mean and deviation of values of which there are so many each."""
    count = sum(numbers)
    mean = math.fsum(value * number for value, number in zip(values, numbers, strict=True)) / count
    square = math.fsum((value - mean) ** 2 * number for value, number in zip(values, numbers, strict=True)) / count
    return mean, math.sqrt(square)
