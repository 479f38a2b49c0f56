"""What Taichi's reverse takes from the last turn of an inner loop: the text tells it, and Taichi is asked."""

import inspect
from collections.abc import Callable

import numpy as np
import pytest

from minusgrad import Node, ti
from minusgrad.energies.staged_energy import Stage, staged_energy
from minusgrad.engine import runtime, storage
from minusgrad.errors import EnergyError
from minusgrad.lint.kernel_remarks import readings

LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)
WRONG: list[Callable] = []
RIGHT: list[Callable] = []


def wrong(kernel: Callable) -> Callable:
    """Reversed wrongly by Taichi 1.7.4."""
    WRONG.append(kernel)
    return kernel


def right(kernel: Callable) -> Callable:
    """Alike, and right."""
    RIGHT.append(kernel)
    return kernel


@ti.func
def bell(d):
    return ti.exp(-d * d)


@ti.func
def cube(d):
    return d * d * d


@wrong
@ti.kernel
def beside_a_term(x: LINE, U: ONE):
    for i in x:
        U[None] += x[i] * x[i]
        for j in range(x.shape[0]):
            U[None] += ti.exp(x[i] * x[j])


@wrong
@ti.kernel
def beside_what_is_unrolled(x: LINE, U: ONE):
    for i in x:
        for j in ti.static(range(2)):
            U[None] += x[i] * x[j]
        for j in range(x.shape[0]):
            U[None] += ti.exp(x[i] * x[j])


@right
@ti.kernel
def in_loops_of_their_own(x: LINE, U: ONE):
    for i in x:
        U[None] += x[i] * x[i]
    for i in x:
        for j in range(x.shape[0]):
            U[None] += ti.exp(x[i] * x[j])


@right
@ti.kernel
def sines_beside_a_term(x: LINE, U: ONE):
    for i in x:
        U[None] += x[i] * x[i]
        for j in range(x.shape[0]):
            U[None] += ti.sin(x[i] * x[j]) / ti.sqrt(x[i] + x[j])


@wrong
@ti.kernel
def a_sum_of_bells(x: LINE, U: ONE):
    for i in x:
        s = 0.0
        for j in range(x.shape[0]):
            s += bell(x[i] - 0.7 * x[j])
        U[None] += s * s


@right
@ti.kernel
def a_sum_of_cubes(x: LINE, U: ONE):
    for i in x:
        s = 0.0
        for j in range(x.shape[0]):
            s += cube(x[i] - 0.7 * x[j])
        U[None] += s * s


@wrong
@ti.kernel
def roots(x: LINE, U: ONE):
    for i in x:
        s = 0.0
        for j in range(x.shape[0]):
            d = x[i] - 0.7 * x[j]
            s += ti.rsqrt(d * d + 0.1)
        U[None] += s


@wrong
@ti.kernel
def greatest(x: LINE, U: ONE):
    for i in x:
        k = 0
        for j in range(x.shape[0]):
            d = x[i] - 0.7 * x[j]
            U[None] += ti.max(d, 0.1) * (k + 1)
            k += 1  # noqa: SIM113


@right
@ti.kernel
def places(x: LINE, U: ONE):
    for i in x:
        s = 0.0
        for j in range(x.shape[0]):
            s += x[ti.max(j - 1, 0)] * x[i]
        U[None] += s * s


@wrong
@ti.kernel
def between_two_loops(x: LINE, U: ONE):
    for i in x:
        for j in range(x.shape[0]):
            s = 0.0
            for k in range(3):
                s += x[k] * x[j]
            U[None] += ti.exp(-s) * x[i]


@right
@ti.kernel
def in_the_innermost(x: LINE, U: ONE):
    for i in x:
        for j in range(x.shape[0]):
            for k in range(3):
                d = x[i] - 0.7 * x[j] * k
                d = d * d + x[k]
                U[None] += ti.max(d, 0.2) * ti.exp(-d)


@wrong
@ti.kernel
def after_a_local(x: LINE, U: ONE):
    for i in x:
        s = x[i]
        s *= x[0]
        for j in range(x.shape[0]):
            U[None] += ti.tanh(x[i] * x[j])
        U[None] += s * s


@right
@ti.kernel
def in_the_turn(x: LINE, U: ONE):
    for i in x:
        s = 0.0
        for j in range(x.shape[0]):
            s += x[j]
        U[None] += ti.exp(x[i] - 0.7 * s) * ti.max(s, 1.0)


@right
@ti.kernel
def branches_in_the_loop(x: LINE, U: ONE):
    for i in x:
        for j in range(x.shape[0]):
            m = 0.0
            if x[j] > 0.7:
                m = ti.exp(x[i] * x[j])
            U[None] += m * m


@right
@ti.kernel
def unrolled(x: LINE, U: ONE):
    for i in x:
        s = x[i]
        for j in ti.static(range(6)):
            if x[j] > 0.7:
                s += ti.exp(x[i] * x[j]) * s
        U[None] += s * s


@wrong
@ti.kernel
def a_loop_in_a_branch(x: LINE, U: ONE):
    for i in x:
        U[None] += x[i]
        if x[i] > 0.1:
            if x[i] > 0.2:
                U[None] += x[i] * x[i]
            for j in range(x.shape[0]):
                v = 1.0
                U[None] += ti.cos(v) * x[j]


def slope_and_differences(kernel: Callable) -> tuple[np.ndarray, np.ndarray]:
    runtime.start()
    n, h = 6, 1e-4
    start = np.random.default_rng(0).uniform(0.3, 1.6, n)
    x, loss = storage.ndarray(ti.f64, (n,), needs_grad=True), storage.ndarray(ti.f64, (), needs_grad=True)

    def value(at: np.ndarray) -> float:
        x.from_numpy(at)
        loss.from_numpy(np.zeros(()))
        kernel(x, loss)
        return float(loss.to_numpy())

    value(start)
    x.grad.from_numpy(np.zeros(n))
    loss.grad.from_numpy(np.ones(()))
    kernel.grad(x, loss)
    moves = h * np.eye(n)
    return x.grad.to_numpy(), np.array([(value(start + e) - value(start - e)) / (2.0 * h) for e in moves])


def name(kernel: Callable) -> str:
    return inspect.unwrap(kernel).__name__


@pytest.mark.skipif(runtime.engine_name() != "taichi", reason="Quadrants reverses them rightly")
@pytest.mark.parametrize("kernel", WRONG, ids=name)
def test_what_is_refused_is_wrong(kernel: Callable) -> None:
    slope, expected = slope_and_differences(kernel)
    assert not np.allclose(slope, expected, rtol=1e-3, atol=0.0)


@pytest.mark.parametrize("kernel", RIGHT, ids=name)
def test_what_is_let_pass_is_right(kernel: Callable) -> None:
    slope, expected = slope_and_differences(kernel)
    np.testing.assert_allclose(slope, expected, rtol=1e-5)
    assert not [r for r in readings(kernel) if r.kind in ("last", "branch")]


@pytest.mark.parametrize("kernel", WRONG, ids=name)
def test_stages_that_would_be_wrong_are_refused(kernel: Callable) -> None:
    message = "in an inner loop beside other statements|is an inner loop in an `if`"
    with pytest.raises(EnergyError, match=message):
        staged_energy("e", stages=[Stage(kernel, ("U",))], x=Node())


@pytest.mark.parametrize("kernel", RIGHT, ids=name)
def test_stages_that_are_right_are_taken(kernel: Callable) -> None:
    staged_energy("e", stages=[Stage(kernel, ("U",))], x=Node())
