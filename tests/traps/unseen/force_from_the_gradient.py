"""A step is taken with forces that are themselves a gradient: reversed, they do not depend on the places.

The twin writes the same forces down.
"""

import numpy as np

from minusgrad import checked, ti

DT = 0.5
START = np.array([0.3, 1.0, 1.9, 2.6])

x, y, V, U = (ti.field(ti.f64, n, needs_grad=True) for n in (4, 4, (), ()))


@ti.kernel
def ready():
    for i in x:
        y[i] = x[i]
        y.grad[i] = 0.0
        V.grad[None] = 1.0


@ti.kernel
def potential():
    for i in y:
        V[None] -= ti.cos(y[i]) + 0.2 * y[i] * y[(i + 1) % 4]


@ti.kernel
def step(by_gradient: ti.template()):
    for i in x:
        slope = ti.sin(x[i]) - 0.2 * (x[(i + 1) % 4] + x[(i - 1) % 4])
        r = x[i] - DT**2 * (y.grad[i] if ti.static(by_gradient) else slope) - 1.0
        U[None] += 0.5 * r**2


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
def trap():
    ready()
    potential.grad()
    step(True)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
def twin():
    step(False)


def answer(x):
    r = x - DT**2 * (np.sin(x) - 0.2 * (np.roll(x, 1) + np.roll(x, -1))) - 1.0
    return r - DT**2 * (np.cos(x) * r - 0.2 * (np.roll(r, 1) + np.roll(r, -1)))
