"""An intermediate field of integers rounds what passes through it. Twin: of real numbers."""

import numpy as np

from minusgrad import checked, ti

START = np.array([1.1, 2.2, 3.7])
x = ti.field(ti.f64, 3, needs_grad=True)
level = ti.field(ti.i32, 3)
level_of_twin = ti.field(ti.f64, 3, needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def quantise():
    for i in x:
        level[i] = ti.cast(10.0 * x[i], ti.i32)


@ti.kernel
def add_up():
    for i in x:
        U[None] += level[i] * level[i] * 0.01


@ti.kernel
def scale():
    for i in x:
        level_of_twin[i] = 10.0 * x[i]


@ti.kernel
def add_up_twin():
    for i in x:
        U[None] += level_of_twin[i] * level_of_twin[i] * 0.01


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
def trap():
    quantise()
    add_up()


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
def twin():
    scale()
    add_up_twin()


def answer(x):
    return 2.0 * x
