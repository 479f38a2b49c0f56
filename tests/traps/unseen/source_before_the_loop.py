"""Screened charges: a cloud's width is computed before the inner loop over partners and used inside it.

Reversed, it is not summed over the partners. The twin computes it within the loop.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.3, 0.9, 1.8, 2.2, 3.1, 3.7])
LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def trap(x: LINE, U: ONE):
    for i in x:
        width = 0.5 + ti.sin(x[i]) ** 2
        for j in range(x.shape[0]):
            U[None] += 0.5 * width * ti.exp(-width * (x[i] - x[j]) ** 2)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def twin(x: LINE, U: ONE):
    for i in x:
        for j in range(x.shape[0]):
            width = 0.5 + ti.sin(x[i]) ** 2
            U[None] += 0.5 * width * ti.exp(-width * (x[i] - x[j]) ** 2)


def answer(x):
    width = (0.5 + np.sin(x) ** 2)[:, None]
    d = x[:, None] - x[None]
    cloud = 0.5 * np.exp(-width * d**2)
    pull = -2.0 * width**2 * d * cloud
    return pull.sum(1) - pull.sum(0) + np.sin(2.0 * x) * (cloud * (1.0 - width * d**2)).sum(1)
