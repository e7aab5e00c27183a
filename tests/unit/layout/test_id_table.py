"""Rows of molecules by number, against a dict."""

import numpy as np
import pytest

from hpcchain.layout.id_table import NOT_HERE, id_table, insert, lookup, lookup_all


@pytest.mark.parametrize("most", [0, 1, 2, 7, 100])
def test_every_number_finds_its_row(most):
    rng = np.random.default_rng(most)
    names = rng.choice(4 * most + 8, most, replace=False) + 1000 * rng.integers(0, 2, most) * 1024
    table = id_table(most)
    assert len(table) >= 2 * most
    insert(table, names[: most // 2], np.arange(most // 2))
    insert(table, names[most // 2 :], np.arange(most // 2, most))
    known = {int(name): row for row, name in enumerate(names)}
    asked = np.concatenate([names, rng.integers(0, 2**50, 50), np.arange(50)])
    rows = np.empty(len(asked), dtype=np.int64)
    lookup_all(table, asked, rows)
    assert rows.tolist() == [known.get(int(name), NOT_HERE) for name in asked]
    assert all(lookup(table, name) == row for name, row in zip(asked, rows, strict=True))
