"""A detector's noise is drawn inside the kernel: each value is another one, and none has a gradient.

The twin's noise was drawn once and is data.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.4, 0.9, 1.3, 0.2])
NOISE = np.random.default_rng(4).normal(size=4)

x = ti.field(ti.f64, 4, needs_grad=True)
noise = ti.field(ti.f64, 4)
U = ti.field(ti.f64, (), needs_grad=True)


def draw():
    noise.from_numpy(NOISE)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def trap():
    for i in x:
        U[None] += 0.5 * (x[i] ** 2 - 1.0 + 0.1 * ti.randn(ti.f64)) ** 2


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}}, before=["draw"])
@ti.kernel
def twin():
    for i in x:
        U[None] += 0.5 * (x[i] ** 2 - 1.0 + 0.1 * noise[i]) ** 2


def answer(x):
    return 2.0 * x * (x**2 - 1.0)


def answer_of_twin(x):
    return 2.0 * x * (x**2 - 1.0 + 0.1 * NOISE)
