"""A time step over the same arrays: the way back reads the end's positions. Twin: every step has its own."""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.4, 1.9, 0.8])
STEPS, DT = 5, 0.2
x = ti.field(ti.f64, 3, needs_grad=True)
v = ti.field(ti.f64, 3, needs_grad=True)
xs = ti.field(ti.f64, (STEPS + 1, 3), needs_grad=True)
vs = ti.field(ti.f64, (STEPS + 1, 3), needs_grad=True)
x0 = ti.field(ti.f64, 3, needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def begin():
    for i in x0:
        x[i] = x0[i]
        xs[0, i] = x0[i]


@ti.kernel
def substep():
    for i in x:
        v[i] += -DT * ti.sin(x[i])
    for i in x:
        x[i] += DT * v[i]


@ti.kernel
def substep_of(t: ti.i32):
    for i in x0:
        vs[t + 1, i] = vs[t, i] - DT * ti.sin(xs[t, i])
    for i in x0:
        xs[t + 1, i] = xs[t, i] + DT * vs[t + 1, i]


@ti.kernel
def end():
    for i in x:
        U[None] += x[i] ** 2


@ti.kernel
def end_of():
    for i in x0:
        U[None] += xs[STEPS, i] ** 2


@checked(loss="U", inputs={"x0": {"start": START.tolist()}})
def trap():
    begin()
    for _ in range(STEPS):
        substep()
    end()


@checked(loss="U", inputs={"x0": {"start": START.tolist()}})
def twin():
    begin()
    for t in range(STEPS):
        substep_of(t)
    end_of()


def answer(x):
    v, dx, dv = np.zeros(3), np.ones(3), np.zeros(3)
    for _ in range(STEPS):
        v, dv = v - DT * np.sin(x), dv - DT * np.cos(x) * dx
        x, dx = x + DT * v, dx + DT * dv
    return 2.0 * x * dx
