"""Galerkin discretisation of the action: polynomials of degree s, and Gauss quadrature of s points.

    q(tau) = sum_n l_n(tau) Q_n,   tau in [0, 1]            Q_0 = q_k, Q_s = q_k+1, at the nodes d_n
    L_d = h sum_i b_i L(q(c_i), q'(c_i) / h, t + c_i h)     stationary in Q_1, ..., Q_s-1

The step (q_k, p_k) -> (q_k+1, p_k+1) by p_k = -dL_d/dQ_0, p_k+1 = dL_d/dQ_s is of order 2 s and symplectic:
it is collocation at the Gauss points. s = 1 is the midpoint rule.
(Marsden and West 2001, Acta Numerica 10, 357, sections 2.2 and 2.6; Leok and Shingel 2012, IMA J. Numer.
Anal. 32, 1194; Ober-Bloebaum and Saake 2015, Adv. Comput. Math. 41, 955.)

Decisions 0375.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

ORDERS = (2, 4)
"""The orders 2 s that there are."""


@dataclass(frozen=True)
class Galerkin:
    """The numbers of a discrete action of this order."""

    order: int

    @property
    def degree(self) -> int:
        """s, the degree of the polynomials, and how many displacements a step solves for."""
        return self.order // 2

    @cached_property
    def nodes(self) -> np.ndarray:
        """d (s + 1,): where the polynomial has the values Q, evenly spaced from 0 to 1."""
        return np.linspace(0.0, 1.0, self.degree + 1)

    @cached_property
    def points(self) -> np.ndarray:
        """c (s,): the points of the quadrature in [0, 1]."""
        return 0.5 * (1.0 + np.polynomial.legendre.leggauss(self.degree)[0])

    @cached_property
    def weights(self) -> np.ndarray:
        """b (s,), whose sum is 1."""
        return 0.5 * np.polynomial.legendre.leggauss(self.degree)[1]

    @cached_property
    def values(self) -> np.ndarray:
        """l_n(c_i) (s, s + 1)."""
        return np.array([self.shape(c) for c in self.points])

    @cached_property
    def slopes(self) -> np.ndarray:
        """l_n'(c_i) (s, s + 1), whose rows sum to zero."""
        return np.array([self.shape(c, 1) for c in self.points])

    def shape(self, tau: float, derivative: int = 0) -> np.ndarray:
        """l_n(tau) (s + 1,), or a derivative."""
        found = []
        for n, d in enumerate(self.nodes):
            others = np.delete(self.nodes, n)
            one = np.polynomial.Polynomial.fromroots(others) / np.prod(d - others)
            found.append(one.deriv(derivative)(tau) if derivative else one(tau))
        return np.array(found)

    def continued(self, ratio: float) -> np.ndarray:
        """Factors (s, s) that predict the displacements of a step from those of the last one.

        `ratio`: the length of this step by that of the last. The polynomial is continued beyond its end.
        """
        end = self.shape(1.0)
        return np.array([(self.shape(1.0 + ratio * d) - end)[1:] for d in self.nodes[1:]])


GALERKIN = {order: Galerkin(order) for order in ORDERS}
