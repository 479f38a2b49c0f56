"""How often locals are pushed on the stack of a reverse: predicted from the source, compared with Taichi."""

import ast
import inspect
import re
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

import torch
from minusgrad import Fields, Node, ti
from minusgrad.energies.staged_energy import Stage, staged_energy
from minusgrad.engine import runtime
from minusgrad.errors import EnergyError
from minusgrad.lint.stack_depth import pushed_locals
from minusgrad.potential.staged.staged_binding import bind_staged
from minusgrad.potential.staged.staged_term import StagedTerm
from minusgrad.torch import kernel

FORTY = 40
A = ti.types.ndarray
LINE, ONE = A(dtype=ti.f64, ndim=1), A(dtype=ti.f64, ndim=0)


# What a text pushes ----------------------------------------------------------------------------------


def of_text(x, n, m):
    for i in x:
        made = x[i]
        s = 0.0
        for j in range(40):
            s += x[j]
        twice = 1.0
        for j in range(5):
            twice *= x[j]
            twice = twice + 1.0
        nested = 0.0
        for j in range(FORTY):
            for k in range(2, 5):
                nested += x[j] * x[k]
        after = 0.0
        for j in range(7):
            after += x[j]
        for j, k in ti.ndrange(2, (1, 4)):
            after += x[j + k]
        over = 0.0
        for j in range(50):
            over = x[j] * x[j]
            made += over
        for _ in range(3):
            fresh = 0.0
            for k in range(x.shape[0]):
                fresh += x[k]
            for k in range(n):
                fresh += x[k]
            for k in range(m):
                s += fresh * x[k]
        unrolled = 0.0
        for j in ti.static(range(50)):
            unrolled += x[j]
        branch = 0.0
        for j in ti.static(range(6)):
            if x[j] > 0.0:
                branch = x[j]
            elif x[j] < -1.0:
                branch += 1.0
            if ti.static(j > 2):
                branch = branch * 1.0


KNOWN = {"x": SimpleNamespace(shape=(9,)), "n": 4}


@pytest.mark.parametrize(
    ("name", "times"),
    [
        ("s", inf),
        ("twice", 11.0),
        ("nested", 121.0),
        ("after", 14.0),
        ("made", 51.0),
        ("over", 51.0),
        ("fresh", 42.0),
        ("unrolled", 51.0),
        ("branch", 19.0),
        ("k", None),
    ],
)
def test_how_often_a_text_pushes(name: str, times: float | None) -> None:
    (function,) = ast.parse(inspect.getsource(of_text)).body
    (loop,) = function.body
    found = {one.name: one.times for one in pushed_locals(loop, of_text, KNOWN)}
    assert found.get(name) == times


# What Taichi makes of it -----------------------------------------------------------------------------


@ti.kernel
def sums(x: LINE, U: ONE):
    for _ in range(1):
        s = 0.0
        for j in range(x.shape[0]):
            s += x[j] * x[j]
        U[None] += ti.sin(s)


@ti.kernel
def branches(x: LINE, U: ONE):
    for _ in range(1):
        p = 1.0
        for j in ti.static(range(FORTY)):
            if x[j] > 0.0:
                p *= x[j]
        U[None] += p


@ti.kernel
def by_data(x: LINE, U: ONE):
    for _ in range(1):
        s = 0.0
        for j in range(ti.cast(x[0], ti.i32)):
            s += x[j] * x[j]
        U[None] += s


def term(stage, n: int) -> tuple[StagedTerm, np.ndarray]:
    x = np.random.default_rng(0).uniform(0.9, 1.1, n)
    return bind_staged(staged_energy("e", stages=[Stage(stage, ("U",))], x=Node()), Fields({"x": x})), x


@pytest.mark.parametrize("n", [30, 31, 32, 33, 40, 500, 1022])
def test_a_sum_in_an_inner_loop_is_reversed_rightly(n: int) -> None:
    """31 and more end the process, or are wrong in silence, with Taichi's own stack of 32 places."""
    one, x = term(sums, n)
    np.testing.assert_allclose(one.gradient("x"), np.cos(x @ x) * 2.0 * x, rtol=1e-12)


def test_so_are_ifs_in_loops_that_are_unrolled() -> None:
    one, x = term(branches, FORTY)
    np.testing.assert_allclose(one.gradient("x"), np.prod(x) / x, rtol=1e-12)


@pytest.mark.skipif(
    runtime.engine_name() != "taichi", reason="Quadrants makes stacks as large as they must be"
)
@pytest.mark.parametrize(
    ("stage", "n", "often"),
    [
        (sums, 1023, "1024 times in one iteration"),
        (by_data, 9, "an unknown number of times in one iteration"),
    ],
)
def test_what_would_leave_the_stack_is_refused(stage, n: int, often: str) -> None:
    line = inspect.getsourcelines(inspect.unwrap(stage))[1] + 5
    message = (
        f"e, stage '{stage.__name__}', line {line}: changes 's' {often}, and its reverse has a stack"
        " of 1023 values; add to an array with +=, or store each value in an array element of its own"
    )
    one, _ = term(stage, n)
    with pytest.raises(EnergyError, match=re.escape(message)):
        one.value()


def test_kernels_in_torch_have_the_same_stack() -> None:
    x = torch.linspace(0.9, 1.1, 200, dtype=torch.float64, requires_grad=True)
    kernel(U=())(sums)(x).backward()
    expected = torch.sin((x * x).sum())
    torch.testing.assert_close(x.grad, *torch.autograd.grad(expected, x), rtol=1e-12, atol=0.0)
