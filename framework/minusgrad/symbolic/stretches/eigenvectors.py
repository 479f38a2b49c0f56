"""Eigenvalues and eigenvectors of a symmetric 2 x 2 or 3 x 3 matrix, as expressions without a loop or branch.

    C = sum_a l_a n_a (x) n_a

In space the deviator B = (C - m I) / p, m = tr C / 3, p^2 = |C - m I|^2 / 6, has the eigenvalues x with

    x^3 - 3 x = det B,     the largest of which in size is 2 cos(arccos(|det B| / 2) / 3), in [sqrt 3, 2]

(Smith 1961, Commun. ACM 4, 168). It is at least sqrt 3 away from the next one, so that its eigenvector, a
column of the adjugate of B - x I, is accurate however close the eigenvalues are to each other; a Jacobi
rotation finds the other two in the plane across it. Of equal eigenvalues any orthonormal vectors come out,
which make C diagonal to rounding. Conditions choose between formulas that agree where they meet.

These expressions are never differentiated: functions of them have derivatives of their own (`isotropic`).

Decisions 0255.
"""

from collections.abc import Sequence
from itertools import combinations_with_replacement

from ..scalar import Scalar

TINY = 1e-30
"""Keeps 0 / 0 out; of the square of a quantity near 1, in either precision far below rounding."""
STEPS = 3
"""Of Newton's method for x, from a chord that is 0.014 off at most: 1e-4, 1e-8, 1e-16."""
Vector = list[Scalar]


def upper(n: int) -> list[tuple[int, int]]:
    """The independent places of a symmetric matrix, row by row: (0, 0), (0, 1), ..."""
    return list(combinations_with_replacement(range(n), 2))


def eigen(entries: Sequence[Scalar]) -> tuple[Vector, list[Vector]]:
    """Eigenvalues and eigenvectors of a symmetric matrix from its upper half, row by row."""
    if len(entries) == 3:
        a, b, c = entries
        values, (turn, side) = _diagonalising_rotation(a, b, c)
        return values, [[turn, -side], [side, turn]]
    return _in_space(entries)


def _in_space(entries: Sequence[Scalar]) -> tuple[Vector, list[Vector]]:
    c00, c01, c02, c11, c12, c22 = entries
    m = (c00 + c11 + c22) * (1.0 / 3.0)
    b00, b11, b22 = c00 - m, c11 - m, c22 - m
    size = b00 * b00 + b11 * b11 + b22 * b22 + 2.0 * (c01 * c01 + c02 * c02 + c12 * c12)
    p = _root(size * (1.0 / 6.0) + TINY * m * m)
    B = [b / p for b in (b00, c01, c02, b11, c12, b22)]
    first = _distinct_eigenvector(B)
    u, v = _orthogonal_pair(first)
    Bu, Bv = _matrix_times_vector(B, u), _matrix_times_vector(B, v)
    values, (turn, side) = _diagonalising_rotation(_dot(u, Bu), _dot(u, Bv), _dot(v, Bv))
    second = [turn * a - side * b for a, b in zip(u, v, strict=True)]
    third = [side * a + turn * b for a, b in zip(u, v, strict=True)]
    all_values = [_dot(first, _matrix_times_vector(B, first)), *values]
    return [m + p * x for x in all_values], [first, second, third]


def _distinct_eigenvector(B: Sequence[Scalar]) -> Vector:
    """The eigenvector of the eigenvalue of the deviator that is largest in size."""
    b00, b01, b02, b11, b12, b22 = B
    det = b00 * (b11 * b22 - b12 * b12) - b01 * (b01 * b22 - b12 * b02) + b02 * (b01 * b12 - b11 * b02)
    below = det < 0.0
    half = 0.5 * _select(below, -det, det)
    half = _select(half > 1.0, 1.0, half)
    x = 3.0**0.5 + (2.0 - 3.0**0.5) * half
    for _ in range(STEPS):
        x = x - (x * (x * x - 3.0) - 2.0 * half) / (3.0 * (x * x) - 3.0)
    x = _select(below, -x, x)
    d0, d1, d2 = b00 - x, b11 - x, b22 - x
    a01, a02, a12 = b02 * b12 - b01 * d2, b01 * b12 - b02 * d1, b01 * b02 - b12 * d0
    columns = [
        [d1 * d2 - b12 * b12, a01, a02],
        [a01, d0 * d2 - b02 * b02, a12],
        [a02, a12, d0 * d1 - b01 * b01],
    ]
    best, longest = columns[0], _dot(columns[0], columns[0])
    for column in columns[1:]:
        length = _dot(column, column)
        longer = length > longest
        best = [_select(longer, a, b) for a, b in zip(column, best, strict=True)]
        longest = _select(longer, length, longest)
    scale = 1.0 / _root(longest)
    return [scale * a for a in best]


def _orthogonal_pair(n: Vector) -> tuple[Vector, Vector]:
    """Two unit vectors across a unit vector and each other (Duff et al. 2017, JCGT 6, 1)."""
    x, y, z = n
    sign = _select(z < 0.0, -1.0, 1.0)
    a = -1.0 / (sign + z)
    b = x * y * a
    return [1.0 + sign * (x * x * a), sign * b, -(sign * x)], [b, sign + y * y * a, -y]


def _diagonalising_rotation(a: Scalar, b: Scalar, c: Scalar) -> tuple[Vector, tuple[Scalar, Scalar]]:
    """Eigenvalues of [[a, b], [b, c]], and cosine and sine of the rotation that makes it diagonal."""
    half = 0.5 * (c - a)
    size = _root(half * half + b * b)
    below = half < 0.0
    slope = _select(below, -b, b) / (_select(below, -half, half) + size + TINY)
    turn = 1.0 / _root(1.0 + slope * slope)
    return [a - slope * b, c + slope * b], (turn, slope * turn)


def _matrix_times_vector(B: Sequence[Scalar], v: Vector) -> Vector:
    b00, b01, b02, b11, b12, b22 = B
    x, y, z = v
    return [b00 * x + b01 * y + b02 * z, b01 * x + b11 * y + b12 * z, b02 * x + b12 * y + b22 * z]


def _dot(a: Vector, b: Vector) -> Scalar:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _root(a: Scalar) -> Scalar:
    return a.graph.apply("sqrt", a)


def _select(condition: Scalar, a: Scalar | float, b: Scalar | float) -> Scalar:
    return condition.graph.apply("select", condition, a, b)
