"""Literals are single precision by default: a tenth has seven digits in f64 arrays. Twin: typed literals."""

import numpy as np
import taichi as ti

from minusgrad import checked

ti.init(arch=ti.cpu, default_fp=ti.f32, log_level=ti.ERROR)
START = np.array([0.4, 1.9, 0.8])


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def trap(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in x:
        U[None] += 0.1 * x[i] * x[i]


@checked(loss="U", inputs={"x": {"start": START.tolist()}})
@ti.kernel
def twin(x: ti.types.ndarray(dtype=ti.f64, ndim=1), U: ti.types.ndarray(dtype=ti.f64, ndim=0)):
    for i in x:
        U[None] += ti.f64(0.1) * x[i] * x[i]


def value(x):
    return float(np.sum(0.1 * x * x))


def answer(x):
    return 0.2 * x
