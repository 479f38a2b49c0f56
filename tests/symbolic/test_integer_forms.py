"""Sums of whole numbers: which expressions differ by a constant at every state."""

import pytest

from minusgrad.symbolic.graph import Graph
from minusgrad.symbolic.integer_forms import Form, form, is_whole
from minusgrad.symbolic.scalar import Scalar

pytestmark = pytest.mark.unit

graph = Graph()
x, y = graph.input("x"), graph.input("y")
at, k = graph.input("at", integer=True), graph.input("k", integer=True)


def f(op: str, *arguments: "Scalar | float") -> Scalar:
    return graph.apply(op, *arguments)


LOW = f("floor", x)
KNOWN = {
    "a constant": (graph.constant(3), 3),
    "a whole real constant": (graph.constant(-3.0), -3),
    "a sum of constants": (at + 2 - at, 2),
    "an offset from a floor": (LOW + 5.0 - LOW, 5),
    "through integers": (f("to_int", LOW + 5.0) - f("to_int", LOW), 5),
    "a floor of what is whole": (f("floor", LOW - 7) - LOW, -7),
    "a ceil of what is whole": (f("ceil", LOW + 3) - LOW, 3),
    "a round of what is whole": (f("round", LOW + 3) - LOW, 3),
    "an integer as a real number": (f("to_real", at + 4) - f("to_real", at), 4),
    "two atoms": ((at + k + 1) - (k + (at - 2)), 3),
    "a multiple": (3 * (at + 2) - 2 * at - at, 6),
    "a negative multiple": (-(at + 2) + at, -2),
    "a floor of an integer": (f("floor", at) - at, 0),
}
UNKNOWN = {
    "an atom": at,
    "a real number": x,
    "half a number": graph.constant(0.5),
    "two floors": LOW - f("floor", y),
    "a floor and a ceil": f("ceil", x) - LOW,
    "a product": at * k - at,
    "a floor of a real sum": f("floor", x + 3.0) - LOW,
    "an integer of a real sum": f("to_int", x + 1.5) - f("to_int", x),
    "half a whole number": f("floor", 0.5 * at) - at,
    "one atom too many": 2 * at - at,
    "a quotient": at // 2 - at,
    "a choice": f("select", x > 0.0, at, at + 1) - at,
}


@pytest.mark.parametrize(("node", "value"), KNOWN.values(), ids=KNOWN.keys())
def test_known(node: Scalar, value: int) -> None:
    assert form(node).known_value == value


@pytest.mark.parametrize("node", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_unknown(node: Scalar) -> None:
    assert form(node).known_value is None


@pytest.mark.parametrize(
    ("node", "whole"),
    [
        (at, True),
        (LOW, True),
        (f("ceil", x), True),
        (f("round", x), True),
        (LOW - 2.0, True),
        (LOW * f("to_real", at), True),
        (f("to_int", x), True),
        (graph.constant(2.0), True),
        (graph.constant(2.5), False),
        (x, False),
        (LOW + x, False),
        (0.5 * LOW, False),
        (f("sqrt", LOW), False),
        (f("max", LOW, x), False),
    ],
)
def test_what_is_whole_by_its_making(node: Scalar, whole: bool) -> None:
    assert is_whole(node) is whole


def test_sums_of_forms() -> None:
    a, b = form(2 * at + 3), form(at - k)
    assert (a.constant, a.coefficients) == (3, {at.serial: 2})
    assert b.coefficients == {at.serial: 1, k.serial: -1}
    total = a.plus(b, -2)
    assert (total.constant, total.coefficients, total.atoms) == (3, {k.serial: 2}, {k.serial: k})
    assert a.minus(a) == Form()
    assert (a.constant, a.coefficients) == (3, {at.serial: 2})
    assert form(LOW).atoms == {LOW.serial: LOW}
