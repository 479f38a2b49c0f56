"""Every solver gives the solution of a dense one, or says why there is none; "auto" says what it took."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_matrix, diags_array, eye_array, kron

from minusgrad.errors import EnergyError, IndefiniteSystemError, RunFailedError, pip_line
from minusgrad.solvers import linear_solver
from minusgrad.solvers.linear_solver import LinearSolver, choose_method
from minusgrad.solvers.sparse_factors import Pardiso
from minusgrad.solvers.sparse_system import SparseSystem

pytestmark = pytest.mark.unit

ABSENT = pytest.mark.skipif(not Pardiso.installed(), reason="pypardiso is not installed")
NAMES = [pytest.param(name, marks=ABSENT) if name == "pardiso" else name for name in linear_solver.METHODS]
each = pytest.mark.parametrize("name", NAMES)
direct = pytest.mark.parametrize("name", [*NAMES[:3]])


def truss(side: int, held: bool = True, stiffness: float = 1.0) -> SparseSystem:
    """Nodes of a grid in the plane, joined by springs at rest along edges and diagonals."""
    places = np.array([(i, j) for i in range(side) for j in range(side)], float)
    matrix = np.zeros((2 * side**2, 2 * side**2))
    for a, p in enumerate(places):
        for b, q in enumerate(places[:a]):
            if np.abs(p - q).max() == 1.0:
                n = (p - q) / np.linalg.norm(p - q)
                rows = np.array([2 * a, 2 * a + 1, 2 * b, 2 * b + 1])
                along = np.concatenate([n, -n])
                matrix[np.ix_(rows, rows)] += stiffness * np.outer(along, along)
    left = np.flatnonzero(places[:, 0] == 0)
    gone = np.concatenate([2 * left, 2 * left[:1] + 1]) if held else np.zeros(0, int)
    kept = np.setdiff1d(np.arange(len(matrix)), gone)
    turn = np.stack([-places[:, 1], places[:, 0]], axis=1).ravel()
    modes = np.stack([np.tile([1.0, 0.0], side**2), np.tile([0.0, 1.0], side**2), turn], axis=1)
    return SparseSystem(csr_matrix(matrix[np.ix_(kept, kept)]), kept // 2, kept % 2, modes[kept])


def right(system: SparseSystem) -> np.ndarray:
    return np.random.default_rng(3).normal(size=system.size)


def solution(name: str, system: SparseSystem) -> np.ndarray:
    solver = LinearSolver(name)
    solver.factor(system)
    return solver.solve(right(system))


@each
def test_solutions_are_those_of_a_dense_solver(name: str) -> None:
    solver = LinearSolver(name)
    for stiffness in (1.0, 1e9, 1e-9):  # one class for one matrix after another
        system = truss(9, stiffness=stiffness)
        solver.factor(system)
        b = right(system)
        expected = np.linalg.solve(system.matrix.toarray(), b)
        assert np.abs(solver.solve(b) - expected).max() < 1e-9 * np.abs(expected).max()
        assert np.array_equal(solver.solve_transposed(b), solver.solve(b))
        assert not solver.solve(np.zeros(system.size)).any()
        assert solver.definite in (True, None)


@each
def test_a_repeated_solution_has_the_same_bits(name: str) -> None:
    """The global generator of NumPy, from which pyamg draws, keeps its state."""
    found = []
    for seed in (0, 1):
        np.random.seed(seed)
        before = np.random.get_state()[1].copy()
        solver = LinearSolver(name)
        solver.factor(truss(13))
        found.append(solver.solve(right(truss(13))))
        assert np.array_equal(np.random.get_state()[1], before)
    assert np.array_equal(*found)


@each
def test_nothing_held_is_singular(name: str) -> None:
    """With the motions that are free, or without: factors have no pivot, iterations no solution."""
    system = truss(5, held=False)
    assert system.free_modes() == [0, 1, 2]
    for one in (system, replace(system, modes=np.zeros((system.size, 0)))):
        with pytest.raises(RunFailedError):
            solution(name, one)


def indefinite() -> SparseSystem:
    """A truss and a spring under compression beside it, which has one direction of negative curvature."""
    system = truss(5)
    matrix = block_diag([system.matrix, csr_matrix([[1.0, 0.0], [0.0, -0.5]])], format="csr")
    node = np.concatenate([system.node, [system.node.max() + 1] * 2])
    modes = np.concatenate([system.modes, np.zeros((2, 3))])
    return SparseSystem(matrix, node, np.concatenate([system.component, [0, 1]]), modes)


@direct
def test_factors_count_negative_eigenvalues(name: str) -> None:
    system, solver = indefinite(), LinearSolver(name)
    solver.factor(system)
    assert solver.definite is False
    b = right(system)
    assert np.abs(system.matrix @ solver.solve(b) - b).max() < 1e-10


@pytest.mark.parametrize("name", NAMES[3:])
def test_conjugate_gradients_refuse_negative_curvature(name: str) -> None:
    with pytest.raises(IndefiniteSystemError, match="not positive"):
        solution(name, indefinite())


def test_auto_goes_by_size_and_by_what_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def there(*names: str) -> None:
        table = {n: (lambda n=n: n in names, library, command) for n, (_, library, command) in kept.items()}
        monkeypatch.setattr(linear_solver, "INSTALLED", table)

    kept = linear_solver.INSTALLED
    there()
    assert choose_method(1500, lambda: 9999) == ("superlu", "1,500 unknowns, at most 1,500")
    assert choose_method(12_000, lambda: 9999) == ("cholesky", "12,000 unknowns, at most 12,000")
    assert choose_method(12_001, lambda: 1601) == (
        "block_jacobi", "12,001 unknowns, more than 12,000, and neither pyamg nor pypardiso is installed"
    )  # fmt: skip
    there("pardiso")
    assert choose_method(12_001, lambda: 1601)[0] == "pardiso"
    there("pardiso", "multigrid")
    assert choose_method(12_001, lambda: 1601) == (
        "multigrid", "12,001 unknowns, more than 12,000, and pyamg is installed"
    )  # fmt: skip
    assert choose_method(125_000, lambda: 1600) == (
        "cholesky", "125,000 unknowns of a bandwidth of 1,600, at most 1,600"
    )  # fmt: skip
    assert choose_method(125_001, lambda: 1600)[0] == "multigrid"
    solver = LinearSolver()
    solver.factor(truss(3))
    assert solver.used.startswith("SuperLU: 14 unknowns, at most 1,500; ")


def springs(*nodes: int) -> SparseSystem:
    """A grid of nodes in some dimensions, each held by a spring and joined to its neighbours by springs."""
    matrix = csr_matrix((1, 1))
    for count in nodes:
        chain = diags_array(
            [np.full(count, 2.1), -np.ones(count - 1), -np.ones(count - 1)], offsets=[0, 1, -1]
        )
        matrix = kron(matrix, eye_array(count)) + kron(eye_array(matrix.shape[0]), chain)
    count = matrix.shape[0]
    return SparseSystem(csr_matrix(matrix), np.arange(count), np.zeros(count, int), np.zeros((count, 0)))


def test_the_bandwidth_is_that_of_the_widest_section() -> None:
    shuffled = np.random.default_rng(1).permutation(600)
    line = springs(600)
    assert line.bandwidth() == 1
    assert line.restricted_to(shuffled).bandwidth() == 1
    assert 10 <= springs(60, 10).bandwidth() <= 11
    assert 70 <= springs(12, 10, 10).bandwidth() <= 120


def test_auto_takes_factors_of_what_is_long_or_flat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_solver, "SMALL", 1000)
    monkeypatch.setattr(linear_solver, "NARROW", 75)
    for nodes, name in (
        ((5000,), "superlu"),
        ((20, 80), "superlu"),
        ((70, 70), "cholesky"),
        ((12, 12, 12), "conjugate gradients"),
    ):
        solver = LinearSolver()
        solver.factor(springs(*nodes))
        assert solver.used.lower().startswith(name), nodes


MISTAKES: dict[str, Callable[[], object]] = {
    "solver: no solver named 'cholmod' (there are: auto, cholesky, superlu, pardiso, multigrid,"
    " block_jacobi)": (lambda: LinearSolver("cholmod")),
    f"solver: 'multigrid' needs pyamg, which is not installed; {pip_line('fast')}": (
        lambda: LinearSolver("multigrid")
    ),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = {n: (lambda: False, *rest) for n, (_, *rest) in linear_solver.INSTALLED.items()}
    monkeypatch.setattr(linear_solver, "INSTALLED", table)
    with pytest.raises(EnergyError) as message:
        MISTAKES[text]()
    assert str(message.value) == text
