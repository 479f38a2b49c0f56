"""The graph: equal expressions are one node, and folding changes no value."""

import math
import random

import numpy as np
import pytest

from minusgrad.symbolic.graph import Graph, inputs, reachable
from minusgrad.symbolic.numpy_values import numbers
from minusgrad.symbolic.scalar import Scalar

pytestmark = pytest.mark.unit


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.fixture
def x(graph: Graph) -> Scalar:
    return graph.input("x")


@pytest.fixture
def y(graph: Graph) -> Scalar:
    return graph.input("y")


@pytest.fixture
def i(graph: Graph) -> Scalar:
    return graph.input("i", integer=True)


def evaluated(node: Scalar, **values: float) -> float:
    """A node's number for the values of the inputs by name."""
    (found,) = numbers(
        [node], {leaf.serial: np.float64(values[leaf.value[0]]) for leaf in inputs([node])}, {}
    )
    return float(found)


# Sharing --------------------------------------------------------------------------------------------


def test_equal_expressions_are_one_node(graph: Graph, x: Scalar, y: Scalar) -> None:
    assert x * y + 1.0 is 1.0 + y * x
    assert x - y is not y - x
    assert graph.apply("min", x, y) is not graph.apply("min", y, x)
    assert (x < y) is (y > x)
    assert (x <= y) is not (x < y)
    assert graph.input("x") is x
    assert graph.input("x", 1) is not x


def test_arguments_come_before_users(graph: Graph, x: Scalar, y: Scalar) -> None:
    output = (x * y + graph.apply("sqrt", x)) / (y - 2.0)
    for node in reachable([output]):
        assert all(a.serial < node.serial for a in node.args)
    assert {n.value for n in inputs([output])} == {("x",), ("y",)}


def test_zeros_of_both_signs_are_two_nodes(graph: Graph, x: Scalar) -> None:
    plus, minus = graph.constant(0.0), graph.constant(-0.0)
    assert plus is not minus
    assert math.copysign(1.0, minus.number) == -1.0
    assert graph.apply("atan2", plus, x) is not graph.apply("atan2", minus, x)
    assert plus + x is x
    assert minus + x is x


def test_an_integer_and_a_real_number_are_two_nodes(graph: Graph) -> None:
    assert graph.constant(2) is not graph.constant(2.0)
    assert graph.constant(True) is graph.constant(1)


# Folding --------------------------------------------------------------------------------------------


def test_identities(graph: Graph, x: Scalar, y: Scalar) -> None:
    assert x + 0.0 is x
    assert 1.0 * x is x
    assert x * 0.0 is graph.constant(0.0)
    assert x - x is graph.constant(0.0)
    assert x + x is 2.0 * x
    assert x * -1.0 is -x
    assert -1.0 * (-x) is x
    assert x + (-y) is x - y
    assert x - (-y) is x + y
    assert 0.0 - x is -x
    assert 2.0 * (3.0 * x) is 6.0 * x
    assert x / 4.0 is 0.25 * x
    assert x / y is x * (1.0 / y)
    assert x**0 is graph.constant(1.0)
    assert x**1 is x
    assert x**2 is x * x
    assert x**0.5 is graph.apply("sqrt", x)
    assert x**-1 is 1.0 / x
    assert abs(abs(x)) is abs(x)


def test_a_division_that_is_not_exact_stays_one(x: Scalar) -> None:
    assert (x / 3.0).op == "div"
    assert (x / math.inf).op == "div"
    assert (x / 5e-324).op == "div"


def test_constants_fold_to_what_python_says(graph: Graph) -> None:
    for op, args in [("sqrt", (2.0,)), ("pow", (2.0, 0.3)), ("atan2", (1.0, -2.0)), ("min", (3.0, 2.0))]:
        reference = {"sqrt": math.sqrt, "pow": pow, "atan2": math.atan2, "min": min}[op]
        assert graph.apply(op, *args) is graph.constant(reference(*args))


@pytest.mark.parametrize(
    ("op", "args"),
    [
        ("sqrt", (-1.0,)),
        ("log", (0.0,)),
        ("recip", (0.0,)),
        ("pow", (-2.0, 0.3)),
        ("exp", (1e9,)),
        ("div", (1.0, 0.0)),
    ],
)
def test_what_has_no_finite_value_is_left_to_the_kernel(graph: Graph, op: str, args: tuple) -> None:
    assert graph.apply(op, *args).op == op


def test_factors_stay_where_a_product_would_leave_the_range_of_f32(x: Scalar, y: Scalar) -> None:
    for a, b in [(1e200, 1e200), (1e-200, 1e-200), (1e-20, 1e-20), (1e25, 1e25)]:
        assert (a * (b * x)).args[0].number == a
    node = (1e-25 * x) * (1e25 * y)
    assert {a.op for a in node.args} == {"mul"}
    assert evaluated(node, x=1e-10, y=1e20) == pytest.approx(1e10)


