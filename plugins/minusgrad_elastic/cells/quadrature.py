"""Quadrature in reference cells: points (q, d) and weights (q,).

Gauss's points along each axis of a cube; in triangles and tetrahedra the symmetric points of Hammer,
Marlowe & Stroud 1956 (degree 2) and Strang & Fix 1973 (degree 4), and corners with centres of facets
(degree 3; Stroud 1971, Approximate Calculation of Multiple Integrals, T3: 3-6). Weights are shares of the
volume of a triangle or tetrahedron, and those of Gauss on a cube of side 2.

Decisions 0320.
"""

from collections.abc import Sequence
from itertools import product
from math import sqrt

import numpy as np

Rule = tuple[np.ndarray, np.ndarray]
"""Points and weights."""


def gauss(n: int, d: int) -> Rule:
    """n^d points in the cube -1 <= xi <= 1; exact up to degree 2n - 1 along each axis."""
    x, w = np.polynomial.legendre.leggauss(n)
    points = np.array(list(product(x, repeat=d)))
    return points, np.prod(list(product(w, repeat=d)), axis=1)


def _simplex_points(*orbits: tuple[float, Sequence[float]]) -> Rule:
    """Points with weights (shares of the volume) at all orders of barycentric coordinates."""
    points, weights = [], []
    for weight, lambdas in orbits:
        for one in sorted({tuple(np.roll(order, k)) for order in (lambdas,) for k in range(len(lambdas))}):
            points.append(one[1:])
            weights.append(weight)
    return np.array(points), np.array(weights)


def collapsed_points(n: int, d: int) -> Rule:
    """n^d points in a triangle or tetrahedron, by Duffy's map of the cube; for masses."""
    x, w = gauss(n, d)
    x, w = 0.5 * (x + 1.0), w * 0.5**d
    points, left = np.empty_like(x), np.ones(len(x))
    for axis in range(d):
        points[:, axis] = x[:, axis] * left
        w = w * left
        left = left - points[:, axis]
    return points, w * (2.0 if d == 2 else 6.0)


_FIFTHS = ((5.0 - sqrt(5.0)) / 20.0, (5.0 + 3.0 * sqrt(5.0)) / 20.0)
_ROOT = sqrt(38.0 - 44.0 * sqrt(0.4))
_A, _B = ((8.0 - sqrt(10.0) + sign * _ROOT) / 18.0 for sign in (1.0, -1.0))
_W = sqrt(213125.0 - 53320.0 * sqrt(10.0))
CENTRE_2 = _simplex_points((1.0, (1 / 3, 1 / 3, 1 / 3)))
CENTRE_3 = _simplex_points((1.0, (0.25, 0.25, 0.25, 0.25)))
DEGREE_2 = {
    2: _simplex_points((1 / 3, (2 / 3, 1 / 6, 1 / 6))),
    3: _simplex_points((0.25, (_FIFTHS[1], _FIFTHS[0], _FIFTHS[0], _FIFTHS[0]))),
}
DEGREE_3 = _simplex_points((1 / 40, (1.0, 0.0, 0.0, 0.0)), (9 / 40, (0.0, 1 / 3, 1 / 3, 1 / 3)))
DEGREE_4 = _simplex_points(
    ((620.0 + _W) / 3720.0, (1.0 - 2.0 * _A, _A, _A)), ((620.0 - _W) / 3720.0, (1.0 - 2.0 * _B, _B, _B))
)


def of_wedge() -> Rule:
    (flat, w), (high, v) = DEGREE_2[2], gauss(2, 1)
    points = np.array([[*a, *b] for a in flat for b in high])
    return points, np.array([p * q * 0.5 for p in w for q in v])
