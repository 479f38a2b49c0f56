"""A pulse is amplified in thirty-two passes of a saturating medium: one too many for the reversed loop.

The twin does the same passes in two launches of sixteen, with a field between them.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.02, 0.1, 0.35, 0.6])

seed, half, out, U = (ti.field(ti.f64, n, needs_grad=True) for n in (4, 4, 4, ()))


@ti.kernel
def amplify(a: ti.template(), b: ti.template(), passes: ti.i32):
    for i in a:
        pulse = a[i]
        for _ in range(passes):
            pulse = pulse + 0.1 * pulse / (1.0 + pulse * pulse)
        b[i] = pulse


@ti.kernel
def measure():
    for i in out:
        U[None] += out[i] ** 2


@checked(loss="U", inputs={"seed": {"start": START.tolist(), "step": 0.05}})
def trap():
    amplify(seed, out, 32)
    measure()


@checked(loss="U", inputs={"seed": {"start": START.tolist(), "step": 0.05}})
def twin():
    amplify(seed, half, 16)
    amplify(half, out, 16)
    measure()


def answer(seed):
    pulse, slope = seed, np.ones(4)
    for _ in range(32):
        slope = slope * (1.0 + 0.1 * (1.0 - pulse**2) / (1.0 + pulse**2) ** 2)
        pulse = pulse + 0.1 * pulse / (1.0 + pulse**2)
    return 2.0 * pulse * slope
