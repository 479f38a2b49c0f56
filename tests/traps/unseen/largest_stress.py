"""The largest stress of a lattice is kept by `atomic_max`, which is reversed as if it had added them all.

The twin keeps it the same way, as a mere number, then adds the one stress that equals it.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.1, 1.3, 2.1, 3.9, 4.6, 6.1])

x, stress, U = (ti.field(ti.f64, n, needs_grad=True) for n in (6, 5, ()))
largest = ti.field(ti.f64, ())


@ti.kernel
def stretch():
    for i in stress:
        stress[i] = (x[i + 1] - x[i] - 1.0) ** 2


@ti.kernel
def keep_largest(kept: ti.template()):
    for i in stress:
        ti.atomic_max(kept[None], stress[i])


@ti.kernel
def take_equal():
    for i in stress:
        if stress[i] == largest[None]:
            U[None] += stress[i]


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.05}})
def trap():
    stretch()
    keep_largest(U)


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.05}})
def twin():
    stretch()
    keep_largest(largest)
    take_equal()


def answer(x):
    s = np.diff(x) - 1.0
    return -np.diff(2.0 * s * (s * s == (s * s).max()), prepend=0.0, append=0.0)
