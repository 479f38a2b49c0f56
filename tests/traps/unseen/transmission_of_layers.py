"""Light through layers: what is left is multiplied in place, and a product is reversed like a sum.

The twin sums optical depths and takes one exponential.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.3, 0.5, 0.2, 0.7, 0.4])

k = ti.field(ti.f64, 5, needs_grad=True)
through = ti.field(ti.f64, (), needs_grad=True)
depth = ti.field(ti.f64, (), needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)
through.fill(1.0)


@ti.kernel
def pass_layers():
    for i in k:
        through[None] *= ti.exp(-0.5 * k[i])


@ti.kernel
def sum_layers():
    for i in k:
        depth[None] += 0.5 * k[i]


@ti.kernel
def compare():
    U[None] += (through[None] * ti.exp(-depth[None]) - 0.9) ** 2


@checked(loss="U", inputs={"k": {"start": START.tolist(), "step": 0.1}})
def trap():
    pass_layers()
    compare()


@checked(loss="U", inputs={"k": {"start": START.tolist(), "step": 0.1}})
def twin():
    sum_layers()
    compare()


def answer(k):
    through = np.exp(-0.5 * k.sum())
    return np.full(5, -(through - 0.9) * through)
