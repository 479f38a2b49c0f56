"""erf and erfc in kernels, in plain Python and while tracing: against math.erf and paper."""

import math

import numpy as np
import pytest

from minusgrad import Fields, Node, Parameter, Potential, bind, erf, erfc, local_energy
from minusgrad.energies.local_energy import LocalEnergy
from minusgrad.engine import runtime
from minusgrad.symbolic.graph import Graph

runtime.start()
ENDS = (15.0 / 32.0, 4.0, 6.0)
EPS = {"f64": float(np.finfo(np.float64).eps), "f32": float(np.finfo(np.float32).eps)}


@local_energy("bell", over="nodes", x=Node(), k=Parameter(default=1.0))
def bell(x, k):
    return erf(k * x[0])


@local_energy("tail", over="nodes", x=Node(), k=Parameter(default=1.0))
def tail(x, k):
    return erfc(k * x[0])


def points(precision: str) -> np.ndarray:
    """Evenly over [-7, 7], about every end of a range to the last bit, and tiny ones."""
    dtype = np.float64 if precision == "f64" else np.float32
    ends = np.array(ENDS, dtype)
    about = [ends, np.nextafter(ends, dtype(10.0)), np.nextafter(ends, dtype(-10.0))]
    tiny = np.array([1e-30, 1e-12, 1e-5, 1e-3], dtype)
    positive = np.concatenate([*about, tiny, np.zeros(1, dtype), np.array([8.0, 30.0, 1e10], dtype)])
    return np.concatenate([np.linspace(-7.0, 7.0, 4001).astype(dtype), positive, -positive])


def potential(precision: str, x: np.ndarray, energy: LocalEnergy = bell) -> Potential:
    fields = Fields({"x": x}, precision=precision)
    return Potential(fields, [bind(energy, fields)])


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_compiled_erf_is_that_of_the_library(precision: str) -> None:
    x = points(precision)
    expected = np.array([math.erf(v) for v in x.astype(float)])
    found = potential(precision, x).by_element("bell")
    assert found[expected == 0.0].tolist() == [0.0] * int((expected == 0.0).sum())
    some = expected != 0.0
    assert (np.abs(found[some] / expected[some] - 1.0) <= 4.0 * EPS[precision]).all()
    assert (np.abs(found) <= 1.0).all()


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_erf_is_odd_and_ends_at_one(precision: str) -> None:
    x = np.abs(points(precision))
    up, down = (potential(precision, sign * x).by_element("bell") for sign in (1.0, -1.0))
    assert np.array_equal(up, -down)
    assert set(up[x >= 6.0].tolist()) == {1.0}


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_the_derivative_is_the_bell(precision: str) -> None:
    x = points(precision)
    expected = 2.0 / math.sqrt(math.pi) * np.exp(-(x.astype(float) ** 2))
    found = potential(precision, x).gradient("x").astype(float)
    assert (np.abs(found - expected) <= 60.0 * EPS[precision] * expected + 1e-37).all()
    assert found.dtype == np.float64
    slope = potential(precision, x).gradient("bell.k")
    assert slope == pytest.approx(float((x * expected).sum()), abs=1e3 * EPS[precision])


def test_what_is_not_finite() -> None:
    assert potential("f64", np.array([np.inf])).value() == 1.0
    assert potential("f64", np.array([-np.inf])).value() == -1.0
    assert math.isnan(potential("f64", np.array([np.nan])).value())
    assert math.isnan(potential("f32", np.array([np.nan])).value())


def test_plain_erf_takes_numbers_and_arrays() -> None:
    assert erf(0.5) == math.erf(0.5)
    assert np.array_equal(erf(np.array([[0.1], [-2.0]])), [[math.erf(0.1)], [math.erf(-2.0)]])
    assert bell.evaluator()({"x": [0.7], "k": 2.0}) == math.erf(1.4)


def test_erf_of_a_constant_is_a_constant() -> None:
    graph = Graph()
    assert graph.apply("erf", 0.3).number == math.erf(0.3)
    assert graph.apply("erf", graph.input("x")).number is None


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_compiled_erfc_keeps_its_digits_where_it_is_tiny(precision: str) -> None:
    smallest = float(np.finfo(precision.replace("f", "float")).tiny)
    x = np.concatenate(
        [points(precision), np.linspace(0.0, 27.0, 2001).astype(precision.replace("f", "float"))]
    )
    expected = np.array([math.erfc(v) for v in x.astype(float)])
    found = potential(precision, x, tail).by_element("tail")
    normal = expected > 4.0 * smallest
    assert (np.abs(found[normal] / expected[normal] - 1.0) <= 6.0 * EPS[precision]).all()
    assert (found[~normal] <= 5.0 * smallest).all()
    assert (found >= 0.0).all()


@pytest.mark.parametrize("precision", ["f64", "f32"])
def test_the_derivative_of_erfc_is_the_negative_bell(precision: str) -> None:
    x = points(precision)
    expected = -2.0 / math.sqrt(math.pi) * np.exp(-(x.astype(float) ** 2))
    found = potential(precision, x, tail).gradient("x").astype(float)
    assert (np.abs(found - expected) <= 60.0 * EPS[precision] * np.abs(expected) + 1e-37).all()


def test_erfc_at_infinity_and_of_no_number() -> None:
    ends = potential("f64", np.array([np.inf, -np.inf]), tail).by_element("tail")
    assert ends.tolist() == [0.0, 2.0]
    assert math.isnan(potential("f32", np.array([np.nan]), tail).value())
    assert np.array_equal(erfc(np.array([3.0, -1.0])), [math.erfc(3.0), math.erfc(-1.0)])
    assert tail.evaluator()({"x": [7.0], "k": 2.0}) == math.erfc(14.0)
