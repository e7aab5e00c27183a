"""Rigid bodies of beads, and their free motion by other means than the kernels: extrapolated, in extended precision."""

import numpy as np

from hpcchain.layout import workspace as W
from hpcchain.model.molecules.bodies import body_bonds, body_sites
from hpcchain.propagators.rigid import body as kernels
from tests.support import gases
from tests.support.kernel_tools import make_system

SORTS = ("asymmetric", "flat", "prolate", "oblate", "spherical", "separatrix")
"""Tops: unequal moments, beads in a plane, two equal moments, all equal, and turning about the middle axis."""
COLUMNS = 12  # of the extrapolation
TURN = 0.25  # in a step


def unit(vector):
    """Return a vector of length 1."""
    return np.asarray(vector, float) / np.linalg.norm(vector)


def rotation(rng):
    """Return a random proper rotation (3, 3)."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q *= np.sign(np.diag(r))
    return q * np.sign(np.linalg.det(q))


def sites_of(sort, n, rng):
    """Return places (n, 3) and masses (n,) of a body of some sort about its centre of mass; tops set n themselves."""
    if sort == "spherical":
        return np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) * 0.7, np.full(4, 1.3)
    if sort in ("prolate", "oblate"):
        angle = 2.0 * np.pi * np.arange(3) / 3
        ring = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(3)])
        far = 1.6 if sort == "prolate" else 0.3
        return np.vstack([0.6 * ring, [[0, 0, far], [0, 0, -far]]]), np.array([1.0, 1.0, 1.0, 1.4, 1.4])
    x, mass = rng.normal(size=(n, 3)), rng.uniform(0.3, 3.0, n)
    if sort == "flat":
        x[:, 2] = 0.0
    return x - mass @ x / mass.sum(), mass


def moments(x, mass):
    """Return the inertia tensor (3, 3) about the origin."""
    return mass @ np.sum(x * x, axis=1) * np.eye(3) - np.einsum("n,ni,nj->ij", mass, x, x)


def random_body(sort="asymmetric", n=5, seed=1, turn=1.0, place=None, drift=None):
    """Return (bonds, x, v, mass) of a body that turns at a given rate; without a place and drift these are random."""
    rng = np.random.default_rng([n, seed, 5])
    x, mass = sites_of(sort, n, rng)
    x = x @ rotation(rng).T
    axis = unit(rng.normal(size=3))
    if sort == "separatrix":
        axis = np.linalg.eigh(moments(x, mass))[1] @ unit([1e-7, 1.0, -2e-7])
    place, drift = (rng.normal(size=3) if one is None else np.array(one, float) for one in (place, drift))
    return body_bonds(x), place + x, drift + np.cross(turn * axis, x), mass


def exact(molecule, t):
    """Return positions and velocities (n, 3) of a body after a time.

    A quaternion q turns as q' = (0, w) q / 2 with w = R I^-1 R^T L of the constant angular momentum L. The midpoint
    rule, extrapolated in the square of the step (Gragg), integrates it in extended precision.
    """
    _, x, v, mass = molecule
    centre, drift = mass @ x / mass.sum(), mass @ v / mass.sum()
    away = (x - centre).astype(np.longdouble)
    momentum = np.einsum("n,nk->k", mass.astype(np.longdouble), np.cross(away, v - drift))
    inverse = inverted(moments(away, mass.astype(np.longdouble)))
    rate = float(np.sqrt(np.sum((inverse @ momentum) ** 2)))
    steps = max(1, int(np.ceil(abs(t) * rate / TURN)))
    q = np.array([1, 0, 0, 0], np.longdouble)
    for _ in range(steps):
        q = extrapolated(lambda q: spin(q, inverse, momentum), q, np.longdouble(t) / steps)
        q = q / np.sqrt(q @ q)
    turn = matrix_of(q)
    omega = turn @ (inverse @ (turn.T @ momentum))
    position = away @ turn.T
    return (centre + drift * t + position).astype(float), (drift + np.cross(omega, position)).astype(float)


def inverted(a):
    """Return the inverse of a symmetric (3, 3) matrix in its own precision."""
    rows = [np.cross(a[(k + 1) % 3], a[(k + 2) % 3]) for k in range(3)]
    return np.array(rows).T / (a[0] @ rows[0])


def matrix_of(q):
    """Return the rotation (3, 3) of a unit quaternion."""
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def spin(q, inverse, momentum):
    """Return q' of a body with this inverse inertia at q = 1 and this angular momentum."""
    turn = matrix_of(q / np.sqrt(q @ q))
    w = turn @ (inverse @ (turn.T @ momentum))
    return np.concatenate([[-(w @ q[1:])], w * q[0] + np.cross(w, q[1:])]) / 2


