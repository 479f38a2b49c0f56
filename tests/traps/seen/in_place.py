"""A number is squared where it stands: the reverse reads what it became. Twin: into an array of its own."""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.4, 1.9, 0.3])


@checked(loss="U", inputs={"x": {"start": START.tolist()}}, arrays={"y": {"shape": [3]}})
@ti.kernel
def trap(
    x: ti.types.ndarray(dtype=ti.f64, ndim=1),
    y: ti.types.ndarray(dtype=ti.f64, ndim=1),
    U: ti.types.ndarray(dtype=ti.f64, ndim=0),
):
    for i in x:
        y[i] = ti.sin(x[i])
    for i in x:
        y[i] = y[i] * y[i] * y[i]
    for i in x:
        U[None] += y[i]


@checked(loss="U", inputs={"x": {"start": START.tolist()}}, arrays={"y": {"shape": [3]}, "z": {"shape": [3]}})
@ti.kernel
def twin(
    x: ti.types.ndarray(dtype=ti.f64, ndim=1),
    y: ti.types.ndarray(dtype=ti.f64, ndim=1),
    z: ti.types.ndarray(dtype=ti.f64, ndim=1),
    U: ti.types.ndarray(dtype=ti.f64, ndim=0),
):
    for i in x:
        y[i] = ti.sin(x[i])
    for i in x:
        z[i] = y[i] * y[i] * y[i]
    for i in x:
        U[None] += z[i]


def answer(x):
    return 3.0 * np.sin(x) ** 2 * np.cos(x)