def test_integer_quotients_are_not_made_of_reciprocals(i: Scalar, x: Scalar) -> None:
    assert (i // 49).op == "quotient"
    assert (x // 49.0).op == "floordiv"
    assert (x // 49.0).args[0] is x


def test_random_expressions_keep_their_value() -> None:
    """Folded node against direct arithmetic, over all rules."""
    rng = random.Random(7)
    for _ in range(400):
        graph = Graph()
        values = {name: rng.choice([rng.uniform(-2, 2), rng.uniform(0, 1), 1.0, 0.5]) for name in "abc"}
        pool = [(graph.input(name), np.float64(v)) for name, v in values.items()]
        for number in (0.0, 1.0, -1.0, 2.0, -0.5, 3.0, 0.1):
            pool.append((number, np.float64(number)))
        for _ in range(12):
            (p, pv), (q, qv) = rng.choice(pool), rng.choice(pool)
            if not isinstance(p, Scalar) and not isinstance(q, Scalar):
                continue
            operation = rng.choice(
                [
                    lambda a, b: a + b,
                    lambda a, b: a - b,
                    lambda a, b: a * b,
                    lambda a, b: -a,
                    lambda a, b: a**2,
                ]
                + ([lambda a, b: a / b] if abs(qv) > 0.1 else [])
                + ([lambda a, b: a**b] if pv > 0.1 and abs(qv) < 3 else [])
                + [lambda a, b: abs(a), lambda a, b: a**3]
            )
            pool.append((operation(p, q), operation(pv, qv)))
        for node, value in pool:
            if isinstance(node, Scalar):
                assert evaluated(node, **values) == pytest.approx(value, rel=1e-11, abs=1e-11)


# Kinds ----------------------------------------------------------------------------------------------


def test_integers_stay_integers_among_themselves(i: Scalar, x: Scalar) -> None:
    for node in (i + 1, i * i, i // 2, i % 3, -i, abs(i), i - i, 0 * i, i**2, i**0, -1 * (-i), 2 * (3 * i)):
        assert node.integer, node
    for node in (i / 2, i + 1.0, 1.0 * i, i + x, 0.0 + i, i**0.5, i * x, x // 2):
        assert not node.integer, node


def test_a_choice_between_integers_is_an_integer(graph: Graph, i: Scalar, x: Scalar) -> None:
    assert graph.apply("select", x > 0.0, i, 2).integer
    assert not graph.apply("select", x > 0.0, i, 2.0).integer
    assert not graph.apply("select", 1, i, 2.0).integer


def test_only_truths_and_integers_decide(graph: Graph, i: Scalar, x: Scalar) -> None:
    assert graph.apply("select", i, 1.0, 2.0).args[0].op == "ne"
    with pytest.raises(TypeError, match=r"^condition: must be .*, got a real number; write `x != 0.0`$"):
        graph.apply("select", x, 1.0, 2.0)
    with pytest.raises(
        TypeError,
        match=r"^operand: must be .*, got a comparison; write ti.select\(condition, 1.0",
    ):
        (x > 0.0) * x
    with pytest.raises(TypeError, match=r"^& and \|: join comparisons, got an integer; compare it: n != 0$"):
        i & 1


def test_known_truths_fold(graph: Graph, x: Scalar) -> None:
    truth = x > 0.0
    assert (truth & True) is truth
    assert (False | truth) is truth
    assert (True | truth).number == 1
    assert graph.apply("select", graph.constant(0.5) < 1.0, x, 2.0) is x
    assert graph.apply("select", truth, x, x) is x


def test_python_cannot_take_the_number_out(graph: Graph, x: Scalar) -> None:
    with pytest.raises(
        TypeError, match=r"^float: its argument has no value before .*; use the functions of ti$"
    ):
        math.sqrt(x)
    with pytest.raises(TypeError, match=r"^range or index: has no value before the kernel runs; write"):
        range(x)
    with pytest.raises(TypeError, match=r"^condition: has no value before the kernel runs; use ti.select$"):
        bool(x > 0.0)
    assert list(range(graph.constant(2))) == [0, 1]
    assert math.sqrt(graph.constant(4)) == 2.0


def test_numpy_numbers_on_either_side(x: Scalar) -> None:
    two = np.float64(2.0)
    assert two * x is 2.0 * x
    assert x - two is x - 2.0
    assert two / x is 2.0 / x
    assert (two < x) is (x > 2.0)
    with pytest.raises(TypeError):
        np.ones(3) * x
    with pytest.raises(TypeError):
        np.sqrt(x)
