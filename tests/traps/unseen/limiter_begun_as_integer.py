"""A stretch is limited by a factor that begins as `1`: 0.8 becomes 0, and the strong springs let go.

The twin begins with `1.0`.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([[0.2, 0.3], [0.9, 1.4], [-1.1, 0.7], [0.3, -0.6]])
POINTS = ti.types.ndarray(dtype=ti.types.vector(2, ti.f64), ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def trap(x: POINTS, U: ONE):
    for i in x:
        r = x[i].norm()
        factor = 1
        if r > 1.0:
            factor = 1.0 / r
        U[None] += factor * r * r


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def twin(x: POINTS, U: ONE):
    for i in x:
        r = x[i].norm()
        factor = 1.0
        if r > 1.0:
            factor = 1.0 / r
        U[None] += factor * r * r


def value(x):
    r = np.sqrt((x * x).sum(1))
    return np.where(r > 1.0, r, r * r).sum()


def answer(x):
    r = np.sqrt((x * x).sum(1))
    return np.where(r > 1.0, 1.0 / r, 2.0)[:, None] * x
