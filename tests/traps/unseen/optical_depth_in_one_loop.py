"""Light through a cloud: depths are summed along the ray by a serial loop, which is reversed forwards.

The twin's loop stands within another of one turn: inner loops are reversed backwards.
"""

import numpy as np

from minusgrad import checked, ti

N, DX = 8, 0.3
START = np.array([0.4, 0.9, 1.3, 0.2, 0.7, 1.1, 0.5, 0.8])

k, depth, U = (ti.field(ti.f64, n, needs_grad=True) for n in (N, N + 1, ()))


@ti.kernel
def march():
    ti.loop_config(serialize=True)
    for i in range(N):
        depth[i + 1] = depth[i] + DX * k[i]


@ti.kernel
def march_within():
    for _ in range(1):
        for i in range(N):
            depth[i + 1] = depth[i] + DX * k[i]


@ti.kernel
def glow():
    for i in k:
        U[None] += (i + 1.0) * k[i] * ti.exp(-depth[i + 1])


@checked(loss="U", inputs={"k": {"start": START.tolist(), "step": 0.1}})
def trap():
    march()
    glow()


@checked(loss="U", inputs={"k": {"start": START.tolist(), "step": 0.1}})
def twin():
    march_within()
    glow()


def answer(k):
    left = np.arange(1, N + 1) * np.exp(-DX * np.cumsum(k))
    return left - DX * np.cumsum((left * k)[::-1])[::-1]
