"""Symplectic correctors: the near-identity maps from physical coordinates to those that leapfrog steps.

    Phi = K(h/2) A(h) K(h/2) = C exp(h H') C^-1        H = A + e B, kicks K by e B, exact drifts A
    C = ... kick b_i h at the time a_i h, kick -b_i h at -a_i h ...                      i = 1, ..., n

drifts between the kicks, 0 in sum. To first order in e the map C is exp(e h sum_i 2 b_i sinh(a_i z) B) with
z = h [A, .], and the error of kicks at both ends of a step in place of B all along it is the commutator of A
with h w(z) B,

    w(z) = coth(z/2) / 2 - 1/z = sum_k B_2k z^(2k-1) / (2k)!                       Bernoulli's numbers B_2k

The b_i solve 2 sum_i b_i sinh(a_i z) = w(z) up to z^(2n-1), for a_i = i / sqrt(10): the corrected error is
e dt^(2n+1) + e^2 dt^2, and without a corrector e dt^2 (Wisdom, Holman & Touma 1996, Fields Inst. Comm. 10,
217; theirs are for kicks in the middle). Orders 3, 5, 7, 11 and 17 are n = 1, 2, 3, 5 and 8, as there.

Decisions 0342.
"""

from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import comb, sqrt

from minusgrad.plugin import Scheme

ORDERS = {3: 1, 5: 2, 7: 3, 11: 5, 17: 8}
"""The number n of pairs of kicks, by order."""
SPACING = Fraction(1, 10)
"""a_1^2"""


@cache
def coefficients(order: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The a_i and b_i of an order."""
    n = ORDERS[order]
    # with b_i = c_i / (a_1 (2i)): the sum over i of c_i (i^2)^(k-1) = B_2k / (2k a_1^(2k-2))
    squares = [Fraction(i * i) for i in range(1, n + 1)]
    wanted = [bernoulli(2 * k) / (2 * k) / SPACING ** (k - 1) for k in range(1, n + 1)]
    found = _solve_exactly([[s**k for s in squares] for k in range(n)], wanted)
    a = tuple(i * sqrt(SPACING) for i in range(1, n + 1))
    return a, tuple(float(c) / (2.0 * one) for c, one in zip(found, a, strict=True))


def corrector(order: int) -> tuple[Scheme, Scheme]:
    """C and its inverse, as rows that are taken once, by the moves of the steps themselves."""
    a, b = coefficients(order)
    times = (*(-one for one in reversed(a)), *a)
    kicks = (0.0, *(-one for one in reversed(b)), *b, 0.0)
    drifts = tuple(q - p for p, q in pairwise((0.0, *times, 0.0)))
    summary = f"A symplectic corrector of order {order}."
    back = tuple(-one for one in reversed(kicks)), tuple(-one for one in reversed(drifts))
    return Scheme(order, kicks, drifts, summary), Scheme(order, *back, summary)


def bernoulli(n: int) -> Fraction:
    """B_n by its recurrence."""
    found: list[Fraction] = []
    for m in range(n + 1):
        rest = sum((comb(m + 1, k) * found[k] for k in range(m)), Fraction(0))
        found.append(Fraction(1) if m == 0 else -rest / (m + 1))
    return found[n]


def _solve_exactly(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """The solution of a linear system, exactly."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for j in range(len(rows)):
            if j != k:
                rows[j] = [p - rows[j][k] * q for p, q in zip(rows[j], rows[k], strict=True)]
    return [row[-1] for row in rows]
