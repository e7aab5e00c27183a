"""Contact times by sampling."""

import numpy as np


def sampled_contact(gap, until, points=4001):
    """Return the first sampled sign change of f, bisected, or inf."""
    s = np.linspace(0, until, points)
    below = np.flatnonzero(gap(s)[0] < 0)
    if len(below) == 0:
        return np.inf
    if below[0] == 0:
        return 0.0
    low, high = s[below[0] - 1], s[below[0]]
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if gap(middle)[0] < 0 else (middle, high)
    return high
