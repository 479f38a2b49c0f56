"""A kernel thought to be bookkeeping is excused from the gradient; the loss uses what it computes.

The twin excuses a count that nobody uses.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.3, 1.1, 1.8, 2.9])

x, weight = (ti.field(ti.f64, 4, needs_grad=True) for _ in range(2))
close, U = (ti.field(ti.f64, (), needs_grad=True) for _ in range(2))


@ti.kernel
def weigh():
    for i in x:
        weight[i] = ti.exp(-0.5 * x[i])


@ti.kernel
def count():
    for i in x:
        close[None] += weight[i]


@ti.kernel
def energy():
    for i in x:
        U[None] += weight[i] * x[i] ** 2


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
def trap():
    ti.ad.no_grad(weigh)()
    count()
    energy()


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
def twin():
    weigh()
    ti.ad.no_grad(count)()
    energy()


def answer(x):
    return np.exp(-0.5 * x) * (2.0 * x - 0.5 * x**2)
