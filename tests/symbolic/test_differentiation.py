"""Derivatives of one-line energies at chosen points: every function, every kink, every guard."""

from collections.abc import Callable

import numpy as np
import pytest

from minusgrad import Fields, Node, Potential, bind, local_energy, ti
from minusgrad.engine import runtime
from minusgrad.exam import references
from minusgrad.symbolic.differentiation import gradient
from minusgrad.symbolic.graph import Graph, reachable


def potential_of(function: Callable, points: np.ndarray) -> Potential:
    """A term over single nodes: `function(q)` at each point."""
    fields = Fields({"q": np.array(points, float)})
    shape = fields["q"].shape[1:]
    return Potential(fields, [bind(local_energy("f", over="nodes", q=Node(shape=shape))(function), fields)])


def slopes(function: Callable, *points) -> np.ndarray:
    """df/dq at each point, by the engine."""
    return potential_of(function, np.array(points, float)).gradient("q")


def assert_smooth(function: Callable, *points) -> None:
    """Against differences of the plain evaluation."""
    potential = potential_of(function, np.array(points, float))
    (term,) = potential.terms.values()
    expected = references.differences(term)["q"]
    assert np.isfinite(expected).all()
    np.testing.assert_allclose(potential.gradient("q"), expected, rtol=1e-9, atol=1e-9)
    assert potential.value() == pytest.approx(references.plain_energy(term), rel=1e-12, abs=1e-12)


@pytest.fixture(params=[True, False], ids=["fast_math", "ieee"])
def any_math(request: pytest.FixtureRequest):
    """With and without the liberties that a compiler takes with NaN and infinity."""
    before = runtime._Running.options
    runtime.start(runtime.Options(fast_math=request.param))
    yield
    runtime.start(before)


# Smooth ---------------------------------------------------------------------------------------------


def elementary(q):
    x = q[0]
    u = ti.sin(x) + 2.0 * ti.cos(3.0 * x) + ti.tan(0.5 * x) + ti.exp(-x) + ti.log(2.0 + x) + ti.tanh(2.0 * x)
    return (
        u
        + ti.asin(0.5 * x)
        + ti.acos(0.4 * x)
        + ti.sqrt(2.0 + x)
        + ti.rsqrt(3.0 + x)
        + 1.0 / (2.0 + x)
        - x / 3.0
    )


def of_two(q):
    a, b = q[0][0], q[0][1]
    return ti.atan2(a, b) + a / b + ti.math.mix(a, b * b, 0.3) * ti.pow(a * a, b) - b % a + (a + b) // 0.9


def powers(q):
    x = q[0]
    u = x**2 + x**3 + x**7 + x**16 + x**17 + x**-1 + x**-2 + x**0.5 + x**1.5 + x**-0.5 + x**2.7 + x**-1.3
    return u + 2.0**x + x**x + x**0 + (-x) ** 3 + (-x) ** 17 + x**1


def negative_powers(q):
    x = q[0]
    return x**2 + x**3 + x**4.0 + x**-3 + x**17 + x**18.0 + ti.pow(x, 5) + ti.abs(x) ** 2.5


def test_elementary_functions() -> None:
    assert_smooth(elementary, -0.9, -0.3, 0.1, 0.7)


def test_functions_of_two() -> None:
    assert_smooth(of_two, [1.1, 0.4], [0.6, -1.3], [-0.8, -0.5], [-0.7, 1.2])


def test_powers_of_positive_and_negative_bases() -> None:
    assert_smooth(powers, 0.4, 0.9, 1.3)
    assert_smooth(negative_powers, -0.4, -0.9, -1.3, 0.8)


def steps(q):
    x = q[0]
    return (
        ti.floor(x)
        + 2.0 * ti.ceil(x)
        + ti.round(3.0 * x)
        + ti.cast(x, ti.i32)
        + x // 0.3
        + ti.i64(x)
        + 0.0 * x
    )


def test_what_is_piecewise_constant_has_no_slope() -> None:
    assert (slopes(steps, -1.3, 0.2, 2.7) == 0.0).all()


