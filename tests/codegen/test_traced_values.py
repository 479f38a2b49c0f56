"""Names in an energy hold values: assignments, loops, functions that are called, branches."""

import inspect
import math
from collections.abc import Callable

import numpy as np
import pytest

from minusgrad import ti
from minusgrad.codegen.tracing import trace
from minusgrad.engine import runtime
from minusgrad.errors import TraceError
from tests.support.traced import WEIGHTS, assert_understood, energy_of, taichi, vec3

runtime.start()
FACTOR = 1.75
POINTS = [(0, 1), (1, 2)]


# Values, not references -----------------------------------------------------------------------------


def names_hold_copies(x, k):
    a = x[0]
    b = a
    c = d = a
    b[0] = 10.0
    c[1] = 20.0
    d.z = 30.0
    a.xy = ti.math.vec2(b[0] * k[0], 1.0)
    return a.sum() + 2.0 * b.sum() + 3.0 * c.sum() + 4.0 * d.sum() + x[0].sum()


def names_swap(x):
    a, b = x[0], x[1]
    a, b = b, a
    a[0] += 1.0
    p, q, r = a[0], b[0], a
    r *= 2.0
    p, q = q, p * q
    return a.dot(b) + r.sum() * p - q + x[1][0] * x[0][0]


def lists_hold_copies(x):
    y = [x[0], x[1], x[0]]
    z = y
    z[0] = x[1]
    y[2][1] = 5.0
    y[1] += x[0]
    total = ti.Vector([0.0, 0.0, 0.0])
    for p in ti.static(y):
        total += p
    return total.dot(z[0]) + x[0][1] * z[2][1] + y[1].norm()


def components_are_written(x, k):
    A = ti.Matrix([[0.0, 0.0], [0.0, 0.0]])
    v = ti.Vector([0.0, 0.0, 0.0])
    for i in ti.static(range(2)):
        for j in ti.static(range(2)):
            A[i, j] += x[i][j] * (1.0 + i)
    for i, j in ti.static(ti.ndrange(2, 2)):
        A[i, j] *= x[1][2] + j
    for i in ti.static(range(3)):
        v[i] = x[0][i] ** 2
        v[i] -= k[0]
        v[i] /= 1.5
    B = A
    B[0, 0] = 7.0
    v.fill(v[2])
    return A.determinant() + B.sum() * v.x


def loops_rebind(x):
    s, f = 1.0, x[0][0]
    for i in ti.static(range(4)):
        f = f * x[1][0] + i
        s = s + f
        s, f = f, 0.1 * s
    for p, q in ti.static(zip(x, [x[1], x[0]], strict=True)):
        s += p.dot(q) * s
    for i, p in ti.static(enumerate(x)):
        s -= p[i]
    return s + sum([f, s]) if ti.static(len(x) == 2) else 0.0


def shadowed(x, k):
    x0 = x[0]
    x0 = x0 * 2.0
    k0 = k[0]
    k0 += x0[0]
    e = x0.norm()
    n0 = e * k0
    t = n0 + x[0][1]
    w = 0.5
    w = 2
    z = w
    z += t  # a copy of a real name is real, whatever number the name was given last
    return t * z


@ti.func
def scaled(v, factor, offset=0.5):
    """Writes to its own copy of v; has a default."""
    v *= factor
    v[0] += offset
    return v


@ti.func
def typed(v: vec3, n: ti.i32, factor: ti.f64) -> ti.f64:
    return v.sum() * n + factor


@ti.func
def whole(a) -> ti.i32:
    return 7.9 * a


@ti.func
def both(a, b):
    return a + b, a * b


@ti.func
def first_of(y):
    y[0][0] = 50.0
    return y[0].sum()


@ti.func
def power(b: ti.template(), n: ti.template()):
    """Recursion over numbers that are known when it is compiled."""
    out = b
    if ti.static(n > 1):
        out = b * power(b, n - 1)
    return out


def functions_are_called_by_value(x, k):
    a = x[0]
    u = (
        scaled(a, k[0]).sum()
        + scaled(a, factor=2.0, offset=a[1]).sum()
        + a.sum()
        + scaled(offset=1.5, v=a, factor=a[2])[0]
    )
    s, p = both(x[0][1], x[1][2])
    return (
        u
        + typed(a, 2.7, 3)
        + typed(x[1], ti.cast(3.9 * a[0], ti.i32), s)
        + p * first_of(x)
        + x[0][0]
        + power(s, 3)
        + whole(a[1]) * a[2]
    )


