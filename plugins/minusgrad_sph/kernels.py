"""The smoothing kernel of Wendland, twice continuously differentiable.

    W(r) = s h^-d (1 - q/2)^4 (2 q + 1)     for q = r/h < 2, else 0
    F(r) = -W'(r) / r = 5 s h^-(d+2) (1 - q/2)^3     s = 7/(4 pi) in the plane, 21/(16 pi) in space

r [m], h [m] the smoothing length; W vanishes from 2 h on, and the integral of W is 1. Wendland 1995, Adv.
Comput. Math. 4, 389 (his function of degree 5 and class C2); in SPH: Dehnen & Aly 2012, MNRAS 425, 1068,
where particles do not pair. A force holds the first derivative and a Hessian the second, which are
continuous at q = 2, and at r = 0 as well.

In the plane a mass is that of a slice as thick as one unit of length, so that densities are kg m^-3 there,
too.
"""

from math import pi

import numpy as np

from minusgrad.plugin import ti

PLANE, SPACE = 7.0 / (4.0 * pi), 21.0 / (16.0 * pi)
REACH = 2.0
"""The reach of the kernel, in smoothing lengths."""


@ti.func
def scale(x, h):
    """s h^-d for vectors of the dimension of x."""
    return ti.static(PLANE if x.n == 2 else SPACE) / h**x.n


@ti.func
def shape(q):
    """W without its scale."""
    t = ti.max(0.0, 1.0 - 0.5 * q)
    return t * t * t * t * (2.0 * q + 1.0)


@ti.func
def slope(q):
    """-W' / q without its scale, where W' is the derivative by q."""
    t = ti.max(0.0, 1.0 - 0.5 * q)
    return 5.0 * t * t * t


def lattice_sum(spacing: float, h: float, d: int) -> float:
    """The sum of W over all points of a cubic lattice of dimension d, the origin included [1/m^d]."""
    reach = int(np.ceil(REACH * h / spacing))
    axis = spacing * np.arange(-reach, reach + 1)
    q = np.sqrt(sum(a * a for a in np.meshgrid(*[axis] * d))) / h
    values = np.maximum(0.0, 1.0 - 0.5 * q) ** 4 * (2.0 * q + 1.0)
    return float((PLANE if d == 2 else SPACE) / h**d * values.sum())
