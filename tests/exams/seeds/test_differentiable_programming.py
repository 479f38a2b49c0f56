"""Taichi's guide to differentiable programming (0.7 and 1.0), problem by problem.

Each is solved here with a local energy or with stages. Where the guide warns, the test holds what Taichi
1.7.4 does when it is not heeded, and what we say instead.
"""

from collections.abc import Callable

import numpy as np
import pytest

from minusgrad import (
    Between,
    Fields,
    Node,
    Parameter,
    Potential,
    Stage,
    bind,
    bind_staged,
    local_energy,
    staged_energy,
    ti,
)
from minusgrad.engine import runtime
from minusgrad.errors import EnergyError
from minusgrad.potential.staged.staged_term import StagedTerm
from tests.exams.seeds.reverse_mode import MANY, ONE, array, order, reverse

X = np.array([0.4, 1.0, 2.0, -0.7])
PLANE = ti.types.ndarray(dtype=ti.types.vector(2, ti.f64), ndim=1)
N = Between(("n",))


def staged(stages: list[Stage], x: np.ndarray = X, between: dict | None = None, **options) -> StagedTerm:
    fields = Fields({"x": x})
    roles = options.pop("roles", {"x": Node()})
    energy = staged_energy("e", stages=stages, between=between, **roles, **options)
    return bind_staged(energy, fields)


def is_true(term: StagedTerm) -> bool:
    """Whether the gradient is that of the value."""
    start = term.fields["x"].values.copy()

    def value(x: np.ndarray) -> float:
        term.fields["x"].set(x)
        return term.value()

    gradient = term.gradient("x")
    found = order(value, start, gradient)
    term.fields["x"].set(start)
    return found > 1.9


# sin(x) ---------------------------------------------------------------------------------------------


@ti.kernel
def sine(x: MANY, U: ONE):
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] += ti.sin(x[i])


@local_energy("sine", over="nodes", x=Node())
def local_sine(x):
    """sin(x)."""
    return ti.sin(x[0])


def test_the_derivative_of_the_sine_is_the_cosine() -> None:
    fields = Fields({"x": X})
    local = Potential(fields, [bind(local_sine, fields)])
    stages = staged([Stage(sine, ("U",))])
    for value, gradient in ((local.value(), local.gradient("x")), (stages.value(), stages.gradient("x"))):
        assert value == pytest.approx(np.sin(X).sum(), rel=1e-15)
        np.testing.assert_allclose(gradient, np.cos(X), rtol=1e-15)


# Gravity --------------------------------------------------------------------------------------------


@ti.kernel
def attraction(x: PLANE, U: ONE):
    """Over ordered pairs, as the guide has it; i = j gives a constant."""
    ti.loop_config(serialize=True)
    for i, j in ti.ndrange(x.shape[0], x.shape[0]):
        U[None] += -1.0 / (x[i] - x[j]).norm(1e-3)


@local_energy("attraction", over="pairs", x=Node("m", ("d",)))
def local_attraction(x):
    """The same, each pair once."""
    return -2.0 / (x[0] - x[1]).norm(1e-3)