def closures_and_constants(x):
    w = (WEIGHTS @ x[0].xy).sum()
    for i, j in ti.static(POINTS):
        w += x[0][i] * x[1][j] * FACTOR + math.pi + POINTS[0][1] + np.float64(2.0)
    return w + taichi.sin(x[0][0])


def branches_assign(x, k):
    u, v = 0.0, x[0]
    if x[0][0] > 0.0:
        u = x[0][1] * k[0]
        v[1] = x[1][0] * x[1][0]
        if x[1][1] > x[0][1]:
            v = x[1] * u
        else:
            u += v[1]
    elif x[1][0] > 0.3:
        v[0], v[2] = v[2], v[0]
        u -= v.x
    else:
        v = -x[1]
    return u * v.sum() + v[0] * v[1]


@pytest.mark.parametrize(
    "function",
    [
        *(names_hold_copies, names_swap, lists_hold_copies, components_are_written, loops_rebind, shadowed),
        *(functions_are_called_by_value, closures_and_constants, branches_assign),
    ],
)
def test_names_have_values(function: Callable) -> None:
    assert_understood(function)


def early_return(x):
    if x[0][0] > 0.0:
        if x[1][0] > 0.0:
            return x[0][0] * x[1][0]
        return x[0][0]
    return -(x[0][1] ** 2)


def assert_is_skipped(x):
    """A docstring, an assert, a pass, a name given in an expression."""
    assert x[0][0] > 1e9
    ti.static_assert(True)
    pass
    if (r := x[0][0] * x[1][0]) > 0.0:
        r += 1.0
    y: ti.f64 = r
    z: vec3 = x[0]
    z[0] = 2.0
    return (y * y if (s := r + 1.0) > 0.0 else s) + z.sum() + x[0][0]


def nested_in_a_closure() -> Callable:
    stiffness, exponent = 3.5, 4

    @ti.func
    def bent(v):
        return stiffness * v**exponent

    def closure(x):
        return bent(x[0][0]) + stiffness * bent(v=x[1][1])

    return closure


@pytest.mark.parametrize("function", [early_return, assert_is_skipped, nested_in_a_closure()])
def test_python_that_taichi_alone_would_refuse_in_part(function: Callable) -> None:
    assert_understood(function, compiles=False)


def test_a_name_of_the_module_that_is_not_called_does_no_harm() -> None:
    """`trace` here is a function of minusgrad's with statements that an energy cannot contain."""
    assert trace.__module__ == "minusgrad.codegen.tracing"
    assert_understood(uses_trace)


def uses_trace(x):
    A = ti.Matrix([[x[0][0], 1.0], [2.0, x[1][0]]])
    return A.trace()


# Branches -------------------------------------------------------------------------------------------


def six_branches(x):
    u = 0.0
    for i in ti.static(range(6)):
        if x[i % 2][i % 3] > 0.1 * i:
            u += x[0][i % 3] * (i + 1.0)
        else:
            u -= x[1][0] * x[0][i % 3]
    return u


def seven_branches(x):
    u = 0.0
    for i in ti.static(range(7)):
        if x[0][0] > 0.1 * i:  # HERE
            u += x[0][0] * i
    return u


def the_same_branch_again(x):
    """One condition asked a hundred times is two ways, not more."""
    u = 0.0
    for _ in ti.static(range(100)):
        if x[0][0] > 0.0:
            u += x[0][0]
        else:
            u += x[0][1]
    return u


def test_branches_up_to_64_ways() -> None:
    assert_understood(six_branches)


def test_a_condition_that_is_asked_again_is_no_new_way() -> None:
    """Taichi's own reverse mode ends the process here: its stack has 32 places."""
    assert_understood(the_same_branch_again, compiles=False)


def test_more_than_64_ways_are_refused_with_the_line() -> None:
    with pytest.raises(TraceError) as caught:
        trace(energy_of(seven_branches), None, 2)
    lines, first = inspect.getsourcelines(seven_branches)
    line = first + next(k for k, source in enumerate(lines) if "# HERE" in source)
    what = "branches: at most 64 ways lead through an energy, got more; use ti.select"
    assert str(caught.value) == f"{__file__}:{line}: {what}"
