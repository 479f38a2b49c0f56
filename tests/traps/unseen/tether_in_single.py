"""Satellites on a tether: places on the orbit are kept in single precision, an eighth of a metre apart.

The twin keeps them in double precision.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.0, 11.3, 20.6, 31.9, 43.1])
ORBIT, REST = 1.84e6, 10.0

x = ti.field(ti.f64, 5, needs_grad=True)
single = ti.field(ti.f32, 5, needs_grad=True)
double = ti.field(ti.f64, 5, needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def place(on_orbit: ti.template()):
    for i in x:
        on_orbit[i] = ORBIT + x[i]


@ti.kernel
def pull(on_orbit: ti.template()):
    for i in range(4):
        s = on_orbit[i + 1] - on_orbit[i] - REST
        U[None] += 0.5 * s * s


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
def trap():
    place(single)
    pull(single)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
def twin():
    place(double)
    pull(double)


def value(x):
    return 0.5 * ((np.diff(x) - REST) ** 2).sum()


def answer(x):
    return -np.diff(np.diff(x) - REST, prepend=0.0, append=0.0)
