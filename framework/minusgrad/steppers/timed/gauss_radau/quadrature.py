"""Gauss-Radau quadrature of order 15: nodes, weights, and the polynomials through accelerations at nodes.

    0 = s_0 < s_1 < ... < s_7 < 1         0 and the zeros of (P_7(y) + P_8(y)) / (1 + y), y = 2 s - 1
    int_0^1 f(s) ds = sum w_k f(s_k)      exact up to s^14
    a(s) = a_0 + b_1 s + ... + b_7 s^7 = a_0 + g_1 s + g_2 s (s - s_1) + ... + g_7 s (s - s_1)...(s - s_6)
         = a(s_0) l_0(s) + ... + a(s_7) l_7(s)

The same polynomial by powers, by divided differences (Everhart 1985, in Dynamics of Comets, 185), and by its
values at the nodes, with Lagrange's l_j.

Decisions 0346.
"""

from math import comb

import numpy as np
from numpy.polynomial import Legendre, Polynomial

STAGES = 7
"""Nodes after the start of a step."""


def _nodes() -> np.ndarray:
    total = Legendre.basis(7) + Legendre.basis(8)
    zeros = np.sort(total.roots().real)[1:]
    for _ in range(3):  # Newton's method, to rounding
        zeros = zeros - total(zeros) / total.deriv()(zeros)
    return np.concatenate([[0.0], 0.5 * (1.0 + zeros)])


def _to_powers() -> np.ndarray:
    """The matrix (7, 7) of b = C g."""
    found, product = np.zeros((STAGES, STAGES)), Polynomial([0.0, 1.0])
    for k in range(STAGES):
        found[: k + 1, k] = product.coef[1 : k + 2]
        product = product * Polynomial([-NODES[k + 1], 1.0])
    return found


def _integrals(degree: int) -> np.ndarray:
    """The integrals (9, 8) of (s - r)^degree l_j(r) for r from 0 to s, at s = s_0 to s_7 and 1."""
    r, w = np.polynomial.legendre.leggauss(STAGES + 1)
    found = np.zeros((STAGES + 2, STAGES + 1))
    for k, s in enumerate((*NODES, 1.0)):
        at = 0.5 * s * (1.0 + r)
        for j, node in enumerate(NODES):
            others = np.delete(NODES, j)
            lagrange = np.prod((at[:, None] - others) / (node - others), axis=1)
            found[k, j] = 0.5 * s * (w * (s - at) ** degree) @ lagrange
    return found


NODES = _nodes()
"""s_0 to s_7."""
APART = np.array(
    [[1.0 / (NODES[k + 1] - s) if j <= k else 0.0 for j, s in enumerate(NODES)] for k in range(7)]
)
"""(7, 8): 1 / (s_(k+1) - s_j) for j up to k, for divided differences."""
TO_POWERS = _to_powers()
TO_DIFFERENCES = np.linalg.inv(TO_POWERS)
_POWERS = np.arange(1, STAGES + 1)
VELOCITY = np.array([s ** (_POWERS + 1) / (_POWERS + 1) for s in (*NODES[1:], 1.0)])
"""(8, 7): v(s) = v_0 + h (a_0 s + VELOCITY b) at s_1 to s_7, and at 1."""
POSITION = np.array([s ** (_POWERS + 2) / ((_POWERS + 1) * (_POWERS + 2)) for s in (*NODES[1:], 1.0)])
"""(8, 7): x(s) = x_0 + h s v_0 + h^2 (a_0 s^2 / 2 + POSITION b)."""

OF_VELOCITY, OF_POSITION = _integrals(0), _integrals(1)
"""(9, 8): v(s) = v_0 + h OF_VELOCITY a, x(s) = x_0 + h s v_0 + h^2 OF_POSITION a, with the a at the nodes."""
WEIGHTS = OF_VELOCITY[-1]
"""w_0 to w_7."""

CONTINUED = np.array([[float(comb(j + 1, k + 1)) for j in range(STAGES)] for k in range(STAGES)])
"""(7, 7): a(1 + r s) - a(1) has r^(k+1) (CONTINUED b)_k for b_k, in a next step r times as long."""
