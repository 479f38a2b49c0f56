"""Kernels whose reverse would be wrong are refused at their first use."""

import re

import numpy as np
import pytest

from minusgrad import (
    Stage,
    ti,
)
from minusgrad.errors import EnergyError
from tests.support.staged_kernels import X1, A, N, of_x, sines, squares, total


@ti.kernel
def spends(x: A(ndim=1), y: A(ndim=1), U: A(ndim=0)):
    for i in range(1):
        U[None] += x[i] * y[i]
        y[i] += 1.0


@ti.kernel
def spends_atomically(x: A(ndim=1), y: A(ndim=1), U: A(ndim=0)):
    for i in range(1):
        U[None] += x[i] * y[i]
        ti.atomic_add(y[i], 1.0)


@ti.kernel
def drains(x: A(ndim=1), U: A(ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] += x[i] * x[i]
        if x[i] > 1e9:
            x[i] = 0.0


@ti.kernel
def clamps(x: A(ndim=1), y: A(ndim=1)):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
        if y[i] > 5.0:
            y[i] = 5.0


@ti.kernel
def scatters(x: A(ndim=1), y: A(ndim=1)):
    for i in range(x.shape[0]):
        k = ti.cast(ti.abs(x[i]), ti.i32)
        y[k] = x[i] * x[i]


@ti.kernel
def keeps_the_last(x: A(ndim=1), U: A(ndim=0)):
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] = x[i] * x[i]


