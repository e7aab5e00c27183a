"""Tables of rows with columns in common: kernels and Python read and write the same."""

import numpy as np
import pytest

from hpcchain.jit.decorators import kernel
from hpcchain.jit.shared_rows import CLASS, OWN_COLUMNS, SharedRows
from hpcchain.jit.struct import kernel_struct

COMMON = 3
FIELDS = {"x": "f8", "own": "i4 8", "common": f"i8 {COMMON}"}
Table = kernel_struct("Table", FIELDS, ("extra",), {"both": ("own", "common")})


def rows(count=5):
    """Return a table of random rows of three classes, and its entries, (count, columns)."""
    rng = np.random.default_rng(count)
    own = rng.integers(-(2**31), 2**31, (count, OWN_COLUMNS), dtype=np.int32)
    table = SharedRows(own, rng.integers(2**62, size=(3, COMMON)))
    table.own[:, CLASS] = rng.integers(3, size=count)
    return table, np.column_stack([table.own.astype(np.int64), table.common[table.own[:, CLASS]]])


@kernel
def read(table, out):
    """Write all entries."""
    for m in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[m, c] = table[m, c]


@kernel
def change(table, m):
    """Write one column, add to another, and take over a row of another's."""
    table[m, 2] = -7
    table[m, 3] += 2 * table[m, OWN_COLUMNS + 1] % 5
    for c in range(OWN_COLUMNS):
        table[m + 1, c] = table[m, c]


@kernel
def read_from(s, out):
    """Do what `read` does with the table of a tuple."""
    read(s.both, out)


@pytest.mark.parametrize("through", ["table", "tuple"])
def test_kernels_read_columns_of_rows_and_of_their_classes(through):
    table, expected = rows()
    out = np.zeros_like(expected)
    if through == "table":
        read(table, out)
    else:
        read_from(Table(np.zeros(1), table.own, table.common, None), out)
    assert np.array_equal(out, expected) and len(table) == 5
    assert all(table[m, c] == expected[m, c] for m in range(5) for c in range(OWN_COLUMNS + COMMON))
    assert np.array_equal(table[:, OWN_COLUMNS], expected[:, OWN_COLUMNS])
    assert np.array_equal(table[1:3, 2:5], expected[1:3, 2:5]) and table[np.array([4, 0]), 1].dtype == np.int64


def test_kernels_write_columns_of_rows():
    table, expected = rows()
    table[:, 3] = expected[:, 3] = 11
    change(table, 2)
    expected[2, 2] = -7
    expected[2, 3] += 2 * expected[2, OWN_COLUMNS + 1] % 5
    expected[3] = expected[2]
    out = np.zeros_like(expected)
    read(table, out)
    assert np.array_equal(out, expected)


def test_no_row_writes_what_is_its_classs():
    table, _ = rows()
    with pytest.raises(IndexError, match=f"column {OWN_COLUMNS} is that of a class"):
        table[0, OWN_COLUMNS] = 1


def test_arrays_of_another_kind_are_refused():
    table, expected = rows()
    with pytest.raises(TypeError, match=r"Table\.own"):
        read_from(Table(np.zeros(1), table.own.astype(np.int64), table.common, None), expected)
