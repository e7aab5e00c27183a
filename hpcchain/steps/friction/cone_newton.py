"""Contacts with Coulomb friction solved together: a semismooth Newton method on the cones (Alart and Curnier 1991).

With a contact's frame (n, t1, t2), unknown impulses p and rates w = A p + b, the function

    F_n = p_n - max(0, p_n - w_n / a_n),   F_t = p_t - D(p_t - w_t / a_t, mu max(0, p_n - w_n / a_n))

is 0 exactly where 0 <= w_n, 0 <= p_n, w_n p_n = 0, |p_t| <= mu p_n, and p_t is against w_t and of size mu p_n where w_t
is not 0. D(y, r) is the point nearest to y in the disk of radius r; a are diagonal entries of A, which scale and
precondition. Without friction it is the function of complementarity alone.

Where more impulses are unknown than contacts can tell apart, A is singular and plain steps stall. Proximal points do
not: A + c diag(a) with b - c diag(a) p in place of A and b, solved from the last p again and again, has the solutions
of A and b as its fixed points. The factor c is made smaller as long as Newton's method follows (Acary et al. 2018).

With a large mu a contact of small p_n may have a large p_t, which forces other contacts apart or together. Newton's
method then jumps between such states, to ever larger impulses. So mu begins small and grows to what it is, and each
problem is solved from the last solution.
"""

from __future__ import annotations

import numpy as np

MOST, HALVINGS = 60, 20
PROXIMAL, FIRST_SHARE, LESS, MORE, LEAST_SHARE = 100, 1e-3, 0.3, 10.0, 1e-9
"""Proximal points at most; c at first; how c changes where Newton's method has followed and where not; its least."""
GAIN = 1e-2
"""Part of the residual to which a proximal point is found."""
LITTLE, RATIO, MISSED = 0.1, 10.0**0.25, 2
"""Friction from which on there is continuation; by how much it grows at a time; how often in a row that may fail."""


def cone_function(p: np.ndarray, w: np.ndarray, weight: np.ndarray, friction: np.ndarray) -> tuple[np.ndarray, tuple]:
    """Return F (k, 3) and what its derivative is made of, of impulses, rates and weights a_n, a_t, a_t (k, 3)."""
    ahead = p[:, 0] - w[:, 0] / weight[:, 0]
    most = np.maximum(ahead, 0.0)
    value = np.empty_like(p)
    value[:, 0] = p[:, 0] - most
    trial = p[:, 1:] - w[:, 1:] / weight[:, 1:]
    size = np.hypot(trial[:, 0], trial[:, 1])
    radius = friction * most
    slides = size > radius
    with np.errstate(invalid="ignore", divide="ignore"):
        along = np.where(slides[:, None] & (size[:, None] > 0.0), trial / size[:, None], 0.0)
    value[:, 1:] = p[:, 1:] - np.where(slides[:, None], radius[:, None] * along, trial)
    return value, (ahead > 0.0, slides, along, radius, size)


def derivative(matrix: np.ndarray, weight: np.ndarray, friction: np.ndarray, parts: tuple) -> np.ndarray:
    """Return the (3 k, 3 k) derivative of F by p, of which `cone_function` has returned the parts."""
    pushes, slides, along, radius, size = parts
    k = len(weight)
    rest = np.eye(3 * k) - matrix / weight.reshape(-1, 1)  # of p - w / a
    found = np.eye(3 * k)
    for c in range(k):
        n, t = 3 * c, slice(3 * c + 1, 3 * c + 3)
        if pushes[c]:
            found[n] -= rest[n]
        if not slides[c]:
            found[t] -= rest[t]
        elif pushes[c]:
            turned = (np.eye(2) - np.outer(along[c], along[c])) * (radius[c] / size[c])
            found[t] -= friction[c] * np.outer(along[c], rest[n]) + turned @ rest[t]
    return found


def cone_newton(
    matrix: np.ndarray, offset: np.ndarray, start: np.ndarray, friction: np.ndarray | float, unit: float
) -> tuple[np.ndarray, bool]:
    """Return impulses (k, 3) in frames (n, t1, t2), and whether they are a solution or only the best that was found.

    Parameters
    ----------
    matrix : (3 k, 3 k) float64 array
        A: what impulses add to rates.
    offset : (k, 3) float64 array
        b: rates without impulses [length / time].
    start : (k, 3) float64 array
        Impulses to begin with.
    friction : float or (k,) float64 array
        mu, of all contacts or of each.
    unit : float
        Greatest |F| times a of a solution [length / time].
    """
    friction = np.broadcast_to(np.asarray(friction, dtype=np.float64), len(offset))
    found, good = proximal_points(matrix, offset, start, friction, unit)
    if not good and friction.max() > LITTLE:
        grown, good = continued(matrix, offset, start, friction, unit)
        found = grown if good else found
    return found, good


