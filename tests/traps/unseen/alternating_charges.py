"""A row of soft ions: the charge's sign flips in an inner loop, and the reverse mixes up the pairs.

The twin takes the sign from the index.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.0, 1.1, 1.9, 3.2, 3.9, 5.0])
LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def trap(x: LINE, U: ONE):
    for i in x:
        sign = 1.0
        for j in range(x.shape[0]):
            d = x[i] - x[j]
            U[None] += sign * (1 - 2 * (i % 2)) * 0.5 * ti.exp(-d * d)
            sign = -sign


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def twin(x: LINE, U: ONE):
    for i in x:
        for j in range(x.shape[0]):
            sign = 1 - 2 * (j % 2)
            d = x[i] - x[j]
            U[None] += sign * (1 - 2 * (i % 2)) * 0.5 * ti.exp(-d * d)


def answer(x):
    charge = 1.0 - 2.0 * (np.arange(len(x)) % 2)
    d = x[:, None] - x[None]
    return -2.0 * charge * (charge * d * np.exp(-d * d)).sum(1)
