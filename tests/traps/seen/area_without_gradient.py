"""An area kept in a field that has no gradient: the force of the springs lacks a part. Twin: needs_grad."""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.1, 1.2, 2.05, 3.3])
x = ti.field(ti.f64, 4, needs_grad=True)
area, area_of_twin = ti.field(ti.f64, 3), ti.field(ti.f64, 3, needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def measure():
    for i in range(3):
        area[i] = x[i + 1] - x[i]


@ti.kernel
def add_up():
    for i in range(3):
        U[None] += area[i] * (x[i + 1] - x[i] - 1.0) ** 2


@ti.kernel
def measure_twin():
    for i in range(3):
        area_of_twin[i] = x[i + 1] - x[i]


@ti.kernel
def add_up_twin():
    for i in range(3):
        U[None] += area_of_twin[i] * (x[i + 1] - x[i] - 1.0) ** 2


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
def trap():
    measure()
    add_up()


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
def twin():
    measure_twin()
    add_up_twin()


def answer(x):
    d = np.diff(x)
    de = (d - 1.0) ** 2 + 2.0 * d * (d - 1.0)
    return np.append(0.0, de) - np.append(de, 0.0)
