"""A ring of beads is closed by `x[i - 1]`, as lists do it: before the first bead lies other memory.

The twin takes the index modulo the number of beads.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.2, 1.3, 1.9, 3.1, 2.4, 1.2])
N = len(START)

x = ti.field(ti.f64, N, needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def trap():
    for i in x:
        s = x[i] - x[i - 1]
        U[None] += 0.5 * s * s + 0.1 * s**4


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def twin():
    for i in x:
        s = x[i] - x[(i - 1) % N]
        U[None] += 0.5 * s * s + 0.1 * s**4


def value(x):
    s = x - np.roll(x, 1)
    return (0.5 * s**2 + 0.1 * s**4).sum()


def answer(x):
    s = x - np.roll(x, 1)
    pull = s + 0.4 * s**3
    return pull - np.roll(pull, -1)
