"""Adjoints of a replayed run as numbers, against the symbolic derivative of the same graph."""

import numpy as np
import pytest

from minusgrad.interpreter.adjoints import adjoints
from minusgrad.symbolic.differentiation import gradient
from minusgrad.symbolic.graph import Graph
from minusgrad.symbolic.numpy_values import numbers
from minusgrad.symbolic.scalar import Scalar

FUNCTIONS = {
    "products": lambda g, a, b: a * b + a * a * b - b,
    "quotient": lambda g, a, b: a / b,
    "powers": lambda g, a, b: a**b + a**3,
    "functions": lambda g, a, b: g.apply("sin", a) * g.apply("exp", b) + g.apply("tanh", a * b),
    "a root": lambda g, a, b: g.apply("sqrt", a * a + b),
    "a choice": lambda g, a, b: g.apply("select", g.apply("lt", a, b), a * a, g.apply("log", b)),
    "the larger": lambda g, a, b: g.apply("max", a * a, b) + g.apply("min", a, b * b),
    "a size": lambda g, a, b: g.apply("abs", a - b * 2.0),
    "a floor": lambda g, a, b: g.apply("floor", a * 3.0) * b,
    "an angle": lambda g, a, b: g.apply("atan2", a, b),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("at", [(0.7, 1.9), (1.3, 0.4)])
def test_adjoints_are_the_symbolic_derivative(function, at: tuple[float, float]) -> None:
    graph = Graph()
    leaves = [graph.input("x", None, (k,)) for k in range(2)]
    output = function(graph, *leaves)
    values = {leaf.serial: np.float64(v) for leaf, v in zip(leaves, at, strict=True)}

    def number(node: Scalar) -> float:
        return float(numbers([node], values, {})[0])

    exact = [number(node) for node in gradient(output, leaves)]
    found = adjoints([(output, 1.0)], leaves, number)
    assert [found.get(leaf.serial, 0.0) for leaf in leaves] == pytest.approx(exact, rel=1e-14, abs=1e-15)


def test_an_infinite_slope_on_a_path_shows_even_where_the_adjoint_is_zero() -> None:
    """exp(log x) at 0: the symbolic rule gives 0 * inf, which is no number."""
    graph = Graph(simplify=False)
    leaf = graph.input("x", None, (0,))
    output = graph.apply("exp", graph.apply("log", leaf))
    values = {leaf.serial: np.float64(0.0)}
    found = adjoints([(output, 1.0)], [leaf], lambda node: float(numbers([node], values, {})[0]))
    assert np.isnan(found[leaf.serial])
