"""A shot's range: it lands with the last whole step in the air, so its steepness counts for nothing.

The twin lands between that step and the next one.
"""

import numpy as np

from minusgrad import checked, ti

DT, G = 0.1, 9.81
START = np.array([7.0, 9.3])

velocity, height, U = (ti.field(ti.f64, n, needs_grad=True) for n in (2, 64, ()))
steps = ti.field(ti.i32, ())


@ti.kernel
def fly():
    for k in height:
        t = (k + 1.0) * DT
        height[k] = 1.0 + velocity[1] * t - 0.5 * G * t * t
        if height[k] > 0.0:
            steps[None] += 1


@ti.kernel
def measure(between: ti.template()):
    k = steps[None]
    part = height[k - 1] / (height[k - 1] - height[k]) if ti.static(between) else 0.0
    U[None] += velocity[0] * DT * (k + part)


@checked(loss="U", inputs={"velocity": {"start": START.tolist(), "step": 0.4}})
def trap():
    fly()
    measure(False)


@checked(loss="U", inputs={"velocity": {"start": START.tolist(), "step": 0.4}})
def twin():
    fly()
    measure(True)


def answer(velocity):
    root = np.sqrt(velocity[1] ** 2 + 2.0 * G)
    return (velocity[1] + root) / G * np.array([1.0, velocity[0] / root])


def answer_of_twin(velocity):
    t = DT * np.floor(answer(velocity)[0] / DT)
    y, gap = 1.0 + velocity[1] * t - 0.5 * G * t * t, DT * (G * (t + 0.5 * DT) - velocity[1])
    return np.array([t + DT * y / gap, velocity[0] * DT * (t / gap + y * DT / gap**2)])
