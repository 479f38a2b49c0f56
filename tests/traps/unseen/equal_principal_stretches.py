"""A sheet's energy by its principal stretches: where two are equal, the slope of their root is none.

The twin writes the same sum without finding them.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5], [1.4, 1.8]])
FACES = [(0, 1, 2), (3, 2, 1)]
POINTS = ti.types.ndarray(dtype=ti.types.vector(2, ti.f64), ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.05}})
@ti.kernel
def trap(x: POINTS, U: ONE):
    for a, b, c in ti.static(FACES):
        F = ti.Matrix.cols([x[b] - x[a], x[c] - x[a]])
        squares, _ = ti.sym_eig(F.transpose() @ F)
        U[None] += 0.125 * ((squares[0] - 1.0) ** 2 + (squares[1] - 1.0) ** 2)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.05}})
@ti.kernel
def twin(x: POINTS, U: ONE):
    for a, b, c in ti.static(FACES):
        F = ti.Matrix.cols([x[b] - x[a], x[c] - x[a]])
        strain = F.transpose() @ F - ti.Matrix.identity(ti.f64, 2)
        U[None] += 0.125 * strain.norm_sqr()


def answer(x):
    out = np.zeros_like(x)
    for face in map(list, FACES):
        F = (x[face[1:]] - x[face[0]]).T
        pull = 0.5 * F @ (F.T @ F - np.eye(2))
        out[face[1:]] += pull.T
        out[face[0]] -= pull.sum(1)
    return out
