"""A strain in Voigt's notation is walked by a loop at run time: reversed, a local vector's entries lack.

The twin's loop is unrolled.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([[1.1, 0.2], [0.1, 0.9], [1.3, -0.2], [0.2, 1.2]])
STIFFNESS = (3.0, 2.0, 0.8)
POINTS = ti.types.ndarray(dtype=ti.types.vector(2, ti.f64), ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(loss="U", inputs={"edge": {"start": START.tolist(), "step": 0.05}})
@ti.kernel
def trap(edge: POINTS, U: ONE):
    for e in range(2):
        a, b = edge[2 * e], edge[2 * e + 1]
        strain = ti.Vector([0.5 * (a.dot(a) - 1.0), 0.5 * (b.dot(b) - 1.0), a.dot(b)])
        stiffness = ti.Vector(STIFFNESS)
        for k in range(3):
            U[None] += 0.5 * stiffness[k] * strain[k] ** 2


@checked(loss="U", inputs={"edge": {"start": START.tolist(), "step": 0.05}})
@ti.kernel
def twin(edge: POINTS, U: ONE):
    for e in range(2):
        a, b = edge[2 * e], edge[2 * e + 1]
        strain = ti.Vector([0.5 * (a.dot(a) - 1.0), 0.5 * (b.dot(b) - 1.0), a.dot(b)])
        stiffness = ti.Vector(STIFFNESS)
        for k in ti.static(range(3)):
            U[None] += 0.5 * stiffness[k] * strain[k] ** 2


def answer(edge):
    a, b = edge[0::2], edge[1::2]
    first, second = 0.5 * ((a * a).sum(1) - 1.0), 0.5 * ((b * b).sum(1) - 1.0)
    shear = 0.8 * (a * b).sum(1)[:, None]
    out = np.empty_like(edge)
    out[0::2] = 3.0 * first[:, None] * a + shear * b
    out[1::2] = 2.0 * second[:, None] * b + shear * a
    return out
