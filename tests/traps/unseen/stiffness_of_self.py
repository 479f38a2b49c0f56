"""A chain object is softened between two uses by its attribute: its kernel was compiled with the old one.

The twin has an object for each stiffness; each has a kernel of its own.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.0, 1.3, 1.9, 3.4, 4.2])

x, U = (ti.field(ti.f64, n, needs_grad=True) for n in (5, ()))


@ti.data_oriented
class Chain:
    def __init__(self, stiffness, rest):
        self.stiffness, self.rest = stiffness, rest

    @ti.kernel
    def stretch(self):
        for i in range(4):
            U[None] += 0.5 * self.stiffness * (x[i + 1] - x[i] - self.rest) ** 2


chain, hard, soft = Chain(4.0, 1.0), Chain(4.0, 1.0), Chain(0.5, 1.2)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
def trap():
    chain.stiffness, chain.rest = 4.0, 1.0
    chain.stretch()
    chain.stiffness, chain.rest = 0.5, 1.2
    chain.stretch()


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
def twin():
    hard.stretch()
    soft.stretch()


def value(x):
    d = np.diff(x)
    return (2.0 * (d - 1.0) ** 2 + 0.25 * (d - 1.2) ** 2).sum()


def answer(x):
    d = np.diff(x)
    return -np.diff(4.0 * (d - 1.0) + 0.5 * (d - 1.2), prepend=0.0, append=0.0)
