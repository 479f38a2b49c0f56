"""A membrane's forces, written by hand and registered as the gradient, forget the half of its energy.

The twin's forces remember it.
"""

import numpy as np

from minusgrad import checked, ti

N = 5
START = np.fromfunction(lambda i, j: np.sin(1.3 * i + 0.4 * j * j), (N, N))

z, U = (ti.field(ti.f64, n, needs_grad=True) for n in ((N, N), ()))


@ti.kernel
def tension():
    for i, j in ti.ndrange(N - 1, N - 1):
        U[None] += 0.5 * ((z[i + 1, j] - z[i, j]) ** 2 + (z[i, j + 1] - z[i, j]) ** 2)


@ti.kernel
def pull(factor: ti.f64):
    for i, j in ti.ndrange(N - 1, N - 1):
        a = factor * U.grad[None] * (z[i + 1, j] - z[i, j])
        b = factor * U.grad[None] * (z[i, j + 1] - z[i, j])
        z.grad[i + 1, j] += a
        z.grad[i, j + 1] += b
        z.grad[i, j] -= a + b


stretch_doubled, stretch = (ti.ad.grad_replaced(lambda: tension()) for _ in range(2))
ti.ad.grad_for(stretch_doubled)(lambda: pull(2.0))
ti.ad.grad_for(stretch)(lambda: pull(1.0))


@checked(loss="U", inputs={"z": {"start": START.tolist(), "step": 0.1}})
def trap():
    stretch_doubled()


@checked(loss="U", inputs={"z": {"start": START.tolist(), "step": 0.1}})
def twin():
    stretch()


def answer(z):
    out = np.zeros_like(z)
    a, b = np.diff(z, axis=0)[:, :-1], np.diff(z, axis=1)[:-1]
    for at, pull in ((np.s_[1:, :-1], a), (np.s_[:-1, 1:], b), (np.s_[:-1, :-1], -a - b)):
        out[at] += pull
    return out
