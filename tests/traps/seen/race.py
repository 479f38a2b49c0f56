"""Every turn of a parallel loop reads and writes one number: a race, and a wrong reverse. Twin: +=."""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.4, 1.9, 0.8])


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def trap(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in x:
        U[None] = U[None] * 0.5 + x[i] * x[i]


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def twin(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in x:
        U[None] += 0.5 * x[i] + x[i] * x[i]


def answer(x):
    return 2.0 * x * 0.5 ** np.arange(len(x))[::-1]


def answer_of_twin(x):
    return 0.5 + 2.0 * x