def test_gravity_by_its_energy_alone() -> None:
    x = np.random.default_rng(0).uniform(size=(8, 2))
    fields = Fields({"x": x})
    local = Potential(fields, [bind(local_attraction, fields)])
    stages = staged([Stage(attraction, ("U",))], x, roles={"x": Node("m", ("d",))})
    d = x[:, None] - x
    r2 = np.sum(d**2, axis=-1) + 1e-3
    alone = -8 / np.sqrt(1e-3)
    force = -2.0 * np.sum(d / r2[..., None] ** 1.5, axis=1)
    assert stages.value() == pytest.approx(np.sum(-1 / np.sqrt(r2)), rel=1e-14)
    assert local.value() + alone == pytest.approx(stages.value(), rel=1e-14)
    np.testing.assert_allclose(-stages.gradient("x"), force, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(-local.gradient("x"), force, rtol=1e-11, atol=1e-11)


def test_its_pieces_keep_energy_and_momentum() -> None:
    """Kick and drift as the guide's `advance`, the force from the stages."""
    x = np.random.default_rng(0).uniform(size=(8, 2))
    term, v, dt = (
        staged([Stage(attraction, ("U",))], x, roles={"x": Node("m", ("d",))}),
        np.zeros((8, 2)),
        1e-4,
    )
    start = term.value()
    for _ in range(100):
        v -= 0.5 * dt * term.gradient("x")
        term.fields["x"].set(term.fields["x"].values + dt * v)
        v -= 0.5 * dt * term.gradient("x")
    assert np.abs(v.sum(axis=0)).max() < 1e-12
    kinetic = 0.5 * np.sum(v**2)
    assert kinetic > 1e-3
    assert term.value() + kinetic == pytest.approx(start, abs=1e-3 * kinetic)


# Several outputs ------------------------------------------------------------------------------------


@ti.kernel
def two_losses(x: MANY, square: ONE, plain: ONE):
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        square[None] += x[i] ** 2
        plain[None] += x[i]


def test_two_losses_at_once() -> None:
    x = np.arange(16.0)
    term = staged([Stage(two_losses, ("square", "plain"))], x, outputs=("square", "plain"))
    assert {n: float(v) for n, v in term.output_values().items()} == {"square": 1240.0, "plain": 120.0}
    assert np.array_equal(term.gradient("x"), 2 * x + 1)
    assert np.array_equal(term.gradients(("x",), seeds={"square": 1.0})["x"], 2 * x)


# What was read must stay ----------------------------------------------------------------------------


@ti.kernel
def scaled_then_changed(x: MANY, b: ONE, U: ONE):
    U[None] = x[1] * b[None]
    b[None] += 100.0


@ti.kernel
def scaled(x: MANY, b: ONE, U: ONE):
    U[None] = x[1] * b[None]


def test_a_factor_that_changes_after_it_was_read() -> None:
    x, b, loss = array(np.arange(16.0)), array(10.0), array(0.0)
    reverse(scaled_then_changed, loss, x, b, loss)
    assert x.grad.to_numpy()[1] == 110.0  # Taichi's, and it is 10

    roles = {"x": Node(), "b": Parameter(default=10.0)}
    with pytest.raises(
        EnergyError, match="stage 'scaled_then_changed': changes 'b', which it is not declared"
    ):
        staged([Stage(scaled_then_changed, ("U",))], roles=roles).gradient("x")
    assert staged([Stage(scaled, ("U",))], roles=roles).gradient("x").tolist() == [0.0, 10.0, 0.0, 0.0]


# After the first write, only sums -------------------------------------------------------------------


@ti.kernel
def sum_then_product(x: MANY, U: ONE):
    U[None] += x[1] ** 2
    U[None] *= x[2]


@ti.kernel
def product_of_sum(x: MANY, U: ONE):
    U[None] = (2.0 + x[1] ** 2) * x[2]


def test_a_product_after_a_sum() -> None:
    x, loss = array(np.arange(16.0)), array(2.0)
    reverse(sum_then_product, loss, x, loss)
    assert loss.to_numpy() == 6.0
    assert x.grad.to_numpy()[1:3].tolist() == [4.0, 6.0]  # Taichi's; the latter is 3

    with pytest.raises(EnergyError, match="stage 'sum_then_product': neither overwrites nor adds to 'U'"):
        staged([Stage(sum_then_product, ("U",))]).gradient("x")
    ours = staged([Stage(product_of_sum, ("U",))], np.arange(4.0))
    assert (ours.value(), ours.gradient("x").tolist()) == (6.0, [0.0, 4.0, 3.0, 0.0])


# Loops ----------------------------------------------------------------------------------------------


@ti.kernel
def one_loop(x: MANY, y: MANY):
    for i in range(x.shape[0]):
        y[i] = x[i]


@ti.kernel
def nested_loops(x: MANY, U: ONE):
    for i in range(4):
        for j in range(3):
            for k in range(5):
                U[None] += x[i] ** 2 * ti.sin(x[j] * k)


@ti.kernel
def two_inner_loops(x: MANY, U: ONE):
    for i in range(4):
        s = 0.0
        for j in range(5):
            s += x[i] * j
        for j in range(6):
            U[None] += s * s * j


@ti.kernel
def two_unrolled_loops(x: MANY, U: ONE):
    ti.loop_config(serialize=True)
    for i in range(4):
        s = 0.0
        for j in ti.static(range(5)):
            s += x[i] * j
        for j in ti.static(range(6)):
            U[None] += s * s * j


@ti.kernel
def before_an_inner_loop(x: MANY, U: ONE):
    for i in range(4):
        s = x[i] * x[i]
        for j in range(4):
            U[None] += s * s * j


@ti.kernel
def beside_a_loop(x: MANY, U: ONE):
    U[None] += x[0]
    for i in range(4):
        U[None] += x[i] ** 2


@ti.kernel
def first_number(x: MANY, U: ONE):
    U[None] += x[0]


@ti.kernel
def all_squares(x: MANY, U: ONE):
    ti.loop_config(serialize=True)
    for i in range(4):
        U[None] += x[i] ** 2


@pytest.mark.parametrize("kernel", [nested_loops, two_unrolled_loops], ids=["nested", "unrolled"])
def test_simple_loops_are_right(kernel: Callable) -> None:
    assert is_true(staged([Stage(kernel, ("U",))]))


def test_a_loop_of_copies_is_right() -> None:
    term = staged([Stage(one_loop, ("y",)), Stage(sine, ("U",), rename={"x": "y"})], between={"y": N})
    np.testing.assert_allclose(term.gradient("x"), np.cos(X), rtol=1e-15)


@ti.kernel
def two_plain_inner_loops(x: MANY, U: ONE):
    for i in range(4):
        for j in range(5):
            U[None] += x[i] ** 2 * j
        for j in range(6):
            U[None] += ti.sin(x[i]) * j


@ti.kernel
def nested_in_order(x: MANY, U: ONE):
    ti.loop_config(serialize=True)
    for i in range(4):
        for j in range(3):
            U[None] += x[i] * ti.sin(x[j])


@ti.kernel
def flat_in_order(x: MANY, U: ONE):
    ti.loop_config(serialize=True)
    for i, j in ti.ndrange(4, 3):
        U[None] += x[i] * ti.sin(x[j])


def test_two_loops_in_a_loop_are_right_though_the_guide_forbids_them() -> None:
    """1.7.4 raises nothing. Where the second needs a value of the first we refuse: unrolled it is safe."""
    term = staged([Stage(two_plain_inner_loops, ("U",))])
    np.testing.assert_allclose(term.gradient("x"), 20 * X + 15 * np.cos(X), rtol=1e-14)

    with pytest.raises(EnergyError, match="uses 's', computed before this inner loop"):
        staged([Stage(two_inner_loops, ("U",))])
    unrolled = staged([Stage(two_unrolled_loops, ("U",))])
    np.testing.assert_allclose(unrolled.gradient("x"), 3000 * X, rtol=1e-14)


def test_a_loop_within_a_serialised_loop_is_silently_wrong() -> None:
    """No guide says so. The same loops flat are right, and parallel they are, too."""
    x, loss = array(X), array(0.0)
    reverse(nested_in_order, loss, x, loss)
    expected = np.sin(X[:3]).sum() + np.cos(X) * X.sum() * [1, 1, 1, 0]
    assert np.abs(x.grad.to_numpy() - expected).max() > 0.5

    text = "stage 'nested_in_order', line .*: is serialised and has a loop in it"
    with pytest.raises(EnergyError, match=text):
        staged([Stage(nested_in_order, ("U",))])
    np.testing.assert_allclose(staged([Stage(flat_in_order, ("U",))]).gradient("x"), expected, rtol=1e-14)


@ti.kernel
def fill_squares(x: MANY, s: MANY):
    for i in range(4):
        s[i] = x[i] * x[i]


@ti.kernel
def use_squares(s: MANY, U: ONE):
    for i in range(4):
        for j in range(4):
            U[None] += s[i] * s[i] * j


@local_energy("quartic", over="nodes", x=Node())
def local_quartic(x):
    """6 x^4, in a loop."""
    s = x[0] * x[0]
    total = 0.0
    for j in range(4):
        total += s * s * j
    return total


def test_a_value_made_before_an_inner_loop_is_silently_wrong() -> None:
    """The guide promises an error; 1.7.4 gives 0. Two stages cure it, or a local energy."""
    x, loss = array(X), array(0.0)
    reverse(before_an_inner_loop, loss, x, loss)
    assert loss.to_numpy() == pytest.approx(6 * np.sum(X**4))
    assert x.grad.to_numpy().tolist() == [0.0] * 4  # Taichi's, and it is 24 x^3

    with pytest.raises(EnergyError, match="uses 's', computed before this inner loop"):
        staged([Stage(before_an_inner_loop, ("U",))])
    stages = [Stage(fill_squares, ("s",)), Stage(use_squares, ("U",))]
    fields = Fields({"x": X})
    for gradient in (
        staged(stages, between={"s": N}).gradient("x"),
        Potential(fields, [bind(local_quartic, fields)]).gradient("x"),
    ):
        np.testing.assert_allclose(gradient, 24 * X**3, rtol=1e-14)


def test_a_statement_beside_a_loop_is_refused() -> None:
    x, loss = array(X), array(0.0)
    with pytest.raises(RuntimeError, match="Mixed usage of for-loops and statements without looping"):
        reverse(beside_a_loop, loss, x, loss)
    with pytest.raises(EnergyError, match="stage 'beside_a_loop': Taichi cannot reverse this kernel"):
        staged([Stage(beside_a_loop, ("U",))]).gradient("x")
    two = staged([Stage(first_number, ("U",)), Stage(all_squares, ("U",))])
    np.testing.assert_allclose(two.gradient("x"), 2 * X + [1, 0, 0, 0], rtol=1e-15)


# Gradients of one's own -----------------------------------------------------------------------------


@ti.kernel
def scaled_sum(x: MANY, U: ONE, mul: ti.f64):
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] += x[i] * mul


