"""What `simd` has, with NumPy: for kernels run as plain Python (NUMBA_DISABLE_JIT=1), to debug them.

Products and sums are rounded one by one there, so the last bits differ from compiled kernels'.
"""

import operator

import numpy as np

LANES = 8  # floats that a vector register holds at most, and so how wide all is that kernels lay out in lanes

add, sub, mul, both, either = operator.add, operator.sub, operator.mul, operator.and_, operator.or_
above, at_most, unlike = operator.gt, operator.le, operator.ne
size, nearest_whole, where = np.abs, np.rint, np.where
largest = np.max


def load(work, at):
    return work[at : at + LANES].copy()


def load_four(work, at):
    return work[at : at + LANES // 2].copy()


def load_row(table, row, column):
    return table[row, column : column + LANES // 2].copy()


def ways_from(table, row, place):
    return (place - table[row].astype(np.int64)).astype(np.int32).astype(np.float64)


def ways_from_rows(table, a, b, c, d, x, y, z):
    place = np.array([x, y, z, 0], dtype=np.int64)
    return (place - table[[a, b, c, d]]).astype(np.int32).astype(np.float32).ravel()


def columns(table, listed, first, count):
    return tuple(table[listed[first + np.minimum(np.arange(LANES), count - 1)]].T.astype(np.float64))


def store(work, at, value):
    work[at : at + len(value)] = value


def div(a, b):
    with np.errstate(divide="ignore", invalid="ignore"):
        return a / b


def fma(a, b, c):
    return a * b + c


def larger(a, b):
    return where(a > b, a, b)


def as_bits(truths):
    return int.from_bytes(np.packbits(truths, bitorder="little").tobytes(), "little")


def splat(x):
    return np.full(LANES, x)


def splat_four(x):
    return np.full(LANES // 2, x)


def splat_single(x):
    return np.full(2 * LANES, x, dtype=np.float32)


def in_rows(a, b, c, d):
    return np.array([a, b, c, d] * 4, dtype=np.float32)


def one_hot(lane):
    return (np.arange(LANES) == lane).astype(np.float64)


def pack(*values):
    return np.array(values)


def turned(a, b, c, d):
    return tuple(np.array([a, b, c, d]).T)


def only(p, count):
    return np.where(np.arange(LANES // 2) < count, p, 0.0)


def coordinates(p):
    return p[0], p[1], p[2]


def first_everywhere(a):
    return np.full(LANES, a[0])


def last_everywhere(a):
    return np.full(LANES, a[-1])


def pairs_turned(a):
    return a.reshape(4, 4)[:, [1, 0, 3, 2]].ravel()


def halves_turned(a):
    return a.reshape(4, 4)[:, [2, 3, 0, 1]].ravel()


def last_of_rows(a):
    return np.repeat(a[3::4], 4)


def _join(start):
    return lambda a, b: np.concatenate([a, b])[start : start + LANES]


after_1, after_2, after_4 = (_join(LANES - shift) for shift in (1, 2, 4))
ahead_1, ahead_2, ahead_4 = (_join(shift) for shift in (1, 2, 4))
