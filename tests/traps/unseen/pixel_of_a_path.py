"""A laser's path is cast to pixels before its spot is drawn: the picture jumps, the path feels nothing.

The twin finds its window of pixels by the same cast, and draws the spot around the true centre.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([[5.3, 5.8], [6.2, 6.6], [7.7, 6.4], [8.4, 7.15]])
TARGET = np.fromfunction(lambda i, j: 1.5 * np.exp(-0.1 * ((i - 7.0) ** 2 + (j - 6.0) ** 2)), (14, 14))

path, target = ti.Vector.field(2, ti.f64, 4, needs_grad=True), ti.field(ti.f64, (14, 14))
canvas, U = (ti.field(ti.f64, n, needs_grad=True) for n in ((14, 14), ()))
target.from_numpy(TARGET)


@ti.kernel
def draw(exact: ti.template()):
    for p, a, b in ti.ndrange(4, 9, 9):
        i = ti.cast(path[p][0], ti.i32) - 4 + a
        j = ti.cast(path[p][1], ti.i32) - 4 + b
        if ti.static(exact):
            canvas[i, j] += ti.exp(-(ti.Vector([i, j]) - path[p]).norm_sqr())
        else:
            canvas[i, j] += ti.exp(-((a - 4.0) ** 2) - (b - 4.0) ** 2)


@ti.kernel
def compare():
    for i, j in canvas:
        U[None] += (canvas[i, j] - target[i, j]) ** 2


@checked(loss="U", inputs={"path": {"start": START.tolist(), "step": 0.5}})
def trap():
    draw(False)
    compare()


@checked(loss="U", inputs={"path": {"start": START.tolist(), "step": 0.5}})
def twin():
    draw(True)
    compare()


def answer(path):
    d = np.moveaxis(np.indices((14, 14)), 0, -1) - path[:, None, None]
    near = (np.abs(d + (path - np.trunc(path))[:, None, None]) < 4.5).all(-1)
    spots = np.exp(-(d**2).sum(-1)) * near
    return 4.0 * np.einsum("pij,pijc->pc", (spots.sum(0) - TARGET) * spots, d)
