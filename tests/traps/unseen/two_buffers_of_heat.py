"""Heat, conducted the better the hotter it is, steps to and fro between two buffers.

Reversed, every step but the last ones sees temperatures of a later time. The twin keeps them all.
"""

from itertools import pairwise

import numpy as np

from minusgrad import checked, ti

N, STEPS, A = 8, 6, 0.05
START = np.array([0.1, 0.9, 1.4, 0.3, 0.8, 1.2, 0.5, 0.2])

u, *more, U = (ti.field(ti.f64, n, needs_grad=True) for n in [N] * (STEPS + 1) + [()])


@ti.kernel
def step(old: ti.template(), new: ti.template()):
    for i in old:
        left, here, right = old[(i - 1) % N], old[i], old[(i + 1) % N]
        new[i] = here + A * (left + left**3 + right + right**3 - 2.0 * (here + here**3))


@ti.kernel
def measure(last: ti.template()):
    for i in last:
        U[None] += 0.5 * (last[i] - 0.1 * i) ** 2


@checked(loss="U", inputs={"u": {"start": START.tolist(), "step": 0.1}})
def trap():
    for _ in range(STEPS // 2):
        step(u, more[0])
        step(more[0], u)
    measure(u)


@checked(loss="U", inputs={"u": {"start": START.tolist(), "step": 0.1}})
def twin():
    for old, new in pairwise([u, *more]):
        step(old, new)
    measure(more[-1])


def answer(u):
    laplace = A * (np.roll(np.eye(N), 1, 0) + np.roll(np.eye(N), -1, 0) - 2.0 * np.eye(N))
    slope = np.eye(N)
    for _ in range(STEPS):
        slope = slope + laplace @ ((1.0 + 3.0 * u**2)[:, None] * slope)
        u = u + laplace @ (u + u**3)
    return slope.T @ (u - 0.1 * np.arange(N))
