"""Functions of principal stretches: in plain Python, in graphs; refused shapes and orders."""

import mpmath
import numpy as np
import pytest

import minusgrad
from minusgrad.errors import EnergyError
from minusgrad.symbolic.differentiation import gradient, tangent
from minusgrad.symbolic.graph import Graph
from minusgrad.symbolic.numpy_values import numbers
from minusgrad.symbolic.scalar import Scalar
from minusgrad.symbolic.stretches import functions as stretches
from minusgrad.symbolic.stretches import isotropic
from minusgrad.symbolic.stretches.eigenvectors import eigen, upper
from minusgrad.symbolic.taichi_standin import Symbolic
from minusgrad.symbolic.tensors import Tensor

pytestmark = pytest.mark.unit
GAPS = (0.0, 1e-12, 1e-8, 1e-4, 0.3)


def rotation(d: int, seed: int) -> np.ndarray:
    turn, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))
    return turn * np.append(np.ones(d - 1), np.sign(np.linalg.det(turn)))


def symbolic(d: int) -> tuple[Tensor, list[Scalar]]:
    graph = Graph()
    leaves = [graph.input("F", None, (i, j)) for i in range(d) for j in range(d)]
    return Tensor((d, d), leaves, Symbolic(graph)), leaves


def values(outputs: list[Scalar], leaves: list[Scalar], at: np.ndarray) -> np.ndarray:
    known = {leaf.serial: np.asarray(v) for leaf, v in zip(leaves, np.ravel(at), strict=True)}
    return np.array([float(v) for v in numbers(outputs, known, {})])


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("d", [2, 3])
def test_eigenvectors_make_a_matrix_diagonal_however_close_the_eigenvalues(d: int, gap: float) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        Q, chosen = (
            rotation(d, seed),
            1.0 + gap * rng.permutation([0.0, 1.0, rng.choice([0.0, 1.0, -2.0])])[:d],
        )
        C = Q @ np.diag(chosen) @ Q.T
        graph = Graph()
        leaves = [graph.input("C", None, place) for place in upper(d)]
        found, vectors = eigen(leaves)
        entries = [C[place] for place in upper(d)]
        lows = values(found, leaves, np.array(entries))
        N = values([e for v in vectors for e in v], leaves, np.array(entries)).reshape(d, d)
        assert np.abs(N @ N.T - np.eye(d)).max() < 2e-15
        assert np.abs(N.T @ np.diag(lows) @ N - C).max() < 3e-15
        assert np.abs(np.sort(lows) - np.sort(chosen)).max() < 3e-15


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("mirrored", [False, True])
def test_graphs_have_the_values_of_plain_python(d: int, mirrored: bool) -> None:
    F = rotation(d, 1) @ np.diag((1.5, 1.1, 0.6)[:d]) @ rotation(d, 2)
    F = F @ np.diag([1.0] * (d - 1) + [-1.0]) if mirrored else F
    tensor, leaves = symbolic(d)
    for function in isotropic.FUNCTIONS:
        more = [2.7] if function.__name__ == "stretch_powers" else []
        plain = getattr(stretches, function.__name__)(F, *more)
        traced = function(tensor, *more)
        outputs = traced.entries if isinstance(traced, Tensor) else [traced]
        assert np.abs(values(outputs, leaves, F) - np.ravel(plain)).max() < 3e-15
        assert getattr(minusgrad, function.__name__) is getattr(stretches, function.__name__)


@pytest.mark.parametrize("d", [2, 3])
def test_polar_is_the_nearest_rotation_also_of_an_inverted_matrix(d: int) -> None:
    """Of all rotations, the one that R : F is largest for; R F^T is symmetric."""
    for seed in range(5):
        F = np.random.default_rng(seed).normal(size=(d, d))
        R = stretches.polar(F)
        assert np.linalg.det(R) == pytest.approx(1.0)
        assert np.abs(R @ F.T - F @ R.T).max() < 1e-14
        assert all((R * F).sum() >= (rotation(d, other) * F).sum() for other in range(100))
        assert stretches.stretch_trace(F) == pytest.approx((R * F).sum())
        assert stretches.biot_squares(F) == pytest.approx(((F - R) ** 2).sum())


