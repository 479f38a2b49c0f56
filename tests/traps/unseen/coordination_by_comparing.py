"""Neighbours are counted by a comparison used as a number: a count has no slope.

The twin multiplies the same comparison with a weight that ends smoothly at the cut-off.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([[0.0, 0.1], [0.7, 0.2], [0.3, 0.9], [1.4, 0.6], [1.1, -0.5]])
POINTS = ti.types.ndarray(dtype=ti.types.vector(2, ti.f64), ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.2}})
@ti.kernel
def trap(x: POINTS, U: ONE):
    for i, j in ti.ndrange(x.shape[0], x.shape[0]):
        if i < j:
            r2 = (x[i] - x[j]).norm_sqr()
            U[None] += r2 < 1.0


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.2}})
@ti.kernel
def twin(x: POINTS, U: ONE):
    for i, j in ti.ndrange(x.shape[0], x.shape[0]):
        if i < j:
            r2 = (x[i] - x[j]).norm_sqr()
            U[None] += (r2 < 1.0) * (1.0 - r2) ** 2


def answer(x):
    d = x[:, None] - x[None]
    r2 = (d**2).sum(-1)
    return (np.where(r2 < 1.0, -4.0 * (1.0 - r2), 0.0)[..., None] * d).sum(1)
