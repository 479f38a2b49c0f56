"""The least value of an energy over an unknown, in expression graphs: a search, then one exact step.

    u(a) = psi(t*(a), a),     d psi/dt (t*, a) = 0,     t* > 0

With tau = t d psi/dt, the derivative by ln t, t* is found by Halley's method in ln t, in steps by a factor of
at most 4, of which no derivative is taken. One step of Newton's, of which all derivatives are taken,

    t_1(a) = t* - tau(t*, a) / (d tau/dt)(t*, a)

has the value t* and the slope dt*/da = -(d tau/da) / (d tau/dt) of the implicit function theorem: t_1 - t*(a)
is of second order in a, and psi(t_1(a), a) - u(a) of fourth, since psi is stationary in t. So the first three
derivatives of u are exact. u is NaN where the search has not come to a minimum.

Griewank & Walther 2008, Evaluating Derivatives, 2nd ed., section 15.3.

Decisions 0256.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..differentiation import gradient
from ..graph import reachable
from ..scalar import Scalar

STEPS = 6
"""Of the search, whose digits triple: 4 serve stretches of 1/2 to 2, 6 those of 1/5 to 5."""
FACTOR = 4.0
"""By which t changes in one step at most."""
CLOSE = 1e-3
"""Relative length of a further step at which the search has succeeded; the step taken squares it."""


def least_value(graph: Any, density: Callable[..., Any], start: Any, *arguments: Any) -> Scalar:
    """The node psi(t_1, a). Raises `TypeError` for a density that has an `if`, or returns no number."""
    t = graph.input("unknown", None, (len(graph),))
    psi = _density_value(graph, density, t, arguments)
    slopes = [psi]
    for _ in range(3):
        slopes += gradient(slopes[-1], [t])
    found = graph.apply("to_real", start if isinstance(start, Scalar) else graph.constant(float(start)))
    for _ in range(STEPS):
        found = found * _step_factor(found, *substitute_leaf(slopes[1:], t, found))
    factor = _step_factor(found, *substitute_leaf(slopes[1:], t, found))
    settled = _f("and", factor < 1.0 + CLOSE, factor > 1.0 - CLOSE)
    fixed = graph.apply("fixed", found * _f("sqrt", _f("select", settled, graph.constant(1.0), -1.0)))
    p, c = substitute_leaf(slopes[1:3], t, fixed)
    return substitute_leaf([psi], t, fixed - fixed * p / (p + fixed * c))[0]


def _density_value(graph: Any, density: Callable[..., Any], t: Scalar, arguments: Sequence[Any]) -> Scalar:
    decide = graph.decide

    def refuse(_: Scalar) -> bool:
        raise TypeError("least_value: its density takes one path for all values, got `if`; use ti.select")

    graph.decide = refuse
    try:
        psi = density(t, *arguments)
    finally:
        graph.decide = decide
    if not isinstance(psi, Scalar):
        kind = "a number that does not depend on it" if isinstance(psi, (int, float)) else type(psi).__name__
        raise TypeError(
            f"least_value: its density must return a number that depends on t, got {kind}; correct it"
        )
    return graph.apply("to_real", psi)


def _step_factor(t: Scalar, slope: Scalar, curvature: Scalar, third: Scalar) -> Scalar:
    """The factor of t of one step by ln t: Halley's within limits; where psi is concave, downhill."""
    first = slope + t * curvature  # d tau / d ln t over t, as the others
    second = slope + t * (3.0 * curvature + t * third)
    newton = -slope / first
    bend = _at_least(1.0 + 0.5 * newton * second / first, 0.5)
    step = newton / bend
    low, high = t.graph.constant(1.0 / FACTOR), t.graph.constant(FACTOR)
    square = 1.0 + step * step * (1.0 / 12.0)
    factor = (square + 0.5 * step) / (square - 0.5 * step)  # exp, to the fifth order
    inside = _f("select", factor < low, low, _f("select", factor > high, high, factor))
    return _f("select", first > 0.0, inside, _f("select", slope > 0.0, low, high))


def _at_least(value: Scalar, least: float) -> Scalar:
    return _f("select", value > least, value, least)


def substitute_leaf(outputs: Sequence[Scalar], leaf: Scalar, value: Scalar) -> list[Scalar]:
    """The outputs with `value` in the place of a leaf."""
    new = {leaf.serial: value}
    for node in reachable(outputs):
        if any(a.serial in new for a in node.args):
            new[node.serial] = node.graph.rebuilt(node, tuple(new.get(a.serial, a) for a in node.args))
    return [new.get(output.serial, output) for output in outputs]


def _f(op: str, first: Scalar, *rest: Scalar | float) -> Scalar:
    return first.graph.apply(op, first, *rest)
