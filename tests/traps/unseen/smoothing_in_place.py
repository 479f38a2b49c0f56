"""A race: a rod is smoothed in place, each point taking its neighbours' old or new values as they come.

The twin writes the new temperatures to a second field.
"""

import numpy as np

from minusgrad import checked, ti

N = 64
START = np.sin(0.37 * np.arange(N)) + 0.02 * np.arange(N)

u = ti.field(ti.f64, N, needs_grad=True)
later = ti.field(ti.f64, N, needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def conduct(old: ti.template(), new: ti.template()):
    for i in old:
        new[i] = 0.5 * old[i] + 0.25 * (old[(i - 1) % N] + old[(i + 1) % N])


@ti.kernel
def measure(last: ti.template()):
    for i in last:
        U[None] += 0.5 * last[i] ** 2


@checked(loss="U", inputs={"u": {"start": START.tolist(), "step": 0.1}})
def trap():
    conduct(u, u)
    measure(u)


@checked(loss="U", inputs={"u": {"start": START.tolist(), "step": 0.1}})
def twin():
    conduct(u, later)
    measure(later)


def value(u):
    return 0.5 * ((0.5 * u + 0.25 * (np.roll(u, 1) + np.roll(u, -1))) ** 2).sum()


def answer(u):
    return (6 * u + 4 * (np.roll(u, 1) + np.roll(u, -1)) + np.roll(u, 2) + np.roll(u, -2)) / 16
