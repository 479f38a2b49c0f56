"""A gradient of one's own that forgets a factor. Twin: has it."""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.4, 1.9, 0.8])
x = ti.field(ti.f64, 3, needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def energy():
    for i in x:
        U[None] += x[i] ** 4


@ti.kernel
def back(factor: ti.f64):
    for i in x:
        x.grad[i] += factor * x[i] ** 3 * U.grad[None]


@ti.ad.grad_replaced
def forgetful():
    energy()


@ti.ad.grad_for(forgetful)
def forgetful_back():
    back(1.0)


@ti.ad.grad_replaced
def careful():
    energy()


@ti.ad.grad_for(careful)
def careful_back():
    back(4.0)


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
def trap():
    forgetful()


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
def twin():
    careful()


def answer(x):
    return 4.0 * x**3
