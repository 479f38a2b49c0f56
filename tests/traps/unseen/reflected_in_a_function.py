"""Particles beyond a mirror are sent back by a function that changes its argument: it changed a copy.

The twin's function returns what it changed.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([[0.4, 0.7], [1.6, 0.2], [0.9, 1.3], [2.1, 1.8]])
POINTS = ti.types.ndarray(dtype=ti.types.vector(2, ti.f64), ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@ti.func
def reflect(p):
    p[0] = 1.5 - ti.abs(1.5 - p[0])


@ti.func
def reflected(p):
    p[0] = 1.5 - ti.abs(1.5 - p[0])
    return p


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def trap(x: POINTS, U: ONE):
    for i in x:
        p = x[i]
        reflect(p)
        U[None] += p[0] ** 3 + p[0] * p[1]


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def twin(x: POINTS, U: ONE):
    for i in x:
        p = reflected(x[i])
        U[None] += p[0] ** 3 + p[0] * p[1]


def value(x):
    p = 1.5 - np.abs(1.5 - x[:, 0])
    return (p**3 + p * x[:, 1]).sum()


def answer(x):
    p = 1.5 - np.abs(1.5 - x[:, 0])
    return np.stack([np.sign(1.5 - x[:, 0]) * (3.0 * p**2 + x[:, 1]), p], 1)
