"""Oscillators in double precision take a time step of single precision: 0.1 is 0.1 to eight digits.

The twin's step is as precise as the rest.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.5, 1.1, -0.8])
LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@ti.func
def swung(q, p, dt):
    for _ in ti.static(range(8)):
        p -= dt * (q + q**3)
        q += dt * p
    return 0.5 * p * p + 0.25 * q**4


@checked(loss="U", inputs={"q": {"start": START.tolist(), "step": 0.05}}, numbers={"dt": 0.1})
@ti.kernel
def trap(q: LINE, dt: ti.f32, U: ONE):
    for i in q:
        U[None] += swung(q[i], 0.0, dt)


@checked(loss="U", inputs={"q": {"start": START.tolist(), "step": 0.05}}, numbers={"dt": 0.1})
@ti.kernel
def twin(q: LINE, dt: ti.f64, U: ONE):
    for i in q:
        U[None] += swung(q[i], 0.0, dt)


def energy(q):
    p = 0.0 * q
    for _ in range(8):
        p = p - 0.1 * (q + q**3)
        q = q + 0.1 * p
    return 0.5 * p * p + 0.25 * q**4


def value(q):
    return energy(q).sum()


def answer(q):
    return energy(q + 1e-40j).imag / 1e-40
