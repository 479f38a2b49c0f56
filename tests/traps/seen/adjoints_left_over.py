"""Adjoints of arrays are not cleared, and the second gradient is twice the first. Twin: clears them."""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.4, 1.9, 0.8])
x = ti.ndarray(ti.f64, 3, needs_grad=True)
U = ti.ndarray(ti.f64, (), needs_grad=True)


@ti.kernel
def energy(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in x:
        U[None] += ti.sin(x[i]) * x[i]


def with_tape():
    with ti.ad.Tape(loss=U):
        energy(x, U)


def with_tape_and_cleared():
    x.grad.fill(0.0)
    with ti.ad.Tape(loss=U):
        energy(x, U)


def forward():
    U.fill(0.0)
    energy(x, U)


@checked(loss="U", inputs={"x": {"start": START.tolist()}}, gradient="with_tape")
def trap():
    forward()


@checked(loss="U", inputs={"x": {"start": START.tolist()}}, gradient="with_tape_and_cleared")
def twin():
    forward()


def answer(x):
    return np.cos(x) * x + np.sin(x)
