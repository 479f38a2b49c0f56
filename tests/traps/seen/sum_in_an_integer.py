"""A sum that begins as the integer 0 is truncated at every step. Twin: begins as 0.0."""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.4, 1.9, 0.8])


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def trap(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in x:
        s = 0
        for k in ti.static(range(3)):
            s += x[i] * (k + 1)
        U[None] += s * x[i]


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def twin(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in x:
        s = 0.0
        for k in ti.static(range(3)):
            s += x[i] * (k + 1)
        U[None] += s * x[i]


def value(x):
    return float(np.sum(6.0 * x * x))


def answer(x):
    return 12.0 * x
