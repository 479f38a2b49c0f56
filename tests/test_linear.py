"""F = sum_a x_a (x) w_a against paper: what it is, its derivatives, its digits far away, and what it refuses."""

import time

import numpy as np
import pytest

import references
from minusgrad import Datum, Fields, Linear, Node, Parameter, Potential, bind, check, local_energy, runtime, ti
from minusgrad.energy import LocalEnergy, weights_at_rest
from minusgrad.errors import EnergyError
from minusgrad.fields import Body
from minusgrad.terms import Term
from minusgrad_elastic import generators
from minusgrad_elastic.damping import strain_rate_damping
from minusgrad_elastic.hyperelastic import neo_hookean, st_venant_kirchhoff

X, T = Node("m", ("d",)), Node("K")
SLOPES = Datum("m^-1", ("k", "d"))


@local_energy("squared", over="tuples", x=X, gradients=SLOPES, F=Linear("x", "gradients"), volume=Datum("m^3"))
def squared(F, volume):
    """V (F:F / 2 + tr F): P = F + I."""
    return volume * (0.5 * (F * F).sum() + F.trace())


@local_energy(
    "conduction",
    over="tuples",
    temperature=T,
    gradients=SLOPES,
    g=Linear("temperature", "gradients"),
    volume=Datum("m^3"),
    conductivity=Parameter("W m^-1 K^-1"),
)
def conduction(g, volume, conductivity):
    """V kappa |grad T|^2 / 2."""
    return 0.5 * conductivity * volume * g.dot(g)


@local_energy("rod", over=2, x=X, share=Datum("m^-1", ("k",)), stretch=Linear("x", "share"))
def rod(stretch):
    """(|x'| - 1)^2 / 2 of a rod with two nodes: x' = sum_a x_a w_a."""
    return 0.5 * (stretch.norm() - 1.0) ** 2


@local_energy("curl", over=3, temperature=T, share=Datum("1", ("k",)), rise=Linear("temperature", "share"))
def curl(rise):
    """rise^4 / 4: a number made of numbers."""
    return 0.25 * rise**4


@local_energy(
    "plate", over="tuples", temperature=T, bends=Datum("m^-2", ("k", "d", "d")), x=X,
    H=Linear("temperature", "bends"),
)
def plate(H, x):
    """H:H / 2 + 0 x: weights that are matrices."""
    return 0.5 * (H * H).sum() + 0.0 * x[0][0]


@local_energy(
    "twisted", over="tuples", A=Node("1", (2, 2)), share=Datum("1", ("k",)), B=Linear("A", "share")
)
def twisted(B):
    """det B: a matrix made of matrices."""
    return B.determinant()


@local_energy(
    "thermoelastic",
    over="tuples",
    x=X,
    temperature=T,
    gradients=SLOPES,
    F=Linear("x", "gradients"),
    g=Linear("temperature", "gradients"),
    volume=Datum("m^3"),
    k=Parameter("1"),
)
def thermoelastic(F, g, temperature, volume, k):
    """V (|F^T g|^2 k / 2 + T_0 tr F): two fields by the same weights, and one of them itself."""
    pulled = F.transpose() @ g
    return volume * (0.5 * k * pulled.dot(pulled) + temperature[0] * F.trace())


# States -------------------------------------------------------------------------------------------------


def cells(d: int, k: int, e: int = 4, n: int = 9, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tuples of k distinct nodes, weights (e, k, d) that sum to zero, volumes; the last node in no tuple."""
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(n - 1)[:k] for _ in range(e)])
    weights = rng.normal(size=(e, k, d))
    weights -= weights.mean(axis=1, keepdims=True)
    return rows, weights, rng.uniform(0.5, 2.0, e)


def fields(d: int, n: int = 9, precision: str = "f64", seed: int = 1) -> Fields:
    rng = np.random.default_rng(seed)
    values = {"x": rng.normal(size=(n, d)), "temperature": rng.normal(size=n), "A": rng.normal(size=(n, 2, 2))}
    return Fields(values, precision=precision)


def made(values: np.ndarray, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """sum_a x_a (x) w_a of each element."""
    return np.array(
        [
            sum(np.multiply.outer(values[n], w) for n, w in zip(row, of, strict=True))
            for row, of in zip(rows, weights, strict=True)
        ]
    )


def pushed_back(P: np.ndarray, rows: np.ndarray, weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """dU/dx_n = sum over elements of P w_a, given P = dU_e/dF."""
    found = np.zeros_like(values)
    for e, row in enumerate(rows):
        for node, w in zip(row, weights[e], strict=True):
            found[node] += np.tensordot(P[e], w, axes=w.ndim)
    return found


# What it is ---------------------------------------------------------------------------------------------


SHAPES = [(d, k) for d in (2, 3) for k in (2, 3, 4, 8)]


@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_a_matrix_from_vectors(d, k):
    """Tuples of any length: value, P V = V (F + I), and the force P V w_a on each node."""
    there, (rows, weights, volume) = fields(d), cells(d, k)
    x = there["x"].values
    potential = Potential(there, [bind(squared, there, tuples=rows, data={"gradients": weights, "volume": volume})])
    F = made(x, rows, weights)
    P = volume[:, None, None] * (F + np.eye(d))
    energies = volume * (0.5 * (F * F).sum(axis=(1, 2)) + np.trace(F, axis1=1, axis2=2))
    np.testing.assert_allclose(potential.by_element("squared"), energies, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(potential.gradient("squared.F"), P, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(potential.gradient("x"), pushed_back(P, rows, weights, x), rtol=1e-12, atol=1e-13)
    assert not potential.gradient("x")[-1].any()


@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_a_vector_from_numbers(d, k):
    """The gradient of a temperature; kappa V |g|^2 / 2, one kappa for each element."""
    there, (rows, weights, volume) = fields(d), cells(d, k)
    x, kappa = there["temperature"].values, np.linspace(0.5, 2.0, len(rows))
    data = {"gradients": weights, "volume": volume}
    # nothing says what d is, where no node field is a vector of space: it is bound in a body of its own shape
    energy = _of_dimension(conduction, d)
    potential = Potential(there, [bind(energy, there, tuples=rows, data=data, parameters={"conductivity": kappa})])
    g = made(x, rows, weights)
    P = (kappa * volume)[:, None] * g
    np.testing.assert_allclose(potential.by_element("conduction"), 0.5 * (P * g).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(potential.gradient("conduction.g"), P, rtol=1e-12, atol=1e-13)
    gradient = potential.gradient("temperature")
    np.testing.assert_allclose(gradient, pushed_back(P, rows, weights, x), rtol=1e-12, atol=1e-13)
    rates = potential.gradient("conduction.conductivity")
    np.testing.assert_allclose(rates, 0.5 * volume * (g * g).sum(axis=1), rtol=1e-12)
