"""A race: an energy is read, increased and stored in three steps, and threads may lose each other's share.

The twin says `+=`, which adds in one piece.
"""

import numpy as np

from minusgrad import checked, ti

N, ROUNDS = 200000, 10

x = ti.field(ti.f64, N, needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def add(k: ti.f64, in_one_piece: ti.template()):
    for i in x:
        wave = ti.sin(k * x[i]) * ti.exp(-0.5 * x[i] ** 2)
        if ti.static(in_one_piece):
            U[None] += ti.cos(wave)
        else:
            U[None] = U[None] + ti.cos(wave)


@checked(loss="U", inputs={"x": {"shape": [N], "step": 0.1}})
def trap():
    for k in range(ROUNDS):
        add(k + 1.0, False)


@checked(loss="U", inputs={"x": {"shape": [N], "step": 0.1}})
def twin():
    for k in range(ROUNDS):
        add(k + 1.0, True)


def value(x):
    return sum(np.cos(np.sin(k * x) * np.exp(-0.5 * x**2)).sum() for k in range(1, ROUNDS + 1))


def answer(x):
    out, bell = np.zeros_like(x), np.exp(-0.5 * x**2)
    for k in range(1, ROUNDS + 1):
        out -= np.sin(np.sin(k * x) * bell) * (k * np.cos(k * x) - x * np.sin(k * x)) * bell
    return out
