"""Saddle-point systems against dense ones, definiteness on the kernel against eigenvalues there."""

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.sparse import csr_matrix

from minusgrad.errors import SingularSystemError
from minusgrad.solvers.saddle_point import SaddlePoint, definite_on_kernel


def system(seed: int, shift: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(12, 12)), rng.normal(size=(5, 12))
    return 0.5 * (a + a.T) + shift * np.eye(12), b


def test_solutions() -> None:
    """Of an indefinite matrix with entries of very different sizes."""
    a, b = system(1, 0.0)
    sizes = 10.0 ** np.linspace(-4, 4, 12)
    a, b = a * sizes[:, None] * sizes, b * sizes
    right, lower = np.ones(12), np.arange(5.0)
    x, y = SaddlePoint(csr_matrix(a), csr_matrix(b)).solve(right, lower)
    np.testing.assert_allclose(b @ x, lower, atol=1e-10)
    left = a @ x + b.T @ y - right
    assert np.abs(left).max() < 1e-9 * (np.abs(a) @ np.abs(x)).max()


def test_definiteness_is_that_on_the_kernel() -> None:
    judged = []
    for seed, shift in [(s, c) for s in range(6) for c in (0.0, 1.5, 3.0, 6.0)]:
        a, b = system(seed, shift)
        kernel = null_space(b)
        expected = bool(np.linalg.eigvalsh(kernel.T @ a @ kernel)[0] > 0.0)
        whole = bool(np.linalg.eigvalsh(a)[0] > 0.0)
        assert definite_on_kernel(csr_matrix(a), csr_matrix(b)) is expected
        judged.append((expected, whole))
    assert {(True, True), (True, False), (False, False)} == {*judged}


def test_a_matrix_that_is_zero() -> None:
    """The kernel of the constraints alone decides whether there is a solution."""
    a = csr_matrix((2, 2))
    x, y = SaddlePoint(a, csr_matrix(np.eye(2))).solve(np.array([1.0, 2.0]))
    np.testing.assert_array_equal([x, y], [[0.0, 0.0], [1.0, 2.0]])
    with pytest.raises(SingularSystemError):
        SaddlePoint(a, csr_matrix([[1.0, 0.0]]))
    assert not definite_on_kernel(a, csr_matrix([[1.0, 0.0]]))


def test_dependent_rows_are_singular() -> None:
    with pytest.raises(SingularSystemError, match="singular"):
        SaddlePoint(csr_matrix(np.eye(3)), csr_matrix([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0]]))
