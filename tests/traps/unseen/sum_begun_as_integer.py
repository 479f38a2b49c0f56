"""A smoothed height is summed into `s = 0`, an integer for ever: every term is cut to a whole number.

The twin begins with `s = 0.0`.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.4, 1.7, 2.9, 2.2, 3.6, 1.1, 0.8])
LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(loss="U", inputs={"height": {"start": START.tolist(), "step": 0.2}})
@ti.kernel
def trap(height: LINE, U: ONE):
    for i in range(1, height.shape[0] - 1):
        s = 0
        for k in ti.static(range(-1, 2)):
            s += (2 - abs(k)) * height[i + k] / 4.0
        U[None] += 9.81 * s * s


@checked(loss="U", inputs={"height": {"start": START.tolist(), "step": 0.2}})
@ti.kernel
def twin(height: LINE, U: ONE):
    for i in range(1, height.shape[0] - 1):
        s = 0.0
        for k in ti.static(range(-1, 2)):
            s += (2 - abs(k)) * height[i + k] / 4.0
        U[None] += 9.81 * s * s


def value(height):
    s = 0.25 * height[:-2] + 0.5 * height[1:-1] + 0.25 * height[2:]
    return 9.81 * (s * s).sum()


def answer(height):
    s = 0.25 * height[:-2] + 0.5 * height[1:-1] + 0.25 * height[2:]
    return 2 * 9.81 * np.convolve(s, [0.25, 0.5, 0.25])
