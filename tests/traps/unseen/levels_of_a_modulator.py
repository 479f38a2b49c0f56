"""A light modulator has sixteen levels of phase: rounded down to them by `floor`, phases feel nothing.

The twin's `floor` takes whole waves away, which changes no light.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.13, 0.78, 1.41, -0.36, 2.22, 0.55])
N, TURN = len(START), 2.0 * np.pi

phase = ti.field(ti.f64, N, needs_grad=True)
light = ti.field(ti.f64, (4, 2), needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def shine(levels: ti.template()):
    for d, i in ti.ndrange(4, N):
        p = phase[i]
        p = ti.floor(p * levels) / levels if ti.static(levels > 0) else p - ti.floor(p)
        light[d, 0] += ti.cos(TURN * (p + i * d / 4.0))
        light[d, 1] += ti.sin(TURN * (p + i * d / 4.0))


@ti.kernel
def measure():
    for d in range(4):
        U[None] += 0.5 * (light[d, 0] ** 2 + light[d, 1] ** 2 - d) ** 2


@checked(loss="U", inputs={"phase": {"start": START.tolist(), "step": 0.05}})
def trap():
    shine(16)
    measure()


@checked(loss="U", inputs={"phase": {"start": START.tolist(), "step": 0.05}})
def twin():
    shine(0)
    measure()


def answer(phase):
    waves = np.exp(1j * TURN * (phase + np.outer(np.arange(4), np.arange(N)) / 4.0))
    light = waves.sum(1)
    pull = 2.0 * (np.abs(light) ** 2 - np.arange(4)) * light
    return TURN * (pull[:, None] * np.conj(1j * waves)).real.sum(0)
