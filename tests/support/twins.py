"""Plain NumPy versions of the free-motion kernels: dense matrices, no layout, nothing clever."""

import math

import numpy as np


def gradient(bonds, x):
    """Return G (nb, 3n) of the constraints |b_l|^2 / 2 at positions x (n, 3)."""
    g = np.zeros((len(bonds), x.size))
    for row, (low, high) in enumerate(bonds):
        b = x[high] - x[low]
        g[row, 3 * high : 3 * high + 3] = b
        g[row, 3 * low : 3 * low + 3] = -b
    return g


def tension_matrix(bonds, x, mass):
    """Return T = G M^-1 G^T."""
    g = gradient(bonds, x)
    return g @ (g / np.repeat(mass, 3)).T


def project(bonds, x, v, mass):
    """Return the velocities nearest to v in the mass metric that satisfy G v = 0."""
    g = gradient(bonds, x)
    mu = np.linalg.lstsq(tension_matrix(bonds, x, mass), g @ v.ravel(), rcond=1e-11)[0]
    return v - (g.T @ mu).reshape(-1, 3) / mass[:, None]


def taylor(bonds, x, v, mass, order):
    """Return the coefficients (order + 1, n, 3) of free motion, by expanding G q'' + (G)' q' = 0 in time.

    Row l of G is b_l(t) . (difference), so its coefficient m is `gradient` of the position coefficient m.
    """
    series = [x, v]
    grad = [gradient(bonds, x), gradient(bonds, v)]
    tensions = []
    t = tension_matrix(bonds, x, mass)
    for k in range(order - 1):
        known = sum((grad[k - m].T @ tensions[m] for m in range(k)), np.zeros(x.size))
        rate = sum((m + 1) * (k + 1 - m) * (grad[m + 1] @ series[k + 1 - m].ravel()) for m in range(k + 1))
        rate = rate + sum((m + 2) * (m + 1) * (grad[k - m] @ series[m + 2].ravel()) for m in range(k))
        rate = rate - grad[0] @ (known / np.repeat(mass, 3))
        tensions.append(np.linalg.lstsq(t, rate, rcond=1e-11)[0])
        force = known + grad[0].T @ tensions[k]
        series.append(-force.reshape(-1, 3) / mass[:, None] / ((k + 1) * (k + 2)))
        grad.append(gradient(bonds, series[-1]))
    return np.array(series)


def evaluate(series, t):
    """Return position and velocity of a polynomial at time t."""
    powers = t ** np.arange(len(series))
    rates = np.arange(1, len(series)) * powers[:-1]
    return np.tensordot(powers, series, 1), np.tensordot(rates, series[1:], 1)


def invariants(x, v, mass):
    """Return energy, momentum and angular momentum in one array of 7."""
    p = mass[:, None] * v
    return np.concatenate([[0.5 * np.sum(p * v)], p.sum(0), np.cross(x, p).sum(0)])


def lengths(bonds, x):
    """Return the bond lengths."""
    return np.linalg.norm(x[bonds[:, 1]] - x[bonds[:, 0]], axis=1)


def gauss(s):
    """Return nodes, A and weights of the s-stage Gauss method, from its exactness for powers."""
    node, weight = np.polynomial.legendre.leggauss(s)
    c = (node + 1) / 2
    power = np.arange(s)
    values, integrals = c[:, None] ** power, c[:, None] ** (power + 1) / (power + 1)
    return c, np.linalg.solve(values.T, integrals.T).T, weight / 2


def collocation(bonds, x0, v0, mass, tau, s):
    """Solve the index-2 Gauss stages by dense Newton; return stage velocities and the unprojected end state."""
    c, a, weight = gauss(s)
    n3, nb = x0.size, len(bonds)
    inverse = 1 / np.repeat(mass, 3)
    u = np.tile(v0.ravel(), (s, 1))
    tension = np.zeros((s, nb))
    for _ in range(30):
        x = x0.ravel() + tau * a @ u
        g = [gradient(bonds, x[j].reshape(-1, 3)) for j in range(s)]
        residual_u = u - v0.ravel() + tau * a @ np.array([inverse * (g[k].T @ tension[k]) for k in range(s)])
        residual_t = np.array([g[j] @ u[j] for j in range(s)])
        jacobian = _jacobian(bonds, g, u, tension, inverse, tau * a)
        step = np.linalg.solve(jacobian, -np.concatenate([residual_u.ravel(), residual_t.ravel()]))
        u = u + step[: s * n3].reshape(s, n3)
        tension = tension + step[s * n3 :].reshape(s, nb)
        if np.abs(step[: s * n3]).max() < 1e-15:
            break
    x = x0.ravel() + tau * a @ u
    acceleration = np.array([-inverse * (gradient(bonds, x[k].reshape(-1, 3)).T @ tension[k]) for k in range(s)])
    end = x0.ravel() + tau * weight @ u
    return u.reshape(s, -1, 3), end.reshape(-1, 3), (v0.ravel() + tau * weight @ acceleration).reshape(-1, 3)


def _jacobian(bonds, g, u, tension, inverse, ta):
    s, nb, n3 = len(g), len(bonds), len(inverse)
    jacobian = np.zeros((s * (n3 + nb),) * 2)
    jacobian[: s * n3, : s * n3] = np.eye(s * n3)
    rate = [gradient(bonds, u[j].reshape(-1, 3)) for j in range(s)]
    for j in range(s):
        for m in range(s):
            rows, columns = slice(j * n3, (j + 1) * n3), slice(m * n3, (m + 1) * n3)
            below = slice(s * n3 + j * nb, s * n3 + (j + 1) * nb)
            right = slice(s * n3 + m * nb, s * n3 + (m + 1) * nb)
            for k in range(s):
                jacobian[rows, columns] += ta[j, k] * ta[k, m] * inverse[:, None] * _stiffness(bonds, tension[k], n3)
            jacobian[rows, right] += ta[j, m] * inverse[:, None] * g[m].T
            jacobian[below, columns] += ta[j, m] * rate[j] + (g[j] if j == m else 0)
    return jacobian


def _stiffness(bonds, tension, n3):
    laplacian = np.zeros((n3 // 3,) * 2)
    for (low, high), value in zip(bonds, tension, strict=True):
        laplacian[[low, high], [low, high]] += value
        laplacian[[low, high], [high, low]] -= value
    return np.kron(laplacian, np.eye(3))


def factorial_series(rate, order):
    """Return cos and sin coefficients of rate * t up to the order."""
    k = np.arange(order + 1)
    size = rate**k / np.array([math.factorial(m) for m in k])
    return size * np.cos(k * np.pi / 2), size * np.sin(k * np.pi / 2)