@pytest.mark.parametrize("d", [2, 3])
def test_the_slope_of_the_trace_is_the_rotation(d: int) -> None:
    F = rotation(d, 3) @ np.diag((1.3, 1.3, 0.7)[:d]) @ rotation(d, 4)
    tensor, leaves = symbolic(d)
    slopes = gradient(isotropic.stretch_trace(tensor), leaves)
    assert np.abs(values(slopes, leaves, F).reshape(d, d) - stretches.polar(F)).max() < 2e-15


@pytest.mark.parametrize("a", [1.0, 2.0, 3.0, -2.0, -1.0, 0.7])
def test_powers_that_are_known_before_a_run_are_roots_and_products(a: float) -> None:
    F = rotation(3, 3) @ np.diag((1.3, 1.3, 0.7)) @ rotation(3, 4)
    tensor, leaves = symbolic(3)
    total = isotropic.stretch_powers(tensor, a)
    assert ("exp" in {node.op for node in total.graph}) == (a == 0.7)
    assert values([total], leaves, F)[0] == pytest.approx(2.0 * 1.3**a + 0.7**a, rel=1e-14)


@pytest.mark.parametrize("spread", [0.0, 1e-9, 0.2])
def test_second_derivatives_by_the_exponent(spread: float) -> None:
    """sum s^a ln s and sum s^a (ln s)^2; the mixed one by F is that of the sum a s^(a-1) + ... of mpmath."""
    s = np.array([1.2, 1.2 + spread, 0.7])
    F, a = rotation(3, 5) @ np.diag(s) @ rotation(3, 6), 2.3
    tensor, leaves = symbolic(3)
    exponent = leaves[0].graph.input("a", None, ())
    first = gradient(isotropic.stretch_powers(tensor, exponent), [exponent])[0]
    second, *mixed = gradient(first, [exponent, *leaves])
    everything = [exponent, *leaves]
    found = values([first, second, *mixed], everything, np.append(a, F))
    assert found[0] == pytest.approx((s**a * np.log(s)).sum(), rel=1e-14)
    assert found[1] == pytest.approx((s**a * np.log(s) ** 2).sum(), rel=1e-14)
    U, _, V = np.linalg.svd(F)
    ordered = np.linalg.svd(F, compute_uv=False)
    slope = [float(mpmath.diff(lambda x: x**a * mpmath.log(x), one)) for one in ordered]
    assert np.abs(found[2:].reshape(3, 3) - U @ np.diag(slope) @ V).max() < 1e-13


def test_the_trace_has_third_derivatives_and_the_sums_refuse_them() -> None:
    for function, most in ((isotropic.stretch_trace, 3), (isotropic.log_stretch_squares, 2)):
        tensor, leaves = symbolic(3)
        outputs = [function(tensor)]
        along = {leaf.serial: leaf.graph.constant(float(k)) for k, leaf in enumerate(leaves)}
        for _ in range(most):
            outputs = tangent(outputs, along)
        assert np.isfinite(values(outputs, leaves, np.eye(3))).all()
        if most == 2:
            with pytest.raises(EnergyError, match="got a request for a third; write the energy with"):
                tangent(outputs, along)


@pytest.mark.parametrize("shape", [(2, 3), (4, 4), (3,)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    graph = Graph()
    tensor = Tensor(shape, [graph.input(k) for k in range(int(np.prod(shape)))], Symbolic(graph))
    for function in isotropic.FUNCTIONS:
        more = [2.0] if function.__name__ == "stretch_powers" else []
        with pytest.raises(TypeError, match="takes a 2 x 2 or 3 x 3 matrix, got shape"):
            function(tensor, *more)
