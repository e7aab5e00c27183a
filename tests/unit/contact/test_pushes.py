"""Impulses that push and never pull: next to all subsets of contacts, and where contacts depend on one another."""

import numpy as np
import pytest

from hpcchain.contact.pushes import solve_pushes
from hpcchain.layout.arrays import MOST_TIES, PUSH_ROWS
from tests.reference.linear import least_distance, pushes


def test_they_are_those_of_all_subsets():
    """Random positive definite matrices, ill-conditioned ones too, of which most leave some contacts out."""
    rng = np.random.default_rng(5)
    left_out = 0
    for _ in range(400):
        count = int(rng.integers(1, 8))
        root = rng.normal(size=(count, count + int(rng.integers(0, 3)))) * rng.uniform(0.1, 3.0, (count, 1))
        matrix, right = root @ root.T, rng.uniform(0.0, 1.0, count) ** 3 + 1e-6
        rows, sizes = np.zeros((PUSH_ROWS, MOST_TIES)), np.zeros(MOST_TIES)
        rows[:count, :count], sizes[:count] = matrix, right
        if solve_pushes(rows, sizes, count, 1e-10):
            assert np.linalg.cond(matrix) > 1e5
            continue
        expected = pushes(matrix, right)
        np.testing.assert_allclose(sizes[:count], expected, rtol=1e-6, atol=1e-6 * expected.max())
        left_out += int(np.count_nonzero(sizes[:count] == 0.0))
    assert left_out > 200


@pytest.mark.parametrize("count", [3, 6, 16, 40, MOST_TIES])
def test_those_of_dependent_contacts_are_right(count):
    """Random matrices of every rank, with contacts named twice and some far weaker than others: b = -R v, A = R R^T."""
    rng = np.random.default_rng(count)
    left_out = 0
    for _ in range(60 if count < 40 else 10):
        rank = int(rng.integers(1, count + 1))
        root = rng.normal(size=(count, rank)) * 10.0 ** rng.uniform(-1, 0, (count, 1))
        root[rng.integers(0, count, count // 3)] = root[0]
        right = root @ rng.normal(size=rank)
        root *= np.sign(right)[:, None]
        right, matrix = np.abs(right), root @ root.T
        rows, sizes = np.zeros((PUSH_ROWS, MOST_TIES)), np.zeros(MOST_TIES)
        rows[:count, :count], sizes[:count] = matrix, right
        assert solve_pushes(rows, sizes, count, 1e-12 * right.max()) == 0
        push = sizes[:count]
        excess = matrix @ push - right
        slack = 1e-11 * right.max()
        assert np.all(push >= 0.0)
        assert np.all(excess >= -slack)
        assert np.all(np.minimum(push * np.diag(matrix), excess) <= slack)
        np.testing.assert_allclose(root.T @ push, least_distance(root, right), atol=1e-9 * np.abs(root.T @ push).max())
        left_out += int(np.count_nonzero(push == 0.0))
    assert left_out > 20
