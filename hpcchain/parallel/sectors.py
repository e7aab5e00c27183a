"""The division of the box into sectors, one per rank: which rank owns a molecule.

Ranks find a division together, each from its own points: all cuts of one level of the tree are narrowed down at once,
from histograms of weights that all ranks add up. No rank sees another's points. Weights are counted in whole units, so
that their sums, and with them the cuts, are the same in any order and on every rank.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hpcchain.model.system import Box
    from hpcchain.parallel.agreement import Ranks

PART = 0.7  # of the way to equal weights that a side is moved: those above and below it in the tree move, too
BINS, ROUNDS = 16, 8  # of the histograms that a cut is found by: to 2^-32 of the way over the points
UNITS = 2.0**24  # that the heaviest point is counted in; 10^11 of them can be added up


class Grid:
    """Equal boxes in nx by ny by nz.

    Parameters
    ----------
    box : Box
    counts : sequence of 3 int
        Their product is the number of ranks.
    """

    def __init__(self, box: Box, counts: tuple | list) -> None:
        self.origin, self.size = box.origin, box.size
        self.counts = np.asarray(counts, dtype=np.int64)

    def owner(self, points: np.ndarray) -> np.ndarray:
        """Return the rank (n,) int64 of points (n, 3); what lies outside belongs to the nearest sector."""
        cell = np.floor((points - self.origin) / self.size * self.counts).astype(np.int64)
        cell = np.clip(cell, 0, self.counts - 1)
        return (cell[:, 0] * self.counts[1] + cell[:, 1]) * self.counts[2] + cell[:, 2]


@dataclass
class Part:
    """A node of the tree that is to be divided.

    Attributes
    ----------
    low, high : (3,) float64 array
        Corners of its box [length].
    first, ranks : int
        It is for ranks first ... first + ranks - 1.
    least, most : (3,) float64 array
        Where its points lie, those outside of the box among them [length].
    at : int
        Its number in an earlier division.
    """

    low: np.ndarray
    high: np.ndarray
    first: int
    ranks: int
    least: np.ndarray
    most: np.ndarray
    at: int = 0

    def halves(self, axis: int, cut: float, a: int, b: int) -> tuple[Part, Part]:
        """Return the parts below and above a cut, which have the numbers a and b in an earlier division."""
        left = self.ranks // 2
        below = Part(self.low, self.high.copy(), self.first, left, self.least, self.most.copy(), a)
        above = Part(self.low.copy(), self.high, self.first + left, self.ranks - left, self.least.copy(), self.most, b)
        below.high[axis] = above.low[axis] = np.clip(cut, self.low[axis], self.high[axis])
        below.most[axis] = above.least[axis] = np.clip(cut, self.least[axis], self.most[axis])
        return below, above


class Bisection:
    """Boxes by recursive bisection along their longest edge, with equal weights of points on both sides; collective.

    Parameters
    ----------
    box : Box
    points : (n, 3) float64 array
        Where this rank's work is [length].
    weights : (n,) float64 array
    ranks : int
        Number of sectors.
    comm : Ranks

    Attributes
    ----------
    cuts : list of (int, float, int, int)
        Nodes of the tree, level by level: axis, place of the cut, numbers of the nodes below and above it; for a leaf
        the axis is -1, and in place of the numbers stands its rank.
    """

    def __init__(self, box: Box, points: np.ndarray, weights: np.ndarray, ranks: int, comm: Ranks) -> None:
        self.box, self.ranks = box, ranks
        self.cuts = self._divided(points, weights, None, 0.0, comm)

    def moved(self, points: np.ndarray, weights: np.ndarray, most: float, comm: Ranks) -> Bisection:
        """Return the same boxes with their sides moved towards equal weights of the present work; collective.

        `most`: how far a side may move, as a part of the edge that it divides. The owners of what lies between change,
        so steps are small, and a wrong guess of the weights does little harm.
        """
        other = copy(self)
        other.cuts = self._divided(points, weights, self.cuts, most, comm)
        return other

    def _divided(self, points: np.ndarray, weights: np.ndarray, earlier: list | None, most: float, comm: Ranks) -> list:
        """Return the tree's nodes; see `moved`, `earlier` are those to begin from, or None."""
        level, cuts = [self._whole(points, comm)], []
        weights, where = in_units(weights, comm), np.zeros(len(points), dtype=np.int64)
        while level:
            axes = [_axis(part, earlier) for part in level]
            found = _balanced(level, axes, points, weights, where, comm)
            begin, parts = len(cuts) + len(level), []
            for part, axis, cut in zip(level, axes, found, strict=True):
                if axis < 0:
                    cuts.append((-1, 0.0, part.first, part.first))
                    continue
                cut, a, b = _placed(part, axis, cut, earlier, most)
                cuts.append((axis, cut, begin + len(parts), begin + len(parts) + 1))
                parts += part.halves(axis, cut, a, b)
            axis, cut, below, above = (np.array(column) for column in zip(*cuts[-len(level) :], strict=True))
            inner = np.flatnonzero(axis[where] >= 0)
            points, weights, where = points[inner], weights[inner], where[inner]
            lower = points[np.arange(len(where)), axis[where]] < cut[where]
            where = np.where(lower, below[where], above[where]) - begin
            level = parts
        return cuts

    def _whole(self, points: np.ndarray, comm: Ranks) -> Part:
        """Return the tree's root."""
        origin = np.asarray(self.box.origin, dtype=np.float64)
        end = np.full(3, -np.inf)
        ends = [-points.min(axis=0), points.max(axis=0)] if len(points) else [end, end]
        least, most = comm.maximum(np.concatenate(ends)).reshape(2, 3) * [[-1.0], [1.0]]
        if not np.all(np.isfinite(least)):
            least, most = origin, origin + self.box.size  # no rank has points
        return Part(origin, origin + self.box.size, 0, self.ranks, least, most)

    def owner(self, points: np.ndarray) -> np.ndarray:
        """Return the rank (n,) int64 of points (n, 3)."""
        return self.within(points, 0.0)[1]

    def within(self, points: np.ndarray, distance: float) -> tuple[np.ndarray, np.ndarray]:
        """Return (k,) numbers of points and (k,) ranks: all sectors to which a point is nearer than a distance.

        Distances are along the axes of the cuts, through no boundary; a few more may be named.
        """
        axis, cut, below, above = (np.array(column) for column in zip(*self.cuts, strict=True))
        which, node = np.arange(len(points)), np.zeros(len(points), dtype=np.int64)
        while np.any(inner := axis[node] >= 0):
            x, at = points[which, axis[node]], cut[node]
            left, right = inner & (x < at + distance), inner & (x >= at - distance)
            which = np.concatenate([which[~inner], which[left], which[right]])
            node = np.concatenate([node[~inner], below[node[left]], above[node[right]]])
        sequence = np.argsort(which, kind="stable")
        return which[sequence], below[node[sequence]]


