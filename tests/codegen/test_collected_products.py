"""Collected products: the same numbers from fewer operations."""

import numpy as np
import pytest

from minusgrad import Node, Parameter, local_energy, ti
from minusgrad.codegen.derivative_request import DerivativeRequest, outputs, tangents
from minusgrad.codegen.neighbours.collected_products import CollectedProducts
from minusgrad.codegen.tracing import trace
from minusgrad.symbolic.graph import inputs, reachable
from minusgrad.symbolic.numpy_values import numbers
from minusgrad.symbolic.scalar import Scalar

pytestmark = pytest.mark.unit
X, ONE = Node("m", ("d",)), Parameter(default=1.0)


@local_energy("pair", over="pairs", x=X, q=Node(), epsilon=ONE, sigma=ONE)
def pair(x, q, epsilon, sigma):
    """A Lennard-Jones potential with charges and a soft core."""
    r2 = (x[0] - x[1]).norm_sqr()
    s6 = (sigma * sigma / r2) ** 3
    near = ti.max(1.0 - 0.1 * r2, 0.0)
    return 4.0 * epsilon * (s6 * s6 - s6) + q[0] * q[1] / ti.sqrt(r2) - q[0] * q[1] * near**3


@local_energy("power", over="pairs", x=X, n=ONE)
def power(x, n):
    """r^-n."""
    return (1.0 / (x[0] - x[1]).norm_sqr()) ** (0.5 * n)


@pytest.mark.parametrize("narrow", [False, True])
def test_the_same_numbers_from_fewer_operations(narrow: bool) -> None:
    traced = trace(pair, 3, 2)
    places = list(
        DerivativeRequest(value=True, gradient={"x": None, "q": None}, product={"x": None}).places(
            traced, range(1)
        )
    )
    wanted = outputs(traced.value, places, tangents(traced, ["x"]))
    collected = CollectedProducts(wanted, narrow).numbers()
    rng = np.random.default_rng(0)
    leaves = {leaf.serial: rng.uniform(0.5, 1.5, 50) for leaf in inputs([*wanted, *collected])}
    before, after = (numbers(some, leaves, {}, np.float64) for some in (wanted, collected))
    for one, other in zip(before, after, strict=True):
        assert np.allclose(one, other, rtol=1e-11, atol=1e-11 * np.abs(one).max())
    assert operations(collected) < 0.8 * operations(wanted)


def test_a_difference_of_parameters_is_a_factor_once() -> None:
    """The exponent n - 1 of a derivative depends on no node."""
    traced = trace(power, 3, 2)
    places = list(DerivativeRequest(value=True, gradient={"x": None}).places(traced, range(1)))
    wanted = outputs(traced.value, places, {})
    collected = CollectedProducts(wanted, False).numbers()
    leaves = {leaf.serial: np.array([0.3 + 0.2 * k]) for k, leaf in enumerate(inputs([*wanted, *collected]))}
    for one, other in zip(
        *(numbers(some, leaves, {}, np.float64) for some in (wanted, collected)), strict=True
    ):
        assert other == pytest.approx(one, rel=1e-12)


def operations(some: list[Scalar]) -> int:
    """Operations that depend on the source."""
    late: set[int] = set()
    for node in reachable(some):
        own = node.op == "input" and node.value[1] == 1
        if own or any(a.serial in late for a in node.args):
            late.add(node.serial)
    return len(late)


def test_what_cancels_is_zero() -> None:
    traced = trace(pair, 2, 2)
    (x0, _), (x1, _) = traced.inputs["x"]
    product = x0 * x1
    other = product * 2.0
    difference = traced.graph.apply("sub", other, product + product)
    (found,) = CollectedProducts([difference], False).numbers()
    assert found.number == 0.0
