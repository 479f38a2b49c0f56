"""A wave is divided by its norm in place; reversed, the division sees the divided wave.

The twin writes the divided wave to a field of its own.
"""

import numpy as np

from minusgrad import checked, ti

N = 8
START = np.array([0.3, 0.8, 1.1, 1.7, 1.2, 0.9, 0.6, 0.2])

psi = ti.field(ti.f64, N, needs_grad=True)
phi = ti.field(ti.f64, N, needs_grad=True)
weight = ti.field(ti.f64, (), needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def normalise(out: ti.template()):
    for i in psi:
        weight[None] += psi[i] ** 2
    for i in psi:
        out[i] = psi[i] / ti.sqrt(weight[None])


@ti.kernel
def energy(wave: ti.template()):
    for i in wave:
        U[None] += 0.5 * (wave[(i + 1) % N] - wave[i]) ** 2 + 0.1 * (i - 3.0) ** 2 * wave[i] ** 2


@checked(loss="U", inputs={"psi": {"start": START.tolist(), "step": 0.1}})
def trap():
    normalise(psi)
    energy(psi)


@checked(loss="U", inputs={"psi": {"start": START.tolist(), "step": 0.1}})
def twin():
    normalise(phi)
    energy(phi)


def answer(psi):
    def applied(p):
        return p - 0.5 * (np.roll(p, 1) + np.roll(p, -1)) + 0.1 * (np.arange(N) - 3.0) ** 2 * p

    weight = psi @ psi
    return 2.0 * (applied(psi) - (psi @ applied(psi) / weight) * psi) / weight
