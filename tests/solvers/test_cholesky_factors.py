"""Cholesky factors by fronts solve as dense ones do, for any pattern, and know what is indefinite."""

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_matrix, diags_array, eye_array, kron, random_array
from threadpoolctl import threadpool_limits

from minusgrad.errors import SingularSystemError
from minusgrad.solvers import frontal_analysis
from minusgrad.solvers.cholesky_factors import Cholesky
from minusgrad.solvers.linear_solver import LinearSolver
from minusgrad.solvers.pattern_sum import PatternSum
from minusgrad.solvers.sparse_system import SparseSystem

pytestmark = pytest.mark.unit


def system_of(matrix: csr_matrix, node: np.ndarray | None = None) -> SparseSystem:
    size = matrix.shape[0]
    node = np.arange(size) if node is None else node
    return SparseSystem(csr_matrix(matrix), node, np.zeros(size, int), np.zeros((size, 0)))


def definite(nodes: int, most: int, density: float, seed: int) -> SparseSystem:
    """A random pattern; nodes have one to `most` rows."""
    rng = np.random.default_rng(seed)
    node = np.repeat(np.arange(nodes), rng.integers(1, most + 1, nodes))
    half = random_array((len(node), len(node)), density=density, rng=rng)
    matrix = csr_matrix(half + half.T)
    rows = np.asarray(abs(matrix).sum(axis=1)).ravel()
    return system_of(matrix + diags_array(rows + 0.1), node)


def right(system: SparseSystem) -> np.ndarray:
    return np.random.default_rng(3).normal(size=system.size)


PATTERNS = [(1, 3, 1.0), (7, 1, 0.3), (40, 3, 0.05), (300, 2, 0.004), (250, 3, 0.02), (60, 2, 0.0)]


@pytest.mark.parametrize(("nodes", "most", "density"), PATTERNS)
@pytest.mark.parametrize("merged", [True, False])
def test_solutions_are_those_of_a_dense_solver(
    nodes: int, most: int, density: float, merged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether fronts are merged with their parents or not."""
    if not merged:
        monkeypatch.setattr(frontal_analysis, "CALLS", 0.0)
    system = definite(nodes, most, density, seed=nodes)
    factors, b = Cholesky(system), right(system)
    assert factors.definite is True
    assert np.abs(factors.solve(b, 0.0) - np.linalg.solve(system.matrix.toarray(), b)).max() < 1e-11
    assert sorted(factors.analysis.order) == list(range(system.size))


def test_an_analysis_serves_the_next_matrix_of_its_pattern_with_the_same_bits() -> None:
    system, solver = definite(80, 3, 0.05, seed=1), LinearSolver("cholesky")
    solver.factor(definite(80, 3, 0.05, seed=1))
    kept = solver._analysis
    other = system.matrix.copy()
    other.data *= 1.5
    solver.factor(system_of(other, system.node))
    assert solver._analysis is kept
    alone = Cholesky(system_of(other, system.node))
    assert np.array_equal(solver.solve(right(system)), alone.solve(right(system), 0.0))
    solver.factor(definite(80, 3, 0.05, seed=2))
    assert solver._analysis is not kept


def plate(n: int) -> csr_matrix:
    """The pattern of a bent plate of n x n nodes, each with those up to two cells away."""
    second = diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(n, n))
    laplacian = kron(eye_array(n), second) + kron(second, eye_array(n))
    return csr_matrix(laplacian @ laplacian + eye_array(n * n))


def test_pivots_that_a_descendant_meets_stand_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Updates are added in fewer blocks than with pivots as they were merged; solutions are the same."""
    system, blocks, solutions = system_of(plate(30)), [], []
    for _ in range(2):
        factors = Cholesky(system)
        runs = [len(runs) for front in factors.analysis.fronts for _, runs in front.children]
        blocks.append(sum(n * (n + 1) // 2 for n in runs))
        solutions.append(factors.solve(right(system), 0.0))
        monkeypatch.setattr(frontal_analysis, "_join_met_vertices", lambda tree: None)
    assert blocks[0] < 0.7 * blocks[1]
    assert np.abs(solutions[0] - solutions[1]).max() < 1e-10 * np.abs(solutions[1]).max()


@pytest.mark.parametrize("row", [0, 57, 119])
def test_a_negative_pivot_is_recognised_wherever_it_is(row: int) -> None:
    system = definite(60, 2, 0.06, seed=5)
    shift = np.zeros(system.size)
    shift[row % system.size] = 3.0 * system.matrix.diagonal()[row % system.size]
    matrix = csr_matrix(system.matrix - diags_array(shift))
    factors, b = Cholesky(system_of(matrix, system.node)), right(system)
    assert factors.definite is False
    assert np.abs(matrix @ factors.solve(b, 0.0) - b).max() < 1e-10
    assert "not positive definite" in factors.report


def test_a_small_negative_eigenvalue_behind_large_entries_is_recognised() -> None:
    """No entry of the diagonal is negative: only a pivot is."""
    system = definite(60, 2, 0.06, seed=5)
    lowest = np.linalg.eigvalsh(system.matrix.toarray())[0]
    for shift, expected in ((0.99 * lowest, True), (1.01 * lowest, False)):
        matrix = csr_matrix(system.matrix - diags_array(np.full(system.size, shift)))
        assert Cholesky(system_of(matrix, system.node)).definite is expected


def test_singular_matrices_are_refused_as_by_superlu() -> None:
    spring = csr_matrix([[1.0, -1.0], [-1.0, 1.0]])
    for singular in (spring, block_diag([spring, [[2.0]]]), csr_matrix((3, 3))):
        with pytest.raises(SingularSystemError):
            Cholesky(system_of(csr_matrix(singular)))


def test_sums_keep_zeros_and_one_pattern() -> None:
    one = csr_matrix(np.array([[1.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    diagonal, total = csr_matrix(diags_array([1.0, 1.0, 1.0])), PatternSum()
    first = total.of([diagonal, one])
    second = total.of([diagonal, -one])
    assert second.nnz == first.nnz == 5
    assert second[0, 0] == 0.0
    assert first.indices is second.indices
    assert first.indptr is second.indptr
    assert np.array_equal(second.toarray(), np.eye(3) - one.toarray())
    wider = csr_matrix(np.ones((3, 3)))
    assert np.array_equal(total.of([diagonal, wider]).toarray(), np.eye(3) + 1.0)
    assert total.of([wider]) is wider


def test_bits_depend_on_no_number_of_threads() -> None:
    """Of a plate: fronts of some hundred rows, of which OpenBLAS would share out the sums."""
    n = 50
    weights = diags_array(1.0 + np.random.default_rng(1).random(n * n))
    bent = weights @ plate(n) @ weights
    matrix = kron(bent + bent.T, np.ones((3, 3))) + 300.0 * eye_array(3 * n * n)
    system = system_of(csr_matrix(matrix), np.repeat(np.arange(n * n), 3))
    found = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads, "blas"):
            factors = Cholesky(system)
            assert max(front.rows for front in factors.analysis.fronts) > 200
            found.append(factors.solve(right(system), 0.0).tobytes())
    assert found[1:] == found[:1] * 2
