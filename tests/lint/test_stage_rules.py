"""Kernels that Taichi reverses wrongly, or dies of, and that look harmless: each is refused."""

import inspect
from collections.abc import Callable
from types import SimpleNamespace

import pytest

import torch
from minusgrad import ti
from minusgrad.errors import EnergyError
from minusgrad.torch import kernel

A = ti.types.ndarray
LINE, PLANE = A(dtype=ti.f64, ndim=1), A(dtype=ti.f64, ndim=2)
POINTS = A(dtype=ti.types.vector(3, ti.f64), ndim=1)
WHOLE = A(dtype=ti.i32, ndim=1)
N = 2000
TRUE = True
REFUSED: dict[str, tuple[str, Callable]] = {}
X = torch.linspace(0.3, 1.2, 6, dtype=torch.float64)


def refused(message: str) -> Callable[[Callable], Callable]:
    """A kernel, and a piece of what is said of it."""

    def mark(function: Callable) -> Callable:
        REFUSED[function.__name__] = message, ti.kernel(function)
        return function

    return mark


@ti.func
def power(t):
    s = 1.0
    for j in range(4):
        s += t * s * j
    return s


@ti.func
def at(p: ti.template(), i):  # type: ignore[valid-type]
    return p[i]


helpers = SimpleNamespace(power=power, at=at)
"""Stands for a module."""


@ti.func
def mix(a, b):
    return ti.exp(a - b)


@ti.func
def put(y: ti.template(), i, v):  # type: ignore[valid-type]
    y[i] = v


# More than the stack holds ---------------------------------------------------------------------------


@refused("changes 'k'")
def no_local(x: LINE, y: LINE):
    for i in range(2):
        y[i] += x[i]
        for k in range(N):
            y[i] += x[i] * x[k % 6]


@refused("changes 's'")
def begun_in_a_loop(x: LINE, y: LINE):
    for i in range(2):
        for j in range(40):
            s = 0.0
            for k in range(40):
                s += x[j % 6] * x[k % 6]
            y[i] += s


@refused("changes")
def by_way_of_another(x: LINE, y: LINE):
    for i in range(2):
        q = 1.0
        p = 0.5
        for _ in range(N):
            new = 0.5 * x[i] * p - 0.1 * q
            q = p
            p = new
        y[i] = p + q


@refused("uses 'v', computed before this inner loop")
def element_of_a_vector(x: LINE, y: LINE):
    for i in range(2):
        for j in range(2):
            v = ti.Vector([0.0, 1.0])
            for k in range(N):
                v[0] += x[i] * x[k % 6]
            y[i] += v[0] * x[j]


# Loops -----------------------------------------------------------------------------------------------


@refused("uses 't', computed before this inner loop")
def made_in_the_middle(x: LINE, y: LINE):
    for i in x:
        for j in range(5):
            t = x[i] * x[j]
            for k in range(5):
                y[i] += t * t * x[k]


@refused("uses 't', computed before this inner loop")
def made_where_it_is_unrolled(x: LINE, y: LINE):
    for i in x:
        for d in ti.static(range(2)):
            t = x[i] * x[i] + d
            for j in range(5):
                y[i] += t * x[j]


@refused("writes 'v[i % 3]', an element of a vector at an index known only at run time")
def element_at_a_running_place(x: LINE, y: LINE):
    for i in x:
        v = ti.Vector([x[i], x[i] * x[i], 1.0])
        v[i % 3] = ti.sin(x[i])
        y[i] = v[0] * v[1] + v[2]


@refused("uses 'v', computed before this inner loop")
def element_at_a_turn(x: LINE, y: LINE):
    for i in x:
        v = ti.Vector([0.0, 0.0, 0.0])
        for k in range(3):
            v[k] = ti.sin(k * x[i])
        y[i] = v[0] * v[1] + v[2]


@refused("is an inner loop in an `if`")
def in_an_if_around_all(x: LINE, y: LINE):
    if x[0] > 0.0:
        for i in x:
            for j in range(5):
                y[i] += ti.exp(x[i] - x[j])


@refused("uses 't', computed before this inner loop")
def unrolled_around_all(x: LINE, y: LINE):
    for k in ti.static(range(2)):
        for i in x:
            t = x[i] * x[i]
            for j in range(5):
                y[i] += t * x[j] * (k + 1)


@refused("uses 't', computed before this inner loop")
def decided_around_all(x: LINE, y: LINE):
    if ti.static(TRUE):
        for i in x:
            t = x[i] * x[i]
            for j in range(5):
                y[i] += t * x[j]


