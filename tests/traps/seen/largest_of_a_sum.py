"""In an inner loop a sum that grows is cut off by max, whose reverse takes the last. Twin: unrolled."""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.9, 1.4, 0.3, 0.7, 1.1])


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def trap(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for _ in range(1):
        s = 0.0
        for j in range(x.shape[0]):
            s += x[j]
            U[None] += ti.max(s, 1.0) ** 2


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def twin(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for _ in range(1):
        s = 0.0
        for j in ti.static(range(5)):
            s += x[j]
            U[None] += ti.max(s, 1.0) ** 2


def answer(x):
    s = np.cumsum(x)
    slopes = np.where(s > 1.0, 2.0 * s, 0.0)
    return np.cumsum(slopes[::-1])[::-1]
