"""Factors of matrices whose graph is a path, against NumPy's dense solution."""

import numpy as np
import pytest

from minusgrad.engine import storage
from minusgrad.solvers.kernel_factors import KernelFactors


@pytest.mark.parametrize("sizes", [[16], [17], [33, 1, 2, 3, 4]], ids=str)
def test_paths_are_eliminated_from_both_ends(sizes: list[int]) -> None:
    """Also many paths in one matrix, with their rows in any order."""
    rng, size = np.random.default_rng(len(sizes)), sum(sizes)
    order, matrix, at = rng.permutation(size), np.diag(2.0 + rng.random(size)), 0
    for length in sizes:
        path = order[at : at + length]
        matrix[path[1:], path[:-1]] = matrix[path[:-1], path[1:]] = rng.normal(size=length - 1)
        at += length
    rows, columns = np.nonzero(np.tril(matrix))
    factors = KernelFactors(size, rows, columns)
    assert factors.symbolic.fill == len(rows) - size
    first, second = (int(np.flatnonzero(factors.order == order[k])[0]) for k in (0, sizes[0] - 1))
    assert abs(first - second) == 1
    storage.store(factors.a, matrix[rows, columns][factors.entries])
    storage.store(factors.b, right := rng.normal(size=size))
    factors.factor()
    factors.solve()
    np.testing.assert_allclose(storage.host(factors.x), np.linalg.solve(matrix, right), rtol=1e-10)
    assert np.prod(factors.pivots) == pytest.approx(np.linalg.det(matrix), rel=1e-10)
    y = factors.combination(int(order[2]))
    assert (matrix @ y)[order[2]] == pytest.approx(factors.pivots[order[2]], rel=1e-10)


def test_branches_and_rings_are_no_paths() -> None:
    """A star, and a ring, of 16 rows: the usual factors, with the same answer."""
    for pairs in ([(0, k) for k in range(1, 16)], [(k, (k + 1) % 16) for k in range(16)]):
        matrix = 20.0 * np.eye(16)
        for i, j in pairs:
            matrix[i, j] = matrix[j, i] = 1.0
        rows, columns = np.nonzero(np.tril(matrix))
        factors = KernelFactors(16, rows, columns)
        storage.store(factors.a, matrix[rows, columns][factors.entries])
        storage.store(factors.b, np.arange(16.0))
        factors.factor()
        factors.solve()
        expected = np.linalg.solve(matrix, np.arange(16.0))
        np.testing.assert_allclose(storage.host(factors.x), expected, rtol=1e-12, atol=1e-14)
