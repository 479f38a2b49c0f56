"""Turbulence in octaves, each of amplitude `2 ** -k`: of whole numbers, that power is a whole number.

The twin writes `2.0 ** -k`.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.3, 0.8, 1.7, 2.2])
LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def trap(x: LINE, U: ONE):
    for i, k in ti.ndrange(x.shape[0], 4):
        U[None] += 2 ** (-k) * ti.sin((k + 1.0) * x[i])


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def twin(x: LINE, U: ONE):
    for i, k in ti.ndrange(x.shape[0], 4):
        U[None] += 2.0 ** (-k) * ti.sin((k + 1.0) * x[i])


def value(x):
    return sum(0.5**k * np.sin((k + 1.0) * x).sum() for k in range(4))


def answer(x):
    return sum(0.5**k * (k + 1.0) * np.cos((k + 1.0) * x) for k in range(4))
