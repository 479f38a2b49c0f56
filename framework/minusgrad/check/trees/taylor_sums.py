"""Far pairs of a few nodes, summed node by node: the reference for expansions in cells.

    K(|R + e|^2)  ~  sum over k + m <= p, m <= k, of g_k / k! binom(k, m) (R.e)^(k - m) (|e|^2 / 2)^m

is the Taylor polynomial of order p in e: R is the distance of two centres, R + e that of two nodes, and
g_k = (2 d/ds)^k K at s = |R|^2. (The series of K(s + 2 (u R.e + u^2 |e|^2 / 2)) in u, at u = 1.) It has
none of the moments, shifts and tensors of `codegen.expansions`.

Decisions 0311.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb, factorial

import numpy as np

from ...codegen.expansions.radial_factors import RadialFactors, RadialProduct, position_of
from ...codegen.verification.element_samples import Sample
from ...elements.trees.near_pairs import NearPairs
from ...energies.term import Term
from ...symbolic import differentiation
from ...symbolic.graph import inputs
from ...symbolic.numpy_values import numbers
from ...symbolic.scalar import Scalar


@dataclass(frozen=True)
class FarSums:
    """The far pairs of a term at time t, node by node."""

    term: Term
    factors: RadialFactors
    t: float

    def of_row(self, row: int) -> tuple[float, float]:
        """Half the energy of one node with all nodes that are far, and half the sum of |u|."""
        near = self.term.elements
        assert isinstance(near, NearPairs)
        tree, place, total, size = near.tree, near.tree.place[row], 0.0, 0.0
        for cell in np.flatnonzero((tree.begin <= place) & (place < tree.end)):
            for number in near.cells.far_from(int(cell)):
                image, other = divmod(int(number), tree.cells + 1)
                places = np.arange(tree.begin[other], tree.end[other])
                far = near.nodes[tree.order[places]]
                shift = near.cells.shift[image]
                e = self._wrapped_positions([row])[0] - self._wrapped_positions(tree.order[places]) - shift
                between = tree.centre[cell] - tree.centre[other] - shift
                u = self._taylor_polynomials(near.nodes[row], far, between, e - between)
                total, size = total + 0.5 * float(u.sum()), size + 0.5 * float(np.abs(u).sum())
        return total, size

    def exact(self, node: int, others: np.ndarray) -> np.ndarray:
        """The sum of a(i) b(j) K of one node with others, without a truncation: u of each pair."""
        x = self.term.fields[position_of(self.term)].values.astype(np.float64)
        s = ((x[node] - x[others]) ** 2).sum(axis=1)
        pairs = self._pair_sample(node, others)
        return sum(
            self._pair_weights(p, pairs) * self._pair_numbers([p.kernel], pairs, s)[0]
            for p in self.factors.products
        )

    def _wrapped_positions(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        """The positions of rows of the tree's nodes, in a periodic box moved into it."""
        near = self.term.elements
        assert isinstance(near, NearPairs)
        x = self.term.fields[position_of(self.term)].values.astype(np.float64)[near.nodes[rows]]
        return x if near.tree.offset is None else x + near.tree.offset[rows]

    def _taylor_polynomials(
        self, node: int, others: np.ndarray, between: np.ndarray, e: np.ndarray
    ) -> np.ndarray:
        """The Taylor polynomial of u around the distance of two centres, at e from there, for each pair."""
        near = self.term.elements
        assert isinstance(near, NearPairs)
        order = near.choice.order
        along, half, s = e @ between, 0.5 * (e * e).sum(axis=1), np.full(len(others), between @ between)
        pairs, total = self._pair_sample(node, others), np.zeros(len(others))
        for product in self.factors.products:
            g = self._pair_numbers(self._radial_derivatives(product.kernel, order), pairs, s)
            polynomial = sum(
                g[k] / factorial(k) * comb(k, m) * along ** (k - m) * half**m
                for k in range(order + 1)
                for m in range(min(k, order - k) + 1)
            )
            total += self._pair_weights(product, pairs) * polynomial
        return total

    def _radial_derivatives(self, kernel: Scalar, order: int) -> list[Scalar]:
        """g_0, ..., g_p, by tangents where the expansions' are by gradients."""
        found, squared = [kernel], self.factors.squared
        along = {squared.serial: squared.graph.constant(2.0)}
        for _ in range(order):
            found += differentiation.tangent(found[-1:], along)
        return found

    def _pair_sample(self, node: int, others: np.ndarray) -> Sample:
        rows = np.zeros(len(others), int)
        return Sample(self.term, rows, [np.full_like(others, node), others], self.t)

    def _pair_weights(self, product: RadialProduct, pairs: Sample) -> np.ndarray:
        """a(i) b(j) of pairs."""
        a, b = self._pair_numbers([product.a, product.b], pairs, np.zeros(len(pairs.rows)))
        return a * b

    def _pair_numbers(self, graphs: list[Scalar], pairs: Sample, s: np.ndarray) -> list[np.ndarray]:
        squared = self.factors.squared
        leaves: Mapping[int, np.ndarray] = {
            leaf.serial: s if leaf is squared else pairs.leaf(leaf) for leaf in inputs(graphs)
        }
        return [np.broadcast_to(n, s.shape) for n in numbers(graphs, leaves, self.term.tables)]
