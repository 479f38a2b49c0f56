"""Bordered systems: by factors of A where it is regular, nearly singular, and singular."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from minusgrad.errors import SingularSystemError
from minusgrad.solvers.bordered_system import BorderedSystem
from minusgrad.solvers.linear_solver import direct
from minusgrad.steppers.minimisers.continuation.path_equations import SymmetricFactors

N = 30


def matrix_of(smallest: float) -> tuple[csr_array, np.ndarray]:
    """A symmetric matrix with eigenvalues of both signs and one that is `smallest`; and its vector."""
    rng = np.random.default_rng(3)
    vectors, _ = np.linalg.qr(rng.normal(size=(N, N)))
    values = np.concatenate([[smallest], rng.uniform(0.5, 2.0, N - 4), [-0.7, -1.1, -1.9]])
    dense = (vectors * values) @ vectors.T
    return csr_array(0.5 * (dense + dense.T)), vectors[:, 0]


def factors_of(matrix: csr_array) -> SymmetricFactors | None:
    found = direct(matrix)
    return None if found is None else SymmetricFactors(found)


@pytest.mark.parametrize("smallest", [0.3, -0.3, 1e-6, 1e-10, 1e-13, 0.0])
def test_a_solution_keeps_its_digits_where_a_loses_them(smallest: float) -> None:
    """Known solutions; the bordered matrix is regular as b and c have parts along the null vector."""
    matrix, null = matrix_of(smallest)
    rng = np.random.default_rng(4)
    b, c, d = rng.normal(size=N) + null, rng.normal(size=N) + null, 0.4
    x, y = rng.normal(size=N), 1.7
    system = BorderedSystem(matrix, factors_of(matrix), b, c, d)
    found, number = system.solve(matrix @ x + b * y, float(c @ x + d * y))
    np.testing.assert_allclose(found, x, atol=1e-11)
    assert number == pytest.approx(y, abs=1e-11)


def test_the_tangent_at_a_limit_point_is_the_null_vector() -> None:
    matrix, null = matrix_of(0.0)
    b = np.random.default_rng(5).normal(size=N) + null
    x, y = BorderedSystem(matrix, factors_of(matrix), b, null, 0.0).solve(np.zeros(N), 1.0)
    np.testing.assert_allclose(x, null, atol=1e-11)
    assert y == pytest.approx(0.0, abs=1e-11)


def test_a_bifurcation_is_refused() -> None:
    """b is orthogonal to the null vector, c too: the whole matrix is singular."""
    matrix, b = csr_array(np.diag([0.0, 1.0, 2.0])), np.array([0.0, 1.0, 1.0])
    with pytest.raises(SingularSystemError):
        BorderedSystem(matrix, None, b, b, 0.3).solve(np.zeros(3), 1.0)
