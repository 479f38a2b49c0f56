"""Kepler's equation is iterated until it holds: a loop that asks when to stop has no reverse.

The twin takes eight turns of Newton's method, always.
"""

import numpy as np

from minusgrad import checked, ti

M, ECC = np.array([0.4, 1.3, 2.9, 4.4]), np.array([0.1, 0.5, 0.3, 0.6])
LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)
BOTH = {"mean": {"start": M.tolist(), "step": 0.05}, "ecc": {"start": ECC.tolist(), "step": 0.02}}


@checked(loss="U", inputs=BOTH)
@ti.kernel
def trap(mean: LINE, ecc: LINE, U: ONE):
    for i in mean:
        E = mean[i]
        while ti.abs(E - ecc[i] * ti.sin(E) - mean[i]) > 1e-13:
            E -= (E - ecc[i] * ti.sin(E) - mean[i]) / (1.0 - ecc[i] * ti.cos(E))
        U[None] += (ti.cos(E) - ecc[i]) * (i + 1.0)


@checked(loss="U", inputs=BOTH)
@ti.kernel
def twin(mean: LINE, ecc: LINE, U: ONE):
    for i in mean:
        E = mean[i]
        for _ in ti.static(range(8)):
            E -= (E - ecc[i] * ti.sin(E) - mean[i]) / (1.0 - ecc[i] * ti.cos(E))
        U[None] += (ti.cos(E) - ecc[i]) * (i + 1.0)


def answer(at):
    mean, ecc, weight = at["mean"], at["ecc"], np.arange(1.0, 5.0)
    E = mean
    for _ in range(30):
        E = E - (E - ecc * np.sin(E) - mean) / (1.0 - ecc * np.cos(E))
    slope = 1.0 / (1.0 - ecc * np.cos(E))
    return {"mean": -weight * np.sin(E) * slope, "ecc": -weight * (np.sin(E) ** 2 * slope + 1.0)}
