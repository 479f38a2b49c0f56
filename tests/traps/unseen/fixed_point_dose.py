"""A dose is summed in whole millionths, so that order is no matter: its value is right, its gradient zero.

The twin sums the same millionths in floating point.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.4, 1.3, 2.2, 3.7])
WANTED = np.array([1.0, 1.2, 0.9, 0.4, 0.2])

x = ti.field(ti.f64, 4, needs_grad=True)
wanted = ti.field(ti.f64, 5)
whole = ti.field(ti.i32, 5)
real = ti.field(ti.f64, 5, needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)
wanted.from_numpy(WANTED)


@ti.kernel
def shine(millionths: ti.template()):
    for p, s in ti.ndrange(4, 5):
        millionths[s] += ti.cast(1e6 * ti.exp(-((x[p] - s) ** 2)), millionths.dtype)


@ti.kernel
def compare(millionths: ti.template()):
    for s in wanted:
        U[None] += (1e-6 * millionths[s] - wanted[s]) ** 2


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.3}})
def trap():
    shine(whole)
    compare(whole)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.3}})
def twin():
    shine(real)
    compare(real)


def answer(x):
    d = x[:, None] - np.arange(5)
    spot = np.exp(-(d**2))
    return (2.0 * (spot.sum(0) - WANTED) * spot * -2.0 * d).sum(1)
