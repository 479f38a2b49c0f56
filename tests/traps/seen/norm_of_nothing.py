"""A spring of no length: the norm's gradient is no number, though the energy is one. Twin: softened."""

import numpy as np

from minusgrad import checked, ti

START = np.array([[0.4, 0.1], [0.4, 0.1], [1.0, 0.3]])


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def trap(x: ti.types.ndarray(dtype=ti.math.vec2, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in range(x.shape[0] - 1):
        U[None] += ((x[i + 1] - x[i]).norm() - 0.5) ** 2


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def twin(x: ti.types.ndarray(dtype=ti.math.vec2, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in range(x.shape[0] - 1):
        U[None] += ((x[i + 1] - x[i]).norm(1e-6) - 0.5) ** 2


def answer(x):
    return answer_of_twin(x)


def answer_of_twin(x):
    d = np.diff(x, axis=0)
    r = np.sqrt((d**2).sum(axis=1) + 1e-6)[:, None]
    f = 2.0 * (r - 0.5) * d / r
    none = np.zeros((1, 2))
    return np.concatenate([none, f]) - np.concatenate([f, none])
