"""A product is gathered by *=: reversed as a sum. Twin: the sum of logarithms."""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.4, 1.9, 0.3])


@checked(loss="U", inputs={"x": {"start": START.tolist()}}, arrays={"y": {"start": [1.0]}})
@ti.kernel
def trap(
    x: ti.types.ndarray(dtype=ti.f64, ndim=1),
    y: ti.types.ndarray(dtype=ti.f64, ndim=1),
    U: ti.types.ndarray(dtype=ti.f64, ndim=0),
):
    ti.loop_config(serialize=True)
    for i in x:
        y[0] *= x[i]
    for _ in range(1):
        U[None] += y[0]


@checked(loss="U", inputs={"x": {"start": START.tolist()}}, arrays={"y": {"start": [0.0]}})
@ti.kernel
def twin(
    x: ti.types.ndarray(dtype=ti.f64, ndim=1),
    y: ti.types.ndarray(dtype=ti.f64, ndim=1),
    U: ti.types.ndarray(dtype=ti.f64, ndim=0),
):
    for i in x:
        y[0] += ti.log(x[i])
    for _ in range(1):
        U[None] += ti.exp(y[0])


def answer(x):
    return np.prod(x) / x
