"""Rows and columns of sparse matrices by a kept index map, against SciPy's slices."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array

from minusgrad.solvers.row_selection import RowSelection
from minusgrad.solvers.sparse_system import scale_symmetrically

pytestmark = pytest.mark.unit


def drawn(seed: int, size: int = 40) -> csr_matrix:
    """A symmetric matrix, with zeros among its numbers."""
    rng = np.random.default_rng(seed)
    half = random_array((size, size), density=0.1, rng=rng)
    whole = csr_matrix(half + half.T)
    whole.data[::7] = 0.0
    whole.sort_indices()
    return whole


def same(one: csr_matrix, other: csr_matrix) -> bool:
    arrays = ((getattr(m, n) for n in ("data", "indices", "indptr")) for m in (one, other))
    return all(np.array_equal(a, b) for a, b in zip(*arrays, strict=True))


def test_the_numbers_are_those_of_slices() -> None:
    """Bit for bit and in their order; also after the numbers, and after the pattern has changed."""
    rows = np.flatnonzero(np.random.default_rng(0).uniform(size=40) < 0.6)
    selection, matrix = RowSelection(rows), drawn(1)
    assert same(selection.of(matrix), matrix[rows][:, rows])
    first = selection.of(matrix).indices
    again = csr_matrix((2.0 * matrix.data, matrix.indices.copy(), matrix.indptr.copy()), matrix.shape)
    assert same(selection.of(again), again[rows][:, rows])
    assert np.shares_memory(selection.of(again).indices, first)
    for seed in (2, 3):
        assert same(selection.of(drawn(seed)), drawn(seed)[rows][:, rows])


def test_a_pattern_of_as_many_numbers_is_another_one() -> None:
    """Row by row as many, in other columns."""
    rows = np.array([0, 2])
    selection = RowSelection(rows)
    one, other = (
        csr_matrix(np.array(a, float))
        for a in ([[1, 2, 0], [2, 1, 0], [0, 0, 1]], [[1, 0, 3], [0, 0, 4], [3, 4, 0]])
    )
    for matrix in (one, other, one):
        assert (selection.of(matrix) != matrix[rows][:, rows]).nnz == 0


def test_all_rows_are_the_matrix_itself() -> None:
    matrix = drawn(4)
    assert RowSelection(np.arange(40)).of(matrix) is matrix


def test_scaled_matrices() -> None:
    matrix, by = drawn(5), np.random.default_rng(1).uniform(0.5, 2.0, 40)
    np.testing.assert_array_equal(
        scale_symmetrically(matrix, by).toarray(), matrix.toarray() * by[:, None] * by[None, :]
    )
