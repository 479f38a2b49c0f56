"""All pairs in one pass: each charge meets the total so far, by `atomic_add`; that has no reverse.

The twin has the total first, and takes the squares away.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.5, -1.2, 0.8, 1.9, -0.3])

q = ti.field(ti.f64, 5, needs_grad=True)
total = ti.field(ti.f64, (), needs_grad=True)
U = ti.field(ti.f64, (), needs_grad=True)


@ti.kernel
def meet():
    for i in q:
        so_far = ti.atomic_add(total[None], q[i])
        U[None] += so_far * q[i]


@ti.kernel
def add_up():
    for i in q:
        ti.atomic_add(total[None], q[i])


@ti.kernel
def take_away():
    for i in q:
        U[None] += 0.5 * (total[None] - q[i]) * q[i]


@checked(loss="U", inputs={"q": {"start": START.tolist(), "step": 0.1}})
def trap():
    meet()


@checked(loss="U", inputs={"q": {"start": START.tolist(), "step": 0.1}})
def twin():
    add_up()
    take_away()


def answer(q):
    return q.sum() - q