@ti.kernel
def only_once(d_U: ONE, mul: ti.f64, d_x: MANY):
    for i in range(d_x.shape[0]):
        d_x[i] += mul * d_U[None]


def test_a_gradient_of_ones_own_replaces_taichis() -> None:
    """The sum is taken twice, and and its reverse counts it once: 4, where Taichi says 8."""
    x = np.ones(128)
    twice = [Stage(scaled_sum, ("U",), numbers={"mul": 4.0})] * 2
    assert staged(twice, x).gradient("x")[0] == 8.0

    def both(x, U, mul):
        scaled_sum(x, U, mul)
        scaled_sum(x, U, mul)

    ours = staged([Stage(both, ("U",), numbers={"mul": 4.0}, backward=only_once)], x)
    assert ours.value() == 1024.0
    assert ours.gradient("x").tolist() == [4.0] * 128


@ti.kernel
def long_way(x: MANY, g: MANY, k: ONE, x_new: MANY):
    for i in range(x.shape[0]):
        x_new[i] = x[i] + 0.1 * ti.sin(k[None] * g[i])


@ti.kernel
def smooth(x: MANY, g: MANY):
    """Expensive, in earnest: neighbours around a ring."""
    for i in range(x.shape[0]):
        g[i] = x[i] * x[(i + 1) % x.shape[0]]


