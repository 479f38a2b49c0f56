"""A constant to be fitted is read out in Python and handed over as a number: its field gets nothing back.

The twin hands over the field.
"""

import numpy as np

from minusgrad import checked, ti

X, K = np.array([0.2, 0.9, 1.4, 2.3]), np.array([1.7])

x = ti.field(ti.f64, 4, needs_grad=True)
k = ti.field(ti.f64, 1, needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def with_number(constant: ti.f64):
    for i in x:
        U[None] += 0.5 * constant * x[i] ** 2 + 0.1 * constant**2 * ti.cos(x[i])


@ti.kernel
def with_field(constant: ti.template()):
    for i in x:
        U[None] += 0.5 * constant[0] * x[i] ** 2 + 0.1 * constant[0] ** 2 * ti.cos(x[i])


BOTH = {"x": {"start": X.tolist(), "step": 0.1}, "k": {"start": K.tolist(), "step": 0.1}}


@checked(loss="U", inputs=BOTH)
def trap():
    with_number(k[0])


@checked(loss="U", inputs=BOTH)
def twin():
    with_field(k)


def answer(at):
    x, k = at["x"], at["k"]
    slope = (0.5 * x**2 + 0.2 * k * np.cos(x)).sum()
    return {"x": k * x - 0.1 * k**2 * np.sin(x), "k": np.array([slope])}
