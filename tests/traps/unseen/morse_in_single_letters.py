"""The engine's default is single precision, and a well's 1.7 is a single 1.7 among doubles.

The twin is handed the same number as an argument of double precision.
"""

import numpy as np

from minusgrad import checked, ti

ti.init(arch=ti.cpu, default_fp=ti.f32, log_level=ti.ERROR)

START = np.array([0.9, 1.1, 1.6, 2.3])
LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(loss="U", inputs={"r": {"start": START.tolist(), "step": 0.05}}, numbers={"a": 1.7})
@ti.kernel
def trap(r: LINE, a: ti.f64, U: ONE):
    for i in r:
        e = 1 - ti.exp(-1.7 * (r[i] - 1))
        U[None] += e * e


@checked(loss="U", inputs={"r": {"start": START.tolist(), "step": 0.05}}, numbers={"a": 1.7})
@ti.kernel
def twin(r: LINE, a: ti.f64, U: ONE):
    for i in r:
        e = 1 - ti.exp(-a * (r[i] - 1))
        U[None] += e * e


def value(r):
    return ((1.0 - np.exp(-1.7 * (r - 1.0))) ** 2).sum()


def answer(r):
    e = np.exp(-1.7 * (r - 1.0))
    return 2.0 * (1.0 - e) * 1.7 * e
