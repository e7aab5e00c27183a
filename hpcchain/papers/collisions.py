"""The variational collision integrator of Leyendecker et al. 2012, as printed but for slips, in NumPy.

It carries what has the methods of `single_chain.Chain`: a chain, or spheres with directors (`directors`).

One clock, the grid k h, contacts looked for at the nodes. Free steps solve (11) in the null space of the bonds, a
contact (15) for the configuration and its time, the step after it (16) with the discrete energy conserved, back to the
grid. A second contact within that step adds its own time and g_c = 0 to (16). What the paper leaves open or has wrong:

- P_c is the Householder complement of P^T G_c^T: (21) loses rank in planar motion.
- Contacts at one instant act along the sum of their normals, each weighted with its exact impulse: one scalar for all
  with equal weights would have unconnected pairs exchange momentum.
- (16) starts from the reflected velocity. From the last configuration its Jacobian has zero rows, and from the incoming
  direction it finds the root that goes on through the contact. (15) starts a step ahead: in the last configuration the
  derivative by its time vanishes.
- (16) can have no real root, or one that pulls (nu < 0), near grazing: then the exact impulse is taken, and counted.

Velocities w are a step's discrete ones, (q1 - q0) / tau; w starts the next step as it is (its part across the bonds is
taken up by the bonds' forces).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from hpcchain.papers.single_chain import Chain


TOLERANCE = 1e-12
SIMULTANEOUS = 1e-9


class NoRoot(Exception):
    """A system of the collision has no (acceptable) real solution."""


@dataclass
class Course:
    """What a run leaves.

    Attributes
    ----------
    node_time, node_position : lists
        Every node: grid points and contacts.
    energy : list
        Of every step's discrete velocity, from the node before.
    iterations, damped, kind : lists
        Newton iterations of every solve, how many increments were cut, and "free", "discarded", "contact" or "after".
    contact_time, contacts : lists
        Every contact node's time and contacts.
    condition : list
        Condition numbers of the last iteration matrices, where asked for.
    unknowns : int
        Sum over all solves.
    no_root : int
        Contacts that took the exact impulse.
    """

    node_time: list
    node_position: list
    energy: list = field(default_factory=list)
    iterations: list = field(default_factory=list)
    damped: list = field(default_factory=list)
    kind: list = field(default_factory=list)
    contact_time: list = field(default_factory=list)
    contacts: list = field(default_factory=list)
    condition: list = field(default_factory=list)
    unknowns: int = 0
    no_root: int = 0

    @property
    def energy_time(self) -> list:
        """When every step ends."""
        return self.node_time[1:]


class Integrator:
    """Carries one chain from node to node.

    Newton's method ends at `tolerance`, or at `round_off` of the difference of two nodes' positions, after `most`
    iterations at most; where it `damps`, increments of a collision are no longer than a step. A contact force may have
    `pulled` where a graze makes its sign one of rounding.

    Parameters
    ----------
    chain : Chain
    step : float
        h [time].
    conditions : bool
        Keep condition numbers (takes a singular value decomposition per solve).
    """

    tolerance, round_off, most, damps, pulled = TOLERANCE, 2.0**-47, 100, True, False

    def __init__(self, chain: Chain, step: float, conditions: bool = False) -> None:
        self.chain, self.step, self.conditions = chain, step, conditions
        self.possible = chain.contacts()
        self.mass = np.repeat(chain.mass, 3)
        self.time, self.q, self.w = 0.0, chain.position.copy(), chain.velocity.copy()
        self.course = Course([self.time], [self.q])

    def run(self, contacts: int | None = None, until: float = np.inf) -> Course:
        """Go on until so many contact nodes are done in all, or a time."""
        while self.time < until and (contacts is None or len(self.course.contact_time) < contacts):
            self._advance()
        return self.course

    def _reach(self, q: np.ndarray, w: np.ndarray, time: float) -> None:
        self.q, self.w, self.time = q, w, time
        self.course.node_time.append(time)
        self.course.node_position.append(q)
        self.course.energy.append(self.chain.energy(w))

    def _advance(self) -> None:
        """Take one step to the grid; where that has gone through a contact, do the contact and the step after it."""
        grid = (np.floor(self.time / self.step + 1e-6) + 1) * self.step
        q, w = self.free(self.q, self.w, grid - self.time)
        violated = self.violated(q)
        if not violated:
            self._reach(q, w, grid)
            return
        self.course.kind[-1] = "discarded"
        found = [(*self.contact(self.q, self.w, grid - self.time, q, each), each) for each in violated]
        q, w, tau, first = min(found, key=lambda entry: entry[2])
        self._reach(q, w, self.time + tau)
        self._collide(first, grid)

    def _collide(self, first: tuple, grid: float) -> None:
        """Do the contact at the present node, and those within the step after it, and return to the grid."""
        while True:
            touching = self.touching(self.q, first)
            self.course.contact_time.append(self.time)
            self.course.contacts.append(touching)
            tau = grid - self.time
            if tau < 1e-6 * self.step:
                grid, tau = grid + self.step, tau + self.step
            normal = self.direction(touching)
            q, w = self.after(normal, tau)
            violated = self.violated(q)
            if not violated:
                self._reach(q, w, grid)
                return
            self.course.kind[-1] = "discarded"
            found = [self.second(normal, tau, q, each) for each in violated]
            q, w, tau, first = min(found, key=lambda entry: entry[2])
            self._reach(q, w, self.time + tau)

    def violated(self, q: np.ndarray) -> list:
        """Return the contacts with g_c < 0."""
        chain = self.chain
        apart = q[:, None] - q[None]
        near = np.einsum("ijc,ijc->ij", apart, apart) < chain.diameter**2 - 2 * TOLERANCE
        inside = chain.box is None or np.all(np.abs(q) < 0.5 * (chain.box - chain.diameter) + TOLERANCE)
        if inside and not np.any(np.triu(near, 2)):
            return []
        return [each for each in self.possible if chain.gap(q, each) < -TOLERANCE]

    def touching(self, q: np.ndarray, first: tuple) -> list:
        """Return the contacts that are closed at a node and closing, `first` among them."""
        p = self.on_bonds(q, self.w)
        closed = [each for each in self.possible if abs(self.chain.gap(q, each)) < SIMULTANEOUS]
        return [each for each in closed if each == first or np.sum(self.chain.normal(q, each) * p) < 0.0]

    def on_bonds(self, q: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the part of w that keeps the bonds."""
        p = self.chain.null_space(q)
        u = np.linalg.solve(p.T @ (self.mass[:, None] * p), p.T @ (self.mass * w.ravel()))
        return (p @ u).reshape(-1, 3)

    def direction(self, contacts: list) -> np.ndarray:
        """Return the sum of the contacts' normals, each weighted with its exact impulse, as one (3 n) vector."""
        p = self.chain.null_space(self.q)
        rows = np.array([self.chain.normal(self.q, each).ravel() for each in contacts]) @ p
        inverse = np.linalg.inv(p.T @ (self.mass[:, None] * p))
        rate = rows @ (inverse @ (p.T @ (self.mass * self.w.ravel())))
        size = np.linalg.lstsq(rows @ inverse @ rows.T, -2.0 * rate, rcond=None)[0]
        self.exact = p @ (inverse @ (p.T @ (self.mass * self.w.ravel()) + rows.T @ size))
        return sum(s * self.chain.normal(self.q, each).ravel() for s, each in zip(size, contacts, strict=True))

    def _newton(
        self, kind: str, q: np.ndarray, extra: np.ndarray, system: Callable, tau: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Solve system(q, extra) -> residual, jacobian for the turns u of q and further unknowns; return both."""
        damped = 0
        for iteration in range(self.most):
            residual, jacobian = system(q, extra)
            least = min(abs(extra[0]), tau) if len(extra) else tau
            limit = self.tolerance + self.round_off * np.max(np.abs(q)) / least
            if not np.all(np.isfinite(residual)):
                break
            if np.max(np.abs(residual)) < limit:
                self._count(kind, iteration, damped, jacobian)
                return q, extra
            change = -np.linalg.solve(jacobian, residual)
            size = np.linalg.norm(change[: len(change) - len(extra)])
            if self.damps and size > self.step and kind != "free":
                change *= self.step / size
                damped += 1
            q = self.chain.moved(q, change[: len(change) - len(extra)])
            extra = extra + change[len(change) - len(extra) :]
        raise NoRoot

    def _count(self, kind: str, iterations: int, damped: int, jacobian: np.ndarray) -> None:
        self.course.kind.append(kind)
        self.course.iterations.append(iterations)
        self.course.damped.append(damped)
        self.course.unknowns += len(jacobian)
        if self.conditions:
            self.course.condition.append(np.linalg.cond(jacobian))

    def free(self, q0: np.ndarray, w0: np.ndarray, tau: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the end and the discrete velocity of a free step (11); from `_free_guess`."""
        before = self.chain.null_space(q0).T * self.mass

        def system(q: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Return residual and Jacobian of (11)."""
            return before @ ((q - q0).ravel() / tau - w0.ravel()), before @ self.chain.null_space(q) / tau

        q, _ = self._newton("free", self._free_guess(q0, tau * w0), np.zeros(0), system, tau)
        return q, (q - q0) / tau

    def _free_guess(self, q0: np.ndarray, ahead: np.ndarray) -> np.ndarray:  # noqa: ARG002  # of others
        """Return where Newton's method starts for a free step, of a displacement ahead: the last configuration."""
        return q0

    def contact(
        self, q0: np.ndarray, w0: np.ndarray, tau: float, trial: np.ndarray, contact: tuple
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return configuration, discrete velocity and time of (15): a step to where g_c = 0."""
        before = self.chain.null_space(q0).T * self.mass
        start, end = self.chain.gap(q0, contact), self.chain.gap(trial, contact)
        guess = tau * max(max(start, 0.0) / (max(start, 0.0) - end), 0.01)

        def system(q: np.ndarray, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Return residual and Jacobian of (15)."""
            moved = (q - q0).ravel()
            p = self.chain.null_space(q)
            normal = self.chain.normal(q, contact).ravel()
            jacobian = np.zeros((p.shape[1] + 1,) * 2)
            jacobian[:-1, :-1] = before @ p / alpha
            jacobian[:-1, -1] = -before @ moved / alpha**2
            jacobian[-1, :-1] = normal @ p
            return np.append(before @ (moved / alpha - w0.ravel()), self.chain.gap(q, contact)), jacobian

        try:
            q, alpha = self._newton("contact", self._ahead(q0, guess * w0), np.array([guess]), system, guess)
            if not 0.0 < alpha[0] <= tau:
                raise NoRoot
        except (NoRoot, np.linalg.LinAlgError):
            return self._bisected(q0, w0, tau, contact)
        return q, (q - q0) / alpha, float(alpha[0])

    def _bisected(self, q0: np.ndarray, w0: np.ndarray, tau: float, contact: tuple) -> Any:
        """Return the same by bisection over free steps: for contacts so near a node that Newton does not find them."""
        kept = {name: len(getattr(self.course, name)) for name in ("iterations", "damped", "kind", "condition")}
        unknowns, low, high = self.course.unknowns, 0.0, tau
        for _ in range(50):
            middle = 0.5 * (low + high)
            q, w = self.free(q0, w0, middle)
            low, high = (middle, high) if self.chain.gap(q, contact) > 0.0 else (low, middle)
        q, w = self.free(q0, w0, high)
        for name, length in kept.items():
            del getattr(self.course, name)[length:]
        self.course.unknowns = unknowns
        self._count("contact", 50, 0, np.eye(2 * len(q0) + 2))
        return q, w, high

    def _law(self, normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what (16) is made of at the present node: (P_c^T P^T M), and the momentum along P_c that is kept."""
        p = self.chain.null_space(self.q)
        row = p.T @ normal
        complement = np.linalg.qr(row[:, None], mode="complete")[0][:, 1:]
        reduced = complement.T @ (p.T * self.mass)
        return reduced, reduced @ self.w.ravel()

    def after(self, normal: np.ndarray, tau: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the end and the discrete velocity of the step after a contact (16), from the reflected velocity."""
        reduced, kept = self._law(normal)
        energy = self.chain.energy(self.w)

        def system(q: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """Return residual and Jacobian of (16)."""
            w = (q - self.q).ravel() / tau
            p = self.chain.null_space(q)
            residual = np.append(reduced @ w - kept, 0.5 * np.sum(self.mass * w**2) - energy)
            return residual, np.vstack([reduced @ p, (self.mass * w) @ p]) / tau

        try:
            q, _ = self._newton("after", self._reflected(tau), np.zeros(0), system, tau)
            if self._pulls(normal, (q - self.q) / tau):
                raise NoRoot
        except (NoRoot, np.linalg.LinAlgError):
            self.course.no_root += 1
            q, _ = self.free(self.q, self.exact.reshape(-1, 3), tau)
            self.course.kind[-1] = "after"
        return q, (q - self.q) / tau

    def second(self, normal: np.ndarray, tau: float, trial: np.ndarray, contact: tuple) -> Any:
        """Return the same with the step's length unknown and a second contact closed at its end, and that contact."""
        reduced, kept = self._law(normal)
        energy = self.chain.energy(self.w)
        start, end = self.chain.gap(self.q, contact), self.chain.gap(trial, contact)

        def system(q: np.ndarray, alpha: np.ndarray) -> Any:
            """Return residual and Jacobian of (16) with a second contact."""
            w = (q - self.q).ravel() / alpha
            p = self.chain.null_space(q)
            g = self.chain.normal(q, contact).ravel()
            residual = np.concatenate(
                [reduced @ w - kept, [0.5 * np.sum(self.mass * w**2) - energy, self.chain.gap(q, contact)]]
            )
            moving = np.vstack([reduced, self.mass * w])
            jacobian = np.zeros((p.shape[1] + 1,) * 2)
            jacobian[:-1, :-1] = moving @ p / alpha
            jacobian[:-1, -1] = -moving @ w / alpha
            jacobian[-1, :-1] = g @ p
            return residual, jacobian

        alpha = np.array([tau * start / (start - end)]) if start > 0.0 else np.array([0.5 * tau])
        try:
            q, alpha = self._newton("after", self._reflected(alpha[0]), alpha, system, alpha[0])
            if not 0.0 < alpha[0] <= tau or self._pulls(normal, (q - self.q) / alpha):
                raise NoRoot
            return q, (q - self.q) / alpha, float(alpha[0]), contact
        except (NoRoot, np.linalg.LinAlgError):
            self.course.no_root += 1
            velocity = self.exact.reshape(-1, 3)
            trial, _ = self.free(self.q, velocity, tau)
            self.course.kind[-1] = "discarded"
            return *self.contact(self.q, velocity, tau, trial, contact), contact

    def _reflected(self, tau: float) -> np.ndarray:
        """Return where the exact impulse's velocity leads in a time tau, as a first guess."""
        return self._ahead(self.q, tau * self.exact)

    def _ahead(self, q: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """Return the configuration that a displacement of the beads leads to, as nearly as bonds let it."""
        return self.chain.moved(q, np.linalg.lstsq(self.chain.null_space(q), moved.ravel(), rcond=None)[0])

    def _pulls(self, normal: np.ndarray, w: np.ndarray) -> bool:
        """Whether the step to w needs a contact force that pulls (nu < 0), where that is not taken for a solution."""
        p = self.chain.null_space(self.q)
        row = p.T @ normal
        return not self.pulled and row @ (p.T @ (self.mass * (w - self.w).ravel())) < 0.0
