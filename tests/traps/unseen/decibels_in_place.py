"""Levels in decibels become powers in place: reversed, the power of ten is taken of what is a power already.

The twin turns millimetres into metres in place, which needs no memory.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([3.0, 1.5, -2.0, 4.2])
WANTED = np.array([1.0, 2.0, 1.5, 0.7])

level = ti.field(ti.f64, 4, needs_grad=True)
wanted = ti.field(ti.f64, 4)
U = ti.field(ti.f64, (), needs_grad=True)
wanted.from_numpy(WANTED)


@ti.kernel
def convert(decibels: ti.template()):
    for i in level:
        level[i] = 10.0 ** (0.1 * level[i]) if ti.static(decibels) else 0.001 * level[i]


@ti.kernel
def compare():
    for i in level:
        U[None] += (level[i] - wanted[i]) ** 2


@checked(loss="U", inputs={"level": {"start": START.tolist(), "step": 0.2}})
def trap():
    convert(True)
    compare()


@checked(loss="U", inputs={"level": {"start": START.tolist(), "step": 0.2}})
def twin():
    convert(False)
    compare()


def answer(level):
    power = 10.0 ** (0.1 * level)
    return 0.2 * np.log(10.0) * (power - WANTED) * power


def answer_of_twin(level):
    return 0.002 * (0.001 * level - WANTED)
