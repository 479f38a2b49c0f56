"""A number of Python's is frozen when a kernel is compiled, and changes afterwards. Twin: an argument."""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.4, 1.9, 0.8])
x = ti.field(ti.f64, 3, needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)
stiffness = 1.0


@ti.kernel
def energy():
    for i in x:
        U[None] += 0.5 * stiffness * x[i] ** 2


@ti.kernel
def energy_of(k: ti.f64):
    for i in x:
        U[None] += 0.5 * k * x[i] ** 2


def load():
    """Stiffer with every step: 1, 2, 3."""
    global stiffness
    for step in range(3):
        stiffness = 1.0 + step
        energy()


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
def trap():
    load()


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
def twin():
    for step in range(3):
        energy_of(1.0 + step)


def value(x):
    return float(0.5 * 6.0 * np.sum(x**2))


def answer(x):
    return 6.0 * x
