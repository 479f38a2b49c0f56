"""A path's place becomes a pixel: the dose moves in jumps, and no coordinate has a slope. Twin: hats."""

import numpy as np

from minusgrad import checked, ti

START = np.array([1.31, 4.27, 6.66])
TARGET = np.linspace(0.0, 1.0, 12) ** 2


@checked(
    loss="U",
    inputs={"x": {"start": START.tolist(), "step": 0.5}},
    arrays={"target": {"start": TARGET.tolist()}},
)
@ti.kernel
def trap(
    x: ti.types.ndarray(dtype=ti.f64, ndim=1),
    target: ti.types.ndarray(dtype=ti.f64, ndim=1),
    U: ti.types.ndarray(dtype=ti.f64, ndim=0),
):
    for i in x:
        p = ti.cast(x[i], ti.i32)
        U[None] += (target[p] - 0.5) ** 2


@checked(
    loss="U",
    inputs={"x": {"start": START.tolist(), "step": 0.5}},
    arrays={"target": {"start": TARGET.tolist()}},
)
@ti.kernel
def twin(
    x: ti.types.ndarray(dtype=ti.f64, ndim=1),
    target: ti.types.ndarray(dtype=ti.f64, ndim=1),
    U: ti.types.ndarray(dtype=ti.f64, ndim=0),
):
    for i in x:
        p = ti.cast(ti.floor(x[i]), ti.i32)
        w = x[i] - p
        U[None] += ((1.0 - w) * target[p] + w * target[p + 1] - 0.5) ** 2


def answer(x):
    p = np.floor(x).astype(int)
    w = x - p
    slope = TARGET[p + 1] - TARGET[p]
    return 2.0 * ((1.0 - w) * TARGET[p] + w * TARGET[p + 1] - 0.5) * slope
