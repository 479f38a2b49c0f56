"""A polymer bends by an arc cosine: where it is straight, the slope of the arc cosine is infinite.

The twin takes the same angle from `atan2`.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.5], [3.5, 1.5]])
POINTS = ti.types.ndarray(dtype=ti.types.vector(2, ti.f64), ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.05}})
@ti.kernel
def trap(x: POINTS, U: ONE):
    for i in range(1, x.shape[0] - 1):
        a, b = x[i] - x[i - 1], x[i + 1] - x[i]
        angle = ti.acos(a.dot(b) / (a.norm() * b.norm()))
        U[None] += 2.5 * angle * angle


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.05}})
@ti.kernel
def twin(x: POINTS, U: ONE):
    for i in range(1, x.shape[0] - 1):
        a, b = x[i] - x[i - 1], x[i + 1] - x[i]
        angle = ti.atan2(a.cross(b), a.dot(b))
        U[None] += 2.5 * angle * angle


def answer(x):
    edge = np.diff(x, axis=0)
    turned = np.stack([-edge[:, 1], edge[:, 0]], 1) / (edge**2).sum(1)[:, None]
    angle = np.diff(np.unwrap(np.arctan2(edge[:, 1], edge[:, 0])))
    pull = np.zeros_like(edge)
    pull[1:] += 5.0 * angle[:, None] * turned[1:]
    pull[:-1] -= 5.0 * angle[:, None] * turned[:-1]
    out = np.zeros_like(x)
    out[1:] += pull
    out[:-1] -= pull
    return out
