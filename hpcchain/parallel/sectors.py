"""The division of the box into sectors, one per rank: which rank owns a molecule."""

import numpy as np

PART = 0.7  # of the way to equal weights that a side is moved: those above and below it in the tree move, too


class Grid:
    """Equal boxes in nx by ny by nz.

    Parameters
    ----------
    box : Box
    counts : sequence of 3 int
        Their product is the number of ranks.
    """

    def __init__(self, box, counts):
        self.origin, self.size = box.origin, box.size
        self.counts = np.asarray(counts, dtype=np.int64)

    def owner(self, points):
        """Return the rank (n,) int64 of points (n, 3); what lies outside belongs to the nearest sector."""
        place = np.floor((points - self.origin) / self.size * self.counts).astype(np.int64)
        place = np.clip(place, 0, self.counts - 1)
        return (place[:, 0] * self.counts[1] + place[:, 1]) * self.counts[2] + place[:, 2]


class Bisection:
    """Boxes by recursive bisection along their longest edge, with equal weights of points on both sides.

    Parameters
    ----------
    box : Box
    points : (n, 3) float64 array
        Where the work is [length].
    weights : (n,) float64 array
    ranks : int
    """

    def __init__(self, box, points, weights, ranks):
        self.box, self.ranks = box, ranks
        self.cuts = []
        self._divide(*self._whole(), points, weights, 0, ranks, None, 0, 0.0)

    def moved(self, points, weights, most):
        """Return the same boxes with their sides moved towards equal weights.

        Parameters
        ----------
        points, weights :
            Of the present work.
        most : float
            How far a side may move, as a part of the edge that it divides: those who own what lies between change, so
            steps are small, and a wrong guess of the weights does little harm.
        """
        other = object.__new__(Bisection)
        other.box, other.ranks, other.cuts = self.box, self.ranks, []
        other._divide(*self._whole(), points, weights, 0, self.ranks, self.cuts, 0, most)
        return other

    def _whole(self):
        origin = np.asarray(self.box.origin, dtype=np.float64)
        return origin, origin + self.box.size

    def _divide(self, low, high, points, weights, first, ranks, earlier, at, most):
        """Append the node for ranks first ... first + ranks - 1 and those below it; return its number.

        Parameters
        ----------
        low, high : (3,) float64 array
            Corners of the node's box [length].
        earlier : list or None
            Nodes of the division to begin from, `at` the place of this one there, and `most` how far from it to go.
        """
        node = len(self.cuts)
        self.cuts.append(None)
        if ranks == 1:
            self.cuts[node] = (-1, 0.0, first, first)
            return node
        left = ranks // 2
        axis, before, a, b = (int(np.argmax(high - low)), None, 0, 0) if earlier is None else earlier[at]
        cut = balanced_cut(points[:, axis], weights, left / ranks)
        if before is not None:
            reach = most * (high[axis] - low[axis])
            part = 0.0 if cut is None else PART * (cut - before)
            cut = float(np.clip(before + part, before - reach, before + reach))
        elif cut is None:
            cut = float(low[axis] + (high[axis] - low[axis]) * left / ranks)
        below = points[:, axis] < cut
        middle = float(np.clip(cut, low[axis], high[axis]))
        split_high, split_low = high.copy(), low.copy()
        split_high[axis] = split_low[axis] = middle
        a = self._divide(low, split_high, points[below], weights[below], first, left, earlier, a, most)
        b = self._divide(split_low, high, points[~below], weights[~below], first + left, ranks - left, earlier, b, most)
        self.cuts[node] = (axis, cut, a, b)
        return node

    def owner(self, points):
        """Return the rank (n,) int64 of points (n, 3)."""
        owner = np.zeros(len(points), dtype=np.int64)
        self._assign(0, points, np.arange(len(points)), owner)
        return owner

    def _assign(self, node, points, which, owner):
        axis, cut, a, b = self.cuts[node]
        if axis < 0:
            owner[which] = a
            return
        below = points[which, axis] < cut
        self._assign(a, points, which[below], owner)
        self._assign(b, points, which[~below], owner)


def balanced_cut(places, weights, share):
    """Return where to cut a line so that a share of the weights lies below, None where nothing lies.

    Parameters
    ----------
    places, weights : (n,) float64 array
    share : float
    """
    if not len(places):
        return None
    order = np.argsort(places, kind="stable")
    total = np.cumsum(weights[order])
    at = int(np.searchsorted(total, total[-1] * share))
    return float(places[order[min(at, len(order) - 1)]])


def sectors_for(box, counts, points, weights, ranks):
    """Return the division into these three counts, or one by bisection for None."""
    return Bisection(box, points, weights, ranks) if counts is None else Grid(box, counts)


def reference_points(box, topology, position, molecules):
    """Return (n, 3) centres of mass of molecules, brought into the box along periodic axes [length].

    Parameters
    ----------
    box : Box
    topology : Topology
    position : (N, 3) float64 array
        Of all beads; those of other molecules are not looked at [length].
    molecules : (n,) int64 array
    """
    first, last = topology.first_bead[molecules], topology.first_bead[molecules + 1]
    count = last - first
    group = np.repeat(np.arange(len(molecules)), count)
    beads = np.arange(int(count.sum())) + np.repeat(first - (np.cumsum(count) - count), count)
    mass = topology.mass[beads]
    total = np.bincount(group, mass, len(molecules))
    centre = np.column_stack([np.bincount(group, mass * position[beads, c], len(molecules)) for c in range(3)])
    centre = centre / total[:, None]
    wrapped = box.origin + (centre - box.origin) % box.size
    return np.where(box.boundary == 0, wrapped, centre)
