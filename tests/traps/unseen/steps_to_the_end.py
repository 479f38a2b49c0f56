"""A fibre is as long as a whole number of steps: what it loses grows in jumps, flat between them.

The twin takes a fixed number of steps that grow with the fibre.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([1.02, 2.13, 0.71])
STEP, STEPS = 0.05, 24
LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(loss="U", inputs={"length": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def trap(length: LINE, U: ONE):
    for i, k in ti.ndrange(length.shape[0], 200):
        if k < ti.cast(length[i] / STEP, ti.i32):
            s = (k + 0.5) * STEP
            U[None] += STEP * ti.exp(-0.4 * s) * (1.0 + 0.5 * ti.sin(3.0 * s))


@checked(loss="U", inputs={"length": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def twin(length: LINE, U: ONE):
    for i, k in ti.ndrange(length.shape[0], STEPS):
        step = length[i] / STEPS
        s = (k + 0.5) * step
        U[None] += step * ti.exp(-0.4 * s) * (1.0 + 0.5 * ti.sin(3.0 * s))


def answer(length):
    return np.exp(-0.4 * length) * (1.0 + 0.5 * np.sin(3.0 * length))


def answer_of_twin(length):
    part = (np.arange(STEPS) + 0.5) / STEPS
    s = length[:, None] * part
    f = np.exp(-0.4 * s) * (1.0 + 0.5 * np.sin(3.0 * s))
    slope = -0.4 * f + 1.5 * np.exp(-0.4 * s) * np.cos(3.0 * s)
    return (f + s * slope).mean(1)
