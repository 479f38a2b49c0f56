"""Tomography: every angle is projected into one buffer; reversed, all compare with the last projection.

The twin keeps a row for each angle.
"""

import numpy as np

from minusgrad import checked, ti

START = np.fromfunction(lambda i, j: 0.3 + 0.2 * np.sin(1.0 + 2.0 * i + j), (4, 4))
DATA = np.fromfunction(lambda a, s: 1.0 + 0.2 * a * s - 0.3 * s, (3, 4))
ANGLES = [(1, 0), (0, 1), (1, 1)]

image, line, data, U = (ti.field(ti.f64, n, needs_grad=True) for n in ((4, 4), (3, 4), (3, 4), ()))
data.from_numpy(DATA)


@ti.kernel
def project(row: int, p: int, q: int):
    for s in range(4):
        line[row, s] = 0.0
    for i, j in image:
        line[row, (p * i + q * j) % 4] += image[i, j]


@ti.kernel
def compare(row: int, angle: int):
    for s in range(4):
        U[None] += (line[row, s] - data[angle, s]) ** 2


@checked(loss="U", inputs={"image": {"start": START.tolist(), "step": 0.1}})
def trap():
    for angle, (p, q) in enumerate(ANGLES):
        project(0, p, q)
        compare(0, angle)


@checked(loss="U", inputs={"image": {"start": START.tolist(), "step": 0.1}})
def twin():
    for angle, (p, q) in enumerate(ANGLES):
        project(angle, p, q)
        compare(angle, angle)


def answer(image):
    out = np.zeros((4, 4))
    for angle, (p, q) in enumerate(ANGLES):
        at = np.add.outer(p * np.arange(4), q * np.arange(4)) % 4
        out += 2.0 * (np.bincount(at.ravel(), image.ravel()) - DATA[angle])[at]
    return out
