"""Python copies a number between two kernels, and no tape sees it. Twin: a kernel copies it."""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.4, 1.9])
x = ti.field(ti.f64, 2, needs_grad=True)
mean = ti.field(ti.f64, (), needs_grad=True)
shift = ti.field(ti.f64, (), needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def average():
    for i in x:
        mean[None] += 0.5 * x[i]


@ti.kernel
def copy():
    shift[None] = mean[None]


@ti.kernel
def variance():
    for i in x:
        U[None] += x[i] * (x[i] - shift[None]) ** 2


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
def trap():
    average()
    shift[None] = mean[None]
    variance()


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
def twin():
    average()
    copy()
    variance()


def answer(x):
    d = x - x.mean()
    return d**2 + 2.0 * x * d - np.sum(2.0 * x * d) / len(x)