def continued(
    matrix: np.ndarray, offset: np.ndarray, start: np.ndarray, friction: np.ndarray, unit: float
) -> tuple[np.ndarray, bool]:
    """Return what `cone_newton` finds with friction (k,) that grows from LITTLE."""
    top, p, missed, good = float(friction.max()), start, 0, False
    steps = int(np.ceil(np.log(top / LITTLE) / np.log(RATIO)))
    for step in range(steps + 1):
        share = min(LITTLE / top * RATIO**step, 1.0) if step < steps else 1.0
        found, good = proximal_points(matrix, offset, p, share * friction, unit)
        p, missed = (found, 0) if good else (p, missed + 1)
        if missed > MISSED:
            return p, False
    return p, good


def proximal_points(
    matrix: np.ndarray, offset: np.ndarray, start: np.ndarray, friction: np.ndarray, unit: float
) -> tuple[np.ndarray, bool]:
    """Return what `cone_newton` finds with one friction (k,)."""
    k = len(offset)
    blocks = matrix.reshape(k, 3, k, 3)[np.arange(k), :, np.arange(k), :]
    across = greatest(blocks[:, 1, 1], blocks[:, 1, 2], blocks[:, 2, 2])
    weight = np.column_stack([blocks[:, 0, 0], across, across])

    def left_of(p: np.ndarray) -> float:
        value = cone_function(p, (matrix @ p.ravel()).reshape(k, 3) + offset, weight, friction)[0]
        return float(np.abs(weight * value).max())

    p, share = newton(matrix, offset, start, friction, unit, weight)[0], FIRST_SHARE
    best, least = start, left_of(start)
    for _ in range(PROXIMAL):
        left = left_of(p)
        if left < least:
            best, least = p, left
        if left <= unit:
            return p, True
        near = matrix + np.diag(share * weight.ravel())
        wanted = max(GAIN * left, 0.3 * unit)
        found, good = newton(near, offset - share * weight * p, p, friction, wanted, weight)
        p = found if good else p
        share = max(share * LESS, LEAST_SHARE) if good else min(share * MORE, 1.0)
    return best, False


def newton(
    matrix: np.ndarray, offset: np.ndarray, start: np.ndarray, friction: np.ndarray, unit: float, weight: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Return what `cone_newton` finds, by plain steps; `weight` (k, 3) are a_n, a_t of unknowns."""
    k = len(offset)
    p = start.copy()
    value, parts = cone_function(p, (matrix @ p.ravel()).reshape(k, 3) + offset, weight, friction)
    for _ in range(MOST):
        if np.abs(weight * value).max() <= unit:
            return p, True
        step = least_step(derivative(matrix, weight, friction, parts), value.ravel(), weight.ravel()).reshape(k, 3)
        before, kept = float(np.sum((weight * value) ** 2)), None
        for _ in range(HALVINGS):
            trial = p + step
            value, parts = cone_function(trial, (matrix @ trial.ravel()).reshape(k, 3) + offset, weight, friction)
            if float(np.sum((weight * value) ** 2)) < before * (1.0 - 1e-4):
                kept = trial
                break
            step = 0.5 * step
        if kept is None:
            return p, False
        p = kept
    return p, False


def greatest(a: np.ndarray, b: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return the greater eigenvalues of symmetric 2 x 2 matrices ((a, b), (b, d))."""
    return 0.5 * (a + d) + np.hypot(0.5 * (a - d), b)


def least_step(jacobian: np.ndarray, value: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the Newton step, the least one of a singular system; `weight` scales impulses to velocities."""
    scaled = weight[:, None] * jacobian / weight
    try:
        step = -np.linalg.solve(scaled, weight * value)
    except np.linalg.LinAlgError:
        step = np.full(len(value), np.inf)
    if not np.abs(step).max() <= 1e10 * np.abs(weight * value).max():
        step = -np.linalg.lstsq(scaled, weight * value, rcond=1e-12)[0]
    return step / weight
