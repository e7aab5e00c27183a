"""What `simd` has, with NumPy: for kernels run as plain Python (NUMBA_DISABLE_JIT=1), to debug them.

Products and sums are rounded one by one there, so the last bits differ from compiled kernels'.
"""

import numpy as np

LANES = 8  # floats that a vector register holds at most, and so how wide all is that kernels lay out in lanes


def load(work, at):
    return work[at : at + LANES].copy()


def load_four(work, at):
    return work[at : at + LANES // 2].copy()


def load_row(table, row, column):
    return table[row, column : column + LANES // 2].copy()


def ways_from(table, row, place):
    return (place - table[row].astype(np.int64)).astype(np.int32).astype(np.float64)


def store(work, at, value):
    work[at : at + len(value)] = value


def add(a, b):
    return a + b


def sub(a, b):
    return a - b


def mul(a, b):
    return a * b


def div(a, b):
    with np.errstate(divide="ignore", invalid="ignore"):
        return a / b


def fma(a, b, c):
    return a * b + c


def size(a):
    return np.abs(a)


def root(a):
    return np.sqrt(a)


def nearest_whole(a):
    return np.rint(a)


def larger(a, b):
    return np.where(a > b, a, b)


def above(a, b):
    return a > b


def at_most(a, b):
    return a <= b


def unlike(a, b):
    return a != b


def both(a, b):
    return a & b


def either(a, b):
    return a | b


def where(truths, a, b):
    return np.where(truths, a, b)


def as_bits(truths):
    return int(np.packbits(truths, bitorder="little")[0])


def splat(x):
    return np.full(LANES, x)


def splat_four(x):
    return np.full(LANES // 2, x)


def one_hot(lane):
    return (np.arange(LANES) == lane).astype(np.float64)


def pack(*values):
    return np.array(values)


def largest(a):
    return a.max()


def first_everywhere(a):
    return np.full(LANES, a[0])


def last_everywhere(a):
    return np.full(LANES, a[-1])


def _join(start):
    return lambda a, b: np.concatenate([a, b])[start : start + LANES]


after_1, after_2, after_4 = (_join(LANES - shift) for shift in (1, 2, 4))
ahead_1, ahead_2, ahead_4 = (_join(shift) for shift in (1, 2, 4))
