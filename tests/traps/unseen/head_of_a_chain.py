"""Beads of a cell are a chain of indices; its head is read before the loop that walks the chain.

Reversed, only one bead's pull on the head is left. The twin reads the head at every bead.
"""

import numpy as np

from minusgrad import checked, ti

START = np.array([0.1, 0.8, 1.3, 0.4, 1.9, 1.6, 0.6])
HEAD = np.array([0, 0, 2, 0, 2, 2, 0])
AFTER = np.array([1, 3, 4, 6, 5, -1, -1])

x = ti.field(ti.f64, 7, needs_grad=True)
after = ti.field(ti.i32, 7)
U = ti.field(ti.f64, (), needs_grad=True)


def link():
    after.from_numpy(AFTER.astype(np.int32))


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}}, before=["link"])
@ti.kernel
def trap():
    for c in range(2):
        at = 2 * c
        head = x[at]
        for _ in range(4 - c):
            U[None] += (c + 1.0) * ti.cos(x[at] - 2.0 * head)
            at = after[at]


@checked(loss="U", inputs={"x": {"start": START.tolist(), "step": 0.1}}, before=["link"])
@ti.kernel
def twin():
    for c in range(2):
        at = 2 * c
        for _ in range(4 - c):
            head = x[2 * c]
            U[None] += (c + 1.0) * ti.cos(x[at] - 2.0 * head)
            at = after[at]


def answer(x):
    pull = -(HEAD / 2.0 + 1.0) * np.sin(x - 2.0 * x[HEAD])
    out = np.array(pull)
    np.add.at(out, HEAD, -2.0 * pull)
    return out
