"""Contacts of all bead pairs (every nearby periodic image) and of all beads with the walls, on one stretch of time.

Pairs with wells have contacts with the edges, too, between which they are: which ones is their level.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from .roots import first_roots

PAIR, WALL, INNER, OUTER = range(4)
TOUCHING = 1e-15


SIDES = ("x-", "y-", "z-", "x+", "y+", "z+")


def across(shape):
    """Return (3,) 1 for the axes along which a shape bounds, else 0."""
    return np.array([axis != shape.get("axis") for axis in "xyz"]).astype(int)


def squares(rel):
    """Return the polynomials (2K + 1, Q) of |r|^2 of vectors with coefficients (K + 1, Q, 3)."""
    found = np.zeros((2 * len(rel) - 1, rel.shape[1]), dtype=rel.dtype)
    for k in range(len(rel)):
        found[k : k + len(rel)] += np.sum(rel[k] * rel, axis=2)
    return found


@dataclass(frozen=True)
class Contact:
    """One contact: `first`, `second` bead ids, lower first; a wall is -1 - axis (lower), -4 - axis (upper) or a shape.

    `shift` counts the box lengths to add to the second bead; `dt` is the time after the start of the stretch.
    """

    dt: np.longdouble
    kind: int
    first: int
    second: int
    shift: tuple = (0, 0, 0)

    @property
    def key(self):
        """What identifies the contact, without its time."""
        return self.kind, self.first, self.second, self.shift


class Geometry:
    """Which beads can touch what.

    Parameters
    ----------
    system : tests.reference.systems.System
    dtype : numpy float type
    """

    def __init__(self, system, dtype):
        self.size = np.asarray(system.size, dtype=dtype)
        self.low = np.asarray(system.origin, dtype=dtype)
        self.high = self.low + self.size
        self.boundary = system.boundary
        self.diameter = np.asarray(system.diameter, dtype=dtype)
        molecule, alone = system.molecule_of_bead, system.self_contact
        bonded = system.never
        first, second = np.triu_indices(len(self.diameter), k=1)
        allowed = (molecule[first] != molecule[second]) | alone[molecule[first]]
        self.first, self.second = first[allowed], second[allowed]
        pairs = zip(self.first.tolist(), self.second.tolist(), strict=True)
        self.bonded = np.array([pair in bonded for pair in pairs], dtype=bool)
        self.distance = (self.diameter[self.first] + self.diameter[self.second]) / 2
        choices = [(-1, 0, 1) if kind == "periodic" else (0,) for kind in self.boundary]
        self.offsets = np.array(list(product(*choices)))
        self.shapes = system.shapes
        sides = {wall["side"]: wall.get("velocity", 0.0) for wall in system.walls if "side" in wall}
        rates = [sides.get(side, 0.0) for side in SIDES] + [one.get("velocity", 0.0) for one in self.shapes]
        self.rate = np.array(rates).astype(dtype)
        swings = {wall["side"]: wall["oscillation"] for wall in system.walls if "oscillation" in wall}
        self.swing = {SIDES.index(side): (one["amplitude"], one["period"]) for side, one in swings.items()}
        self.fixed = np.isinf(np.asarray(system.mass))
        self.edges = np.asarray(system.wells[0], dtype=dtype)[::-1]
        self.potential = np.concatenate([[0], np.asarray(system.wells[1], dtype=dtype)[::-1]])
        rel = np.zeros((len(self.diameter), 3)) if system.position is None else system.position
        rel = np.asarray(rel, dtype=dtype)
        rel = rel[self.second] - rel[self.first]
        away = np.sqrt(np.sum((rel + self.nearest(rel) * self.size) ** 2, axis=1))
        self.level = np.sum(away[:, None] < self.edges, axis=1)
        self.stepped = ~self.bonded & ~(self.fixed[self.first] & self.fixed[self.second])

    def search(self, series, h, resolved, time):
        """Return the first contact of every pair and wall within h of the start of Taylor series (K + 1, N, 3).

        Parameters
        ----------
        time : float
            Of the series' start [time].
        resolved : set of Contact.key
            Contacts that were resolved at this very instant and must not be found again at dt = 0.
        """
        scale = series.dtype.type(h) ** np.arange(len(series)).astype(series.dtype)
        scaled = series * scale[:, None, None]
        names, gaps = self.pair_gaps(scaled)
        for more, columns in (self.wall_gaps(scaled, time, h), self.step_gaps(scaled)):
            names += more
            gaps = np.concatenate([gaps, columns], axis=1)
        again = np.array([name in resolved for name in names], dtype=bool)
        leaving = (gaps[0] <= TOUCHING) & (again | (gaps[1] > 0))
        roots = first_roots(gaps, leaving)
        found = [Contact(roots[q] * h, *names[q]) for q in np.flatnonzero(np.isfinite(roots))]
        return sorted(found, key=lambda contact: (contact.dt, contact.key))

    def swinging(self, number, time, count):
        """Return the displacement inwards of the wall of a number, by its oscillation, and `count - 1` derivatives."""
        amplitude, period = self.swing.get(number, (0.0, 1.0))
        angular = 2 * self.size.dtype.type(np.pi) / self.size.dtype.type(period)
        order = np.arange(count)
        return amplitude * angular**order * np.sin(angular * time + order * self.size.dtype.type(np.pi) / 2)

    def rate_at(self, number, time):
        """Return how fast the wall of a number moves inwards at a time [length / time]."""
        return self.rate[number] + self.swinging(number, time, 2)[1]

    def nearest(self, separation):
        """Return (P, 3) box lengths to add to separations (P, 3) for the nearest image."""
        periodic = np.array([kind == "periodic" for kind in self.boundary])
        return -np.where(periodic, np.rint(separation / self.size), 0).astype(int)

    def direct_bond(self, shift):
        """Return (P,) whether pairs at these shifts (P, 3) are bonded beads themselves, not images of them."""
        return self.bonded & np.all(shift == 0, axis=1)

    def pair_gaps(self, scaled):
        """Return names and polynomials (2K + 1, Q) of |r|^2 - d^2 for the pairs that can reach each other."""
        rel = scaled[:, self.second] - scaled[:, self.first]
        reach = np.sum(np.sqrt(np.sum(rel[1:] ** 2, axis=2)), axis=0) * (1 + 1e-9)
        nearest = self.nearest(rel[0])
        names, kept, starts = [], [], []
        for offset in self.offsets:
            shift = nearest + offset
            start = rel[0] + shift * self.size
            close = np.sqrt(np.sum(start**2, axis=1)) - self.distance <= reach + TOUCHING
            close &= ~self.direct_bond(shift) & ~(self.fixed[self.first] & self.fixed[self.second])
            for p in np.flatnonzero(close):
                names.append((PAIR, int(self.first[p]), int(self.second[p]), tuple(shift[p].tolist())))
                kept.append(p)
                starts.append(start[p])
        gaps = np.zeros((2 * len(scaled) - 1, len(kept)), dtype=scaled.dtype)
        if kept:
            rel = rel[:, kept]
            rel[0] = starts
            gaps = squares(rel)
            gaps[0] -= self.distance[kept] ** 2
        return names, gaps

    def step_gaps(self, scaled):
        """Return names and polynomials (2K + 1, Q) of the edges between which the nearest images of pairs are."""
        rel = scaled[:, self.second] - scaled[:, self.first]
        shift = self.nearest(rel[0])
        rel[0] += shift * self.size
        names, columns = [], []
        stepped = np.flatnonzero(self.stepped) if len(self.edges) else ()
        for p, square in zip(stepped, squares(rel[:, stepped]).T if len(stepped) else (), strict=True):
            pair = int(self.first[p]), int(self.second[p]), tuple(shift[p].tolist())
            for kind, at, sign in ((INNER, self.level[p], 1), (OUTER, self.level[p] - 1, -1)):
                if 0 <= at < len(self.edges):
                    gap = sign * square
                    gap[0] -= sign * self.edges[at] ** 2
                    names.append((kind, *pair))
                    columns.append(gap)
        empty = np.zeros((2 * len(scaled) - 1, 0), dtype=scaled.dtype)
        return names, np.stack(columns, axis=1) if columns else empty

    def wall_gaps(self, scaled, time=0.0, h=1.0):
        """Return names and polynomials (2K + 1, Q) of the distance of every bead's surface from every wall.

        Of shapes it is the square of the radius that is left for the centre, less that of the centre's distance.
        """
        names, columns = [], []
        for bead in np.flatnonzero(~self.fixed).tolist():
            radius = self.diameter[bead] / 2
            for axis in (axis for axis in range(3) if self.boundary[axis] == "wall"):
                lower, upper = scaled[:, bead, axis].copy(), -scaled[:, bead, axis]
                lower[0] -= self.low[axis] + self.rate[axis] * time + radius
                upper[0] += self.high[axis] - self.rate[3 + axis] * time - radius
                lower[1:2] -= self.rate[axis] * h
                upper[1:2] -= self.rate[3 + axis] * h
                if self.swing:
                    powers = np.cumprod(np.append(scaled.dtype.type(1), h / np.arange(1, len(scaled))))
                    lower -= powers * self.swinging(axis, time, len(scaled))
                    upper -= powers * self.swinging(3 + axis, time, len(scaled))
                names += [(WALL, bead, -1 - axis, (0, 0, 0)), (WALL, bead, -4 - axis, (0, 0, 0))]
                columns += [np.concatenate([gap, np.zeros_like(gap[1:])]) for gap in (lower, upper)]
            for number, shape in enumerate(self.shapes):
                away = scaled[:, bead] * across(shape)
                away[0] -= np.asarray(shape["center"], dtype=scaled.dtype) * across(shape)
                gap = -squares(away[:, None])[:, 0]
                rate = self.rate[6 + number]
                free = shape["radius"] - rate * time - radius
                gap[0] += free**2
                gap[1:2] -= 2 * free * rate * h
                gap[2:3] += (rate * h) ** 2
                names.append((WALL, bead, -7 - number, (0, 0, 0)))
                columns.append(gap)
        empty = np.zeros((2 * len(scaled) - 1, 0), dtype=scaled.dtype)
        return names, np.stack(columns, axis=1) if columns else empty

    def row(self, contact, position):
        """Return the (N, 3) gradient of the gap: unit normal on the second bead, its opposite on the first."""
        row = np.zeros_like(position)
        if contact.kind == WALL and contact.second <= -7:
            shape = self.shapes[-7 - contact.second]
            away = (position[contact.first] - np.asarray(shape["center"], dtype=position.dtype)) * across(shape)
            row[contact.first] = -away / np.sqrt(np.sum(away**2))
            return row
        if contact.kind == WALL:
            lower = contact.second > -4
            row[contact.first, -1 - contact.second if lower else -4 - contact.second] = 1 if lower else -1
            return row
        separation = position[contact.second] + np.array(contact.shift) * self.size - position[contact.first]
        normal = separation / np.sqrt(np.sum(separation**2))
        row[contact.first], row[contact.second] = -normal, normal
        return row

    def smallest_gap(self, position):
        """Return the least surface distance of any pair or wall at positions (N, 3) [length]; inf if there is none."""
        rel = position[self.second] - position[self.first]
        least = np.inf
        nearest = self.nearest(rel)
        for offset in self.offsets:
            shift = nearest + offset
            surface = np.sqrt(np.sum((rel + shift * self.size) ** 2, axis=1)) - self.distance
            least = min(least, np.min(surface[~self.direct_bond(shift)], initial=np.inf))
        _, walls = self.wall_gaps(position[None])
        return min(least, np.min(walls[0], initial=np.inf))
