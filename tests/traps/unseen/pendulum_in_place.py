"""Pendulums are stepped in place: when the steps are reversed, the angles they began from are gone.

The twin steps linear springs in place, whose derivative asks for no angle.
"""

import numpy as np

from minusgrad import checked, ti

DT, STEPS = 0.2, 15
START = np.array([0.4, 1.1, 1.9, 2.6])

x, v, U = (ti.field(ti.f64, n, needs_grad=True) for n in (4, 4, ()))


@ti.kernel
def step(swings: ti.template()):
    for i in x:
        v[i] -= DT * (ti.sin(x[i]) if ti.static(swings) else x[i])
        x[i] += DT * v[i]


@ti.kernel
def measure():
    for i in x:
        U[None] += ti.cos(x[i]) + 0.5 * v[i] ** 2


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
def trap():
    for _ in range(STEPS):
        step(True)
    measure()


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
def twin():
    for _ in range(STEPS):
        step(False)
    measure()


def answer(x, pull=np.sin, slope=np.cos):
    v, dx, dv = 0.0, 1.0, 0.0
    for _ in range(STEPS):
        v, dv = v - DT * pull(x), dv - DT * slope(x) * dx
        x, dx = x + DT * v, dx + DT * dv
    return v * dv - np.sin(x) * dx


def answer_of_twin(x):
    return answer(x, np.array, np.ones_like)