@ti.kernel
def meets(x: A(ndim=1), y: A(ndim=1)):
    for i in range(x.shape[0]):
        y[i // 2] = x[i] * x[i]


@ti.kernel
def multiplies(x: A(ndim=1), U: A(ndim=0)):
    for i in range(1):
        U[None] = U[None] * x[i]


@ti.kernel
def triples(x: A(ndim=1), U: A(ndim=0)):
    for i in range(1):
        U[None] += x[i]
        U[None] *= 1.0


@ti.kernel
def feeds_back(x: A(ndim=1), U: A(ndim=0)):
    for i in range(1):
        U[None] += x[i] * U[None]


@ti.kernel
def largest(x: A(ndim=1), U: A(ndim=0)):
    for i in range(x.shape[0]):
        ti.atomic_max(U[None], x[i])


@ti.kernel
def smallest(x: A(ndim=1), U: A(ndim=0)):
    for i in range(x.shape[0]):
        ti.atomic_min(U[None], x[i])


@ti.kernel
def adds_and_uses(x: A(ndim=1), y: A(ndim=1), U: A(ndim=0)):
    for i in range(x.shape[0]):
        y[i] += x[i]
    for i in range(x.shape[0]):
        U[None] += y[i] ** 2


@ti.kernel
def fills_and_uses(x: A(ndim=1), y: A(ndim=1), U: A(ndim=0)):
    for i in range(x.shape[0]):
        y[i] = x[i] ** 2
    ti.loop_config(serialize=True)
    for i in range(x.shape[0]):
        U[None] += y[i] ** 2


@ti.kernel
def beside(x: A(ndim=1), U: A(ndim=0)):
    U[None] += x[0]
    for i in range(x.shape[0]):
        U[None] += x[i]


@ti.kernel
def until(x: A(ndim=1), U: A(ndim=0)):
    for i in range(1):
        n = 0
        while n < 3:
            U[None] += x[i]
            n += 1


def templated(x: ti.template(), U: A(ndim=0)):  # type: ignore[valid-type]
    for i in range(1):
        U[None] += i * x


def whole_between(x: A(ndim=1), y: A(dtype=ti.i32, ndim=1)):  # type: ignore[valid-type]
    for i in range(1):
        y[i] = ti.cast(x[i], ti.i32)


def on_two_axes(x: A(ndim=2), U: A(ndim=0)):  # type: ignore[valid-type]
    for i in range(1):
        U[None] += x[i, 0]


NEITHER = (
    "neither overwrites nor adds to 'U', so its reverse would be wrong; use only `+=` from the second write"
    " on, and do not write an array that it reads"
)
FILL = Stage(sines, ("y",))
ADD_Y = Stage(total, ("U",), rename=X1)
USED = {
    "mutated after it was read": (
        [FILL, Stage(spends, ("U",))],
        "energy 'e', stage 'spends': changes 'y', which it is not declared to write, and its reverse would"
        " use the changed values; write into another array, and declare it",
    ),
    "the same, declared": (
        [Stage(spends, ("U", "y"))],
        "energy 'e', stage 'spends': reads 'y' and writes it afterwards, and its reverse would use the"
        " final values; write into another array",
    ),
    "the same, where no text shows it": (
        [FILL, Stage(spends_atomically, ("U",))],
        "e, stage 'spends_atomically': changes 'y', which it is not declared to write, and its reverse",
    ),
    "the same, where no text shows it, declared": (
        [Stage(spends_atomically, ("U", "y"))],
        "e, stage 'spends_atomically': its result in 'U' depends on the previous values of 'y', which it",
    ),
    "an input, where its number says so": (
        [Stage(drains, ("U",))],
        "energy 'e', stage 'drains': changes 'x', which it is not declared to write",
    ),
    "clamped": (
        [Stage(clamps, ("y",)), ADD_Y],
        "energy 'e', stage 'clamps': reads 'y' and writes it afterwards",
    ),
    "scattered": (
        [Stage(scatters, ("y",)), ADD_Y],
        "energy 'e', stage 'scatters': overwrites 'y' at indices from an array, which may repeat, and its"
        " reverse would give the derivative to any one of them; add with `+=`, or give each iteration an"
        " index of its own",
    ),
    "one index in several iterations": (
        [Stage(keeps_the_last, ("U",))],
        "energy 'e', stage 'keeps_the_last': overwrites 'U' at one index in several iterations, and its",
    ),
    "one place of two turns": (
        [Stage(meets, ("y",)), ADD_Y],
        "energy 'e', stage 'meets': overwrites 'y' at one index in several iterations, and its reverse",
    ),
    "product": (
        [Stage(multiplies, ("U",))],
        "energy 'e', stage 'multiplies': computes 'U' from itself, and its reverse",
    ),
    "product by a name": ([Stage(triples, ("U",))], f"energy 'e', stage 'triples': {NEITHER}"),
    "feeds back": (
        [Stage(feeds_back, ("U",))],
        "energy 'e', stage 'feeds_back': computes 'U' from itself, and its reverse",
    ),
    "largest": (
        [Stage(largest, ("U",))],
        "atomic_max: Taichi reverses every atomic operation as an addition",
    ),
    "smallest": ([Stage(smallest, ("U",))], "atomic_min: Taichi reverses every atomic operation as an"),
    "added to and used": (
        [Stage(adds_and_uses, ("y", "U"))],
        "e, stage 'adds_and_uses': its result in 'U' depends on the previous values of 'y', which it writes",
    ),
    "second write": (
        [FILL, Stage(sines, ("y",)), ADD_Y],
        "e, stage 'sines': overwrites 'y', which a stage before it has written; use `+=` from"
        " the second write on",
    ),
    "beside a loop": (
        [Stage(beside, ("U",))],
        "e, stage 'beside': Taichi cannot reverse this kernel (Invalid program input for autodiff: Mixed"
        " usage of for-loops and statements without looping); split it into several stages, or give it a"
        " `backward`",
    ),
    "while": ([Stage(until, ("U",))], "e, stage 'until': Taichi cannot reverse this kernel (Not supported)"),
    "template": (
        [Stage(ti.kernel(templated), ("U",))],
        "e, stage 'templated': 'x' must be a ti.types.ndarray, even if it is one number; plain numbers"
        " and templates have no derivative",
    ),
    "integers between": (
        [Stage(ti.kernel(whole_between), ("y",)), ADD_Y],
        "e: a kernel takes 'y' as i32; it holds real numbers, as everything that has a derivative",
    ),
    "axes": (
        [Stage(ti.kernel(on_two_axes), ("U",))],
        "e: 'x' has shape [5]; kernels take it as f64 on 2 axes",
    ),
}


@pytest.mark.parametrize("case", USED)
def test_refused_at_first_use(case: str) -> None:
    stages, text = USED[case]
    between = {"y": N} if any("y" in stage.arrays.values() for stage in stages) else {}
    with pytest.raises(EnergyError, match=re.escape(text)):
        of_x(stages, between).gradient("x")


def test_a_kernel_may_use_what_it_filled() -> None:
    term = of_x([Stage(fills_and_uses, ("y", "U"))], {"y": N})
    np.testing.assert_allclose(term.gradient("x"), 4.0 * term.fields["x"].values ** 3, rtol=1e-14)


def test_two_stages_may_add_to_one_array_and_write_parts() -> None:
    @ti.kernel
    def evens(x: A(ndim=1), y: A(ndim=1)):
        for i in range(3):
            y[2 * i] = x[2 * i]

    term = of_x([Stage(evens, ("y",)), ADD_Y, Stage(squares, ("U",))], {"y": N})
    x = term.fields["x"].values
    np.testing.assert_allclose(term.gradient("x"), 2 * x + [1, 0, 1, 0, 1], rtol=1e-14)


def test_kernels_that_differ_in_what_an_array_is_are_refused() -> None:
    @ti.kernel
    def single(x: A(dtype=ti.f32, ndim=1), U: A(ndim=0)):
        for i in range(1):
            U[None] += x[i]

    @ti.kernel
    def double(x: A(dtype=ti.f64, ndim=1), U: A(ndim=0)):
        for i in range(1):
            U[None] += x[i]

    with pytest.raises(EnergyError, match="e: kernels differ in the type of 'x', got f32, f64"):
        of_x([Stage(single, ("U",)), Stage(double, ("U",))]).value()
