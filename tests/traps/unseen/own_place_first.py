"""All pairs of soft blobs: a blob's own place is read once, before the inner loop over the others.

Reversed, its pull is not summed over them. The twin reads it for every pair.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([[0.0, 0.0, 0.1], [1.0, 0.2, -0.3], [-0.6, 0.9, 0.5], [0.4, -1.1, 0.8]])
MASS = np.array([1.0, 2.0, 0.5, 1.5])
POINTS = ti.types.ndarray(dtype=ti.types.vector(3, ti.f64), ndim=1)
LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)
TABLE = {"inputs": {"x": {"start": START.tolist(), "step": 0.1}}, "arrays": {"m": {"start": MASS.tolist()}}}


@checked(loss="U", **TABLE)
@ti.kernel
def trap(x: POINTS, m: LINE, U: ONE):
    for i in x:
        own = x[i]
        for j in range(x.shape[0]):
            d = own - x[j]
            U[None] -= 0.5 * m[i] * m[j] * ti.exp(-d.norm_sqr())


@checked(loss="U", **TABLE)
@ti.kernel
def twin(x: POINTS, m: LINE, U: ONE):
    for i in x:
        for j in range(x.shape[0]):
            own = x[i]
            d = own - x[j]
            U[None] -= 0.5 * m[i] * m[j] * ti.exp(-d.norm_sqr())


def answer(x):
    d = x[:, None] - x[None]
    weight = 2.0 * MASS[:, None] * MASS * np.exp(-(d**2).sum(-1))
    return (weight[..., None] * d).sum(1)
