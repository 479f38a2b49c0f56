"""Three rounds of relaxing a chain: the gradient of a round is added to that of the rounds before it.

The twin clears it in every round.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.1, 1.4, 1.9, 3.3, 4.6])

x, U = (ti.field(ti.f64, n, needs_grad=True) for n in (5, ()))


@ti.kernel
def energy():
    for i in range(4):
        s = x[i + 1] - x[i] - 1.0
        U[None] += 0.5 * s * s + 0.1 * s**4


def slope_added():
    for _ in range(3):
        U[None], U.grad[None] = 0.0, 1.0
        energy()
        energy.grad()


def slope_cleared():
    for _ in range(3):
        U[None], U.grad[None] = 0.0, 1.0
        energy()
        x.grad.fill(0.0)
        energy.grad()


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}}, gradient="slope_added")
def trap():
    energy()


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}}, gradient="slope_cleared")
def twin():
    energy()


def answer(x):
    s = np.diff(x) - 1.0
    return -np.diff(s + 0.4 * s**3, prepend=0.0, append=0.0)