def _axis(part: Part, earlier: list | None) -> int:
    """Return along which axis a part is divided, -1 for a leaf."""
    if part.ranks == 1:
        return -1
    return int(np.argmax(part.high - part.low)) if earlier is None else earlier[part.at][0]


def _balanced(
    level: list, axes: list, points: np.ndarray, weights: np.ndarray, where: np.ndarray, comm: Ranks
) -> np.ndarray:
    """Return where cuts leave equal weights per rank on both sides, NaN where nothing lies; see `balanced_cuts`."""
    lines = [k for k, axis in enumerate(axes) if axis >= 0]
    found = np.full(len(level), np.nan)
    if not lines:
        return found
    line, axis = np.full(len(level), -1), np.array(axes)
    line[lines] = np.arange(len(lines))
    inner = np.flatnonzero(axis[where] >= 0)
    places = points[inner, axis[where[inner]]]
    ends = np.array([(level[k].least[axes[k]], level[k].most[axes[k]]) for k in lines])
    share = np.array([level[k].ranks // 2 / level[k].ranks for k in lines])
    found[lines] = balanced_cuts(places, weights[inner], line[where[inner]], *ends.T, share, comm)  # type: ignore[call-arg]
    return found


def _placed(part: Part, axis: int, cut: float, earlier: list | None, most: float) -> tuple[float, int, int]:
    """Return where a part is cut when equal weights give `cut`, and its halves' numbers in an earlier division."""
    if earlier is None:
        even = part.low[axis] + (part.high[axis] - part.low[axis]) * (part.ranks // 2) / part.ranks
        return float(even if np.isnan(cut) else cut), 0, 0
    _, before, a, b = earlier[part.at]
    far = most * (part.high[axis] - part.low[axis])
    shift = 0.0 if np.isnan(cut) else PART * (cut - before)
    return float(np.clip(before + shift, before - far, before + far)), a, b


def in_units(weights: np.ndarray, comm: Ranks) -> np.ndarray:
    """Return weights (n,) float64 as whole numbers, the heaviest of any rank as UNITS; collective."""
    most = comm.maximum(np.array([weights.max(initial=0.0)]))[0]
    return np.rint(weights * (UNITS / most)) if most > 0.0 else np.zeros(len(weights))


def balanced_cuts(
    places: np.ndarray,
    weights: np.ndarray,
    lines: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    share: np.ndarray,
    comm: Ranks,
) -> np.ndarray:
    """Return where to cut lines so that shares of the weights lie below; collective.

    Parameters
    ----------
    places : (n,) float64 array
        Of this rank's points on their lines [length].
    weights : (n,) float64 array
        Whole numbers.
    lines : (n,) int64 array
        On which of k lines a point is.
    low, high : (k,) float64 array
        Ends of what points of all ranks take of a line [length].
    share : (k,) float64 array
        Of all points' weights, to be below the cut.
    comm : Ranks

    Returns
    -------
    (k,) float64 array
        Where one of the two places that a heaviest bin lies between is nearest to that; NaN where nothing lies.
    """
    below, target = np.zeros(len(low), dtype=np.int64), None
    for _ in range(ROUNDS):
        width = (high - low) / BINS
        with np.errstate(invalid="ignore", divide="ignore"):
            bins = np.nan_to_num((places - low[lines]) / width[lines])  # where all lie in one place
        bins = np.clip(bins, 0, BINS - 1).astype(np.int64)
        counts = np.bincount(lines * BINS + bins, weights, len(low) * BINS).astype(np.int64)
        counts = comm.total(counts).reshape(-1, BINS)
        if target is None:
            total = counts.sum(axis=1)
            target = total * share
        upto = below[:, None] + np.cumsum(counts, axis=1)
        chosen = np.minimum(np.sum(upto < target[:, None], axis=1), BINS - 1)
        above = np.take_along_axis(upto, chosen[:, None], axis=1)[:, 0]
        below = above - np.take_along_axis(counts, chosen[:, None], axis=1)[:, 0]
        low, high = low + width * chosen, low + width * (chosen + 1)
        inside = bins == chosen[lines]
        places, weights, lines = places[inside], weights[inside], lines[inside]
    return np.where(total > 0, np.where(target - below < above - target, low, high), np.nan)


def even_share(molecules: int, comm: Any) -> np.ndarray:
    """Return the global numbers of this rank's part, (k,) int64, of molecules that are dealt out evenly.

    `comm` is an Exchange, or what has its `rank` and `size`.
    """
    low, high = (molecules * (comm.rank + k) // comm.size for k in (0, 1))
    return np.arange(low, high)


def brought_in(box: Box, points: np.ndarray) -> np.ndarray:
    """Return points (n, 3) brought into the box along periodic axes [length]."""
    wrapped = box.origin + (points - box.origin) % box.size
    return np.where(box.boundary == 0, wrapped, points)
