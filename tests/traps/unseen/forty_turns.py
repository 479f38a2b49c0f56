"""A pendulum clock is run forty turns within one kernel: reversed, its stack overflows and the process ends.

The twin unrolls the same forty turns.
"""

import numpy as np

from minusgrad import checked, ti

DT = 0.1
START = np.array([0.3, 1.2, 2.5])
LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(loss="U", inputs={"angle": {"start": START.tolist(), "step": 0.05}})
@ti.kernel
def trap(angle: LINE, U: ONE):
    for i in angle:
        q, p = angle[i], 0.0
        for _ in range(40):
            p -= DT * ti.sin(q)
            q += DT * p
        U[None] += 0.5 * p * p + 0.1 * q * q


@checked(loss="U", inputs={"angle": {"start": START.tolist(), "step": 0.05}})
@ti.kernel
def twin(angle: LINE, U: ONE):
    for i in angle:
        q, p = angle[i], 0.0
        for _ in ti.static(range(40)):
            p -= DT * ti.sin(q)
            q += DT * p
        U[None] += 0.5 * p * p + 0.1 * q * q


def answer(angle):
    q, p, dq, dp = angle, np.zeros(3), np.ones(3), np.zeros(3)
    for _ in range(40):
        p, dp = p - DT * np.sin(q), dp - DT * np.cos(q) * dq
        q, dq = q + DT * p, dq + DT * dp
    return p * dp + 0.2 * q * dq
