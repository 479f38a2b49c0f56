"""A select takes zero below the ground, and the root on the other side is reversed all the same. Twin: if."""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.4, -0.6, 1.3])


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def trap(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in x:
        U[None] += ti.select(x[i] > 0.0, ti.sqrt(x[i]), 0.0)


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def twin(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in x:
        if x[i] > 0.0:
            U[None] += ti.sqrt(x[i])


def answer(x):
    return np.where(x > 0.0, 0.5 / np.sqrt(np.maximum(x, 1e-300)), 0.0)
