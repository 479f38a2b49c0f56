"""A ball is compared with the point below it and turned round in one entry: default flags, a wrong value.

The twin compares it with the height of the floor.
"""

import numpy as np

from minusgrad import checked, ti

ti.init(arch=ti.cpu, default_fp=ti.f64, log_level=ti.ERROR)

P = np.array([[0.3, 0.9, -0.4], [1.8, -2.2, 0.6], [-1.3, 0.7, 0.1], [0.2, 1.6, -0.9]])
V = np.array([[1.1, -0.5, -0.8], [0.4, 0.9, 0.3], [-0.7, 0.2, -1.3], [0.6, 1.4, 0.5]])
POINTS = ti.types.ndarray(dtype=ti.types.vector(3, ti.f64), ndim=1)
BOTH = {"x": {"start": P.tolist(), "step": 0.01}, "v": {"start": V.tolist(), "step": 0.01}}


@checked(loss="U", inputs=BOTH)
@ti.kernel
def trap(x: POINTS, v: POINTS, U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in x:
        p, w = x[i], v[i]
        below = ti.Vector([p[0], p[1], 0.2])
        if p[2] < below[2]:
            w[2] = -w[2]
        p += 0.5 * w
        U[None] += p[0] + p[1] ** 2 + p[2]


@checked(loss="U", inputs=BOTH)
@ti.kernel
def twin(x: POINTS, v: POINTS, U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in x:
        p, w = x[i], v[i]
        if p[2] < 0.2:
            w[2] = -w[2]
        p += 0.5 * w
        U[None] += p[0] + p[1] ** 2 + p[2]


def value(at):
    p = at["x"] + 0.5 * at["v"] * np.where(at["x"][:, 2:] < 0.2, [1.0, 1.0, -1.0], 1.0)
    return (p[:, 0] + p[:, 1] ** 2 + p[:, 2]).sum()


def answer(at):
    turned = np.where(at["x"][:, 2:] < 0.2, [1.0, 1.0, -1.0], 1.0)
    p = at["x"] + 0.5 * at["v"] * turned
    pull = np.stack([np.ones(4), 2.0 * p[:, 1], np.ones(4)], 1)
    return {"x": pull, "v": 0.5 * pull * turned}
