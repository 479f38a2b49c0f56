"""A kernel is reversed by hand, but nobody tells it that the loss counts once: the force is zero.

The twin seeds the loss with one.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([[0.0, 0.1], [1.2, 0.0], [0.5, 1.1]])

x, U = ti.Vector.field(2, ti.f64, 3, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def lennard_jones():
    for i in x:
        s = 1.0 / (x[i] - x[(i + 1) % 3]).norm_sqr() ** 3
        U[None] += 4.0 * (s * s - s)


def force_unseeded():
    x.grad.fill(0.0)
    U.grad[None] = 0.0
    lennard_jones()
    lennard_jones.grad()


def force_seeded():
    x.grad.fill(0.0)
    U.grad[None] = 1.0
    lennard_jones()
    lennard_jones.grad()


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.05}}, gradient="force_unseeded")
def trap():
    lennard_jones()


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.05}}, gradient="force_seeded")
def twin():
    lennard_jones()


def answer(x):
    d = x[:, None] - x[None]
    r2 = (d**2).sum(-1) + np.eye(3)
    s = r2**-3.0 * (1.0 - np.eye(3))
    return ((-24.0 * (2.0 * s * s - s) / r2)[..., None] * d).sum(1)