@refused("beside other statements")
def a_static_end(x: LINE, y: LINE):
    for i in x:
        y[i] += x[i]
        for j in range(ti.static(5)):
            y[i] += ti.exp(x[i] - x[j])


@refused("is a loop in 'power', which a kernel calls")
def a_loop_in_a_module(x: LINE, y: LINE):
    for i in x:
        y[i] = helpers.power(x[i])


@refused("has 'mix(x[i], x[j])' in an inner loop")
def a_known_name(x: LINE, y: LINE):
    for i in x:
        y[i] += x[i]
        for j in range(5):
            y[i] += mix(x[i], x[j])


# What is written -------------------------------------------------------------------------------------


@refused("neither overwrites nor adds to 'y'")
def product_of_a_component(p: POINTS, y: POINTS):
    for i in p:
        y[i].x = p[i].x
        y[i].x *= p[i].y


@refused("at one index in several iterations")
def component_of_a_shared_place(p: POINTS, y: POINTS):
    for i in p:
        y[i // 2].x = p[i].x * p[i].y


@refused("at one index in several iterations")
def two_at_once(x: LINE, y: LINE, z: LINE):
    for i in x:
        y[i // 2], z[i // 2] = x[i] * x[i], x[i]


@refused("from itself")
def swapped(x: LINE, y: LINE, z: LINE):
    for i in x:
        y[i], z[i] = z[i] + x[i], y[i] * y[i]


@refused("where another iteration may write it")
def of_a_neighbour(x: LINE, y: LINE, z: LINE):
    ti.loop_config(serialize=True)
    for i in x:
        y[i] = x[i] * x[i]
        z[i] = y[ti.max(i - 1, 0)] * x[i]


@refused("at one index in several iterations")
def a_part_of_a_place(q: PLANE, y: LINE):
    for at_ in ti.grouped(q):
        y[at_[0]] = q[at_] * q[at_]


@refused("at one index in several iterations")
def a_named_part_of_a_place(q: PLANE, y: LINE):
    for at_ in ti.grouped(q):
        y[at_.x] = q[at_] * q[at_]


@refused("indices from an array")
def by_a_second_name(x: LINE, p: WHOLE, y: LINE):
    for i in x:
        a = p[i]
        b = a + 1
        y[b] = x[i] * x[i]


@refused("indices from an array")
def by_a_function(x: LINE, p: WHOLE, y: LINE):
    for i in x:
        y[helpers.at(p, i)] = x[i] * x[i]


@refused("passes 'y', which it writes, to a function")
def through_a_function(x: LINE, y: LINE):
    for i in x:
        put(y, i // 2, x[i] * x[i])
        y[i] += 0.0


@refused("at indices that may be equal")
def overlapping(x: LINE, y: LINE):
    for i in range(5):
        y[i] = x[i]
        y[i + 1] = x[i] * x[i]


GIVEN = {
    "x": X,
    "p": torch.rand(6, 3, dtype=torch.float64),
    "q": torch.rand(6, 6, dtype=torch.float64),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused(name: str) -> None:
    message, one = REFUSED[name]
    arguments = list(inspect.signature(inspect.unwrap(one)).parameters)
    like = {"y": arguments[0], **({"z": arguments[0]} if "z" in arguments else {})}
    if name.startswith(("a_part", "a_named")):
        like["y"] = (6,)
    given = [GIVEN[arguments[0]]]
    if "p" in arguments[1:]:
        given.append(torch.tensor([1, 0, 0, 1, 2, 3], dtype=torch.int32))
    with pytest.raises(EnergyError) as error:
        kernel(**like)(one)(*given)
    assert message in str(error.value)


@ti.kernel
def fills(x: LINE, p: WHOLE, y: PLANE):
    """Places that never meet, and whole numbers of 32 bits."""
    for i in range(x.shape[0]):
        y[2 * i, 0] = x[p[i]]
        y[2 * i + 1, 0] = x[i] * x[i]
        y[i, 1] = 2.0 * x[i]


def test_places_that_never_meet_are_taken() -> None:
    x = X.clone().requires_grad_()
    p = torch.tensor([1, 0, 0, 1, 2, 5], dtype=torch.int32)
    y = kernel(y=(12, 2))(fills)(x, p)
    expected = torch.zeros(12, 2, dtype=torch.float64)
    expected[0::2, 0], expected[1::2, 0], expected[:6, 1] = x[p.long()], x * x, 2.0 * x
    torch.testing.assert_close(y, expected)
    weights = torch.rand(12, 2, dtype=torch.float64)
    found, right = (torch.autograd.grad((weights * one).sum(), x)[0] for one in (y, expected))
    torch.testing.assert_close(found, right, rtol=1e-12, atol=0.0)
