"""The Philox 4x64-10 block function."""

import numpy as np

from hpcchain.jit.decorators import allocating

_M0, _M1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_W0, _W1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_ZERO, _SHIFT = np.uint64(0), np.uint64(11)


@allocating
def high(a, b):
    """Return the upper 64 bits of the product of two 64-bit words."""
    a0, a1 = a & _LOW, a >> _HALF
    b0, b1 = b & _LOW, b >> _HALF
    low, left, right = a0 * b0, a1 * b0, a0 * b1
    middle = (low >> _HALF) + (left & _LOW) + (right & _LOW)
    return a1 * b1 + (left >> _HALF) + (right >> _HALF) + (middle >> _HALF)


@allocating
def philox(c0, c1, key0, key1):
    """Return the four words of the block with counter (c0, c1, 0, 0) and key (key0, key1), all uint64."""
    c2, c3 = _ZERO, _ZERO
    for _ in range(10):
        h0, l0, h1, l1 = high(_M0, c0), _M0 * c0, high(_M1, c2), _M1 * c2
        c0, c1, c2, c3 = h1 ^ c1 ^ key0, l1, h0 ^ c3 ^ key1, l0
        key0 += _W0
        key1 += _W1
    return c0, c1, c2, c3


@allocating
def fill(seed, purpose, ids, draw, out):
    """Fill out[i, :] with the block of counter (ids[i], draw) and key (seed, purpose)."""
    for i in range(len(ids)):
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = philox(ids[i], draw, seed, purpose)


@allocating
def fraction(word):
    """Return a 64-bit word as a uniform number in [0, 1)."""
    return np.float64(word >> _SHIFT) * 2.0**-53
