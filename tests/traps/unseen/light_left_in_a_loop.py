"""Light heats layer after layer: what is left of it is a local of an inner loop, changed after its use.

The twin unrolls the same loop.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.3, 0.8, 0.5, 1.1, 0.4, 0.9])
LAMPS = np.array([1.0, 0.7, 1.6])
LINE = ti.types.ndarray(dtype=ti.f64, ndim=1)
ONE = ti.types.ndarray(dtype=ti.f64, ndim=0)
TABLE = {
    "inputs": {"k": {"start": START.tolist(), "step": 0.1}},
    "arrays": {"lamp": {"start": LAMPS.tolist()}},
}


@checked(loss="U", **TABLE)
@ti.kernel
def trap(k: LINE, lamp: LINE, U: ONE):
    for a in lamp:
        left = lamp[a]
        for i in range(6):
            lost = left * (1.0 - ti.exp(-k[i]))
            left -= lost
            U[None] += (i - 2.5) * lost


@checked(loss="U", **TABLE)
@ti.kernel
def twin(k: LINE, lamp: LINE, U: ONE):
    for a in lamp:
        left = lamp[a]
        for i in ti.static(range(6)):
            lost = left * (1.0 - ti.exp(-k[i]))
            left -= lost
            U[None] += (i - 2.5) * lost


def answer(k):
    left = np.exp(-np.cumsum(k))
    gain = np.where(np.arange(6) < 5, 1.0, -2.5) * left
    return -LAMPS.sum() * np.cumsum(gain[::-1])[::-1]
