"""An inner loop of forty turns carries a local: the process dies. Twin: every step's state in an array."""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.4, 0.6])


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def trap(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in x:
        s = x[i]
        for _ in range(40):
            s = s + 0.05 * s * (1.0 - s)
        U[None] += s


@checked(loss="U", inputs={"x": {"start": START.tolist()}}, arrays={"s": {"shape": [41, 2]}})
def twin(x: ti.types.ndarray(), s: ti.types.ndarray(), U: ti.types.ndarray()):
    begin(x, s)
    for step in range(40):
        grow(s, step)
    end(s, U)


@ti.kernel
def begin(x: ti.types.ndarray(dtype=ti.f64, ndim=1), s: ti.types.ndarray(dtype=ti.f64, ndim=2)):
    for i in x:
        s[0, i] = x[i]


@ti.kernel
def grow(s: ti.types.ndarray(dtype=ti.f64, ndim=2), step: ti.i32):
    for i in range(s.shape[1]):
        s[step + 1, i] = s[step, i] + 0.05 * s[step, i] * (1.0 - s[step, i])


@ti.kernel
def end(s: ti.types.ndarray(dtype=ti.f64, ndim=2), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in range(s.shape[1]):
        U[None] += s[40, i]


def answer(x):
    s, ds = x.copy(), np.ones(len(x))
    for _ in range(40):
        s, ds = s + 0.05 * s * (1.0 - s), ds * (1.0 + 0.05 * (1.0 - 2.0 * s))
    return ds
