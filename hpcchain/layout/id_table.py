"""Which local row a molecule is in, by its global number, in a table of what is here."""

import numpy as np

from hpcchain.jit.decorators import kernel

NOT_HERE = -1


def id_table(most: int) -> np.ndarray:
    """Return an empty (n, 2) int64 table of numbers and rows, for up to `most` molecules."""
    return np.full((1 << max(int(2 * most - 1).bit_length(), 3), 2), NOT_HERE, dtype=np.int64)


ID, ROW = range(2)  # columns of a table


@kernel
def insert(table, molecule_ids, rows):
    """Note that the molecules `molecule_ids` are in these rows; each number is entered once."""
    mask = len(table) - 1
    for k in range(len(molecule_ids)):
        at = molecule_ids[k] & mask
        while table[at, ID] >= 0:
            at = (at + 1) & mask
        table[at, ID] = molecule_ids[k]
        table[at, ROW] = rows[k]


@kernel
def lookup(table, name):
    """Return the row of a molecule, NOT_HERE if it is not here."""
    mask = len(table) - 1
    at = name & mask
    while table[at, ID] >= 0:
        if table[at, ID] == name:
            return table[at, ROW]
        at = (at + 1) & mask
    return np.int64(NOT_HERE)


@kernel
def lookup_all(table, molecule_ids, rows):
    """Write the rows of the molecules `molecule_ids`."""
    for k in range(len(molecule_ids)):
        rows[k] = lookup(table, molecule_ids[k])
