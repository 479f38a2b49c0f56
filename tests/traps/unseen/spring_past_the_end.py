"""A chain has a spring more than it should: the last bead pulls at the memory behind it.

The twin stops one earlier.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.9, 1.8, 3.1, 4.3, 4.9])
N = len(START)

x = ti.field(ti.f64, N, needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def trap():
    for i in range(N):
        s = x[i + 1] - x[i] - 1.0
        U[None] += 0.5 * s * s


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def twin():
    for i in range(N - 1):
        s = x[i + 1] - x[i] - 1.0
        U[None] += 0.5 * s * s


def value(x):
    return 0.5 * ((np.diff(x) - 1.0) ** 2).sum()


def answer(x):
    return -np.diff(np.diff(x) - 1.0, prepend=0.0, append=0.0)
