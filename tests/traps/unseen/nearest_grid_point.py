"""Charges are spread around the nearest mesh point: the field energy is flat between its jumps.

The twin spreads them around their own places, with the same quadratic weights.
"""

import numpy as np

from minusgrad import checked, ti

N, H = 8, 0.5
START = np.array([0.61, 0.93, 1.72, 2.13, 3.31])

x, rho, U = (ti.field(ti.f64, n, needs_grad=True) for n in (5, N, ()))


@ti.kernel
def deposit(shared: ti.template()):
    for p in x:
        c = ti.floor(x[p] / H + 0.5, ti.i32)
        d = x[p] / H - c if ti.static(shared) else 0.0
        rho[(c - 1) % N] += 0.5 * (0.5 - d) ** 2
        rho[c % N] += 0.75 - d**2
        rho[(c + 1) % N] += 0.5 * (0.5 + d) ** 2


@ti.kernel
def field_energy():
    for c in rho:
        U[None] += 0.5 * rho[c] ** 2 + 0.3 * rho[c] * ti.sin(2.0 * np.pi * c / N)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.25}})
def trap():
    deposit(False)
    field_energy()


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.25}})
def twin():
    deposit(True)
    field_energy()


def answer(x):
    c = np.floor(x / H + 0.5).astype(int)
    d = x / H - c
    at = np.stack([c - 1, c, c + 1]) % N
    rho = np.zeros(N)
    np.add.at(rho, at, np.stack([0.5 * (0.5 - d) ** 2, 0.75 - d**2, 0.5 * (0.5 + d) ** 2]))
    phi = rho + 0.3 * np.sin(2 * np.pi * np.arange(N) / N)
    return (phi[at] * np.stack([d - 0.5, -2 * d, d + 0.5])).sum(0) / H
