"""The division of the box into sectors, one per rank: which rank owns a molecule."""

import numpy as np


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
        self.cuts = []
        self._divide(np.asarray(box.size, dtype=np.float64), points, weights, 0, ranks)

    def _divide(self, size, points, weights, first, ranks):
        """Append the node for ranks first ... first + ranks - 1 and those below it; return its number."""
        node = len(self.cuts)
        self.cuts.append(None)
        if ranks == 1:
            self.cuts[node] = (-1, 0.0, first, first)
            return node
        axis = int(np.argmax(size))
        left = ranks // 2
        order = np.argsort(points[:, axis], kind="stable")
        total = np.cumsum(weights[order])
        at = int(np.searchsorted(total, total[-1] * left / ranks)) if len(order) else 0
        cut = float(points[order[min(at, len(order) - 1)], axis]) if len(order) else 0.0
        below = points[:, axis] < cut
        part = size.copy()
        part[axis] *= left / ranks
        rest = size.copy()
        rest[axis] -= part[axis]
        a = self._divide(part, points[below], weights[below], first, left)
        b = self._divide(rest, points[~below], weights[~below], first + left, ranks - left)
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
