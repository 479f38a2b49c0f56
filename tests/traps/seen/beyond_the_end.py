"""The last spring reaches a node that is not there. Twin: stops before."""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.4, 1.9, 2.8])


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def trap(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in range(x.shape[0]):
        U[None] += (x[i + 1] - x[i] - 1.0) ** 2


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def twin(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in range(x.shape[0] - 1):
        U[None] += (x[i + 1] - x[i] - 1.0) ** 2


def answer(x):
    f = 2.0 * (np.diff(x) - 1.0)
    return np.append(0.0, f) - np.append(f, 0.0)
