"""Blocks of an array that were let go of: those of one length form a chain, from which the next one is taken.

Lengths are counted in units, so many entries of the array each. `free` has, by length, where the first block begins,
-1 if there is none; the first entry of each tells where the next one does.
"""

import numpy as np

from hpcchain.jit.decorators import inlined, kernel


@inlined
def let_go(array, free, begin, length):
    """Put the block that begins there on the chain of free ones of its length."""
    array[begin] = free[length]
    free[length] = begin


@inlined
def first_free(array, free, length):
    """Take the first block off the chain of free ones of a length; return where it begins."""
    begin = free[length]
    free[length] = np.int64(array[begin])
    return begin


@kernel
def part_of_longer(array, free, unit, length):
    """Return where a block of that length begins that is cut from the shortest longer one; -1 if there is none."""
    for longer in range(length + 1, len(free)):
        if free[longer] >= 0:
            begin = first_free(array, free, longer)
            let_go(array, free, begin + unit * length, longer - length)
            return begin
    return np.int64(-1)