def rounded(q):
    return ti.round(q[0]) + 100.0 * ti.cast(q[0], ti.i32) + 1e4 * ti.floor(q[0]) + 1e6 * (q[0] // 0.5)


def test_halves_round_away_from_zero() -> None:
    """In Taichi; in Python they round to even."""
    for q, expected in (
        (0.5, 1e6 + 1.0),
        (2.5, 5e6 + 2e4 + 203.0),
        (-2.5, -5e6 - 3e4 - 203.0),
        (1.5, 3e6 + 1e4 + 102.0),
    ):
        potential = potential_of(rounded, np.array([q]))
        (term,) = potential.terms.values()
        assert potential.value() == references.plain_energy(term) == expected


def nothing(q):
    return 3


def test_a_constant_has_no_slope() -> None:
    potential = potential_of(nothing, np.array([1.0, 2.0]))
    assert potential.value() == 6.0
    assert (potential.gradient("q") == 0.0).all()


# Powers at zero -------------------------------------------------------------------------------------


def powers_of_zero(q):
    x = q[0]
    return x**1 + x**2 + 3.0 * x**3 + x**1.5 + x**2.7 + x**17 + x**0


def variable_exponent(q):
    return q[0][0] ** q[0][1]


def test_powers_of_zero(any_math) -> None:
    assert slopes(powers_of_zero, 0.0) == [1.0]


def test_zero_to_a_variable_exponent(any_math) -> None:
    """0^y: no change with y; and with its base 0, 1, or 0 for the exponents 2.5, 1, 0."""
    found = slopes(variable_exponent, [0.0, 2.5], [0.0, 1.0], [0.0, 0.0], [3.0, 0.0])
    np.testing.assert_array_equal(found[:, 0], [0.0, 1.0, 0.0, 0.0])
    np.testing.assert_allclose(found[:, 1], [0.0, 0.0, 0.0, np.log(3.0)], rtol=1e-15)


# Kinks ----------------------------------------------------------------------------------------------


def tied(q):
    x, y = q[0][0], q[0][1]
    return 2.0 * ti.max(x, y) + 10.0 * ti.min(x, y) + 100.0 * ti.max(3.0 * x, y, 3.0 * y)


def flat(q):
    return ti.abs(q[0]) + abs(2.0 * q[0])


def clamped(q):
    return ti.math.clamp(q[0], -1.0, 2.0)


def signed(q):
    return q[0] * ti.math.sign(q[0])


def test_min_and_max_take_the_mean_of_both_sides_at_a_tie(any_math) -> None:
    """The weight is halved: of three numbers the first two share one half, and the third has the other.

    Of 100 max(3 x, y, 3 y) at zero the sides 3 x > y, then 3 x > 3 y, or y > 3 y, each count alike.
    """
    at_tie, above = slopes(tied, [0.0, 0.0], [2.0, 1.0])
    np.testing.assert_array_equal(at_tie, [6.0 + 75.0, 6.0 + 75.0 + 25.0 + 75.0])
    np.testing.assert_array_equal(above, [302.0, 10.0])


def test_abs_is_flat_at_zero(any_math) -> None:
    np.testing.assert_array_equal(slopes(flat, 0.0, -0.0, 1.0, -1.0), [0.0, 0.0, 3.0, -3.0])


def test_clamp_and_sign(any_math) -> None:
    np.testing.assert_array_equal(slopes(clamped, -3.0, -0.5, 1.9, 2.5), [0.0, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal(slopes(signed, -3.0, 0.0, 4.0), [-1.0, 0.0, 1.0])


# Guards: an infinite derivative on the side not taken -----------------------------------------------


def by_select(q):
    x = q[0]
    return ti.select(x > 0.0, ti.sqrt(x), 0.0)


def by_if(q):
    u = 0.0
    if q[0] > 0.0:
        u = ti.sqrt(q[0])
    return u


def by_early_return(q):
    if q[0] <= 0.0:
        return 0.0
    return ti.sqrt(q[0])


def below_an_operation(q):
    x = q[0]
    return 3.0 * ti.exp(2.0 * ti.select(x > 0.0, ti.sqrt(x * x * x * x / x), 0.0)) - 3.0


@pytest.mark.parametrize("function", [by_select, by_if, by_early_return])
def test_a_guarded_root_has_no_slope_where_it_is_not_taken(any_math, function: Callable) -> None:
    np.testing.assert_array_equal(slopes(function, 0.0, -0.0, -1.0, 4.0), [0.0, 0.0, 0.0, 0.25])
    assert potential_of(function, np.array([-1.0, 0.0, 4.0])).value() == 2.0


def test_a_guard_reaches_through_what_surrounds_it(any_math) -> None:
    found = slopes(below_an_operation, 0.0, -2.0, 0.25)
    np.testing.assert_array_equal(found[:2], [0.0, 0.0])
    x = 0.25
    assert found[2] == pytest.approx(6.0 * np.exp(2.0 * x**1.5) * 1.5 * x**0.5, rel=1e-14)


def nested(q):
    x, y = q[0][0], q[0][1]
    u = 0.0
    if x > 0.0:
        u = ti.select(y > 0.0, ti.sqrt(y) + ti.log(x), ti.select(y < -1.0, ti.sqrt(-1.0 - y) / x, x))
    return u


def test_nested_guards(any_math) -> None:
    points = [[-1.0, 4.0], [0.0, 0.0], [2.0, 4.0], [2.0, -0.5], [2.0, -1.0], [2.0, -5.0], [-2.0, -5.0]]
    expected = [[0, 0], [0, 0], [0.5, 0.25], [1, 0], [1, 0], [-0.5, -0.125], [0, 0]]
    np.testing.assert_allclose(slopes(nested, *points), expected, rtol=1e-15)


def three_deep_and_shared(q):
    """The root is shared by three guarded uses; its square is used everywhere."""
    x, y = q[0][0], q[0][1]
    square = x * x + y * y
    root = ti.sqrt(square - 1.0)
    inner = ti.select(x > 2.0, root * y, root)
    middle = ti.select(square > 1.0, inner + root, square)
    return ti.select(y > -3.0, middle, 2.0 * square) + 0.5 * square


def test_guards_three_deep_over_shared_parts(any_math) -> None:
    def by_hand(x: float, y: float) -> list[float]:
        square = x * x + y * y
        if y <= -3.0:
            return [5.0 * x, 5.0 * y]
        if square <= 1.0:
            return [3.0 * x, 3.0 * y]
        root = np.sqrt(square - 1.0)
        weight, extra = (y + 1.0, root) if x > 2.0 else (2.0, 0.0)
        return [weight * x / root + x, weight * y / root + extra + y]

    points = [
        [0.3, 0.4],
        [1.0, 0.0],
        [0.0, 0.0],
        [1.5, 0.7],
        [2.5, 0.7],
        [0.1, -4.0],
        [2.5, -4.0],
        [0.0, -1.0],
    ]
    np.testing.assert_allclose(
        slopes(three_deep_and_shared, *points), [by_hand(*p) for p in points], rtol=1e-13
    )


def guarded_and_not(q):
    x = q[0]
    shared = x * x * x
    return ti.select(x > 0.0, ti.sqrt(shared), 0.0) + 2.0 * shared


def test_a_node_used_inside_a_guard_and_outside(any_math) -> None:
    found = slopes(guarded_and_not, 0.0, -1.0, 1.0)
    np.testing.assert_allclose(found, [0.0, 6.0, 7.5], rtol=1e-15)


def both_sides(q):
    x = q[0]
    shared = ti.exp(x)
    u = 0.0
    if x > 0.0:
        u += shared * shared
    else:
        u += 3.0 * shared + ti.sqrt(-x)
    return u * shared


def test_both_sides_share_a_node(any_math) -> None:
    found = slopes(both_sides, 0.5, -4.0)
    x = -4.0
    expected = [3.0 * np.exp(1.5), 6.0 * np.exp(2 * x) + np.exp(x) * (np.sqrt(-x) - 0.5 / np.sqrt(-x))]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def within_max(q):
    """The argument that loses has an infinite derivative."""
    return ti.max(ti.sqrt(q[0]), 1.0) + ti.min(0.5, 1.0 / q[0])


def test_the_loser_of_max_and_min_does_not_count(any_math) -> None:
    np.testing.assert_array_equal(slopes(within_max, 0.0, 0.25, 4.0), [0.0, 0.0, 0.25 - 1.0 / 16.0])


def unreachable_log(q):
    x = q[0]
    return ti.select(x > 0.0, x * ti.log(x), 0.0)


def test_x_log_x(any_math) -> None:
    np.testing.assert_array_equal(slopes(unreachable_log, 0.0, -1.0, 1.0), [0.0, 0.0, 1.0])


# Size -----------------------------------------------------------------------------------------------


def test_a_gradient_costs_a_few_times_its_value() -> None:
    """Chains of products, of guarded terms, of branches on both sides: linear, not exponential."""
    for link in (
        lambda g, u, c: u * g.apply("sin", u),
        lambda g, u, c: u + g.apply("select", u < c, g.apply("sqrt", u), 0.0),
        lambda g, u, c: g.apply("select", u < c, u * c, g.apply("sqrt", u) + u),
        lambda g, u, c: g.apply("max", u * c, g.apply("exp", u)),
    ):
        sizes = []
        for length in (8, 16):
            graph = Graph()
            x = graph.input("x")
            u = x
            for k in range(length):
                u = link(graph, u, graph.input("c", k))
            (du,) = gradient(u, [x])
            sizes.append(len(reachable([u, du])))
        assert sizes[1] < 2.5 * sizes[0], sizes


def test_the_gradient_with_respect_to_the_output_itself() -> None:
    graph = Graph()
    x, y = graph.input("x"), graph.input("y")
    assert gradient(x, [x, y]) == [graph.constant(1.0), graph.constant(0.0)]
