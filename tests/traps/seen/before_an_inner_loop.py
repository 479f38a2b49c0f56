"""A value made before an inner loop that runs, and used in it. Twin: made in the loop."""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.9, 1.4, 0.3, 0.7])


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def trap(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in x:
        s = ti.sin(x[i])
        for j in range(x.shape[0]):
            U[None] += s * x[j] * s


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def twin(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in x:
        for j in range(x.shape[0]):
            s = ti.sin(x[i])
            U[None] += s * x[j] * s


def answer(x):
    return 2.0 * np.sin(x) * np.cos(x) * x.sum() + np.sum(np.sin(x) ** 2)
