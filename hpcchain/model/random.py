"""Random numbers that are a function of (seed, purpose, global id, draw) alone.

No generator is stepped, so no number depends on how many ranks there are or in which order they ask.
Philox 4x64-10: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (2011).
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from hpcchain.model.random_kernel import fill


class Stream(IntEnum):
    """Every purpose that random numbers serve; a number is never used again for another purpose."""

    VELOCITY = 1
    PLACEMENT = 2
    TEMPLATE = 3
    ORIENTATION = 4
    SPIN = 5
    LANGEVIN = 6
    ANDERSEN = 7
    REDRAWN = 8
    DIFFUSE = 9
    WAITING = 10
    MAXWELL = 11
    WALL_SPIN = 12
    SIZES = 13


def raw(seed: int, purpose: Stream | int, ids: np.ndarray, draw: int = 0) -> np.ndarray:
    """Return four random 64-bit words per id.

    Parameters
    ----------
    seed : int
        The run's seed, 0 <= seed < 2^64.
    purpose : Stream
        What the numbers are for.
    ids : (n,) int array
        Global ids of beads or molecules.
    draw : int
        Which draw of the id, 0 <= draw < 2^64.

    Returns
    -------
    (n, 4) uint64 array
        Independent, uniform words.
    """
    ids = np.ascontiguousarray(ids).astype(np.uint64)
    out = np.empty((len(ids), 4), dtype=np.uint64)
    fill(np.uint64(seed), np.uint64(purpose), ids, np.uint64(draw), out)
    return out


def uniform(seed: int, purpose: Stream, ids: np.ndarray, draw: int = 0) -> np.ndarray:
    """Return four uniform numbers in [0, 1) per id, an (n, 4) float64 array; arguments as in `raw`."""
    return (raw(seed, purpose, ids, draw) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def normal(seed: int, purpose: Stream, ids: np.ndarray, draw: int = 0) -> np.ndarray:
    """Return four standard normal numbers per id, an (n, 4) float64 array (Box–Muller); arguments as in `raw`."""
    u = uniform(seed, purpose, ids, draw)
    radius = np.sqrt(-2.0 * np.log(1.0 - u[:, :2].copy()))
    angle = 2.0 * np.pi * u[:, 2:].copy()
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
