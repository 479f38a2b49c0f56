"""A race: the length of a long vector grows entry by entry in one cell, read and stored by several threads.

The twin adds squares in one piece, and takes the root when all are there.
"""

import numpy as np

from minusgrad import checked, ti

N = 200000

x = ti.field(ti.f64, N, needs_grad=True)
square = ti.field(ti.f64, (), needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@checked(loss="U", inputs={"x": {"shape": [N], "step": 0.1}})
@ti.kernel
def trap():
    for i in x:
        U[None] = ti.sqrt(U[None] ** 2 + x[i] ** 2)


@checked(loss="U", inputs={"x": {"shape": [N], "step": 0.1}})
@ti.kernel
def twin():
    for i in x:
        square[None] += x[i] ** 2
    for _ in range(1):
        U[None] += ti.sqrt(square[None])


def value(x):
    return np.sqrt(x @ x)


def answer(x):
    return x / np.sqrt(x @ x)