def test_recomputing_in_the_reverse_pass_needs_one_array_and_changes_no_bit() -> None:
    steps = 5
    roles = {"x": Node(), "k": Parameter(default=0.8)}

    def term(recompute: bool) -> StagedTerm:
        stages, between = [], {}
        for s in range(steps):
            g, here, there = "g" if recompute else f"g{s}", f"x{s}" if s else "x", f"x{s + 1}"
            between |= {g: N, there: N}
            stages.append(Stage(smooth, ("g",), rename={"x": here, "g": g}, recompute=recompute))
            stages.append(Stage(long_way, ("x_new",), rename={"x": here, "g": g, "x_new": there}))
        stages.append(Stage(all_squares, ("U",), rename={"x": f"x{steps}"}))
        return staged(stages, between=between, roles=roles)

    stored, again = term(False), term(True)
    assert is_true(again)
    assert stored.value() == again.value()
    for argument in roles:
        assert np.array_equal(stored.gradient(argument), again.gradient(argument))
    assert [sum(a.startswith("g") for a in t.arrays) for t in (stored, again)] == [steps, 1]


# Reverse without forward ----------------------------------------------------------------------------


@ti.kernel
def to_squares(x: MANY, y: MANY):
    for i in range(x.shape[0]):
        y[i] = x[i] ** 2


def test_a_reverse_without_its_forward_uses_what_is_stale() -> None:
    """x has changed, y = x^2 has not: Taichi mixes the two. Ours runs forward before each reverse."""
    x, y, loss = array(X), array(np.zeros(4)), array(0.0)
    to_squares(x, y)
    all_squares(y, loss)
    x.from_numpy(2 * X)
    loss.grad.fill(1)
    all_squares.grad(y, loss)  # type: ignore[attr-defined]
    to_squares.grad(x, y)  # type: ignore[attr-defined]
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * X**2 * 2 * (2 * X), rtol=1e-15)  # and it is 4 (2 X)^3

    stages = [Stage(to_squares, ("y",)), Stage(all_squares, ("U",), rename={"x": "y"})]
    term = staged(stages, between={"y": N})
    term.value()
    term.fields["x"].set(2 * X)
    np.testing.assert_allclose(term.gradient("x"), 4 * (2 * X) ** 3, rtol=1e-14)


def test_adjoints_that_are_not_cleared_pile_up() -> None:
    x, loss = array(X), array(0.0)
    reverse(sine, loss, x, loss)
    reverse(sine, loss, x, loss)
    np.testing.assert_allclose(x.grad.to_numpy(), 2 * np.cos(X), rtol=1e-15)  # Taichi's, twice
    term = staged([Stage(sine, ("U",))])
    assert np.array_equal(term.gradient("x"), term.gradient("x"))
    np.testing.assert_allclose(term.gradient("x"), np.cos(X), rtol=1e-15)


def test_the_guide_is_kept_with_the_engine_that_runs() -> None:
    """Nothing here starts an engine of its own."""
    runtime.start()
    starts = runtime.start_count()
    staged([Stage(sine, ("U",))]).gradient("x")
    assert runtime.start_count() == starts
