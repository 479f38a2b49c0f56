"""A beam's lever arms are whole millimetres, and their cube leaves 32 bits beyond 1290 mm.

The twin writes the same arms with a point.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([1.0, 0.6, 1.4, 0.9, 1.1, 0.7, 1.3, 0.5, 1.2, 0.8])
COMPLIANCE = 2e-10
LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)


@checked(loss="U", inputs={"load": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def trap(load: LINE, U: ONE):
    for i in load:
        arm = 250 * (i + 1)
        deflection = load[i] * COMPLIANCE * (arm * arm * arm) / 3.0
        U[None] += 0.5 * load[i] * deflection


@checked(loss="U", inputs={"load": {"start": START.tolist(), "step": 0.1}})
@ti.kernel
def twin(load: LINE, U: ONE):
    for i in load:
        arm = 250.0 * (i + 1)
        deflection = load[i] * COMPLIANCE * (arm * arm * arm) / 3.0
        U[None] += 0.5 * load[i] * deflection


def value(load):
    return (0.5 * load**2 * COMPLIANCE * (250.0 * np.arange(1, len(load) + 1)) ** 3 / 3.0).sum()


def answer(load):
    return load * COMPLIANCE * (250.0 * np.arange(1, len(load) + 1)) ** 3 / 3.0
