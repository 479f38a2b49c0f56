"""A load is raised in three stages by a name of the module: the kernel keeps the first one that it saw.

The twin is handed the load as an argument.
"""

import numpy as np

from minusgrad import checked, ti

LOADS = (0.5, 1.0, 2.5)
START = np.array([0.3, 0.8, 1.1, 1.9])
load = 0.0

x = ti.field(ti.f64, 4, needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def work():
    for i in x:
        U[None] += 0.5 * x[i] ** 2 - load * ti.sin(x[i])


@ti.kernel
def work_of(load: ti.f64):
    for i in x:
        U[None] += 0.5 * x[i] ** 2 - load * ti.sin(x[i])


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
def trap():
    global load
    for load in LOADS:  # noqa: B007
        work()


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
def twin():
    for load in LOADS:
        work_of(load)


def value(x):
    return sum((0.5 * x**2 - load * np.sin(x)).sum() for load in LOADS)


def answer(x):
    return sum(x - load * np.cos(x) for load in LOADS)
