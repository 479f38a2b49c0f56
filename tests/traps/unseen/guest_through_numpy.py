"""A wave leaves one kernel, goes through NumPy and enters the next: no derivative comes back on that road.

The twin copies from field to field, which is a kernel.
"""

import numpy as np

from minusgrad import checked, ti

N = 6
START = np.array([0.2, 0.9, 1.3, 0.4, -0.5, 0.1])

drive = ti.field(ti.f64, N, needs_grad=True)
left = ti.field(ti.f64, N, needs_grad=True)
right = ti.field(ti.f64, N, needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def launch():
    for i in drive:
        left[i] = ti.sin(drive[i]) + 0.5 * drive[(i + 1) % N]


@ti.kernel
def receive():
    for i in right:
        U[None] += 0.5 * right[i] ** 2 + 0.1 * drive[i] ** 2


@checked(loss="U", inputs={"drive": {"start": START.tolist(), "step": 0.1}})
def trap():
    launch()
    right.from_numpy(left.to_numpy())
    receive()


@checked(loss="U", inputs={"drive": {"start": START.tolist(), "step": 0.1}})
def twin():
    launch()
    right.copy_from(left)
    receive()


def answer(drive):
    wave = np.sin(drive) + 0.5 * np.roll(drive, -1)
    return wave * np.cos(drive) + 0.5 * np.roll(wave, 1) + 0.2 * drive
