"""A mesh point's place is `i / 7`: where single precision is the default, whole numbers divide in single.

The twin makes the index a double before it divides; neither has a literal.
"""

import numpy as np

from minusgrad import checked, ti

ti.init(arch=ti.cpu, default_fp=ti.f32, log_level=ti.ERROR)

START = np.array([0.2, 0.7, -0.4, 1.1, 0.9, -0.3, 0.5])
LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(loss="U", inputs={"u": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def trap(u: LINE, U: ONE):
    for i in u:
        s = i / u.shape[0]
        U[None] += (u[i] - s * s) ** 2


@checked(loss="U", inputs={"u": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def twin(u: LINE, U: ONE):
    for i in u:
        s = ti.cast(i, ti.f64) / u.shape[0]
        U[None] += (u[i] - s * s) ** 2


def value(u):
    return ((u - (np.arange(len(u)) / len(u)) ** 2) ** 2).sum()


def answer(u):
    return 2.0 * (u - (np.arange(len(u)) / len(u)) ** 2)