def extrapolated(rate, y, step):
    """Return y after a step of y' = rate(y), by Gragg's midpoint rule and polynomial extrapolation."""
    table = []
    for k in range(COLUMNS):
        parts = 2 * (k + 1)
        h = step / parts
        before, now = y, y + h * rate(y)
        for _ in range(parts - 1):
            before, now = now, before + 2 * h * rate(now)
        row = [(now + before + h * rate(now)) / 2]
        for j, other in enumerate(table[-1] if table else []):
            ratio = np.longdouble((k + 1) ** 2) / np.longdouble((k - j) ** 2)
            row.append(row[j] + (row[j] - other) / (ratio - 1))
        table.append(row)
    return table[-1][-1]


TETRAHEDRON = 0.55 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
BENT = np.array([[-0.9, 0.0, 0.0], [0.0, 0.5, 0.0], [0.9, 0.0, 0.0]])
CROSS = np.array([[0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -0.8]], float)
MANY = np.array([[np.cos(a), np.sin(a), 0.15 * k] for k, a in enumerate(0.7 * np.arange(11))])
SHAPES = {"tetrahedron": TETRAHEDRON, "bent": BENT, "cross": CROSS, "many": MANY}


def gas(kinds, seed, pitch=4.4, boundary=(0, 0, 0), turn=1.0, **settings):
    """Return a System with a molecule of each kind, of SHAPES or of `gases.shape`, on a cubic lattice.

    They are turned at random, and masses are random. `settings` are those of Physics.
    """
    rng = np.random.default_rng([seed, 9])
    count = int(np.ceil(len(kinds) ** (1 / 3)))
    places = rng.permutation(np.array(list(np.ndindex(count, count, count)))) + 0.5
    size = np.full(3, pitch * count)
    molecules, bodies = [], []
    for k, (kind, place) in enumerate(zip(kinds, places, strict=False)):
        bonds, x = (None, SHAPES[kind]) if kind in SHAPES else gases.shape(kind)
        mass = rng.uniform(0.5, 2.0, len(x))
        x = (x - mass @ x / mass.sum()) @ rotation(rng).T + place * pitch - 0.5 * size
        v = rng.normal(size=3) + np.cross(turn * rng.normal(size=3), x - mass @ x / mass.sum())
        if bonds is None:
            bodies.append(k)
            bonds = body_bonds(x)
        molecules.append((bonds, x, v, mass))
    return make_system(molecules, size, boundary, diameter=settings.pop("diameter", 0.8), bodies=bodies, **settings)


class Bench:
    """A body in tiles of its own, without an interface to other molecules.

    Parameters
    ----------
    body : (bonds, x, v, mass)
    stale : int, optional
        Fill the tiles with random numbers of this seed beforehand, as a previous molecule would.
    """

    def __init__(self, body, stale=None):
        _, x, v, mass = body
        self.beads, self.offset = len(x), 5
        tiles = -(-self.beads // W.LANES)
        self.work = np.zeros(self.offset + tiles * W.TILE)
        if stale is not None:
            self.work[:] = np.random.default_rng(stale).normal(size=len(self.work)) * 10
        self.place = self.offset + np.arange(self.beads) // W.LANES * W.TILE + np.arange(self.beads) % W.LANES
        self.work[self.place + W.INVM] = 1.0 / mass
        self.put(kernels.SITE, body_sites(x, mass))
        self.put_state(x, v)

    def put(self, at, rows):
        """Write (n, 3) rows to the tiles."""
        for c in range(3):
            self.work[self.place + at + c * W.LANES] = rows[:, c]

    def rows(self, at):
        """Return the (n, 3) rows at a place of the tiles."""
        return np.column_stack([self.work[self.place + at + c * W.LANES] for c in range(3)])

    def put_state(self, x, v):
        """Overwrite positions and velocities."""
        self.put(W.COEF, x)
        self.put(W.COEF + W.ROW, v)

    def position(self):
        """Return (n, 3) positions."""
        return self.rows(W.COEF)

    def velocity(self):
        """Return (n, 3) velocities."""
        return self.rows(W.COEF + W.ROW)

    def prepare(self):
        """Put the state on the body."""
        kernels.body_prepare(self.work, self.offset, self.beads)

    def kick(self, bead, n):
        """Return the (n, 3) velocity change per unit impulse on a bead, and the inverse effective mass."""
        mass = kernels.body_kick(self.work, self.offset, self.beads, bead, *n)
        return self.rows(W.KICK), mass

    def expand(self, h, tolerance):
        """Return (order + 1, n, 3) coefficients, segment length and (n,) acceleration bounds."""
        order, h = kernels.body_series(self.work, self.offset, self.beads, h, tolerance)
        series = np.array([self.rows(W.COEF + W.ROW * k) for k in range(order + 1)])
        return series, h, np.linalg.norm(self.rows(W.BOUND), axis=1)
