"""All pairs: `select` sets a body's own term to zero, but its slope is still zero times infinity.

The twin leaves it out by an `if`.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([[0.0, 0.0], [1.0, 0.3], [-0.4, 0.9], [0.7, -1.2]])
MASS = np.array([1.0, 2.0, 0.5, 1.5])
POINTS = ti.types.ndarray(dtype=ti.types.vector(2, ti.f64), ndim=1)
LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(
    loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}}, arrays={"m": {"start": MASS.tolist()}}
)
@ti.kernel
def trap(x: POINTS, m: LINE, U: ONE):
    for i, j in ti.ndrange(x.shape[0], x.shape[0]):
        r = (x[i] - x[j]).norm()
        U[None] -= 0.5 * m[i] * m[j] * ti.select(i == j, 0.0, 1.0 / r)


@checked(
    loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}}, arrays={"m": {"start": MASS.tolist()}}
)
@ti.kernel
def twin(x: POINTS, m: LINE, U: ONE):
    for i, j in ti.ndrange(x.shape[0], x.shape[0]):
        if i != j:
            r = (x[i] - x[j]).norm()
            U[None] -= 0.5 * m[i] * m[j] / r


def answer(x):
    d = x[:, None] - x[None]
    r = np.sqrt((d**2).sum(-1)) + np.eye(4)
    return ((MASS[:, None] * MASS / r**3)[..., None] * d).sum(1)
