"""Two kernels are reversed by hand in the order they ran in: the first passes on what it has not got yet.

The twin's tape reverses the second one first.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.2, 0.8, 1.5, 2.4])

x, phase, U = (ti.field(ti.f64, n, needs_grad=True) for n in (4, 4, ()))


@ti.kernel
def travel():
    for i in x:
        phase[i] = 3.0 * x[i] + 0.2 * x[i] ** 2


@ti.kernel
def interfere():
    for i, j in ti.ndrange(4, 4):
        U[None] += ti.cos(phase[i] - phase[j]) + 0.05 * x[i] * x[j]


def by_hand():
    ti.ad.clear_all_gradients()
    U.grad[None] = 1.0
    trap()
    travel.grad()
    interfere.grad()


def by_tape():
    with ti.ad.Tape(U):
        twin()


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}}, gradient="by_hand")
def trap():
    travel()
    interfere()


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}}, gradient="by_tape")
def twin():
    travel()
    interfere()


def answer(x):
    phase = 3.0 * x + 0.2 * x**2
    pull = -2.0 * np.sin(phase[:, None] - phase[None]).sum(1)
    return pull * (3.0 + 0.4 * x) + 0.1 * x.sum()
