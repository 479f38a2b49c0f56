"""Sliding blocks, one of them at rest: the length of a zero vector has no slope, nor has friction.

The twin's length is rounded off at zero, far below all that moves.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([[0.3, -0.4], [0.0, 0.0], [1.2, 0.5]])
POINTS = ti.types.ndarray(dtype=ti.types.vector(2, ti.f64), ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(loss="U", inputs={"v": {"start": START.tolist(), "step": 0.05}}, numbers={"mu": 0.4})
@ti.kernel
def trap(v: POINTS, mu: ti.f64, U: ONE):
    for i in v:
        U[None] += mu * (i + 1.0) * v[i].norm() + 0.5 * v[i].norm_sqr()


@checked(loss="U", inputs={"v": {"start": START.tolist(), "step": 0.05}}, numbers={"mu": 0.4})
@ti.kernel
def twin(v: POINTS, mu: ti.f64, U: ONE):
    for i in v:
        U[None] += mu * (i + 1.0) * v[i].norm(1e-26) + 0.5 * v[i].norm_sqr()


def answer(v):
    length = np.sqrt((v * v).sum(1))
    weight = 0.4 * np.arange(1, len(v) + 1) / np.where(length > 0.0, length, 1.0)
    return weight[:, None] * v + v
