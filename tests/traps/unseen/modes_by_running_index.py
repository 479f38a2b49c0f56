"""A string's modes are put into a local vector by a loop at run time: what is put there so has no gradient.

The twin's loop is unrolled.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.4, 0.9, 1.7, 2.3])
LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def trap(x: LINE, U: ONE):
    for i in x:
        mode = ti.Vector([0.0, 0.0, 0.0])
        for k in range(3):
            mode[k] = ti.sin((k + 1.0) * x[i]) / (k + 1.0)
        U[None] += mode.dot(mode)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def twin(x: LINE, U: ONE):
    for i in x:
        mode = ti.Vector([0.0, 0.0, 0.0])
        for k in ti.static(range(3)):
            mode[k] = ti.sin((k + 1.0) * x[i]) / (k + 1.0)
        U[None] += mode.dot(mode)


def answer(x):
    return sum(np.sin(2.0 * k * x) / k for k in (1.0, 2.0, 3.0))
