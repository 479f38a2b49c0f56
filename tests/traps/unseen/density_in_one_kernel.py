"""Fluid particles: a density is summed in an inner loop, and its pressure is used after it, in one body.

The twin has two loops at the top of one kernel with a field between them.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.0, 0.5, 0.9, 1.6, 1.9, 2.7])

x = ti.field(ti.f64, 6, needs_grad=True)
rho = ti.field(ti.f64, 6, needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def trap():
    for i in x:
        density = 0.0
        for j in range(6):
            d = x[i] - x[j]
            density += ti.exp(-d * d)
        pressure = density * density
        for j in range(6):
            d = x[i] - x[j]
            U[None] += pressure * ti.exp(-d * d)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def twin():
    for i, j in ti.ndrange(6, 6):
        d = x[i] - x[j]
        rho[i] += ti.exp(-d * d)
    for i, j in ti.ndrange(6, 6):
        d = x[i] - x[j]
        U[None] += rho[i] * rho[i] * ti.exp(-d * d)


def answer(x):
    d = x[:, None] - x[None]
    kernel = np.exp(-d * d)
    slope = 3.0 * kernel.sum(1) ** 2
    return (-2.0 * d * kernel * (slope[:, None] + slope[None])).sum(1)
