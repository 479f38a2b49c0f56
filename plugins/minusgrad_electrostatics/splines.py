"""Cardinal B-splines of order 5: the weights by which a point charge is shared among cells of a mesh.

    M_5(u) is non-zero on 0 < u < 5, and sum over k of M_5(u - k) = 1

Essmann et al. 1995, J. Chem. Phys. 103, 8577, eqs. 4.1 and 4.4.
"""

import math

import numpy as np

from minusgrad.plugin import ti

ORDER = 5


@ti.func
def spline(r):
    """M_5(r + 5/2), the B-spline of order 5 about its middle; 0 beyond 5/2 to either side."""
    square = r * r
    s = ti.select(r > 0.0, r, -r)
    rest = ti.select(s < 2.5, 2.5 - s, 0.0)
    inner = 115.0 / 192.0 + square * (0.25 * square - 0.625)
    middle = 55.0 / 96.0 + s * (5.0 / 24.0 + s * (-1.25 + s * (5.0 / 6.0 - s / 6.0)))
    outer = rest * rest * rest * rest / 24.0
    return ti.select(s < 0.5, inner, ti.select(s < 1.5, middle, outer))


def damping(size: int) -> np.ndarray:
    """|b(k)|^2 for the wave numbers k = 0, ..., size - 1 of one axis of a mesh with `size` cells (eq. 4.4).

    1 / b(k) = sum over j = 0, ..., 3 of M_5(j + 1) exp(2 pi i k j / size). Of an odd order it vanishes at
    k = size / 2; there 1 / |b|^2 is the mean of its neighbours, as in OpenMM.
    """
    weights = np.array([1.0, 11.0, 11.0, 1.0]) / 24.0
    phases = np.exp(2.0j * math.pi * np.outer(np.arange(size), np.arange(ORDER - 1)) / size)
    moduli = np.abs(phases @ weights) ** 2
    small = np.flatnonzero(moduli < 1e-7)
    moduli[small] = 0.5 * (np.roll(moduli, 1) + np.roll(moduli, -1))[small]
    return 1.0 / moduli
